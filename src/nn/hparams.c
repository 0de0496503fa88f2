#include "nn/hparams.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPERTS = 1 << 16 };

typedef enum kind { KIND_INT, KIND_NUM, KIND_FLAG, KIND_LAYERED } kind;

static const struct {
    kind kind;
    size_t at;
    const char *gguf, *config;
} rows[HN_N_HP] = {
#define ROW(kind, field, gguf, config) { kind, offsetof(hn_hparams, field), gguf, config },
#define INT(field, gguf, config) ROW(KIND_INT, field, gguf, config)
#define NUM(field, gguf, config) ROW(KIND_NUM, field, gguf, config)
#define FLAG(field, gguf, config) ROW(KIND_FLAG, field, gguf, config)
#define LAYERED(field, gguf, config) ROW(KIND_LAYERED, field, gguf, config)
#include "nn/hparams.def"
#undef INT
#undef NUM
#undef FLAG
#undef LAYERED
#undef ROW
};

static int64_t *int_of(hn_hparams *hp, int i)
{
    return (int64_t *)(void *)((char *)hp + rows[i].at);
}

static double *num_of(hn_hparams *hp, int i)
{
    return (double *)(void *)((char *)hp + rows[i].at);
}

static bool *flag_of(hn_hparams *hp, int i)
{
    return (bool *)(void *)((char *)hp + rows[i].at);
}

void hn_hparams_fill(hn_hparams *hp, hn_hp which, int64_t value)
{
    for (int i = 0; i < HN_MAX_LAYERS; i++)
        int_of(hp, which)[i] = value;
    hp->has[which] = true;
}

static hn_status check_layers(const char *name, int64_t n)
{
    HN_REQUIRE(n >= 1 && n <= HN_MAX_LAYERS, HN_ERR_UNSUPPORTED,
               "%s: %lld layers: expected 1 to %d", name, (long long)n, HN_MAX_LAYERS);
    return HN_OK;
}

/* Files hold what they like: beyond this nothing is a model, and products of two fit. */
static hn_status check_int(const char *name, const char *key, int64_t n)
{
    HN_REQUIRE(n >= 0 && n <= INT32_MAX, HN_ERR_FORMAT, "%s: %s is %lld: expected 0 to %d", name,
               key, (long long)n, INT32_MAX);
    return HN_OK;
}

/* What architectures divide by before anything else. */
static hn_status check_heads(const char *name, const hn_hparams *hp)
{
    HN_REQUIRE(hp->width > 0, HN_ERR_FORMAT, "%s: the width is missing or 0", name);
    for (int64_t i = 0; i < hp->n_layer; i++) {
        HN_REQUIRE(hp->n_head[i] > 0, HN_ERR_FORMAT, "%s: layer %lld has no heads", name,
                   (long long)i);
        HN_REQUIRE(!hp->has[HN_HP_n_kv_head] || hp->n_kv_head[i] > 0, HN_ERR_FORMAT,
                   "%s: layer %lld has no key heads", name, (long long)i);
    }
    HN_REQUIRE(hp->n_expert <= MAX_EXPERTS && hp->n_shared_kv <= hp->n_layer, HN_ERR_FORMAT,
               "%s: %lld experts, %lld layers with the keys of others: too many", name,
               (long long)hp->n_expert, (long long)hp->n_shared_kv);
    return HN_OK;
}

/* config.json. */

static const hn_json *find_in(const hn_json *object, const char *names)
{
    for (const char *name = names; *name;) {
        const size_t n = strcspn(name, "|");
        char key[64];
        if (n < sizeof key) {
            memcpy(key, name, n);
            key[n] = '\0';
            const hn_json *found = hn_json_get(object, key);
            if (found && found->kind != HN_JSON_NULL)
                return found;
        }
        name += n + (name[n] == '|');
    }
    return NULL;
}

const hn_json *hn_config_find(const hn_json *config, const char *names)
{
    const hn_json *text = hn_json_get(config, "text_config");
    const hn_json *found = text ? find_in(text, names) : NULL;
    return found ? found : find_in(config, names);
}

static hn_status within_config(hn_status status, const char *names)
{
    return status == HN_OK ? HN_OK : hn_fail_within(status, "config.json: %s: ", names);
}

hn_status hn_config_int(const hn_json *config, const char *names, int64_t otherwise,
                        int64_t *out)
{
    const hn_json *found = hn_config_find(config, names);
    *out = otherwise;
    if (!found)
        return HN_OK;
    HN_TRY(within_config(hn_json_want_int(found, found->key, out), names));
    return check_int("config.json", names, *out);
}

