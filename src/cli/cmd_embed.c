/* hone embed: texts as vectors. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "infer/embed.h"
#include "io/npy.h"
#include "models/open_tokenizer.h"

#include <string.h>

typedef struct embed_args {
    const char *pooling, *too_long;
    hn_sink out;
    hn_machine_args machine;
    bool normalize;
    hn_list ignore;
} embed_args;

static const hn_option options[] = {
    HN_TEXT(embed_args, pooling, "pooling", "KIND",
            "cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken; default: as the model says, or mean"),
    HN_FLAG(embed_args, normalize, "normalize", "scale every vector to length 1; default: as the model says"),
    HN_TEXT(embed_args, too_long, "too-long", "HOW",
            "of texts beyond the model's longest: keep-start (default) cuts them and says so, refuse does not"),
    HN_OUT(embed_args, out, "out", "E.npy", "f32 [texts, width]; default: printed, one a line"),
    HN_DEVICE_OPTIONS(embed_args),
    HN_IGNORE_OPTION(embed_args),
    HN_OPTION_END,
};

typedef struct job {
    const embed_args *args;
    hn_heap *heap;
    const hn_tokenizer *tok;
    hn_embedder *embedder;
    int64_t parts; /* of a vector */
} job;

static hn_status embed(const job *j, int number, const char *text, float *out)
{
    int64_t n = 0;
    const int64_t longest = hn_embedder_longest(j->embedder);
    const hn_status status = hn_embedder_run(j->embedder, text, strlen(text), NULL, out, &n);
    if (status != HN_OK)
        return hn_fail_within(status, "text %d: ", number);
    if (n > longest)
        fprintf(stderr, "text %d: %lld tokens, cut to %lld\n", number, (long long)n, (long long)longest);
    return HN_OK;
}

static hn_status give(const job *j, const float *vectors, int n, FILE *out)
{
    if (j->args->out.path) {
        const hn_npy array = { .dtype = HN_F32, .rank = 2, .dim = { n, j->parts },
                               .data = (void *)(uintptr_t)vectors,
                               .bytes = (size_t)n * (size_t)j->parts * sizeof *vectors };
        return hn_npy_write(j->args->out, &array);
    }
    for (int64_t i = 0; i < n * j->parts; i++)
        fprintf(out, "%.9g%c", (double)vectors[i], (i + 1) % j->parts ? ' ' : '\n');
    return HN_OK;
}

static hn_status embed_all(const job *j, int n, char **texts, FILE *out)
{
    float *vectors =
        hn_alloc_array(j->heap, HN_TAG_STATE, (size_t)n * (size_t)j->parts, sizeof *vectors);
    hn_status status = vectors ? HN_OK : HN_ERR_MEMORY;
    for (int i = 0; i < n && status == HN_OK; i++)
        status = embed(j, i + 1, texts[i], vectors + i * j->parts);
    if (status == HN_OK)
        status = give(j, vectors, n, out);
    hn_free(j->heap, vectors);
    return status;
}

static hn_status run_model(job *j, const hn_model *model, int n, char **texts, FILE *out)
{
    hn_machine machine;
    const char *how = j->args->too_long;
    HN_REQUIRE(!how || !strcmp(how, "keep-start") || !strcmp(how, "refuse"), HN_ERR_ARGUMENT,
               "--too-long %.40s: expected keep-start or refuse", how);
    const hn_embedder_options o = { .pooling = j->args->pooling, .normalizes = j->args->normalize,
                                    .refuses_long = how && !strcmp(how, "refuse") };
    HN_TRY(hn_machine_open(&machine, j->heap, &j->args->machine));
    hn_status status = hn_embedder_new(&j->embedder, j->heap, model, j->tok, machine.run, &o);
    if (status == HN_OK) {
        j->parts = hn_embedder_width(j->embedder);
        status = embed_all(j, n, texts, out);
    }
    hn_embedder_free(j->embedder);
    hn_machine_close(&machine);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    hn_heap heap;
    hn_tokenizer *tok;
    hn_model *model = NULL;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_open_tokenizer(&heap, operands[0], &tok));
    job j = { .args = parsed, .heap = &heap, .tok = tok };
    const hn_ignored ignored = hn_ignored_of(&j.args->ignore);
    hn_status status = hn_model_open(&heap, operands[0], &ignored, &model);
    if (status == HN_OK)
        status = run_model(&j, model, n_operands - 1, operands + 1, out);
    hn_model_close(model);
    hn_tokenizer_free(tok);
    return status;
}

const hn_command hn_cmd_embed = {
    .name = "embed",
    .operands = "MODEL TEXT ...",
    .summary = "texts as vectors",
    .example = "embed bert.gguf \"a text\"",
    .options = options,
    .args_size = sizeof(embed_args),
    .min_operands = 2,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
