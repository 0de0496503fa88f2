/* hparams.h: the numbers a model's shape and arithmetic depend on, from either kind of file.
 *
 * A value that a file does not state is 0 and not `has`; an architecture's own file then decides
 * what that means. Written to GGUF, exactly what is `has` is written. */
#ifndef HN_NN_HPARAMS_H
#define HN_NN_HPARAMS_H

#include "base/json.h"
#include "base/meta.h"
#include "ops/rope_table.h"

enum { HN_MAX_LAYERS = 512, HN_MAX_ROPE_FACTORS = 512 };

typedef enum hn_hp {
#define INT(field, gguf, config) HN_HP_##field,
#define NUM(field, gguf, config) HN_HP_##field,
#define FLAG(field, gguf, config) HN_HP_##field,
#define LAYERED(field, gguf, config) HN_HP_##field,
#include "nn/hparams.def"
#undef INT
#undef NUM
#undef FLAG
#undef LAYERED
    HN_N_HP
} hn_hp;

typedef struct hn_hparams {
#define INT(field, gguf, config) int64_t field;
#define NUM(field, gguf, config) double field;
#define FLAG(field, gguf, config) bool field;
#define LAYERED(field, gguf, config) int64_t field[HN_MAX_LAYERS];
#include "nn/hparams.def"
#undef INT
#undef NUM
#undef FLAG
#undef LAYERED
    bool has[HN_N_HP];
    bool is_listed[HN_N_HP]; /* LAYERED: stated layer by layer, even if all are equal */
    int64_t n_vocab; /* rows of the embedding */
    bool is_tied;    /* no head of its own; read from GGUF: whether output.weight is missing */
    bool has_pattern;                /* is_sliding is stated */
    bool is_sliding[HN_MAX_LAYERS];  /* layers that see only `window` tokens */
    bool is_key_value[HN_MAX_LAYERS]; /* gemma4: layers whose values are their raw keys */
    hn_rope_scaling rope_scaling; /* llama3, proportional: GGUF holds divisors */
    double rope_low_freq, rope_high_freq, rope_partial, rope_mscale;
    double attn_scalar; /* gemma: scores are divided by its root; 0: by that of the head width */
    bool rope_fractional; /* yarn's ramp ends between pairs (gpt-oss) */
    bool rope_is_stated; /* rope.scaling.type is to be written, also if none */
    int n_rope_factors;
    double rope_long[HN_MAX_ROPE_FACTORS], rope_short[HN_MAX_ROPE_FACTORS];
    double sparsity[HN_MAX_LAYERS]; /* gemma3n: multiples of the deviation */
    int n_sparsity;
    int64_t laurel_rank;  /* gemma3n */
    int64_t n_token_type; /* bert: segment embeddings */
} hn_hparams;

/* A value of config.json: of text_config where there is one, else of the root. `names`: "a|b",
 * tried in order; null counts as absent. NULL if there is none. */
const hn_json *hn_config_find(const hn_json *config, const char *names);
hn_status hn_config_int(const hn_json *config, const char *names, int64_t otherwise,
                        int64_t *out);
hn_status hn_config_num(const hn_json *config, const char *names, double otherwise, double *out);
hn_status hn_config_flag(const hn_json *config, const char *names, bool otherwise, bool *out);

/* What the lines of hparams.def and rope_parameters say. n_layer must be there. */
hn_status hn_hparams_read_config(const hn_json *config, hn_hparams *out);
hn_status hn_hparams_read_meta(const hn_meta *meta, const char *arch, hn_hparams *out);
hn_status hn_hparams_write_meta(const hn_hparams *hp, const char *arch, hn_meta *meta);

/* Sets a value by its GGUF key without the architecture: `hone new`. */
hn_status hn_hparams_set(hn_hparams *hp, const char *key, const char *value);

/* Sets a field and that it is stated. */
#define HN_HP_SET(hp, field, value) ((hp)->field = (value), (void)((hp)->has[HN_HP_##field] = true))
/* Unless it is stated. */
#define HN_HP_DEFAULT(hp, field, value) \
    ((hp)->has[HN_HP_##field] ? (void)0 : HN_HP_SET(hp, field, value))
/* Of a LAYERED one, for all layers. */
void hn_hparams_fill(hn_hparams *hp, hn_hp which, int64_t value);

#endif
