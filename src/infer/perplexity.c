/* Logits that are compared with another run's are read from its file where they lie, row by row in the same order;
 * they are refused unless they are of the same tokens. */
#include "infer/perplexity.h"

#include "base/mathfn.h"
#include "infer/log_sum.h"
#include "io/safetensors.h"
#include "io/weights_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sums in the order of the text: the same result on any number of threads. */
typedef struct sums {
    int64_t n;
    double sum, squares;
} sums;

typedef struct judge {
    hn_heap *heap;
    const hn_perplexity_options *o;
    hn_run_spec run;
    hn_forward *forward;
    int64_t vocab, n_chunks, first; /* of a chunk, the first row that is judged */
    const int32_t *tokens;
    hn_weights_writer *writer; /* of what is saved */
    hn_safetensors saved;
    const float *other; /* the saved logits */
    sums loss, divergence, agreement;
} judge;

static void add(sums *s, double value)
{
    s->n++;
    s->sum += value;
    s->squares += value * value;
}

static hn_estimate mean_of(const sums *s)
{
    hn_estimate m = { .n = s->n };
    if (!s->n)
        return m;
    const double n = (double)s->n;
    m.mean = s->sum / n;
    const double spread = s->squares / n - m.mean * m.mean;
    m.error = s->n > 1 && spread > 0 ? sqrt(spread / (n - 1)) : 0;
    return m;
}

/* `row`: of the saved logits. */
static hn_status compare(judge *j, const float *logits, double sum, int64_t best, int64_t row)
{
    const float *other = j->other + row * j->vocab;
    int64_t other_best;
    const double other_sum = hn_log_sum(other, j->vocab, &other_best);
    double divergence = 0;
    for (int64_t i = 0; i < j->vocab; i++) {
        const double p = (double)other[i] - other_sum, q = (double)logits[i] - sum;
        divergence += hn_math_exp(p) * (p - q);
    }
    HN_REQUIRE(isfinite(divergence), HN_ERR_NUMERIC, "%s: its logits of row %lld are not finite", j->o->against, (long long)row);
    add(&j->divergence, divergence);
    add(&j->agreement, other_best == best);
    return HN_OK;
}

/* Row t of a chunk foretells its token t + 1. */
static hn_status judge_chunk(judge *j, int64_t chunk)
{
    hn_tensor t;
    HN_TRY(hn_forward_logits(j->forward, &t));
    const float *logits = t.data;
    const int64_t n = j->o->chunk - 1 - j->first;
    for (int64_t i = 0; i < n; i++) {
        const float *row = logits + (j->first + i) * j->vocab;
        const int32_t next = j->tokens[chunk * j->o->chunk + j->first + i + 1];
        int64_t best;
        const double sum = hn_log_sum(row, j->vocab, &best);
        HN_REQUIRE(isfinite(sum), HN_ERR_NUMERIC, "chunk %lld, token %lld: the logits are not finite",
                   (long long)chunk, (long long)(j->first + i));
        add(&j->loss, sum - (double)row[next]);
        if (j->other)
            HN_TRY(compare(j, row, sum, best, chunk * n + i));
    }
    const size_t bytes = (size_t)(n * j->vocab) * sizeof *logits;
    return j->writer ? hn_weights_writer_put(j->writer, 0, (uint64_t)chunk * bytes,
                                             logits + j->first * j->vocab, bytes)
                     : HN_OK;
}

static hn_status run_chunks(judge *j)
{
    int32_t *chunk = hn_alloc_array(j->heap, HN_TAG_STATE, (size_t)j->o->chunk, sizeof *chunk);
    hn_status status = chunk ? HN_OK : HN_ERR_MEMORY;
    for (int64_t k = 0; k < j->n_chunks && status == HN_OK; k++) {
        memcpy(chunk, j->tokens + k * j->o->chunk, (size_t)j->o->chunk * sizeof *chunk);
        if (j->o->bos >= 0)
            chunk[0] = j->o->bos;
        status = hn_forward_run(j->forward, chunk, j->o->chunk, NULL);
        if (status == HN_OK)
            status = judge_chunk(j, k);
        if (status == HN_OK && j->o->progress &&
            !j->o->progress(j->o->progress_context, (double)(k + 1) / (double)j->n_chunks,
                            "perplexity"))
            status = hn_fail(HN_ERR_CANCELLED, "interrupted after %lld of %lld chunks",
                             (long long)k + 1, (long long)j->n_chunks);
    }
    hn_free(j->heap, chunk);
    return status;
}

enum { CUT_TEXT = 64 };

/* How the text was cut: rows of other cuts are of other places, of as many tokens. */
static const char *cut_of(const judge *j, char text[CUT_TEXT])
{
    if (j->o->bos < 0)
        snprintf(text, CUT_TEXT, "%lld", (long long)j->o->chunk);
    else
        snprintf(text, CUT_TEXT, "%lld, each after token %d", (long long)j->o->chunk, j->o->bos);
    return text;
}

/* What is saved: the logits, and the tokens that they were judged on. */
static hn_status open_writer(judge *j)
{
    const int64_t rows = j->n_chunks * (j->o->chunk - 1 - j->first);
    const int64_t dim[2] = { rows, j->vocab }, text[1] = { j->n_chunks * j->o->chunk };
    hn_weight_entry entries[2] = { { .name = "logits" }, { .name = "tokens" } };
    HN_TRY(hn_type_make(&entries[0].type, HN_F32, 2, dim));
    HN_TRY(hn_type_make(&entries[1].type, HN_I32, 1, text));
    hn_meta meta = hn_meta_on(j->heap, j->o->save.path);
    char cut[CUT_TEXT];
    hn_status status = hn_meta_set_text(&meta, "numerics", hn_numerics_definition(j->run.numerics));
    if (status == HN_OK)
        status = hn_meta_set_text(&meta, "cut", cut_of(j, cut));
    if (status == HN_OK)
        status = hn_safetensors_create(j->heap, j->o->save, &meta, entries, 2, &j->writer);
    hn_meta_free(&meta);
    HN_TRY(status);
    return hn_weights_writer_put(j->writer, 1, 0, j->tokens, (size_t)text[0] * sizeof(int32_t));
}

