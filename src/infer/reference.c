/* Shapes are held to the model's before a number is taken; what is not there for a model without experts, say, is
 * NULL, and nothing is put in its place. */
#include "infer/reference.h"

#include "base/str.h"
#include "io/safetensors.h"
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    hn_reference *out;
    const char *path;
    hn_safetensors file;
} reader;

static const hn_weight_entry *find(const reader *r, const char *name)
{
    for (size_t i = 0; i < r->file.n_tensors; i++)
        if (!strcmp(r->file.tensors[i].name, name))
            return &r->file.tensors[i];
    return NULL;
}

/* Floats [T, width] as f32; width 0 takes what is there. NULL in *out if there is none. */
static hn_status read_floats(reader *r, const char *name, int64_t *width, float **out)
{
    const hn_weight_entry *e = find(r, name);
    const int64_t rows = r->out->n_tokens;
    *out = NULL;
    if (!e)
        return HN_OK;
    const bool is_float = e->type.dtype < HN_N_DTYPES && hn_is_float(e->type.dtype) &&
                          e->type.rank == 2;
    HN_REQUIRE(is_float && e->type.dim[0] == rows && e->type.dim[1] > 0 &&
                   (!*width || e->type.dim[1] == *width),
               HN_ERR_FORMAT, "%s: tensor %s: expected floats [%lld,%lld]", r->path, name,
               (long long)rows, (long long)*width);
    *width = e->type.dim[1];
    *out = hn_alloc_array(r->out->heap, HN_TAG_STATE, (size_t)(rows * *width), sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    const hn_tensor from = hn_tensor_at(&e->type, (void *)(uintptr_t)e->data);
    for (int64_t i = 0; i < rows * *width; i++)
        (*out)[i] = (float)hn_get_slow(&from, i); /* mapped bytes lie anywhere */
    return HN_OK;
}

static hn_status want_floats(reader *r, const char *name, int64_t *width, float **out)
{
    HN_TRY(read_floats(r, name, width, out));
    HN_REQUIRE(*out, HN_ERR_FORMAT, "%s: tensor %s is missing", r->path, name);
    return HN_OK;
}

static hn_status read_tokens(reader *r)
{
    hn_reference *out = r->out;
    const hn_weight_entry *e = find(r, "tokens");
    HN_REQUIRE(e && e->type.dtype == HN_I32 && e->type.rank == 1 && e->type.dim[0] > 0,
               HN_ERR_FORMAT, "%s: tensor tokens: expected a vector of i32", r->path);
    out->n_tokens = e->type.dim[0];
    HN_REQUIRE(out->n_tokens <= INT32_MAX, HN_ERR_FORMAT, "%s: %lld tokens", r->path,
               (long long)out->n_tokens);
    out->tokens = hn_alloc_array(out->heap, HN_TAG_STATE, (size_t)out->n_tokens,
                                 sizeof *out->tokens);
    if (!out->tokens)
        return HN_ERR_MEMORY;
    memcpy(out->tokens, e->data, (size_t)out->n_tokens * sizeof *out->tokens);
    for (int64_t i = 0; i < out->n_tokens; i++)
        HN_REQUIRE(out->tokens[i] >= 0 && out->tokens[i] < out->n_vocab, HN_ERR_FORMAT,
                   "%s: token %lld is %d: the vocabulary has %lld", r->path, (long long)i,
                   out->tokens[i], (long long)out->n_vocab);
    return HN_OK;
}

static hn_status read_layers(reader *r)
{
    hn_reference *out = r->out;
    const size_t n = (size_t)out->n_layer + 1;
    out->hidden = hn_alloc_array(out->heap, HN_TAG_STATE, n, sizeof *out->hidden);
    out->own = hn_alloc_array(out->heap, HN_TAG_STATE, n, sizeof *out->own);
    out->router = hn_alloc_array(out->heap, HN_TAG_STATE, n, sizeof *out->router);
    if (!out->hidden || !out->own || !out->router)
        return HN_ERR_MEMORY;
    for (int64_t i = 0; i <= out->n_layer; i++) {
        char name[64];
        snprintf(name, sizeof name, "hidden.%lld", (long long)i);
        HN_TRY(want_floats(r, name, &out->width, &out->hidden[i]));
        snprintf(name, sizeof name, "per_layer.%lld", (long long)i);
        HN_TRY(read_floats(r, name, &out->own_width, &out->own[i]));
        snprintf(name, sizeof name, "router.%lld", (long long)i);
        HN_TRY(read_floats(r, name, &out->n_expert, &out->router[i]));
    }
    char beyond[64];
    snprintf(beyond, sizeof beyond, "hidden.%lld", (long long)out->n_layer + 1);
    HN_REQUIRE(!find(r, beyond), HN_ERR_FORMAT, "%s: it has %s: the model has %lld layers", r->path,
               beyond, (long long)out->n_layer);
    return want_floats(r, "logits", &out->n_vocab, &out->logits);
}

static hn_status read_number(const reader *r, const char *key, double *out, bool *is_found)
{
    char *text;
    HN_TRY(hn_meta_text(&r->file.meta, key, &text));
    *is_found = *is_found && text;
    if (!text)
        return HN_OK;
    const bool is_number = hn_number_parse(text, out);
    hn_free(r->out->heap, text);
    HN_REQUIRE(is_number, HN_ERR_FORMAT, "%s: metadata %s: expected a number", r->path, key);
    return HN_OK;
}

static hn_status read_position(reader *r)
{
    double position = 0;
    bool is_found = true;
    HN_TRY(read_number(r, "tokens.position", &position, &is_found));
    HN_REQUIRE(position >= 0 && position <= (double)(1 << 30), HN_ERR_FORMAT,
               "%s: metadata tokens.position is %g", r->path, position);
    r->out->position = (int64_t)position;
    return HN_OK;
}

static hn_status read_about(reader *r)
{
    static const char *const keys[] = { "class", "transformers", "torch", "attention", "experts",
                                        "products" };
    hn_str about = hn_str_on(r->out->heap);
    hn_status status = HN_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == HN_OK; i++) {
        char *text;
        status = hn_meta_text(&r->file.meta, keys[i], &text);
        if (status == HN_OK && text)
            hn_str_print(&about, "%s%s%s%s", i ? ", " : "", i ? keys[i] : "", i ? " " : "", text);
        if (status == HN_OK)
            hn_free(r->out->heap, text);
    }
    if (status == HN_OK)
        status = hn_str_status(&about);
    if (status == HN_OK)
        r->out->about = hn_strdup(r->out->heap, HN_TAG_STATE, about.text);
    hn_str_free(&about);
    HN_TRY(status);
    return r->out->about ? HN_OK : HN_ERR_MEMORY;
}

