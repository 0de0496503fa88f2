/* From many states at a time to one: sets of states, as they are met. A place at the beginning of the text is passed in the first
 * set alone; one at its end says only that a text may end. */
#include "text/grammar/automaton.h"

#include <stdlib.h>
#include <string.h>

uint32_t hn_nfa_state(hn_build *b, hn_nfa *nfa)
{
    if (b->status == HN_OK && nfa->n_states >= b->limits.states)
        hn_build_fail(b, hn_fail(HN_ERR_UNSUPPORTED, "the grammar has more than %lld states", (long long)b->limits.states));
    return b->status == HN_OK ? nfa->n_states++ : 0;
}

void hn_nfa_add(hn_build *b, hn_nfa *nfa, hn_nfa_step step)
{
    if (!hn_build_step(b, 1))
        return;
    if (nfa->n == nfa->room) {
        const size_t room = nfa->room ? 2 * nfa->room : 64;
        hn_nfa_step *steps = hn_realloc_array(b->heap, HN_TAG_TEXT, nfa->steps, room, sizeof *steps);
        if (!steps) {
            hn_build_fail(b, HN_ERR_MEMORY);
            return;
        }
        nfa->steps = steps;
        nfa->room = room;
    }
    nfa->steps[nfa->n++] = step;
}

void hn_nfa_free(const hn_build *b, hn_nfa *nfa)
{
    hn_free(b->heap, nfa->steps);
    *nfa = (hn_nfa){ 0 };
}

typedef struct subsets {
    hn_build *b;
    const hn_nfa *nfa;
    uint32_t *first; /* of steps, by where they are from; [n_states + 1] */
    uint32_t *seen, *list; /* [n_states] */
    hn_nfa_step *ranges;         /* of a set, by where they begin */
    uint32_t *live;              /* of them: those that hold the character at hand */
    size_t n_list, n_ranges, n_live, range_room;
    uint32_t mark;
    bool end_takes_all;
    hn_met keys;
} subsets;

/* Of one state those without a character first: a class of Unicode has hundreds with one, which a closure need not pass. */
static int by_from(const void *a, const void *b)
{
    const hn_nfa_step *x = a, *y = b;
    const int from = (x->from > y->from) - (x->from < y->from);
    return from ? from : (x->kind == HN_STEP_CHARS) - (y->kind == HN_STEP_CHARS);
}

