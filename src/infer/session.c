/* The sequence that is held may be longer than the one that was asked for: behind its n tokens lie guesses.
 *
 *     held      | 0 ........... n-2 | n-1 |  a  |  b  |  c  |
 *     logits                        |  0  |  1  |  2  |  3  |      rows of the last step, from token rows_from on
 *                                      row: what hn_session_logits gives
 *
 * Whoever asks for n tokens and a, as guessed, has them: n and row move on by one, nothing runs. Whoever asks for
 * anything else has the sequence cut back to what both have in common, less one token where that is all of it, for
 * the logits of its last token are wanted. So a step always begins at n, on tokens that were asked for, and
 * guesses are no part of what is saved, told as length or built upon.
 *
 * A step that fails keeps what the pieces before it computed, and there are no logits. After a restore that failed
 * in a device the sequence is empty and n is not: hn_session_length is the lesser of both, and the next sync
 * begins anew. */
#include "infer/session.h"

#include "base/os/memory.h"

#include <string.h>

struct hn_session {
    hn_heap *heap;
    const hn_model *model;
    hn_sequences *all; /* of one sequence */
    int32_t sequence;
    int64_t n;         /* tokens of it that were asked for: those behind are guesses */
    int64_t rows_from; /* the logits that are held are of the tokens from there on, */
    int64_t row;       /* and what was asked for is this one of them */
    int64_t max_ahead;
    int32_t *piece;    /* [max_tokens] of a step with guesses; NULL: none are taken */
};

hn_status hn_session_cache_parse(const char *word, hn_dtype *out)
{
    *out = HN_F32;
    for (int i = 0; word && i < HN_CACHE_TYPES; i++)
        if (!strcmp(word, hn_dtype_name(hn_cache_types[i]))) {
            *out = hn_cache_types[i];
            return HN_OK;
        }
    hn_word_text all;
    HN_REQUIRE(!word, HN_ERR_ARGUMENT, "a cache of %.40s: expected %s", word, hn_cache_words(&all));
    return HN_OK;
}

bool hn_session_should_pack(const hn_model *model, int64_t tokens)
{
    enum { WORTH_IT = 32 };
    size_t bytes = 0, n;
    const hn_arch_tensor *all = hn_model_tensors(model, &n);
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = hn_model_find(model, all[i].gguf);
        bytes += w ? hn_type_bytes(&w->type) : 0;
    }
    const hn_free_memory left = hn_memory_free();
    return tokens >= WORTH_IT && bytes < left.physical / 2 && bytes < left.address / 2;
}

typedef hn_status make_fn(hn_sequences **out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                          const hn_sequences_options *options);

/* Room for guesses: a piece needs tokens and guesses in one row. */
static hn_status make_room(hn_session *s, int64_t max_ahead)
{
    const int64_t most = hn_session_batch(s);
    HN_REQUIRE(max_ahead >= 0 && max_ahead < most, HN_ERR_ARGUMENT,
               "%lld guesses ahead: expected fewer than the %lld tokens that are computed at a time", (long long)max_ahead,
               (long long)most);
    s->max_ahead = max_ahead;
    if (!max_ahead)
        return HN_OK;
    s->piece = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)most, sizeof *s->piece);
    return s->piece ? HN_OK : HN_ERR_MEMORY;
}

