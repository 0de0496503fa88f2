/* A step of several groups is one to whoever asked: all pieces are checked before the first group runs, and if a
 * later one fails, those that ran are cut back to where they were. Numbers of sequences go through one row of
 * places, so no two groups ever give the same. */
#include "engine/batch_groups.h"

/* ---- groups ---- */

hn_status hn_batch_groups_new(hn_batch_groups *g, hn_lm *lm, const hn_sequences_options *options, int64_t apart)
{
    hn_heap *heap = &lm->engine->heap;
    const int64_t n = options->n_sequences;
    g->lm = lm;
    g->options = *options;
    g->apart = apart < n ? apart : n;
    g->at[0] = hn_alloc(heap, HN_TAG_STATE, sizeof *g->at[0]);
    if (!g->at[0])
        return HN_ERR_MEMORY;
    HN_TRY(hn_sequences_new(&g->at[0]->inner, heap, lm->model, lm->run, options));
    g->options.n_ctx = hn_sequences_context(g->at[0]->inner);
    g->options.max_rows = hn_sequences_max_rows(g->at[0]->inner);
    g->options.max_tokens = hn_sequences_max_tokens(g->at[0]->inner);
    g->places = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n, sizeof *g->places);
    g->pieces = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n, sizeof *g->pieces);
    g->rows = hn_alloc_array(heap, HN_TAG_STATE, (size_t)g->options.max_rows, sizeof *g->rows);
    for (int64_t i = 0; g->places && i < n; i++)
        g->places[i].name = -1;
    return g->places && g->pieces && g->rows ? HN_OK : HN_ERR_MEMORY;
}

static void free_group(hn_heap *heap, hn_batch_group *group)
{
    if (!group)
        return;
    hn_sequences_free(group->inner);
    hn_adapter_close(group->own);
    hn_free(heap, group);
}

void hn_batch_groups_free(hn_batch_groups *g)
{
    if (!g->lm)
        return;
    hn_heap *heap = &g->lm->engine->heap;
    for (int i = 0; i <= HN_MOST_APART; i++)
        free_group(heap, g->at[i]);
    hn_free(heap, g->places);
    hn_free(heap, g->pieces);
    hn_free(heap, g->rows);
}

static hn_status make_group(const hn_batch_groups *g, hn_batch_group *group, hn_adapter *adapter)
{
    group->adapters = g->lm->adapters;
    HN_TRY(hn_adapters_add(&group->adapters, adapter));
    hn_sequences_options o = g->options; /* with the numbers of all, */
    o.n_open = g->apart;
    o.n_blocks = 0; /* blocks enough for those that may be open, */
    o.adapters = &group->adapters;
    o.n_adapters = 0; /* and no bank */
    return hn_sequences_new(&group->inner, &g->lm->engine->heap, g->lm->model, g->lm->run, &o);
}

hn_status hn_batch_group_add(hn_batch_groups *g, hn_adapter *adapter, int32_t *out)
{
    hn_heap *heap = &g->lm->engine->heap;
    int i = 1;
    while (i <= HN_MOST_APART && g->at[i])
        i++;
    HN_REQUIRE(i <= HN_MOST_APART, HN_ERR_BUSY, "%d adapters are run apart, and there may be no more", HN_MOST_APART);
    hn_batch_group *group = hn_alloc(heap, HN_TAG_STATE, sizeof *group);
    if (!group)
        return HN_ERR_MEMORY;
    const hn_status status = make_group(g, group, adapter);
    if (status != HN_OK) {
        free_group(heap, group);
        return status;
    }
    group->own = adapter;
    g->at[i] = group;
    *out = i;
    return HN_OK;
}

bool hn_batch_group_has(const hn_batch_groups *g, int32_t group)
{
    return group > 0 && group <= HN_MOST_APART && g->at[group];
}

