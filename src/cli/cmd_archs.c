/* hone archs: the architectures that hone knows, from models.def; hone archs NAME: the keys of one, from
 * the tables that its readers ask through. */
#include "cli/command.h"
#include "models/models.h"

#include <string.h>

static void print_list(FILE *out)
{
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
}

static const char *use_of(const hn_key_row *row)
{
    return row->only ? "one value alone" : row->note ? "changes nothing" : "used";
}

/* What is behind a key: its class, its values, why. Parts that are there, with commas between. */
static void print_more(const hn_key_row *row, FILE *out)
{
    const char *between = ": ";
    if (row->only) {
        fprintf(out, "%s%s", between, row->only);
        between = ", ";
    }
    if (row->note) {
        fprintf(out, "%s%s", between, row->note);
        between = ", ";
    }
    if (row->of)
        fprintf(out, "%sof %s", between, row->of);
    fputc('\n', out);
}

static void print_config_keys(const hn_key_row *const *tables, int depth, FILE *out)
{
    for (; *tables; tables++)
        for (const hn_key_row *row = *tables; row->name || row->gguf || row->to; row++) {
            if (!row->name)
                continue;
            const char *absent = !row->otherwise                  ? "null"
                                 : !strcmp(row->otherwise, HN_MUST) ? "must be there"
                                                                    : row->otherwise;
            const bool matters = !row->note || row->only;
            fprintf(out, "%*s%-*s %-16s %s", 2 + 2 * depth, "", 34 - 2 * depth, row->name,
                    matters ? absent : "", use_of(row));
            print_more(row, out);
            if (row->within)
                print_config_keys(row->within, depth + 1, out);
        }
}

static void print_gguf_keys(const hn_arch *arch, FILE *out)
{
    for (const hn_key_row *const *tables = arch->tables; *tables; tables++)
        for (const hn_key_row *row = *tables; row->name || row->gguf || row->to; row++) {
            const char *key = row->is_apart ? NULL : hn_key_gguf(row);
            char name[160];
            if (!key)
                continue;
            snprintf(name, sizeof name, "%s%s%s", hn_key_is_whole(key) ? "" : arch->name,
                     hn_key_is_whole(key) ? "" : ".", key);
            fprintf(out, "  %-51s %s", name, use_of(row));
            print_more(row, out);
        }
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)parsed;
    if (!n_operands) {
        print_list(out);
        return HN_OK;
    }
    const hn_arch *arch;
    HN_TRY(hn_arch_named(operands[0], &arch));
    fprintf(out, "config.json of %s\n  %-34s %-16s %s\n", arch->name, "key", "where it is absent",
            "what it does");
    print_config_keys(arch->tables, 0, out);
    fprintf(out, "\nGGUF of %s\n", arch->name);
    print_gguf_keys(arch, out);
    fputs("\nEvery other key is refused by name and value.\n", out);
    return HN_OK;
}

static const hn_option options[] = { HN_OPTION_END };

const hn_command hn_cmd_archs = {
    .name = "archs",
    .operands = "[NAME]",
    .summary = "list the architectures that can be run, trained and converted, or the keys of one",
    .options = options,
    .example = "archs qwen3",
    .args_size = 1,
    .max_operands = 1,
    .run = run,
};
