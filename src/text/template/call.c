/* Calls: arguments to parameters, and the functions that every template has. */
#include "text/template/fn.h"

#include <string.h>

enum { MAX_RANGE = 100000 }; /* the sandbox's */

const hn_tpl_fn *hn_tpl_fn_find(const hn_tpl_fn *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name))
            return table;
    return NULL;
}

/* One parameter of "a b= c="; returns the rest. */
static const char *next_param(const char *params, size_t *length, bool *is_optional)
{
    while (*params == ' ')
        params++;
    *length = strcspn(params, " =");
    *is_optional = params[*length] == '=';
    return params;
}

static hn_status bind_arguments(const hn_tpl_fn *fn, hn_tpl_call *c)
{
    size_t n_params = 0, n_used = 0, length = 0;
    bool is_optional = false;
    const char *p = fn->params;
    const bool by_place_only = *p == '/';
    p += by_place_only;
    HN_REQUIRE(!by_place_only || !c->n_keywords, HN_ERR_FORMAT,
               "%s() takes no keyword arguments", fn->name);
    for (; *(p = next_param(p, &length, &is_optional)); p += length + is_optional, n_params++) {
        hn_tval *slot = &c->slots[n_params];
        *slot = n_params < c->n_args ? c->args[n_params] : (hn_tval){ 0 };
        for (size_t i = 0; i < c->n_keywords; i++) {
            if (strlen(c->keywords[i].name) != length || memcmp(c->keywords[i].name, p, length))
                continue;
            HN_REQUIRE(n_params >= c->n_args, HN_ERR_FORMAT,
                       "%s() got multiple values for argument '%s'", fn->name,
                       c->keywords[i].name);
            *slot = c->keywords[i].value;
            n_used++;
        }
        HN_REQUIRE(is_optional || slot->kind != HN_TV_MISSING, HN_ERR_FORMAT,
                   "%s() missing 1 required positional argument: '%.*s'", fn->name, (int)length,
                   p);
    }
    HN_REQUIRE(c->n_args <= n_params, HN_ERR_FORMAT,
               "%s() takes at most %zu argument(s) but %zu were given", fn->name, n_params,
               c->n_args);
    HN_REQUIRE(n_used == c->n_keywords, HN_ERR_FORMAT,
               "%s() got an unexpected keyword argument", fn->name);
    for (; n_params < HN_TPL_MAX_PARAMS; n_params++)
        c->slots[n_params] = (hn_tval){ 0 };
    return HN_OK;
}

hn_status hn_tpl_call_fn(hn_tpl_run *r, const hn_tpl_fn *fn, hn_tpl_call *c, hn_tval *out)
{
    c->name = fn->name;
    if (fn->params[0] != '*')
        HN_TRY(bind_arguments(fn, c));
    return fn->call(r, c, out);
}

static hn_status call_joiner(hn_tpl_joiner *joiner, hn_tval *out)
{
    *out = joiner->is_used ? joiner->separator : hn_tv_text("", 0);
    joiner->is_used = true;
    return HN_OK;
}

hn_status hn_tpl_call_value(hn_tpl_run *r, const hn_tval *callee, hn_tpl_call *c, hn_tval *out)
{
    switch (callee->kind) {
    case HN_TV_FUNCTION:
        c->self = callee->as.function->self;
        return hn_tpl_call_fn(r, callee->as.function->fn, c, out);
    case HN_TV_MACRO:
        return hn_tpl_call_macro(r, callee->as.macro, c, out);
    case HN_TV_LOOP:
        HN_REQUIRE(c->n_args == 1 && !c->n_keywords, HN_ERR_FORMAT,
                   "loop() takes one argument, what to walk over");
        return hn_tpl_loop_again(r, callee->as.loop, &c->args[0], out);
    case HN_TV_JOINER:
        return call_joiner(callee->as.joiner, out);
    case HN_TV_UNDEFINED:
        return hn_tv_undefined_error(callee);
    default:
        return hn_fail(HN_ERR_FORMAT, "'%s' object is not callable", hn_tv_type(callee));
    }
}

