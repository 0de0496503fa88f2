/* build.h: a model's graph in the making: its weights become leaves as they are asked for.
 *
 * Weights are asked for by their GGUF names, ".x" meaning those of the present layer, and stay in
 * the memory they are in. Every product goes through nn_linear or nn_linear_id, so that what
 * watches or adapts them has one place. Failure is the graph's: see hn_graph_finish. */
#ifndef HN_NN_BUILD_H
#define HN_NN_BUILD_H

#include "nn/adapter.h"
#include "nn/hparams.h"
#include "nn/numerics.h"
#include "nn/split.h"
#include "ops/ops.h"

typedef struct nn_weight {
    const char *name; /* GGUF's */
    hn_type type;
    const void *data;
    bool is_shifted;  /* a gain, held plus one: the reference's is one less */
    bool is_rounded;  /* in bf16 mode, unless it is stored in blocks */
    bool is_permuted; /* rows (of a bias: elements) 2i+j of each head are canonical j*(D/2)+i */
} nn_weight;

/* A product: the rows of `x` (of slot u of token t: ids[t,u]) went through the weight. */
typedef struct nn_use {
    const nn_weight *weight;
    hn_node *x, *ids; /* ids: NULL where there are no experts */
} nn_use;

/* Weights by GGUF name; NULL: it has none. */
typedef struct nn_weights {
    const void *self;
    const nn_weight *(*find)(const void *self, const char *gguf_name);
} nn_weights;

/* A router: what it made of each token, and whom it chose. */
typedef struct nn_route {
    int layer;
    hn_node *logits, *ids; /* [T,E], i32 [T,U] */
    int score;             /* hn_router_score */
} nn_route;

/* Where the logits come from, for a loss that never makes them as a whole:
 * z = softcap(x w^T / divisor). */
typedef struct nn_head_parts {
    hn_node *x; /* of the rows wanted */
    const nn_weight *w;
    float softcap, divisor; /* 0: none */
} nn_head_parts;

typedef struct nn_bound {
    const nn_weight *weight;
    hn_node *leaf;
    hn_node *value; /* what is computed with: the leaf, or the leaf rounded */
    bool is_packed; /* the leaf's memory is to be made of the weight's rows */
    int64_t pairs;  /* these lie by head in pairs, and are put in order then */
} nn_bound;

typedef struct nn_build_options {
    int64_t max_tokens; /* at a time */
    int64_t max_rows;   /* of logits; 0: of all tokens */
    int64_t capacity;   /* rows of the cache of keys and values; 0: none, whole sequences */
    hn_dtype cache;     /* its type */
    int64_t n_sequences, each; /* keys lie in blocks that tables find, so many sequences of so many blocks each at
                                * most; 0: key j in row j */
    int64_t window_capacity;   /* rows in layers with a window, which have a table of their own; 0: as the others */
    nn_weights instead;         /* weights that stand in for the model's of the same names */
    const nn_adapter *adapters; /* applied in this order */
    int n_adapters;
    nn_bank_room bank;
    bool packs;        /* matrices of products are leaves in the layout that their device prefers: see nn_bound.is_packed */
    const hn_layout *(*prefers)(const void *of, int device, hn_dtype dtype, int rank);
    const void *prefers_of;
    bool keeps_head;   /* the result is what goes into the head: see nn_build.head */
    bool gives_states; /* the result is nn_build.state, and there is no head */
    bool has_dropout;  /* adapters may drop out: `places` and `step` are inputs */
    hn_numerics numerics;
    const struct nn_build *inputs_of; /* another build in this graph: its inputs and leaves serve */
    bool feeds_layers;  /* every layer's input, and the head's, is an input of the graph */
    nn_split split;     /* which device a layer's weights lie on */
} nn_build_options;

/* What is known of a layer: nodes [T, ..], NULL where it has none. */
typedef struct nn_layer {
    hn_node *in, *out;
    hn_node *own_in;            /* per-layer input */
    hn_node *given, *own_given; /* leaves that take the place of in and own_in */
} nn_layer;

typedef struct nn_angles nn_angles; /* rope.c */

typedef struct nn_keys {
    hn_node *k, *v;
    hn_node *table; /* where they lie: attention_blocks.c; NULL: key j in row j */
} nn_keys;

