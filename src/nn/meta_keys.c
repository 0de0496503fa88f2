/* All keys are checked before one is read, those that are ignored too: what the user passes over must be there,
 * and be nothing that is used. */
#include "nn/meta_keys.h"

#include "base/host.h"
#include "base/str.h"
#include "nn/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 96, KEY = 160 };

typedef struct subject {
    const hn_meta *meta;
    const char *arch;
    const hn_key_row *const *tables;
    const hn_ignored *ignored;
    int64_t n_layer, n_token; /* 0: not said */
} subject;

/* The value, short enough for a message. */
static const char *show(const hn_meta_value *v, char out[SHOWN])
{
    if (v->is_array) {
        snprintf(out, SHOWN, "an array of %llu", (unsigned long long)v->n);
        return out;
    }
    switch (v->type) {
    case HN_META_STRING: {
        size_t cursor = 0;
        const hn_span text = hn_meta_next_string(v, &cursor);
        snprintf(out, SHOWN, "\"%.*s\"", (int)(text.bytes < 60 ? text.bytes : 60),
                 text.bytes ? (const char *)text.data : "");
        return out;
    }
    case HN_META_BOOL: return v->data[0] ? "true" : "false";
    case HN_META_F32:
    case HN_META_F64: hn_text_print(out, SHOWN, "%.9g", hn_meta_item_double(v, 0)); return out;
    case HN_META_U64: {
        uint64_t n;
        memcpy(&n, v->data, sizeof n);
        snprintf(out, SHOWN, "%llu", (unsigned long long)n);
        return out;
    }
    default: snprintf(out, SHOWN, "%lld", (long long)hn_meta_item_int(v, 0)); return out;
    }
}

static hn_status refuse(const subject *s, const hn_meta_value *v, hn_status code, const char *why)
{
    char shown[SHOWN];
    return hn_fail(code, "%s: key %s is %s: %s", s->meta->name, v->key, show(v, shown), why);
}

static unsigned kind_of(const hn_meta_value *v)
{
    const unsigned item = v->type == HN_META_STRING                             ? HN_IS_WORD
                          : v->type == HN_META_BOOL                             ? HN_IS_FLAG
                          : v->type == HN_META_F32 || v->type == HN_META_F64 ? HN_IS_REAL
                                                                                : HN_IS_INT;
    return v->is_array ? HN_ITEMS(item) : item;
}

static bool is_kind(unsigned is, unsigned kind)
{
    if (is == HN_IS_ANY)
        return true;
    return kind & HN_IS_LIST ? (is & HN_IS_LIST) && (is >> 8 & kind >> 8) : (is & kind & 0xff) != 0;
}

/* "expected an integer or an array of them". */
static void show_kinds(unsigned is, char *out, size_t room)
{
    static const struct {
        unsigned is;
        const char *word, *items;
    } words[] = { { HN_IS_NUM, "a number", "numbers" }, { HN_IS_INT, "an integer", "integers" },
                  { HN_IS_REAL, "a number of 32 or 64 bits", "numbers of 32 or 64 bits" },
                  { HN_IS_FLAG, "true or false", "true and false" },
                  { HN_IS_WORD, "a string", "strings" } };
    const unsigned parts[] = { is & (HN_IS_ANY & ~HN_IS_LIST), is & HN_IS_LIST ? is >> 8 : 0 };
    size_t n = (size_t)snprintf(out, room, "expected ");
    const char *or = "";
    for (int list = 0; list < 2; list++)
        for (size_t i = 0, left = parts[list]; i < sizeof words / sizeof *words && n < room; i++)
            if ((left & words[i].is) == words[i].is) {
                n += (size_t)snprintf(out + n, room - n, "%s%s%s", or, list ? "an array of " : "",
                                      list ? words[i].items : words[i].word);
                or = " or ";
                left &= ~(size_t)words[i].is;
            }
}