hn_status hn_config_num(const hn_json *config, const char *names, double otherwise, double *out)
{
    const hn_json *found = hn_config_find(config, names);
    *out = otherwise;
    return found ? within_config(hn_json_want_double(found, found->key, out), names) : HN_OK;
}

hn_status hn_config_flag(const hn_json *config, const char *names, bool otherwise, bool *out)
{
    const hn_json *found = hn_config_find(config, names);
    *out = otherwise;
    return found ? within_config(hn_json_want_bool(found, found->key, out), names) : HN_OK;
}

static hn_status read_config_row(const hn_json *found, hn_hparams *hp, int i)
{
    const char *what = found->key;
    hp->has[i] = true;
    switch (rows[i].kind) {
    case KIND_NUM: return hn_json_want_double(found, what, num_of(hp, i));
    case KIND_FLAG: return hn_json_want_bool(found, what, flag_of(hp, i));
    case KIND_INT:
        HN_TRY(hn_json_want_int(found, what, int_of(hp, i)));
        return check_int("the shape", what, *int_of(hp, i));
    case KIND_LAYERED: break;
    }
    if (found->kind == HN_JSON_INT) {
        hn_hparams_fill(hp, (hn_hp)i, found->as.integer);
        return check_int("the shape", what, found->as.integer);
    }
    HN_REQUIRE(found->kind == HN_JSON_ARRAY && (int64_t)found->as.children.n == hp->n_layer,
               HN_ERR_FORMAT, "%s: expected an integer or one for each of %lld layers", what,
               (long long)hp->n_layer);
    hp->is_listed[i] = true;
    int64_t *to = int_of(hp, i);
    for (const hn_json *item = found->as.children.first; item; item = item->next, to++) {
        HN_TRY(hn_json_want_int(item, what, to));
        HN_TRY(check_int("the shape", what, *to));
    }
    return HN_OK;
}

/* Which layers slide: "layer_types" says it in words. */
static hn_status read_layer_types(const hn_json *config, hn_hparams *hp)
{
    const hn_json *types = hn_config_find(config, "layer_types");
    if (!types)
        return HN_OK;
    HN_REQUIRE(types->kind == HN_JSON_ARRAY && (int64_t)types->as.children.n == hp->n_layer,
               HN_ERR_FORMAT, "layer_types: expected one for each of %lld layers",
               (long long)hp->n_layer);
    int i = 0;
    for (const hn_json *t = types->as.children.first; t; t = t->next, i++) {
        const char *word;
        HN_TRY(hn_json_want_string(t, "layer_types", &word));
        hp->is_sliding[i] = !strcmp(word, "sliding_attention");
        HN_REQUIRE(hp->is_sliding[i] || !strcmp(word, "full_attention"), HN_ERR_UNSUPPORTED,
                   "layer_types: %s is not supported", word);
    }
    hp->has_pattern = true;
    return HN_OK;
}

/* rope_parameters (or rope_scaling, and rope_theta beside it). */

static hn_status read_factors(const hn_json *rope, const char *key, hn_hparams *hp, double *out)
{
    const hn_json *list = hn_json_get(rope, key);
    if (!list || list->kind == HN_JSON_NULL)
        return HN_OK;
    HN_REQUIRE(list->kind == HN_JSON_ARRAY && list->as.children.n <= HN_MAX_ROPE_FACTORS,
               HN_ERR_FORMAT, "%s: expected an array of at most %d numbers", key,
               HN_MAX_ROPE_FACTORS);
    hp->n_rope_factors = (int)list->as.children.n;
    int i = 0;
    for (const hn_json *v = list->as.children.first; v; v = v->next)
        HN_TRY(hn_json_want_double(v, key, &out[i++]));
    return HN_OK;
}

static hn_status read_num(const hn_json *rope, const char *names, hn_hparams *hp, hn_hp which)
{
    const hn_json *found = find_in(rope, names);
    if (!found)
        return HN_OK;
    hp->has[which] = true;
    return hn_json_want_double(found, found->key, num_of(hp, which));
}

