/* hone report: report.html of a run, from its folder. */
#include "cli/command.h"
#include "cli/machine_options.h"
#include "hone/finetune.h"

static const hn_option options[] = { HN_OPTION_END };

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)parsed, (void)n_operands;
    char path[4096];
    hn_engine *engine;
    HN_TRY(hn_machine_engine(&(hn_machine_args){ .threads = 1 }, &engine));
    const hn_status status = hn_finetune_report(engine, operands[0], path, sizeof path, NULL);
    hn_machine_engine_free(engine);
    HN_TRY(status);
    fprintf(out, "%s\n", path);
    return HN_OK;
}

const hn_command hn_cmd_report = {
    .name = "report",
    .operands = "RUN_DIR",
    .summary = "show a run as one page: curves, experts, samples, hash",
    .details = "Also of a run that has not ended; hone train writes it at the end by itself.\n",
    .example = "report run",
    .options = options,
    .args_size = 1,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
