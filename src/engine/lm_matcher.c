/* Public matchers: the state after each token of a sequence, so that tokens can be taken back. States are numbers of what the model
 * has of the grammar; where those were thrown away, they are found again from the tokens. */
#include "engine/lm_grammar.h"

#include <string.h>

static const uint32_t ENDED = UINT32_MAX;

struct hn_lm_matcher {
    hn_lm *lm;
    hn_lm_bound *bound;
    int32_t *ids;
    uint32_t *states; /* [n + 1] */
    size_t n, room;
    uint64_t cleared; /* of the states */
    uint64_t *bits;
};

static hn_status grow(hn_lm_matcher *m, size_t n)
{
    hn_heap *heap = &m->lm->engine->heap;
    if (n <= m->room)
        return HN_OK;
    const size_t room = n > 2 * m->room ? n + 64 : 2 * m->room;
    int32_t *ids = hn_realloc_array(heap, HN_TAG_TEXT, m->ids, room, sizeof *ids);
    if (!ids)
        return HN_ERR_MEMORY;
    m->ids = ids;
    uint32_t *states = hn_realloc_array(heap, HN_TAG_TEXT, m->states, room + 1, sizeof *states);
    if (!states)
        return HN_ERR_MEMORY;
    m->states = states;
    m->room = room;
    return HN_OK;
}

static bool ends_here(const hn_lm_matcher *m, uint32_t state, int32_t id)
{
    return m->bound->masks->tokens->class[id] == HN_TOKEN_IS_END && hn_states_may_end(m->bound->masks->states, state);
}

/* The state after a token; HN_STATE_DEAD: it is not allowed. */
static hn_status follow(const hn_lm_matcher *m, uint32_t state, int32_t id, uint32_t *out)
{
    *out = HN_STATE_DEAD;
    if (state == ENDED)
        return HN_OK;
    HN_TRY(hn_masks_token(m->bound->masks, state, id, out));
    if (*out == HN_STATE_DEAD && ends_here(m, state, id))
        *out = ENDED;
    return HN_OK;
}

/* States as they are now; under the lock. */
static hn_status refresh(hn_lm_matcher *m)
{
    hn_masks_tidy(m->bound->masks);
    const hn_states *states = m->bound->masks->states;
    if (m->cleared == states->cleared && m->states[0] != HN_STATE_UNKNOWN)
        return HN_OK;
    m->states[0] = HN_STATE_UNKNOWN;
    uint32_t begin;
    HN_TRY(hn_states_begin(m->bound->masks->states, &begin));
    uint32_t at = begin;
    for (size_t i = 0; i < m->n; i++) {
        HN_TRY(follow(m, at, m->ids[i], &at));
        m->states[i + 1] = at;
    }
    m->states[0] = begin;
    m->cleared = states->cleared;
    return HN_OK;
}

