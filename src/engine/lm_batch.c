/* A public batch: its groups of sequences, and the adapters that were opened for single rows of the first. */
#include "engine/batch_groups.h"

#include "engine/scheduler.h"

struct hn_lm_batch {
    hn_lm *lm;
    hn_batch_groups groups;
    hn_lm_batch_piece *pieces; /* [n_sequences] of a step, as this library has them */
    hn_adapter **adapters; /* [n_adapters] of the first group's bank, which come first among numbers; NULL: none */
    int32_t n_adapters;
};

enum { SEQUENCES = 8 };

static hn_status take_options(const hn_lm *lm, const hn_lm_batch_options *options, hn_sequences_options *out,
                              int64_t *apart)
{
    hn_lm_batch_options o;
    HN_TRY(hn_take_struct("hn_lm_batch_options", options, sizeof o, &o));
    HN_REQUIRE(o.sequences >= 0 && o.context >= 0 && o.tokens >= 0 && o.rows >= 0 && o.blocks >= 0 && o.adapters >= 0 &&
                   o.max_rank >= 0 && o.apart >= 0,
               HN_ERR_ARGUMENT, "hn_lm_batch_options: expected numbers of at least 0, found sequences %lld, context "
               "%lld, tokens %lld, rows %lld, blocks %lld, adapters %d, max_rank %d, apart %lld", (long long)o.sequences,
               (long long)o.context, (long long)o.tokens, (long long)o.rows, (long long)o.blocks, o.adapters, o.max_rank,
               (long long)o.apart);
    *apart = o.apart;
    *out = (hn_sequences_options){ .n_sequences = o.sequences ? o.sequences : SEQUENCES, .n_ctx = o.context,
                                   .max_tokens = o.tokens, .max_rows = o.rows, .n_blocks = o.blocks,
                                   .packs = !o.mapped && hn_session_should_pack(lm->model, INT64_MAX),
                                   .keeps_all = o.keeps_all != 0, .adapters = &lm->adapters, .n_adapters = o.adapters,
                                   .max_rank = o.max_rank, .adapts_experts = o.adapts_experts != 0,
                                   .adapts_head = o.adapts_head != 0 };
    return hn_session_cache_parse(o.cache, &out->cache);
}

static hn_status make(hn_lm_batch *b, const hn_lm_batch_options *options)
{
    hn_sequences_options inner;
    int64_t apart = 0;
    HN_TRY(take_options(b->lm, options, &inner, &apart));
    HN_TRY(hn_batch_groups_new(&b->groups, b->lm, &inner, apart));
    b->n_adapters = (int32_t)inner.n_adapters;
    b->adapters = hn_alloc_array(&b->lm->engine->heap, HN_TAG_STATE, (size_t)b->n_adapters + 1, sizeof(hn_adapter *));
    b->pieces = hn_alloc_array(&b->lm->engine->heap, HN_TAG_STATE, (size_t)inner.n_sequences, sizeof *b->pieces);
    return b->adapters && b->pieces ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_lm_batch_new(hn_lm_batch **out, hn_lm *lm, const hn_lm_batch_options *options)
{
    HN_ENTER();
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_batch_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_hold(lm));
    hn_lm_batch *b = hn_alloc(&lm->engine->heap, HN_TAG_STATE, sizeof *b);
    if (!b) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    b->lm = lm;
    HN_TELLS(lm->engine);
    const hn_status status = make(b, options);
    if (status != HN_OK) {
        hn_lm_batch_free(b);
        return status;
    }
    *out = b;
    return hn_work_done(HN_OK, "packing weights");
}

void hn_lm_batch_free(hn_lm_batch *b)
{
    HN_ENTER();
    if (!b)
        return;
    hn_lm *lm = b->lm;
    hn_batch_groups_free(&b->groups);
    for (int32_t i = 0; b->adapters && i < b->n_adapters; i++)
        hn_adapter_close(b->adapters[i]);
    hn_free(&lm->engine->heap, b->adapters);
    hn_free(&lm->engine->heap, b->pieces);
    hn_free(&lm->engine->heap, b);
    hn_lm_let_go(lm);
}

static hn_status check(const hn_lm_batch *b, const char *call)
{
    HN_REQUIRE(b, HN_ERR_ARGUMENT, "%s: expected a batch, found NULL", call);
    return hn_engine_check(b->lm->engine);
}

/* The first group, which has the bank and the blocks that are told of. */
static hn_sequences *first(const hn_lm_batch *b)
{
    return b->groups.at[0]->inner;
}

/* ---- adapters ---- */

/* Into the bank, or into a group of its own. */
static hn_status place(hn_lm_batch *b, hn_adapter *adapter, int32_t *number)
{
    int32_t group;
    const hn_status status = hn_sequences_add_adapter(first(b), adapter, number);
    if (status == HN_OK)
        b->adapters[*number] = adapter;
    if (status != HN_ERR_UNSUPPORTED || !b->groups.apart)
        return status;
    HN_TRY(hn_batch_group_add(&b->groups, adapter, &group));
    *number = b->n_adapters + group - 1;
    return HN_OK;
}