typedef struct nn_build {
    hn_graph *g;
    const hn_hparams *hp;
    nn_weights model;
    int layer;
    int tokens_extent;
    hn_node *wide, *narrow; /* what went into the last product in bf16, before it was rounded and after */
    bool has_whole;         /* a product in whole numbers */
    const nn_angles *angles; /* of rope, those made last; or NULL */
    hn_node *tokens, *positions; /* i32 [T] */
    hn_node *segments;           /* i32 [T], or with a cache i32 [T,3]: hn_attention_span */
    hn_node *slots;              /* with a cache, i32 [T]: the row of each token's keys */
    hn_node *table;              /* with blocks, i32 [n_sequences, each] */
    bool has_window;             /* a layer has asked for these */
    hn_node *window_slots, *window_table; /* with a window_capacity: the same there */
    hn_node *adapter_ids;        /* with a bank, i32 [T]: the adapter of each token, or -1 */
    hn_node *row_adapters;       /* the same of each row of logits */
    hn_node *rows;               /* i32 [R]: tokens whose logits are wanted; NULL: all */
    int rows_extent;
    hn_node *places;             /* i32 [T,2]: number of the sequence in its step, position */
    hn_node *step;               /* i32 scalar */
    hn_node *state; /* after the final norm, of the rows wanted, before a head rounds it; NULL of what embeds only */
    nn_head_parts head;
    nn_layer *layers; /* [n_layer + 1]; the last is the head: final norm and output */
    nn_build_options o;
    nn_bound *bound;
    int n_bound, bound_room;
    nn_banked *banked;
    int n_banked, banked_room;
    nn_use *uses;
    int n_uses, uses_room;
    nn_route *routes;
    int n_routes, routes_room;
} nn_build;

/* Sets up the inputs. */
void nn_build_begin(nn_build *b, hn_graph *g, const hn_hparams *hp,
                    const nn_build_options *options);

/* The ends of the present layer: what x is to the layer, and to what follows it. With
 * feeds_layers they are the graph's inputs instead. A gradient may recompute what lies between. */
hn_node *nn_layer_begin(nn_build *b, hn_node *x);
hn_node *nn_layer_end(nn_build *b, hn_node *x);
/* The same of an input that only this layer has. */
hn_node *nn_layer_own(nn_build *b, hn_node *x);

/* The keys and values that attention with this window (0: none) sees: these, or the cache with
 * these put in: states .cache_k and .cache_v, with a window .window_k and .window_v. */
nn_keys nn_remember(nn_build *b, nn_keys made, int64_t window);
/* The same, without a window, where values are the first columns of keys: the cache has those alone. */
nn_keys nn_remember_keys(nn_build *b, hn_node *made, hn_node *values);

/* Rows of x whose logits are wanted. */
hn_node *nn_pick_rows(nn_build *b, hn_node *x);

/* By its full name; NULL if the model has none. */
const nn_weight *nn_find(const nn_build *b, const char *gguf_name);

/* NULL if the model has none. */
hn_node *nn_weight_of(nn_build *b, const char *name);
/* A failure of the graph if it has none. */
hn_node *nn_want(nn_build *b, const char *name);

/* The leaf of a weight, the same however often it is asked for. */
hn_node *nn_leaf(nn_build *b, const nn_weight *w);
/* The same of one that other ops than products read: its rows are not packed. It is asked for so first. */
hn_node *nn_leaf_plain(nn_build *b, const nn_weight *w);
/* A matrix or bias whose rows lie in pairs of the present layer's heads, in canonical order. */
hn_node *nn_in_order(nn_build *b, hn_node *rows);
/* A leaf of this name, in the present layer, on its device. */
hn_node *nn_leaf_here(nn_build *b, hn_leaf_kind kind, const char *name, hn_dtype dtype, int rank,
                      const int64_t *dim);
/* Takes down that a matrix has room in the bank. */
void nn_note_banked(nn_build *b, const nn_banked *banked);
/* Takes down that x goes into a product with w. */
void nn_note_use(nn_build *b, const nn_weight *w, hn_node *x, hn_node *ids);
/* Takes a router down. */
void nn_note_route(nn_build *b, hn_node *logits, hn_node *ids, int score);

/* x times the matrix `name`.weight, plus `name`.bias where there is one; rows in canonical
 * order. */
hn_node *nn_linear(nn_build *b, hn_node *x, const char *name);
/* The same of each token's experts; their biases too. */
hn_node *nn_linear_id(nn_build *b, hn_node *x, const char *name, hn_node *ids);

/* "name.suffix" in memory of the graph. */
const char *nn_name(nn_build *b, const char *name, const char *suffix);

#endif
