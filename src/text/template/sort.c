/* Ordering: merge sort, which is stable, on keys made before. Texts compare in lower case
 * unless case_sensitive. */
#include "text/template/sort.h"

#include <string.h>

typedef struct keyed {
    hn_tval key, item;
} keyed;

static hn_status fold(hn_tpl_run *r, bool case_sensitive, hn_tval *key)
{
    if (case_sensitive || key->kind != HN_TV_TEXT)
        return HN_OK;
    hn_tpl_call call = { .self = *key };
    return hn_tpl_method_find(key, "lower")->call(r, &call, key);
}

static hn_status key_of(hn_tpl_run *r, const hn_tval *item, const hn_tval *path,
                        bool case_sensitive, hn_tval *out)
{
    HN_TRY(hn_tpl_get_path(r, item, path, out));
    return fold(r, case_sensitive, out);
}

/* Of "a,b" a list of both; of one path a list of one, in which two undefined are equal. */
static hn_status keys_of(hn_tpl_run *r, const hn_tval *item, const hn_tval *path,
                         bool case_sensitive, hn_tval *out)
{
    hn_tval list;
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &list));
    *out = list;
    if (path->kind != HN_TV_TEXT) {
        hn_tval key;
        HN_TRY(key_of(r, item, path, case_sensitive, &key));
        return hn_tv_list_add(r, list.as.list, &key);
    }
    const hn_tpl_text text = path->as.text;
    for (size_t begin = 0, end = 0; begin <= text.bytes; begin = end + 1) {
        for (end = begin; end < text.bytes && text.text[end] != ',';)
            end++;
        const hn_tval one = hn_tv_text(text.text + begin, end - begin);
        hn_tval key;
        HN_TRY(key_of(r, item, &one, case_sensitive, &key));
        HN_TRY(hn_tv_list_add(r, list.as.list, &key));
    }
    return HN_OK;
}

/* Whether b must stand before a. */
static hn_status is_after(hn_tpl_run *r, const keyed *a, const keyed *b, bool reverse,
                          bool *out)
{
    int order = 0;
    HN_TRY(hn_tpl_step(r, 1));
    HN_TRY(reverse ? hn_tv_order(r, &a->key, &b->key, "<", &order)
                   : hn_tv_order(r, &b->key, &a->key, "<", &order));
    *out = order == -1;
    return HN_OK;
}

static hn_status sort(hn_tpl_run *r, keyed *at, size_t n, bool reverse)
{
    keyed *other = hn_tpl_new(r, (n + 1) * sizeof *other), *from = at, *to = other;
    if (!other)
        return HN_ERR_MEMORY;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            const size_t middle = begin + width < n ? begin + width : n;
            const size_t end = middle + width < n ? middle + width : n;
            size_t i = begin, j = middle;
            for (size_t k = begin; k < end; k++) {
                bool take_right = i == middle;
                if (i < middle && j < end)
                    HN_TRY(is_after(r, &from[i], &from[j], reverse, &take_right));
                to[k] = take_right ? from[j++] : from[i++];
            }
        }
        keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != at && n)
        memcpy(at, from, n * sizeof *at);
    return HN_OK;
}

static hn_status make_keys(hn_tpl_run *r, const hn_tval *from, const hn_tval *path,
                           bool case_sensitive, keyed **out, size_t *n)
{
    hn_tval all;
    HN_TRY(hn_tv_collect(r, from, &all));
    *n = all.as.list->n;
    *out = hn_tpl_new(r, (*n + 1) * sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < *n; i++) {
        (*out)[i].item = all.as.list->at[i];
        HN_TRY(key_of(r, &all.as.list->at[i], path, case_sensitive, &(*out)[i].key));
    }
    return HN_OK;
}

hn_status hn_tpl_filter_sort(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool reverse = false, case_sensitive = false;
    keyed *at = NULL;
    size_t n = 0;
    hn_tval list;
    HN_TRY(hn_tpl_want_bool(r, c, 0, false, &reverse));
    HN_TRY(hn_tpl_want_bool(r, c, 1, false, &case_sensitive));
    const hn_tval whole = { 0 };
    HN_TRY(make_keys(r, &c->self, &whole, true, &at, &n));
    for (size_t i = 0; i < n; i++)
        HN_TRY(keys_of(r, &at[i].item, &c->slots[2], case_sensitive, &at[i].key));
    HN_TRY(sort(r, at, n, reverse));
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &list));
    for (size_t i = 0; i < n; i++)
        HN_TRY(hn_tv_list_add(r, list.as.list, &at[i].item));
    *out = list;
    return HN_OK;
}

