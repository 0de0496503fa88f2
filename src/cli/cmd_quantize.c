/* hone quantize: a GGUF file with its weights in fewer bits. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "cli/quantize_report.h"

typedef struct quantize_args {
    hn_sink result;
    const char *imatrix;
    hn_list keep, ignore;
    hn_machine_args machine;
    bool requantize;
} quantize_args;

static const hn_option options[] = {
    HN_RESULT(quantize_args, result, 1),
    HN_TEXT(quantize_args, imatrix, "imatrix", "FILE", "weigh errors by the activations there"),
    HN_LIST(quantize_args, keep, "keep", "PATTERN=TYPE", "for tensors so named; the first that names one counts; may be repeated"),
    HN_IGNORE_OPTION(quantize_args),
    HN_FLAG(quantize_args, requantize, "requantize", "allow weights that were quantised before"),
    HN_THREADS_OPTION(quantize_args),
    HN_OPTION_END,
};

static hn_status quantize(const quantize_args *args, char **operands, hn_engine *engine, FILE *out)
{
    hn_quantize_report report = { 0 };
    const char *asked;
    const hn_lm_quantize_options o = {
        .size = sizeof o, .imatrix = args->imatrix, .keep = args->keep.at, .n_keep = args->keep.n,
        .requantize = args->requantize, .ignored_keys = args->ignore.at, .n_ignored_keys = args->ignore.n,
        .overwrite = args->result.over == HN_OVER_OLD, .on_tensor = hn_quantize_report_add, .context = &report,
    };
    hn_progress_of(engine);
    hn_status status = hn_lm_quantize(engine, operands[0], args->result.path, operands[2], &o);
    hn_progress_end();
    if (status == HN_OK)
        status = hn_lm_recipe_type(operands[2], &asked);
    if (status == HN_OK)
        hn_quantize_report_print(&report, asked, out, stderr);
    return hn_made(status, engine, args->result.path, out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const quantize_args *args = parsed;
    hn_engine *engine;
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    const hn_status status = quantize(args, operands, engine, out);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_quantize = {
    .name = "quantize",
    .operands = "IN.gguf OUT.gguf TYPE",
    .summary = "encode a model's weights in fewer bits",
    .chosen = "TYPE",
    .words = hn_lm_recipe,
    .example = "quantize m.gguf m-q4_k_m.gguf q4_k_m",
    .options = options,
    .args_size = sizeof(quantize_args),
    .min_operands = 3,
    .max_operands = 3,
    .run = run,
};
