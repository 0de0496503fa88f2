/* regex_compile: trees to steps. A loop over one character is one step, and an alternative is
 * only tried where its first character can stand: that is most of the speed. */
#include "base/str.h"
#include "text/pattern/program.h"

#include <string.h>

enum { MAX_STEPS = 20000, MAX_PATTERN = 1 << 16 };

typedef struct compiler {
    hn_regex *re;
    hn_regex_tree *tree;
    int set_room;
} compiler;

static hn_status compile(compiler *c, int node);

static hn_status add_step(compiler *c, hn_regex_step step, int *at)
{
    hn_regex *re = c->re;
    if (re->n_steps == re->step_room) {
        const int room = re->step_room ? 2 * re->step_room : 64;
        hn_regex_step *steps =
            hn_realloc_array(re->heap, HN_TAG_TEXT, re->steps, (size_t)room, sizeof step);
        if (!steps)
            return HN_ERR_MEMORY;
        re->steps = steps;
        re->step_room = room;
    }
    HN_REQUIRE(re->n_steps < MAX_STEPS, HN_ERR_UNSUPPORTED, "regex: longer than %d steps",
               MAX_STEPS);
    if (at)
        *at = re->n_steps;
    re->steps[re->n_steps++] = step;
    return HN_OK;
}

static hn_status add_set(compiler *c, hn_ranges *ranges, int16_t *out)
{
    hn_regex *re = c->re;
    if (re->n_sets == c->set_room) {
        const int room = c->set_room ? 2 * c->set_room : 16;
        hn_charset **sets =
            hn_realloc_array(re->heap, HN_TAG_TEXT, re->sets, (size_t)room, sizeof *sets);
        if (!sets)
            return HN_ERR_MEMORY;
        re->sets = sets;
        c->set_room = room;
    }
    HN_REQUIRE(re->n_sets < 2000, HN_ERR_UNSUPPORTED, "regex: more than 2000 classes");
    hn_charset *set = hn_charset_new(re->heap, ranges);
    if (!set)
        return HN_ERR_MEMORY;
    *out = (int16_t)re->n_sets;
    re->sets[re->n_sets++] = set;
    return HN_OK;
}

/* Adds what a match of `node` can begin with; true if it can be empty, so that what follows
 * counts too. What only looks is empty: that leaves a larger set, never a smaller one. */
static bool add_first(const compiler *c, int node, hn_ranges *set)
{
    for (;;) {
        const hn_regex_node *n = &c->tree->nodes[node];
        switch (n->kind) {
        case HN_RE_CLASS:
            hn_ranges_add_all(set, c->tree->sets[n->set].at, c->tree->sets[n->set].n);
            return false;
        case HN_RE_CHAIN:
            if (!add_first(c, n->first, set))
                return false;
            node = n->second;
            continue;
        case HN_RE_EITHER: {
            const bool left = add_first(c, n->first, set);
            if (left) {
                add_first(c, n->second, set);
                return true;
            }
            node = n->second;
            continue;
        }
        case HN_RE_REPEAT:
            return add_first(c, n->first, set) || n->low == 0;
        case HN_RE_ATOMIC:
            node = n->first;
            continue;
        default:
            return true;
        }
    }
}

/* Whether `node` is one character: a class, one of classes, or a class that another one looks
 * at first, (?=[a])[b]. Leaves the set in `out`. */
static bool as_class(const compiler *c, int node, hn_ranges *out)
{
    const hn_regex_node *n = &c->tree->nodes[node];
    if (n->kind == HN_RE_CLASS) {
        hn_ranges_add_all(out, c->tree->sets[n->set].at, c->tree->sets[n->set].n);
        return true;
    }
    if (n->kind == HN_RE_EITHER)
        return as_class(c, n->first, out) && as_class(c, n->second, out);
    if (n->kind != HN_RE_CHAIN)
        return false;
    const hn_regex_node *look = &c->tree->nodes[n->first];
    if (look->kind != HN_RE_LOOK || look->is_behind)
        return false;
    hn_ranges condition = hn_ranges_on(out->heap), inner = hn_ranges_on(out->heap);
    const bool is_class =
        as_class(c, look->first, &condition) && as_class(c, n->second, &inner);
    if (is_class) {
        if (look->is_negative)
            hn_ranges_invert(&condition);
        hn_ranges_intersect(&inner, &condition);
        hn_ranges_add_all(out, inner.at, inner.n);
        if (inner.status != HN_OK)
            out->status = inner.status;
    }
    hn_ranges_free(&condition);
    hn_ranges_free(&inner);
    return is_class;
}

