/* hone archs: the architectures that hone knows, from models.def. */
#include "cli/command.h"
#include "models/models.h"

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)parsed, (void)n_operands, (void)operands;
    fprintf(out, "%-12s %-34s %s\n", "name", "can be", "classes of Hugging Face");
    for (int i = 0; hn_archs[i]; i++) {
        const hn_arch *a = hn_archs[i];
        fprintf(out, "%-12s %-34s ", a->name,
                !a->build        ? "converted"
                : a->embeds_only ? "run (embed), converted"
                : a->has_bf16    ? "run (bf16 too), trained, converted"
                                 : "run, trained, converted");
        for (const char *const *c = a->classes; *c; c++)
            fprintf(out, "%s%s", c == a->classes ? "" : ", ", *c);
        fputc('\n', out);
    }
    return HN_OK;
}

static const hn_option options[] = { HN_OPTION_END };

const hn_command hn_cmd_archs = {
    .name = "archs",
    .operands = "",
    .summary = "list the architectures that can be run, trained and converted",
    .options = options,
    .example = "archs",
    .args_size = 1,
    .run = run,
};
