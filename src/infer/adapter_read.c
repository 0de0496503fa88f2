/* An adapter's file as it is: every tensor has its place, and nothing of what it says of itself was
 * tried. Only adapter.c hands one out. */
#include "infer/adapter_parts.h"

#include "base/pattern.h"
#include "base/work.h"
#include "kernels/gemm/rows.h"
#include "models/shared_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- tensors ---- */

static const hn_weight_entry *take_entry(hn_adapter *a, const char *base, const char *suffix)
{
    char name[HN_TENSOR_NAME + 24];
    snprintf(name, sizeof name, "%s%s", base, suffix);
    const hn_weight_entry *e = hn_weights_find(a->all, name);
    if (e)
        a->is_used[e - a->all->entries] = true;
    return e;
}

/* A copy in f32; `pairs`: rows lie by head in adjacent pairs. */
static hn_status copy_matrix(hn_adapter *a, const hn_weight_entry *e, int64_t pairs,
                             const nn_weight **out)
{
    nn_weight *w = &a->matrices[a->n_matrices];
    HN_REQUIRE(e->type.dtype < HN_N_DTYPES && (hn_is_float(e->type.dtype) || hn_is_block(e->type.dtype)),
               HN_ERR_UNSUPPORTED, "tensor %s: type %s", e->name, e->encoding);
    w->name = e->name;
    HN_TRY(hn_type_as(&w->type, &e->type, HN_F32));
    float *to = hn_alloc(a->heap, HN_TAG_WEIGHT, hn_type_bytes(&w->type));
    if (!to)
        return HN_ERR_MEMORY;
    w->data = to;
    a->n_matrices++;
    const hn_tensor from = hn_tensor_at(&e->type, (void *)(uintptr_t)e->data);
    const int64_t k = w->type.rank > 1 ? hn_last_dim(&w->type) : 1;
    for (int64_t i = 0; i < hn_count(&w->type); i++) {
        to[i] = (float)hn_get(&from, hn_gemm_row(pairs, i / k) * k + i % k);
        HN_REQUIRE(isfinite(to[i]), HN_ERR_NUMERIC, "tensor %s: element %lld is %g", e->name,
                   (long long)i, (double)to[i]);
    }
    *out = w;
    return HN_OK;
}

static hn_status check_shapes(const hn_adapter_pair *p, const hn_weight_entry *a,
                              const hn_weight_entry *b)
{
    const hn_type *w = &p->base->type, *ta = &a->type, *tb = &b->type;
    char found[2][HN_TYPE_TEXT], base[HN_TYPE_TEXT];
    const int top = w->rank - 2;
    const int64_t n = w->dim[top], k = w->dim[top + 1];
    bool fits = w->rank >= 2 && ta->rank == w->rank && tb->rank == w->rank;
    if (fits && p->is_embedding)
        fits = ta->dim[0] == n && tb->dim[0] == k && ta->dim[1] == tb->dim[1];
    else if (fits)
        fits = ta->dim[top + 1] == k && tb->dim[top] == n && ta->dim[top] == tb->dim[top + 1] &&
               (top == 0 || (ta->dim[0] == w->dim[0] && tb->dim[0] == w->dim[0]));
    HN_REQUIRE(fits, HN_ERR_SHAPE, "%s is %s: its lora_a %s and lora_b %s do not fit",
               p->base->name, hn_type_text(w, base), hn_type_text(ta, found[0]),
               hn_type_text(tb, found[1]));
    return HN_OK;
}

static float scale_of(const hn_adapter *a, double scale, int64_t rank)
{
    return (float)(scale * (a->alpha > 0 ? a->alpha / (double)rank : 1));
}

void hn_adapter_rescale(hn_adapter *a, double scale)
{
    for (int i = 0; i < a->n_pairs; i++)
        a->pairs[i].lora.scale = scale_of(a, scale, hn_last_dim(&a->pairs[i].lora.b->type));
}