hn_status hn_tpl_filter_dictsort(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool case_sensitive = false, reverse = false;
    hn_tpl_text by;
    hn_tval list;
    HN_TRY(hn_tpl_want_bool(r, c, 0, false, &case_sensitive));
    HN_TRY(hn_tpl_want_text(c, 1, "key", &by));
    HN_TRY(hn_tpl_want_bool(r, c, 2, false, &reverse));
    const hn_tval name = hn_tv_text(by.text, by.bytes);
    const bool by_value = hn_tv_is(&name, "value");
    HN_REQUIRE(by_value || hn_tv_is(&name, "key"), HN_ERR_FORMAT,
               "You can only sort by either \"key\" or \"value\"");
    if (c->self.kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(&c->self);
    HN_REQUIRE(c->self.kind == HN_TV_DICT, HN_ERR_FORMAT,
               "'%s' object has no attribute 'items'", hn_tv_type(&c->self));
    const hn_tpl_dict *d = c->self.as.dict;
    keyed *at = hn_tpl_new(r, (d->n + 1) * sizeof *at);
    if (!at)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < d->n; i++) {
        at[i].key = by_value ? d->values[i] : d->keys[i];
        HN_TRY(fold(r, case_sensitive, &at[i].key));
        HN_TRY(hn_tv_pair(r, &d->keys[i], &d->values[i], &at[i].item));
    }
    HN_TRY(sort(r, at, d->n, reverse));
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &list));
    for (size_t i = 0; i < d->n; i++)
        HN_TRY(hn_tv_list_add(r, list.as.list, &at[i].item));
    *out = list;
    return HN_OK;
}

static hn_status unique(hn_tpl_run *r, hn_tpl_call *c, hn_tpl_list *to)
{
    bool case_sensitive = false;
    keyed *at = NULL;
    size_t n = 0;
    hn_tval seen;
    HN_TRY(hn_tpl_want_bool(r, c, 0, false, &case_sensitive));
    HN_TRY(make_keys(r, &c->self, &c->slots[1], case_sensitive, &at, &n));
    HN_TRY(hn_tv_dict_new(r, &seen));
    for (size_t i = 0; i < n; i++) {
        hn_tval *found = NULL;
        HN_TRY(hn_tv_dict_get(r, seen.as.dict, &at[i].key, &found));
        if (found)
            continue;
        HN_TRY(hn_tv_dict_set(r, seen.as.dict, &at[i].key, &at[i].item));
        HN_TRY(hn_tv_list_add(r, to, &at[i].item));
    }
    return HN_OK;
}

hn_status hn_tpl_filter_unique(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_generator *g = hn_tpl_new(r, sizeof *g);
    const int depth = r->depth;
    if (!g)
        return HN_ERR_MEMORY;
    *out = (hn_tval){ .kind = HN_TV_GENERATOR, .as.generator = g };
    return hn_tpl_defer(r, g, depth, unique(r, c, &g->items));
}

static hn_status new_group(hn_tpl_run *r, const hn_tval *key, hn_tval *group, hn_tval *out)
{
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, group));
    HN_TRY(hn_tv_pair(r, key, group, out));
    out->as.list->is_group = true;
    return HN_OK;
}

hn_status hn_tpl_filter_groupby(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool case_sensitive = false;
    keyed *at = NULL;
    size_t n = 0;
    hn_tval list, group = { 0 }, pair;
    const hn_tval *otherwise = &c->slots[1];
    HN_TRY(hn_tpl_want_bool(r, c, 2, false, &case_sensitive));
    HN_TRY(make_keys(r, &c->self, &c->slots[0], true, &at, &n));
    for (size_t i = 0; i < n; i++) {
        if (at[i].key.kind == HN_TV_UNDEFINED && otherwise->kind != HN_TV_MISSING &&
            otherwise->kind != HN_TV_NONE)
            at[i].key = *otherwise;
        HN_TRY(fold(r, case_sensitive, &at[i].key));
    }
    HN_TRY(sort(r, at, n, false));
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, &list));
    for (size_t i = 0; i < n; i++) {
        bool same = false;
        if (i)
            HN_TRY(hn_tv_equal(r, &at[i - 1].key, &at[i].key, &same));
        if (!same) { /* the name of a group is its first item's, as it was written */
            hn_tval name;
            HN_TRY(hn_tpl_get_path(r, &at[i].item, &c->slots[0], &name));
            if (name.kind == HN_TV_UNDEFINED && otherwise->kind != HN_TV_MISSING)
                name = *otherwise;
            HN_TRY(new_group(r, &name, &group, &pair));
            HN_TRY(hn_tv_list_add(r, list.as.list, &pair));
        }
        HN_TRY(hn_tv_list_add(r, group.as.list, &at[i].item));
    }
    *out = list;
    return HN_OK;
}

static hn_status extreme(hn_tpl_run *r, hn_tpl_call *c, bool largest, hn_tval *out)
{
    bool case_sensitive = false;
    keyed *at = NULL;
    size_t n = 0, best = 0;
    HN_TRY(hn_tpl_want_bool(r, c, 0, false, &case_sensitive));
    HN_TRY(make_keys(r, &c->self, &c->slots[1], case_sensitive, &at, &n));
    if (!n)
        return hn_tv_undefined(r, "No aggregated item, sequence was empty.", NULL, NULL, out);
    for (size_t i = 1; i < n; i++) {
        int order = 0;
        HN_TRY(hn_tpl_step(r, 1));
        HN_TRY(hn_tv_order(r, &at[i].key, &at[best].key, largest ? ">" : "<", &order));
        if (order == (largest ? 1 : -1))
            best = i;
    }
    *out = at[best].item;
    return HN_OK;
}

hn_status hn_tpl_filter_min(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return extreme(r, c, false, out);
}

hn_status hn_tpl_filter_max(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return extreme(r, c, true, out);
}
