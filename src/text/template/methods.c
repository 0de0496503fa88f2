/* Methods of everything that is no text. What would change a list or dict is refused before it
 * comes here. */
#include "text/template/fn.h"

#include <math.h>
#include <string.h>

static hn_status view(hn_tpl_run *r, const hn_tpl_call *c, char which, hn_tval *out)
{
    hn_tpl_view *made = hn_tpl_new(r, sizeof *made);
    if (!made)
        return HN_ERR_MEMORY;
    *made = (hn_tpl_view){ c->self.as.dict, which };
    *out = (hn_tval){ .kind = HN_TV_VIEW, .as.view = made };
    return HN_OK;
}

static hn_status dict_keys(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return view(r, c, 'k', out);
}

static hn_status dict_values(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return view(r, c, 'v', out);
}

static hn_status dict_items(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return view(r, c, 'i', out);
}

static hn_status dict_get(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval *found = NULL;
    HN_TRY(hn_tv_dict_get(r, c->self.as.dict, &c->slots[0], &found));
    *out = found ? *found : c->slots[1].kind == HN_TV_MISSING ? hn_tv_none() : c->slots[1];
    return HN_OK;
}

static hn_status dict_copy(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval copy;
    HN_TRY(hn_tv_dict_new(r, &copy));
    HN_TRY(hn_tv_dict_merge(r, copy.as.dict, &c->self));
    *out = copy;
    return HN_OK;
}

static hn_status dict_fromkeys(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval keys, made;
    const hn_tval value = c->slots[1].kind == HN_TV_MISSING ? hn_tv_none() : c->slots[1];
    HN_TRY(hn_tv_collect(r, &c->slots[0], &keys));
    HN_TRY(hn_tv_dict_new(r, &made));
    for (size_t i = 0; i < keys.as.list->n; i++)
        HN_TRY(hn_tv_dict_set(r, made.as.dict, &keys.as.list->at[i], &value));
    *out = made;
    return HN_OK;
}

static const hn_tpl_fn of_dict[] = {
    { "keys", "/", dict_keys },   { "values", "/", dict_values },
    { "items", "/", dict_items }, { "get", "/key default=", dict_get },
    { "copy", "/", dict_copy },   { "fromkeys", "/iterable value=", dict_fromkeys },
    { NULL, NULL, NULL },
};

static hn_status list_index(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int64_t begin = 0, end = INT64_MAX, n = 0;
    hn_tpl_iter it;
    HN_TRY(hn_tv_length(r, &c->self, &n));
    HN_TRY(hn_tpl_want_int(c, 1, 0, &begin));
    HN_TRY(hn_tpl_want_int(c, 2, INT64_MAX, &end));
    begin += begin < 0 ? n : 0;
    end += end < 0 ? n : 0;
    HN_TRY(hn_tv_iter(r, &c->self, &it));
    for (int64_t i = 0;; i++) {
        hn_tval item;
        bool done = false, same = false;
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            break;
        HN_TRY(hn_tv_equal(r, &item, &c->slots[0], &same));
        if (!same || i < begin || i >= end)
            continue;
        *out = hn_tv_int(i);
        return HN_OK;
    }
    return hn_fail(HN_ERR_FORMAT, "value is not in %s", hn_tv_type(&c->self));
}

static hn_status list_count(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_iter it;
    int64_t n = 0;
    HN_TRY(hn_tv_iter(r, &c->self, &it));
    for (;;) {
        hn_tval item;
        bool done = false, same = false;
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            break;
        HN_TRY(hn_tv_equal(r, &item, &c->slots[0], &same));
        n += same;
    }
    *out = hn_tv_int(n);
    return HN_OK;
}

static hn_status list_copy(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return hn_tv_collect(r, &c->self, out);
}

static const hn_tpl_fn of_list[] = {
    { "copy", "/", list_copy },
    { "index", "/value start= stop=", list_index },
    { "count", "/value", list_count },
    { NULL, NULL, NULL },
};

static hn_status loop_cycle(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    HN_REQUIRE(c->n_args, HN_ERR_FORMAT, "no items for cycling given");
    HN_REQUIRE(!c->n_keywords, HN_ERR_FORMAT, "cycle() got an unexpected keyword argument");
    *out = c->args[c->self.as.loop->index0 % (int64_t)c->n_args];
    return HN_OK;
}

