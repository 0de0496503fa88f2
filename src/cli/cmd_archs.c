/* hone archs: the architectures that hone knows, from models.def; hone archs NAME: the keys of one, from
 * the tables that its readers ask through. */
#include "cli/command.h"
#include "hone/archs.h"

static hn_status print_list(FILE *out)
{
    fprintf(out, "%-12s %-34s %s\n", "name", "can be", "classes of Hugging Face");
    for (int32_t i = 0; i < hn_lm_archs(); i++) {
        hn_lm_arch a;
        HN_TRY(hn_lm_arch_at(i, &a, sizeof a));
        fprintf(out, "%-12s %-34s ", a.name,
                !a.runs        ? "converted"
                : a.embeds     ? "run (embed), converted"
                : a.has_bf16   ? "run (bf16 too), trained, converted"
                               : "run, trained, converted");
        for (const char *const *c = a.classes; *c; c++)
            fprintf(out, "%s%s", c == a.classes ? "" : ", ", *c);
        fputc('\n', out);
    }
    return HN_OK;
}

/* What is behind a key: its class, its values, why. Parts that are there, with commas between. */
static void print_more(const hn_lm_arch_key *key, FILE *out)
{
    const char *between = ": ";
    if (key->only) {
        fprintf(out, "%s%s", between, key->only);
        between = ", ";
    }
    if (key->note) {
        fprintf(out, "%s%s", between, key->note);
        between = ", ";
    }
    if (key->of)
        fprintf(out, "%sof %s", between, key->of);
    fputc('\n', out);
}

typedef struct printer {
    FILE *out;
    const char *arch;
    bool is_gguf; /* these have begun */
} printer;

static void print_key(void *context, const hn_lm_arch_key *key)
{
    static const char *const uses[] = { [HN_LM_KEY_USED] = "used", [HN_LM_KEY_ONE_VALUE] = "one value alone",
                                        [HN_LM_KEY_NEEDLESS] = "changes nothing" };
    printer *p = context;
    if (key->is_gguf && !p->is_gguf)
        fprintf(p->out, "\nGGUF of %s\n", p->arch);
    p->is_gguf = key->is_gguf;
    if (key->is_gguf) {
        fprintf(p->out, "  %-51s %s", key->name, uses[key->use]);
    } else {
        const char *absent = key->must_be ? "must be there" : key->absent ? key->absent : "null";
        fprintf(p->out, "%*s%-*s %-16s %s", 2 + 2 * key->depth, "", 34 - 2 * key->depth, key->name,
                key->use == HN_LM_KEY_NEEDLESS ? "" : absent, uses[key->use]);
    }
    print_more(key, p->out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)parsed;
    hn_lm_arch arch;
    if (!n_operands)
        return print_list(out);
    HN_TRY(hn_lm_arch_named(operands[0], &arch, sizeof arch));
    printer p = { out, arch.name, false };
    fprintf(out, "config.json of %s\n  %-34s %-16s %s\n", arch.name, "key", "where it is absent",
            "what it does");
    HN_TRY(hn_lm_arch_keys(arch.name, print_key, &p));
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