static hn_status compile_class(compiler *c, const hn_ranges *set)
{
    if (set->n == 1 && set->at[0].low == set->at[0].high && set->at[0].low < 0x80)
        return add_step(c, (hn_regex_step){ .op = HN_OP_BYTE, .a = (int32_t)set->at[0].low },
                        NULL);
    hn_ranges copy = hn_ranges_on(set->heap);
    hn_ranges_add_all(&copy, set->at, set->n);
    int16_t at;
    hn_status status = add_set(c, &copy, &at);
    hn_ranges_free(&copy);
    if (status == HN_OK)
        status = add_step(c, (hn_regex_step){ .op = HN_OP_CHAR, .set = at }, NULL);
    return status;
}

/* TRY first -> next; first; JUMP end; next: ... The last alternative is not tried but taken. */
static hn_status compile_either(compiler *c, int node)
{
    int jumps = -1; /* a chain through their targets */
    for (; c->tree->nodes[node].kind == HN_RE_EITHER; node = c->tree->nodes[node].second) {
        const int first = c->tree->nodes[node].first;
        hn_ranges begins = hn_ranges_on(c->re->heap);
        hn_regex_step step = { .op = HN_OP_TRY, .set = -1 };
        hn_status status = HN_OK;
        if (!add_first(c, first, &begins))
            status = add_set(c, &begins, &step.set);
        hn_ranges_free(&begins);
        HN_TRY(status);
        int at, jump;
        HN_TRY(add_step(c, step, &at));
        HN_TRY(compile(c, first));
        HN_TRY(add_step(c, (hn_regex_step){ .op = HN_OP_JUMP, .a = jumps }, &jump));
        jumps = jump;
        c->re->steps[at].a = c->re->n_steps;
    }
    HN_TRY(compile(c, node));
    while (jumps >= 0) {
        const int next = c->re->steps[jumps].a;
        c->re->steps[jumps].a = c->re->n_steps;
        jumps = next;
    }
    return HN_OK;
}

static hn_status compile_loop(compiler *c, const hn_regex_node *n)
{
    const bool is_lazy = n->greed == HN_RE_LAZY;
    for (int i = 0; i < n->low; i++)
        HN_TRY(compile(c, n->first));
    const int most = n->high == HN_RE_NO_MAXIMUM ? 1 : n->high - n->low;
    int splits = -1;
    for (int i = 0; i < most; i++) {
        int at;
        HN_TRY(add_step(c, (hn_regex_step){ .op = HN_OP_SPLIT, .a = splits }, &at));
        HN_TRY(compile(c, n->first));
        if (n->high == HN_RE_NO_MAXIMUM)
            HN_TRY(add_step(c, (hn_regex_step){ .op = HN_OP_JUMP, .a = at }, NULL));
        splits = at;
    }
    while (splits >= 0) {
        hn_regex_step *s = &c->re->steps[splits];
        const int next = s->a, body = splits + 1, end = c->re->n_steps;
        s->a = is_lazy ? end : body;
        s->b = is_lazy ? body : end;
        splits = next;
    }
    return HN_OK;
}

static hn_status compile_repeat(compiler *c, int node)
{
    const hn_regex_node n = c->tree->nodes[node];
    hn_ranges set = hn_ranges_on(c->re->heap);
    if (as_class(c, n.first, &set)) {
        hn_regex_step step = {
            .op = HN_OP_RUN, .greed = (uint8_t)n.greed, .a = n.low, .b = n.high
        };
        const hn_status status = add_set(c, &set, &step.set);
        hn_ranges_free(&set);
        return status == HN_OK ? add_step(c, step, NULL) : status;
    }
    set.n = 0;
    const bool may_be_empty = add_first(c, n.first, &set);
    hn_ranges_free(&set);
    HN_REQUIRE(!may_be_empty, HN_ERR_UNSUPPORTED,
               "regex: a quantifier of a group that may be empty or begins by looking");
    if (n.greed != HN_RE_POSSESSIVE)
        return compile_loop(c, &n);
    int at;
    HN_TRY(add_step(c, (hn_regex_step){ .op = HN_OP_ATOMIC }, &at));
    HN_TRY(compile_loop(c, &n));
    HN_TRY(add_step(c, (hn_regex_step){ .op = HN_OP_MATCH }, NULL));
    c->re->steps[at].a = c->re->n_steps;
    return HN_OK;
}