static hn_status make(hn_lm_matcher *m, hn_lm_grammar *grammar)
{
    HN_TRY(grow(m, 64));
    HN_TRY(hn_lm_bind(m->lm, grammar, &m->bound));
    m->bits = hn_alloc_array(&m->lm->engine->heap, HN_TAG_TEXT, m->bound->masks->words, sizeof *m->bits);
    return m->bits ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_lm_matcher_new(hn_lm_matcher **out, hn_lm *lm, hn_lm_grammar *grammar)
{
    HN_ENTER();
    HN_REQUIRE(out && lm && grammar, HN_ERR_ARGUMENT, "hn_lm_matcher_new: expected out, a model and a grammar, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_hold_words(lm));
    hn_lm_matcher *m = hn_alloc(&lm->engine->heap, HN_TAG_TEXT, sizeof *m);
    if (!m) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    m->lm = lm;
    const hn_status status = make(m, grammar);
    if (status != HN_OK) {
        hn_lm_matcher_free(m);
        return status;
    }
    *out = m;
    return HN_OK;
}

void hn_lm_matcher_free(hn_lm_matcher *m)
{
    HN_ENTER();
    if (!m)
        return;
    hn_lm *lm = m->lm;
    hn_heap *heap = &lm->engine->heap;
    if (m->bound)
        hn_lm_unbind(lm, m->bound);
    hn_free(heap, m->ids);
    hn_free(heap, m->states);
    hn_free(heap, m->bits);
    hn_free(heap, m);
    hn_lm_let_go(lm);
}

static hn_status advance(hn_lm_matcher *m, const int32_t *ids, size_t n, size_t *taken)
{
    HN_TRY(refresh(m));
    for (; *taken < n; ++*taken) {
        uint32_t next;
        HN_TRY(follow(m, m->states[m->n], ids[*taken], &next));
        if (next == HN_STATE_DEAD)
            break;
        HN_TRY(grow(m, m->n + 1));
        m->ids[m->n++] = ids[*taken];
        m->states[m->n] = next;
    }
    return HN_OK;
}

hn_status hn_lm_matcher_advance(hn_lm_matcher *m, const int32_t *ids, size_t n, size_t *taken)
{
    HN_ENTER();
    HN_REQUIRE(m && (ids || !n) && taken, HN_ERR_ARGUMENT, "hn_lm_matcher_advance: expected a matcher, ids and room, found NULL");
    *taken = 0;
    const int32_t vocab = m->bound->masks->tokens->n_vocab;
    for (size_t i = 0; i < n; i++)
        HN_REQUIRE(ids[i] >= 0 && ids[i] < vocab, HN_ERR_ARGUMENT, "id %zu is %d: the vocabulary has %d", i, ids[i], vocab);
    hn_os_mutex_lock(&m->bound->lock);
    const hn_status status = advance(m, ids, n, taken);
    hn_os_mutex_unlock(&m->bound->lock);
    return status;
}

hn_status hn_lm_matcher_rollback(hn_lm_matcher *m, size_t n)
{
    HN_ENTER();
    HN_REQUIRE(m, HN_ERR_ARGUMENT, "hn_lm_matcher_rollback: expected a matcher, found NULL");
    HN_REQUIRE(n <= m->n, HN_ERR_ARGUMENT, "hn_lm_matcher_rollback: %zu tokens: it has gone on by %zu", n, m->n);
    m->n -= n;
    return HN_OK;
}

const int32_t *hn_lm_matcher_ids(const hn_lm_matcher *m, size_t *n)
{
    HN_ENTER();
    if (n)
        *n = m ? m->n : 0;
    return m ? m->ids : NULL;
}

hn_status hn_lm_matcher_set(hn_lm_matcher *m, const int32_t *ids, size_t n)
{
    size_t same = 0, taken;
    while (same < m->n && same < n && m->ids[same] == ids[same])
        same++;
    HN_TRY(hn_lm_matcher_rollback(m, m->n - same));
    HN_TRY(hn_lm_matcher_advance(m, ids + same, n - same, &taken));
    HN_REQUIRE(taken == n - same, HN_ERR_ARGUMENT, "generated token %zu is %d: the grammar does not allow it there", same + taken,
               ids[same + taken]);
    return HN_OK;
}

/* ---- masks ---- */

/* The end of the text that was written. */
static hn_status refuse_empty(const hn_lm_matcher *m)
{
    enum { SHOWN = 60 };
    const hn_tokens *tokens = m->bound->masks->tokens;
    hn_str text = hn_str_on(&m->lm->engine->heap);
    for (size_t i = m->n > SHOWN ? m->n - SHOWN : 0; i < m->n; i++) {
        size_t bytes;
        const uint8_t *own = hn_tokens_text(tokens, m->ids[i], &bytes);
        hn_str_add_bytes(&text, (const char *)own, bytes);
    }
    size_t from = text.length > SHOWN ? text.length - SHOWN : 0;
    while (from < text.length && ((uint8_t)text.text[from] & 0xc0) == 0x80)
        from++;
    const hn_status status = hn_fail(HN_ERR_ARGUMENT, "the grammar allows no token after %zu, which end in \"%s\"", m->n, text.text + from);
    hn_str_free(&text);
    return status;
}

static hn_status make_mask(hn_lm_matcher *m, hn_lm_mask *out)
{
    const hn_masks *masks = m->bound->masks;
    hn_mask mask;
    HN_TRY(refresh(m));
    const uint32_t state = m->states[m->n];
    if (state == ENDED)
        return refuse_empty(m);
    HN_TRY(hn_masks_of(m->bound->masks, state, &mask));
    memcpy(m->bits, mask.bits, masks->words * sizeof *mask.bits);
    *out = (hn_lm_mask){ .bits = m->bits, .words = (int64_t)masks->words, .n_allowed = mask.n_allowed,
                          .only = mask.n_allowed == 1 ? mask.first : -1, .may_end = hn_states_may_end(masks->states, state) };
    return out->n_allowed ? HN_OK : refuse_empty(m);
}

hn_status hn_lm_matcher_mask(hn_lm_matcher *m, hn_lm_mask *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_mask, out, to, size);
    HN_REQUIRE(m && to, HN_ERR_ARGUMENT, "hn_lm_matcher_mask: expected a matcher and room, found NULL");
    HN_TRY(hn_engine_check(m->lm->engine));
    hn_os_mutex_lock(&m->bound->lock);
    const hn_status status = make_mask(m, out);
    hn_os_mutex_unlock(&m->bound->lock);
    if (status != HN_OK)
        *out = (hn_lm_mask){ 0 };
    return status;
}
