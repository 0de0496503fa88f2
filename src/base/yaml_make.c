/* yaml_make: values, in the order in which PyYAML's constructor makes them: breadth first, and
 * what merge keys stand for moved to the front of their mapping just before it is made. */
#include "base/yaml_make.h"

#include <string.h>

typedef struct maker {
    const hn_yaml_scan *scan;
    hn_yaml **queue; /* lists and mappings whose items are not made yet, from `at` on */
    size_t at, n, room;
    size_t n_merged;
} maker;

hn_status hn_yaml_append(hn_heap *heap, hn_yaml *to, hn_yaml *key, hn_yaml *value)
{
    if (to->n == to->room) {
        const size_t room = to->room ? 2 * to->room : 4;
        hn_yaml_item *grown =
            hn_realloc_array(heap, HN_TAG_TEXT, to->items, room, sizeof *grown);
        if (!grown)
            return HN_ERR_MEMORY;
        to->items = grown;
        to->room = room;
    }
    to->items[to->n++] = (hn_yaml_item){ key, value };
    return HN_OK;
}

static hn_status enqueue(maker *m, hn_yaml *value)
{
    if (m->n == m->room) {
        const size_t room = m->room ? 2 * m->room : 64;
        hn_yaml **grown =
            hn_realloc_array(m->scan->heap, HN_TAG_TEXT, m->queue, room, sizeof *grown);
        if (!grown)
            return HN_ERR_MEMORY;
        m->queue = grown;
        m->room = room;
    }
    m->queue[m->n++] = value;
    return HN_OK;
}

static hn_status fail(const maker *m, const hn_yaml *value, const char *what)
{
    return hn_yaml_fail(m->scan, value->line, what);
}

/* `{=: x}` behind a scalar's tag is x. */
static const hn_yaml *scalar_of(const hn_yaml *value)
{
    for (int i = 0; value && value->shape == HN_YAML_MAPPING && i < HN_YAML_MAX_DEPTH; i++) {
        const hn_yaml *found = NULL;
        for (size_t k = 0; k < value->n && !found; k++)
            if (value->items[k].key->tag == HN_YAML_TAG_VALUE)
                found = value->items[k].value;
        value = found;
    }
    return value && value->shape == HN_YAML_SCALAR ? value : NULL;
}

static hn_status no_value(const maker *m, const hn_yaml *value)
{
    return fail(m, value,
                value->tag == HN_YAML_TAG_TIMESTAMP ? "a date that there is not"
                : value->tag == HN_YAML_TAG_BOOL    ? "expected a truth value behind !!bool"
                : value->tag == HN_YAML_TAG_BINARY  ? "expected base64 behind !!binary"
                                                    : "a number that Python does not read");
}

static hn_status make_scalar(const maker *m, hn_yaml *value)
{
    const hn_yaml *from = scalar_of(value);
    if (!from)
        return fail(m, value, "a list or mapping behind a tag of something else");
    value->kind = value->tag == HN_YAML_TAG_STR ? HN_YAML_TEXT : HN_YAML_NULL;
    if (value->tag == HN_YAML_TAG_NULL || (value->tag == HN_YAML_TAG_STR && from == value))
        return HN_OK;
    if (value->tag == HN_YAML_TAG_TIMESTAMP && from != value)
        return no_value(m, value);
    char *text = hn_alloc(m->scan->heap, HN_TAG_TEXT, from->bytes + 1);
    if (!text)
        return HN_ERR_MEMORY;
    memcpy(text, from->text, from->bytes);
    if (value->tag == HN_YAML_TAG_STR) { /* a mapping, which has no text */
        value->text = text;
        value->bytes = from->bytes;
        return HN_OK;
    }
    const bool is_made = hn_yaml_value(value, text, from->bytes);
    hn_free(m->scan->heap, text);
    return is_made ? HN_OK : no_value(m, value);
}

static hn_status make(maker *m, hn_yaml *value)
{
    if (value->is_made)
        return HN_OK;
    value->is_made = true;
    switch (value->tag) {
    case HN_YAML_TAG_SEQ:
    case HN_YAML_TAG_OMAP:
    case HN_YAML_TAG_PAIRS:
        value->kind = HN_YAML_LIST;
        return enqueue(m, value);
    case HN_YAML_TAG_MAP:
    case HN_YAML_TAG_SET:
        value->kind = value->tag == HN_YAML_TAG_MAP ? HN_YAML_MAP : HN_YAML_OTHER;
        return enqueue(m, value);
    case HN_YAML_TAG_MERGE:
    case HN_YAML_TAG_VALUE:
        return fail(m, value, "<< and = stand for themselves in quotes only");
    case HN_YAML_TAG_UNKNOWN:
        return hn_fail(HN_ERR_FORMAT, "%s:%d: a tag that nothing is known of: %s",
                       m->scan->name, value->line, value->tag_text);
    default:
        return make_scalar(m, value);
    }
}

static hn_status flatten(maker *m, hn_yaml *map, int depth);

