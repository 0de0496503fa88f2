/* What Python says of two values: equal, before, within; and of one: true, how long. */
#include "text/template/fn.h"

#include <math.h>
#include <string.h>

const char *hn_tv_type(const hn_tval *v)
{
    switch (v->kind) {
    case HN_TV_MISSING:
    case HN_TV_UNDEFINED:
        return "Undefined";
    case HN_TV_NONE:
        return "NoneType";
    case HN_TV_BOOL:
        return "bool";
    case HN_TV_INT:
        return "int";
    case HN_TV_FLOAT:
        return "float";
    case HN_TV_TEXT:
        return v->is_markup ? "Markup" : "str";
    case HN_TV_LIST:
        return "list";
    case HN_TV_TUPLE:
        return "tuple";
    case HN_TV_DICT:
        return "dict";
    case HN_TV_RANGE:
        return "range";
    case HN_TV_VIEW:
        return v->as.view->which == 'k'   ? "dict_keys"
               : v->as.view->which == 'v' ? "dict_values"
                                          : "dict_items";
    case HN_TV_GENERATOR:
        return "generator";
    case HN_TV_NAMESPACE:
        return "Namespace";
    case HN_TV_FUNCTION:
        return "function";
    case HN_TV_MACRO:
        return "Macro";
    case HN_TV_LOOP:
        return "LoopContext";
    case HN_TV_CYCLER:
        return "Cycler";
    case HN_TV_JOINER:
        return "Joiner";
    }
    return "object";
}

hn_status hn_tv_is_true(hn_tpl_run *r, const hn_tval *v, bool *out)
{
    int64_t n = 1;
    switch (v->kind) {
    case HN_TV_MISSING:
    case HN_TV_UNDEFINED:
    case HN_TV_NONE:
        n = 0;
        break;
    case HN_TV_BOOL:
        n = v->as.boolean;
        break;
    case HN_TV_INT:
        n = v->as.integer != 0;
        break;
    case HN_TV_FLOAT:
        n = v->as.number != 0;
        break;
    case HN_TV_TEXT:
        n = v->as.text.bytes != 0;
        break;
    case HN_TV_LIST:
    case HN_TV_TUPLE:
    case HN_TV_DICT:
    case HN_TV_RANGE:
    case HN_TV_VIEW:
    case HN_TV_LOOP:
        HN_TRY(hn_tv_length(r, v, &n));
        break;
    default:
        break;
    }
    *out = n != 0;
    return HN_OK;
}

static bool is_number(const hn_tval *v)
{
    return hn_tv_is_integer(v) || v->kind == HN_TV_FLOAT;
}

/* An integer against a double, exactly. */
static int order_mixed(int64_t i, double d)
{
    if (isnan(d))
        return 2;
    if (d >= 9223372036854775808.0)
        return -1;
    if (d < -9223372036854775808.0)
        return 1;
    const double whole = floor(d);
    const int64_t j = (int64_t)whole;
    return i < j ? -1 : i > j ? 1 : d > whole ? -1 : 0;
}

static int order_numbers(const hn_tval *a, const hn_tval *b)
{
    if (a->kind == HN_TV_FLOAT && b->kind == HN_TV_FLOAT) {
        const double x = a->as.number, y = b->as.number;
        return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
    }
    if (a->kind == HN_TV_FLOAT) {
        const int order = order_mixed(hn_tv_integer(b), a->as.number);
        return order == 2 ? 2 : -order;
    }
    if (b->kind == HN_TV_FLOAT)
        return order_mixed(hn_tv_integer(a), b->as.number);
    const int64_t x = hn_tv_integer(a), y = hn_tv_integer(b);
    return x < y ? -1 : x > y;
}

static hn_status equal_lists(hn_tpl_run *r, const hn_tpl_list *a, const hn_tpl_list *b,
                             bool *out)
{
    *out = a->n == b->n;
    HN_TRY(hn_tpl_enter(r));
    for (size_t i = 0; *out && i < a->n; i++) {
        HN_TRY(hn_tpl_step(r, 1));
        HN_TRY(hn_tv_equal(r, &a->at[i], &b->at[i], out));
    }
    hn_tpl_leave(r);
    return HN_OK;
}

static hn_status equal_dicts(hn_tpl_run *r, const hn_tpl_dict *a, const hn_tpl_dict *b,
                             bool *out)
{
    *out = a->n == b->n;
    HN_TRY(hn_tpl_enter(r));
    for (size_t i = 0; *out && i < a->n; i++) {
        hn_tval *other = NULL;
        HN_TRY(hn_tpl_step(r, 1));
        HN_TRY(hn_tv_dict_get(r, b, &a->keys[i], &other));
        *out = other != NULL;
        if (other)
            HN_TRY(hn_tv_equal(r, &a->values[i], other, out));
    }
    hn_tpl_leave(r);
    return HN_OK;
}

