/* hone bench: models in tokens a second, and beside another build of hone; kernels as shares of what the
 * machine can do, and beside other libraries, or held to the least share that they may have. */
#include "base/file.h"
#include "cli/bench.h"
#include "cli/bench_batches.h"
#include "cli/bench_beside.h"
#include "cli/bench_drafts.h"
#include "cli/bench_model.h"
#include "cli/command.h"
#include "cli/ignore_option.h"

#include <string.h>

typedef struct bench_args {
    const char *only, *beside, *drafts, *batches;
    hn_draft_args draft;
    hn_list blas;
    bool quick;
    hn_machine_args machine;
    hn_bench_model_args model; /* but its machine */
    hn_sink json;
} bench_args;

static const hn_option options[] = {
    HN_TEXT(bench_args, model.prompt, "prompt", "N,N", "of a model: lengths of prompts; default 512"),
    HN_INT(bench_args, model.generate, "generate", "N", 1, 1048576, "then tokens; default 64"),
    HN_INT(bench_args, model.repeat, "repeat", "N", 1, 99, "of which the median counts; default 3"),
    HN_TEXT(bench_args, model.cache, "cache", "TYPE", "as for run"),
    HN_FLAG(bench_args, model.mapped, "mapped", "weights where the file is mapped, not in panels"),
    HN_MACHINE_OPTIONS(bench_args, HN_NUMERICS_OF_RUNS),
    HN_TEXT(bench_args, beside, "beside", "PROGRAM", "of a model and a training step: another build of hone, in turn"),
    HN_TEXT(bench_args, batches, "batches", "N,N", "of a model: so many sequences decoded together"),
    HN_TEXT(bench_args, drafts, "drafts", "FILE.jsonl", "of a model: what guessing brings on these prompts, by their kind"),
    HN_DRAFT_OPTIONS(bench_args),
    HN_TEXT(bench_args, only, "only", "PART", "gemm, gemv, int8, formats, attention, rows, xent or step"),
    HN_FLAG(bench_args, quick, "quick", "fewer shapes and rounds"),
    HN_OUT(bench_args, json, "json", "FILE", "write the lines of the table there too"),
    HN_LIST(bench_args, model.ignore, "ignore", "KEY", HN_IGNORE_KEY_HELP),
    HN_LIST(bench_args, blas, "blas", "LIB.so", "OpenBLAS or BLIS beside ours"),
    HN_OPTION_END,
};

enum { GENERATE = 64, REPEAT = 3 }; /* where nothing is said */

static const hn_option_rule rules[] = {
    { "batches", HN_NOT_WITH, "beside|drafts", "expected neither --beside nor --drafts" },
    { "drafts", HN_NOT_WITH, "beside|prompt", "expected neither --beside nor --prompt" },
    { "draft|draft-ngram|draft-max|draft-numerics", HN_ONLY_WITH, "drafts", "expected --drafts, and prompts to guess after" },
    { NULL, 0, NULL, NULL },
};

static const struct {
    const char *name;
    hn_status (*run)(hn_bench *b);
    bool at_every_level; /* else at the strongest alone */
} parts[] = {
    { "gemm", hn_bench_matmul, true },   { "attention", hn_bench_attention, true },
    { "gemv", hn_bench_gemv, true },     { "rows", hn_bench_rows, true },
    { "int8", hn_bench_int8, true },     { "formats", hn_bench_formats, true },
    { "xent", hn_bench_loss, false },    { "step", hn_bench_step, false },
};
enum { N_PARTS = sizeof parts / sizeof *parts };

static void print_limits(hn_bench *b)
{
    hn_isa_text level;
    hn_racer racers[] = { hn_bench_fma(b), hn_bench_read(b), hn_bench_copy(b) };
    hn_bench_race(b, 3, racers);
    fprintf(b->out, "%s, threads %d: peak %.1f GFLOP/s, read %.1f GB/s, copy %.1f GB/s\n",
            hn_isa_name(b->isa, &level), b->n_threads, hn_racer_rate(&racers[0]),
            hn_racer_rate(&racers[1]), hn_racer_rate(&racers[2]));
}

/* Every part at one level and number of threads. */
static hn_status run_parts(hn_bench *b, hn_isa isa, int n_threads, const char *only)
{
    b->isa = isa;
    b->n_threads = n_threads;
    hn_families_init(&b->kernels, isa);
    HN_TRY(hn_pool_new(b->heap, n_threads, &b->pool));
    print_limits(b);
    hn_status status = HN_OK;
    for (int i = 0; i < N_PARTS && status == HN_OK; i++)
        if ((!only || !strcmp(only, parts[i].name)) && (parts[i].at_every_level || isa == b->best))
            status = parts[i].run(b);
    hn_pool_free(b->pool);
    b->pool = NULL;
    return status;
}

