/* for, with its filter, else, recursion and the variable `loop`.
 *
 * Items are fetched one at a time, as the filter may ask about what the body did before; only
 * loop.length makes it look through all. */
#include "text/template/fn.h"

#include <string.h>

/* The next item that the filter lets through. */
static hn_status fetch(hn_tpl_run *r, hn_tpl_loop *loop, hn_tval *out, bool *done)
{
    for (;;) {
        HN_TRY(hn_tv_next(r, &loop->items, out, done));
        if (*done || !loop->is_filtered)
            return HN_OK;
        hn_tpl_scope *scope = NULL, *before = r->scope;
        hn_tval test;
        bool holds = false;
        HN_TRY(hn_tpl_scope_new(r, loop->around, NULL, &scope));
        r->scope = scope;
        HN_TRY(hn_tpl_assign(r, loop->node->a, out));
        HN_TRY(hn_tpl_eval(r, loop->node->c, &test));
        HN_TRY(hn_tv_is_true(r, &test, &holds));
        r->scope = before;
        if (!holds)
            continue;
        if (loop->node->a->kind == HN_TPL_TUPLE) {
            HN_TRY(hn_tv_collect(r, out, out));
            out->kind = HN_TV_TUPLE;
        }
        return HN_OK;
    }
}

static hn_status advance(hn_tpl_run *r, hn_tpl_loop *loop, bool *done)
{
    hn_tval item = loop->after;
    *done = loop->has_after && item.kind == HN_TV_MISSING;
    if (!loop->has_after)
        HN_TRY(fetch(r, loop, &item, done));
    if (*done)
        return HN_OK;
    loop->has_after = false;
    loop->index0++;
    loop->before = loop->current;
    loop->current = item;
    return HN_OK;
}

static hn_status peek(hn_tpl_run *r, hn_tpl_loop *loop)
{
    bool done = false;
    if (loop->has_after)
        return HN_OK;
    HN_TRY(fetch(r, loop, &loop->after, &done));
    loop->has_after = true;
    if (done)
        loop->after = (hn_tval){ 0 };
    return HN_OK;
}

static hn_status measure(hn_tpl_run *r, hn_tpl_loop *loop)
{
    if (loop->length >= 0)
        return HN_OK;
    if (!loop->is_filtered && loop->items.of.kind != HN_TV_GENERATOR)
        return hn_tv_length(r, &loop->items.of, &loop->length);
    hn_tval rest;
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &rest));
    for (bool done = false;;) {
        hn_tval item;
        HN_TRY(fetch(r, loop, &item, &done));
        if (done)
            break;
        HN_TRY(hn_tv_list_add(r, rest.as.list, &item));
    }
    loop->items = (hn_tpl_iter){ .of = rest };
    loop->is_filtered = false;
    loop->length = (int64_t)rest.as.list->n + loop->index0 + 1 +
                   (loop->has_after && loop->after.kind != HN_TV_MISSING);
    return HN_OK;
}

static hn_status neighbour(hn_tpl_run *r, const hn_tval *item, const char *none, hn_tval *out)
{
    *out = *item;
    return item->kind == HN_TV_MISSING ? hn_tv_undefined(r, none, NULL, NULL, out) : HN_OK;
}

hn_status hn_tpl_loop_attr(hn_tpl_run *r, hn_tpl_loop *loop, const char *name, hn_tval *out)
{
    const int64_t i = loop->index0;
    *out = (hn_tval){ 0 };
    if (!strcmp(name, "index"))
        *out = hn_tv_int(i + 1);
    else if (!strcmp(name, "index0"))
        *out = hn_tv_int(i);
    else if (!strcmp(name, "first"))
        *out = hn_tv_bool(i == 0);
    else if (!strcmp(name, "depth"))
        *out = hn_tv_int(loop->depth0 + 1);
    else if (!strcmp(name, "depth0"))
        *out = hn_tv_int(loop->depth0);
    else if (!strcmp(name, "previtem"))
        return neighbour(r, &loop->before, "there is no previous item", out);
    if (out->kind != HN_TV_MISSING)
        return HN_OK;
    if (!strcmp(name, "last") || !strcmp(name, "nextitem")) {
        HN_TRY(peek(r, loop));
        if (*name == 'n')
            return neighbour(r, &loop->after, "there is no next item", out);
        *out = hn_tv_bool(loop->after.kind == HN_TV_MISSING);
        return HN_OK;
    }
    const bool is_length = !strcmp(name, "length"), is_back = !strcmp(name, "revindex"),
               is_back0 = !strcmp(name, "revindex0");
    if (!is_length && !is_back && !is_back0)
        return HN_OK;
    HN_TRY(measure(r, loop));
    *out = hn_tv_int(is_length ? loop->length : loop->length - i - is_back0);
    return HN_OK;
}