static hn_status read_scaling(const hn_json *rope, const char *word, hn_hparams *hp)
{
    static const struct {
        const char *word;
        hn_rope_scaling scaling;
        bool is_stated;
    } known[] = {
        { "default", HN_ROPE_NONE, false },        { "linear", HN_ROPE_LINEAR, true },
        { "yarn", HN_ROPE_YARN, true },            { "longrope", HN_ROPE_LONGROPE, true },
        { "su", HN_ROPE_LONGROPE, true },          { "llama3", HN_ROPE_LLAMA3, false },
        { "proportional", HN_ROPE_PROPORTIONAL, false },
    };
    size_t i = 0;
    while (i < sizeof known / sizeof *known && strcmp(known[i].word, word) != 0)
        i++;
    HN_REQUIRE(i < sizeof known / sizeof *known, HN_ERR_UNSUPPORTED,
               "rope_type %s is not supported", word);
    hp->rope_scaling = known[i].scaling;
    hp->rope_is_stated = known[i].is_stated;
    HN_TRY(read_num(rope, "factor", hp, HN_HP_rope_factor));
    hp->has[HN_HP_rope_factor] = /* llama3's is in the divisors */
        hp->rope_scaling == HN_ROPE_LINEAR || hp->rope_scaling == HN_ROPE_YARN;
    if (hp->rope_scaling == HN_ROPE_YARN) {
        hp->has[HN_HP_rope_orig_ctx] = hp->rope_orig_ctx > 0;
        HN_TRY(read_num(rope, "extrapolation_factor", hp, HN_HP_yarn_ext_factor));
        HN_TRY(read_num(rope, "attention_factor|attn_factor", hp, HN_HP_yarn_attn_factor));
        HN_TRY(read_num(rope, "beta_fast", hp, HN_HP_yarn_beta_fast));
        HN_TRY(read_num(rope, "beta_slow", hp, HN_HP_yarn_beta_slow));
    }
    HN_TRY(hn_config_num(rope, "low_freq_factor", 1, &hp->rope_low_freq));
    HN_TRY(hn_config_num(rope, "high_freq_factor", 4, &hp->rope_high_freq));
    HN_TRY(hn_config_num(rope, "mscale_all_dim", 0, &hp->rope_mscale));
    HN_TRY(read_factors(rope, "long_factor", hp, hp->rope_long));
    return read_factors(rope, "short_factor", hp, hp->rope_short);
}

static hn_status read_rope(const hn_json *config, hn_hparams *hp)
{
    const hn_json *all = hn_config_find(config, "rope_parameters|rope_scaling");
    const hn_json *full = hn_json_get(all, "full_attention");
    const hn_json *rope = full && full->kind == HN_JSON_OBJECT ? full : all;
    const hn_json *sliding = hn_json_get(all, "sliding_attention");
    const hn_json *theta = hn_config_find(config, "rope_theta|rotary_emb_base");
    const hn_json *inner = rope ? find_in(rope, "rope_theta") : NULL;
    if (inner || theta) {
        HN_TRY(hn_json_want_double(inner ? inner : theta, "rope_theta", &hp->rope_base));
        hp->has[HN_HP_rope_base] = true;
    }
    const hn_json *local = sliding ? find_in(sliding, "rope_theta")
                                   : hn_config_find(config, "rope_local_base_freq");
    if (local) {
        HN_TRY(hn_json_want_double(local, "rope_theta", &hp->rope_base_swa));
        hp->has[HN_HP_rope_base_swa] = true;
    }
    const hn_json *partial = rope ? find_in(rope, "partial_rotary_factor") : NULL;
    if (!partial)
        partial = hn_config_find(config, "partial_rotary_factor|rope_pct");
    hp->rope_partial = 1;
    if (partial)
        HN_TRY(hn_json_want_double(partial, "partial_rotary_factor", &hp->rope_partial));
    HN_REQUIRE(hp->rope_partial > 0 && hp->rope_partial <= 1, HN_ERR_FORMAT,
               "partial_rotary_factor is %g: expected a share of 1", hp->rope_partial);
    const hn_json *orig = rope ? find_in(rope, "original_max_position_embeddings") : NULL;
    if (!orig)
        orig = hn_config_find(config, "original_max_position_embeddings");
    if (orig)
        HN_TRY(hn_json_want_int(orig, "original_max_position_embeddings", &hp->rope_orig_ctx));
    HN_TRY(check_int("the shape", "original_max_position_embeddings", hp->rope_orig_ctx));
    const hn_json *type = rope ? find_in(rope, "rope_type|type") : NULL;
    const char *word;
    if (!type)
        return HN_OK;
    HN_TRY(hn_json_want_string(type, "rope_type", &word));
    return read_scaling(rope, word, hp);
}

