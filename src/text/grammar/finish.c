/* What a build becomes: edges by node, what cannot be finished left out, rules in the order in which they call each other at
 * their beginnings. A rule that calls itself there, before any byte, would call for ever: it is refused by name. */
#include "text/grammar/build.h"

#include <string.h>

static const uint32_t NEVER = UINT32_MAX;

static hn_status copy_tokens(const hn_build *b, hn_grammar *g)
{
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < b->n_tokens; i++)
        bytes += b->tokens[i].bytes;
    g->tokens = hn_alloc_array(g->heap, HN_TAG_TEXT, b->n_tokens + 1, sizeof *g->tokens);
    g->token_text = hn_alloc(g->heap, HN_TAG_TEXT, bytes + 1);
    if (!g->tokens || !g->token_text)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < b->n_tokens; i++) {
        g->tokens[i] = b->tokens[i];
        g->tokens[i].text = g->token_text + at;
        if (b->tokens[i].bytes)
            memcpy(g->token_text + at, b->tokens[i].text, b->tokens[i].bytes);
        at += b->tokens[i].bytes;
    }
    g->n_tokens = (uint32_t)b->n_tokens;
    return HN_OK;
}

static hn_status sort_edges(const hn_build *b, hn_grammar *g)
{
    const size_t n = g->n_nodes;
    g->first = hn_alloc_array(g->heap, HN_TAG_TEXT, n + 2, sizeof *g->first);
    g->edges = hn_alloc_array(g->heap, HN_TAG_TEXT, b->n_edges + 1, sizeof *g->edges);
    g->height = hn_alloc_array(g->heap, HN_TAG_TEXT, n, sizeof *g->height);
    g->ends = hn_alloc_array(g->heap, HN_TAG_TEXT, n, sizeof *g->ends);
    g->rules = hn_alloc_array(g->heap, HN_TAG_TEXT, b->n_rules + 1, sizeof *g->rules);
    if (!g->first || !g->edges || !g->height || !g->ends || !g->rules)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < b->n_edges; i++)
        g->first[b->edges[i].from + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        g->first[i] += g->first[i - 1];
    for (size_t i = 0; i < b->n_edges; i++)
        g->edges[g->first[b->edges[i].from + 1]++] = b->edges[i].edge;
    g->n_edges = (uint32_t)b->n_edges;
    g->ends[0] = 1;
    for (size_t i = 0; i < b->n_rules; i++) {
        g->rules[i] = (hn_rule){ .start = b->rules[i].start, .height = NEVER };
        g->ends[b->rules[i].end] = 1;
    }
    return HN_OK;
}

/* ---- what can be finished ---- */

/* The calls that an edge needs to get to the end; NEVER: it cannot. */
static uint32_t edge_height(const hn_grammar *g, const hn_edge *e)
{
    const uint32_t after = g->height[e->to];
    if (e->kind != HN_EDGE_CALL || after == NEVER)
        return after;
    const uint32_t within = g->rules[e->what].height;
    if (within == NEVER)
        return NEVER;
    const uint32_t needed = within + !hn_grammar_is_last(g, e->to);
    return needed > after ? needed : after;
}

static bool lower(hn_grammar *g, uint32_t node)
{
    uint32_t best = g->ends[node] ? 0 : NEVER;
    for (uint32_t e = g->first[node]; e < g->first[node + 1]; e++) {
        const uint32_t height = edge_height(g, &g->edges[e]);
        best = height < best ? height : best;
    }
    if (best >= g->height[node])
        return false;
    g->height[node] = best;
    return true;
}

/* Who has an edge to a node, or calls the rule that begins with it: lists by node. */
typedef struct sources {
    uint32_t *first, *from; /* [n_nodes + 1], [n] */
} sources;

