/* hone new: a random model of any architecture and size, to try and to test with. */
#include "cli/command.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "hone/files.h"

#include <string.h>

typedef struct new_args {
    hn_sink result;
    const char *type, *tokenizer, *name, *first;
    hn_list keep;
    int64_t seed;
    hn_machine_args machine;
    bool copies;
} new_args;

static const hn_option options[] = {
    HN_RESULT(new_args, result, 1),
    HN_TEXT(new_args, type, "type", "TYPE", "of the weights, as for quantize; default f32"),
    HN_LIST(new_args, keep, "keep", "PATTERN=TYPE", "for tensors so named; the first that names one counts; may be repeated"),
    HN_TEXT(new_args, name, "name", "TEXT", "general.name (random)"),
    HN_TEXT(new_args, tokenizer, "tokenizer", "FILE",
            "take the tokenizer and chat template of this GGUF file or Hugging Face directory"),
    HN_TEXT(new_args, first, "first", "VALUES",
            "class: as Transformers' class begins (the default); spread: gains and biases all different"),
    HN_FLAG(new_args, copies, "copies",
            "begin with attention that copies what it looks at: for training"),
    HN_INT(new_args, seed, "seed", "N", 0, INT64_MAX, "default 0"),
    HN_THREADS_OPTION(new_args),
    HN_OPTION_END,
};

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const new_args *args = parsed;
    const char *settings[HN_MAX_OPERANDS];
    hn_engine *engine;
    HN_REQUIRE(!args->first || !strcmp(args->first, "class") || !strcmp(args->first, "spread"),
               HN_ERR_ARGUMENT, "--first %s: expected class or spread", args->first);
    for (int i = 2; i < n_operands; i++)
        settings[i - 2] = operands[i];
    const hn_lm_make_options o = {
        .size = sizeof o, .settings = settings, .n_settings = n_operands - 2, .type = args->type,
        .keep = args->keep.at, .n_keep = args->keep.n, .name = args->name, .tokenizer = args->tokenizer,
        .first = args->first && !strcmp(args->first, "spread") ? HN_LM_FIRST_SPREAD : HN_LM_FIRST_CLASS,
        .copies = args->copies, .seed = (uint64_t)args->seed, .overwrite = args->result.over == HN_OVER_OLD,
    };
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    hn_progress_of(engine);
    hn_status status = hn_lm_make(engine, operands[0], args->result.path, &o);
    hn_progress_end();
    status = hn_made(status, engine, args->result.path, out);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_new = {
    .name = "new",
    .operands = "ARCH OUT.gguf [key=value ...]",
    .summary = "write a random model of any architecture and size",
    .details = "Keys: layers width heads kv_heads head_dim ffn context vocab experts used "
               "expert_ffn window\n  kv_shared ple tied k_eq_v, or a GGUF key without the "
               "architecture's name.\n",
    .example = "new qwen3 m.gguf layers=4 width=256",
    .options = options,
    .args_size = sizeof(new_args),
    .min_operands = 2,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