hn_status hn_hparams_read_config(const hn_json *config, hn_hparams *out)
{
    memset(out, 0, sizeof *out);
    HN_TRY(hn_config_int(config, rows[HN_HP_n_layer].config, 0, &out->n_layer));
    HN_TRY(check_layers("config.json", out->n_layer));
    for (int i = 0; i < HN_N_HP; i++) {
        const hn_json *found = hn_config_find(config, rows[i].config);
        if (found)
            HN_TRY(within_config(read_config_row(found, out, i), rows[i].config));
    }
    HN_TRY(check_heads("config.json", out));
    HN_TRY(within_config(read_layer_types(config, out), "layer_types"));
    HN_TRY(within_config(read_rope(config, out), "rope_parameters"));
    HN_TRY(hn_config_int(config, "vocab_size", 0, &out->n_vocab));
    return hn_config_flag(config, "tie_word_embeddings", false, &out->is_tied);
}

/* GGUF. */

static hn_status read_meta_row(const hn_meta *meta, const char *key, hn_hparams *hp, int i)
{
    const hn_meta_value *value = hn_meta_find(meta, key);
    if (!value)
        return HN_OK;
    hp->has[i] = true;
    switch (rows[i].kind) {
    case KIND_NUM: return hn_meta_double(meta, key, 0, num_of(hp, i));
    case KIND_FLAG: return hn_meta_bool(meta, key, false, flag_of(hp, i));
    case KIND_INT:
        HN_TRY(hn_meta_int(meta, key, 0, int_of(hp, i)));
        return check_int(meta->name, key, *int_of(hp, i));
    case KIND_LAYERED: break;
    }
    if (!value->is_array) {
        int64_t n;
        HN_TRY(hn_meta_int(meta, key, 0, &n));
        hn_hparams_fill(hp, (hn_hp)i, n);
        return check_int(meta->name, key, n);
    }
    HN_REQUIRE(value->n >= (uint64_t)hp->n_layer && hn_meta_type_bytes(value->type) &&
                   value->type != HN_META_BOOL,
               HN_ERR_FORMAT, "%s: key %s: expected an integer or one for each of %lld layers",
               meta->name, key, (long long)hp->n_layer);
    for (int64_t k = 0; k < hp->n_layer; k++) {
        int_of(hp, i)[k] = hn_meta_item_int(value, (uint64_t)k);
        HN_TRY(check_int(meta->name, key, int_of(hp, i)[k]));
    }
    return HN_OK;
}

/* What rope.scaling.type may say; NULL: it has no word of its own there. */
static const char *const scaling_words[] = { [HN_ROPE_NONE] = "none",
                                             [HN_ROPE_LINEAR] = "linear",
                                             [HN_ROPE_YARN] = "yarn",
                                             [HN_ROPE_LONGROPE] = "longrope",
                                             [HN_ROPE_PROPORTIONAL] = NULL };

static hn_status read_meta_scaling(const hn_meta *meta, const char *arch, hn_hparams *hp)
{
    char key[160];
    hn_span word;
    snprintf(key, sizeof key, "%s.rope.scaling.type", arch);
    HN_TRY(hn_meta_string(meta, key, &word));
    if (!word.data)
        return HN_OK;
    hp->rope_is_stated = true;
    for (int i = 0; i <= HN_ROPE_PROPORTIONAL; i++)
        if (scaling_words[i] && strlen(scaling_words[i]) == word.bytes &&
            !memcmp(scaling_words[i], word.data, word.bytes)) {
            hp->rope_scaling = (hn_rope_scaling)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_UNSUPPORTED, "%s: key %s: %.*s is not supported", meta->name, key,
                   (int)(word.bytes < 64 ? word.bytes : 64), (const char *)word.data);
}

/* The pattern is a bool for each layer, or the length of a period whose last layer sees all. */
static hn_status read_meta_pattern(const hn_meta *meta, const char *arch, hn_hparams *hp)
{
    char key[160];
    snprintf(key, sizeof key, "%s.attention.sliding_window_pattern", arch);
    const hn_meta_value *value = hn_meta_find(meta, key);
    if (!value)
        return HN_OK;
    hp->has_pattern = true;
    if (!value->is_array) {
        int64_t period;
        HN_TRY(hn_meta_int(meta, key, 0, &period));
        for (int64_t i = 0; i < hp->n_layer; i++)
            hp->is_sliding[i] = period > 0 && (i + 1) % period != 0;
        return HN_OK;
    }
    HN_REQUIRE(value->type == HN_META_BOOL && value->n >= (uint64_t)hp->n_layer, HN_ERR_FORMAT,
               "%s: key %s: expected a bool for each of %lld layers", meta->name, key,
               (long long)hp->n_layer);
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = value->data[i] != 0;
    return HN_OK;
}

