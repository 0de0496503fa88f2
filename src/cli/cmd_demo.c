/* hone demo: proves the engine, then trains a small mixture-of-experts transformer until it has
 * memorised a text, and lets it recite. */
#include "base/clock.h"
#include "cli/command.h"
#include "cli/memorise.h"
#include "cli/progress.h"
#include "prove/prove.h"

#include <string.h>

typedef struct demo_args {
    int64_t seed, threads;
    bool no_proof;
} demo_args;

static const hn_option options[] = {
    HN_INT(demo_args, seed, "seed", "N", 1, INT32_MAX, "default 1"),
    HN_INT(demo_args, threads, "threads", "N", 1, 256, "default: one for each processor"),
    HN_FLAG(demo_args, no_proof, "no-proof", "train at once"),
    HN_OPTION_END,
};

static const char text[] =
    "A gradient is a promise about what happens if you take one small step. Most engines ask you "
    "to trust it. This one was checked against differences in double precision, under every plan "
    "of memory, every number of threads and every instruction set, before the first step was taken.";

static hn_status prove(const demo_args *args, hn_heap *heap, hn_str *certificate)
{
    const hn_prove_options o = { .seed = (uint64_t)args->seed, .progress = hn_progress };
    hn_report report;
    hn_report_init(&report, heap);
    const int64_t start = hn_clock_ns();
    hn_status status = hn_prove(heap, &o, &report);
    hn_progress_end();
    if (status == HN_OK) {
        hn_report_table(&report, certificate);
        const double seconds = (double)(hn_clock_ns() - start) / 1e9;
        hn_str_print(certificate, "%lld checks in %.1f s: %lld failed, %lld skipped\n",
                     (long long)hn_report_checks(&report), seconds,
                     (long long)hn_report_failures(&report), (long long)report.n_skipped);
        if (hn_report_failures(&report) || report.n_skipped)
            status = hn_fail(HN_ERR_PROOF, "%lld checks failed or were skipped: `hone prove` says which",
                             (long long)(hn_report_failures(&report) + report.n_skipped));
    }
    hn_report_free(&report);
    return status;
}

static hn_status train(const demo_args *args, hn_heap *heap, FILE *out)
{
    hn_device *device;
    const hn_device_options open = { .n_threads = (int)args->threads };
    HN_TRY(hn_backend_find("cpu")->open(&device, heap, &open));
    hn_memorised result;
    hn_status status = hn_memorise(heap, device, text, (uint64_t)args->seed, hn_progress, &result);
    hn_progress_end();
    device->backend->close(device);
    HN_TRY(status);
    fprintf(out, "trained %d steps in %.1f s: loss %.4f -> %.4f\n", result.n_steps, result.seconds,
            result.first_loss, result.last_loss);
    fprintf(out, "given    \"%.*s\"\nrecites  \"%s\"\n", HN_MEMORISE_PROMPT, text, result.recited);
    if (strcmp(result.recited, text + HN_MEMORISE_PROMPT))
        status = hn_fail(HN_ERR_PROOF, "what it recites is not the text");
    hn_free(heap, result.recited);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)operands;
    const demo_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str certificate = hn_str_on(&heap);
    hn_progress_begin();
    hn_status status = HN_OK;
    if (!args->no_proof) {
        fputs("proving every op, then whole transformers ...\n", out);
        fflush(out);
        status = prove(args, &heap, &certificate);
    }
    if (status == HN_OK) {
        fputs("training a mixture of 4 experts, 2 layers, until it knows a text by heart ...\n", out);
        fflush(out);
        status = train(args, &heap, out);
    }
    if (certificate.length)
        fprintf(out, "\ncertificate\n%s", certificate.text);
    hn_str_free(&certificate);
    return status;
}

static const demo_args defaults = { .seed = 1 };

const hn_command hn_cmd_demo = {
    .name = "demo",
    .operands = "",
    .summary = "prove the engine, then train a small mixture of experts before your eyes",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(demo_args),
    .run = run,
};
