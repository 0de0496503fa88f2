/* Any bytes as GBNF, and as a regular expression: refused with a message, or a grammar whose every state can go on or end; bounded in memory and
 * steps. The same bytes are read by it. */
#include "tests/fuzz/target.h"
#include "text/grammar/states.h"

#include <stdlib.h>

static void walk(hn_heap *heap, const hn_grammar *g, const uint8_t *data, size_t bytes)
{
    enum { MOST = 256 };
    hn_states *states = NULL;
    uint32_t at = HN_STATE_DEAD;
    if (hn_states_new(&states, heap, g, NULL) != HN_OK || hn_states_begin(states, &at) != HN_OK)
        bytes = 0;
    for (size_t i = 0; i < bytes && i < MOST && at != HN_STATE_DEAD; i++) {
        uint32_t next = HN_STATE_DEAD;
        const hn_place_set *set = &states->states.at[at]; /* which waits for a token, or is near the limit of ways */
        bool goes_on = set->may_end || set->reads_tokens || 8 * (int64_t)set->n > g->limits.ways;
        for (int c = 0; c < 256; c++) { /* the data's where it may, else any that may */
            uint32_t to;
            if (hn_states_byte(states, at, (uint8_t)(data[i] + c), &to) != HN_OK)
                goto done;
            next = next == HN_STATE_DEAD ? to : next;
            goes_on |= to != HN_STATE_DEAD;
        }
        if (!goes_on)
            abort();
        at = next;
    }
done:
    hn_states_free(states);
}

static void try_one(const uint8_t *data, size_t bytes, bool is_gbnf)
{
    hn_heap heap;
    hn_grammar_limits limits = HN_GRAMMAR_DEFAULTS;
    hn_grammar *g = NULL;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 26;
    limits.states = 1 << 14;
    limits.steps = 1 << 20;
    limits.repetition = 1 << 10;
    limits.ways = 1 << 10;
    if ((is_gbnf ? hn_grammar_from_gbnf : hn_grammar_from_regex)(&heap, (const char *)data, bytes, &limits, &g) == HN_OK)
        walk(&heap, g, data, bytes);
    else if (g || !hn_error_message()[0])
        abort();
    hn_grammar_free(g);
    if (atomic_load(&heap.live_blocks))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    try_one(data, bytes, true);
    try_one(data, bytes, false);
    return 0;
}
