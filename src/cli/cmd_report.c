/* hone report: report.html of a run, from its folder. */
#include "cli/command.h"
#include "train/report.h"

static const hn_option options[] = { HN_OPTION_END };

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)parsed, (void)n_operands;
    char path[4096];
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_run_report_write(&heap, operands[0], path));
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