static hn_status take_pair(hn_adapter *a, const hn_arch_tensor *tensor, const nn_weight *base)
{
    const hn_weight_entry *ea = take_entry(a, base->name, ".lora_a");
    const hn_weight_entry *eb = take_entry(a, base->name, ".lora_b");
    const hn_weight_entry *em = take_entry(a, base->name, ".lora_magnitude");
    if (!ea && !eb && !em)
        return HN_OK;
    HN_REQUIRE(ea && eb, HN_ERR_FORMAT, "tensor %s.lora_%c is missing", base->name, ea ? 'b' : 'a');
    HN_REQUIRE(!em || a->is_own, HN_ERR_FORMAT, "tensor %s: not of an adapter of type lora",
               em ? em->name : "");
    hn_adapter_pair *p = &a->pairs[a->n_pairs];
    *p = (hn_adapter_pair){ .base = base, .is_embedding = !strcmp(base->name, "token_embd.weight") };
    HN_TRY(check_shapes(p, ea, eb));
    const int64_t rank = hn_last_dim(&eb->type);
    const int64_t pairs = tensor->spec->how & HN_W_PERMUTE
                              ? hn_layer_head_dim(hn_model_hparams(a->model), tensor->layer) : 0;
    HN_TRY(copy_matrix(a, ea, 0, &p->lora.a));
    HN_TRY(copy_matrix(a, eb, pairs, &p->lora.b));
    if (em) {
        HN_REQUIRE(em->type.rank == 1 && base->type.rank == 2 && em->type.dim[0] == base->type.dim[0],
                   HN_ERR_SHAPE, "tensor %s: expected %lld elements", em->name,
                   (long long)base->type.dim[0]);
        HN_TRY(copy_matrix(a, em, pairs, &p->lora.magnitude));
    }
    p->lora.scale = scale_of(a, 1, rank);
    a->n_pairs++;
    return HN_OK;
}

static hn_status take_whole(hn_adapter *a, const hn_arch_tensor *tensor, const nn_weight *base)
{
    const hn_weight_entry *e = take_entry(a, base->name, "");
    if (!e)
        return HN_OK;
    HN_REQUIRE(a->is_own, HN_ERR_FORMAT, "tensor %s: not of an adapter of type lora", e->name);
    HN_REQUIRE(hn_same_shape(&e->type, &base->type), HN_ERR_SHAPE,
               "tensor %s has another shape than the model's", e->name);
    const int64_t pairs = tensor->spec->how & HN_W_PERMUTE
                              ? hn_layer_head_dim(hn_model_hparams(a->model), tensor->layer) : 0;
    return copy_matrix(a, e, pairs, &a->wholes[a->n_wholes++]);
}

/* Some tensors have several sources, and so several lines in the architecture's table. */
static bool is_taken(const hn_adapter *a, const nn_weight *base)
{
    for (int i = 0; i < a->n_pairs; i++)
        if (a->pairs[i].base == base)
            return true;
    for (int i = 0; i < a->n_wholes; i++)
        if (!strcmp(a->wholes[i]->name, base->name))
            return true;
    return false;
}

static hn_status take_all(hn_adapter *a)
{
    size_t n;
    const hn_arch_tensor *tensors = hn_model_tensors(a->model, &n);
    a->is_used = hn_alloc_array(a->heap, HN_TAG_FILE, a->all->n + 1, sizeof *a->is_used);
    a->pairs = hn_alloc_array(a->heap, HN_TAG_FILE, n, sizeof *a->pairs);
    a->matrices = hn_alloc_array(a->heap, HN_TAG_FILE, a->all->n + 1, sizeof *a->matrices);
    a->wholes = hn_alloc_array(a->heap, HN_TAG_FILE, n, sizeof *a->wholes);
    if (!a->is_used || !a->pairs || !a->matrices || !a->wholes)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const nn_weight *base = hn_model_find(a->model, tensors[i].gguf);
        if (!base || is_taken(a, base))
            continue;
        HN_TRY(hn_work_tell(i, n, base->name));
        HN_TRY(take_pair(a, &tensors[i], base));
        HN_TRY(take_whole(a, &tensors[i], base));
    }
    for (size_t i = 0; i < a->all->n; i++)
        HN_REQUIRE(a->is_used[i], HN_ERR_FORMAT, "tensor %s: the model %s has no place for it",
                   a->all->entries[i].name, hn_model_path(a->model));
    HN_REQUIRE(a->n_pairs + a->n_wholes > 0, HN_ERR_FORMAT, "no tensors");
    return HN_OK;
}

/* ---- keys ---- */

static bool is_text(hn_span span, const char *text)
{
    return span.data && span.bytes == strlen(text) && !memcmp(span.data, text, span.bytes);
}

/* What the file says of itself, and what hone says of how it came about; what is used is asked for below. */
static bool is_known(const char *key)
{
    static const char *const own[] = { HN_ADAPTER_TYPE, HN_ADAPTER_ALPHA, HN_ADAPTER_INVOCATION, "general.type",
                                       "adapter.lora.task_name", "adapter.lora.prompt_prefix" /* notes */ };
    static const char *const spaces[] = { "general.*", "hone.adapter.*", "hone.train.*", "hone.ignored" };
    static const hn_key_row *const tables[] = { hn_keys_tokenizer, NULL };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(key, own[i]))
            return true;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (hn_pattern_matches(spaces[i], key)) {
            const hn_key_row *row = hn_key_of_gguf(tables, key);
            return row && !row->only;
        }
    return false;
}

