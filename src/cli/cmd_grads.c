/* hone grads: the loss of one batch and the gradient of every trainable tensor, for whoever wants
 * to compare them with another engine's. */
#include "cli/cache_folder.h"
#include "cli/data_report.h"
#include "cli/machine_options.h"

#include <inttypes.h>

typedef struct grads_args {
    hn_settings settings;
    hn_machine_args machine;
    hn_list files;
    const char *from;
    hn_sink out;
    int64_t examples, recompute;
} grads_args;

#define SETTING(name, help) HN_SETTING(grads_args, settings, hn_finetune_setting, name, help)

static const hn_option options[] = {
    HN_LIST(grads_args, files, "data", "FILE", "examples; may be given again"),
    HN_OUT(grads_args, out, "out", "FILE", "where the gradients go, as safetensors"),
    HN_INT(grads_args, examples, "examples", "N", 0, INT32_MAX,
           "the first N examples are the batch (0: all)"),
    HN_TEXT(grads_args, from, "from", "ADAPTER",
            "trained tensors and their values are this adapter's, not --targets' first values"),
    SETTING("targets", "what is trained, as hone train has it"),
    SETTING("rank", NULL),
    SETTING("alpha", "over the rank (0: twice the rank)"),
    SETTING("rslora", NULL),
    SETTING("goal", NULL),
    HN_SETTINGS(grads_args, settings, hn_finetune_goal_setting),
    SETTING("balance-weight", NULL),
    SETTING("balance", NULL),
    SETTING("z-weight", NULL),
    SETTING("seed", "of first values"),
    SETTING("numerics", "f32 (the default) or mixed"),
    SETTING("micro-tokens", "tokens of a micro-batch (0: up to 2048, or the longest example)"),
    HN_INT(grads_args, recompute, "recompute", "N", 0, 10000,
           "keep every n-th layer's input and compute the rest again (0: keep all)"),
    HN_DEVICE_OPTIONS(grads_args),
    SETTING("plan", NULL),
    HN_GROUP("how examples become tokens"),
    HN_SETTINGS_BUT(grads_args, settings, hn_examples_setting, "held"),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    { "targets|rank|alpha|rslora|seed", HN_NOT_WITH, "from", "the adapter says it" },
    { NULL, 0, NULL, NULL },
};

static const grads_args defaults = { .recompute = -1 }; /* the library's own choice */

/* Settings of runs, checked before anything is opened. */
static hn_status take_settings(const grads_args *args, hn_heap *heap, hn_setting_words *words)
{
    HN_TRY(hn_setting_words_of(words, heap, &args->settings, hn_finetune_setting, NULL));
    if (args->recompute >= 0) {
        char *copy = hn_alloc(heap, HN_TAG_TEXT, 32);
        if (!copy)
            return HN_ERR_MEMORY;
        snprintf(copy, 32, "recompute=%lld", (long long)args->recompute);
        words->at[words->n++] = copy;
    }
    return hn_finetune_check_settings((const char *const *)words->at, words->n);
}

static hn_status differentiate(const grads_args *args, const char *model, const hn_setting_words *words, FILE *out)
{
    const hn_examples_gradients_options o = { .size = sizeof o, .settings = (const char *const *)words->at,
                                              .n_settings = words->n, .from = args->from, .most = args->examples,
                                              .out = args->out.path, .overwrite = args->out.over == HN_OVER_OLD };
    const char *numerics = hn_settings_value(&args->settings, "numerics");
    hn_engine *engine;
    hn_examples *examples = NULL;
    hn_examples_gradients found;
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    hn_status status =
        hn_examples_told(&examples, engine, model, &args->files, &args->settings, hn_cache_folder());
    if (status == HN_OK && !args->from) /* an adapter is held to the template that it was trained with */
        status = hn_examples_want_chats(examples, &args->settings);
    if (status == HN_OK)
        status = hn_data_check(engine, examples, NULL);
    if (status == HN_OK)
        status = hn_examples_differentiate(examples, &o, &found, sizeof found);
    if (status == HN_OK)
        fprintf(out, "loss %.9g, gradient norm %.9g: %d tensors of %" PRIu64 " sequences, %" PRIu64
                     " tokens, %" PRIu64 " supervised; %s\n", found.loss, found.norm, found.n_tensors,
                found.n_sequences, found.n_tokens, found.n_supervised, numerics ? numerics : "f32");
    hn_examples_close(examples);
    hn_machine_engine_free(engine);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const grads_args *args = parsed;
    hn_heap heap;
    hn_setting_words words;
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out FILE");
    hn_heap_init(&heap, NULL);
    hn_status status = take_settings(args, &heap, &words);
    if (status == HN_OK)
        status = differentiate(args, operands[0], &words, out);
    hn_setting_words_close(&words);
    return status;
}

const hn_command hn_cmd_grads = {
    .name = "grads",
    .operands = "MODEL",
    .summary = "write the loss and every gradient of one batch",
    .details = "Tensors are f32 under GGUF's names, rows in the order of Hugging Face's files. Nothing is\n"
               "clipped or trained. Loss, gradient norm and counts are in __metadata__.\n",
    .example = "grads m.gguf --data d.jsonl --out g.safetensors",
    .options = options,
    .rules = rules,
    .letters = "o:out",
    .defaults = &defaults,
    .args_size = sizeof(grads_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