static hn_status find_sources(const hn_grammar *g, sources *s)
{
    const size_t n = g->n_nodes;
    s->first = hn_alloc_array(g->heap, HN_TAG_TEXT, n + 2, sizeof *s->first);
    s->from = hn_alloc_array(g->heap, HN_TAG_TEXT, 2 * (size_t)g->n_edges + 1, sizeof *s->from);
    if (!s->first || !s->from)
        return HN_ERR_MEMORY;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t v = 0; v < n; v++)
            for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
                const hn_edge *edge = &g->edges[e];
                const uint32_t to[2] = { edge->to, edge->kind == HN_EDGE_CALL ? g->rules[edge->what].start : NEVER };
                for (int k = 0; k < 2 && to[k] != NEVER; k++) {
                    if (pass)
                        s->from[s->first[to[k] + 1]++] = v;
                    else
                        s->first[to[k] + 2]++;
                }
            }
        for (size_t i = 2; i < n + 2 && !pass; i++)
            s->first[i] += s->first[i - 1];
    }
    return HN_OK;
}

/* Heights fall from the ends backwards, until none falls any more. A node whose height fell is looked at again by whoever comes
 * to it. */
static hn_status find_heights(hn_build *b, hn_grammar *g, const sources *s, const uint32_t *rule_of)
{
    const size_t n = g->n_nodes;
    uint32_t *queue = hn_alloc_array(g->heap, HN_TAG_TEXT, n, sizeof *queue);
    uint8_t *waits = hn_alloc_array(g->heap, HN_TAG_TEXT, n, sizeof *waits);
    size_t from = 0, n_waiting = n;
    if (!queue || !waits)
        b->status = HN_ERR_MEMORY;
    for (uint32_t v = 0; v < n && b->status == HN_OK; v++) {
        g->height[v] = NEVER;
        queue[v] = v;
        waits[v] = 1;
    }
    while (n_waiting && hn_build_step(b, 1)) {
        const uint32_t v = queue[from];
        from = (from + 1) % n;
        n_waiting--;
        waits[v] = 0;
        if (!lower(g, v))
            continue;
        if (rule_of[v] != NEVER)
            g->rules[rule_of[v]].height = g->height[v];
        for (uint32_t i = s->first[v]; i < s->first[v + 1]; i++)
            if (!waits[s->from[i]]) {
                waits[s->from[i]] = 1;
                queue[(from + n_waiting++) % n] = s->from[i];
            }
    }
    hn_free(g->heap, queue);
    hn_free(g->heap, waits);
    return b->status;
}

static void drop_dead_edges(hn_grammar *g)
{
    uint32_t to = 0;
    for (uint32_t v = 0, from = 0; v < g->n_nodes; v++) {
        const uint32_t end = g->first[v + 1];
        for (g->first[v] = to; from < end; from++)
            if (edge_height(g, &g->edges[from]) != NEVER)
                g->edges[to++] = g->edges[from];
    }
    g->first[g->n_nodes] = g->n_edges = to;
}

static hn_status trim(hn_build *b, hn_grammar *g)
{
    sources s = { 0 };
    uint32_t *rule_of = hn_alloc_array(g->heap, HN_TAG_TEXT, g->n_nodes, sizeof *rule_of);
    hn_status status = rule_of ? find_sources(g, &s) : HN_ERR_MEMORY;
    for (uint32_t v = 0; status == HN_OK && v < g->n_nodes; v++)
        rule_of[v] = NEVER;
    for (uint32_t i = 0; status == HN_OK && i < g->n_rules; i++)
        rule_of[g->rules[i].start] = i;
    if (status == HN_OK)
        status = find_heights(b, g, &s, rule_of);
    hn_free(g->heap, rule_of);
    hn_free(g->heap, s.first);
    hn_free(g->heap, s.from);
    if (status == HN_OK)
        drop_dead_edges(g);
    return status;
}

/* ---- what is called before any byte ---- */

