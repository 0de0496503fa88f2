/* hparams.def is included for each: where a number lies in the struct, its key, its range, and what its absence
 * means. So reading, writing and setting by hand are loops. */
#include "nn/hparams.h"

#include "base/number.h"
#include "nn/meta_keys.h"
#include "nn/rope_meta.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_EXPERTS = 1 << 16 };

static const struct {
    hn_hp_kind kind;
    size_t at;
    const char *gguf;
    hn_field_range range;
} rows[HN_N_HP] = {
#define ROW(kind, field, ...) [HN_HP_##field] = { kind, offsetof(hn_hparams, field), __VA_ARGS__ },
#define INT(field, gguf, low, high, absent) ROW(HN_HP_INT, field, gguf, { low, high, absent })
#define NUM(field, gguf, low, high, absent) ROW(HN_HP_NUM, field, gguf, { low, high, absent })
#define FLAG(field, gguf, low, high, absent) ROW(HN_HP_FLAG, field, gguf, { low, high, absent })
#define LAYERED(field, gguf, low, high, absent) ROW(HN_HP_LAYERED, field, gguf, { low, high, absent })
#include "nn/hparams.def"
#undef INT
#undef NUM
#undef FLAG
#undef LAYERED
#undef ROW
};

int64_t *hn_hp_int(hn_hparams *hp, hn_hp i)
{
    return (int64_t *)(void *)((char *)hp + rows[i].at);
}

double *hn_hp_num(hn_hparams *hp, hn_hp i)
{
    return (double *)(void *)((char *)hp + rows[i].at);
}

bool *hn_hp_flag(hn_hparams *hp, hn_hp i)
{
    return (bool *)(void *)((char *)hp + rows[i].at);
}

hn_hp_kind hn_hp_kind_of(hn_hp i) { return rows[i].kind; }

const char *hn_hp_gguf(hn_hp i) { return rows[i].gguf; }

hn_field_range hn_hp_range(hn_hp i) { return rows[i].range; }

/* hone's own keys are the same of every architecture. */
static void key_of(int i, const char *arch, char key[160])
{
    const bool is_own = !strncmp(rows[i].gguf, "hone.", 5);
    snprintf(key, 160, "%s%s%s", is_own ? "" : arch, is_own ? "" : ".", rows[i].gguf);
}

void hn_hparams_fill(hn_hparams *hp, hn_hp which, int64_t value)
{
    for (int i = 0; i < HN_MAX_LAYERS; i++)
        hn_hp_int(hp, which)[i] = value;
    hp->has[which] = true;
}

int64_t hn_hparams_longest(const hn_hparams *hp)
{
    return hp->rope_limit > 0 && (hp->n_ctx <= 0 || hp->rope_limit < hp->n_ctx) ? hp->rope_limit
                                                                                : hp->n_ctx;
}

int64_t hn_hparams_usual_context(const hn_hparams *hp)
{
    enum { USUAL = 4096 };
    const int64_t longest = hn_hparams_longest(hp);
    return longest > 0 && longest < USUAL ? longest : USUAL;
}

int64_t hn_hparams_reach(const hn_hparams *hp)
{
    const int64_t turned = hp->rope_limit > 0 ? hp->rope_limit : 0, learned = hp->has_table ? hp->n_ctx : 0;
    return !turned || (learned && learned < turned) ? learned : turned;
}

hn_status hn_hparams_check_length(const hn_hparams *hp, int64_t n)
{
    HN_REQUIRE(hp->rope_limit <= 0 || n <= hp->rope_limit, HN_ERR_UNSUPPORTED,
               "a sequence of %lld tokens: rope has other numbers beyond %lld", (long long)n,
               (long long)hp->rope_limit);
    HN_REQUIRE(!hp->has_table || n <= hp->n_ctx, HN_ERR_UNSUPPORTED,
               "a sequence of %lld tokens: the model learned %lld positions", (long long)n,
               (long long)hp->n_ctx);
    return HN_OK;
}

hn_status hn_hparams_check_layers(const char *name, int64_t n)
{
    HN_REQUIRE(n >= 1 && n <= HN_MAX_LAYERS, HN_ERR_UNSUPPORTED,
               "%s: %lld layers: expected 1 to %d", name, (long long)n, HN_MAX_LAYERS);
    return HN_OK;
}

