/* The tree of a vocabulary is walked in the order of its texts, with the state of each depth. Nodes whose byte leads nowhere are
 * left out with all below them; where the bytes below are among those that go round in one state, as in a string, all of
 * them are allowed without a look, or as many as have no more characters than the string may. */
#include "text/grammar/mask.h"

#include "base/work.h"

#include <string.h>

typedef struct hn_kept_mask {
    uint32_t state; /* 0: free */
    uint32_t at;    /* of the memory, in masks */
    int32_t n_allowed, first;
} hn_kept_mask;

enum { KEPT_BYTES = 1 << 24, STATE_BYTES = 1 << 26, MOST_KEPT = 1 << 14 };

static bool is_text(const hn_tokens *t, int32_t id, const char *text, size_t bytes)
{
    size_t n;
    const uint8_t *own = hn_tokens_text(t, id, &n);
    return n == bytes && !memcmp(own, text, bytes);
}

static hn_status find_token(const hn_masks *m, const hn_named_token *named, int32_t *out)
{
    const hn_tokens *t = m->tokens;
    *out = named->id;
    for (int32_t i = 0; *out < 0 && i < t->n_vocab; i++)
        if (t->class[i] != HN_TOKEN_IS_NOTHING && is_text(t, i, named->text, named->bytes))
            *out = i;
    HN_REQUIRE(*out >= 0, HN_ERR_ARGUMENT, "the grammar names token \"%.*s\": the vocabulary has none", (int)named->bytes,
               named->text);
    HN_REQUIRE(*out < t->n_vocab, HN_ERR_ARGUMENT, "the grammar names token %d: the vocabulary has %d", *out, t->n_vocab);
    return HN_OK;
}

static hn_status make(hn_masks *m)
{
    m->token_ids = hn_alloc_array(m->heap, HN_TAG_TEXT, (size_t)m->g->n_tokens + 1, sizeof *m->token_ids);
    if (!m->token_ids)
        return HN_ERR_MEMORY;
    for (uint32_t i = 0; i < m->g->n_tokens; i++)
        HN_TRY(find_token(m, &m->g->tokens[i], &m->token_ids[i]));
    m->words = ((size_t)m->tokens->n_vocab + 63) / 64;
    m->most_kept = KEPT_BYTES / (m->words * sizeof(uint64_t) + 1);
    m->most_kept = m->most_kept < 8 ? 8 : m->most_kept > MOST_KEPT ? MOST_KEPT : m->most_kept;
    m->kept = hn_alloc_array(m->heap, HN_TAG_TEXT, 2 * m->most_kept, sizeof *m->kept);
    m->memory = hn_alloc_array(m->heap, HN_TAG_TEXT, m->most_kept * m->words, sizeof *m->memory);
    if (!m->kept || !m->memory)
        return HN_ERR_MEMORY;
    return hn_states_new(&m->states, m->heap, m->g, m->token_ids);
}

hn_status hn_masks_new(hn_masks **out, hn_heap *heap, const hn_grammar *g, const hn_tokens *tokens)
{
    hn_masks *m = hn_alloc(heap, HN_TAG_TEXT, sizeof *m);
    *out = NULL;
    if (!m)
        return HN_ERR_MEMORY;
    *m = (hn_masks){ .heap = heap, .g = g, .tokens = tokens };
    const hn_status status = make(m);
    if (status != HN_OK) {
        hn_masks_free(m);
        return status;
    }
    *out = m;
    return HN_OK;
}

void hn_masks_free(hn_masks *m)
{
    if (!m)
        return;
    hn_states_free(m->states);
    hn_free(m->heap, m->token_ids);
    hn_free(m->heap, m->kept);
    hn_free(m->heap, m->memory);
    hn_free(m->heap, m);
}

bool hn_masks_tidy(hn_masks *m)
{
    if (hn_states_bytes(m->states) <= STATE_BYTES)
        return false;
    hn_states_clear(m->states);
    return true;
}

static hn_token_as taken_as(const hn_tokens *t, int32_t id)
{
    return t->class[id] == HN_TOKEN_IS_CONTROL ? HN_TOKEN_OR_CONTROL : t->class[id] == HN_TOKEN_IS_TEXT ? HN_TOKEN_OR_OTHER : HN_TOKEN_BY_NAME;
}

hn_status hn_masks_token(hn_masks *m, uint32_t state, int32_t id, uint32_t *out)
{
    const hn_tokens *t = m->tokens;
    uint32_t as_token, as_text = HN_STATE_DEAD;
    HN_TRY(hn_states_token(m->states, state, id, taken_as(t, id), &as_token));
    if (t->class[id] == HN_TOKEN_IS_TEXT) {
        size_t bytes;
        const uint8_t *text = hn_tokens_text(t, id, &bytes);
        as_text = state;
        for (size_t i = 0; i < bytes && as_text != HN_STATE_DEAD; i++)
            HN_TRY(hn_states_byte(m->states, as_text, text[i], &as_text));
    }
    return hn_states_either(m->states, as_token, as_text, out);
}

static void allow(uint64_t *bits, int32_t id) { bits[id / 64] |= (uint64_t)1 << id % 64; }

/* Every way that a byte adds is work that somebody does, now or before: it is counted the same. */
static hn_status check_steps(const hn_masks *m, int64_t steps)
{
    HN_REQUIRE(steps <= m->g->limits.steps, HN_ERR_UNSUPPORTED, "a mask of the grammar takes more than %lld steps",
               (long long)m->g->limits.steps);
    return HN_OK;
}

enum { STEPS_A_LOOK = 1 << 16 };

enum { WORTH = 8 }; /* nodes below one that are looked at together */