static int by_low(const void *a, const void *b)
{
    const hn_nfa_step *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void put(subsets *s, uint32_t state)
{
    if (s->seen[state] == s->mark)
        return;
    s->seen[state] = s->mark;
    s->list[s->n_list++] = state;
}

/* All that the list comes to without a character. */
static void close_list(subsets *s, bool at_begin, bool at_end)
{
    for (size_t i = 0; i < s->n_list && hn_build_step(s->b, 1); i++)
        for (uint32_t e = s->first[s->list[i]]; e < s->first[s->list[i] + 1] && hn_build_step(s->b, 1); e++) {
            const hn_nfa_step *step = &s->nfa->steps[e];
            if (step->kind == HN_STEP_CHARS)
                break;
            if (step->kind == HN_STEP_EMPTY || (step->kind == HN_STEP_AT_BEGIN && at_begin) ||
                (step->kind == HN_STEP_AT_END && at_end))
                put(s, step->to);
        }
}

/* Of a set in the keys; `extra`: its last word says that it is the first. */
static void take_key(subsets *s, size_t key)
{
    s->mark++;
    s->n_list = 0;
    for (uint32_t i = s->keys.at[key]; i + 1 < s->keys.at[key + 1]; i++)
        put(s, s->keys.words[i]);
}

/* Where the end goes on with any text, a set that has it has every text, whatever else it has: one set for all of these, of
 * which a pattern that may match anywhere has one for each way to have matched. */
static uint32_t key_of(subsets *s, bool is_first)
{
    if (s->end_takes_all && s->seen[s->nfa->end] == s->mark) {
        s->list[0] = s->nfa->end;
        s->n_list = 1;
    }
    if (s->n_list > 1)
        qsort(s->list, s->n_list, sizeof *s->list, by_number);
    s->list[s->n_list] = is_first;
    return hn_met_add(s->b, &s->keys, s->list, s->n_list + 1);
}

static bool accepts(subsets *s, size_t key, bool is_first)
{
    take_key(s, key);
    close_list(s, is_first, true);
    return s->seen[s->nfa->end] == s->mark;
}

/* What a set of states does at a character is told by a sweep. Its ranges lie in `ranges` by where they begin; `live` are
 * those that hold the character at hand, and a bound is where one begins or one is over:
 *
 *     a---------d        ranges: a..d b..e f..g
 *         b-----------e
 *                         f---g
 *     |   |     ||    |   |   |   an edge from each bound to before the next that has any range
 *
 * Every round costs the live ranges alone, and each of them is counted: a class of Unicode has hundreds of ranges, one of
 * which is live at a time. */
static void add_range(subsets *s, const hn_nfa_step *step)
{
    if (s->n_ranges == s->range_room) {
        const size_t room = s->range_room ? 2 * s->range_room : 64;
        hn_nfa_step *grown = hn_realloc_array(s->b->heap, HN_TAG_TEXT, s->ranges, room, sizeof *grown);
        if (grown)
            s->ranges = grown;
        uint32_t *live = grown ? hn_realloc_array(s->b->heap, HN_TAG_TEXT, s->live, room, sizeof *live) : NULL;
        if (!live) {
            hn_build_fail(s->b, HN_ERR_MEMORY);
            return;
        }
        s->live = live;
        s->range_room = room;
    }
    s->ranges[s->n_ranges++] = *step;
}

static void find_ranges(subsets *s, size_t key)
{
    s->n_ranges = 0;
    for (uint32_t i = s->keys.at[key]; i + 1 < s->keys.at[key + 1]; i++) {
        const uint32_t state = s->keys.words[i];
        for (uint32_t e = s->first[state]; e < s->first[state + 1] && hn_build_step(s->b, 1); e++)
            if (s->nfa->steps[e].kind == HN_STEP_CHARS)
                add_range(s, &s->nfa->steps[e]);
    }
    if (s->n_ranges > 1 && s->b->status == HN_OK)
        qsort(s->ranges, s->n_ranges, sizeof *s->ranges, by_low);
}

/* The live ranges at a bound, those that begin there taken in; and where the next bound is. */
static uint32_t pass_bound(subsets *s, uint32_t at, size_t *next)
{
    uint32_t after = UINT32_MAX;
    size_t n = 0;
    while (*next < s->n_ranges && s->ranges[*next].low == at)
        s->live[s->n_live++] = (uint32_t)(*next)++;
    if (*next < s->n_ranges)
        after = s->ranges[*next].low;
    for (size_t i = 0; i < s->n_live; i++) {
        const hn_nfa_step *range = &s->ranges[s->live[i]];
        if (range->high < at)
            continue;
        s->live[n++] = s->live[i];
        if (range->high + 1 < after)
            after = range->high + 1;
    }
    s->n_live = n;
    return after;
}

static void add_edges(subsets *s, hn_automaton *out, size_t key)
{
    find_ranges(s, key);
    s->n_live = 0;
    size_t next = 0;
    for (uint32_t at = s->n_ranges ? s->ranges[0].low : UINT32_MAX; at != UINT32_MAX && s->b->status == HN_OK;) {
        const uint32_t after = pass_bound(s, at, &next);
        s->mark++;
        s->n_list = 0;
        for (size_t i = 0; i < s->n_live; i++)
            put(s, s->ranges[s->live[i]].to);
        if (!hn_build_step(s->b, 1 + (int64_t)s->n_live))
            return;
        if (s->n_list) {
            close_list(s, false, false);
            hn_automaton_add_edge(s->b, out, at, after - 1, key_of(s, false));
        }
        at = after;
    }
}

static void explore(subsets *s, hn_automaton *out)
{
    s->mark = 1;
    put(s, s->nfa->begin);
    close_list(s, true, false);
    key_of(s, true);
    for (size_t i = 0; i < s->keys.n && s->b->status == HN_OK; i++) {
        const bool ends = accepts(s, i, !i);
        hn_automaton_add_state(s->b, out, ends);
        if (s->b->status == HN_OK)
            add_edges(s, out, i);
    }
}

void hn_automaton_from_nfa(hn_build *b, hn_nfa *nfa, hn_automaton *out)
{
    subsets s = { .b = b, .nfa = nfa };
    const size_t n = nfa->n_states;
    *out = (hn_automaton){ 0 };
    if (b->status != HN_OK)
        return;
    s.first = hn_alloc_array(b->heap, HN_TAG_TEXT, n + 2, sizeof *s.first);
    s.seen = hn_alloc_array(b->heap, HN_TAG_TEXT, n + 1, sizeof *s.seen);
    s.list = hn_alloc_array(b->heap, HN_TAG_TEXT, n + 1, sizeof *s.list);
    if (s.first && s.seen && s.list) {
        if (nfa->n > 1)
            qsort(nfa->steps, nfa->n, sizeof *nfa->steps, by_from);
        for (size_t i = 0; i < nfa->n; i++) {
            const hn_nfa_step *step = &nfa->steps[i];
            s.first[step->from + 1]++;
            s.end_takes_all |= step->kind == HN_STEP_CHARS && step->from == nfa->end && step->to == nfa->end && !step->low &&
                               step->high == HN_LAST_CHAR;
        }
        for (size_t i = 0; i < n; i++)
            s.first[i + 1] += s.first[i];
        explore(&s, out);
    } else {
        hn_build_fail(b, HN_ERR_MEMORY);
    }
    hn_automaton_close(b, out);
    hn_met_free(b, &s.keys);
    hn_free(b->heap, s.first);
    hn_free(b->heap, s.seen);
    hn_free(b->heap, s.list);
    hn_free(b->heap, s.ranges);
    hn_free(b->heap, s.live);
}
