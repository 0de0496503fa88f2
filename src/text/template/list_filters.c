/* Filters on what can be walked over. */
#include "text/template/fn.h"
#include "text/template/sort.h"

#include <string.h>

static hn_status new_generator(hn_tpl_run *r, hn_tpl_generator **g, hn_tval *out)
{
    *g = hn_tpl_new(r, sizeof **g);
    if (!*g)
        return HN_ERR_MEMORY;
    *out = (hn_tval){ .kind = HN_TV_GENERATOR, .as.generator = *g };
    return HN_OK;
}

hn_status hn_tpl_defer(hn_tpl_run *r, hn_tpl_generator *g, int depth, hn_status status)
{
    if (status == HN_OK || hn_is_no_answer(status) || r->steps > r->options.max_steps)
        return status;
    hn_tval text;
    const char *message = hn_error_message();
    HN_TRY(hn_tv_copy_text(r, message, strlen(message), &text));
    g->failure = text.as.text.text;
    g->status = status;
    r->depth = depth;
    r->failed_line = 0;
    return HN_OK;
}

typedef struct picker {
    hn_tval path;        /* of an attribute; MISSING: the item itself */
    const hn_tpl_fn *fn; /* a filter or test; NULL: the item as it is */
    hn_tpl_call call;
    hn_tval otherwise; /* for undefined attributes, or MISSING */
    bool selects, rejects;
} picker;

static hn_status pick(hn_tpl_run *r, picker *p, const hn_tval *item, hn_tpl_list *to)
{
    hn_tval value;
    bool holds = true;
    HN_TRY(hn_tpl_get_path(r, item, &p->path, &value));
    if (value.kind == HN_TV_UNDEFINED && p->otherwise.kind != HN_TV_MISSING &&
        p->otherwise.kind != HN_TV_NONE)
        value = p->otherwise;
    if (p->fn) {
        hn_tpl_call call = p->call;
        call.self = value;
        HN_TRY(hn_tpl_call_fn(r, p->fn, &call, &value));
    }
    if (!p->selects)
        return hn_tv_list_add(r, to, &value);
    HN_TRY(hn_tv_is_true(r, &value, &holds));
    return holds != p->rejects ? hn_tv_list_add(r, to, item) : HN_OK;
}

static hn_status pick_all(hn_tpl_run *r, picker *p, const hn_tval *from, hn_tpl_list *to)
{
    hn_tpl_iter it;
    HN_TRY(hn_tv_iter(r, from, &it));
    for (bool done = false;;) {
        hn_tval item;
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            return HN_OK;
        HN_TRY(pick(r, p, &item, to));
    }
}

/* The filter or test named by argument `at`; what follows it are its arguments. */
static hn_status find_named(hn_tpl_run *r, hn_tpl_call *c, size_t at, bool is_filter, picker *p)
{
    hn_tval name;
    HN_REQUIRE(c->args[at].kind == HN_TV_TEXT, HN_ERR_FORMAT, "No %s named by a %s.",
               is_filter ? "filter" : "test", hn_tv_type(&c->args[at]));
    HN_TRY(hn_tv_copy_text(r, c->args[at].as.text.text, c->args[at].as.text.bytes, &name));
    p->fn =
        is_filter ? hn_tpl_filter_find(name.as.text.text) : hn_tpl_test_find(name.as.text.text);
    HN_REQUIRE(p->fn, HN_ERR_FORMAT, "No %s named '%.80s'.", is_filter ? "filter" : "test",
               name.as.text.text);
    p->call = (hn_tpl_call){ .args = c->args + at + 1,
                             .n_args = c->n_args - at - 1,
                             .keywords = c->keywords,
                             .n_keywords = c->n_keywords };
    return HN_OK;
}

static hn_status map_items(hn_tpl_run *r, hn_tpl_call *c, hn_tpl_list *to)
{
    picker p = { 0 };
    bool has_attribute = false;
    for (size_t i = 0; !c->n_args && i < c->n_keywords; i++)
        has_attribute |= !strcmp(c->keywords[i].name, "attribute");
    if (has_attribute) {
        for (size_t i = 0; i < c->n_keywords; i++) {
            const bool is_path = !strcmp(c->keywords[i].name, "attribute");
            HN_REQUIRE(is_path || !strcmp(c->keywords[i].name, "default"), HN_ERR_FORMAT,
                       "Unexpected keyword argument '%s'", c->keywords[i].name);
            *(is_path ? &p.path : &p.otherwise) = c->keywords[i].value;
        }
        return pick_all(r, &p, &c->self, to);
    }
    HN_REQUIRE(c->n_args, HN_ERR_FORMAT, "map requires a filter argument");
    HN_TRY(find_named(r, c, 0, true, &p));
    return pick_all(r, &p, &c->self, to);
}

static hn_status filter_map(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_generator *g = NULL;
    bool any = false;
    const int depth = r->depth;
    HN_TRY(new_generator(r, &g, out));
    hn_status status = hn_tv_is_true(r, &c->self, &any);
    if (status == HN_OK && any)
        status = map_items(r, c, &g->items);
    return hn_tpl_defer(r, g, depth, status);
}

