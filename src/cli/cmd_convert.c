/* hone convert: a Hugging Face directory as a GGUF file. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "hone/files.h"

typedef struct convert_args {
    hn_sink result;
    const char *type, *name;
    hn_list ignore;
    hn_machine_args machine;
} convert_args;

static const hn_option options[] = {
    HN_RESULT(convert_args, result, 1),
    HN_TEXT(convert_args, type, "type", "TYPE", "of the weights; default: as they are"),
    HN_TEXT(convert_args, name, "name", "TEXT", "general.name; default: the directory's"),
    HN_IGNORE_OPTION(convert_args),
    HN_THREADS_OPTION(convert_args),
    HN_OPTION_END,
};

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const convert_args *args = parsed;
    hn_engine *engine;
    const hn_lm_convert_options o = { .size = sizeof o, .type = args->type, .name = args->name,
                                      .ignored_keys = args->ignore.at, .n_ignored_keys = args->ignore.n,
                                      .overwrite = args->result.over == HN_OVER_OLD };
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    hn_progress_of(engine);
    hn_status status = hn_lm_convert(engine, operands[0], args->result.path, &o);
    hn_progress_end();
    status = hn_made(status, engine, args->result.path, out);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_convert = {
    .name = "convert",
    .operands = "DIR OUT.gguf",
    .summary = "write a Hugging Face model directory as a GGUF file",
    .example = "convert Qwen3-0.6B qwen3.gguf",
    .options = options,
    .args_size = sizeof(convert_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
