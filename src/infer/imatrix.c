/* One thread adds, in the order of the text, so the sums are the same on any machine. Experts count their own
 * tokens, and one that saw none has a count of 0. */
#include "infer/imatrix.h"

#include "io/weights_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tally {
    const nn_weight *weight;
    int64_t experts, inputs;
    double *sums;   /* experts * inputs */
    int64_t *counts; /* tokens an expert saw */
} tally;

typedef struct collection {
    hn_heap *heap;
    hn_forward *forward;
    tally *tallies;
    int n;
} collection;

static hn_status begin(collection *c)
{
    c->n = hn_forward_uses(c->forward);
    c->tallies = hn_alloc_array(c->heap, HN_TAG_STATE, (size_t)c->n, sizeof *c->tallies);
    return c->tallies ? HN_OK : HN_ERR_MEMORY;
}

static hn_status open_tally(collection *c, tally *t, const nn_weight *w)
{
    if (t->weight)
        return HN_OK;
    t->experts = w->type.rank == 3 ? w->type.dim[0] : 1;
    t->inputs = hn_last_dim(&w->type);
    t->sums = hn_alloc_array(c->heap, HN_TAG_STATE, (size_t)(t->experts * t->inputs),
                             sizeof *t->sums);
    t->counts = hn_alloc_array(c->heap, HN_TAG_STATE, (size_t)t->experts, sizeof *t->counts);
    t->weight = w;
    return t->sums && t->counts ? HN_OK : HN_ERR_MEMORY;
}

static void add_row(tally *t, const float *x, int64_t expert)
{
    double *sums = t->sums + expert * t->inputs;
    for (int64_t i = 0; i < t->inputs; i++)
        sums[i] += (double)x[i] * (double)x[i];
    t->counts[expert]++;
}

/* x is [T, K], the same for every expert of a token, or [T, U, K], one for each. */
static hn_status add_use(collection *c, int i)
{
    const nn_weight *w;
    hn_tensor x, ids;
    tally *t = &c->tallies[i];
    HN_TRY(hn_forward_use(c->forward, i, &w, &x, &ids));
    HN_TRY(open_tally(c, t, w));
    const float *data = x.data;
    const int64_t rows = hn_count(&x.type) / t->inputs;
    if (!ids.data) {
        for (int64_t r = 0; r < rows; r++)
            add_row(t, data + r * t->inputs, 0);
        return HN_OK;
    }
    const int64_t slots = hn_count(&ids.type), used = hn_last_dim(&ids.type);
    for (int64_t s = 0; s < slots; s++) {
        const int32_t expert = ((const int32_t *)ids.data)[s];
        const int64_t row = rows == slots ? s : s / used;
        if (expert >= 0)
            add_row(t, data + row * t->inputs, expert);
    }
    return HN_OK;
}

static hn_status run_chunks(collection *c, const int32_t *tokens, int64_t n_chunks,
                            const hn_imatrix_options *o)
{
    int32_t *chunk = hn_alloc_array(c->heap, HN_TAG_STATE, (size_t)o->chunk, sizeof *chunk);
    hn_status status = chunk ? HN_OK : HN_ERR_MEMORY;
    for (int64_t k = 0; k < n_chunks && status == HN_OK; k++) {
        memcpy(chunk, tokens + k * o->chunk, (size_t)o->chunk * sizeof *chunk);
        if (o->bos >= 0)
            chunk[0] = o->bos;
        status = hn_forward_run(c->forward, chunk, o->chunk, NULL);
        for (int i = 0; i < c->n && status == HN_OK; i++)
            status = add_use(c, i);
        if (status == HN_OK && o->progress &&
            !o->progress(o->progress_context, (double)(k + 1) / (double)n_chunks, "imatrix"))
            status = hn_fail(HN_ERR_CANCELLED, "interrupted after %lld of %lld chunks",
                             (long long)k + 1, (long long)n_chunks);
    }
    hn_free(c->heap, chunk);
    return status;
}

static hn_status write_keys(hn_meta *meta, int64_t n_chunks, const hn_imatrix_options *o)
{
    const hn_span dataset = { o->dataset, strlen(o->dataset) };
    HN_TRY(hn_meta_set_text(meta, "general.type", "imatrix"));
    HN_TRY(hn_meta_set_strings(meta, "imatrix.datasets", &dataset, 1));
    HN_TRY(hn_meta_set_int(meta, "imatrix.chunk_count", HN_META_U32, n_chunks));
    return hn_meta_set_int(meta, "imatrix.chunk_size", HN_META_U32, o->chunk);
}

/* Two tensors of each tally, in pairs. Tied weights are used more than once: the first stands. */
static bool is_first(const collection *c, int i)
{
    for (int k = 0; k < i; k++)
        if (c->tallies[k].weight == c->tallies[i].weight)
            return false;
    return true;
}

