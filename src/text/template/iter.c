/* Walking over values, and how long they are. */
#include "text/template/fn.h"

#include "text/unicode/python.h"

hn_status hn_tv_length(hn_tpl_run *r, const hn_tval *v, int64_t *out)
{
    *out = 0;
    switch (v->kind) {
    case HN_TV_UNDEFINED:
        return HN_OK;
    case HN_TV_TEXT:
        *out = hn_tv_text_length(v->as.text);
        return hn_tpl_charge(r, v->as.text.bytes);
    case HN_TV_LIST:
    case HN_TV_TUPLE:
        *out = (int64_t)v->as.list->n;
        return HN_OK;
    case HN_TV_DICT:
        *out = (int64_t)v->as.dict->n;
        return HN_OK;
    case HN_TV_RANGE:
        *out = v->as.range->n;
        return HN_OK;
    case HN_TV_VIEW:
        *out = (int64_t)v->as.view->dict->n;
        return HN_OK;
    case HN_TV_LOOP: {
        hn_tval length;
        HN_TRY(hn_tpl_loop_attr(r, v->as.loop, "length", &length));
        *out = length.as.integer;
        return HN_OK;
    }
    default:
        return hn_fail(HN_ERR_FORMAT, "object of type '%s' has no len()", hn_tv_type(v));
    }
}

hn_status hn_tv_iter(hn_tpl_run *r, const hn_tval *of, hn_tpl_iter *out)
{
    (void)r;
    *out = (hn_tpl_iter){ .of = *of };
    switch (of->kind) {
    case HN_TV_UNDEFINED:
    case HN_TV_TEXT:
    case HN_TV_LIST:
    case HN_TV_TUPLE:
    case HN_TV_DICT:
    case HN_TV_RANGE:
    case HN_TV_VIEW:
    case HN_TV_GENERATOR:
        return HN_OK;
    default:
        return hn_fail(HN_ERR_FORMAT, "'%s' object is not iterable", hn_tv_type(of));
    }
}

static hn_status next_of_view(hn_tpl_run *r, hn_tpl_iter *it, hn_tval *out, bool *done)
{
    const hn_tpl_view *view = it->of.as.view;
    *done = it->next >= view->dict->n;
    if (*done)
        return HN_OK;
    const size_t i = it->next++;
    if (view->which == 'i')
        return hn_tv_pair(r, &view->dict->keys[i], &view->dict->values[i], out);
    *out = view->which == 'k' ? view->dict->keys[i] : view->dict->values[i];
    return HN_OK;
}

static hn_status next_of_generator(hn_tpl_generator *g, hn_tval *out, bool *done)
{
    *done = g->next >= g->items.n;
    if (!*done) {
        *out = g->items.at[g->next++];
        return HN_OK;
    }
    if (!g->failure)
        return HN_OK;
    const char *failure = g->failure;
    g->failure = NULL;
    return hn_fail(g->status, "%s", failure);
}

hn_status hn_tv_next(hn_tpl_run *r, hn_tpl_iter *it, hn_tval *out, bool *done)
{
    HN_TRY(hn_tpl_step(r, 1));
    const hn_tval *of = &it->of;
    switch (of->kind) {
    case HN_TV_TEXT: {
        *done = it->next >= of->as.text.bytes;
        if (*done)
            return HN_OK;
        size_t bytes = 0;
        hn_tpl_code_at(of->as.text.text + it->next, &bytes);
        *out = hn_tv_part(of->as.text, it->next, it->next + bytes);
        it->next += bytes;
        return HN_OK;
    }
    case HN_TV_LIST:
    case HN_TV_TUPLE:
        *done = it->next >= of->as.list->n;
        if (!*done)
            *out = of->as.list->at[it->next++];
        return HN_OK;
    case HN_TV_DICT:
        *done = it->next >= of->as.dict->n;
        if (!*done)
            *out = of->as.dict->keys[it->next++];
        return HN_OK;
    case HN_TV_RANGE:
        *done = (int64_t)it->next >= of->as.range->n;
        if (!*done)
            *out = hn_tv_int(of->as.range->start + (int64_t)it->next++ * of->as.range->step);
        return HN_OK;
    case HN_TV_VIEW:
        return next_of_view(r, it, out, done);
    case HN_TV_GENERATOR:
        return next_of_generator(of->as.generator, out, done);
    default:
        *done = true;
        return HN_OK;
    }
}

hn_status hn_tv_collect(hn_tpl_run *r, const hn_tval *of, hn_tval *out)
{
    hn_tpl_iter it;
    HN_TRY(hn_tv_iter(r, of, &it));
    hn_tval list;
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &list));
    for (bool done = false;;) {
        hn_tval item;
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            break;
        HN_TRY(hn_tv_list_add(r, list.as.list, &item));
    }
    *out = list;
    return HN_OK;
}
