/* hone embed: texts as vectors. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "infer/forward.h"
#include "io/npy.h"
#include "models/open_tokenizer.h"
#include "models/sentence.h"

#include <string.h>

typedef struct embed_args {
    const char *pooling, *too_long;
    hn_sink out;
    int64_t threads;
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
    HN_INT(embed_args, threads, "threads", "N", 1, 256, "default: one a processor"),
    HN_IGNORE_OPTION(embed_args),
    HN_OPTION_END,
};

typedef struct job {
    const embed_args *args;
    hn_heap *heap;
    const hn_tokenizer *tok;
    hn_forward *forward;
    hn_sentence sentence;
    int64_t width, parts; /* of a state, of a vector */
} job;

static hn_status choose(job *j, const hn_model *model)
{
    const char *how = j->args->too_long;
    HN_REQUIRE(!how || !strcmp(how, "keep-start") || !strcmp(how, "refuse"), HN_ERR_ARGUMENT,
               "--too-long %.40s: expected keep-start or refuse", how);
    HN_TRY(hn_sentence_of_model(model, &j->sentence));
    if (j->args->pooling) {
        j->sentence.n = 1;
        HN_TRY(hn_pool_kind_named(j->args->pooling, &j->sentence.parts[0]));
    }
    j->sentence.normalizes = j->sentence.normalizes || j->args->normalize;
    j->width = hn_model_hparams(model)->width;
    j->parts = j->sentence.n * j->width;
    return HN_OK;
}

/* What stands after the text stays; the text loses its end, as with sentence-transformers. */
static hn_status cut(const job *j, int number, const char *text, hn_encoding *encoding)
{
    const int64_t longest = j->sentence.longest;
    hn_encoding bare = { 0 };
    if ((int64_t)encoding->n <= longest)
        return HN_OK;
    HN_REQUIRE(!j->args->too_long || strcmp(j->args->too_long, "refuse") != 0, HN_ERR_ARGUMENT,
               "text %d: %zu tokens: expected at most %lld", number, encoding->n, (long long)longest);
    const hn_encode_options o = { .add_eos = HN_NO, .parse_special = true };
    const hn_status status = hn_tokenizer_encode(j->tok, text, strlen(text), &o, &bare);
    const size_t after = encoding->n - bare.n;
    hn_encoding_free(&bare);
    HN_TRY(status);
    HN_REQUIRE((int64_t)after < longest, HN_ERR_ARGUMENT, "text %d: %zu tokens after it: expected less than %lld",
               number, after, (long long)longest);
    memmove(encoding->ids + (size_t)longest - after, encoding->ids + encoding->n - after,
            after * sizeof *encoding->ids);
    fprintf(stderr, "text %d: %zu tokens, cut to %lld\n", number, encoding->n, (long long)longest);
    encoding->n = (size_t)longest;
    return HN_OK;
}

/* Special tokens written in a text are meant, as Transformers' tokenizers have it. */
static hn_status embed(const job *j, int number, const char *text, hn_encoding *encoding, float *out)
{
    hn_tensor hidden;
    const hn_encode_options o = { .parse_special = true };
    HN_TRY(hn_tokenizer_encode(j->tok, text, strlen(text), &o, encoding));
    HN_REQUIRE(encoding->n > 0, HN_ERR_ARGUMENT, "\"%s\" has no tokens", text);
    HN_TRY(cut(j, number, text, encoding));
    HN_TRY(hn_forward_run(j->forward, encoding->ids, (int64_t)encoding->n, NULL));
    HN_TRY(hn_forward_logits(j->forward, &hidden));
    hn_sentence_pool(&j->sentence, hidden.data, (int64_t)encoding->n, j->width, out);
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
    hn_encoding encoding = { 0 };
    float *vectors =
        hn_alloc_array(j->heap, HN_TAG_STATE, (size_t)n * (size_t)j->parts, sizeof *vectors);
    hn_status status = vectors ? HN_OK : HN_ERR_MEMORY;
    for (int i = 0; i < n && status == HN_OK; i++)
        status = embed(j, i + 1, texts[i], &encoding, vectors + i * j->parts);
    if (status == HN_OK)
        status = give(j, vectors, n, out);
    hn_encoding_free(&encoding);
    hn_free(j->heap, vectors);
    return status;
}

static hn_status run_model(job *j, const hn_model *model, int n, char **texts, FILE *out)
{
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    const hn_hparams *hp = hn_model_hparams(model);
    const hn_device_options open = { .n_threads = (int)j->args->threads };
    const hn_forward_options o = { .max_tokens = hp->n_ctx };
    HN_REQUIRE(hn_model_arch(model)->embeds_only, HN_ERR_UNSUPPORTED,
               "%s: %s generates text; only models that embed are supported here",
               hn_model_path(model), hn_model_arch(model)->name);
    HN_TRY(choose(j, model));
    HN_TRY(hn_devices_open(j->heap, "cpu", &open, &n_devices, devices));
    hn_status status = hn_forward_new(&j->forward, j->heap, model, devices[0], &o);
    if (status == HN_OK)
        status = embed_all(j, n, texts, out);
    hn_forward_free(j->forward);
    hn_devices_close(n_devices, devices);
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
