/* hone tiny: the model that is part of the library, as a file. */
#include "base/embedded.h"
#include "cli/command.h"

typedef struct tiny_args {
    hn_sink result;
} tiny_args;

static const hn_option options[] = { HN_RESULT(tiny_args, result, 0), HN_OPTION_END };

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const tiny_args *args = parsed;
    HN_TRY(hn_embedded_write(args->result));
    fprintf(out, "%s: %zu bytes\n", operands[0], hn_embedded_model().bytes);
    return HN_OK;
}

const hn_command hn_cmd_tiny = {
    .name = "tiny",
    .operands = "OUT.gguf",
    .summary = "write the model that is built into the program to a file",
    .details = "It tells stories of the kind of `hone story`, from which it was trained by hone itself:\n"
               "docs/story.md.\n",
    .example = "tiny tiny.gguf",
    .options = options,
    .args_size = sizeof(tiny_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
