/* tojson: json.dumps as chat templates know it: not escaped for HTML, ", " and ": " between. */
#include "text/template/fn.h"
#include "text/unicode/python.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct dumper {
    hn_tpl_run *r;
    hn_str *to;
    bool ascii, sorted, indents;
    hn_tpl_text indent, item, key; /* what stands between items, and after a key */
} dumper;

static void dump_text(dumper *d, hn_tpl_text text)
{
    hn_str_add_char(d->to, '"');
    for (size_t i = 0, n = 0; i < text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.text + i, &n);
        static const char codes[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
        const char *found = code && code < 128 ? strchr(codes, (int)code) : NULL;
        if (found)
            hn_str_print(d->to, "\\%c", names[found - codes]);
        else if (code < 0x20 || (d->ascii && code > 0x7e && code < 0x10000))
            hn_str_print(d->to, "\\u%04" PRIx32, code);
        else if (d->ascii && code >= 0x10000)
            hn_str_print(d->to, "\\u%04" PRIx32 "\\u%04" PRIx32,
                         0xd800 + ((code - 0x10000) >> 10),
                         0xdc00 + ((code - 0x10000) & 0x3ff));
        else
            hn_str_add_bytes(d->to, text.text + i, n);
    }
    hn_str_add_char(d->to, '"');
}

static void new_line(dumper *d, int depth)
{
    if (!d->indents)
        return;
    hn_str_add_char(d->to, '\n');
    for (int i = 0; i < depth; i++)
        hn_str_add_bytes(d->to, d->indent.text, d->indent.bytes);
}

