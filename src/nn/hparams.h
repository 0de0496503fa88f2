/* hparams.h: the numbers a model's shape and arithmetic depend on, from either kind of file.
 *
 * A value that a file does not state is 0 and not `has`; an architecture's own file then decides
 * what that means. Written to GGUF, exactly what is `has` is written. */
#ifndef HN_NN_HPARAMS_H
#define HN_NN_HPARAMS_H

#include "base/meta.h"
#include "nn/activation.h"
#include "ops/rope_table.h"

enum { HN_MAX_LAYERS = 512, HN_MAX_ROPE_FACTORS = 512 };

typedef enum hn_hp {
    HN_HP_NONE,
#define INT(field, gguf, low, high, absent) HN_HP_##field,
#define NUM(field, gguf, low, high, absent) HN_HP_##field,
#define FLAG(field, gguf, low, high, absent) HN_HP_##field,
#define LAYERED(field, gguf, low, high, absent) HN_HP_##field,
#include "nn/hparams.def"
#undef INT
#undef NUM
#undef FLAG
#undef LAYERED
    HN_N_HP
} hn_hp;

typedef struct hn_hparams {
#define INT(field, gguf, low, high, absent) int64_t field;
#define NUM(field, gguf, low, high, absent) double field;
#define FLAG(field, gguf, low, high, absent) bool field;
#define LAYERED(field, gguf, low, high, absent) int64_t field[HN_MAX_LAYERS];
#include "nn/hparams.def"
#undef INT
#undef NUM
#undef FLAG
#undef LAYERED
    bool has[HN_N_HP];
    bool is_listed[HN_N_HP]; /* LAYERED: stated layer by layer, even if all are equal */
    int64_t n_vocab; /* rows of the embedding */
    int64_t n_ple_vocab; /* rows of the per-layer one in a directory; 0: as many */
    bool is_tied;    /* no head of its own; read from GGUF: whether output.weight is missing */
    bool is_headless; /* of a class whose files have no head, and is not tied to one: it embeds only */
    bool has_pattern;                /* is_sliding is stated */
    bool is_sliding[HN_MAX_LAYERS];  /* layers that see only `window` tokens */
    bool is_key_value[HN_MAX_LAYERS]; /* gemma4: layers whose values are their raw keys */
    hn_rope_scaling rope_scaling; /* llama3, proportional: GGUF holds divisors */
    double rope_low_freq, rope_high_freq, rope_partial, rope_mscale;
    double attn_scalar; /* gemma: scores are divided by its root; 0: by that of the head width */
    bool has_divisors; /* GGUF: rope_freqs.weight is there, whatever the scaling */
    bool rope_is_stated; /* rope.scaling.type is to be written, also if none */
    int n_rope_factors;
    double rope_long[HN_MAX_ROPE_FACTORS], rope_short[HN_MAX_ROPE_FACTORS];
    double sparsity[HN_MAX_LAYERS]; /* gemma3n: multiples of the deviation */
    int n_sparsity;
    hn_activation activation; /* 0: the architecture's usual one */
    bool has_attn_bias, has_mlp_bias; /* the class's linear layers have biases */
    bool has_choice_bias; /* of the scores that experts are chosen by; `hone new` makes none */
    bool biases_may_miss;             /* GGUF: some of a layer's */
    bool has_no_rope[HN_MAX_LAYERS];  /* layers whose positions do not turn */
    bool has_table; /* positions are learned: of n_ctx, and there are no more */
    int64_t laurel_rank;  /* gemma3n */
    int64_t n_token_type; /* bert: segment embeddings */
} hn_hparams;

struct hn_config;
struct hn_key_row;

/* The field's key in GGUF: after "<arch>.", or whole where it begins with "hone.". */
const char *hn_hp_gguf(hn_hp which);

/* What the rows of the tables say that name a field, layer_types and rope. n_layer must be there. */
hn_status hn_hparams_read_config(const struct hn_config *config, hn_hparams *out);
/* rope_parameters, or rope_scaling and what stood beside it before. */
hn_status hn_rope_read_config(const struct hn_config *config, hn_hparams *hp);
/* The rows that name a field; `tables`: the architecture's. */
hn_status hn_hparams_read_meta(const hn_meta *meta, const char *arch,
                               const struct hn_key_row *const *tables, hn_hparams *out);
hn_status hn_hparams_write_meta(const hn_hparams *hp, const char *arch,
                                const struct hn_key_row *const *tables, hn_meta *meta);

/* Sets a value by its GGUF key without the architecture: `hone new`. */
hn_status hn_hparams_set(hn_hparams *hp, const char *key, const char *value);

/* The longest sequence that the model's numbers are for; 0: not said. */
int64_t hn_hparams_longest(const hn_hparams *hp);
/* The longest that is taken where nobody says: 4096, or that if it is less. */
int64_t hn_hparams_usual_context(const hn_hparams *hp);
/* The longest sequence that hn_hparams_check_length lets pass; 0: any. */
int64_t hn_hparams_reach(const hn_hparams *hp);
/* HN_ERR_UNSUPPORTED where a sequence of n tokens would turn by other numbers than these: longrope's
 * long factors, dynamic rope's base; or has tokens beyond the positions that were learned. */
hn_status hn_hparams_check_length(const hn_hparams *hp, int64_t n);

/* What every reader checks before anything is divided. `name` begins messages. */
hn_status hn_hparams_check_layers(const char *name, int64_t n);
hn_status hn_hparams_check_int(const char *name, const char *key, int64_t n);
hn_status hn_hparams_check_heads(const char *name, const hn_hparams *hp);

/* Where a field lies: of its kind. */
typedef enum hn_hp_kind { HN_HP_INT, HN_HP_NUM, HN_HP_FLAG, HN_HP_LAYERED } hn_hp_kind;
hn_hp_kind hn_hp_kind_of(hn_hp which);
struct hn_field_range hn_hp_range(hn_hp which); /* of hparams.def; meta_keys.h */
int64_t *hn_hp_int(hn_hparams *hp, hn_hp which); /* LAYERED: the first */
double *hn_hp_num(hn_hparams *hp, hn_hp which);
bool *hn_hp_flag(hn_hparams *hp, hn_hp which);

/* Sets a field and that it is stated. */
#define HN_HP_SET(hp, field, value) ((hp)->field = (value), (void)((hp)->has[HN_HP_##field] = true))
/* Unless it is stated. */
#define HN_HP_DEFAULT(hp, field, value) \
    ((hp)->has[HN_HP_##field] ? (void)0 : HN_HP_SET(hp, field, value))
/* Of a LAYERED one, for all layers. */
void hn_hparams_fill(hn_hparams *hp, hn_hp which, int64_t value);

#endif