/* One iteration; *completed if it ran to its end. */
static hn_status iterate(hn_tpl_run *r, hn_tpl_loop *loop, hn_tpl_scope *scope, bool *completed)
{
    const hn_tpl_node *node = loop->node;
    const hn_tval missing = { 0 }, self = { .kind = HN_TV_LOOP, .as.loop = loop };
    const char *name = hn_tpl_interned(r->t, (hn_tpl_text){ "loop", 4 });
    scope->n = 0;
    for (const char **unset = node->unset; unset && *unset; unset++)
        HN_TRY(hn_tpl_set(r, scope, *unset, &missing));
    if (name)
        HN_TRY(hn_tpl_set(r, scope, name, &self));
    hn_tpl_scope *before = r->scope;
    r->scope = scope;
    HN_TRY(hn_tpl_assign(r, node->a, &loop->current));
    HN_TRY(hn_tpl_exec(r, node->kids));
    r->scope = before;
    *completed |= r->flow == HN_TPL_ON;
    return HN_OK;
}

/* jinja2's else runs whenever no iteration ran to its end, so also after a break in the first.
 */
static hn_status run_loop(hn_tpl_run *r, const hn_tpl_node *node, hn_tpl_scope *around,
                          const hn_tval *items, int64_t depth0)
{
    hn_tpl_loop *loop = hn_tpl_new(r, sizeof *loop);
    hn_tpl_scope *scope = NULL, *before = r->scope;
    if (!loop)
        return HN_ERR_MEMORY;
    *loop = (hn_tpl_loop){ .node = node,
                           .around = around,
                           .is_filtered = node->c != NULL,
                           .length = -1,
                           .index0 = -1,
                           .depth0 = depth0 };
    HN_TRY(hn_tv_iter(r, items, &loop->items));
    HN_TRY(hn_tpl_scope_new(r, around, NULL, &scope));
    r->scope = around;
    bool completed = false;
    for (bool done = false;;) {
        HN_TRY(advance(r, loop, &done));
        if (done)
            break;
        HN_TRY(iterate(r, loop, scope, &completed));
        const hn_tpl_flow flow = r->flow;
        r->flow = HN_TPL_ON;
        if (flow == HN_TPL_LEAVE)
            break;
    }
    if (node->more && !completed) {
        HN_TRY(hn_tpl_scope_new(r, around, node->unset_more, &r->scope));
        HN_TRY(hn_tpl_exec(r, node->more));
    }
    r->scope = before;
    return HN_OK;
}

static hn_status run_captured(hn_tpl_run *r, const hn_tpl_loop *from, const hn_tval *items,
                              hn_tval *out)
{
    hn_tpl_capture c;
    hn_tpl_scope *before = r->scope;
    hn_tpl_capture_begin(r, &c);
    const hn_status status = run_loop(r, from->node, from->around, items, from->depth0);
    r->scope = before;
    return hn_tpl_capture_end(r, &c, status, out);
}

hn_status hn_tpl_loop_again(hn_tpl_run *r, const hn_tpl_loop *loop, const hn_tval *items,
                            hn_tval *out)
{
    HN_REQUIRE(loop->node->flag, HN_ERR_FORMAT,
               "The loop must have the 'recursive' marker to be called recursively.");
    const hn_tpl_loop inner = { .node = loop->node,
                                .around = loop->around,
                                .depth0 = loop->depth0 + 1 };
    HN_TRY(hn_tpl_enter(r));
    HN_TRY(run_captured(r, &inner, items, out));
    hn_tpl_leave(r);
    return HN_OK;
}

hn_status hn_tpl_exec_for(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tval items, text;
    HN_TRY(hn_tpl_eval(r, node->b, &items));
    if (!node->flag)
        return run_loop(r, node, r->scope, &items, 0);
    const hn_tpl_loop outer = { .node = node, .around = r->scope };
    HN_TRY(run_captured(r, &outer, &items, &text));
    return hn_tpl_emit(r, text.as.text);
}
