/* hone embed: texts as vectors. */
#include "cli/choices.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/lora_options.h"
#include "cli/open_model.h"
#include "hone/array.h"
#include "hone/embed.h"

#include <string.h>

typedef struct embed_args {
    const char *pooling, *too_long;
    hn_sink out;
    hn_machine_args machine;
    hn_lora_args lora;
    int64_t context;
    bool normalize;
    hn_list ignore;
} embed_args;

static const hn_option options[] = {
    HN_CHOICE(embed_args, pooling, "pooling", "KIND", hn_pooling_word,
              "{}; default: the model's; mean of an encoder that says none"),
    HN_FLAG(embed_args, normalize, "normalize", "scale every vector to length 1; default: as the model says"),
    HN_INT(embed_args, context, "context", "N", 1, INT32_MAX, "longest text, in tokens; default: the model's, of one that generates 4096 at most"),
    HN_TEXT(embed_args, too_long, "too-long", "HOW",
            "of texts beyond the longest: keep-start (default) cuts them and says so, refuse does not"),
    HN_OUT(embed_args, out, "out", "E.npy", "f32 [texts, width]; default: printed, one a line"),
    HN_LORA_OPTIONS(embed_args),
    HN_MACHINE_OPTIONS(embed_args, HN_NUMERICS_OF_RUNS),
    HN_IGNORE_OPTION(embed_args),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    HN_LORA_RULES,
    { NULL, 0, NULL, NULL },
};

static hn_status embed(hn_lm_embedder *embedder, int number, const char *text, float *out)
{
    int64_t n = 0;
    const int64_t longest = hn_lm_embedder_longest(embedder);
    const hn_status status = hn_lm_embedder_run(embedder, text, strlen(text), out, &n);
    if (status != HN_OK)
        return hn_fail_within(status, "text %d: ", number);
    if (n > longest)
        fprintf(stderr, "text %d: %lld tokens, cut to %lld\n", number, (long long)n, (long long)longest);
    return HN_OK;
}

static hn_status give(const embed_args *args, const float *vectors, int n, int64_t width, FILE *out)
{
    const int64_t dim[] = { n, width };
    if (args->out.path)
        return hn_array_write(args->out.path, args->out.over == HN_OVER_OLD, "f32", 2, dim, vectors);
    for (int64_t i = 0; i < n * width; i++)
        fprintf(out, "%.9g%c", (double)vectors[i], (i + 1) % width ? ' ' : '\n');
    return HN_OK;
}

static hn_status embed_all(const embed_args *args, hn_lm_embedder *embedder, int n, char **texts, FILE *out)
{
    hn_heap heap;
    const int64_t width = hn_lm_embedder_width(embedder);
    hn_heap_init(&heap, NULL);
    float *vectors = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)n * (size_t)width, sizeof *vectors);
    hn_status status = vectors ? HN_OK : HN_ERR_MEMORY;
    for (int i = 0; i < n && status == HN_OK; i++)
        status = embed(embedder, i + 1, texts[i], vectors + i * width);
    if (status == HN_OK)
        status = give(args, vectors, n, width, out);
    hn_free(&heap, vectors);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const embed_args *args = parsed;
    const char *how = args->too_long;
    hn_opened opened;
    hn_lm_embedder *embedder;
    HN_REQUIRE(!how || !strcmp(how, "keep-start") || !strcmp(how, "refuse"), HN_ERR_ARGUMENT,
               "--too-long %.40s: expected keep-start or refuse", how);
    const hn_lm_embed_options o = { .size = sizeof o, .pooling = args->pooling, .normalize = args->normalize,
                                    .refuses_long = how && !strcmp(how, "refuse"), .context = args->context };
    hn_lm_numerics numerics;
    HN_TRY(hn_machine_numerics(&args->machine, &numerics));
    HN_TRY(hn_opened_open(&opened, HN_OPEN_ALL, operands[0], &args->machine, &args->ignore, NULL));
    hn_status status = hn_lora_apply(&args->lora, opened.lm, numerics);
    if (status == HN_OK)
        status = hn_lm_embedder_new(&embedder, opened.lm, &o);
    if (status == HN_OK) {
        status = embed_all(args, embedder, n_operands - 1, operands + 1, out);
        hn_lm_embedder_free(embedder);
    }
    hn_opened_close(&opened);
    return status;
}

const hn_command hn_cmd_embed = {
    .name = "embed",
    .operands = "MODEL TEXT ...",
    .summary = "texts as vectors",
    .example = "embed bert.gguf \"a text\"",
    .options = options,
    .rules = rules,
    .args_size = sizeof(embed_args),
    .min_operands = 2,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
