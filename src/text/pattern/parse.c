/* regex_parse: patterns to trees, by recursive descent. */
#include "text/pattern/tree.h"
#include "text/unicode/unicode.h"

#include <string.h>

static hn_status read_either(hn_regex_reader *r, int *out);

static hn_status add_node(hn_regex_reader *r, hn_regex_node node, int *out)
{
    hn_regex_tree *t = r->tree;
    if (t->n_nodes == t->node_room) {
        const size_t room = t->node_room ? 2 * t->node_room : 32;
        hn_regex_node *nodes =
            hn_realloc_array(t->heap, HN_TAG_TEXT, t->nodes, room, sizeof node);
        if (!nodes)
            return HN_ERR_MEMORY;
        t->nodes = nodes;
        t->node_room = room;
    }
    *out = (int)t->n_nodes;
    t->nodes[t->n_nodes++] = node;
    return HN_OK;
}

/* Takes the ranges over, whatever happens. */
static hn_status add_class(hn_regex_reader *r, hn_ranges *set, int *out)
{
    hn_regex_tree *t = r->tree;
    hn_ranges_settle(set);
    hn_status status = set->status;
    if (status == HN_OK && t->n_sets == t->set_room) {
        const size_t room = t->set_room ? 2 * t->set_room : 16;
        hn_ranges *sets = hn_realloc_array(t->heap, HN_TAG_TEXT, t->sets, room, sizeof *sets);
        if (sets) {
            t->sets = sets;
            t->set_room = room;
        } else {
            status = HN_ERR_MEMORY;
        }
    }
    if (status != HN_OK) {
        hn_ranges_free(set);
        return status;
    }
    t->sets[t->n_sets] = *set;
    return add_node(r, (hn_regex_node){ .kind = HN_RE_CLASS, .set = (int)t->n_sets++ }, out);
}

/* (?i) is known for single ASCII characters; a class may hold no letter with a case. */
static hn_status fold_case(const hn_regex_reader *r, hn_ranges *set)
{
    hn_ranges_settle(set);
    const bool single = set->n == 1 && set->at[0].low == set->at[0].high;
    for (uint32_t c = 'a'; single && c <= 'z'; c++) {
        if ((set->at[0].low | 0x20) != c)
            continue;
        hn_ranges_add(set, c, c);
        hn_ranges_add(set, c ^ 0x20, c ^ 0x20);
        hn_unicode_add_case_partners(set, c);
        return HN_OK;
    }
    if (single && set->at[0].low < 0x80)
        return HN_OK;
    return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "(?i) before more than an ASCII letter");
}

static hn_status read_atom_set(hn_regex_reader *r, int *out)
{
    hn_ranges set = hn_ranges_on(r->tree->heap);
    hn_status status = HN_OK;
    const uint8_t c = *r->at;
    if (c == '[') {
        r->at++;
        status = hn_regex_read_class(r, &set);
    } else if (c == '\\') {
        r->at++;
        status = hn_regex_read_escape(r, &set, false);
    } else if (c == '.') {
        r->at++;
        hn_ranges_add(&set, '\n', '\n');
        hn_ranges_invert(&set);
    } else {
        uint32_t code;
        r->at += hn_char_at(r->at, r->end, &code);
        hn_ranges_add(&set, code, code);
    }
    if (status == HN_OK && r->ignores_case)
        status = fold_case(r, &set);
    if (status != HN_OK) {
        hn_ranges_free(&set);
        return status;
    }
    return add_class(r, &set, out);
}

