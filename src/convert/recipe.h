/* recipe.h: which type each tensor of a model gets: "Q4_K_M" and the like, and exceptions.
 *
 * The mixes are those that llama.cpp's users know: the same tensors get more bits, so that sizes
 * and names mean what they mean elsewhere. */
#ifndef HN_CONVERT_RECIPE_H
#define HN_CONVERT_RECIPE_H

#include "io/weights.h"
#include "nn/hparams.h"

typedef struct hn_recipe hn_recipe;

/* By name in any case: f32 f16 bf16, a block format, or a mix. HN_ERR_ARGUMENT lists them. */
hn_status hn_recipe_named(const char *name, const hn_recipe **out);
hn_dtype hn_recipe_dtype(const hn_recipe *recipe); /* of most weights */
int hn_recipe_file_type(const hn_recipe *recipe); /* general.file_type; -1 if GGUF has none */

/* Their names: "q4_k_m"; of two for one mix, the first. NULL: past the last. */
const char *hn_recipe_at(int i);

/* "PATTERN=TYPE": tensors whose name the pattern matches ('*': anything) get the type. */
typedef struct hn_keep {
    char pattern[128];
    hn_dtype dtype;
} hn_keep;

/* A type that weights are encoded in; another is HN_ERR_ARGUMENT, by the words of the option that names it. */
hn_status hn_weight_type_parse(const char *option, const char *name, hn_dtype *out);
hn_status hn_keep_parse(const char *text, hn_keep *out);

typedef struct hn_recipe_model {
    const hn_hparams *hp;
    bool has_output; /* a head of its own */
    bool has_importance;
    const bool *has_values; /* which layers have values of their own; NULL: all */
    int n_keep;
    const hn_keep *keep;
} hn_recipe_model;

/* Marks the layer of a tensor called so, if it is one of values: for has_values. */
void hn_recipe_mark_values(const char *name, bool has_values[HN_MAX_LAYERS]);

/* What a tensor called so is: its line of a table. */
typedef enum hn_tensor_kind {
    HN_KIND_EMBEDDING,
    HN_KIND_ATTENTION,
    HN_KIND_FFN,
    HN_KIND_EXPERTS,
    HN_KIND_HEAD,
    HN_KIND_NORMS, /* and biases, scales: vectors */
    HN_KIND_OTHER, /* routers, convolutions, positions */
    HN_N_TENSOR_KINDS
} hn_tensor_kind;
hn_tensor_kind hn_tensor_kind_of(const char *name, const hn_type *shape);

/* HN_ERR_ARGUMENT: an exception is for none of these tensors, by name or since those so named stay as they are. */
hn_status hn_recipe_check_keep(const hn_recipe_model *model, const hn_weight_entry *entries, size_t n);

/* The type for rows of this length: blocks that do not divide them give way. */
hn_dtype hn_recipe_fit(hn_dtype dtype, int64_t row);

/* The type for a tensor called so, of this shape, now of type `current`: norms, routers and
 * vectors stay as they are. Rows that blocks do not divide get the next type whose do. */
hn_dtype hn_recipe_choose(const hn_recipe *recipe, const hn_recipe_model *model,
                          const char *name, const hn_type *shape, hn_dtype current);
/* The same before rows give way: what the recipe means. */
hn_dtype hn_recipe_meant(const hn_recipe *recipe, const hn_recipe_model *model, const char *name,
                         const hn_type *shape, hn_dtype current);

#endif