hn_status hn_tpl_want_int(const hn_tpl_call *c, int slot, int64_t otherwise, int64_t *out)
{
    const hn_tval *v = &c->slots[slot];
    *out = otherwise;
    if (v->kind == HN_TV_MISSING)
        return HN_OK;
    if (v->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(v);
    HN_REQUIRE(hn_tv_is_integer(v), HN_ERR_FORMAT,
               "%s(): '%s' object cannot be interpreted as an integer", c->name, hn_tv_type(v));
    *out = hn_tv_integer(v);
    return HN_OK;
}

hn_status hn_tpl_want_text(const hn_tpl_call *c, int slot, const char *otherwise,
                           hn_tpl_text *out)
{
    const hn_tval *v = &c->slots[slot];
    *out = (hn_tpl_text){ otherwise, otherwise ? strlen(otherwise) : 0 };
    if (v->kind == HN_TV_MISSING)
        return HN_OK;
    HN_REQUIRE(v->kind == HN_TV_TEXT, HN_ERR_FORMAT, "%s() argument must be str, not %s",
               c->name, hn_tv_type(v));
    *out = v->as.text;
    return HN_OK;
}

hn_status hn_tpl_want_bool(hn_tpl_run *r, const hn_tpl_call *c, int slot, bool otherwise,
                           bool *out)
{
    *out = otherwise;
    return c->slots[slot].kind == HN_TV_MISSING ? HN_OK
                                                : hn_tv_is_true(r, &c->slots[slot], out);
}

static hn_status global_range(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int64_t first = 0, second = 0, step = 0;
    HN_TRY(hn_tpl_want_int(c, 0, 0, &first));
    HN_TRY(hn_tpl_want_int(c, 1, 0, &second));
    HN_TRY(hn_tpl_want_int(c, 2, 1, &step));
    HN_REQUIRE(step, HN_ERR_FORMAT, "range() arg 3 must not be zero");
    const bool one = c->slots[1].kind == HN_TV_MISSING;
    const int64_t start = one ? 0 : first, stop = one ? first : second;
    int64_t n = 0;
    if (step > 0 ? start < stop : start > stop) {
        const uint64_t span =
            step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
        const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
        HN_REQUIRE((span - 1) / by < MAX_RANGE, HN_ERR_FORMAT,
                   "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).",
                   MAX_RANGE);
        n = (int64_t)((span - 1) / by) + 1;
    }
    hn_tpl_range *range = hn_tpl_new(r, sizeof *range);
    if (!range)
        return HN_ERR_MEMORY;
    *range = (hn_tpl_range){ start, stop, step, n };
    *out = (hn_tval){ .kind = HN_TV_RANGE, .as.range = range };
    return HN_OK;
}

static hn_status global_dict(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval made;
    HN_REQUIRE(c->n_args <= 1, HN_ERR_FORMAT, "%s expected at most 1 argument, got %zu",
               c->name, c->n_args);
    HN_TRY(hn_tv_dict_new(r, &made));
    if (c->n_args)
        HN_TRY(hn_tv_dict_merge(r, made.as.dict, &c->args[0]));
    for (size_t i = 0; i < c->n_keywords; i++) {
        const hn_tval key = hn_tv_text(c->keywords[i].name, strlen(c->keywords[i].name));
        HN_TRY(hn_tv_dict_set(r, made.as.dict, &key, &c->keywords[i].value));
    }
    *out = made;
    return HN_OK;
}

static hn_status global_namespace(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    HN_TRY(global_dict(r, c, out));
    for (size_t i = 0; i < out->as.dict->n; i++) {
        const hn_tval *key = &out->as.dict->keys[i];
        HN_REQUIRE(
            key->kind != HN_TV_TEXT || !key->as.text.bytes || key->as.text.text[0] != '_',
            HN_ERR_FORMAT,
            "Chat templates cannot store underscore-prefixed attributes on a namespace, "
            "but got '%.*s'. Please rename the attribute.",
            (int)(key->as.text.bytes < 100 ? key->as.text.bytes : 100), key->as.text.text);
    }
    out->kind = HN_TV_NAMESPACE;
    return HN_OK;
}

static hn_status global_cycler(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    HN_REQUIRE(c->n_args, HN_ERR_FORMAT, "at least one item has to be provided");
    HN_REQUIRE(!c->n_keywords, HN_ERR_FORMAT, "cycler() got an unexpected keyword argument");
    hn_tpl_cycler *cycler = hn_tpl_new(r, sizeof *cycler);
    hn_tval items;
    if (!cycler)
        return HN_ERR_MEMORY;
    HN_TRY(hn_tv_list_new(r, HN_TV_TUPLE, &items));
    for (size_t i = 0; i < c->n_args; i++)
        HN_TRY(hn_tv_list_add(r, items.as.list, &c->args[i]));
    cycler->items = items.as.list;
    *out = (hn_tval){ .kind = HN_TV_CYCLER, .as.cycler = cycler };
    return HN_OK;
}

static hn_status global_joiner(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_joiner *joiner = hn_tpl_new(r, sizeof *joiner);
    if (!joiner)
        return HN_ERR_MEMORY;
    joiner->separator = c->slots[0].kind == HN_TV_MISSING ? hn_tv_text(", ", 2) : c->slots[0];
    *out = (hn_tval){ .kind = HN_TV_JOINER, .as.joiner = joiner };
    return HN_OK;
}

/* The one way for a template to refuse its input; the caller can tell by the status. */
static hn_status global_raise(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    HN_TRY(hn_tv_to_text(r, &c->slots[0], out));
    const hn_tpl_text text = out->as.text;
    return hn_fail(HN_ERR_ARGUMENT, "raised: %.*s", (int)(text.bytes < 900 ? text.bytes : 900),
                   text.text);
}

static hn_status global_strftime(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_text format;
    hn_str text = hn_str_on(&r->budget.heap);
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &format));
    hn_status status = hn_tpl_strftime(r, format, &text);
    if (status == HN_OK)
        status = hn_tv_from_str(r, &text, out);
    hn_str_free(&text);
    return status;
}

static hn_status global_lipsum(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r, (void)out;
    return hn_fail(HN_ERR_UNSUPPORTED, "%s() gives random text: not for chat templates",
                   c->name);
}

static const hn_tpl_fn globals[] = {
    { "range", "/start stop= step=", global_range },
    { "dict", "*", global_dict },
    { "namespace", "*", global_namespace },
    { "cycler", "*", global_cycler },
    { "joiner", "sep=", global_joiner },
    { "raise_exception", "message", global_raise },
    { "strftime_now", "format", global_strftime },
    { "lipsum", "*", global_lipsum },
    { NULL, NULL, NULL },
};

const hn_tpl_fn *hn_tpl_global_find(const char *name) { return hn_tpl_fn_find(globals, name); }