static hn_status add(hn_lm_batch *b, const char *path, const hn_lm_adapter_options *options, int32_t *out,
                     hn_lm_adapter_trial *trial)
{
    hn_adapter *adapter;
    hn_adapter_trial found;
    HN_TRY(hn_lm_try_adapter(b->lm, path, options, &adapter, &found));
    if (trial)
        hn_lm_give_trial(&found, trial);
    const hn_status status = place(b, adapter, out);
    if (status == HN_OK)
        return hn_work_done(HN_OK, path);
    hn_adapter_close(adapter);
    return hn_fail_within(status, "%s: ", path);
}

hn_status hn_lm_batch_add_adapter(hn_lm_batch *b, const char *path, const hn_lm_adapter_options *options,
                                  int32_t *out)
{
    HN_ENTER();
    HN_TRY(check(b, "hn_lm_batch_add_adapter"));
    HN_REQUIRE(path && out, HN_ERR_ARGUMENT, "hn_lm_batch_add_adapter: expected a path and room, found NULL");
    HN_TELLS(b->lm->engine);
    return add(b, path, options, out, NULL);
}

hn_status hn_lm_batch_apply_adapter(hn_lm_batch *b, const char *path, const hn_lm_adapter_options *options, int32_t *out,
                                    hn_lm_adapter_trial *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_adapter_trial, trial, to, size);
    HN_TRY(check(b, "hn_lm_batch_apply_adapter"));
    HN_REQUIRE(path && out && to, HN_ERR_ARGUMENT,
               "hn_lm_batch_apply_adapter: expected a path, room and a trial, found NULL");
    HN_TELLS(b->lm->engine);
    return add(b, path, options, out, trial);
}

/* Of an adapter that is run apart; 0 of those of the bank, and of none. */
static int32_t group_of(const hn_lm_batch *b, int32_t adapter)
{
    const int64_t group = (int64_t)adapter - b->n_adapters + 1;
    return group > 0 && group <= HN_MOST_APART && hn_batch_group_has(&b->groups, (int32_t)group) ? (int32_t)group : 0;
}

hn_status hn_lm_batch_remove_adapter(hn_lm_batch *b, int32_t adapter)
{
    HN_ENTER();
    HN_TRY(check(b, "hn_lm_batch_remove_adapter"));
    const int32_t group = group_of(b, adapter);
    if (group)
        return hn_batch_group_remove(&b->groups, group);
    HN_TRY(hn_sequences_remove_adapter(first(b), adapter));
    hn_adapter_close(b->adapters[adapter]);
    b->adapters[adapter] = NULL;
    return HN_OK;
}

/* ---- sequences ---- */

hn_status hn_lm_batch_open(hn_lm_batch *b, int32_t adapter, int32_t *sequence)
{
    HN_ENTER();
    HN_TRY(check(b, "hn_lm_batch_open"));
    HN_REQUIRE(sequence, HN_ERR_ARGUMENT, "hn_lm_batch_open: expected room, found NULL");
    const int32_t group = group_of(b, adapter);
    return hn_batch_groups_open(&b->groups, group, group ? -1 : adapter, sequence);
}

hn_status hn_lm_batch_close(hn_lm_batch *b, int32_t sequence)
{
    HN_ENTER();
    hn_sequences *inner;
    HN_TRY(check(b, "hn_lm_batch_close"));
    HN_TRY(hn_batch_groups_find(&b->groups, sequence, &inner));
    hn_sequences_close(inner, sequence);
    return HN_OK;
}

hn_status hn_lm_batch_fork(hn_lm_batch *b, int32_t sequence, size_t length, int32_t *out)
{
    HN_ENTER();
    HN_TRY(check(b, "hn_lm_batch_fork"));
    HN_REQUIRE(out && length <= INT64_MAX, HN_ERR_ARGUMENT, "hn_lm_batch_fork: expected room and a length, found %s",
               out ? "more than there can be" : "NULL");
    return hn_batch_groups_fork(&b->groups, sequence, (int64_t)length, out);
}

hn_status hn_lm_batch_trim(hn_lm_batch *b, int32_t sequence, size_t length)
{
    HN_ENTER();
    hn_sequences *inner;
    HN_TRY(check(b, "hn_lm_batch_trim"));
    HN_REQUIRE(length <= INT64_MAX, HN_ERR_ARGUMENT, "hn_lm_batch_trim: %zu ids are more than there can be", length);
    HN_TRY(hn_batch_groups_find(&b->groups, sequence, &inner));
    return hn_sequences_trim(inner, sequence, (int64_t)length);
}

size_t hn_lm_batch_usable(const hn_lm_batch *b, int32_t sequence, size_t length)
{
    HN_ENTER();
    const hn_sequences *inner = b ? hn_batch_groups_of(&b->groups, sequence) : NULL;
    return inner && length <= INT64_MAX ? (size_t)hn_sequences_usable(inner, sequence, (int64_t)length) : 0;
}

