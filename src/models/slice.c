/* A model of some of another's layers: their weights under new numbers, in the same memory, so the whole one must
 * outlive it. It has no identity of its own. */
#include "models/model_parts.h"

#include <stdio.h>
#include <string.h>

static void take_layers(const hn_hparams *from, int n, const int *layers, hn_hparams *to)
{
    *to = *from;
    to->n_layer = n;
    to->n_shared_kv = 0;
    for (int i = 0; i < n; i++) {
        const int l = layers[i];
#define INT(field, gguf, low, high, absent)
#define NUM(field, gguf, low, high, absent)
#define FLAG(field, gguf, low, high, absent)
#define LAYERED(field, gguf, low, high, absent) to->field[i] = from->field[l];
#include "nn/hparams.def"
#undef INT
#undef NUM
#undef FLAG
#undef LAYERED
        to->is_sliding[i] = from->is_sliding[l];
        to->is_key_value[i] = from->is_key_value[l];
        to->has_no_rope[i] = from->has_no_rope[l];
        to->sparsity[i] = from->sparsity[l];
        to->n_shared_kv += l >= from->n_layer - from->n_shared_kv;
    }
}

/* What the slice calls `name` is called in the whole model. */
static void whole_name(const char *name, const int *layers, char out[HN_TENSOR_NAME])
{
    int layer, used = 0;
    if (sscanf(name, "blk.%d.%n", &layer, &used) == 1 && used)
        snprintf(out, HN_TENSOR_NAME, "blk.%d.%s", layers[layer], name + used);
    else
        snprintf(out, HN_TENSOR_NAME, "%s", name);
}

static hn_status take_weights(hn_model *s, const hn_model *m, const int *layers)
{
    s->weights = hn_alloc_array(s->heap, HN_TAG_FILE, s->n_tensors, sizeof *s->weights);
    s->owned = hn_alloc_array(s->heap, HN_TAG_FILE, s->n_tensors, sizeof *s->owned);
    if (!s->weights || !s->owned)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < s->n_tensors; i++) {
        char name[HN_TENSOR_NAME];
        const char *own = s->tensors[i].gguf;
        whole_name(own, layers, name);
        const nn_weight *w = hn_model_find(m, name);
        bool is_again = false; /* a tensor with several sources has several lines */
        for (size_t k = 0; k < s->n && !is_again; k++)
            is_again = !strcmp(s->weights[k].name, own);
        if (!w || is_again)
            continue;
        s->weights[s->n] = *w;
        s->weights[s->n++].name = own;
    }
    return hn_model_index(s);
}

static hn_status make(hn_model *s, const hn_model *m, int n, const int *layers)
{
    HN_REQUIRE(!m->hp->ple_width, HN_ERR_UNSUPPORTED,
               "%s: per-layer embeddings hold all layers at once: no part of them can be taken",
               m->path);
    HN_REQUIRE(n > 0, HN_ERR_ARGUMENT, "a model of %d layers", n);
    for (int i = 0; i < n; i++)
        HN_REQUIRE(layers[i] >= 0 && layers[i] < m->hp->n_layer && (!i || layers[i] > layers[i - 1]),
                   HN_ERR_ARGUMENT, "layer %d: expected ascending numbers below %lld", layers[i],
                   (long long)m->hp->n_layer);
    s->path = hn_strdup(m->heap, HN_TAG_FILE, m->path);
    s->hp = hn_alloc(m->heap, HN_TAG_FILE, sizeof *s->hp);
    if (!s->path || !s->hp)
        return HN_ERR_MEMORY;
    take_layers(m->hp, n, layers, s->hp);
    HN_TRY(hn_arch_tensors(s->arch, s->hp, s->heap, &s->tensors, &s->n_tensors));
    return take_weights(s, m, layers);
}

hn_status hn_model_slice(const hn_model *m, int n, const int *layers, hn_model **out)
{
    *out = NULL;
    hn_model *s = hn_alloc(m->heap, HN_TAG_FILE, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    s->heap = m->heap;
    s->arch = m->arch;
    s->prefix = m->prefix;
    const hn_status status = make(s, m, n, layers);
    if (status != HN_OK) {
        hn_model_close(s);
        return status;
    }
    *out = s;
    return HN_OK;
}