hn_status hn_batch_group_remove(hn_batch_groups *g, int32_t group)
{
    for (int64_t i = 0; i < g->options.n_sequences; i++)
        HN_REQUIRE(g->places[i].group != group || !hn_batch_groups_of(g, g->places[i].name), HN_ERR_BUSY,
                   "adapter of sequence %d, which is open", g->places[i].name);
    HN_REQUIRE(!hn_sequences_lent(g->at[group]->inner), HN_ERR_BUSY, "%lld blocks of keys were computed with the adapter, and are kept",
               (long long)hn_sequences_lent(g->at[group]->inner));
    free_group(&g->lm->engine->heap, g->at[group]);
    g->at[group] = NULL;
    return HN_OK;
}

/* ---- sequences ---- */

hn_sequences *hn_batch_groups_of(const hn_batch_groups *g, int32_t sequence)
{
    if (sequence < 0)
        return NULL;
    const hn_batch_group *group = g->at[g->places[sequence % g->options.n_sequences].group];
    return group && hn_sequences_length(group->inner, sequence) >= 0 ? group->inner : NULL;
}

hn_status hn_batch_groups_find(const hn_batch_groups *g, int32_t sequence, hn_sequences **out)
{
    *out = hn_batch_groups_of(g, sequence);
    HN_REQUIRE(*out, HN_ERR_ARGUMENT, "sequence %d is not open", sequence);
    return HN_OK;
}

static hn_status free_place(const hn_batch_groups *g, hn_batch_place **out)
{
    for (int64_t i = 0; i < g->options.n_sequences; i++) {
        *out = &g->places[i];
        if (!hn_batch_groups_of(g, g->places[i].name))
            return HN_OK;
    }
    return hn_fail(HN_ERR_BUSY, "all of %lld sequences are open", (long long)g->options.n_sequences);
}

static int32_t next_name(const hn_batch_groups *g, const hn_batch_place *place)
{
    const int32_t n = (int32_t)g->options.n_sequences;
    return place->name < 0 ? (int32_t)(place - g->places) : hn_name_after(place->name, n);
}

hn_status hn_batch_groups_open(hn_batch_groups *g, int32_t group, int32_t slot, int32_t *sequence)
{
    hn_batch_place *place;
    HN_TRY(hn_sequences_check_slot(g->at[group]->inner, slot));
    HN_TRY(free_place(g, &place));
    const int32_t name = next_name(g, place);
    HN_TRY(hn_sequences_open_as(g->at[group]->inner, slot, name));
    *place = (hn_batch_place){ name, group };
    *sequence = name;
    return HN_OK;
}

hn_status hn_batch_groups_fork(hn_batch_groups *g, int32_t sequence, int64_t length, int32_t *out)
{
    hn_batch_place *place;
    hn_sequences *inner;
    HN_TRY(hn_batch_groups_find(g, sequence, &inner));
    HN_TRY(free_place(g, &place));
    const int32_t name = next_name(g, place);
    HN_TRY(hn_sequences_fork_as(inner, sequence, length, name));
    *place = (hn_batch_place){ name, g->places[sequence % g->options.n_sequences].group };
    *out = name;
    return HN_OK;
}

/* ---- steps ---- */

static int32_t group_of(const hn_batch_groups *g, const hn_lm_batch_piece *piece)
{
    return g->places[piece->sequence % g->options.n_sequences].group;
}

/* `rows`: those of this piece and the pieces after it; NULL: the last of each. */
static hn_piece inner_piece(const hn_lm_batch_piece *p, const int32_t *rows)
{
    return (hn_piece){ p->sequence, p->ids, (int64_t)p->n, p->wanted, rows };
}

static const int32_t *rows_after(const hn_lm_batch_piece *p, const int32_t *rows) { return rows ? rows + p->wanted : NULL; }