static hn_status read_meta(reader *r)
{
    hn_reference *out = r->out;
    char *dtype;
    HN_TRY(hn_meta_text(&r->file.meta, "dtype", &dtype));
    const bool is_bf16 = dtype && !strcmp(dtype, "bf16");
    const bool is_known = is_bf16 || (dtype && !strcmp(dtype, "f32"));
    hn_free(out->heap, dtype);
    HN_REQUIRE(is_known, HN_ERR_FORMAT,
               "%s: metadata dtype: expected f32 or bf16, as tools/reference/parity_dump.py "
               "writes", r->path);
    out->numerics = is_bf16 ? HN_NUMERICS_BF16 : HN_NUMERICS_F32;
    HN_TRY(read_about(r));
    HN_TRY(read_position(r));
    HN_TRY(hn_meta_text(&r->file.meta, "other.backend", &out->other_name));
    out->has_other = out->other_name != NULL;
    HN_TRY(read_number(r, "other.nmse", &out->other.nmse, &out->has_other));
    HN_TRY(read_number(r, "other.max", &out->other.largest, &out->has_other));
    HN_TRY(read_number(r, "other.kl", &out->other.kl, &out->has_other));
    return read_number(r, "other.top1", &out->other.agreement, &out->has_other);
}

/* Numbers with blanks between, as many as there are layers and the head. */
static hn_status read_other_layers(reader *r)
{
    hn_reference *out = r->out;
    const int64_t n = out->n_layer + 1;
    char *text;
    HN_TRY(hn_meta_text(&r->file.meta, "other.layers", &text));
    if (!text)
        return HN_OK;
    out->other_layers = hn_alloc_array(out->heap, HN_TAG_STATE, (size_t)n,
                                       sizeof *out->other_layers);
    const char *at = text;
    int64_t i = 0;
    for (size_t used; out->other_layers && i < n; i++, at += used) {
        at += strspn(at, " ");
        used = hn_number_read(at, strlen(at), &out->other_layers[i]);
        if (!used)
            break;
    }
    const bool is_whole = i == n && !*at;
    hn_free(out->heap, text);
    if (!out->other_layers)
        return HN_ERR_MEMORY;
    HN_REQUIRE(is_whole, HN_ERR_FORMAT, "%s: metadata other.layers: expected %lld numbers", r->path,
               (long long)n);
    return HN_OK;
}

static hn_status read_all(reader *r)
{
    HN_TRY(hn_safetensors_open(r->out->heap, r->path, &r->file));
    HN_TRY(read_meta(r));
    HN_TRY(read_tokens(r));
    HN_TRY(read_layers(r));
    return read_other_layers(r);
}

hn_status hn_reference_read(hn_reference *out, hn_heap *heap, const char *path,
                            const hn_hparams *hp)
{
    const int64_t streams = hp->altup_inputs ? hp->altup_inputs : 1; /* one after the other */
    *out = (hn_reference){ .heap = heap, .n_layer = hp->n_layer, .width = streams * hp->width,
                           .n_vocab = hp->n_vocab, .n_expert = hp->n_expert };
    reader r = { .out = out, .path = path };
    const hn_status status = read_all(&r);
    hn_safetensors_close(&r.file);
    return status;
}

static void free_each(hn_heap *heap, float **each, int64_t n)
{
    for (int64_t i = 0; each && i < n; i++)
        hn_free(heap, each[i]);
    hn_free(heap, each);
}

void hn_reference_free(hn_reference *r)
{
    free_each(r->heap, r->hidden, r->n_layer + 1);
    free_each(r->heap, r->own, r->n_layer + 1);
    free_each(r->heap, r->router, r->n_layer + 1);
    hn_free(r->heap, r->tokens);
    hn_free(r->heap, r->logits);
    hn_free(r->heap, r->about);
    hn_free(r->heap, r->other_name);
    hn_free(r->heap, r->other_layers);
    *r = (hn_reference){ 0 };
}