typedef struct walk {
    hn_build *b;
    hn_grammar *g;
    uint32_t *stack, *seen; /* [n_nodes]; seen[node] is the last rule + 1 that came to it */
    uint32_t *calls, *first_call; /* rules that a rule calls at its beginning */
    size_t n_calls, call_room;
    uint8_t *state; /* [n_rules]: 0 new, 1 on the way, 2 done */
    uint32_t *way;  /* rules on the way, and where in their calls */
    uint32_t *place;
} walk;

/* Visits what a rule can come to without a byte; true: its end. `calls`: those that it calls are kept. */
static bool reaches_end(walk *w, uint32_t rule, uint32_t mark, bool wants_calls)
{
    hn_grammar *g = w->g;
    size_t n = 0;
    bool ends = false;
    w->stack[n++] = g->rules[rule].start;
    w->seen[g->rules[rule].start] = mark;
    while (n && hn_build_step(w->b, 1)) {
        const uint32_t v = w->stack[--n];
        ends |= g->ends[v];
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++) {
            const hn_edge *edge = &g->edges[e];
            if (edge->kind == HN_EDGE_CALL && wants_calls) {
                if (w->n_calls == w->call_room) {
                    const size_t room = w->call_room ? 2 * w->call_room : 64;
                    uint32_t *grown = hn_realloc_array(g->heap, HN_TAG_TEXT, w->calls, room, sizeof *grown);
                    if (!grown) {
                        hn_build_fail(w->b, HN_ERR_MEMORY);
                        return false;
                    }
                    w->calls = grown;
                    w->call_room = room;
                }
                w->calls[w->n_calls++] = edge->what;
            }
            const bool passes = edge->kind == HN_EDGE_EMPTY || (edge->kind == HN_EDGE_CALL && g->rules[edge->what].is_nullable);
            if (passes && w->seen[edge->to] != mark) {
                w->seen[edge->to] = mark;
                w->stack[n++] = edge->to;
            }
        }
    }
    return ends;
}

static void find_nullable(walk *w)
{
    hn_grammar *g = w->g;
    uint32_t mark = 0;
    for (bool changed = true; changed && w->b->status == HN_OK;) {
        changed = false;
        for (uint32_t i = 0; i < g->n_rules; i++)
            if (!g->rules[i].is_nullable && reaches_end(w, i, ++mark, false))
                changed = g->rules[i].is_nullable = true;
    }
    memset(w->seen, 0, g->n_nodes * sizeof *w->seen);
    for (uint32_t i = 0; i < g->n_rules; i++) {
        w->first_call[i] = (uint32_t)w->n_calls;
        reaches_end(w, i, i + 1, true);
    }
    w->first_call[g->n_rules] = (uint32_t)w->n_calls;
}

static hn_status refuse_left(const walk *w, uint32_t rule)
{
    const hn_build_rule *r = &w->b->rules[rule];
    return hn_fail(HN_ERR_UNSUPPORTED, "rule %.*s calls itself before it has read anything",
                   r->name_bytes > 100 ? 100 : (int)r->name_bytes, r->name ? r->name : "");
}

/* Depth first, without recursion; who calls comes before who is called. */
static hn_status order_from(walk *w, uint32_t root, uint32_t *order)
{
    hn_grammar *g = w->g;
    size_t n = 0;
    w->way[n] = root;
    w->place[n++] = w->first_call[root];
    w->state[root] = 1;
    while (n) {
        const uint32_t rule = w->way[n - 1];
        if (w->place[n - 1] == w->first_call[rule + 1]) {
            w->state[rule] = 2;
            g->rules[rule].order = --*order;
            n--;
            continue;
        }
        const uint32_t next = w->calls[w->place[n - 1]++];
        if (w->state[next] == 1)
            return refuse_left(w, next);
        if (w->state[next] == 2)
            continue;
        w->state[next] = 1;
        w->way[n] = next;
        w->place[n++] = w->first_call[next];
    }
    return HN_OK;
}

