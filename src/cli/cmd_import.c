/* hone import: a PEFT adapter as a LoRA in GGUF. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "hone/adapter.h"

typedef struct import_args {
    hn_sink result;
    const char *base, *type, *name;
    hn_machine_args machine;
    hn_list ignore;
} import_args;

static const hn_option options[] = {
    HN_RESULT(import_args, result, 1),
    HN_TEXT(import_args, base, "base", "MODEL", "a GGUF file or directory that it is for"),
    HN_TEXT(import_args, type, "type", "TYPE", "f32, f16 or bf16; default f32"),
    HN_TEXT(import_args, name, "name", "TEXT", "general.name; default: the directory's"),
    HN_THREADS_OPTION(import_args),
    HN_IGNORE_OPTION(import_args),
    HN_OPTION_END,
};

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const import_args *args = parsed;
    hn_engine *engine;
    const hn_lm_import_options o = { .size = sizeof o, .type = args->type, .name = args->name,
                                     .ignored_keys = args->ignore.at, .n_ignored_keys = args->ignore.n,
                                     .overwrite = args->result.over == HN_OVER_OLD };
    HN_REQUIRE(args->base, HN_ERR_ARGUMENT, "expected --base MODEL: what the adapter is for");
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    hn_progress_of(engine);
    hn_status status = hn_lm_import_adapter(engine, operands[0], args->base, args->result.path, &o);
    hn_progress_end();
    status = hn_made(status, engine, args->result.path, out);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_import = {
    .name = "import",
    .operands = "PEFT_DIR OUT.gguf",
    .summary = "write a PEFT adapter as a LoRA in GGUF",
    .example = "import peft adapter.gguf --base m.gguf",
    .options = options,
    .args_size = sizeof(import_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