static hn_status start(hn_session **out, make_fn *make, hn_heap *heap, const hn_model *model, hn_run_spec run,
                       const hn_session_options *o)
{
    const hn_sequences_options options = { .n_sequences = 1, .n_ctx = o->n_ctx, .max_tokens = o->max_batch,
                                       .cache = o->cache, .packs = o->packs, .keeps_all = o->keeps_all, .keeps_states = o->keeps_state,
                                       .max_rows = 1 + o->max_ahead, .adapters = o->adapters,
                                       .changed = o->changed };
    *out = NULL;
    hn_session *s = hn_alloc(heap, HN_TAG_STATE, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    s->heap = heap;
    s->model = model;
    hn_status status = make(&s->all, heap, model, run, &options);
    if (status == HN_OK)
        status = hn_sequences_open(s->all, -1, &s->sequence);
    if (status == HN_OK)
        status = make_room(s, o->max_ahead);
    if (status != HN_OK) {
        hn_session_free(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

hn_status hn_session_plan(hn_session **out, hn_heap *heap, const hn_model *model,
                          hn_run_spec run, const hn_session_options *options)
{
    return start(out, hn_sequences_plan, heap, model, run, options);
}

hn_status hn_session_new(hn_session **out, hn_heap *heap, const hn_model *model,
                         hn_run_spec run, const hn_session_options *options)
{
    return start(out, hn_sequences_new, heap, model, run, options);
}

hn_status hn_session_measure(hn_heap *heap, const hn_model *model, hn_run_spec run,
                             const hn_session_options *options, hn_session_sizes *out)
{
    hn_session *s;
    const int64_t before = heap->live_bytes;
    *out = (hn_session_sizes){ 0 };
    HN_TRY(hn_session_plan(&s, heap, model, run, options));
    *out = (hn_session_sizes){ .n_ctx = hn_session_context(s), .cache = hn_session_cache_bytes(s),
                               .workspace = hn_session_workspace(s),
                               .other = (size_t)(heap->live_bytes - before) + hn_sequences_program_bytes(s->all) };
    hn_session_free(s);
    return HN_OK;
}

void hn_session_free(hn_session *s)
{
    if (!s)
        return;
    hn_sequences_free(s->all);
    hn_free(s->heap, s->piece);
    hn_free(s->heap, s);
}

/* How many of these tokens are the ones that are held, guesses among them. */
static int64_t common_with(const hn_session *s, const int32_t *tokens, int64_t n)
{
    const int64_t length = hn_sequences_length(s->all, s->sequence);
    const int32_t *held = hn_session_tokens(s);
    int64_t common = 0;
    while (common < length && common < n && held[common] == tokens[common])
        common++;
    return common;
}

bool hn_session_has(const hn_session *s, const int32_t *tokens, int64_t n)
{
    return n > s->n && hn_sequences_logits(s->all, n - 1 - s->rows_from) && common_with(s, tokens, n) == n;
}

int64_t hn_session_known(const hn_session *s, const int32_t *tokens, int64_t n)
{
    if (hn_session_has(s, tokens, n))
        return n;
    int64_t common = common_with(s, tokens, n);
    if (common == n && n) /* its last token's logits are wanted, so that one is run again */
        common = n - 1;
    return hn_sequences_usable(s->all, s->sequence, common);
}

static hn_status check_tokens(const hn_session *s, const int32_t *tokens, int64_t n)
{
    const int64_t vocab = hn_model_hparams(s->model)->n_vocab;
    for (int64_t i = 0; i < n; i++)
        HN_REQUIRE(tokens[i] >= 0 && tokens[i] < vocab, HN_ERR_ARGUMENT,
                   "token %lld is %d: the vocabulary has %lld", (long long)i, tokens[i],
                   (long long)vocab);
    return HN_OK;
}

/* A piece of the sequence, and guesses behind it. */
static hn_status run_piece(hn_session *s, const int32_t *tokens, int64_t n, int64_t n_wanted, const int32_t *guess,
                           int64_t n_guess, const hn_run_options *options)
{
    const hn_piece piece = { s->sequence, n_guess ? s->piece : tokens, n + n_guess, n_wanted + n_guess };
    if (n_guess) {
        memcpy(s->piece, tokens, (size_t)n * sizeof *tokens);
        memcpy(s->piece + n, guess, (size_t)n_guess * sizeof *guess);
    }
    return hn_sequences_step(s->all, &piece, 1, options);
}

/* What was guessed need not be possible: a step that its guesses alone make fail is no failure. */
static hn_status step(hn_session *s, const int32_t *tokens, int64_t n, bool is_last, const int32_t *guess, int64_t n_guess,
                      const hn_run_options *options)
{
    hn_status status = run_piece(s, tokens, n, is_last, guess, n_guess, options);
    if (n_guess && status != HN_OK && status != HN_ERR_CANCELLED)
        status = run_piece(s, tokens, n, is_last, NULL, 0, options);
    HN_TRY(status);
    s->n += n;
    s->rows_from = s->n - 1;
    s->row = 0;
    return HN_OK;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What was guessed rightly is there: the row moves on. */
static hn_status move_on(hn_session *s, int64_t n, const hn_run_options *options)
{
    HN_REQUIRE(!options || !hn_is_cancelled(options->cancel), HN_ERR_CANCELLED, "cancelled");
    s->row = n - 1 - s->rows_from;
    s->n = n;
    return HN_OK;
}

hn_status hn_session_sync_ahead(hn_session *s, const int32_t *tokens, int64_t n, const int32_t *guess, int64_t n_guess,
                                const hn_run_options *options)
{
    const int64_t n_ctx = hn_session_context(s), most = hn_session_batch(s);
    HN_REQUIRE(n >= 1 && n <= n_ctx, HN_ERR_ARGUMENT,
               "a sequence of %lld tokens: the session takes 1 to %lld", (long long)n, (long long)n_ctx);
    HN_TRY(check_tokens(s, tokens, n));
    HN_TRY(check_tokens(s, guess, n_guess));
    if (hn_session_has(s, tokens, n))
        return move_on(s, n, options);
    s->n = hn_session_known(s, tokens, n);
    HN_TRY(hn_sequences_trim(s->all, s->sequence, s->n));
    while (s->n < n) {
        const int64_t next = least(n - s->n, most), room = least(s->max_ahead, least(most - next, n_ctx - n));
        const bool is_last = next == n - s->n;
        HN_TRY(step(s, tokens + s->n, next, is_last, guess, is_last ? least(n_guess, room) : 0, options));
    }
    return HN_OK;
}

hn_status hn_session_sync(hn_session *s, const int32_t *tokens, int64_t n, const hn_run_options *options)
{
    return hn_session_sync_ahead(s, tokens, n, NULL, 0, options);
}

/* Beside the last piece of these tokens, in its step and in the context. */
int64_t hn_session_room_ahead(const hn_session *s, const int32_t *tokens, int64_t n)
{
    const int64_t n_ctx = hn_session_context(s), most = hn_session_batch(s);
    if (n < 1 || n >= n_ctx || hn_session_has(s, tokens, n))
        return 0;
    const int64_t last = (n - hn_session_known(s, tokens, n) - 1) % most + 1;
    return least(s->max_ahead, least(most - last, n_ctx - n));
}

const float *hn_session_logits(const hn_session *s)
{
    return hn_sequences_logits(s->all, s->row);
}

const float *hn_session_state(const hn_session *s)
{
    return hn_sequences_state(s->all, s->row);
}

int64_t hn_session_length(const hn_session *s)
{
    return least(s->n, hn_sequences_length(s->all, s->sequence));
}

const int32_t *hn_session_tokens(const hn_session *s)
{
    return hn_sequences_tokens(s->all, s->sequence);
}

int64_t hn_session_context(const hn_session *s)
{
    return hn_sequences_context(s->all);
}

int64_t hn_session_batch(const hn_session *s)
{
    return hn_sequences_max_tokens(s->all);
}

size_t hn_session_cache_bytes(const hn_session *s)
{
    return hn_sequences_cache_bytes(s->all);
}

size_t hn_session_workspace(const hn_session *s)
{
    return hn_sequences_workspace(s->all);
}

size_t hn_session_packed_bytes(const hn_session *s)
{
    return hn_sequences_packed_bytes(s->all);
}

const hn_compiled *hn_session_compiled(const hn_session *s)
{
    return hn_sequences_compiled(s->all);
}

const hn_plan *hn_session_look(const hn_session *s)
{
    return hn_sequences_look(s->all);
}

hn_status hn_session_save(const hn_session *s, const char *path)
{
    if (hn_sequences_length(s->all, s->sequence) > s->n) /* guesses are nobody's keys */
        HN_TRY(hn_sequences_trim(s->all, s->sequence, s->n));
    return hn_sequences_save(s->all, s->sequence, path);
}

hn_status hn_session_restore(hn_session *s, const char *path)
{
    HN_TRY(hn_sequences_restore(s->all, s->sequence, path));
    s->n = hn_sequences_length(s->all, s->sequence);
    return HN_OK;
}
