/* While places are visited, a call's stack is not known yet: not all who make it may have been met. It is called by its rule,
 * PENDING | rule, until all are visited. Then rules get their stacks, who calls before who is called; none calls itself
 * before a byte, so each stack is known when it is asked for. */
#include "text/grammar/closure.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;
#define PENDING 0x80000000u

hn_status hn_closure_new(hn_closure **out, hn_heap *heap, const hn_grammar *g)
{
    hn_closure *c = hn_alloc(heap, HN_TAG_TEXT, sizeof *c);
    *out = c;
    if (!c)
        return HN_ERR_MEMORY;
    c->stack_of = hn_alloc_array(heap, HN_TAG_TEXT, g->n_rules, sizeof *c->stack_of);
    c->is_called = hn_alloc_array(heap, HN_TAG_TEXT, g->n_rules, sizeof *c->is_called);
    return c->stack_of && c->is_called ? HN_OK : HN_ERR_MEMORY;
}

void hn_closure_free(hn_heap *heap, hn_closure *c)
{
    if (!c)
        return;
    hn_free(heap, c->work);
    hn_free(heap, c->slots);
    hn_free(heap, c->calls);
    hn_free(heap, c->content);
    hn_free(heap, c->stack_of);
    hn_free(heap, c->is_called);
    hn_free(heap, c);
}

static bool grow(hn_heap *heap, void *array, size_t n, size_t *room, size_t size)
{
    void **at = array;
    if (n <= *room)
        return true;
    size_t wanted = *room ? *room : 64;
    while (wanted < n)
        wanted *= 2;
    void *grown = hn_realloc_array(heap, HN_TAG_TEXT, *at, wanted, size);
    if (!grown)
        return false;
    *at = grown;
    *room = wanted;
    return true;
}

/* ---- sets ---- */

static uint32_t mix(uint32_t hash, uint32_t value)
{
    hash = (hash ^ value) * 0x9e3779b1u;
    return hash ^ hash >> 15;
}

