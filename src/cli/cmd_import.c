/* hone import: a PEFT adapter as a LoRA in GGUF. */
#include "cli/ignore_option.h"
#include "cli/command.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "convert/adapter_import.h"

#include <string.h>

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
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    hn_adapter_import_options o = { .ignored = &ignored, .base = args->base, .dtype = HN_F32, .name = args->name };
    HN_REQUIRE(args->base, HN_ERR_ARGUMENT, "expected --base MODEL: what the adapter is for");
    if (args->type)
        HN_TRY(hn_dtype_parse(args->type, strlen(args->type), &o.dtype));
    HN_REQUIRE(o.dtype == HN_F32 || o.dtype == HN_F16 || o.dtype == HN_BF16, HN_ERR_ARGUMENT,
               "--type %s: expected f32, f16 or bf16", args->type);
    hn_heap heap;
    hn_pool *pool;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_machine_pool(&args->machine, &heap, &pool));
    hn_watch watch = { .progress = hn_progress };
    hn_progress_begin();
    const hn_status status =
        hn_adapter_import(&heap, pool, operands[0], args->result, &o, &watch);
    hn_progress_end();
    hn_pool_free(pool);
    return hn_made(status, &heap, args->result.path, out);
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