/* Files hold what they like: beyond this nothing is a model, and products of two fit. */
hn_status hn_hparams_check_int(const char *name, const char *key, int64_t n)
{
    HN_REQUIRE(n >= 0 && n <= INT32_MAX, HN_ERR_FORMAT, "%s: %s is %lld: expected 0 to %d", name,
               key, (long long)n, INT32_MAX);
    return HN_OK;
}

/* What architectures divide by before anything else. */
hn_status hn_hparams_check_heads(const char *name, const hn_hparams *hp)
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

/* GGUF: hn_meta_check_keys has seen kinds, ranges and lengths. */

static void set_absent(hn_hparams *hp, hn_hp i, const char *text)
{
    double value;
    hn_number_read(text, strlen(text), &value);
    switch (rows[i].kind) {
    case HN_HP_NUM: *hn_hp_num(hp, i) = value; break;
    case HN_HP_FLAG: *hn_hp_flag(hp, i) = value != 0; break;
    case HN_HP_INT: *hn_hp_int(hp, i) = (int64_t)value; break;
    case HN_HP_LAYERED: break;
    }
}

static hn_status read_meta_row(const hn_meta *meta, const char *key, hn_hparams *hp, hn_hp i,
                               const char *absent)
{
    const hn_meta_value *value = hn_meta_find(meta, key);
    if (!value) {
        if (absent)
            set_absent(hp, i, absent);
        return HN_OK;
    }
    hp->has[i] = true;
    switch (rows[i].kind) {
    case HN_HP_NUM: return hn_meta_double(meta, key, 0, hn_hp_num(hp, i));
    case HN_HP_FLAG: return hn_meta_bool(meta, key, false, hn_hp_flag(hp, i));
    case HN_HP_INT: return hn_meta_int(meta, key, 0, hn_hp_int(hp, i));
    case HN_HP_LAYERED: break;
    }
    if (!value->is_array) {
        int64_t n;
        HN_TRY(hn_meta_int(meta, key, 0, &n));
        hn_hparams_fill(hp, (hn_hp)i, n);
        return HN_OK;
    }
    for (int64_t k = 0; k < hp->n_layer; k++)
        hn_hp_int(hp, i)[k] = hn_meta_item_int(value, (uint64_t)k);
    return HN_OK;
}

/* One for each layer, or the length of a period whose last layer sees all; of 0 none does. */
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
            hp->is_sliding[i] = period == 0 || (i + 1) % period != 0;
        return HN_OK;
    }
    HN_REQUIRE(value->n == (uint64_t)hp->n_layer, HN_ERR_FORMAT,
               "%s: key %s is an array of %llu: expected one for each of %lld layers", meta->name,
               key, (unsigned long long)value->n, (long long)hp->n_layer);
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = value->type == HN_META_BOOL
                                ? value->data[i] != 0
                                : hn_meta_item_int(value, (uint64_t)i) != 0;
    return HN_OK;
}

hn_status hn_hparams_read_meta(const hn_meta *meta, const char *arch,
                               const hn_key_row *const *tables, hn_hparams *out)
{
    char key[160];
    memset(out, 0, sizeof *out);
    snprintf(key, sizeof key, "%s.block_count", arch);
    HN_TRY(hn_meta_want_int(meta, key, &out->n_layer));
    HN_TRY(hn_hparams_check_layers(meta->name, out->n_layer));
    for (hn_hp i = 1; i < HN_N_HP; i++) {
        const hn_key_row *row = hn_key_of_field(tables, i);
        key_of((int)i, arch, key);
        if (row)
            HN_TRY(read_meta_row(meta, key, out, i, hn_field_range_of(i, row).absent));
    }
    HN_TRY(hn_hparams_check_heads(meta->name, out));
    out->rope_partial = 1;
    HN_TRY(read_meta_pattern(meta, arch, out));
    return hn_rope_read_meta(meta, arch, tables, out);
}