static hn_status read_anchor(hn_regex_reader *r, bool *is_one, int *out)
{
    static const struct {
        const char *text;
        hn_regex_anchor anchor;
    } anchors[] = { { "^", HN_RE_LINE_BEGIN },
                    { "$", HN_RE_LINE_END },
                    { "\\A", HN_RE_TEXT_BEGIN },
                    { "\\z", HN_RE_TEXT_END },
                    { "\\Z", HN_RE_LAST_LINE_END } };
    *is_one = false;
    for (size_t i = 0; i < HN_COUNT(anchors); i++) {
        const size_t n = strlen(anchors[i].text);
        if ((size_t)(r->end - r->at) < n || memcmp(r->at, anchors[i].text, n) != 0)
            continue;
        r->at += n;
        *is_one = true;
        return add_node(r, (hn_regex_node){ .kind = HN_RE_ANCHOR, .anchor = anchors[i].anchor },
                        out);
    }
    return HN_OK;
}

static bool take(hn_regex_reader *r, const char *text)
{
    const size_t n = strlen(text);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* After '('. */
static hn_status read_group(hn_regex_reader *r, int *out)
{
    const bool outer_case = r->ignores_case;
    hn_regex_node around = { .kind = HN_RE_EMPTY };
    if (take(r, "?:")) {
    } else if (take(r, "?i:")) {
        r->ignores_case = true;
    } else if (take(r, "?-i:")) {
        r->ignores_case = false;
    } else if (take(r, "?=")) {
        around.kind = HN_RE_LOOK;
    } else if (take(r, "?!")) {
        around = (hn_regex_node){ .kind = HN_RE_LOOK, .is_negative = true };
    } else if (take(r, "?<=")) {
        around = (hn_regex_node){ .kind = HN_RE_LOOK, .is_behind = true };
    } else if (take(r, "?<!")) {
        around = (hn_regex_node){ .kind = HN_RE_LOOK, .is_behind = true, .is_negative = true };
    } else if (take(r, "?>")) {
        around.kind = HN_RE_ATOMIC;
    } else if (r->at < r->end && (*r->at == '?' || *r->at == '*')) {
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "a group of this kind");
    }
    int inner;
    HN_TRY(read_either(r, &inner));
    if (!take(r, ")"))
        return hn_regex_refuse(r, HN_ERR_FORMAT, "( without )");
    r->ignores_case = outer_case;
    *out = inner;
    if (around.kind == HN_RE_EMPTY)
        return HN_OK;
    around.first = inner;
    return add_node(r, around, out);
}

/* {2} {2,} {2,3} {,3}; what else begins with '{' stands for itself, as in Oniguruma. */
static bool read_interval(hn_regex_reader *r, int *low, int *high)
{
    const uint8_t *at = r->at + 1;
    int bound[2] = { -1, -1 }, which = 0;
    for (; at < r->end && *at != '}'; at++) {
        if (*at == ',' && which == 0) {
            which = 1;
        } else if (*at >= '0' && *at <= '9') {
            const int before = bound[which] < 0 ? 0 : bound[which];
            bound[which] = before > 100000 ? before : before * 10 + (*at - '0');
        } else {
            return false;
        }
    }
    if (at == r->end || (bound[0] < 0 && bound[1] < 0))
        return false;
    r->at = at + 1;
    *low = bound[0] < 0 ? 0 : bound[0];
    *high = which == 0 ? bound[0] : bound[1] < 0 ? HN_RE_NO_MAXIMUM : bound[1];
    return true;
}

static hn_status read_quantifier(hn_regex_reader *r, int *out)
{
    int low = 0, high = HN_RE_NO_MAXIMUM;
    bool is_interval = false;
    if (r->at == r->end)
        return HN_OK;
    const uint8_t sign = *r->at;
    if (sign == '+')
        low = 1;
    else if (sign == '?')
        high = 1;
    else if (sign == '{')
        is_interval = read_interval(r, &low, &high);
    else if (sign != '*')
        return HN_OK;
    if (sign == '{' && !is_interval)
        return HN_OK;
    r->at += !is_interval;
    hn_regex_node node = { .kind = HN_RE_REPEAT, .first = *out, .low = low, .high = high };
    const bool is_bounded = high != HN_RE_NO_MAXIMUM;
    if (low > HN_RE_MAX_REPEAT || (is_bounded && high > HN_RE_MAX_REPEAT))
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "a count over 1000");
    if (is_bounded && high < low)
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "an interval that does not ascend");
    const uint8_t next = r->at < r->end ? *r->at : 0;
    if (is_interval && (next == '+' || (next == '?' && low == high)))
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "+ or ? after such an interval");
    if (next == '+' || next == '?') {
        node.greed = next == '+' ? HN_RE_POSSESSIVE : HN_RE_LAZY;
        r->at++;
    }
    if (r->at < r->end && (*r->at == '*' || *r->at == '+' || *r->at == '?'))
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "a quantifier of a quantifier");
    return add_node(r, node, out);
}

