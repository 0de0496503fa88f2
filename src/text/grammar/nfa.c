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
    uint32_t *bounds;      /* where ranges begin, and after them */
    size_t n_list, n_bounds, bound_room;
    uint32_t mark;
    hn_met keys;
} subsets;

static int by_from(const void *a, const void *b)
{
    const hn_nfa_step *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
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
        for (uint32_t e = s->first[s->list[i]]; e < s->first[s->list[i] + 1]; e++) {
            const hn_nfa_step *step = &s->nfa->steps[e];
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

static uint32_t key_of(subsets *s, bool is_first)
{
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

static void add_bound(subsets *s, uint32_t at)
{
    if (s->n_bounds == s->bound_room) {
        const size_t room = s->bound_room ? 2 * s->bound_room : 64;
        uint32_t *grown = hn_realloc_array(s->b->heap, HN_TAG_TEXT, s->bounds, room, sizeof *grown);
        if (!grown) {
            hn_build_fail(s->b, HN_ERR_MEMORY);
            return;
        }
        s->bounds = grown;
        s->bound_room = room;
    }
    s->bounds[s->n_bounds++] = at;
}

static void find_bounds(subsets *s, size_t key)
{
    s->n_bounds = 0;
    for (uint32_t i = s->keys.at[key]; i + 1 < s->keys.at[key + 1]; i++) {
        const uint32_t state = s->keys.words[i];
        for (uint32_t e = s->first[state]; e < s->first[state + 1]; e++)
            if (s->nfa->steps[e].kind == HN_STEP_CHARS) {
                add_bound(s, s->nfa->steps[e].low);
                add_bound(s, s->nfa->steps[e].high + 1);
            }
    }
    size_t n = 0;
    if (s->n_bounds > 1 && s->b->status == HN_OK)
        qsort(s->bounds, s->n_bounds, sizeof *s->bounds, by_number);
    for (size_t i = 0; i < s->n_bounds; i++)
        if (!n || s->bounds[i] != s->bounds[n - 1])
            s->bounds[n++] = s->bounds[i];
    s->n_bounds = n;
}

static void add_edges(subsets *s, hn_automaton *out, size_t key)
{
    find_bounds(s, key);
    for (size_t i = 0; i + 1 < s->n_bounds && s->b->status == HN_OK; i++) {
        const uint32_t low = s->bounds[i];
        s->mark++;
        s->n_list = 0;
        for (uint32_t k = s->keys.at[key]; k + 1 < s->keys.at[key + 1]; k++)
            for (uint32_t e = s->first[s->keys.words[k]]; e < s->first[s->keys.words[k] + 1]; e++)
                if (s->nfa->steps[e].kind == HN_STEP_CHARS && s->nfa->steps[e].low <= low && low <= s->nfa->steps[e].high)
                    put(s, s->nfa->steps[e].to);
        if (!s->n_list || !hn_build_step(s->b, 1 + s->keys.at[key + 1] - s->keys.at[key]))
            continue;
        close_list(s, false, false);
        hn_automaton_add_edge(s->b, out, low, s->bounds[i + 1] - 1, key_of(s, false));
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
        for (size_t i = 0; i < nfa->n; i++)
            s.first[nfa->steps[i].from + 1]++;
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
    hn_free(b->heap, s.bounds);
}
