/* hone merge: an adapter's changes in the weights, and what of them is left there. */
#include "base/json.h"
#include "cli/cache_folder.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/progress.h"
#include "cli/template_options.h"
#include "hone/adapter.h"

typedef struct merge_args {
    const char *type, *held;
    hn_template_args template;
    hn_sink out;
    double budget, keep;
    hn_machine_args machine;
    bool force, json;
    hn_list ignore;
} merge_args;

static const hn_option options[] = {
    HN_OUT(merge_args, out, "out", "FILE", "the merged model, a GGUF file"),
    HN_TEXT(merge_args, type, "type", "TYPE", "of changed matrices (that which each has)"),
    HN_REAL(merge_args, budget, "budget", "KL",
            "KL(adapter || merged) at most, nats a token (0.01)"),
    HN_REAL(merge_args, keep, "keep", "SHARE", "of the update that must survive (0.9)"),
    HN_TEMPLATE_OPTIONS(merge_args, template, "this chat template", ", for the merged model; default: what it was trained with"),
    HN_TEXT(merge_args, held, "held", "FILE", "text to measure KL on (one of hone's own)"),
    HN_FLAG(merge_args, force, "force", "keep the file whatever is measured"),
    HN_DEVICE_OPTIONS(merge_args),
    HN_FLAG(merge_args, json, "json", "for programs"),
    HN_IGNORE_OPTION(merge_args),
    HN_OPTION_END,
};

static const merge_args defaults = { .budget = 0.01, .keep = 0.9 };

/* ---- what was measured ---- */

static void print_table(const hn_lm_merge_report *report, FILE *out)
{
    const hn_lm_merge_sum *sum = hn_lm_merge_report_sum(report);
    fprintf(out, "%-40s %6s %6s  %10s  %8s  %8s\n", "tensor", "from", "to", "|update|", "kept %", "error");
    for (size_t i = 0; i < sum->n_tensors; i++) {
        const hn_lm_merged *t = hn_lm_merge_report_tensor(report, i);
        fprintf(out, "%-40s %6s %6s  %10.3g  %8.2f  %8.3g\n", t->name, t->from, t->to, t->update, 100 * t->kept,
                t->error);
    }
    fprintf(out, "%.2f %% of the update survives; KL(adapter || merged) %.3g, KL(adapter || base) %.3g "
                 "nats a token\n", 100 * sum->kept, sum->kl, sum->kl_base);
}

static hn_status print_json(const hn_lm_merge_report *report, FILE *out)
{
    const hn_lm_merge_sum *sum = hn_lm_merge_report_sum(report);
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_put_double(&json, "kept", sum->kept);
    hn_json_put_double(&json, "kl", sum->kl);
    hn_json_put_double(&json, "kl_base", sum->kl_base);
    hn_json_key(&json, "fits");
    hn_json_add_bool(&json, sum->fits != 0);
    if (sum->better)
        hn_json_put_text(&json, "better", sum->better);
    hn_json_key(&json, "tensors");
    hn_json_begin_array(&json);
    for (size_t i = 0; i < sum->n_tensors; i++) {
        const hn_lm_merged *t = hn_lm_merge_report_tensor(report, i);
        hn_json_begin_object(&json);
        hn_json_put_text(&json, "name", t->name);
        hn_json_put_text(&json, "from", t->from);
        hn_json_put_text(&json, "to", t->to);
        hn_json_put_double(&json, "update", t->update);
        hn_json_put_double(&json, "weight", t->weight);
        hn_json_put_double(&json, "kept", t->kept);
        hn_json_put_double(&json, "error", t->error);
        hn_json_end_object(&json);
    }
    hn_json_end_array(&json);
    hn_json_end_object(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

/* 0 is meant where it was said. */
static double said(double x)
{
    return x > 0 ? x : -1;
}

static hn_status merge(const merge_args *args, hn_engine *engine, char **operands, FILE *out)
{
    const hn_lm_merge_options o = {
        .size = sizeof o, .type = args->type, .budget = said(args->budget), .keep = said(args->keep),
        .held = args->held, .template_file = args->template.file, .template_name = args->template.name,
        .digests = hn_cache_folder(), .ignored_keys = args->ignore.at, .n_ignored_keys = args->ignore.n,
        .is_forced = args->force, .overwrite = args->out.over == HN_OVER_OLD,
    };
    hn_lm_merge_report *report;
    hn_progress_of(engine);
    hn_status status = hn_lm_merge(engine, operands[0], operands[1], args->out.path, &o, &report);
    hn_progress_end();
    if (report && !args->json)
        print_table(report, out);
    if (report && args->json) {
        const hn_status printed = print_json(report, out);
        status = status == HN_OK ? printed : status;
    }
    hn_lm_merge_report_free(report);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const merge_args *args = parsed;
    hn_engine *engine;
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out FILE");
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    const hn_status status = merge(args, engine, operands, out);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_merge = {
    .name = "merge",
    .operands = "MODEL.gguf ADAPTER.gguf",
    .summary = "write an adapter into the weights, and measure what survives",
    .details = "Refused, with nothing written, if too little of the update survives in the weights' type, or\n"
               "the merged model is too far from model and adapter; then a type that would do is named.\n",
    .example = "merge m.gguf run/adapter.gguf --out merged.gguf",
    .options = options,
    .letters = "o:out",
    .defaults = &defaults,
    .args_size = sizeof(merge_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