static bool equal_ranges(const hn_tpl_range *a, const hn_tpl_range *b)
{
    return a->n == b->n &&
           (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

static hn_status equal_views(hn_tpl_run *r, const hn_tpl_view *a, const hn_tpl_view *b,
                             bool *out)
{
    *out = a == b;
    if (a->which != b->which || a->which == 'v')
        return HN_OK;
    *out = a->dict->n == b->dict->n;
    for (size_t i = 0; *out && i < a->dict->n; i++) {
        hn_tval *other = NULL;
        HN_TRY(hn_tv_dict_get(r, b->dict, &a->dict->keys[i], &other));
        *out = other != NULL;
        if (other && a->which == 'i')
            HN_TRY(hn_tv_equal(r, &a->dict->values[i], other, out));
    }
    return HN_OK;
}

hn_status hn_tv_equal(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, bool *out)
{
    *out = false;
    if (is_number(a) && is_number(b)) {
        *out = order_numbers(a, b) == 0;
        return HN_OK;
    }
    if (a->kind != b->kind)
        return HN_OK;
    switch (a->kind) {
    case HN_TV_MISSING:
    case HN_TV_UNDEFINED:
    case HN_TV_NONE:
        *out = true;
        return HN_OK;
    case HN_TV_TEXT:
        *out = a->as.text.bytes == b->as.text.bytes &&
               !memcmp(a->as.text.text, b->as.text.text, a->as.text.bytes);
        return a->as.text.bytes < 256 ? HN_OK : hn_tpl_charge(r, a->as.text.bytes);
    case HN_TV_LIST:
    case HN_TV_TUPLE:
        return equal_lists(r, a->as.list, b->as.list, out);
    case HN_TV_DICT:
        return equal_dicts(r, a->as.dict, b->as.dict, out);
    case HN_TV_RANGE:
        *out = equal_ranges(a->as.range, b->as.range);
        return HN_OK;
    case HN_TV_VIEW:
        return equal_views(r, a->as.view, b->as.view, out);
    case HN_TV_FUNCTION:
        *out = a->as.function->fn == b->as.function->fn &&
               (a->as.function == b->as.function ||
                (a->as.function->self.kind == b->as.function->self.kind &&
                 a->as.function->self.as.list == b->as.function->self.as.list));
        return HN_OK;
    default:
        *out = a->as.list == b->as.list; /* the same thing */
        return HN_OK;
    }
}

static int order_texts(hn_tpl_text a, hn_tpl_text b)
{
    /* UTF-8 sorts as its code points do */
    const size_t n = a.bytes < b.bytes ? a.bytes : b.bytes;
    const int order = n ? memcmp(a.text, b.text, n) : 0;
    return order < 0 ? -1 : order > 0 ? 1 : a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}

static hn_status order_lists(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, const char *op,
                             int *out)
{
    const hn_tpl_list *x = a->as.list, *y = b->as.list;
    HN_TRY(hn_tpl_enter(r));
    *out = x->n < y->n ? -1 : x->n > y->n;
    for (size_t i = 0; i < x->n && i < y->n; i++) {
        bool same = false;
        HN_TRY(hn_tpl_step(r, 1));
        HN_TRY(hn_tv_equal(r, &x->at[i], &y->at[i], &same));
        if (same)
            continue;
        HN_TRY(hn_tv_order(r, &x->at[i], &y->at[i], op, out));
        break;
    }
    hn_tpl_leave(r);
    return HN_OK;
}

hn_status hn_tv_order(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, const char *op,
                      int *out)
{
    *out = 0;
    if (is_number(a) && is_number(b)) {
        *out = order_numbers(a, b);
        return HN_OK;
    }
    if (a->kind == HN_TV_UNDEFINED || b->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(a->kind == HN_TV_UNDEFINED ? a : b);
    if (a->kind == HN_TV_TEXT && b->kind == HN_TV_TEXT) {
        *out = order_texts(a->as.text, b->as.text);
        return hn_tpl_charge(r, a->as.text.bytes);
    }
    if (a->kind == b->kind && hn_tv_is_sequence(a))
        return order_lists(r, a, b, op, out);
    return hn_fail(HN_ERR_FORMAT, "'%s' not supported between instances of '%s' and '%s'", op,
                   hn_tv_type(a), hn_tv_type(b));
}

static hn_status text_contains(hn_tpl_run *r, const hn_tval *in, const hn_tval *what, bool *out)
{
    if (what->kind != HN_TV_TEXT)
        return hn_fail(HN_ERR_FORMAT, "'in <string>' requires string as left operand, not %s",
                       hn_tv_type(what));
    const hn_tpl_text hay = in->as.text, needle = what->as.text;
    *out = needle.bytes == 0;
    for (size_t i = 0; !*out && i + needle.bytes <= hay.bytes; i++)
        *out =
            hay.text[i] == needle.text[0] && !memcmp(hay.text + i, needle.text, needle.bytes);
    return hn_tpl_charge(r, hay.bytes);
}

hn_status hn_tv_contains(hn_tpl_run *r, const hn_tval *in, const hn_tval *what, bool *out)
{
    *out = false;
    hn_tval *found = NULL;
    if (in->kind == HN_TV_TEXT)
        return text_contains(r, in, what, out);
    if (in->kind == HN_TV_DICT || (in->kind == HN_TV_VIEW && in->as.view->which == 'k')) {
        const hn_tpl_dict *d = in->kind == HN_TV_DICT ? in->as.dict : in->as.view->dict;
        HN_TRY(hn_tv_dict_get(r, d, what, &found));
        *out = found != NULL;
        return HN_OK;
    }
    hn_tpl_iter it;
    if (in->kind != HN_TV_UNDEFINED && !hn_tv_is_sequence(in) && in->kind != HN_TV_RANGE &&
        in->kind != HN_TV_VIEW && in->kind != HN_TV_GENERATOR && in->kind != HN_TV_LOOP)
        return hn_fail(HN_ERR_FORMAT, "argument of type '%s' is not iterable", hn_tv_type(in));
    HN_TRY(hn_tv_iter(r, in, &it));
    for (bool done = false; !*out;) {
        hn_tval item;
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            return HN_OK;
        HN_TRY(hn_tv_equal(r, &item, what, out));
    }
    return HN_OK;
}