static hn_status loop_changed(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_loop *loop = c->self.as.loop;
    hn_tval now;
    bool same = false;
    HN_REQUIRE(!c->n_keywords, HN_ERR_FORMAT, "changed() got an unexpected keyword argument");
    HN_TRY(hn_tv_list_new(r, HN_TV_TUPLE, &now));
    for (size_t i = 0; i < c->n_args; i++)
        HN_TRY(hn_tv_list_add(r, now.as.list, &c->args[i]));
    if (loop->changed.kind != HN_TV_MISSING)
        HN_TRY(hn_tv_equal(r, &loop->changed, &now, &same));
    if (!same)
        loop->changed = now;
    *out = hn_tv_bool(!same);
    return HN_OK;
}

static const hn_tpl_fn of_loop[] = {
    { "cycle", "*", loop_cycle },
    { "changed", "*", loop_changed },
    { NULL, NULL, NULL },
};

static hn_status cycler_next(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    hn_tpl_cycler *cycler = c->self.as.cycler;
    *out = cycler->items->at[cycler->at];
    cycler->at = (cycler->at + 1) % cycler->items->n;
    return HN_OK;
}

static hn_status cycler_reset(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    c->self.as.cycler->at = 0;
    *out = hn_tv_none();
    return HN_OK;
}

static const hn_tpl_fn of_cycler[] = {
    { "next", "/", cycler_next },
    { "reset", "/", cycler_reset },
    { NULL, NULL, NULL },
};

static hn_status float_is_integer(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    const double d = c->self.as.number;
    *out = hn_tv_bool(isfinite(d) && d == floor(d));
    return HN_OK;
}

static hn_status int_bit_length(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    const int64_t i = hn_tv_integer(&c->self);
    int64_t n = 0;
    for (uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i; u; u >>= 1)
        n++;
    *out = hn_tv_int(n);
    return HN_OK;
}

static hn_status same(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    *out = hn_tv_is_integer(&c->self) ? hn_tv_int(hn_tv_integer(&c->self)) : c->self;
    return HN_OK;
}

static hn_status refused(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r, (void)out;
    return hn_fail(HN_ERR_UNSUPPORTED, "%s.%s() is not for chat templates",
                   hn_tv_type(&c->self), c->name);
}

static const hn_tpl_fn of_int[] = {
    { "bit_length", "/", int_bit_length },
    { "conjugate", "/", same },
    { "bit_count", "*", refused },
    { "to_bytes", "*", refused },
    { "from_bytes", "*", refused },
    { "as_integer_ratio", "*", refused },
    { NULL, NULL, NULL },
};

static const hn_tpl_fn of_float[] = {
    { "is_integer", "/", float_is_integer },
    { "conjugate", "/", same },
    { "hex", "*", refused },
    { "fromhex", "*", refused },
    { "as_integer_ratio", "*", refused },
    { NULL, NULL, NULL },
};

const hn_tpl_fn *hn_tpl_method_find(const hn_tval *of, const char *name)
{
    const hn_tpl_fn *found = NULL;
    switch (of->kind) {
    case HN_TV_TEXT:
        found = hn_tpl_fn_find(hn_tpl_str_methods, name);
        return found ? found : hn_tpl_fn_find(hn_tpl_str_splits, name);
    case HN_TV_DICT:
        return hn_tpl_fn_find(of_dict, name);
    case HN_TV_LIST:
        return hn_tpl_fn_find(of_list, name);
    case HN_TV_TUPLE:
    case HN_TV_RANGE:
        return hn_tpl_fn_find(of_list + 1, name);
    case HN_TV_LOOP:
        return hn_tpl_fn_find(of_loop, name);
    case HN_TV_CYCLER:
        return hn_tpl_fn_find(of_cycler, name);
    case HN_TV_FLOAT:
        return hn_tpl_fn_find(of_float, name);
    case HN_TV_BOOL:
    case HN_TV_INT:
        return hn_tpl_fn_find(of_int, name);
    case HN_TV_FUNCTION: /* dict.fromkeys */
        if (of->as.function->fn == hn_tpl_global_find("dict") && !strcmp(name, "fromkeys"))
            return hn_tpl_fn_find(of_dict, name);
        return NULL;
    default:
        return NULL;
    }
}