static hn_status merge(maker *m, hn_yaml *into, hn_yaml *from, int depth)
{
    HN_TRY(flatten(m, from, depth + 1));
    for (size_t i = 0; i < from->n; i++) {
        if (m->n_merged++ == HN_YAML_MAX_REPEATED)
            return fail(m, from, "merge keys that repeat too much");
        const hn_yaml_item item = from->items[i];
        HN_TRY(hn_yaml_append(m->scan->heap, into, item.key, item.value));
    }
    return HN_OK;
}

/* One mapping, or a list of which the last is merged first. */
static hn_status merge_all(maker *m, hn_yaml *into, hn_yaml *map, hn_yaml *from, int depth)
{
    if (from->shape == HN_YAML_MAPPING)
        return merge(m, into, from, depth);
    if (from->shape == HN_YAML_SCALAR)
        return fail(m, map, "expected a mapping or a list of mappings behind <<");
    for (size_t i = 0; i < from->n; i++) {
        if (from->items[i].value->shape != HN_YAML_MAPPING)
            return fail(m, map, "expected a mapping or a list of mappings behind <<");
        HN_TRY(flatten(m, from->items[i].value, depth + 1));
    }
    for (size_t i = from->n; i-- > 0;)
        HN_TRY(merge(m, into, from->items[i].value, depth));
    return HN_OK;
}

static hn_status flatten(maker *m, hn_yaml *map, int depth)
{
    hn_yaml merged = { 0 };
    hn_status status = HN_OK;
    if (depth > HN_YAML_MAX_DEPTH)
        return fail(m, map, "too many levels of merge keys");
    for (size_t i = 0; i < map->n && status == HN_OK;) {
        hn_yaml *key = map->items[i].key, *value = map->items[i].value;
        if (key->tag != HN_YAML_TAG_MERGE) {
            if (key->tag == HN_YAML_TAG_VALUE)
                key->tag = HN_YAML_TAG_STR;
            i++;
            continue;
        }
        map->n--;
        memmove(map->items + i, map->items + i + 1, (map->n - i) * sizeof *map->items);
        status = merge_all(m, &merged, map, value, depth);
    }
    for (size_t i = 0; i < map->n && merged.n && status == HN_OK; i++)
        status = hn_yaml_append(m->scan->heap, &merged, map->items[i].key, map->items[i].value);
    if (status == HN_OK && merged.n) {
        hn_free(m->scan->heap, map->items);
        map->items = merged.items;
        map->n = merged.n;
        map->room = merged.room;
        return HN_OK;
    }
    hn_free(m->scan->heap, merged.items);
    return status;
}

static hn_status fill_map(maker *m, hn_yaml *map)
{
    if (map->shape != HN_YAML_MAPPING)
        return fail(m, map, "expected a mapping behind its tag");
    HN_TRY(flatten(m, map, 0));
    for (size_t i = 0; i < map->n; i++) {
        hn_yaml *key = map->items[i].key;
        HN_TRY(make(m, key));
        if (key->kind == HN_YAML_LIST || key->kind == HN_YAML_MAP ||
            key->tag == HN_YAML_TAG_SET)
            return fail(m, key, "a list or mapping as a key");
        HN_TRY(make(m, map->items[i].value));
    }
    map->is_empty = !map->n;
    return HN_OK;
}

static hn_status fill_list(maker *m, hn_yaml *list)
{
    if (list->shape != HN_YAML_SEQUENCE)
        return fail(m, list, "expected a list behind its tag");
    for (size_t i = 0; i < list->n; i++) {
        hn_yaml *item = list->items[i].value;
        if (list->tag == HN_YAML_TAG_SEQ) {
            HN_TRY(make(m, item));
            continue;
        }
        if (item->shape != HN_YAML_MAPPING || item->n != 1)
            return fail(m, item, "expected a mapping of one key");
        HN_TRY(make(m, item->items[0].key));
        HN_TRY(make(m, item->items[0].value));
    }
    return HN_OK;
}

/* In ordered mappings a mapping of one key is a pair, wherever else it may be one of one. */
static void mark_pairs(const maker *m, hn_yaml *pair)
{
    for (size_t i = 0; i < m->n; i++) {
        const hn_yaml *list = m->queue[i];
        const bool has_pairs = list->tag == HN_YAML_TAG_OMAP || list->tag == HN_YAML_TAG_PAIRS;
        for (size_t k = 0; has_pairs && k < list->n; k++)
            list->items[k].value = pair;
    }
}

hn_status hn_yaml_make(const hn_yaml_scan *s, hn_yaml_text *text)
{
    maker m = { .scan = s };
    hn_yaml *pair = hn_alloc(s->heap, HN_TAG_TEXT, sizeof *pair);
    if (!pair)
        return HN_ERR_MEMORY;
    *pair = (hn_yaml){ .kind = HN_YAML_OTHER, .line = 1, .made_before = text->nodes };
    text->nodes = pair;
    hn_status status = make(&m, text->root);
    for (; status == HN_OK && m.at < m.n; m.at++) {
        hn_yaml *next = m.queue[m.at];
        const bool is_map = next->tag == HN_YAML_TAG_MAP || next->tag == HN_YAML_TAG_SET;
        status = is_map ? fill_map(&m, next) : fill_list(&m, next);
    }
    if (status == HN_OK)
        mark_pairs(&m, pair);
    hn_free(s->heap, m.queue);
    return status;
}
