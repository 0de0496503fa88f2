/* Both programs are started anew for every round, this one too, so neither finds what the other warmed. The other
 * may be older: what it says is read from its file of JSON, and what only one of them measures is left out. */
#include "cli/bench_beside.h"

#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/program.h"
#include "cli/bench_gate.h"

#include <errno.h>
#include <string.h>

enum { MOST_KINDS = 40, MOST_ROUNDS = 99, MOST_WORDS = 96, MOST_PATH = 4104 };

typedef struct kind { /* what both measure */
    char what[96];
    int n[2];
    double rate[2][MOST_ROUNDS];
} kind;

typedef struct beside {
    hn_heap *heap;
    const char *program[2]; /* this one, the other */
    const char *model;
    const hn_bench_model_args *args;
    char file[MOST_PATH];
    int n_kinds;
    kind kinds[MOST_KINDS];
} beside;

static hn_status note(beside *b, int which, const char *what, double rate)
{
    int i = 0;
    while (i < b->n_kinds && strcmp(b->kinds[i].what, what))
        i++;
    HN_REQUIRE(i < MOST_KINDS && (i == b->n_kinds || b->kinds[i].n[which] < MOST_ROUNDS), HN_ERR_UNSUPPORTED,
               "%s: more lines than %d", b->program[which], MOST_KINDS);
    if (i == b->n_kinds)
        snprintf(b->kinds[b->n_kinds++].what, sizeof b->kinds[0].what, "%s", what);
    b->kinds[i].rate[which][b->kinds[i].n[which]++] = rate;
    return HN_OK;
}

/* A line of `bench MODEL`, or of `bench kernels`. */
static hn_status read_line(beside *b, int which, const hn_json *line)
{
    char what[96];
    double n, rate;
    if (hn_json_get(line, "part")) {
        int64_t threads;
        HN_TRY(hn_json_want_int(hn_json_get(line, "threads"), "threads", &threads));
        HN_TRY(hn_json_want_double(hn_json_get(line, "rate"), "rate", &rate));
        snprintf(what, sizeof what, "training step, %d threads, GFLOP/s", (int)threads);
        return note(b, which, what, rate);
    }
    HN_TRY(hn_json_want_double(hn_json_get(line, "prompt"), "prompt", &n));
    HN_TRY(hn_json_want_double(hn_json_get(line, "prompt_tokens_per_second"), "prompt_tokens_per_second", &rate));
    snprintf(what, sizeof what, "prompt of %.0f, tokens/s", n);
    HN_TRY(note(b, which, what, rate));
    HN_TRY(hn_json_want_double(hn_json_get(line, "generate_tokens_per_second"), "generate_tokens_per_second", &rate));
    snprintf(what, sizeof what, "generating after %.0f, tokens/s", n);
    return note(b, which, what, rate);
}

static hn_status read_lines(beside *b, int which)
{
    void *text;
    size_t bytes;
    hn_json_text *json = NULL;
    HN_TRY(hn_file_read(b->heap, b->file, 1 << 24, &text, &bytes));
    hn_status status = hn_json_read(b->heap, b->file, text, bytes, &json);
    const hn_json *line = NULL;
    for (size_t i = 0; status == HN_OK && (line = hn_json_at(hn_json_root(json), i)) != NULL; i++)
        status = read_line(b, which, line);
    hn_json_free(json);
    hn_free(b->heap, text);
    return status;
}

static hn_status run_one(beside *b, int which, const char *const *words)
{
    hn_os_remove(b->file);
    const int status = hn_os_program_run(b->program[which], words);
    HN_REQUIRE(status >= 0, HN_ERR_IO, "%s: %s", b->program[which], strerror(errno));
    HN_REQUIRE(status == 0, HN_ERR_IO, "%s bench: ended with status %d", b->program[which], status);
    return read_lines(b, which);
}