hn_status hn_hparams_read_meta(const hn_meta *meta, const char *arch, hn_hparams *out)
{
    char key[160];
    memset(out, 0, sizeof *out);
    snprintf(key, sizeof key, "%s.block_count", arch);
    HN_TRY(hn_meta_want_int(meta, key, &out->n_layer));
    HN_TRY(check_layers(meta->name, out->n_layer));
    for (int i = 0; i < HN_N_HP; i++) {
        snprintf(key, sizeof key, "%s.%s", arch, rows[i].gguf);
        HN_TRY(read_meta_row(meta, key, out, i));
    }
    HN_TRY(check_heads(meta->name, out));
    out->rope_partial = 1;
    HN_TRY(read_meta_pattern(meta, arch, out));
    return read_meta_scaling(meta, arch, out);
}

static bool is_uniform(const int64_t *values, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

static hn_status write_row(const hn_hparams *hp, int i, const char *key, hn_meta *meta)
{
    const void *at = (const char *)hp + rows[i].at;
    const int64_t *ints = at;
    switch (rows[i].kind) {
    case KIND_NUM: return hn_meta_set_double(meta, key, HN_META_F32, *(const double *)at);
    case KIND_FLAG: return hn_meta_set_bool(meta, key, *(const bool *)at);
    case KIND_INT: return hn_meta_set_int(meta, key, HN_META_U32, *ints);
    case KIND_LAYERED: break;
    }
    if (is_uniform(ints, hp->n_layer) && !hp->is_listed[i])
        return hn_meta_set_int(meta, key, HN_META_U32, *ints);
    return hn_meta_set_ints(meta, key, HN_META_I32, ints, (size_t)hp->n_layer);
}

hn_status hn_hparams_write_meta(const hn_hparams *hp, const char *arch, hn_meta *meta)
{
    char key[160];
    for (int i = 0; i < HN_N_HP; i++) {
        snprintf(key, sizeof key, "%s.%s", arch, rows[i].gguf);
        if (hp->has[i])
            HN_TRY(write_row(hp, i, key, meta));
    }
    if (hp->rope_is_stated) {
        snprintf(key, sizeof key, "%s.rope.scaling.type", arch);
        HN_TRY(hn_meta_set_text(meta, key, scaling_words[hp->rope_scaling]));
    }
    return HN_OK;
}

/* By hand. */

static hn_status parse_number(const char *key, const char *text, char **end, double *out)
{
    errno = 0;
    *out = strtod(text, end);
    HN_REQUIRE(*end != text && !errno, HN_ERR_ARGUMENT, "%s=%s: expected a number", key, text);
    return HN_OK;
}

hn_status hn_hparams_set(hn_hparams *hp, const char *key, const char *value)
{
    int i = 0;
    while (i < HN_N_HP && strcmp(rows[i].gguf, key) != 0)
        i++;
    HN_REQUIRE(i < HN_N_HP, HN_ERR_ARGUMENT, "%s is no key of a model's shape", key);
    hp->has[i] = true;
    if (rows[i].kind == KIND_FLAG) {
        HN_REQUIRE(!strcmp(value, "true") || !strcmp(value, "false"), HN_ERR_ARGUMENT,
                   "%s=%s: expected true or false", key, value);
        *flag_of(hp, i) = !strcmp(value, "true");
        return HN_OK;
    }
    const char *at = value;
    for (int n = 0;; n++) {
        char *end;
        double number;
        HN_TRY(parse_number(key, at, &end, &number));
        HN_REQUIRE(!*end || (*end == ',' && rows[i].kind == KIND_LAYERED), HN_ERR_ARGUMENT,
                   "%s=%s: expected a number, found \"%s\" after it", key, value, end);
        HN_REQUIRE(rows[i].kind == KIND_NUM || (number >= 0 && number < 0x1p53 &&
                                                (double)(int64_t)number == number),
                   HN_ERR_ARGUMENT, "%s=%s: expected a whole number", key, value);
        HN_REQUIRE(n < HN_MAX_LAYERS, HN_ERR_ARGUMENT, "%s: more than %d numbers", key,
                   HN_MAX_LAYERS);
        if (rows[i].kind == KIND_NUM)
            *num_of(hp, i) = number;
        else if (rows[i].kind == KIND_INT || n)
            int_of(hp, i)[n] = (int64_t)number;
        else
            hn_hparams_fill(hp, (hn_hp)i, (int64_t)number);
        if (!*end)
            return HN_OK;
        at = end + 1;
    }
}
