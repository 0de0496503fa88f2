/* Places before the last that has a schema of its own are counted one by one, and so are items up to the least
 * number; beyond that one loop stands for all. */
#include "text/grammar/schema.h"

/* An array's schemas by place: of prefixItems or, in older drafts, of items. */
static const hn_json *prefix_of(const hn_part *part)
{
    const hn_json *prefix = hn_part_get(part, "prefixItems"), *items = hn_part_get(part, "items");
    return prefix ? prefix : items && items->kind == HN_JSON_ARRAY ? items : NULL;
}

static const hn_json *item_of(const hn_part *part, size_t i)
{
    const hn_json *prefix = prefix_of(part), *items = hn_part_get(part, "items");
    const hn_json *at = prefix ? hn_json_at(prefix, i) : NULL;
    if (at)
        return at;
    return items && items->kind == HN_JSON_ARRAY ? hn_part_get(part, "additionalItems") : items;
}

static uint32_t item_rule(hn_schema *s, const hn_parts *p, size_t i)
{
    hn_parts at = { 0 };
    for (size_t k = 0; k < p->n; k++) {
        const hn_json *item = item_of(&p->at[k], i);
        if (item)
            hn_parts_add(s, &at, (hn_part){ item, 0 });
    }
    const uint32_t rule = hn_schema_rule(s, &at);
    hn_parts_free(s, &at);
    return rule;
}

typedef struct extent {
    int64_t least, most, prefix; /* most < 0: any number */
} extent;

static extent extent_of(hn_schema *s, const hn_parts *p)
{
    extent e = { 0, -1, 0 };
    for (size_t i = 0; i < p->n; i++) {
        const int64_t least = hn_schema_count(s, &p->at[i], "minItems", 0), most = hn_schema_count(s, &p->at[i], "maxItems", -1);
        const hn_json *prefix = prefix_of(&p->at[i]);
        e.least = least > e.least ? least : e.least;
        e.most = most >= 0 && (e.most < 0 || most < e.most) ? most : e.most;
        if (prefix && prefix->kind != HN_JSON_ARRAY)
            hn_schema_refuse(s, HN_ERR_FORMAT, prefix, "expected a list of schemas");
        else if (prefix && (int64_t)hn_json_count(prefix) > e.prefix)
            e.prefix = (int64_t)hn_json_count(prefix);
    }
    return e;
}

/* [ items ], a node for each number of items that makes a difference. */
void hn_schema_array(hn_schema *s, const hn_parts *p, uint32_t from, uint32_t to)
{
    hn_build *b = s->b;
    const extent e = extent_of(s, p);
    int64_t last = e.prefix > e.least ? e.prefix : e.least;
    last = e.most >= 0 ? e.most : last > 1 ? last : 1;
    uint32_t at = hn_build_node(b);
    const uint32_t begin = hn_build_node(b), before_end = hn_build_node(b), end = hn_build_node(b);
    hn_build_text(b, from, "[", 1, begin);
    hn_build_call(b, begin, s->space, at);
    hn_build_call(b, before_end, s->space, end);
    hn_build_text(b, end, "]", 1, to);
    for (int64_t i = 0; i <= last && b->status == HN_OK; i++) {
        const bool goes_round = i == last && e.most < 0;
        uint32_t item = at, next = i < last ? hn_build_node(b) : at;
        if (i >= e.least)
            hn_build_empty(b, at, i ? before_end : end);
        if (i == last && !goes_round)
            break;
        if (i) {
            const uint32_t comma = hn_build_node(b);
            item = hn_build_node(b);
            hn_build_text(b, at, ",", 1, comma);
            hn_build_call(b, comma, s->space, item);
        }
        hn_build_call(b, item, item_rule(s, p, (size_t)(i < e.prefix ? i : e.prefix)), next);
        at = next;
    }
}