static hn_status order_rules(hn_build *b, hn_grammar *g)
{
    walk w = { .b = b, .g = g };
    uint32_t order = g->n_rules;
    w.stack = hn_alloc_array(g->heap, HN_TAG_TEXT, g->n_nodes, sizeof *w.stack);
    w.seen = hn_alloc_array(g->heap, HN_TAG_TEXT, g->n_nodes, sizeof *w.seen);
    w.first_call = hn_alloc_array(g->heap, HN_TAG_TEXT, g->n_rules + 1, sizeof *w.first_call);
    w.state = hn_alloc_array(g->heap, HN_TAG_TEXT, g->n_rules, sizeof *w.state);
    w.way = hn_alloc_array(g->heap, HN_TAG_TEXT, g->n_rules, sizeof *w.way);
    w.place = hn_alloc_array(g->heap, HN_TAG_TEXT, g->n_rules, sizeof *w.place);
    hn_status status = w.stack && w.seen && w.first_call && w.state && w.way && w.place ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK) {
        find_nullable(&w);
        status = b->status;
    }
    for (uint32_t i = 0; i < g->n_rules && status == HN_OK; i++)
        if (!w.state[i])
            status = order_from(&w, i, &order);
    hn_free(g->heap, w.stack);
    hn_free(g->heap, w.seen);
    hn_free(g->heap, w.calls);
    hn_free(g->heap, w.first_call);
    hn_free(g->heap, w.state);
    hn_free(g->heap, w.way);
    hn_free(g->heap, w.place);
    return status;
}

/* ---- bytes ---- */

static void classify(hn_grammar *g)
{
    bool begins[257] = { [0] = true };
    for (uint32_t e = 0; e < g->n_edges; e++)
        if (g->edges[e].kind == HN_EDGE_BYTE) {
            begins[g->edges[e].low] = true;
            begins[g->edges[e].high + 1] = true;
        }
    uint32_t class = 0;
    for (int i = 0; i < 256; i++) {
        class += i && begins[i];
        g->classes[i] = (uint8_t)class;
    }
    g->n_classes = class + 1;
}

static hn_status finish(hn_build *b, uint32_t root, hn_grammar *g)
{
    HN_TRY(copy_tokens(b, g));
    HN_TRY(sort_edges(b, g));
    HN_TRY(trim(b, g));
    HN_REQUIRE(g->rules[root].height != NEVER, HN_ERR_ARGUMENT, "no text of any length satisfies it");
    HN_REQUIRE(g->rules[root].height < g->limits.nesting, HN_ERR_UNSUPPORTED,
               "every text that satisfies it nests deeper than %lld", (long long)g->limits.nesting);
    HN_TRY(order_rules(b, g));
    classify(g);
    return HN_OK;
}

hn_status hn_build_finish(hn_build *b, uint32_t root, hn_grammar **out)
{
    *out = NULL;
    if (b->status != HN_OK)
        return b->status;
    if (b->limits.triggers.n_texts || b->limits.triggers.n_tokens)
        root = hn_build_lazy(b, root);
    HN_TRY(b->status);
    hn_grammar *g = hn_alloc(b->heap, HN_TAG_TEXT, sizeof *g);
    if (!g)
        return HN_ERR_MEMORY;
    *g = (hn_grammar){ .heap = b->heap, .limits = b->limits, .n_nodes = b->n_nodes, .n_rules = (uint32_t)b->n_rules,
                        .root = root };
    g->limits.triggers = (hn_grammar_triggers){ 0 }; /* which are the caller's */
    const hn_status status = finish(b, root, g);
    if (status != HN_OK) {
        hn_grammar_free(g);
        return status;
    }
    *out = g;
    return HN_OK;
}

void hn_grammar_free(hn_grammar *g)
{
    if (!g)
        return;
    hn_free(g->heap, g->first);
    hn_free(g->heap, g->edges);
    hn_free(g->heap, g->height);
    hn_free(g->heap, g->ends);
    hn_free(g->heap, g->rules);
    hn_free(g->heap, g->tokens);
    hn_free(g->heap, g->token_text);
    hn_free(g->heap, g);
}