static hn_status dump_float(dumper *d, double number)
{
    if (isfinite(number))
        hn_tv_write_float(number, d->to);
    else
        hn_str_add(d->to, isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity");
    return HN_OK;
}

static hn_status dump(dumper *d, const hn_tval *v, int depth);

static hn_status dump_list(dumper *d, const hn_tpl_list *list, int depth)
{
    if (!list->n) {
        hn_str_add(d->to, "[]");
        return HN_OK;
    }
    hn_str_add_char(d->to, '[');
    for (size_t i = 0; i < list->n; i++) {
        if (i)
            hn_str_add_bytes(d->to, d->item.text, d->item.bytes);
        new_line(d, depth + 1);
        HN_TRY(dump(d, &list->at[i], depth + 1));
    }
    new_line(d, depth);
    hn_str_add_char(d->to, ']');
    return HN_OK;
}

/* Keys that are no texts become texts; others are an error. */
static hn_status dump_key(dumper *d, const hn_tval *key)
{
    if (key->kind == HN_TV_TEXT) {
        dump_text(d, key->as.text);
        return HN_OK;
    }
    HN_REQUIRE(key->kind == HN_TV_NONE || key->kind == HN_TV_FLOAT || hn_tv_is_integer(key),
               HN_ERR_FORMAT, "keys must be str, int, float, bool or None, not %s",
               hn_tv_type(key));
    hn_str_add_char(d->to, '"');
    HN_TRY(dump(d, key, 0));
    hn_str_add_char(d->to, '"');
    return HN_OK;
}

/* The order of keys, sorted by insertion: few, and stable. */
static hn_status sort_keys(dumper *d, const hn_tpl_dict *dict, size_t **out)
{
    size_t *order = hn_tpl_new(d->r, (dict->n + 1) * sizeof *order);
    if (!order)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < dict->n; i++) {
        size_t at = i;
        for (; d->sorted && at; at--) {
            int before = 0;
            HN_TRY(hn_tpl_step(d->r, 1));
            HN_TRY(hn_tv_order(d->r, &dict->keys[i], &dict->keys[order[at - 1]], "<", &before));
            if (before != -1)
                break;
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    *out = order;
    return HN_OK;
}

static hn_status dump_dict(dumper *d, const hn_tpl_dict *dict, int depth)
{
    size_t *order = NULL;
    if (!dict->n) {
        hn_str_add(d->to, "{}");
        return HN_OK;
    }
    HN_TRY(sort_keys(d, dict, &order));
    hn_str_add_char(d->to, '{');
    for (size_t i = 0; i < dict->n; i++) {
        if (i)
            hn_str_add_bytes(d->to, d->item.text, d->item.bytes);
        new_line(d, depth + 1);
        HN_TRY(dump_key(d, &dict->keys[order[i]]));
        hn_str_add_bytes(d->to, d->key.text, d->key.bytes);
        HN_TRY(dump(d, &dict->values[order[i]], depth + 1));
    }
    new_line(d, depth);
    hn_str_add_char(d->to, '}');
    return HN_OK;
}

static hn_status dump_any(dumper *d, const hn_tval *v, int depth)
{
    switch (v->kind) {
    case HN_TV_NONE:
        hn_str_add(d->to, "null");
        return HN_OK;
    case HN_TV_BOOL:
        hn_str_add(d->to, v->as.boolean ? "true" : "false");
        return HN_OK;
    case HN_TV_INT:
        hn_str_print(d->to, "%" PRId64, v->as.integer);
        return HN_OK;
    case HN_TV_FLOAT:
        return dump_float(d, v->as.number);
    case HN_TV_TEXT:
        dump_text(d, v->as.text);
        return hn_tpl_charge(d->r, v->as.text.bytes);
    case HN_TV_LIST:
    case HN_TV_TUPLE:
        return dump_list(d, v->as.list, depth);
    case HN_TV_DICT:
        return dump_dict(d, v->as.dict, depth);
    default:
        return hn_fail(HN_ERR_FORMAT, "Object of type %s is not JSON serializable",
                       hn_tv_type(v));
    }
}

static hn_status dump(dumper *d, const hn_tval *v, int depth)
{
    HN_TRY(hn_tpl_step(d->r, 1));
    HN_TRY(hn_tpl_enter(d->r));
    HN_TRY(dump_any(d, v, depth));
    hn_tpl_leave(d->r);
    return hn_tpl_fits(d->r, d->to);
}

static hn_status read_separators(dumper *d, const hn_tval *given)
{
    hn_tval pair;
    HN_TRY(hn_tv_collect(d->r, given, &pair));
    const hn_tpl_list *list = pair.as.list;
    HN_REQUIRE(list->n == 2 && list->at[0].kind == HN_TV_TEXT && list->at[1].kind == HN_TV_TEXT,
               HN_ERR_FORMAT, "tojson: separators: expected two texts");
    d->item = list->at[0].as.text;
    d->key = list->at[1].as.text;
    return HN_OK;
}

static hn_status read_indent(dumper *d, const hn_tval *given)
{
    d->indents = given->kind != HN_TV_MISSING && given->kind != HN_TV_NONE;
    if (!d->indents)
        return HN_OK;
    d->item = (hn_tpl_text){ ",", 1 };
    if (given->kind == HN_TV_TEXT) {
        d->indent = given->as.text;
        return HN_OK;
    }
    HN_REQUIRE(hn_tv_is_integer(given), HN_ERR_FORMAT,
               "tojson: indent: expected a number, not %s", hn_tv_type(given));
    const int64_t n = hn_tv_integer(given) < 0 ? 0 : hn_tv_integer(given);
    HN_REQUIRE(n <= 1024, HN_ERR_FORMAT, "tojson: indent of more than 1024");
    char *spaces = hn_tpl_new(d->r, (size_t)n + 1);
    if (!spaces)
        return HN_ERR_MEMORY;
    memset(spaces, ' ', (size_t)n);
    d->indent = (hn_tpl_text){ spaces, (size_t)n };
    return HN_OK;
}

hn_status hn_tpl_tojson(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_str text = hn_str_on(&r->budget.heap);
    dumper d = { .r = r, .to = &text, .item = { ", ", 2 }, .key = { ": ", 2 } };
    const hn_tval *separators = &c->slots[2];
    HN_TRY(hn_tpl_want_bool(r, c, 0, false, &d.ascii));
    HN_TRY(read_indent(&d, &c->slots[1]));
    if (separators->kind != HN_TV_MISSING && separators->kind != HN_TV_NONE)
        HN_TRY(read_separators(&d, separators));
    HN_TRY(hn_tpl_want_bool(r, c, 3, false, &d.sorted));
    hn_status status = dump(&d, &c->self, 0);
    if (status == HN_OK)
        status = hn_tv_from_str(r, &text, out);
    hn_str_free(&text);
    return status;
}