/* The file is of f32: a sum that it cannot hold would be read by nobody. */
static hn_status round_sums(const tally *t, float *values)
{
    for (int64_t i = 0; i < t->experts * t->inputs; i++) {
        values[i] = (float)t->sums[i];
        HN_REQUIRE(isfinite(values[i]), HN_ERR_NUMERIC, "what goes into %s: the squares of input %lld come to %g: f32 cannot hold it",
                   t->weight->name, (long long)(i % t->inputs), t->sums[i]);
    }
    return HN_OK;
}

static hn_status put_tally(hn_heap *heap, hn_weights_writer *writer, size_t at, const tally *t)
{
    const size_t n = (size_t)(t->experts * t->inputs);
    float *values = hn_alloc_array(heap, HN_TAG_FILE, n, sizeof *values);
    if (!values)
        return HN_ERR_MEMORY;
    hn_status status = round_sums(t, values);
    if (status == HN_OK)
        status = hn_weights_writer_put(writer, at, 0, values, n * sizeof *values);
    for (int64_t e = 0; e < t->experts; e++)
        values[e < (int64_t)n ? e : 0] = (float)t->counts[e];
    if (status == HN_OK)
        status = hn_weights_writer_put(writer, at + 1, 0, values,
                                       (size_t)t->experts * sizeof *values);
    hn_free(heap, values);
    return status;
}

static hn_status describe(hn_heap *heap, const tally *t, hn_weight_entry *pair)
{
    const int64_t sums[2] = { t->experts, t->inputs }, counts[2] = { t->experts, 1 };
    char name[192];
    snprintf(name, sizeof name, "%s.in_sum2", t->weight->name);
    pair[0].name = hn_strdup(heap, HN_TAG_FILE, name);
    snprintf(name, sizeof name, "%s.counts", t->weight->name);
    pair[1].name = hn_strdup(heap, HN_TAG_FILE, name);
    HN_TRY(hn_type_make(&pair[0].type, HN_F32, 2, sums));
    HN_TRY(hn_type_make(&pair[1].type, HN_F32, 2, counts));
    return pair[0].name && pair[1].name ? HN_OK : HN_ERR_MEMORY;
}

static hn_status put_all(collection *c, hn_weights_writer *writer)
{
    size_t at = 0;
    hn_status status = HN_OK;
    for (int i = 0; i < c->n && status == HN_OK; i++) {
        if (!is_first(c, i))
            continue;
        status = put_tally(c->heap, writer, at, &c->tallies[i]);
        at += 2;
    }
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

static hn_status write_file(collection *c, hn_sink out, hn_meta *meta)
{
    hn_weights_writer *writer;
    size_t n = 0;
    hn_weight_entry *entries =
        hn_alloc_array(c->heap, HN_TAG_FILE, 2 * (size_t)c->n, sizeof *entries);
    hn_status status = entries ? HN_OK : HN_ERR_MEMORY;
    for (int i = 0; i < c->n && status == HN_OK; i++) {
        if (!is_first(c, i))
            continue;
        status = describe(c->heap, &c->tallies[i], entries + n);
        n += 2;
    }
    if (status == HN_OK)
        status = hn_gguf_create(c->heap, out, meta, entries, n, &writer);
    if (status == HN_OK)
        status = put_all(c, writer);
    for (size_t i = 0; i < n; i++)
        hn_free(c->heap, (void *)(uintptr_t)entries[i].name);
    hn_free(c->heap, entries);
    return status;
}

static hn_status collect(collection *c, const int32_t *tokens, size_t n, hn_sink out,
                         const hn_imatrix_options *o)
{
    int64_t n_chunks = (int64_t)n / o->chunk;
    HN_REQUIRE(n_chunks > 0, HN_ERR_ARGUMENT, "the text has %zu tokens: a chunk takes %lld", n,
               (long long)o->chunk);
    if (o->max_chunks && n_chunks > o->max_chunks)
        n_chunks = o->max_chunks;
    HN_TRY(begin(c));
    HN_TRY(run_chunks(c, tokens, n_chunks, o));
    hn_meta meta = hn_meta_on(c->heap, out.path);
    hn_status status = write_keys(&meta, n_chunks, o);
    if (status == HN_OK)
        status = write_file(c, out, &meta);
    hn_meta_free(&meta);
    return status;
}

hn_status hn_imatrix_write(hn_heap *heap, const hn_model *model, hn_run_spec run,
                           const int32_t *tokens, size_t n, hn_sink out,
                           const hn_imatrix_options *options)
{
    collection c = { .heap = heap };
    const hn_forward_options o = { .max_tokens = options->chunk, .wants_uses = true };
    hn_status status = hn_forward_new(&c.forward, heap, model, run, &o);
    if (status == HN_OK)
        status = collect(&c, tokens, n, out, options);
    for (int i = 0; c.tallies && i < c.n; i++) {
        hn_free(heap, c.tallies[i].sums);
        hn_free(heap, c.tallies[i].counts);
    }
    hn_free(heap, c.tallies);
    hn_forward_free(c.forward);
    return status;
}