static bool is_uniform(const int64_t *values, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

/* Nothing is written that would not be read. */
static hn_status check_written(const hn_hparams *hp, int i, const char *key, hn_field_range range)
{
    const void *at = (const char *)hp + rows[i].at;
    const int64_t *ints = at;
    if (rows[i].kind == HN_HP_NUM)
        return hn_field_check("GGUF", key, *(const double *)at, range);
    const int64_t n = rows[i].kind == HN_HP_LAYERED ? hp->n_layer : rows[i].kind == HN_HP_INT;
    for (int64_t k = 0; k < n; k++)
        HN_TRY(hn_field_check("GGUF", key, (double)ints[k], range));
    return HN_OK;
}

static hn_status write_row(const hn_hparams *hp, int i, const char *key, hn_meta *meta)
{
    const void *at = (const char *)hp + rows[i].at;
    const int64_t *ints = at;
    switch (rows[i].kind) {
    case HN_HP_NUM: return hn_meta_set_double(meta, key, HN_META_F32, *(const double *)at);
    case HN_HP_FLAG: return hn_meta_set_bool(meta, key, *(const bool *)at);
    case HN_HP_INT: return hn_meta_set_int(meta, key, HN_META_U32, *ints);
    case HN_HP_LAYERED: break;
    }
    if (is_uniform(ints, hp->n_layer) && !hp->is_listed[i])
        return hn_meta_set_int(meta, key, HN_META_U32, *ints);
    return hn_meta_set_ints(meta, key, HN_META_I32, ints, (size_t)hp->n_layer);
}

hn_status hn_hparams_write_meta(const hn_hparams *hp, const char *arch,
                                const hn_key_row *const *tables, hn_meta *meta)
{
    char key[160];
    for (int i = 1; i < HN_N_HP; i++) {
        key_of(i, arch, key);
        const hn_key_row *row = hn_key_of_field(tables, (hn_hp)i);
        if (!hp->has[i])
            continue;
        HN_REQUIRE(row, HN_ERR_UNSUPPORTED, "key %s: %s has none", key, arch);
        HN_TRY(check_written(hp, i, key, hn_field_range_of((hn_hp)i, row)));
        HN_TRY(write_row(hp, i, key, meta));
    }
    return hn_rope_write_meta(hp, arch, meta);
}

/* By hand. */

static hn_status parse_number(const char *key, const char *text, const char **end, double *out)
{
    *end = text + hn_number_read(text, strlen(text), out);
    HN_REQUIRE(*end != text && isfinite(*out), HN_ERR_ARGUMENT, "%s=%s: expected a number", key, text);
    return HN_OK;
}

hn_status hn_hparams_set(hn_hparams *hp, const char *key, const char *value)
{
    hn_hp i = 1;
    while (i < HN_N_HP && strcmp(rows[i].gguf, key) != 0)
        i++;
    HN_REQUIRE(i < HN_N_HP, HN_ERR_ARGUMENT, "%s is no key of a model's shape", key);
    hp->has[i] = true;
    if (rows[i].kind == HN_HP_FLAG) {
        HN_REQUIRE(!strcmp(value, "true") || !strcmp(value, "false"), HN_ERR_ARGUMENT,
                   "%s=%s: expected true or false", key, value);
        *hn_hp_flag(hp, i) = !strcmp(value, "true");
        return HN_OK;
    }
    const char *at = value;
    for (int n = 0;; n++) {
        const char *end;
        double number;
        HN_TRY(parse_number(key, at, &end, &number));
        HN_REQUIRE(!*end || (*end == ',' && rows[i].kind == HN_HP_LAYERED), HN_ERR_ARGUMENT,
                   "%s=%s: expected a number, found \"%s\" after it", key, value, end);
        HN_REQUIRE(rows[i].kind == HN_HP_NUM || (number >= 0 && number < 0x1p53 &&
                                                (double)(int64_t)number == number),
                   HN_ERR_ARGUMENT, "%s=%s: expected a whole number", key, value);
        HN_REQUIRE(n < HN_MAX_LAYERS, HN_ERR_ARGUMENT, "%s: more than %d numbers", key,
                   HN_MAX_LAYERS);
        if (rows[i].kind == HN_HP_NUM)
            *hn_hp_num(hp, i) = number;
        else if (rows[i].kind == HN_HP_INT || n)
            hn_hp_int(hp, i)[n] = (int64_t)number;
        else
            hn_hparams_fill(hp, (hn_hp)i, (int64_t)number);
        if (!*end)
            return HN_OK;
        at = end + 1;
    }
}