static const char *range_text(double low, double high, char out[SHOWN])
{
    if (high >= 0x1p127)
        snprintf(out, SHOWN, "%s", low == 0    ? "expected 0 or a number above it"
                                   : low > 0 && low < 1 ? "expected a number above 0"
                                   : low == 1 ? "expected 1 or a number above it"
                                              : "expected a finite number");
    else if (low > 0 && low < 1)
        hn_text_print(out, SHOWN, "expected a number above 0, up to %.10g", high);
    else
        hn_text_print(out, SHOWN, "expected %.10g to %.10g", low, high);
    return out;
}

/* Of "a|b". */
static bool is_allowed(const hn_meta_value *v, const char *only)
{
    char shown[SHOWN];
    const char *text = show(v, shown);
    size_t bytes = strlen(text);
    if (!v->is_array && v->type == HN_META_STRING) {
        text++; /* without quotes */
        bytes -= 2;
    }
    for (const char *at = only; *at;) {
        const size_t n = strcspn(at, "|");
        if (n == bytes && !memcmp(at, text, n))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

hn_field_range hn_field_range_of(hn_hp which, const hn_key_row *row)
{
    hn_field_range range = hn_hp_range(which);
    if (row && !row->name && row->high != 0)
        range.low = row->low, range.high = row->high;
    if (row && !row->name && row->absent)
        range.absent = row->absent;
    return range;
}

const hn_key_row *hn_key_of_field(const hn_key_row *const *tables, hn_hp which)
{
    const hn_key_row *row = hn_key_of_gguf(tables, hn_hp_gguf(which));
    return row && row->to == (int)which ? row : NULL;
}

hn_status hn_field_check(const char *name, const char *key, double value, hn_field_range range)
{
    char why[SHOWN], shown[32];
    if (isfinite(value) && value >= range.low && value <= range.high)
        return HN_OK;
    hn_text_print(shown, sizeof shown, "%.9g", value);
    return hn_fail(HN_ERR_FORMAT, "%s: key %s is %s: %s", name, key, shown,
                   isfinite(value) ? range_text(range.low, range.high, why)
                                   : "expected a finite number");
}

static hn_status check_items(const subject *s, const hn_meta_value *v, hn_field_range range)
{
    char key[KEY];
    for (uint64_t i = 0; i < v->n; i++) {
        snprintf(key, sizeof key, v->is_array ? "%s[%llu]" : "%s", v->key, (unsigned long long)i);
        HN_TRY(hn_field_check(s->meta->name, key, hn_meta_item_double(v, i), range));
    }
    return HN_OK;
}

static hn_status check_field(const subject *s, const hn_key_row *row, const hn_meta_value *v)
{
    static const unsigned kinds[] = { [HN_HP_INT] = HN_IS_INT, [HN_HP_NUM] = HN_IS_NUM,
                                      [HN_HP_FLAG] = HN_IS_FLAG,
                                      [HN_HP_LAYERED] = HN_IS_INT | HN_ITEMS(HN_IS_INT) };
    const hn_hp which = (hn_hp)row->to;
    const hn_hp_kind kind = hn_hp_kind_of(which);
    char why[SHOWN];
    if (!is_kind(kinds[kind], kind_of(v))) {
        show_kinds(kinds[kind], why, sizeof why);
        return refuse(s, v, HN_ERR_FORMAT, why);
    }
    if (v->is_array && v->n != (uint64_t)s->n_layer) {
        snprintf(why, sizeof why, "expected an integer or one for each of %lld layers",
                 (long long)s->n_layer);
        return refuse(s, v, HN_ERR_FORMAT, why);
    }
    return kind == HN_HP_FLAG ? HN_OK : check_items(s, v, hn_field_range_of(which, row));
}

/* Writers put 2^32 - 1 where there is none. */
static hn_status check_token(const subject *s, const hn_meta_value *v)
{
    const int64_t id = hn_meta_item_int(v, 0);
    char why[SHOWN];
    if (id == -1 || id == UINT32_MAX || !s->n_token || (id >= 0 && id < s->n_token))
        return HN_OK;
    snprintf(why, sizeof why, "expected less than %lld tokens", (long long)s->n_token);
    return refuse(s, v, HN_ERR_FORMAT, why);
}

static hn_status check_own(const subject *s, const hn_key_row *row, const hn_meta_value *v)
{
    char why[SHOWN];
    if (row->is && !is_kind(row->is, kind_of(v))) {
        show_kinds(row->is, why, sizeof why);
        return refuse(s, v, HN_ERR_FORMAT, why);
    }
    if (row->only && !is_allowed(v, row->only))
        return refuse(s, v, HN_ERR_UNSUPPORTED, row->note);
    if (row->is_token)
        return check_token(s, v);
    if (row->high != 0)
        return check_items(s, v, (hn_field_range){ row->low, row->high, NULL });
    return HN_OK;
}

/* The row of a key: of the architecture's, or of a space of its own. */
static const hn_key_row *row_of(const subject *s, const char *key)
{
    const size_t n = strlen(s->arch);
    if (hn_key_is_whole(key))
        return hn_key_of_gguf(s->tables, key);
    if (strncmp(key, s->arch, n) != 0 || key[n] != '.' || hn_key_is_whole(key + n + 1))
        return NULL;
    return hn_key_of_gguf(s->tables, key + n + 1);
}

static bool is_used(const hn_key_row *row)
{
    return row && !row->only && (row->to || !row->note || row->name);
}

static hn_status check_key(const subject *s, const hn_meta_value *v)
{
    const hn_key_row *row = row_of(s, v->key);
    char shown[SHOWN];
    if (!is_used(row) && (hn_ignored_lists(s->ignored, v->key) || hn_ignored_has(s->meta, v->key)))
        return HN_OK;
    HN_REQUIRE(row, HN_ERR_UNSUPPORTED,
               "%s: key %s is %s: no key that is known of %s (--ignore %s passes over it)",
               s->meta->name, v->key, show(v, shown), s->arch, v->key);
    return row->to ? check_field(s, row, v) : check_own(s, row, v);
}

/* What the user wants passed over is there, and is nothing that would be missed. */
static hn_status check_ignored(const subject *s)
{
    for (int i = 0; s->ignored && i < s->ignored->n; i++) {
        const char *key = s->ignored->at[i];
        HN_REQUIRE(hn_meta_find(s->meta, key), HN_ERR_ARGUMENT, "--ignore %s: %s has no such key",
                   key, s->meta->name);
        HN_REQUIRE(!is_used(row_of(s, key)), HN_ERR_ARGUMENT,
                   "--ignore %s: %s uses it: it cannot be passed over", key, s->arch);
    }
    return HN_OK;
}

static hn_status check_missing(const subject *s)
{
    for (int i = 1; i < HN_N_HP; i++) {
        const hn_key_row *row = hn_key_of_field(s->tables, (hn_hp)i);
        const char *absent = row ? hn_field_range_of((hn_hp)i, row).absent : NULL;
        char key[KEY];
        if (!absent || strcmp(absent, HN_MUST) != 0)
            continue;
        snprintf(key, sizeof key, "%s.%s", s->arch, hn_hp_gguf((hn_hp)i));
        HN_REQUIRE(hn_meta_find(s->meta, key), HN_ERR_FORMAT, "%s: key %s is missing",
                   s->meta->name, key);
    }
    return HN_OK;
}

hn_status hn_meta_check_keys(const hn_meta *meta, const char *arch,
                             const hn_key_row *const *tables, const hn_ignored *ignored)
{
    subject s = { .meta = meta, .arch = arch, .tables = tables, .ignored = ignored };
    char key[KEY];
    HN_TRY(check_missing(&s));
    const hn_meta_value *tokens = hn_meta_find(meta, "tokenizer.ggml.tokens");
    s.n_token = tokens && tokens->is_array ? (int64_t)tokens->n : 0;
    snprintf(key, sizeof key, "%s.%s", arch, hn_hp_gguf(HN_HP_n_layer));
    HN_TRY(hn_meta_want_int(meta, key, &s.n_layer));
    HN_TRY(check_ignored(&s));
    for (size_t i = 0; i < meta->n; i++)
        HN_TRY(check_key(&s, &meta->values[i]));
    return HN_OK;
}
