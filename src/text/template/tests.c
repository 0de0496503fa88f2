/* What may follow `is`. */
#include "text/template/fn.h"

#include <string.h>

static hn_status answer(bool holds, hn_tval *out)
{
    *out = hn_tv_bool(holds);
    return HN_OK;
}

static hn_status remainder_is(hn_tpl_run *r, const hn_tval *v, const hn_tval *by, int64_t want,
                              hn_tval *out)
{
    hn_tval rest;
    bool same = false;
    const hn_tval wanted = hn_tv_int(want);
    HN_TRY(hn_tpl_binary(r, '%', v, by, &rest));
    HN_TRY(hn_tv_equal(r, &rest, &wanted, &same));
    return answer(same, out);
}

static hn_status is_odd(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    const hn_tval two = hn_tv_int(2);
    return remainder_is(r, &c->self, &two, 1, out);
}

static hn_status is_even(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    const hn_tval two = hn_tv_int(2);
    return remainder_is(r, &c->self, &two, 0, out);
}

static hn_status is_divisible(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return remainder_is(r, &c->self, &c->slots[0], 0, out);
}

#define IS(name, condition)                                                                    \
    static hn_status is_##name(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)                    \
    {                                                                                          \
        (void)r;                                                                               \
        const hn_tval *v = &c->self;                                                           \
        return answer(condition, out);                                                         \
    }
IS(defined, v->kind != HN_TV_UNDEFINED)
IS(undefined, v->kind == HN_TV_UNDEFINED)
IS(none, v->kind == HN_TV_NONE)
IS(boolean, v->kind == HN_TV_BOOL)
IS(true, v->kind == HN_TV_BOOL && v->as.boolean)
IS(false, v->kind == HN_TV_BOOL && !v->as.boolean)
IS(integer, v->kind == HN_TV_INT)
IS(float, v->kind == HN_TV_FLOAT)
IS(number, hn_tv_is_integer(v) || v->kind == HN_TV_FLOAT)
IS(string, v->kind == HN_TV_TEXT)
IS(mapping, v->kind == HN_TV_DICT)
IS(escaped, v->kind == HN_TV_TEXT && v->is_markup)
IS(callable, v->kind == HN_TV_FUNCTION || v->kind == HN_TV_MACRO || v->kind == HN_TV_LOOP ||
                 v->kind == HN_TV_JOINER || v->kind == HN_TV_UNDEFINED)
IS(sequence, v->kind == HN_TV_TEXT || v->kind == HN_TV_UNDEFINED || hn_tv_is_sequence(v) ||
                 v->kind == HN_TV_DICT || v->kind == HN_TV_RANGE)
IS(iterable, v->kind == HN_TV_TEXT || hn_tv_is_sequence(v) || v->kind == HN_TV_DICT ||
                 v->kind == HN_TV_RANGE || v->kind == HN_TV_VIEW ||
                 v->kind == HN_TV_GENERATOR || v->kind == HN_TV_UNDEFINED ||
                 v->kind == HN_TV_LOOP)

static hn_status named(hn_tpl_run *r, const hn_tpl_call *c, bool filters, hn_tval *out)
{
    char name[64] = "";
    uint64_t hash = 0;
    HN_TRY(hn_tv_hash(r, &c->self, &hash)); /* it looks into a dict */
    const hn_tpl_text text = c->self.as.text;
    if (c->self.kind != HN_TV_TEXT || text.bytes >= sizeof name)
        return answer(false, out);
    memcpy(name, text.text, text.bytes);
    return answer((filters ? hn_tpl_filter_find(name) : hn_tpl_test_find(name)) != NULL, out);
}

static hn_status is_filter(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return named(r, c, true, out);
}

static hn_status is_test(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return named(r, c, false, out);
}

static hn_status has_case(hn_tpl_run *r, hn_tpl_call *c, const char *method, hn_tval *out)
{
    hn_tpl_call call = { .name = method };
    HN_TRY(hn_tv_to_text(r, &c->self, &call.self));
    return hn_tpl_call_fn(r, hn_tpl_fn_find(hn_tpl_str_splits, method), &call, out);
}

static hn_status is_lower(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return has_case(r, c, "islower", out);
}

static hn_status is_upper(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return has_case(r, c, "isupper", out);
}

/* Python's `is`: small things that are equal are the same here. */
static hn_status is_same(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    const hn_tval *a = &c->self, *b = &c->slots[0];
    bool same = a->kind == b->kind;
    if (same && a->kind <= HN_TV_TEXT && a->kind != HN_TV_UNDEFINED)
        HN_TRY(hn_tv_equal(r, a, b, &same));
    else if (same)
        same = a->as.list == b->as.list;
    return answer(same, out);
}

static hn_status is_in(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool holds = false;
    HN_TRY(hn_tv_contains(r, &c->slots[0], &c->self, &holds));
    return answer(holds, out);
}

static hn_status equals(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool same = false;
    HN_TRY(hn_tv_equal(r, &c->self, &c->slots[0], &same));
    return answer(same, out);
}

static hn_status differs(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    HN_TRY(equals(r, c, out));
    return answer(!out->as.boolean, out);
}

static hn_status is_less(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int order = 0;
    HN_TRY(hn_tv_order(r, &c->self, &c->slots[0], "<", &order));
    return answer(order == -1, out);
}

static hn_status is_at_most(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int order = 0;
    HN_TRY(hn_tv_order(r, &c->self, &c->slots[0], "<=", &order));
    return answer(order <= 0, out);
}

static hn_status is_greater(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int order = 0;
    HN_TRY(hn_tv_order(r, &c->self, &c->slots[0], ">", &order));
    return answer(order == 1, out);
}

static hn_status is_at_least(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int order = 0;
    HN_TRY(hn_tv_order(r, &c->self, &c->slots[0], ">=", &order));
    return answer(order == 0 || order == 1, out);
}

static const hn_tpl_fn tests[] = {
    { "defined", "", is_defined },
    { "undefined", "", is_undefined },
    { "none", "", is_none },
    { "boolean", "", is_boolean },
    { "true", "", is_true },
    { "false", "", is_false },
    { "integer", "", is_integer },
    { "float", "", is_float },
    { "number", "", is_number },
    { "string", "", is_string },
    { "mapping", "", is_mapping },
    { "sequence", "", is_sequence },
    { "iterable", "", is_iterable },
    { "callable", "", is_callable },
    { "escaped", "", is_escaped },
    { "odd", "", is_odd },
    { "even", "", is_even },
    { "divisibleby", "num", is_divisible },
    { "filter", "", is_filter },
    { "test", "", is_test },
    { "lower", "", is_lower },
    { "upper", "", is_upper },
    { "sameas", "other", is_same },
    { "in", "seq", is_in },
    { "==", "/b", equals },
    { "eq", "/b", equals },
    { "equalto", "/b", equals },
    { "!=", "/b", differs },
    { "ne", "/b", differs },
    { "<", "/b", is_less },
    { "lt", "/b", is_less },
    { "lessthan", "/b", is_less },
    { "<=", "/b", is_at_most },
    { "le", "/b", is_at_most },
    { ">", "/b", is_greater },
    { "gt", "/b", is_greater },
    { "greaterthan", "/b", is_greater },
    { ">=", "/b", is_at_least },
    { "ge", "/b", is_at_least },
    { NULL, NULL, NULL },
};

const hn_tpl_fn *hn_tpl_test_find(const char *name) { return hn_tpl_fn_find(tests, name); }