static hn_status read_atom(hn_regex_reader *r, int *out)
{
    bool is_anchor;
    HN_TRY(read_anchor(r, &is_anchor, out));
    if (is_anchor)
        return HN_OK;
    if (*r->at == '*' || *r->at == '+' || *r->at == '?')
        return hn_regex_refuse(r, HN_ERR_FORMAT, "a quantifier of nothing");
    if (*r->at == '(') {
        r->at++;
        HN_TRY(read_group(r, out));
    } else {
        HN_TRY(read_atom_set(r, out));
    }
    return read_quantifier(r, out);
}

/* Lists lean to the right, a(b(c)) and a|(b|c), so that walking them takes a loop. Adds `item`
 * to the list whose root is *out and whose last pair is *last; -1 if there is none yet. */
static hn_status append(hn_regex_reader *r, hn_regex_kind kind, int item, int *last, int *out)
{
    int node;
    const int left = *last < 0 ? *out : r->tree->nodes[*last].second;
    HN_TRY(add_node(r, (hn_regex_node){ .kind = kind, .first = left, .second = item }, &node));
    if (*last < 0)
        *out = node;
    else
        r->tree->nodes[*last].second = node;
    *last = node;
    return HN_OK;
}

static hn_status read_chain(hn_regex_reader *r, int *out)
{
    int last = -1, atom;
    *out = -1;
    while (r->at < r->end && *r->at != '|' && *r->at != ')') {
        HN_TRY(read_atom(r, &atom));
        if (*out < 0)
            *out = atom;
        else
            HN_TRY(append(r, HN_RE_CHAIN, atom, &last, out));
    }
    return *out < 0 ? add_node(r, (hn_regex_node){ .kind = HN_RE_EMPTY }, out) : HN_OK;
}

static hn_status read_either(hn_regex_reader *r, int *out)
{
    if (++r->depth > HN_RE_MAX_DEPTH)
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "nested too deeply");
    HN_TRY(read_chain(r, out));
    for (int last = -1, right; r->at < r->end && *r->at == '|';) {
        r->at++;
        HN_TRY(read_chain(r, &right));
        HN_TRY(append(r, HN_RE_EITHER, right, &last, out));
    }
    r->depth--;
    return HN_OK;
}

void hn_regex_tree_free(hn_regex_tree *tree)
{
    for (size_t i = 0; i < tree->n_sets; i++)
        hn_ranges_free(&tree->sets[i]);
    hn_free(tree->heap, tree->sets);
    hn_free(tree->heap, tree->nodes);
    *tree = (hn_regex_tree){ .heap = tree->heap };
}

hn_status hn_regex_parse(hn_heap *heap, const char *pattern, size_t bytes, hn_regex_tree *out)
{
    const uint8_t *at = (const uint8_t *)pattern;
    *out = (hn_regex_tree){ .heap = heap };
    hn_regex_reader r = { out, pattern, at, at + bytes, 0, false };
    hn_status status = read_either(&r, &out->root);
    if (status == HN_OK && r.at < r.end)
        status = hn_regex_refuse(&r, HN_ERR_FORMAT, ") without (");
    if (status != HN_OK)
        hn_regex_tree_free(out);
    return status;
}
