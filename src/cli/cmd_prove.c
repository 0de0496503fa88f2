/* hone prove: the certificate of this build on this machine, or of a model. */
#include "cli/cache_folder.h"
#include "cli/data_report.h"
#include "cli/machine_options.h"
#include "cli/progress.h"
#include "hone/prove.h"

#include <string.h>

typedef struct prove_args {
    const char *ops, *targets;
    double time_limit;
    hn_settings settings;
    hn_list files;
    int64_t rank, directions, seed;
    hn_machine_args machine;
    bool full;
    hn_sink json;
} prove_args;

static const hn_option options[] = {
    HN_TEXT(prove_args, ops, "ops", "PATTERN", "only these ops, * and ? allowed, and no models"),
    HN_INT(prove_args, seed, "seed", "N", 1, INT64_MAX, "of all data; default 1"),
    HN_REAL(prove_args, time_limit, "time-limit", "SECONDS",
            "how long random shapes may be added; default 240, 0: none"),
    HN_OUT(prove_args, json, "json", "FILE", "write the certificate"),
    HN_LIST(prove_args, files, "data", "FILE", "of a model: examples; may be given again"),
    HN_TEXT(prove_args, targets, "targets", "LIST", "of a model: what is trained, as hone train has it (all)"),
    HN_INT(prove_args, rank, "rank", "R", 1, 65536, "of low-rank changes (8)"),
    HN_INT(prove_args, directions, "directions", "N", 2, 1000, "of each tensor (2)"),
    HN_FLAG(prove_args, full, "full", "of a model: every layer, not one of every kind"),
    HN_PROOF_OPTIONS(prove_args),
    HN_GROUP("how examples become tokens"),
    HN_SETTINGS(prove_args, settings, hn_examples_setting),
    HN_OPTION_END,
};

/* ---- what is proved ---- */

static hn_status prove_build(const prove_args *args, hn_engine *engine, hn_certificate **out)
{
    const hn_engine_prove_options o = { .size = sizeof o, .ops = args->ops, .seed = (uint64_t)args->seed,
                                        .seconds = args->time_limit >= 0 ? args->time_limit : 240, .n_threads = (int32_t)args->machine.threads };
    return hn_engine_prove(engine, &o, out);
}

static hn_status prove_model(const prove_args *args, hn_engine *engine, const char *model, hn_certificate **out)
{
    hn_examples_prove_options o = { .size = sizeof o, .targets = args->targets, .rank = args->rank,
                                    .directions = args->directions, .seed = (uint64_t)args->seed,
                                    .n_threads = (int32_t)args->machine.threads, .is_full = args->full };
    hn_examples *examples;
    HN_TRY(hn_machine_numerics(&args->machine, &o.numerics));
    HN_TRY(hn_examples_told(&examples, engine, model, &args->files, &args->settings, hn_cache_folder()));
    const hn_status status = hn_examples_prove(examples, &o, out);
    hn_examples_close(examples);
    return status;
}

/* ---- showing ---- */

static hn_status print_table(const hn_certificate *certificate, hn_heap *heap, FILE *out)
{
    size_t bytes;
    HN_TRY(hn_certificate_table(certificate, NULL, 0, &bytes));
    char *text = hn_alloc(heap, HN_TAG_TEXT, bytes + 1);
    if (!text)
        return HN_ERR_MEMORY;
    const hn_status status = hn_certificate_table(certificate, text, bytes + 1, NULL);
    if (status == HN_OK)
        fputs(text, out);
    hn_free(heap, text);
    return status;
}

static hn_status show(const prove_args *args, const hn_certificate *certificate, bool is_of_model, FILE *out)
{
    const hn_certificate_sum *sum = hn_certificate_get_sum(certificate);
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    if (is_of_model || args->machine.device)
        fprintf(out, "%s\n", sum->subject);
    HN_TRY(print_table(certificate, &heap, out));
    fprintf(out, "%lld checks in %.1f s: %lld failed, %lld skipped\n", (long long)sum->n_checks, sum->seconds,
            (long long)sum->n_failed, (long long)sum->n_skipped);
    return args->json.path ? hn_certificate_write(certificate, args->json.path, args->json.over == HN_OVER_OLD) : HN_OK;
}

/* The processor is proved whatever is asked for, alone and beside itself; of others a proof chooses what lies where. */
static hn_status check_devices(const hn_machine_args *m)
{
    const char *const said = m->experts ? "experts" : m->fit ? "fit" : m->stream ? "stream" : NULL;
    HN_REQUIRE(!said, HN_ERR_ARGUMENT, "--%s: a proof says itself what lies where", said);
    for (const char *at = m->device; at && strcmp(m->device, "cpu"); at = strchr(at, ','), at += at ? 1 : 0)
        HN_REQUIRE(strcspn(at, ",") != 3 || memcmp(at, "cpu", 3), HN_ERR_ARGUMENT,
                   "--device %.60s: the processors are proved whatever is asked for: expected devices beside cpu", m->device);
    return HN_OK;
}

/* Nothing that is said is passed over. */
static hn_status check_what_is_told(const prove_args *args, bool is_of_model)
{
    const char *const of_build = args->ops ? "ops" : args->time_limit >= 0 ? "time-limit" : NULL;
    const char *const said = args->targets ? "targets" : args->rank ? "rank" : args->directions ? "directions"
                             : args->machine.numerics ? "numerics" : args->full ? "full" : args->files.n ? "data"
                             : args->settings.n ? args->settings.at[0].of->name : NULL;
    HN_REQUIRE(!is_of_model || !of_build, HN_ERR_ARGUMENT, "--%s is of the build, not of a model", of_build);
    HN_REQUIRE(is_of_model || !said, HN_ERR_ARGUMENT, "--%s is of a model: expected MODEL", said);
    return check_devices(&args->machine);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const prove_args *args = parsed;
    hn_machine_args machine = args->machine;
    hn_engine *engine;
    hn_certificate *certificate = NULL;
    HN_TRY(check_what_is_told(args, n_operands > 0));
    machine.threads = 0; /* the engine's read files: those that are compared are the proof's own */
    HN_TRY(hn_machine_engine(&machine, &engine));
    hn_progress_of(engine);
    hn_status status = n_operands ? prove_model(args, engine, operands[0], &certificate)
                                  : prove_build(args, engine, &certificate);
    hn_progress_end();
    if (certificate) { /* also of what did not hold: that is the last word, unless the rest fails */
        const hn_status shown = show(args, certificate, n_operands > 0, out);
        status = shown == HN_OK ? status : shown;
    }
    hn_certificate_free(certificate);
    hn_machine_engine_free(engine);
    return status;
}

static const prove_args defaults = { .time_limit = -1 /* not said */, .seed = 1 };

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
               "check fails.\n\n"
               "With --device LIST all of it on each of these too, by itself and, where its backend promises that,\n"
               "to the processors' bits.\n",
    .example = "prove m.gguf --data d.jsonl",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(prove_args),
    .max_operands = 1,
    .run = run,
};
