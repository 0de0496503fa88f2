/* A row of a state has a place for each class of bytes and is filled when it is first asked for. Loops are looked
 * for too: a state that a long run of characters does not leave, as within a string, lets whole tokens be allowed
 * without walking them. */
#include "text/grammar/states.h"

#include "text/grammar/closure.h"

#include <string.h>

static hn_status make(hn_states *s)
{
    const hn_grammar *g = s->g;
    s->reads = hn_alloc_array(s->heap, HN_TAG_TEXT, g->n_nodes, sizeof *s->reads);
    if (!s->reads)
        return HN_ERR_MEMORY;
    for (uint32_t v = 0; v < g->n_nodes; v++)
        for (uint32_t e = g->first[v]; e < g->first[v + 1]; e++)
            s->reads[v] |= g->edges[e].kind == HN_EDGE_BYTE ? 1 : g->edges[e].kind >= HN_EDGE_TOKEN ? 2 : 0;
    return hn_closure_new(&s->closure, s->heap, g);
}

hn_status hn_states_new(hn_states **out, hn_heap *heap, const hn_grammar *g, const int32_t *token_ids)
{
    hn_states *s = hn_alloc(heap, HN_TAG_TEXT, sizeof *s);
    *out = NULL;
    if (!s)
        return HN_ERR_MEMORY;
    *s = (hn_states){ .heap = heap, .g = g, .token_ids = token_ids };
    const hn_status status = make(s);
    if (status != HN_OK) {
        hn_states_free(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

static void free_table(const hn_states *s, hn_set_table *t)
{
    hn_free(s->heap, t->at);
    hn_free(s->heap, t->slots);
    *t = (hn_set_table){ 0 };
}

void hn_states_clear(hn_states *s)
{
    free_table(s, &s->states);
    free_table(s, &s->stacks);
    hn_free(s->heap, s->pool);
    hn_free(s->heap, s->rows);
    hn_free(s->heap, s->loops);
    s->pool = NULL;
    s->rows = NULL;
    s->loops = NULL;
    s->n_pool = s->pool_room = s->row_room = s->loop_room = 0;
    s->begin = HN_STATE_UNKNOWN;
    s->cleared++;
}

void hn_states_free(hn_states *s)
{
    if (!s)
        return;
    hn_states_clear(s);
    hn_closure_free(s->heap, s->closure);
    hn_free(s->heap, s->reads);
    hn_free(s->heap, s);
}

size_t hn_states_bytes(const hn_states *s)
{
    return s->row_room * s->g->n_classes * sizeof *s->rows + s->loop_room * sizeof *s->loops + s->pool_room * sizeof *s->pool +
           (s->states.room + s->stacks.room) * sizeof *s->states.at +
           (s->states.slot_room + s->stacks.slot_room) * sizeof *s->states.slots;
}

/* Rows and loops for all states that there are. */
static hn_status make_rows(hn_states *s)
{
    const size_t n = s->states.room, classes = s->g->n_classes;
    if (n <= s->loop_room)
        return HN_OK;
    uint32_t *rows = hn_realloc_array(s->heap, HN_TAG_TEXT, s->rows, n * classes, sizeof *rows);
    if (!rows)
        return HN_ERR_MEMORY;
    s->rows = rows;
    for (size_t i = 0; i < classes && !s->row_room; i++)
        rows[classes + i] = HN_STATE_DEAD; /* after a dead state */
    s->row_room = n;
    hn_state_loop *loops = hn_realloc_array(s->heap, HN_TAG_TEXT, s->loops, n, sizeof *loops);
    if (!loops)
        return HN_ERR_MEMORY;
    s->loops = loops;
    s->loop_room = n;
    return HN_OK;
}

static hn_status close_state(hn_states *s, uint32_t *out)
{
    HN_TRY(hn_closure_state(s, out));
    return make_rows(s);
}

hn_status hn_states_begin(hn_states *s, uint32_t *out)
{
    *out = s->begin;
    if (s->begin != HN_STATE_UNKNOWN)
        return HN_OK;
    hn_closure_begin(s->closure);
    HN_TRY(hn_closure_visit(s, s->g->rules[s->g->root].start, 0));
    HN_TRY(close_state(s, out));
    s->begin = *out;
    return HN_OK;
}

hn_status hn_states_byte(hn_states *s, uint32_t from, uint8_t byte, uint32_t *out)
{
    const hn_grammar *g = s->g;
    *out = from == HN_STATE_DEAD ? HN_STATE_DEAD : hn_states_known(s, from, byte);
    if (*out != HN_STATE_UNKNOWN)
        return HN_OK;
    const hn_place_set set = s->states.at[from];
    hn_closure_begin(s->closure);
    for (uint32_t i = 0; i < set.n; i++) {
        const hn_place at = s->pool[set.first + i];
        for (uint32_t e = g->first[at.node]; e < g->first[at.node + 1]; e++)
            if (g->edges[e].kind == HN_EDGE_BYTE && g->edges[e].low <= byte && byte <= g->edges[e].high)
                HN_TRY(hn_closure_visit(s, g->edges[e].to, at.stack));
    }
    HN_TRY(close_state(s, out));
    s->rows[(size_t)from * g->n_classes + g->classes[byte]] = *out;
    return HN_OK;
}

static bool takes(const hn_states *s, const hn_edge *e, int32_t id, hn_token_as as)
{
    if (e->kind == HN_EDGE_TOKEN)
        return s->token_ids[e->what] == id;
    if (e->kind == HN_EDGE_OTHER_TOKEN)
        return as != HN_TOKEN_BY_NAME && s->token_ids[e->what] != id;
    bool is_named = false;
    for (uint32_t i = 0; i < s->g->n_tokens; i++)
        is_named |= s->token_ids[i] == id;
    return e->kind == HN_EDGE_CONTROL && as == HN_TOKEN_OR_CONTROL && !is_named;
}

hn_status hn_states_token(hn_states *s, uint32_t from, int32_t id, hn_token_as as, uint32_t *out)
{
    const hn_grammar *g = s->g;
    const hn_place_set set = s->states.at[from];
    *out = HN_STATE_DEAD;
    if (from == HN_STATE_DEAD || !set.reads_tokens)
        return HN_OK;
    hn_closure_begin(s->closure);
    for (uint32_t i = 0; i < set.n; i++) {
        const hn_place at = s->pool[set.first + i];
        for (uint32_t e = g->first[at.node]; e < g->first[at.node + 1]; e++)
            if (takes(s, &g->edges[e], id, as))
                HN_TRY(hn_closure_visit(s, g->edges[e].to, at.stack));
    }
    return close_state(s, out);
}

hn_status hn_states_either(hn_states *s, uint32_t a, uint32_t b, uint32_t *out)
{
    const uint32_t both[2] = { a, b };
    *out = a == HN_STATE_DEAD ? b : a;
    if (a == b || a == HN_STATE_DEAD || b == HN_STATE_DEAD)
        return HN_OK;
    hn_closure_begin(s->closure);
    for (int k = 0; k < 2; k++) {
        const hn_place_set set = s->states.at[both[k]];
        for (uint32_t i = 0; i < set.n; i++)
            HN_TRY(hn_closure_visit(s, s->pool[set.first + i].node, s->pool[set.first + i].stack));
        if (set.may_end)
            HN_TRY(hn_closure_visit(s, 0, 0));
    }
    return close_state(s, out);
}

/* ---- loops ---- */

/* Whether `n` more bytes that continue a character, the first from `low` to `high`, all lead to one state. */
static hn_status leads_to(hn_states *s, uint32_t from, int n, int low, int high, uint32_t to, bool *all)
{
    uint32_t last = HN_STATE_UNKNOWN;
    for (int c = low; c <= high && *all; c++) {
        uint32_t next;
        HN_TRY(hn_states_byte(s, from, (uint8_t)c, &next));
        if (n == 1 || next == HN_STATE_DEAD)
            *all = next == to;
        else if (next != last)
            HN_TRY(leads_to(s, next, n - 1, 0x80, 0xbf, to, all));
        last = next;
    }
    return HN_OK;
}

static hn_status find_wide(hn_states *s, uint32_t state, uint32_t to, bool *all)
{
    static const struct {
        uint8_t low, high, n, first, last; /* n bytes after one of low to high, the first from `first` to `last` */
    } leads[] = { { 0xc2, 0xdf, 1, 0x80, 0xbf }, { 0xe0, 0xe0, 2, 0xa0, 0xbf }, { 0xe1, 0xec, 2, 0x80, 0xbf },
                  { 0xed, 0xed, 2, 0x80, 0x9f }, { 0xee, 0xef, 2, 0x80, 0xbf }, { 0xf0, 0xf0, 3, 0x90, 0xbf },
                  { 0xf1, 0xf3, 3, 0x80, 0xbf }, { 0xf4, 0xf4, 3, 0x80, 0x8f } };
    *all = to > HN_STATE_DEAD;
    for (size_t i = 0; i < sizeof leads / sizeof *leads && *all; i++) {
        uint32_t last = HN_STATE_UNKNOWN;
        for (int c = leads[i].low; c <= leads[i].high && *all; c++) {
            uint32_t next;
            HN_TRY(hn_states_byte(s, state, (uint8_t)c, &next));
            *all = next != HN_STATE_DEAD;
            if (*all && next != last)
                HN_TRY(leads_to(s, next, leads[i].n, leads[i].first, leads[i].last, to, all));
            last = next;
        }
    }
    return HN_OK;
}

static hn_status find_loop(hn_states *s, uint32_t state)
{
    uint32_t to[128], best = 0;
    hn_state_loop loop = { .is_known = 1 };
    for (int i = 0; i < 128; i++)
        HN_TRY(hn_states_byte(s, state, (uint8_t)i, &to[i]));
    for (int i = 0; i < 128; i++) {
        uint32_t n = 0;
        for (int k = i; k < 128 && to[i] != HN_STATE_DEAD && (!i || to[i] != to[i - 1]); k++)
            n += to[k] == to[i];
        if (n > best) {
            best = n;
            loop.to = to[i];
        }
    }
    for (int i = 0; i < 128 && best; i++)
        loop.bytes[i / 64] |= (uint64_t)(to[i] == loop.to) << i % 64;
    HN_TRY(find_wide(s, state, loop.to, &loop.is_wide));
    s->loops[state] = loop;
    return HN_OK;
}

/* Whether no byte of these leads anywhere, and none that begins a longer character. */
static hn_status ends_at(hn_states *s, uint32_t state, const uint64_t bytes[2], bool *out)
{
    *out = true;
    for (int i = 0; i < 256 && *out; i++) {
        uint32_t next = HN_STATE_DEAD;
        if (i >= 128 || bytes[i / 64] >> i % 64 & 1)
            HN_TRY(hn_states_byte(s, state, (uint8_t)i, &next));
        *out = next == HN_STATE_DEAD;
    }
    return HN_OK;
}

static hn_status measure_loop(hn_states *s, uint32_t state)
{
    enum { LONGEST = 32 };
    hn_state_loop loop = s->loops[state];
    uint32_t at = state, to = loop.to;
    for (loop.length = 1; loop.length < LONGEST && to != at; loop.length++) {
        if (!s->loops[to].is_known)
            HN_TRY(find_loop(s, to));
        const hn_state_loop *next = &s->loops[to];
        if ((loop.bytes[0] & ~next->bytes[0]) || (loop.bytes[1] & ~next->bytes[1]) || loop.is_wide > next->is_wide) {
            HN_TRY(ends_at(s, to, loop.bytes, &loop.ends));
            break;
        }
        at = to;
        to = next->to;
    }
    loop.length = to == at ? UINT8_MAX : loop.length;
    s->loops[state] = loop;
    return HN_OK;
}

hn_status hn_states_loop(hn_states *s, uint32_t state, const hn_state_loop **out)
{
    enum { FOUND = 1, MEASURED = 2 };
    if (!s->loops[state].is_known)
        HN_TRY(find_loop(s, state));
    if (s->loops[state].is_known == FOUND && s->loops[state].to)
        HN_TRY(measure_loop(s, state));
    s->loops[state].is_known = MEASURED;
    *out = &s->loops[state];
    return HN_OK;
}