/* How many characters may follow where a loop is, if that is all that there is to say of what begins with the node (below it, or
 * with its own byte, which still `wants` others): longer ones are not allowed. -1: they have to be looked at. */
static hn_status goes_round(hn_masks *m, uint32_t state, uint32_t node, hn_utf8_state wants, int *most)
{
    const hn_token_node *n = &m->tokens->nodes[node];
    const uint64_t *bytes = m->tokens->bytes[node];
    const bool is_wide = wants != HN_UTF8_BEGIN || !n->is_ascii;
    const hn_state_loop *loop;
    *most = -1;
    if (!(n->whole & 1 << wants))
        return HN_OK;
    HN_TRY(hn_states_loop(m->states, state, &loop));
    if (loop->is_wide < is_wide || (bytes[0] & ~loop->bytes[0]) || (bytes[1] & ~loop->bytes[1]))
        return HN_OK;
    if (loop->ends || n->below + (wants != HN_UTF8_BEGIN) <= loop->length)
        *most = loop->length;
    return HN_OK;
}

static void allow_up_to(const hn_tokens *t, uint32_t first, uint32_t end, int most_chars, uint64_t *bits)
{
    for (uint32_t k = first; k < end; k++)
        if (t->chars[k] <= most_chars)
            allow(bits, t->ids[k]);
}

static hn_status walk(hn_masks *m, uint32_t state, uint64_t *bits)
{
    const hn_tokens *t = m->tokens;
    uint32_t at[HN_TOKEN_MAX_BYTES + 1] = { state };
    int chars[HN_TOKEN_MAX_BYTES + 1] = { 0 };
    int64_t steps = 0;
    for (uint32_t i = 0; i < t->n_nodes;) {
        const hn_token_node *n = &t->nodes[i];
        const uint32_t before = at[n->depth - 1], end = t->nodes[n->next].first;
        const hn_utf8_state wants = n->byte < 0x80 || n->next - i <= WORTH ? HN_N_UTF8_STATES : hn_utf8_after(HN_UTF8_BEGIN, n->byte);
        int most = -1;
        if (wants != HN_N_UTF8_STATES)
            HN_TRY(goes_round(m, before, i, wants, &most));
        if (most >= 0) {
            allow_up_to(t, n->first, end, chars[n->depth - 1] + most, bits);
            i = n->next;
            continue;
        }
        uint32_t next = hn_states_known(m->states, before, n->byte);
        if (next == HN_STATE_UNKNOWN)
            HN_TRY(hn_states_byte(m->states, before, n->byte, &next));
        if (next == HN_STATE_DEAD) {
            i = n->next;
            continue;
        }
        at[n->depth] = next;
        chars[n->depth] = chars[n->depth - 1] + ((n->byte & 0xc0) != 0x80);
        const int64_t looked = steps / STEPS_A_LOOK;
        steps += 1 + (int64_t)m->states->states.at[next].n;
        if (looked != steps / STEPS_A_LOOK)
            HN_TRY(hn_work_look("a mask"));
        if (n->next - i > WORTH) {
            HN_TRY(check_steps(m, steps));
            HN_TRY(goes_round(m, next, i, HN_UTF8_BEGIN, &most));
        }
        allow_up_to(t, n->first, most < 0 ? t->nodes[i + 1].first : end, chars[n->depth] + (most < 0 ? 0 : most), bits);
        i = most < 0 ? i + 1 : n->next;
    }
    return check_steps(m, steps);
}

static hn_status make_mask(hn_masks *m, uint32_t state, uint64_t *bits)
{
    const hn_tokens *t = m->tokens;
    const hn_place_set set = m->states->states.at[state];
    memset(bits, 0, m->words * sizeof *bits);
    HN_TRY(walk(m, state, bits));
    for (int32_t i = 0; i < t->n_vocab && set.reads_tokens; i++) {
        uint32_t next;
        HN_TRY(hn_states_token(m->states, state, i, taken_as(t, i), &next));
        if (next != HN_STATE_DEAD)
            allow(bits, i);
    }
    for (int32_t i = 0; i < t->n_vocab && set.may_end; i++)
        if (t->class[i] == HN_TOKEN_IS_END)
            allow(bits, i);
    return HN_OK;
}

static int32_t bits_of(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    return (int32_t)(((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

static hn_kept_mask count_mask(const hn_masks *m, const uint64_t *bits, hn_kept_mask mask)
{
    mask.first = -1;
    for (size_t i = 0; i < m->words; i++) {
        if (bits[i] && mask.first < 0)
            mask.first = (int32_t)(64 * i) + bits_of((bits[i] & (~bits[i] + 1)) - 1);
        mask.n_allowed += bits_of(bits[i]);
    }
    return mask;
}

hn_status hn_masks_of(hn_masks *m, uint32_t state, hn_mask *out)
{
    const size_t room = 2 * m->most_kept;
    *out = (hn_mask){ .first = -1 };
    if (m->n_kept == m->most_kept || m->cleared != m->states->cleared) {
        memset(m->kept, 0, room * sizeof *m->kept);
        m->n_kept = 0;
        m->cleared = m->states->cleared;
    }
    size_t at = state * 0x9e3779b1u % room;
    while (m->kept[at].state && m->kept[at].state != state)
        at = (at + 1) % room;
    if (!m->kept[at].state) {
        uint64_t *bits = m->memory + m->n_kept * m->words;
        HN_TRY(make_mask(m, state, bits));
        m->kept[at] = count_mask(m, bits, (hn_kept_mask){ state, (uint32_t)m->n_kept++, 0, -1 });
    }
    *out = (hn_mask){ m->memory + m->kept[at].at * m->words, m->kept[at].n_allowed, m->kept[at].first };
    return HN_OK;
}
