/* hone new-tokenizer: a byte-level BPE tokenizer made from texts, in a GGUF file without tensors,
 * for hone new --tokenizer. */
#include "cli/command.h"
#include "cli/machine_options.h"
#include "hone/files.h"

typedef struct new_tokenizer_args {
    hn_sink result;
    int64_t vocab;
} new_tokenizer_args;

static const hn_option options[] = {
    HN_RESULT(new_tokenizer_args, result, 0),
    HN_INT(new_tokenizer_args, vocab, "vocab", "N", 261, 1 << 20,
           "at most so many tokens, bytes and special ones included (4096)"),
    HN_OPTION_END,
};

static const new_tokenizer_args defaults = { .vocab = 4096 };

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const new_tokenizer_args *args = parsed;
    const char *texts[HN_MAX_OPERANDS];
    int64_t n_tokens;
    hn_engine *engine;
    const hn_lm_tokenizer_options o = { .size = sizeof o, .tokens = args->vocab,
                                        .overwrite = args->result.over == HN_OVER_OLD };
    for (int i = 1; i < n_operands; i++)
        texts[i - 1] = operands[i];
    HN_TRY(hn_machine_engine(&(hn_machine_args){ .threads = 1 }, &engine));
    const hn_status status =
        hn_lm_make_tokenizer(engine, texts, n_operands - 1, args->result.path, &o, &n_tokens);
    hn_machine_engine_free(engine);
    if (status == HN_OK)
        fprintf(out, "%s: %lld tokens\n", operands[0], (long long)n_tokens);
    return status;
}

const hn_command hn_cmd_new_tokenizer = {
    .name = "new-tokenizer",
    .operands = "OUT.gguf TEXTS...",
    .summary = "make a tokenizer from texts, for hone new --tokenizer",
    .example = "new-tokenizer t.gguf text.txt --vocab 4096",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(new_tokenizer_args),
    .min_operands = 2,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
