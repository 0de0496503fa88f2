/* arch.h: an architecture: what its files call its tensors and numbers, and how they lie there.
 *
 * A table of weights serves both kinds of file. hone's own order of a tensor's rows is Hugging
 * Face's; where GGUF differs (rows of q and k permuted by head, norms with their one added,
 * experts stacked, fused matrices cut apart) a line says so, and reading, converting and random
 * models all follow it. */
#ifndef HN_NN_ARCH_H
#define HN_NN_ARCH_H

#include "io/weights.h"
#include "nn/config.h"

/* What GGUF's tensor is, made from Hugging Face's. */
enum {
    HN_W_PERMUTE = 1 << 0,   /* rows 2i+j of each head are the source's j*(D/2)+i */
    HN_W_PLUS_ONE = 1 << 1,  /* norms stored as gain - 1 */
    HN_W_TRANSPOSE = 1 << 2, /* of the last two dimensions, before what follows */
    HN_W_FIRST = 1 << 3,     /* first half of the rows (of a bias: of the elements) */
    HN_W_SECOND = 1 << 4,
    HN_W_EVEN = 1 << 5, /* rows 0, 2, 4, ... */
    HN_W_ODD = 1 << 6,
    HN_W_STACK = 1 << 7,    /* one source an expert: '#' in its name is the number */
    HN_W_CONSTANT = 1 << 8, /* computed from the numbers (rope_constants.h) */
    HN_W_MXFP4 = 1 << 9,    /* pairs of *_blocks and *_scales, repacked */
    HN_W_NOPE_T = 1 << 10,  /* deepseek: each head's first rows, transposed */
    HN_W_VALUE = 1 << 11,   /* deepseek: each head's other rows */
    HN_W_PAD = 1 << 12,     /* rows beyond the source's are zero; beyond the vocabulary, cut */
    HN_W_F32 = 1 << 13,     /* never narrower */
    HN_W_VECTORS = 1 << 14,   /* rows are vectors apart: halves are of their elements */
    HN_W_PAD_FIRST = 1 << 15, /* with PAD: rows beyond the source's are its first one */
    HN_W_CHOICE = 1 << 16     /* takes part in a choice alone: no gradient moves it */
};

/* When a model has the tensor. */
typedef enum hn_when {
    HN_ALWAYS,
    HN_IF_UNTIED,
    HN_IF_OWN_HEAD, /* the same, of an architecture whose GGUF files of others have none */
    HN_IF_DENSE,   /* layers without experts */
    HN_IF_MOE,     /* layers with experts */
    HN_IF_SHARED,  /* layers with shared experts */
    HN_IF_CHOICE_BIAS, /* layers whose experts are chosen by scores with a bias */
    HN_IF_EXPERTS, /* any layer of a model with experts, besides the dense part */
    HN_IF_PLE,     /* per-layer embeddings */
    HN_IF_OWN_K,   /* optional in layers that use the keys of others */
    HN_IF_OWN_V,   /* the same, and absent where values are the keys */
    HN_IF_Q_RANK,
    HN_IF_NO_Q_RANK,
    HN_IF_DIVISORS, /* rope frequencies with divisors */
    HN_IF_LONGROPE,
    HN_IF_ATTN_BIAS, /* q, k, v and output have biases */
    HN_IF_MLP_BIAS
} hn_when;

typedef struct hn_weight_spec {
    const char *gguf;  /* ".x" is "blk.<layer>.x" */
    const char *hf;    /* ".x" is "<prefix>layers.<layer>.x", "@x" is "<prefix>x"; NULL: none */
    const char *shape; /* Hugging Face's order, of the result: "H*D,C"; letters in arch.c */
    unsigned how;
    hn_when when;
} hn_weight_spec;

struct hn_node;
struct nn_build;

typedef struct hn_arch {
    const char *name;               /* general.architecture */
    const char *const *classes;     /* "architectures" of config.json, ended by NULL */
    const char *const *prefixes;    /* of names in safetensors, tried in order, ended by NULL */
    const char *layers;             /* "layers.", or what the prefix is followed by */
    const char *const *ignored;     /* tensors known and not needed: '*' matches anything */
    const hn_weight_spec *weights;  /* ended by a NULL name; of equal GGUF names the first whose
                                       source is there serves */

    const hn_key_row *const *tables;    /* of every key that it knows, in config.json and GGUF; ended by
                                       NULL: its own first, then what it shares */
    const hn_key_row *const *outer;     /* of the root of a config.json that has text_config; or NULL */

    /* After the rows that name a field: what this architecture adds, settles and refuses. */
    hn_status (*read_config)(const hn_config *config, hn_hparams *hp);
    hn_status (*read_meta)(const hn_meta *meta, const hn_weights *all,
                           hn_hparams *hp);                    /* NULL: nothing to add */
    hn_status (*write_meta)(const hn_hparams *hp, hn_meta *meta);  /* NULL: nothing to add */
    hn_status (*defaults)(hn_hparams *hp); /* for random models: a small but real shape */

    /* The graph from tokens to logits [T, V]; NULL: files of it are read and written, but it
     * cannot be run yet. */
    struct hn_node *(*build)(struct nn_build *b);
    bool has_bf16;    /* build goes through the verbs of nn/rounding.h alone */
    bool has_next_layers; /* files may hold layers beyond the last: known, and left out */
    bool embeds_only; /* build gives hidden states [T, C]: there is nothing to generate from */
} hn_arch;

enum { HN_TENSOR_NAME = 160 };

typedef struct hn_arch_tensor {
    const hn_weight_spec *spec;
    int layer; /* -1: none */
    char gguf[HN_TENSOR_NAME];
    int rank;
    int64_t dim[HN_MAX_RANK];
} hn_arch_tensor;

/* All tensors that a model of these numbers has. hn_free the array. */
hn_status hn_arch_tensors(const hn_arch *arch, const hn_hparams *hp, hn_heap *heap,
                          hn_arch_tensor **out, size_t *n);

/* Whether a model without it is incomplete. */
bool hn_arch_needs(const hn_arch_tensor *tensor, const hn_hparams *hp);

/* The row of the table that a tensor of a directory is of, whatever its layer and expert; NULL: of none. */
const hn_weight_spec *hn_arch_spec_of(const hn_arch *arch, const char *name);
/* The name of the source in safetensors, for layer and expert. */
void hn_arch_hf_name(const hn_arch *arch, const char *prefix, const hn_weight_spec *spec,
                     int layer, int expert, char *out);

/* Head widths differ between the layers of some models. */
int64_t hn_layer_head_dim(const hn_hparams *hp, int layer);
int64_t hn_layer_value_dim(const hn_hparams *hp, int layer);
bool hn_layer_is_moe(const hn_hparams *hp, int layer);

#endif