static hn_status check_type(const hn_meta *meta)
{
    hn_span type;
    HN_TRY(hn_meta_want_string(meta, "general.type", &type));
    HN_REQUIRE(is_text(type, "adapter"), HN_ERR_FORMAT, "no adapter: general.type is %.*s",
               (int)(type.bytes < 40 ? type.bytes : 40), (const char *)type.data);
    return HN_OK;
}

hn_status hn_adapter_check_known(const hn_meta *meta)
{
    HN_TRY(check_type(meta)); /* what a model says is known of models */
    for (size_t i = 0; i < meta->n; i++)
        HN_REQUIRE(is_known(meta->values[i].key), HN_ERR_UNSUPPORTED, "key %s: no key that is known of adapters",
                   meta->values[i].key);
    return HN_OK;
}

/* Which tokens it acts on is part of what it computes. */
static hn_status check_everywhere(const hn_meta *meta)
{
    const hn_meta_value *tokens;
    HN_TRY(hn_meta_array(meta, HN_ADAPTER_INVOCATION, HN_META_U32, &tokens));
    HN_REQUIRE(!tokens || !tokens->n, HN_ERR_UNSUPPORTED,
               "key " HN_ADAPTER_INVOCATION ": it acts from its %llu invocation tokens on (aLoRA), and here adapters act on every token: "
               "it would be another adapter", tokens ? (unsigned long long)tokens->n : 0);
    return HN_OK;
}

static hn_status check_keys(hn_adapter *a)
{
    const hn_meta *meta = hn_gguf_meta(a->file);
    hn_span kind, arch;
    HN_TRY(check_type(meta));
    HN_TRY(hn_meta_want_string(meta, HN_ADAPTER_TYPE, &kind));
    a->is_own = is_text(kind, "hone");
    HN_REQUIRE(a->is_own || is_text(kind, "lora"), HN_ERR_UNSUPPORTED,
               HN_ADAPTER_TYPE " is %.*s: expected lora or hone",
               (int)(kind.bytes < 40 ? kind.bytes : 40), (const char *)kind.data);
    HN_TRY(hn_meta_want_string(meta, "general.architecture", &arch));
    HN_REQUIRE(is_text(arch, hn_model_arch(a->model)->name), HN_ERR_FORMAT,
               "for %.*s: the model is %s", (int)(arch.bytes < 40 ? arch.bytes : 40),
               (const char *)arch.data, hn_model_arch(a->model)->name);
    HN_TRY(hn_meta_double(meta, HN_ADAPTER_ALPHA, 0, &a->alpha));
    HN_REQUIRE(isfinite(a->alpha) && a->alpha >= 0, HN_ERR_FORMAT, HN_ADAPTER_ALPHA " is %g",
               a->alpha);
    return check_everywhere(meta);
}

hn_status hn_adapter_read(hn_adapter **out, hn_heap *heap, const hn_model *model, const char *path)
{
    *out = NULL;
    hn_adapter *a = hn_alloc(heap, HN_TAG_FILE, sizeof *a);
    if (!a)
        return HN_ERR_MEMORY;
    a->heap = heap;
    a->model = model;
    hn_status status = hn_gguf_read(heap, path, &a->file);
    if (status == HN_OK) {
        a->all = hn_gguf_weights(a->file);
        status = check_keys(a);
    }
    if (status == HN_OK)
        status = take_all(a);
    if (status != HN_OK) {
        hn_adapter_close(a);
        return status;
    }
    *out = a;
    return HN_OK;
}

void hn_adapter_close(hn_adapter *a)
{
    if (!a)
        return;
    for (int i = 0; i < a->n_matrices; i++)
        hn_free(a->heap, (void *)(uintptr_t)a->matrices[i].data);
    hn_free(a->heap, a->matrices);
    hn_free(a->heap, a->pairs);
    hn_free(a->heap, a->wholes);
    hn_free(a->heap, a->is_used);
    hn_gguf_close(a->file);
    hn_free(a->heap, a);
}

const hn_meta *hn_adapter_meta(const hn_adapter *a)
{
    return hn_gguf_meta(a->file);
}

const hn_weights *hn_adapter_tensors(const hn_adapter *a)
{
    return a->all;
}

const hn_adapter_pair *hn_adapter_pair_at(const hn_adapter *a, int i)
{
    return i < a->n_pairs ? &a->pairs[i] : NULL;
}

const nn_weight *hn_adapter_whole_at(const hn_adapter *a, int i)
{
    return i < a->n_wholes ? a->wholes[i] : NULL;
}