static const hn_weight_entry *find(const hn_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

/* Logits of any mode are compared, but not of one that was defined anew since. */
static hn_status check_definition(judge *j)
{
    hn_span recorded;
    hn_numerics numerics;
    char word[64] = "";
    HN_TRY(hn_meta_string(&j->saved.meta, "numerics", &recorded));
    if (recorded.data)
        memcpy(word, recorded.data, recorded.bytes < sizeof word ? recorded.bytes : sizeof word - 1);
    const hn_status status = hn_numerics_recorded(recorded.data ? word : NULL, &numerics);
    hn_word_text all;
    HN_REQUIRE(status == HN_OK && numerics != HN_NUMERICS_MIXED_1, HN_ERR_UNSUPPORTED,
               "%s: its logits are of numerics '%s': expected %s", j->o->against, word, hn_numerics_definitions(&all));
    return HN_OK;
}

static hn_status check_cut(judge *j)
{
    hn_span recorded;
    char cut[CUT_TEXT];
    HN_TRY(hn_meta_string(&j->saved.meta, "cut", &recorded));
    cut_of(j, cut);
    HN_REQUIRE(recorded.data, HN_ERR_FORMAT, "%s: it says nothing of its chunks: expected what --save of 0.3.0 or later wrote",
               j->o->against);
    HN_REQUIRE(recorded.bytes == strlen(cut) && !memcmp(recorded.data, cut, recorded.bytes), HN_ERR_FORMAT,
               "%s: its chunks are '%.*s': expected '%s'", j->o->against,
               (int)(recorded.bytes < CUT_TEXT ? recorded.bytes : CUT_TEXT), (const char *)recorded.data, cut);
    return HN_OK;
}

static hn_status open_other(judge *j)
{
    const int64_t rows = j->n_chunks * (j->o->chunk - 1 - j->first);
    HN_TRY(hn_safetensors_open(j->heap, j->o->against, &j->saved));
    HN_TRY(check_definition(j));
    HN_TRY(check_cut(j));
    const hn_weight_entry *logits = find(&j->saved, "logits"), *tokens = find(&j->saved, "tokens");
    HN_REQUIRE(logits && tokens && logits->type.dtype == HN_F32 && tokens->type.dtype == HN_I32 &&
                   logits->type.rank == 2 && (uintptr_t)logits->data % sizeof(float) == 0,
               HN_ERR_FORMAT, "%s: expected what --save wrote", j->o->against);
    HN_REQUIRE(logits->type.dim[0] == rows && logits->type.dim[1] == j->vocab, HN_ERR_FORMAT,
               "%s: logits of %lld tokens over %lld: expected %lld over %lld", j->o->against,
               (long long)logits->type.dim[0], (long long)logits->type.dim[1], (long long)rows,
               (long long)j->vocab);
    HN_REQUIRE(tokens->bytes == (uint64_t)(j->n_chunks * j->o->chunk) * sizeof(int32_t) &&
                   !memcmp(tokens->data, j->tokens, (size_t)tokens->bytes),
               HN_ERR_FORMAT, "%s: its tokens are others: another text or tokenizer",
               j->o->against);
    j->other = (const float *)(const void *)logits->data;
    return HN_OK;
}

static hn_status judge_text(judge *j, const hn_model *model, size_t n)
{
    const hn_forward_options o = { .max_tokens = j->o->chunk, .cache = j->o->cache, .adapters = j->o->adapters };
    HN_REQUIRE(!hn_model_embeds_only(model), HN_ERR_UNSUPPORTED,
               "%s only embeds texts: it foretells nothing", hn_model_arch(model)->name);
    j->n_chunks = (int64_t)n / j->o->chunk;
    HN_REQUIRE(j->n_chunks > 0, HN_ERR_ARGUMENT, "the text has %zu tokens: a chunk takes %lld", n,
               (long long)j->o->chunk);
    if (j->o->max_chunks && j->n_chunks > j->o->max_chunks)
        j->n_chunks = j->o->max_chunks;
    if (j->o->against)
        HN_TRY(open_other(j));
    HN_TRY(hn_forward_new(&j->forward, j->heap, model, j->run, &o));
    if (j->o->save.path)
        HN_TRY(open_writer(j));
    HN_TRY(run_chunks(j));
    hn_weights_writer *const writer = j->writer;
    j->writer = NULL;
    return writer ? hn_weights_writer_finish(writer) : HN_OK;
}

hn_status hn_perplexity_run(hn_heap *heap, const hn_model *model, hn_run_spec run,
                            const int32_t *tokens, size_t n,
                            const hn_perplexity_options *options, hn_perplexity *out)
{
    judge j = { .heap = heap, .run = run, .o = options, .tokens = tokens, .first = options->chunk / 2 - 1,
                .vocab = hn_model_hparams(model)->n_vocab };
    *out = (hn_perplexity){ 0 };
    const hn_status status = judge_text(&j, model, n);
    hn_weights_writer_abandon(j.writer);
    hn_forward_free(j.forward);
    hn_safetensors_close(&j.saved);
    if (status != HN_OK)
        return status;
    *out = (hn_perplexity){ mean_of(&j.loss), mean_of(&j.divergence), mean_of(&j.agreement) };
    return HN_OK;
}