static hn_status select_items(hn_tpl_run *r, hn_tpl_call *c, bool by_attribute, bool rejects,
                              hn_tpl_list *to)
{
    picker p = { .selects = true, .rejects = rejects };
    const size_t at = by_attribute;
    HN_REQUIRE(c->n_args >= at, HN_ERR_FORMAT, "Missing parameter for attribute name");
    if (by_attribute)
        p.path = c->args[0];
    if (c->n_args > at)
        HN_TRY(find_named(r, c, at, false, &p));
    return pick_all(r, &p, &c->self, to);
}

static hn_status select_or_reject(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_generator *g = NULL;
    bool any = false;
    const int depth = r->depth;
    HN_TRY(new_generator(r, &g, out));
    hn_status status = hn_tv_is_true(r, &c->self, &any);
    if (status == HN_OK && any)
        status = select_items(r, c, strlen(c->name) > 6, c->name[0] == 'r', &g->items);
    return hn_tpl_defer(r, g, depth, status);
}

static hn_status filter_items(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_generator *g = NULL;
    const int depth = r->depth;
    HN_TRY(new_generator(r, &g, out));
    if (c->self.kind == HN_TV_UNDEFINED)
        return HN_OK;
    if (c->self.kind != HN_TV_DICT)
        return hn_tpl_defer(r, g, depth,
                            hn_fail(HN_ERR_FORMAT, "Can only get item pairs from a mapping."));
    for (size_t i = 0; i < c->self.as.dict->n; i++) {
        hn_tval pair;
        HN_TRY(hn_tv_pair(r, &c->self.as.dict->keys[i], &c->self.as.dict->values[i], &pair));
        HN_TRY(hn_tv_list_add(r, &g->items, &pair));
    }
    return HN_OK;
}

static hn_status filter_list(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return hn_tv_collect(r, &c->self, out);
}

static hn_status filter_first(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_iter it;
    bool done = false;
    HN_TRY(hn_tv_iter(r, &c->self, &it));
    HN_TRY(hn_tv_next(r, &it, out, &done));
    return done ? hn_tv_undefined(r, "No first item, sequence was empty.", NULL, NULL, out)
                : HN_OK;
}

static hn_status reversible(const hn_tpl_call *c)
{
    const hn_tv_kind k = c->self.kind;
    HN_REQUIRE(k == HN_TV_TEXT || k == HN_TV_LIST || k == HN_TV_TUPLE || k == HN_TV_DICT ||
                   k == HN_TV_RANGE || k == HN_TV_VIEW || k == HN_TV_UNDEFINED,
               HN_ERR_FORMAT, "'%s' object is not reversible", hn_tv_type(&c->self));
    return HN_OK;
}

static hn_status filter_last(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval all;
    HN_TRY(reversible(c));
    HN_TRY(hn_tv_collect(r, &c->self, &all));
    if (!all.as.list->n)
        return hn_tv_undefined(r, "No last item, sequence was empty.", NULL, NULL, out);
    *out = all.as.list->at[all.as.list->n - 1];
    return HN_OK;
}

static hn_status filter_reverse(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_generator *g = NULL;
    hn_tval all;
    if (c->self.kind == HN_TV_TEXT) {
        const hn_tval back[3] = { hn_tv_none(), hn_tv_none(), hn_tv_int(-1) };
        return hn_tpl_get_slice(r, &c->self, back, out);
    }
    if (hn_tv_collect(r, &c->self, &all) != HN_OK)
        return hn_fail(HN_ERR_FORMAT, "argument must be iterable");
    const bool is_list = c->self.kind == HN_TV_GENERATOR || c->self.kind == HN_TV_UNDEFINED;
    hn_tpl_list *to = NULL;
    if (is_list) {
        HN_TRY(hn_tv_list_new(r, HN_TV_LIST, out));
        to = out->as.list;
    } else {
        HN_TRY(new_generator(r, &g, out));
        to = &g->items;
    }
    for (size_t i = all.as.list->n; i-- > 0;)
        HN_TRY(hn_tv_list_add(r, to, &all.as.list->at[i]));
    return HN_OK;
}

static hn_status join_items(hn_tpl_run *r, hn_tpl_call *c, hn_tpl_str *to)
{
    hn_tpl_iter it;
    hn_tval separator = hn_tv_text("", 0), item, value;
    if (c->slots[0].kind != HN_TV_MISSING)
        HN_TRY(hn_tv_to_text(r, &c->slots[0], &separator));
    HN_TRY(hn_tv_iter(r, &c->self, &it));
    for (bool first = true, done = false;; first = false) {
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            return HN_OK;
        if (!first)
            hn_tpl_put(to, separator.as.text);
        HN_TRY(hn_tpl_get_path(r, &item, &c->slots[1], &value));
        HN_TRY(hn_tv_write(r, &value, to));
        HN_TRY(hn_tpl_fits(r, &to->text));
    }
}