/* Formats at every weaker level where they alone are asked for; else all at AVX2. */
static hn_status run_weaker(hn_bench *b, const char *only)
{
    const bool at_all = only && !strcmp(only, "formats");
    for (int i = -1; i < HN_N_LEVELS; i++) {
        const hn_isa level = i < 0 ? 0 : hn_isa_level(i).with_implied;
        if ((level & b->best) == level && level != b->best && (at_all || level == HN_ISA(avx2)))
            HN_TRY(run_parts(b, level, 1, only));
    }
    return HN_OK;
}

static hn_status run_all(hn_bench *b, int n_threads, const char *only)
{
    fputs("The share is of the fma peak (products, attention, xent, step), of reading (gemv) or of "
          "copying (rows),\neach measured in turn with the line itself.\n\n"
          "part      level  threads, what                                      rate       share\n",
          b->out);
    HN_TRY(run_parts(b, b->best, 1, only));
    if (n_threads > 1)
        HN_TRY(run_parts(b, b->best, n_threads, only));
    return run_weaker(b, only);
}

static hn_status prepare(hn_bench *b, const bench_args *args, int n_threads)
{
    hn_isa asked = HN_ISA_ALL;
    HN_TRY(hn_isa_available(&b->best));
    if (args->machine.isa)
        HN_TRY(hn_isa_parse(args->machine.isa, &asked));
    HN_REQUIRE(!args->machine.isa || (asked & b->best) == asked, HN_ERR_UNSUPPORTED, "--isa %.60s: this processor has not all of it",
               args->machine.isa);
    b->best &= asked;
    for (int i = 0; i < args->blas.n; i++, b->n_peers++) {
        HN_REQUIRE(i < HN_BENCH_PEERS, HN_ERR_ARGUMENT, "%d libraries: expected at most %d",
                   args->blas.n, HN_BENCH_PEERS);
        HN_TRY(hn_bench_peer_open(args->blas.at[i], b->best, &b->peers[i]));
    }
    /* the largest of any level and part */
    hn_families_init(&b->kernels, b->best);
    const hn_gemm_args any = { .m = INT32_MAX, .n = INT32_MAX, .k = INT32_MAX, .blocks = true };
    const size_t product = hn_gemm_scratch_bytes(&b->kernels.gemm, &any), tile = sizeof(float) * HN_XENT_ROWS * HN_XENT_TILE;
    b->scratch_bytes = ((product + tile) * 2 + 4095) / 4096 * 4096;
    b->scratch = hn_alloc_array(b->heap, HN_TAG_WORKSPACE, (size_t)n_threads, b->scratch_bytes);
    b->shared = hn_alloc_array(b->heap, HN_TAG_WORKSPACE, HN_BENCH_SHARED, sizeof(float));
    b->from = hn_bench_floats(b, HN_BENCH_STREAM);
    b->to = hn_bench_floats(b, HN_BENCH_STREAM);
    return b->scratch && b->shared && b->from && b->to ? HN_OK : HN_ERR_MEMORY;
}

/* Medians of rounds, of the strongest level on one thread, which is timed by its own processor time. */
static hn_status run_gate(hn_bench *b)
{
    enum { ROUNDS = 3 };
    HN_REQUIRE(b->best & HN_ISA(avx2), HN_ERR_UNSUPPORTED,
               "bench gate: shares are known of avx2 and better: this processor has neither");
    b->gate->is_avx512 = (b->best & HN_ISA(avx512)) != 0;
    for (int i = 0; i < ROUNDS; i++)
        HN_TRY(run_parts(b, b->best, 1, NULL));
    for (int i = 0; i < ROUNDS && b->best != HN_ISA(avx2); i++)
        HN_TRY(run_parts(b, HN_ISA(avx2), 1, "formats"));
    return hn_bench_gate_judge(b->gate, b->json, b->out);
}

