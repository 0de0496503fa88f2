/* Tokens are numbers, not text, and what comes next is not drawn: every repeat does the same work,
 * after one that is not counted, which brings the weights into memory. */
#include "cli/bench_model.h"

#include "base/os/clock.h"
#include "cli/ignore_option.h"
#include "cli/machine.h"
#include "infer/session.h"

#include <stdlib.h>

enum { MOST_REPEATS = 99 };

typedef struct bench {
    const hn_bench_model_args *args;
    hn_session *session;
    int32_t *tokens;
    int64_t vocab;
    double prompt[MOST_REPEATS], generate[MOST_REPEATS]; /* seconds */
} bench;

hn_status hn_bench_lengths(const char *option, const char *text, int64_t *out, int *n)
{
    *n = 0;
    for (const char *at = text;; at++) {
        char *end;
        const long long length = strtoll(at, &end, 10);
        HN_REQUIRE(end != at && (!*end || *end == ',') && length > 0 && length <= INT32_MAX / 2 &&
                       *n < HN_BENCH_LENGTHS,
                   HN_ERR_ARGUMENT, "%s %.60s: expected up to %d numbers separated by commas",
                   option, text, HN_BENCH_LENGTHS);
        out[(*n)++] = length;
        at = end;
        if (!*at)
            return HN_OK;
    }
}

/* Sequences of two rounds have not even their first token in common. */
static void fill(const bench *b, int64_t n, int64_t round)
{
    for (int64_t i = 0; i < n; i++)
        b->tokens[i] = (int32_t)((i * 7919 + round + 1) % b->vocab);
}

static double seconds_since(int64_t start)
{
    return (double)(hn_clock_ns() - start) * 1e-9;
}

static hn_status run_once(bench *b, int64_t length, int64_t round, double *prompt, double *generate)
{
    fill(b, length + b->args->generate, round);
    int64_t start = hn_clock_ns();
    HN_TRY(hn_session_sync(b->session, b->tokens, length, NULL));
    *prompt = seconds_since(start);
    start = hn_clock_ns();
    for (int64_t i = 1; i <= b->args->generate; i++)
        HN_TRY(hn_session_sync(b->session, b->tokens, length + i, NULL));
    *generate = seconds_since(start);
    return HN_OK;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static hn_status measure(bench *b, int64_t length, hn_json_writer *json, FILE *out)
{
    double first, second;
    const int64_t n = b->args->repeat;
    HN_TRY(run_once(b, length < 8 ? length : 8, MOST_REPEATS, &first, &second));
    for (int64_t i = 0; i < n; i++)
        HN_TRY(run_once(b, length, i, &b->prompt[i], &b->generate[i]));
    const double prompt = (double)length / median(b->prompt, n);
    const double generate = (double)b->args->generate / median(b->generate, n);
    fprintf(out, "%8lld %14.2f %8lld %14.2f\n", (long long)length, prompt,
            (long long)b->args->generate, generate);
    if (!json)
        return HN_OK;
    hn_json_begin_object(json);
    hn_json_put_double(json, "prompt", (double)length);
    hn_json_put_double(json, "prompt_tokens_per_second", prompt);
    hn_json_put_double(json, "generate", (double)b->args->generate);
    hn_json_put_double(json, "generate_tokens_per_second", generate);
    hn_json_put_double(json, "repeats", (double)n);
    hn_json_end_object(json);
    return HN_OK;
}

static hn_status run_lengths(bench *b, hn_heap *heap, const hn_model *model, const hn_machine *machine,
                             hn_json_writer *json, FILE *out)
{
    int64_t lengths[HN_BENCH_LENGTHS], most = 0;
    int n;
    hn_session_options o = { .packs = !b->args->mapped };
    HN_TRY(hn_session_cache_parse(b->args->cache, &o.cache));
    HN_TRY(hn_bench_lengths("--prompt", b->args->prompt ? b->args->prompt : "512", lengths, &n));
    for (int i = 0; i < n; i++)
        most = lengths[i] > most ? lengths[i] : most;
    o.n_ctx = most + b->args->generate;
    HN_TRY(hn_session_new(&b->session, heap, model, machine->run, &o));
    b->vocab = hn_model_hparams(model)->n_vocab;
    b->tokens = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)o.n_ctx, sizeof *b->tokens);
    hn_status status = b->tokens ? HN_OK : HN_ERR_MEMORY;
    fprintf(out, "%8s %14s %8s %14s   median of %lld, %s\n", "prompt", "tokens/s", "then",
            "tokens/s", (long long)b->args->repeat, hn_numerics_name(machine->run.numerics));
    for (int i = 0; i < n && status == HN_OK; i++)
        status = measure(b, lengths[i], json, out);
    return status;
}

hn_status hn_bench_model(hn_heap *heap, const char *path, const hn_bench_model_args *args,
                         hn_json_writer *json, FILE *out)
{
    hn_machine machine;
    hn_model *model;
    char text[96];
    bench *b = hn_alloc(heap, HN_TAG_TEXT, sizeof *b);
    if (!b)
        return HN_ERR_MEMORY;
    b->args = args;
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    hn_status status = hn_model_open(heap, path, &ignored, &model);
    if (status == HN_OK) {
        status = hn_machine_open(&machine, heap, &args->machine);
        if (status == HN_OK) {
            machine.devices[0]->backend->describe(machine.devices[0], text, sizeof text);
            fprintf(out, "%s: %s\n", path, text);
            status = run_lengths(b, heap, model, &machine, json, out);
            hn_session_free(b->session);
            hn_machine_close(&machine);
        }
        hn_model_close(model);
    }
    hn_free(heap, b->tokens);
    hn_free(heap, b);
    return status;
}