/* Characters that a match of `node` takes, or -1 if that varies. */
static int width(const compiler *c, int node)
{
    const hn_regex_node *n = &c->tree->nodes[node];
    int a, b;
    switch (n->kind) {
    case HN_RE_CLASS:
        return 1;
    case HN_RE_EITHER:
        a = width(c, n->first), b = width(c, n->second);
        return a == b ? a : -1;
    case HN_RE_CHAIN:
        a = width(c, n->first), b = width(c, n->second);
        return a < 0 || b < 0 ? -1 : a + b;
    case HN_RE_REPEAT:
        a = width(c, n->first);
        return a < 0 || n->low != n->high || a > 1000 ? -1 : a * n->low;
    case HN_RE_ATOMIC:
        return width(c, n->first);
    default:
        return 0;
    }
}

/* (?=(x{3})+(?!x)), by which numbers are cut into thousands: where it is tried at each of many
 * digits, reading on to the end each time would take the square of their number. */
static hn_status compile_groups(compiler *c, const hn_regex_node *look, bool *done)
{
    const hn_regex_node *nodes = c->tree->nodes, *chain = &nodes[look->first];
    *done = false;
    if (look->is_negative || look->is_behind || chain->kind != HN_RE_CHAIN)
        return HN_OK;
    const hn_regex_node *loop = &nodes[chain->first], *stop = &nodes[chain->second];
    const hn_regex_node *unit = loop->kind == HN_RE_REPEAT ? &nodes[loop->first] : loop;
    if (loop->kind != HN_RE_REPEAT || loop->low != 1 || loop->high != HN_RE_NO_MAXIMUM ||
        loop->greed != HN_RE_GREEDY || unit->kind != HN_RE_REPEAT || unit->low != unit->high ||
        unit->low < 1 || stop->kind != HN_RE_LOOK || stop->is_behind || !stop->is_negative)
        return HN_OK;
    const hn_regex_node *x = &nodes[unit->first], *y = &nodes[stop->first];
    if (x->kind != HN_RE_CLASS || y->kind != HN_RE_CLASS)
        return HN_OK;
    hn_ranges *a = &c->tree->sets[x->set], *b = &c->tree->sets[y->set];
    if (a->n != b->n || !a->n || memcmp(a->at, b->at, a->n * sizeof *a->at) != 0)
        return HN_OK;
    hn_regex_step step = { .op = HN_OP_GROUPS, .a = unit->low };
    HN_TRY(add_set(c, a, &step.set));
    *done = true;
    return add_step(c, step, NULL);
}

static hn_status compile_look(compiler *c, int node)
{
    const hn_regex_node n = c->tree->nodes[node];
    hn_regex_step step = { .op = HN_OP_LOOK,
                           .is_negative = n.is_negative,
                           .is_behind = n.is_behind };
    bool done = false;
    if (n.kind == HN_RE_ATOMIC) {
        step.op = HN_OP_ATOMIC;
    } else {
        HN_TRY(compile_groups(c, &n, &done));
        if (done)
            return HN_OK;
    }
    if (n.is_behind) {
        step.b = width(c, n.first);
        HN_REQUIRE(step.b >= 0, HN_ERR_UNSUPPORTED,
                   "regex: looking behind for more than one length");
    }
    int at;
    HN_TRY(add_step(c, step, &at));
    HN_TRY(compile(c, n.first));
    HN_TRY(add_step(c, (hn_regex_step){ .op = HN_OP_MATCH }, NULL));
    c->re->steps[at].a = c->re->n_steps;
    return HN_OK;
}

static hn_status compile(compiler *c, int node)
{
    for (;;) {
        const hn_regex_node *n = &c->tree->nodes[node];
        switch (n->kind) {
        case HN_RE_EMPTY:
            return HN_OK;
        case HN_RE_CLASS:
            return compile_class(c, &c->tree->sets[n->set]);
        case HN_RE_CHAIN:
            HN_TRY(compile(c, n->first));
            node = c->tree->nodes[node].second;
            continue;
        case HN_RE_EITHER:
            return compile_either(c, node);
        case HN_RE_REPEAT:
            return compile_repeat(c, node);
        case HN_RE_LOOK:
        case HN_RE_ATOMIC:
            return compile_look(c, node);
        default:
            return add_step(
                c, (hn_regex_step){ .op = HN_OP_ANCHOR, .anchor = (uint8_t)n->anchor }, NULL);
        }
    }
}