static hn_status filter_join(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    hn_status status = join_items(r, c, &to);
    if (status == HN_OK)
        status = hn_tv_from_words(r, &to, out);
    hn_tpl_str_free(&to);
    return status;
}

static hn_status filter_sum(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_iter it;
    hn_tval sum = c->slots[1].kind == HN_TV_MISSING ? hn_tv_int(0) : c->slots[1];
    HN_REQUIRE(sum.kind != HN_TV_TEXT, HN_ERR_FORMAT,
               "sum() can't sum strings [use ''.join(seq) instead]");
    HN_TRY(hn_tv_iter(r, &c->self, &it));
    for (bool done = false;;) {
        hn_tval item, value, next;
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            break;
        HN_TRY(hn_tpl_get_path(r, &item, &c->slots[0], &value));
        HN_TRY(hn_tpl_binary(r, '+', &sum, &value, &next));
        sum = next;
    }
    *out = sum;
    return HN_OK;
}

static hn_status batch(hn_tpl_run *r, hn_tpl_call *c, hn_tpl_list *to)
{
    int64_t n = 0;
    hn_tval all, row;
    const hn_tval *fill = &c->slots[1];
    const bool fills = fill->kind != HN_TV_MISSING && fill->kind != HN_TV_NONE;
    const bool has_size = hn_tv_is_integer(&c->slots[0]);
    HN_TRY(hn_tv_collect(r, &c->self, &all));
    if (has_size)
        HN_TRY(hn_tpl_want_int(c, 0, 0, &n));
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &row));
    for (size_t i = 0; i < all.as.list->n; i++) {
        if (has_size && (int64_t)row.as.list->n == n) {
            HN_TRY(hn_tv_list_add(r, to, &row));
            HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &row));
        }
        HN_TRY(hn_tv_list_add(r, row.as.list, &all.as.list->at[i]));
    }
    if (!row.as.list->n)
        return HN_OK;
    while (fills && (int64_t)row.as.list->n < n)
        HN_TRY(hn_tv_list_add(r, row.as.list, fill));
    return hn_tv_list_add(r, to, &row);
}

static hn_status slice(hn_tpl_run *r, hn_tpl_call *c, hn_tpl_list *to)
{
    int64_t n = 0;
    hn_tval all;
    const hn_tval *fill = &c->slots[1];
    const bool fills = fill->kind != HN_TV_MISSING && fill->kind != HN_TV_NONE;
    HN_TRY(hn_tv_collect(r, &c->self, &all));
    HN_TRY(hn_tpl_want_int(c, 0, 0, &n));
    HN_REQUIRE(n, HN_ERR_FORMAT, "integer division or modulo by zero");
    const int64_t length = (int64_t)all.as.list->n;
    for (int64_t i = 0, at = 0; i < n; i++) {
        hn_tval row;
        const int64_t size = length / n + (i < length % n);
        HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &row));
        for (int64_t k = 0; k < size; k++)
            HN_TRY(hn_tv_list_add(r, row.as.list, &all.as.list->at[at++]));
        if (fills && i >= length % n)
            HN_TRY(hn_tv_list_add(r, row.as.list, fill));
        HN_TRY(hn_tv_list_add(r, to, &row));
    }
    return HN_OK;
}

static hn_status filter_batch(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_generator *g = NULL;
    const int depth = r->depth;
    HN_TRY(new_generator(r, &g, out));
    return hn_tpl_defer(r, g, depth, batch(r, c, &g->items));
}

static hn_status filter_slice(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_generator *g = NULL;
    const int depth = r->depth;
    HN_TRY(new_generator(r, &g, out));
    return hn_tpl_defer(r, g, depth, slice(r, c, &g->items));
}

const hn_tpl_fn hn_tpl_list_filters[] = {
    { "map", "*", filter_map },
    { "select", "*", select_or_reject },
    { "reject", "*", select_or_reject },
    { "selectattr", "*", select_or_reject },
    { "rejectattr", "*", select_or_reject },
    { "items", "", filter_items },
    { "list", "", filter_list },
    { "first", "", filter_first },
    { "last", "", filter_last },
    { "reverse", "", filter_reverse },
    { "join", "d= attribute=", filter_join },
    { "sum", "attribute= start=", filter_sum },
    { "batch", "linecount fill_with=", filter_batch },
    { "slice", "slices fill_with=", filter_slice },
    { "sort", "reverse= case_sensitive= attribute=", hn_tpl_filter_sort },
    { "dictsort", "case_sensitive= by= reverse=", hn_tpl_filter_dictsort },
    { "unique", "case_sensitive= attribute=", hn_tpl_filter_unique },
    { "groupby", "attribute default= case_sensitive=", hn_tpl_filter_groupby },
    { "min", "case_sensitive= attribute=", hn_tpl_filter_min },
    { "max", "case_sensitive= attribute=", hn_tpl_filter_max },
    { NULL, NULL, NULL },
};