/* Before anything is run: nothing but memory and cancellation stops a step on its way. */
static hn_status check_step(const hn_batch_groups *g, const hn_lm_batch_piece *pieces, size_t n, const int32_t *rows,
                            int64_t *tokens)
{
    hn_sequences *inner;
    int64_t n_rows = 0;
    *tokens = 0;
    for (size_t i = 0; i < n; rows = rows_after(&pieces[i], rows), i++) {
        const hn_piece piece = inner_piece(&pieces[i], rows);
        HN_TRY(hn_batch_groups_find(g, pieces[i].sequence, &inner));
        HN_TRY(hn_sequences_check(inner, &piece));
        for (size_t j = 0; j < i; j++)
            HN_REQUIRE(pieces[j].sequence != pieces[i].sequence, HN_ERR_ARGUMENT,
                       "pieces %zu and %zu are both of sequence %d", j, i, pieces[i].sequence);
        *tokens += (int64_t)pieces[i].n;
        n_rows += pieces[i].wanted;
    }
    HN_REQUIRE(*tokens <= g->options.max_tokens && n_rows <= g->options.max_rows, HN_ERR_ARGUMENT,
               "a step of %lld tokens and %lld rows of logits: it takes %lld and %lld", (long long)*tokens,
               (long long)n_rows, (long long)g->options.max_tokens, (long long)g->options.max_rows);
    return HN_OK;
}

/* The pieces of one group, and where the rows that are wanted of them go among all. */
static int64_t take_group(hn_batch_groups *g, int32_t group, const hn_lm_batch_piece *pieces, size_t n, const int32_t *rows,
                          int64_t *tokens)
{
    int64_t n_pieces = 0, row = 0, at = 0;
    *tokens = 0;
    for (size_t i = 0; i < n; at += pieces[i].wanted, i++) {
        if (group_of(g, &pieces[i]) != group)
            continue;
        g->pieces[n_pieces++] = inner_piece(&pieces[i], rows ? rows + at : NULL);
        *tokens += (int64_t)pieces[i].n;
        for (int64_t j = 0; j < pieces[i].wanted; j++)
            g->rows[at + j] = (hn_batch_row){ group, row++ };
    }
    g->n_rows = at;
    return n_pieces;
}

/* A step has no more tokens than a window keeps beside itself, so that going back is always possible. */
static void take_back(hn_batch_groups *g, int32_t before, const hn_lm_batch_piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hn_sequences *inner = hn_batch_groups_of(g, pieces[i].sequence);
        if (group_of(g, &pieces[i]) < before)
            hn_sequences_trim(inner, pieces[i].sequence,
                              hn_sequences_length(inner, pieces[i].sequence) - (int64_t)pieces[i].n);
    }
}

typedef struct share {
    hn_engine *engine;
    double done, more; /* of the step, before this group and in it */
} share;

static void on_progress(void *context, double done)
{
    const share *s = context;
    HN_CALL_HOST();
    s->engine->progress(s->engine->progress_context, s->done + s->more * done);
}

hn_status hn_batch_groups_step(hn_batch_groups *g, const hn_lm_batch_piece *pieces, size_t n, const int32_t *rows)
{
    hn_engine *e = g->lm->engine;
    int64_t all, tokens;
    share progress = { .engine = e };
    const hn_run_options options = { .cancel = hn_engine_cancelled(e), .progress = e->progress ? on_progress : NULL,
                                     .progress_context = &progress };
    HN_TRY(check_step(g, pieces, n, rows, &all));
    g->n_rows = 0;
    for (int32_t group = 0; group <= HN_MOST_APART; group++) {
        const int64_t n_pieces = g->at[group] ? take_group(g, group, pieces, n, rows, &tokens) : 0;
        if (!n_pieces)
            continue;
        progress.more = (double)tokens / (double)all;
        const hn_status status = hn_sequences_step(g->at[group]->inner, g->pieces, n_pieces, &options);
        progress.done += progress.more;
        if (status != HN_OK) {
            take_back(g, group, pieces, n);
            g->n_rows = 0;
            return status;
        }
    }
    return HN_OK;
}

const float *hn_batch_groups_logits(const hn_batch_groups *g, size_t row)
{
    if (row >= (size_t)g->n_rows)
        return NULL;
    const hn_batch_row *at = &g->rows[row];
    return g->at[at->group] ? hn_sequences_logits(g->at[at->group]->inner, at->row) : NULL;
}
