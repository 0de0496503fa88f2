/* hone convert: a Hugging Face directory as a GGUF file. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "convert/convert.h"

#include <string.h>

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
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    hn_convert_options o = { .name = args->name, .ignored = &ignored };
    if (args->type)
        HN_TRY(hn_recipe_named(args->type, &o.recipe));
    hn_heap heap;
    hn_pool *pool;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_machine_pool(&args->machine, &heap, &pool));
    hn_watch watch = { .progress = hn_progress };
    hn_progress_begin();
    const hn_status status = hn_convert(&heap, pool, operands[0], args->result, &o, &watch);
    hn_progress_end();
    hn_pool_free(pool);
    return hn_made(status, &heap, args->result.path, out);
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