static hn_status compile_all(compiler *c)
{
    hn_regex *re = c->re;
    hn_ranges begins = hn_ranges_on(re->heap);
    hn_status status = HN_OK;
    int16_t first = -1;
    if (!add_first(c, c->tree->root, &begins))
        status = add_set(c, &begins, &first);
    hn_ranges_free(&begins);
    HN_TRY(status);
    HN_TRY(compile(c, c->tree->root));
    HN_TRY(add_step(c, (hn_regex_step){ .op = HN_OP_MATCH }, NULL));
    re->first = first < 0 ? NULL : re->sets[first];
    const hn_regex_step *s = re->steps;
    re->skips_run = s->op == HN_OP_RUN && s->a <= 1 && s->b == HN_RE_NO_MAXIMUM;
    return HN_OK;
}

hn_status hn_regex_new(hn_heap *heap, const char *pattern, size_t bytes, hn_regex **out)
{
    *out = NULL;
    HN_REQUIRE(bytes <= MAX_PATTERN, HN_ERR_UNSUPPORTED,
               "regex: %zu bytes: expected at most %d", bytes, MAX_PATTERN);
    hn_regex *re = hn_alloc(heap, HN_TAG_TEXT, sizeof *re);
    if (!re)
        return HN_ERR_MEMORY;
    re->heap = heap;
    hn_regex_tree tree;
    hn_status status = hn_regex_parse(heap, pattern, bytes, &tree);
    if (status == HN_OK) {
        compiler c = { re, &tree, 0 };
        status = compile_all(&c);
        hn_regex_tree_free(&tree);
    }
    if (status != HN_OK) {
        hn_regex_free(re);
        return status;
    }
    *out = re;
    return HN_OK;
}

hn_status hn_regex_new_set(hn_heap *heap, hn_ranges *set, hn_regex **out)
{
    *out = NULL;
    hn_regex *re = hn_alloc(heap, HN_TAG_TEXT, sizeof *re);
    if (!re)
        return HN_ERR_MEMORY;
    re->heap = heap;
    compiler c = { re, NULL, 0 };
    int16_t at;
    hn_status status = add_set(&c, set, &at); /* what it begins with, as of any pattern */
    if (status == HN_OK)
        status = add_set(&c, set, &at);
    if (status == HN_OK)
        status = add_step(&c, (hn_regex_step){ .op = HN_OP_CHAR, .set = at }, NULL);
    if (status == HN_OK)
        status = add_step(&c, (hn_regex_step){ .op = HN_OP_MATCH }, NULL);
    if (status != HN_OK) {
        hn_regex_free(re);
        return status;
    }
    re->first = re->sets[0];
    *out = re;
    return HN_OK;
}

hn_status hn_regex_new_literal(hn_heap *heap, const char *text, size_t bytes, hn_regex **out)
{
    hn_str pattern = hn_str_on(heap);
    for (size_t i = 0; i < bytes; i++) {
        if (strchr("\\.[]{}()*+?^$|", text[i]) && text[i])
            hn_str_add_char(&pattern, '\\');
        hn_str_add_char(&pattern, text[i]);
    }
    *out = NULL;
    hn_status status = hn_str_status(&pattern);
    if (status == HN_OK)
        status = hn_regex_new(heap, pattern.text, pattern.length, out);
    hn_str_free(&pattern);
    return status;
}

void hn_regex_free(hn_regex *re)
{
    if (!re)
        return;
    for (int i = 0; i < re->n_sets; i++)
        hn_charset_free(re->heap, re->sets[i]);
    hn_free(re->heap, re->sets);
    hn_free(re->heap, re->steps);
    hn_free(re->heap, re);
}

bool hn_regex_equal(const hn_regex *a, const hn_regex *b)
{
    if (a->n_steps != b->n_steps || a->n_sets != b->n_sets)
        return false;
    for (int i = 0; i < a->n_steps; i++) {
        const hn_regex_step *x = &a->steps[i], *y = &b->steps[i];
        if (x->op != y->op || x->greed != y->greed || x->anchor != y->anchor ||
            x->is_negative != y->is_negative || x->is_behind != y->is_behind ||
            x->set != y->set || x->a != y->a || x->b != y->b)
            return false;
    }
    for (int i = 0; i < a->n_sets; i++) {
        const hn_charset *x = a->sets[i], *y = b->sets[i];
        if (x->n_blocks != y->n_blocks || memcmp(x->index, y->index, sizeof x->index) != 0 ||
            memcmp(x->blocks, y->blocks, 32 * x->n_blocks) != 0)
            return false;
    }
    return true;
}