static hn_status bench_kernels(const bench_args *args, hn_bench_gate *gate, hn_heap *heap, hn_json_writer *json,
                               FILE *out)
{
    bool is_known = !args->only;
    for (int i = 0; i < N_PARTS; i++)
        is_known = is_known || !strcmp(args->only, parts[i].name);
    HN_REQUIRE(is_known, HN_ERR_ARGUMENT, "--only %.40s: expected a part", args->only);
    hn_pool *pool;
    HN_TRY(hn_machine_of_host(&args->machine, "a kernel"));
    size_t limit;
    HN_TRY(hn_machine_memory(&args->machine, &limit));
    heap->limit_bytes = limit;
    HN_TRY(hn_pool_new(heap, (int)args->machine.threads, &pool));
    const int n_threads = hn_pool_threads(pool);
    hn_pool_free(pool);
    hn_bench b = { .heap = heap, .out = out, .json = json, .gate = gate, .is_quick = gate || args->quick,
                   .again = gate || args->quick ? 3 : 4 };
    hn_status status = prepare(&b, args, n_threads);
    if (status == HN_OK)
        status = gate ? run_gate(&b) : run_all(&b, n_threads, args->only);
    hn_free(heap, b.to), hn_free(heap, b.from);
    hn_free(heap, b.shared), hn_free(heap, b.scratch);
    return status;
}

static hn_status bench_gate(const bench_args *args, hn_heap *heap, hn_json_writer *json, FILE *out)
{
    hn_bench_gate *gate = hn_alloc(heap, HN_TAG_TEXT, sizeof *gate);
    const hn_status status = gate ? bench_kernels(args, gate, heap, json, out) : HN_ERR_MEMORY;
    hn_free(heap, gate);
    return status;
}

/* Neither takes what would change nothing of it. */
static hn_status check_of_kernels(const bench_args *args, const char *what)
{
    const hn_bench_model_args *m = &args->model;
    const char *const said = m->prompt ? "prompt" : m->generate ? "generate" : m->repeat ? "repeat" : m->cache ? "cache" : m->mapped ? "mapped"
                             : args->beside ? "beside" : args->batches ? "batches" : args->drafts ? "drafts"
                             : args->machine.numerics ? "numerics" : NULL;
    HN_REQUIRE(!said, HN_ERR_ARGUMENT, "--%s: %s: expected a model", said, what);
    HN_REQUIRE(!m->ignore.n, HN_ERR_ARGUMENT, "--ignore %s: %s: expected a model, whose key it would be", m->ignore.at[0], what);
    HN_REQUIRE(strcmp(what, "gate") || (!args->only && !args->blas.n && !args->machine.threads && !args->quick), HN_ERR_ARGUMENT,
               "bench gate: expected no --only, --blas, --quick or --threads: every row is judged, on one thread");
    return HN_OK;
}

static hn_status check_of_model(const bench_args *args)
{
    const char *const said = args->only ? "only" : args->quick ? "quick" : args->blas.n ? "blas" : NULL;
    HN_REQUIRE(!said, HN_ERR_ARGUMENT, "--%s: it is of kernels: expected none with a model", said);
    return HN_OK;
}

static hn_status run_what(const bench_args *args, const char *what, hn_heap *heap, hn_json_writer *json, FILE *out)
{
    hn_bench_model_args model = args->model;
    model.machine = args->machine;
    const bool is_model = strcmp(what, "kernels") && strcmp(what, "gate");
    HN_TRY(is_model ? check_of_model(args) : check_of_kernels(args, what));
    model.generate = model.generate ? model.generate : GENERATE;
    model.repeat = model.repeat ? model.repeat : REPEAT;
    if (!is_model)
        return strcmp(what, "gate") ? bench_kernels(args, NULL, heap, json, out) : bench_gate(args, heap, json, out);
    if (args->batches)
        return hn_bench_batches(heap, what, args->batches, &model, json, out);
    if (args->drafts)
        return hn_bench_drafts(heap, what, args->drafts, &model, &args->draft, json, out);
    return args->beside ? hn_bench_beside(heap, what, args->beside, &model, json, out)
                        : hn_bench_model(heap, what, &model, json, out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const bench_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap);
    hn_json_writer writer = hn_json_write_to(&text), *json = args->json.path ? &writer : NULL;
    hn_json_begin_array(&writer);
    hn_status status = run_what(args, operands[0], &heap, json, out);
    hn_json_end_array(&writer);
    if (status == HN_OK)
        status = hn_str_status(&text);
    const hn_span span = { text.text, text.length };
    if (status == HN_OK && args->json.path)
        status = hn_file_write(args->json, &span, 1);
    hn_str_free(&text);
    return status;
}

const hn_command hn_cmd_bench = {
    .name = "bench",
    .operands = "MODEL | kernels | gate",
    .summary = "measure a model, or kernels against what this machine can do",
    .details = "Kernels are measured on one thread and on --threads, and at --isa and weaker levels. Rates vary with whoever else uses the machine: only the\n"
               "shares within one line mean something. gate holds medians of them to the least that they\n"
               "may be, and fails.",
    .example = "bench kernels",
    .options = options,
    .rules = rules,
    .args_size = sizeof(bench_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