static hn_status run_model(beside *b, int which)
{
    char generate[24], threads[24];
    const char *words[MOST_WORDS + 1] = { b->program[which], "bench", b->model, "--json", b->file, "--repeat", "1" };
    int n = 7;
    const hn_bench_model_args *a = b->args;
    const struct {
        const char *word, *value;
    } with[] = { { "--prompt", a->prompt },     { "--cache", a->cache }, { "--numerics", a->machine.numerics },
                 { "--generate", generate },    { "--threads", threads },
                 { "--device", a->machine.device }, { "--experts", a->machine.experts },
                 { "--isa", a->machine.isa }, { "--memory", a->machine.memory } };
    snprintf(generate, sizeof generate, "%lld", (long long)a->generate);
    snprintf(threads, sizeof threads, "%lld", (long long)a->machine.threads);
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (with[i].value && strcmp(with[i].value, "0"))
            words[n++] = with[i].word, words[n++] = with[i].value;
    if (a->mapped)
        words[n++] = "--mapped";
    if (a->machine.fit)
        words[n++] = "--fit";
    if (a->machine.stream)
        words[n++] = "--stream";
    for (int i = 0; i < a->ignore.n; i++) {
        HN_REQUIRE(n + 2 <= MOST_WORDS, HN_ERR_ARGUMENT, "--ignore: %d keys: expected fewer", a->ignore.n);
        words[n++] = "--ignore", words[n++] = a->ignore.at[i];
    }
    words[n] = NULL;
    return run_one(b, which, words);
}

static hn_status run_step(beside *b, int which)
{
    char threads[24];
    const char *words[16] = { b->program[which], "bench", "kernels", "--only", "step", "--quick", "--json", b->file };
    int n = 8;
    const hn_machine_args *m = &b->args->machine;
    const struct {
        const char *word, *value;
    } with[] = { { "--threads", m->threads ? threads : NULL }, { "--isa", m->isa }, { "--memory", m->memory } };
    snprintf(threads, sizeof threads, "%lld", (long long)m->threads);
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (with[i].value)
            words[n++] = with[i].word, words[n++] = with[i].value;
    return run_one(b, which, words);
}

/* Who begins changes from round to round. */
static hn_status run_rounds(beside *b)
{
    for (int64_t round = 0; round < b->args->repeat; round++)
        for (int i = 0; i < 2; i++)
            HN_TRY(run_model(b, (int)((round + i) % 2)));
    for (int64_t round = 0; round < b->args->repeat; round++)
        for (int i = 0; i < 2; i++)
            HN_TRY(run_step(b, (int)((round + i) % 2)));
    return HN_OK;
}

static void print(beside *b, hn_json_writer *json, FILE *out)
{
    fprintf(out, "medians of %lld, in turn        this         beside  this / beside   %s\n", (long long)b->args->repeat,
            b->program[1]);
    for (int i = 0; i < b->n_kinds; i++) {
        kind *k = &b->kinds[i];
        if (!k->n[0] || !k->n[1])
            continue; /* one of them does not measure it */
        const double own = hn_bench_median(k->rate[0], k->n[0]), other = hn_bench_median(k->rate[1], k->n[1]);
        fprintf(out, "%-36s %10.2f %10.2f %8.3f\n", k->what, own, other, own / other);
        if (!json)
            continue;
        hn_json_begin_object(json);
        hn_json_key(json, "what"), hn_json_add_string(json, k->what);
        hn_json_key(json, "this"), hn_json_add_double(json, own);
        hn_json_key(json, "beside"), hn_json_add_double(json, other);
        hn_json_key(json, "ratio"), hn_json_add_double(json, own / other);
        hn_json_end_object(json);
    }
}

hn_status hn_bench_beside(hn_heap *heap, const char *model, const char *program, const hn_bench_model_args *args,
                          hn_json_writer *json, FILE *out)
{
    char own[MOST_PATH], folder[MOST_PATH - 16];
    HN_REQUIRE(hn_os_program_path(own, sizeof own), HN_ERR_UNSUPPORTED, "this program's own file: %s", strerror(errno));
    const int n = snprintf(folder, sizeof folder, "%s/hone-beside-XXXXXX", hn_os_folder_for_temporary());
    HN_REQUIRE(n > 0 && (size_t)n < sizeof folder && hn_os_folder_make_temporary(folder), HN_ERR_IO, "%s: %s", folder,
               strerror(errno));
    beside *b = hn_alloc(heap, HN_TAG_TEXT, sizeof *b);
    hn_status status = b ? HN_OK : HN_ERR_MEMORY;
    if (b) {
        *b = (beside){ .heap = heap, .program = { own, program }, .model = model, .args = args };
        snprintf(b->file, sizeof b->file, "%s/bench.json", folder);
        status = run_rounds(b);
        if (status == HN_OK)
            print(b, json, out);
        hn_os_remove(b->file);
    }
    hn_os_folder_remove(folder);
    hn_free(heap, b);
    return status;
}
