/* hone prove: the certificate of this build on this machine. */
#include "base/os/clock.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/prove_model.h"
#include "prove/prove.h"

#include <string.h>

typedef struct prove_args {
    const char *ops;
    double time_limit;
    hn_prove_model_args model;
    hn_sink json;
} prove_args;

static const hn_option options[] = {
    HN_TEXT(prove_args, ops, "ops", "PATTERN", "only these ops, * and ? allowed, and no models"),
    HN_INT(prove_args, model.seed, "seed", "N", 1, INT64_MAX, "of all data; default 1"),
    HN_REAL(prove_args, time_limit, "time-limit", "SECONDS",
            "how long random shapes may be added; default 240, 0: none"),
    HN_INT(prove_args, model.threads, "threads", "N", 2, 8, "compare 1 to N threads; default: processors + 1"),
    HN_OUT(prove_args, json, "json", "FILE", "write the certificate"),
    HN_LIST(prove_args, model.files, "data", "FILE", "of a model: examples; may be given again"),
    HN_TEXT(prove_args, model.targets, "targets", "LIST", "of a model: what is trained, as hone train has it (all)"),
    HN_INT(prove_args, model.rank, "rank", "R", 1, 65536, "of low-rank changes (8)"),
    HN_INT(prove_args, model.directions, "directions", "N", 2, 1000, "of each tensor (2)"),
    HN_TEXT(prove_args, model.numerics, "numerics", "MODE", "of a model: f32 (the default), mixed; bf16, int8: of its logits"),
    HN_FLAG(prove_args, model.full, "full", "every layer, not one of every kind"),
    HN_GROUP("how examples become tokens"),
    HN_SETTINGS(prove_args, model.settings, hn_examples_setting),
    HN_OPTION_END,
};

static hn_status write_certificate(const hn_report *report, const hn_prove_options *o,
                                   double seconds, hn_heap *heap, hn_sink to)
{
    hn_str text = hn_str_on(heap);
    hn_status status = hn_prove_certificate(report, o, seconds, &text);
    const hn_span span = { text.text, text.length };
    if (status == HN_OK)
        status = hn_file_write(to, &span, 1);
    hn_str_free(&text);
    return status;
}

static hn_status print_report(const hn_report *report, double seconds, hn_heap *heap, FILE *out)
{
    hn_str table = hn_str_on(heap);
    hn_report_table(report, &table);
    const hn_status status = hn_str_status(&table);
    fputs(table.text, out);
    hn_str_free(&table);
    fprintf(out, "%lld checks in %.1f s: %lld failed, %lld skipped\n",
            (long long)hn_report_checks(report), seconds, (long long)hn_report_failures(report),
            (long long)report->n_skipped);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const prove_args *args = parsed;
    hn_prove_options o = { .ops = args->ops, .seed = (uint64_t)args->model.seed,
                           .time_s = args->time_limit, .max_threads = (int)args->model.threads,
                           .progress = hn_progress };
    hn_heap heap;
    hn_report report;
    hn_heap_init(&heap, NULL);
    hn_report_init(&report, &heap);
    HN_REQUIRE(!n_operands || !args->ops, HN_ERR_ARGUMENT, "--ops is of the build, not of a model");
    hn_str subject = hn_str_on(&heap);
    const int64_t start = hn_clock_ns();
    hn_progress_begin();
    hn_status status = n_operands ? hn_prove_model(&args->model, &heap, operands[0], &report, &subject)
                                  : hn_prove(&heap, &o, &report);
    hn_progress_end();
    if (n_operands) {
        fprintf(out, "%s\n", subject.text);
        o.subject = subject.text;
    }
    const double seconds = (double)(hn_clock_ns() - start) / 1e9;
    if (status == HN_OK)
        status = print_report(&report, seconds, &heap, out);
    if (status == HN_OK && args->json.path)
        status = write_certificate(&report, &o, seconds, &heap, args->json);
    const int64_t failed = hn_report_failures(&report), made = hn_report_checks(&report);
    const int64_t skipped = report.n_skipped;
    hn_report_free(&report);
    hn_str_free(&subject);
    if (status == HN_OK && skipped)
        return hn_fail(HN_ERR_PROOF, "%lld checks were due and could not be made",
                       (long long)skipped);
    if (status == HN_OK && failed)
        return hn_fail(HN_ERR_PROOF, "%lld of %lld checks failed", (long long)failed,
                       (long long)made);
    return status;
}

static const prove_args defaults = { .time_limit = 240,
                                     .model = { .seed = 1 } };

const hn_command hn_cmd_prove = {
    .name = "prove",
    .operands = "[MODEL]",
    .summary = "prove every gradient of this build on this machine, or of a model",
    .details = "Of a model, with --data: derivatives along directions of every trained tensor against\n"
               "differences of the loss, and equal bits for every plan, recomputation, micro-batch\n"
               "cut, thread count and instruction-set level; on one layer of every kind unless --full. In mixed\n"
               "numerics also how far the gradient is from f32's. In bf16 and int8, which train nothing,\n"
               "how far the logits are from f32's, and their bits, also in pieces and beside others.\n\n"
               "Without a model: backward against central differences in double precision; kernels against double\n"
               "precision; and equal bits for every plan, alias, thread count, instruction-set\n"
               "level, device split, recomputation and micro-batch cut. Exit status 1 if any\n"
               "check fails.\n",
    .example = "prove m.gguf --data d.jsonl",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(prove_args),
    .max_operands = 1,
    .run = run,
};
