/* Sequences decoded together, through the library's batches: one token of each a step. Numbers of sequences take turns, round
 * after round, so that what else the machine does falls on all of them. */
#include "cli/bench_batches.h"

#include "base/os/clock.h"
#include "cli/open_model.h"
#include "hone/batch.h"

#include <stdlib.h>

enum { MOST_REPEATS = 99, PROMPT = 32 };

typedef struct bench {
    const hn_bench_model_args *args;
    hn_opened opened;
    hn_lm_batch *batch;
    int64_t counts[HN_BENCH_LENGTHS], most, prompt, vocab;
    int n;
    int32_t *ids;              /* [prompt + generate] */
    int32_t *names;            /* [most] */
    hn_lm_batch_piece *pieces; /* [most] */
    int32_t *next;             /* [most]: the piece's token */
    double seconds[HN_BENCH_LENGTHS][MOST_REPEATS];
} bench;

/* Sequences have not even their first token in common. */
static int32_t id_of(const bench *b, int64_t sequence, int64_t at)
{
    return (int32_t)((at * 7919 + sequence * 31 + 1) % b->vocab);
}

static hn_status begin(bench *b, int64_t n)
{
    for (int64_t s = 0; s < n; s++) {
        HN_TRY(hn_lm_batch_open(b->batch, -1, &b->names[s]));
        for (int64_t i = 0; i < b->prompt; i++)
            b->ids[i] = id_of(b, s, i);
        const hn_lm_batch_piece piece = { sizeof piece, b->names[s], 0, b->ids, (size_t)b->prompt };
        HN_TRY(hn_lm_batch_step(b->batch, &piece, 1));
    }
    return HN_OK;
}

/* One thread is timed by its own processor time, which other programs disturb less. */
static int64_t now(const bench *b)
{
    return b->args->machine.threads == 1 ? hn_clock_thread_ns() : hn_clock_ns();
}

static hn_status go_on(bench *b, int64_t n, double *seconds)
{
    const int64_t start = now(b);
    for (int64_t i = 0; i < b->args->generate; i++) {
        for (int64_t s = 0; s < n; s++) {
            b->next[s] = id_of(b, s, b->prompt + i);
            b->pieces[s] = (hn_lm_batch_piece){ sizeof *b->pieces, b->names[s], 1, &b->next[s], 1 };
        }
        HN_TRY(hn_lm_batch_step(b->batch, b->pieces, (size_t)n));
    }
    *seconds = (double)(now(b) - start) * 1e-9;
    return HN_OK;
}

static hn_status run_once(bench *b, int64_t n, double *seconds)
{
    HN_TRY(begin(b, n));
    HN_TRY(go_on(b, n, seconds));
    for (int64_t s = 0; s < n; s++)
        HN_TRY(hn_lm_batch_close(b->batch, b->names[s]));
    return HN_OK;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(bench *b, hn_json_writer *json, FILE *out)
{
    double first = 0;
    const int64_t n = b->args->repeat;
    const char *mode = b->args->machine.numerics ? b->args->machine.numerics : "f32";
    fprintf(out, "%9s %12s %12s %9s   median of %lld%s, %s\n", "sequences", "tokens/s", "each", "times", (long long)n,
            b->args->machine.threads == 1 ? ", processor time" : "", mode);
    for (int i = 0; i < b->n; i++) {
        qsort(b->seconds[i], (size_t)n, sizeof **b->seconds, compare);
        const double middle = (b->seconds[i][n / 2] + b->seconds[i][(n - 1) / 2]) / 2;
        const double rate = (double)(b->counts[i] * b->args->generate) / middle;
        first = i ? first : rate;
        fprintf(out, "%9lld %12.2f %12.2f %9.2f\n", (long long)b->counts[i], rate, rate / (double)b->counts[i], rate / first);
        if (!json)
            continue;
        hn_json_begin_object(json);
        hn_json_key(json, "sequences"), hn_json_add_int(json, b->counts[i]);
        hn_json_key(json, "tokens_per_second"), hn_json_add_double(json, rate);
        hn_json_key(json, "numerics"), hn_json_add_string(json, mode);
        hn_json_end_object(json);
    }
}

static hn_status prepare(bench *b, const char *counts, hn_heap *heap)
{
    int64_t lengths[HN_BENCH_LENGTHS];
    int n_lengths = 1;
    HN_TRY(hn_bench_lengths("--batches", counts, b->counts, &b->n));
    for (int i = 0; i < b->n; i++)
        b->most = b->counts[i] > b->most ? b->counts[i] : b->most;
    if (b->args->prompt)
        HN_TRY(hn_bench_lengths("--prompt", b->args->prompt, lengths, &n_lengths));
    HN_REQUIRE(n_lengths == 1, HN_ERR_ARGUMENT, "--batches: expected one length of prompts, found %d", n_lengths);
    b->prompt = b->args->prompt ? lengths[0] : PROMPT;
    const int64_t context = b->prompt + b->args->generate;
    const hn_lm_batch_options o = { .size = sizeof o, .sequences = b->most, .context = context, .rows = b->most,
                                    .tokens = b->prompt > b->most ? b->prompt : b->most, .cache = b->args->cache,
                                    .mapped = b->args->mapped };
    HN_TRY(hn_lm_batch_new(&b->batch, b->opened.lm, &o));
    b->vocab = hn_lm_vocabulary(b->opened.lm);
    b->ids = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)context, sizeof *b->ids);
    b->names = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)b->most, sizeof *b->names);
    b->pieces = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)b->most, sizeof *b->pieces);
    b->next = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)b->most, sizeof *b->next);
    return b->ids && b->names && b->pieces && b->next ? HN_OK : HN_ERR_MEMORY;
}

static hn_status measure(bench *b)
{
    double unused;
    HN_TRY(run_once(b, b->counts[0], &unused)); /* which brings the weights into memory */
    for (int64_t round = 0; round < b->args->repeat; round++)
        for (int i = 0; i < b->n; i++)
            HN_TRY(run_once(b, b->counts[i], &b->seconds[i][round]));
    return HN_OK;
}

hn_status hn_bench_batches(hn_heap *heap, const char *model, const char *counts, const hn_bench_model_args *args,
                           hn_json_writer *json, FILE *out)
{
    bench *b = hn_alloc(heap, HN_TAG_TEXT, sizeof *b);
    if (!b)
        return HN_ERR_MEMORY;
    b->args = args;
    hn_status status = hn_opened_open(&b->opened, HN_OPEN_WEIGHTS, model, &args->machine, &args->ignore, NULL);
    if (status == HN_OK)
        status = prepare(b, counts, heap);
    if (status == HN_OK)
        status = measure(b);
    if (status == HN_OK)
        print(b, json, out);
    hn_lm_batch_free(b->batch);
    hn_opened_close(&b->opened);
    hn_free(heap, b->next), hn_free(heap, b->pieces), hn_free(heap, b->names), hn_free(heap, b->ids);
    hn_free(heap, b);
    return status;
}
