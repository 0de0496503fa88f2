/* hone embed: texts as vectors. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "infer/forward.h"
#include "io/npy.h"
#include "models/open_tokenizer.h"

#include <math.h>
#include <string.h>

typedef struct embed_args {
    const char *pooling;
    hn_sink out;
    int64_t threads;
    bool normalize;
    hn_list ignore_key;
} embed_args;

static const hn_option options[] = {
    HN_TEXT(embed_args, pooling, "pooling", "KIND", "mean or cls; default: as the file says, or mean"),
    HN_FLAG(embed_args, normalize, "normalize", "scale every vector to length 1"),
    HN_OUT(embed_args, out, "out", "E.npy", "f32 [texts, width]; default: printed, one a line"),
    HN_INT(embed_args, threads, "threads", "N", 1, 256, "default: one a processor"),
    HN_IGNORE_OPTION(embed_args),
    HN_OPTION_END,
};

enum { POOL_MEAN = 1, POOL_CLS = 2 }; /* GGUF's numbers */

static hn_status choose_pooling(const embed_args *args, const hn_hparams *hp, int64_t *out)
{
    *out = hp->has[HN_HP_pooling] && hp->pooling ? hp->pooling : POOL_MEAN;
    if (args->pooling) {
        HN_REQUIRE(!strcmp(args->pooling, "mean") || !strcmp(args->pooling, "cls"),
                   HN_ERR_ARGUMENT, "--pooling %s: expected mean or cls", args->pooling);
        *out = !strcmp(args->pooling, "mean") ? POOL_MEAN : POOL_CLS;
    }
    HN_REQUIRE(*out == POOL_MEAN || *out == POOL_CLS, HN_ERR_UNSUPPORTED,
               "pooling type %lld of the file is not supported: say --pooling", (long long)*out);
    return HN_OK;
}

/* Sums in double, in the order of the tokens. */
static void pool(const float *hidden, int64_t n, int64_t width, int64_t pooling, float *out)
{
    for (int64_t c = 0; c < width; c++) {
        double sum = 0;
        for (int64_t t = 0; t < n; t++)
            sum += (double)hidden[t * width + c];
        out[c] = pooling == POOL_CLS ? hidden[c] : (float)(sum / (double)n);
    }
}

static void scale_to_one(float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    const double length = sqrt(sum);
    for (int64_t i = 0; i < n && length > 0; i++)
        x[i] = (float)((double)x[i] / length);
}

typedef struct job {
    const embed_args *args;
    hn_heap *heap;
    const hn_tokenizer *tok;
    hn_forward *forward;
    int64_t width, pooling;
} job;

static hn_status embed(const job *j, const char *text, hn_encoding *encoding, float *out)
{
    hn_tensor hidden;
    HN_TRY(hn_tokenizer_encode(j->tok, text, strlen(text), &(hn_encode_options){ 0 }, encoding));
    HN_REQUIRE(encoding->n > 0, HN_ERR_ARGUMENT, "\"%s\" has no tokens", text);
    HN_TRY(hn_forward_run(j->forward, encoding->ids, (int64_t)encoding->n, NULL));
    HN_TRY(hn_forward_logits(j->forward, &hidden));
    pool(hidden.data, (int64_t)encoding->n, j->width, j->pooling, out);
    if (j->args->normalize)
        scale_to_one(out, j->width);
    return HN_OK;
}

static hn_status give(const job *j, const float *vectors, int n, FILE *out)
{
    if (j->args->out.path) {
        const hn_npy array = { .dtype = HN_F32, .rank = 2, .dim = { n, j->width },
                               .data = (void *)(uintptr_t)vectors,
                               .bytes = (size_t)n * (size_t)j->width * sizeof *vectors };
        return hn_npy_write(j->args->out, &array);
    }
    for (int64_t i = 0; i < n * j->width; i++)
        fprintf(out, "%.9g%c", (double)vectors[i], (i + 1) % j->width ? ' ' : '\n');
    return HN_OK;
}

static hn_status embed_all(const job *j, int n, char **texts, FILE *out)
{
    hn_encoding encoding = { 0 };
    float *vectors =
        hn_alloc_array(j->heap, HN_TAG_STATE, (size_t)n * (size_t)j->width, sizeof *vectors);
    hn_status status = vectors ? HN_OK : HN_ERR_MEMORY;
    for (int i = 0; i < n && status == HN_OK; i++)
        status = embed(j, texts[i], &encoding, vectors + i * j->width);
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
    HN_TRY(choose_pooling(j->args, hp, &j->pooling));
    j->width = hp->width;
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
    const hn_ignored ignored = hn_ignored_of(&j.args->ignore_key);
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