static int by_place(const void *a, const void *b)
{
    const hn_place *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static size_t settle(hn_place *at, size_t n)
{
    size_t kept = 0;
    if (n > 1)
        qsort(at, n, sizeof *at, by_place);
    for (size_t i = 0; i < n; i++)
        if (!i || by_place(&at[i], &at[i - 1]))
            at[kept++] = at[i];
    return kept;
}

static uint32_t hash_set(const hn_place *at, size_t n, bool may_end)
{
    uint32_t hash = mix((uint32_t)n, may_end);
    for (size_t i = 0; i < n; i++)
        hash = mix(mix(hash, at[i].node), at[i].stack);
    return hash;
}

static bool same_set(const hn_states *s, const hn_place_set *set, const hn_place *at, size_t n, bool may_end)
{
    return set->n == n && set->may_end == may_end && !memcmp(s->pool + set->first, at, n * sizeof *at);
}

static hn_status grow_slots(const hn_states *s, hn_set_table *t)
{
    if (2 * ((size_t)t->n + 1) <= t->slot_room)
        return HN_OK;
    const size_t room = t->slot_room ? 2 * t->slot_room : 256;
    uint32_t *slots = hn_alloc_array(s->heap, HN_TAG_TEXT, room, sizeof *slots);
    if (!slots)
        return HN_ERR_MEMORY;
    for (uint32_t i = 2; i < t->n; i++) {
        const hn_place_set *set = &t->at[i];
        size_t at = hash_set(s->pool + set->first, set->n, set->may_end) & (room - 1);
        while (slots[at])
            at = (at + 1) & (room - 1);
        slots[at] = i;
    }
    hn_free(s->heap, t->slots);
    t->slots = slots;
    t->slot_room = room;
    return HN_OK;
}

hn_status hn_set_intern(hn_states *s, hn_set_table *t, hn_place *from, size_t n, const hn_place_set *with, uint32_t *out)
{
    n = settle(from, n);
    if (!grow(s->heap, &t->at, (size_t)t->n + 3, &t->room, sizeof *t->at) ||
        !grow(s->heap, &s->pool, s->n_pool + n, &s->pool_room, sizeof *s->pool))
        return HN_ERR_MEMORY;
    t->n = t->n < 2 ? 2 : t->n; /* 0 and 1 are not sets */
    HN_TRY(grow_slots(s, t));
    size_t at = hash_set(from, n, with->may_end) & (t->slot_room - 1);
    for (; t->slots[at]; at = (at + 1) & (t->slot_room - 1))
        if (same_set(s, &t->at[t->slots[at]], from, n, with->may_end)) {
            *out = t->slots[at];
            return HN_OK;
        }
    hn_place_set *set = &t->at[t->n];
    *set = *with;
    set->first = (uint32_t)s->n_pool;
    set->n = (uint32_t)n;
    if (n)
        memcpy(s->pool + s->n_pool, from, n * sizeof *from);
    s->n_pool += n;
    *out = t->slots[at] = t->n++;
    return HN_OK;
}

/* ---- visiting ---- */

void hn_closure_begin(hn_closure *c)
{
    enum { FEW = 1024 };
    if (c->slot_room > FEW && c->n_work < FEW / 4) /* one by one, where it once was large */
        for (size_t i = 0; i < c->n_work; i++) {
            size_t at = mix(mix(0, c->work[i].node), c->work[i].stack) & (c->slot_room - 1);
            while (c->slots[at]) {
                c->slots[at] = 0;
                at = (at + 1) & (c->slot_room - 1);
            }
        }
    else if (c->slots)
        memset(c->slots, 0, c->slot_room * sizeof *c->slots);
    for (size_t i = 0; i < c->n_calls; i++)
        c->is_called[c->calls[i].rule] = 0;
    c->n_work = c->n_calls = 0;
    c->may_end = c->is_full = false;
}

static size_t slot_of(const hn_closure *c, uint32_t node, uint32_t stack)
{
    size_t at = mix(mix(0, node), stack) & (c->slot_room - 1);
    while (c->slots[at] && (c->work[c->slots[at] - 1].node != node || c->work[c->slots[at] - 1].stack != stack))
        at = (at + 1) & (c->slot_room - 1);
    return at;
}

static hn_status grow_visited(hn_heap *heap, hn_closure *c)
{
    if (4 * (c->n_work + 1) <= c->slot_room)
        return HN_OK;
    const size_t room = c->slot_room ? 2 * c->slot_room : 256;
    uint32_t *slots = hn_alloc_array(heap, HN_TAG_TEXT, room, sizeof *slots);
    if (!slots)
        return HN_ERR_MEMORY;
    hn_free(heap, c->slots);
    c->slots = slots;
    c->slot_room = room;
    for (size_t i = 0; i < c->n_work; i++)
        c->slots[slot_of(c, c->work[i].node, c->work[i].stack)] = (uint32_t)i + 1;
    return HN_OK;
}

hn_status hn_closure_visit(hn_states *s, uint32_t node, uint32_t stack)
{
    hn_closure *c = s->closure;
    if (c->is_full)
        return HN_OK;
    if (!grow(s->heap, &c->work, c->n_work + 1, &c->work_room, sizeof *c->work))
        return HN_ERR_MEMORY;
    HN_TRY(grow_visited(s->heap, c));
    const size_t at = slot_of(c, node, stack);
    if (c->slots[at])
        return HN_OK;
    c->is_full = (int64_t)c->n_work >= s->g->limits.ways;
    c->work[c->n_work++] = (hn_place){ node, stack };
    c->slots[at] = (uint32_t)c->n_work;
    return HN_OK;
}

static hn_status visit_call(hn_states *s, const hn_edge *e, uint32_t stack)
{
    hn_closure *c = s->closure;
    const hn_rule *rule = &s->g->rules[e->what];
    if (!grow(s->heap, &c->calls, c->n_calls + 1, &c->call_room, sizeof *c->calls))
        return HN_ERR_MEMORY;
    c->calls[c->n_calls++] = (hn_call){ rule->order, e->what, e->to, stack };
    if (!c->is_called[e->what])
        HN_TRY(hn_closure_visit(s, rule->start, PENDING | e->what));
    c->is_called[e->what] = 1;
    return rule->is_nullable ? hn_closure_visit(s, e->to, stack) : HN_OK;
}

/* A rule that ended without a byte has been stepped over where it was called. */
static hn_status visit_end(hn_states *s, uint32_t stack)
{
    if (!stack)
        s->closure->may_end = true;
    if (!stack || stack & PENDING)
        return HN_OK;
    const hn_place_set set = s->stacks.at[stack];
    for (uint32_t i = 0; i < set.n; i++) {
        const hn_place to = s->pool[set.first + i];
        HN_TRY(hn_closure_visit(s, to.node, to.stack));
    }
    return HN_OK;
}

static hn_status visit_all(hn_states *s)
{
    const hn_grammar *g = s->g;
    hn_closure *c = s->closure;
    for (size_t i = 0; i < c->n_work && !c->is_full; i++) {
        const hn_place at = c->work[i];
        if (g->ends[at.node])
            HN_TRY(visit_end(s, at.stack));
        for (uint32_t e = g->first[at.node]; e < g->first[at.node + 1]; e++) {
            if (g->edges[e].kind == HN_EDGE_EMPTY)
                HN_TRY(hn_closure_visit(s, g->edges[e].to, at.stack));
            else if (g->edges[e].kind == HN_EDGE_CALL)
                HN_TRY(visit_call(s, &g->edges[e], at.stack));
        }
    }
    return HN_OK;
}

/* ---- stacks ---- */

static int by_order(const void *a, const void *b)
{
    const hn_call *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static uint32_t known_stack(const hn_closure *c, uint32_t stack)
{
    return stack & PENDING ? c->stack_of[stack & ~PENDING] : stack;
}

static uint32_t depth_of(const hn_states *s, uint32_t stack) { return stack ? s->stacks.at[stack].depth : 0; }

static bool fits(const hn_states *s, uint32_t node, uint32_t stack)
{
    return (int64_t)depth_of(s, stack) + s->g->height[node] <= s->g->limits.nesting;
}

static hn_status add_content(hn_states *s, hn_place place)
{
    hn_closure *c = s->closure;
    if (!grow(s->heap, &c->content, c->n_content + 1, &c->content_room, sizeof *c->content))
        return HN_ERR_MEMORY;
    c->content[c->n_content++] = place;
    return HN_OK;
}

/* Where nothing follows a call, it goes on where its caller does: lists that call themselves at their end do not nest. */
static hn_status add_return(hn_states *s, const hn_call *call)
{
    const hn_grammar *g = s->g;
    const uint32_t stack = known_stack(s->closure, call->stack);
    if (stack == NONE || !fits(s, call->node, stack))
        return HN_OK;
    const bool is_last = hn_grammar_is_last(g, call->node);
    if (!is_last || !stack)
        return add_content(s, (hn_place){ is_last ? 0 : call->node, stack });
    const hn_place_set set = s->stacks.at[stack];
    for (uint32_t i = 0; i < set.n; i++)
        HN_TRY(add_content(s, s->pool[set.first + i]));
    return HN_OK;
}

static hn_status make_stacks(hn_states *s)
{
    hn_closure *c = s->closure;
    if (c->n_calls > 1)
        qsort(c->calls, c->n_calls, sizeof *c->calls, by_order);
    for (size_t i = 0; i < c->n_calls;) {
        const uint32_t rule = c->calls[i].rule;
        hn_place_set with = { 0 };
        for (c->n_content = 0; i < c->n_calls && c->calls[i].rule == rule; i++)
            HN_TRY(add_return(s, &c->calls[i]));
        c->stack_of[rule] = NONE;
        for (size_t k = 0; k < c->n_content; k++) {
            const uint32_t depth = depth_of(s, c->content[k].stack) + 1;
            with.depth = depth > with.depth ? depth : with.depth;
        }
        if (c->n_content == 1 && !c->content[0].node)
            c->stack_of[rule] = 0; /* what calls last of all is in no call */
        else if (c->n_content)
            HN_TRY(hn_set_intern(s, &s->stacks, c->content, c->n_content, &with, &c->stack_of[rule]));
    }
    return HN_OK;
}

hn_status hn_closure_state(hn_states *s, uint32_t *out)
{
    hn_closure *c = s->closure;
    hn_place_set with = { 0 };
    *out = HN_STATE_DEAD;
    HN_TRY(visit_all(s));
    if (c->is_full)
        return HN_OK;
    HN_TRY(make_stacks(s));
    c->n_content = 0;
    for (size_t i = 0; i < c->n_work; i++) {
        const hn_place at = { c->work[i].node, known_stack(c, c->work[i].stack) };
        if (!s->reads[at.node] || at.stack == NONE || !fits(s, at.node, at.stack))
            continue;
        HN_TRY(add_content(s, at));
        with.reads_tokens |= s->reads[at.node] > 1;
    }
    with.may_end = c->may_end;
    return c->n_content || c->may_end ? hn_set_intern(s, &s->states, c->content, c->n_content, &with, out) : HN_OK;
}