const int32_t *hn_lm_batch_ids(const hn_lm_batch *b, int32_t sequence, size_t *n)
{
    HN_ENTER();
    const hn_sequences *inner = b ? hn_batch_groups_of(&b->groups, sequence) : NULL;
    if (n)
        *n = inner ? (size_t)hn_sequences_length(inner, sequence) : 0;
    return inner ? hn_sequences_tokens(inner, sequence) : NULL;
}

int64_t hn_lm_batch_context(const hn_lm_batch *b)
{
    HN_ENTER();
    return b ? hn_sequences_context(first(b)) : 0;
}

/* ---- steps ---- */

static hn_status step(hn_lm_batch *b, const char *what, const hn_lm_batch_piece *pieces, size_t n, const int32_t *rows)
{
    HN_TRY(check(b, what));
    /* More pieces than sequences are refused before they are looked at. */
    HN_REQUIRE(pieces && n >= 1 && n <= (size_t)b->groups.options.n_sequences, HN_ERR_ARGUMENT,
               "a step of %zu pieces: expected 1 to %lld, of one sequence each", pieces ? n : 0,
               (long long)b->groups.options.n_sequences);
    for (size_t i = 0; i < n; i++) {
        hn_lm_batch_piece *p = &b->pieces[i];
        HN_TRY(hn_take_element("hn_lm_batch_piece", pieces, i, sizeof *p, p));
        HN_REQUIRE(p->ids && p->n <= INT32_MAX, HN_ERR_ARGUMENT, "piece %zu: expected ids, found %s", i,
                   p->ids ? "more than there can be" : "NULL");
    }
    return hn_batch_groups_step(&b->groups, b->pieces, n, rows);
}

hn_status hn_lm_batch_step(hn_lm_batch *b, const hn_lm_batch_piece *pieces, size_t n)
{
    HN_ENTER();
    return step(b, "hn_lm_batch_step", pieces, n, NULL);
}

hn_status hn_lm_batch_step_rows(hn_lm_batch *b, const hn_lm_batch_piece *pieces, size_t n, const int32_t *rows)
{
    HN_ENTER();
    HN_REQUIRE(rows, HN_ERR_ARGUMENT, "hn_lm_batch_step_rows: expected rows, found NULL");
    return step(b, "hn_lm_batch_step_rows", pieces, n, rows);
}

const float *hn_lm_batch_logits(const hn_lm_batch *b, size_t row)
{
    HN_ENTER();
    return b ? hn_batch_groups_logits(&b->groups, row) : NULL;
}

int64_t hn_lm_batch_blocks(const hn_lm_batch *b, int64_t *of)
{
    HN_ENTER();
    if (!b && of)
        *of = 0;
    return b ? hn_sequences_free_blocks(first(b), of) : 0;
}

int64_t hn_lm_batch_needs(const hn_lm_batch *b, const hn_lm_batch_piece *pieces, size_t n)
{
    HN_ENTER();
    int64_t blocks = 0;
    for (size_t i = 0; b && pieces && i < n; i++) { /* one that is apart is not open there: it needs none */
        hn_lm_batch_piece p;
        if (hn_take_element("hn_lm_batch_piece", pieces, i, sizeof p, &p) != HN_OK)
            return INT64_MAX;
        const hn_piece piece = { .sequence = p.sequence, .tokens = p.ids, .n = (int64_t)p.n };
        blocks += hn_sequences_needs(first(b), &piece, 1);
    }
    return blocks;
}

/* ---- files ---- */

hn_status hn_lm_batch_save(const hn_lm_batch *b, int32_t sequence, const char *path)
{
    HN_ENTER();
    hn_sequences *inner;
    HN_TRY(check(b, "hn_lm_batch_save"));
    HN_REQUIRE(path, HN_ERR_ARGUMENT, "hn_lm_batch_save: expected a path, found NULL");
    HN_TRY(hn_batch_groups_find(&b->groups, sequence, &inner));
    HN_TELLS(b->lm->engine);
    return hn_work_done(hn_sequences_save(inner, sequence, path), path);
}

hn_status hn_lm_batch_load(hn_lm_batch *b, int32_t sequence, const char *path)
{
    HN_ENTER();
    hn_sequences *inner;
    HN_TRY(check(b, "hn_lm_batch_load"));
    HN_REQUIRE(path, HN_ERR_ARGUMENT, "hn_lm_batch_load: expected a path, found NULL");
    HN_TRY(hn_batch_groups_find(&b->groups, sequence, &inner));
    HN_TELLS(b->lm->engine);
    return hn_work_done(hn_sequences_restore(inner, sequence, path), path);
}

hn_sequences *hn_lm_batch_inner(const hn_lm_batch *b, int32_t adapter)
{
    return b->groups.at[group_of(b, adapter)]->inner;
}

int32_t hn_lm_batch_slot(const hn_lm_batch *b, int32_t adapter) { return group_of(b, adapter) ? -1 : adapter; }

void hn_lm_batch_limits(const hn_lm_batch *b, hn_lm **lm, int64_t *sequences, int64_t *tokens, int64_t *rows)
{
    *lm = b->lm;
    *sequences = b->groups.options.n_sequences;
    *tokens = hn_sequences_max_tokens(first(b));
    *rows = hn_sequences_max_rows(first(b));
}
