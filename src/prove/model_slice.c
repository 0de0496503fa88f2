/* Layers are of one kind if a number made of all that tells them apart is the same; one of each kind is kept, and
 * those whose keys a chosen one reads. */
#include "prove/model_slice.h"

#include "base/rng.h"

#include <stdio.h>
#include <string.h>

/* A number for the layer's kind. */
static uint64_t kind_of(const hn_model *m, int layer)
{
    char prefix[32], text[512];
    size_t n;
    const hn_arch_tensor *all = hn_model_tensors(m, &n);
    const hn_hparams *hp = hn_model_hparams(m);
    const bool shares = layer >= hp->n_layer - hp->n_shared_kv;
    uint64_t kind = (uint64_t)hp->is_sliding[layer] + 2 * (uint64_t)hp->is_key_value[layer] +
                    4 * (uint64_t)shares + 8 * (uint64_t)hp->n_head[layer] +
                    4096 * (uint64_t)hp->n_kv_head[layer];
    const int skip = snprintf(prefix, sizeof prefix, "blk.%d.", layer);
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = all[i].layer == layer ? hn_model_find(m, all[i].gguf) : NULL;
        if (!w)
            continue;
        char type[HN_TYPE_TEXT];
        snprintf(text, sizeof text, "%s %s", w->name + skip, hn_type_text(&w->type, type));
        kind = kind * 31 + hn_hash_text(text);
    }
    return kind;
}

/* The last layer with keys of its own of this one's width: see gemma4. */
static int source_of(const hn_hparams *hp, int layer)
{
    const int own = (int)(hp->n_layer - hp->n_shared_kv);
    for (int i = own - 1; layer >= own && i >= 0; i--)
        if (hp->is_sliding[i] == hp->is_sliding[layer])
            return i;
    return layer;
}

hn_status hn_slice_layers(hn_heap *heap, const hn_model *m, int *layers, int *n)
{
    const hn_hparams *hp = hn_model_hparams(m);
    const int all = (int)hp->n_layer;
    bool *chosen = hn_alloc_array(heap, HN_TAG_PROVE, (size_t)all, sizeof *chosen);
    uint64_t *kinds = hn_alloc_array(heap, HN_TAG_PROVE, (size_t)all, sizeof *kinds);
    const bool ok = chosen && kinds;
    for (int i = 0; ok && i < all; i++) {
        kinds[i] = kind_of(m, i);
        bool is_new = true;
        for (int k = 0; k < i; k++)
            is_new = is_new && kinds[k] != kinds[i];
        chosen[i] = chosen[i] || is_new || i == all - 1;
        if (chosen[i])
            chosen[source_of(hp, i)] = true;
    }
    *n = 0;
    for (int i = 0; ok && i < all; i++)
        if (chosen[i])
            layers[(*n)++] = i;
    hn_free(heap, chosen);
    hn_free(heap, kinds);
    return ok ? HN_OK : HN_ERR_MEMORY;
}

void hn_slice_describe(const hn_model *m, const int *layers, int n, hn_str *out)
{
    const int64_t all = hn_model_hparams(m)->n_layer;
    hn_str_print(out, "%d of %lld layers:", n, (long long)all);
    for (int i = 0; i < n; i++)
        hn_str_print(out, "%s %d", i ? "," : "", layers[i]);
    if (n == all)
        return;
    hn_str_add(out, "; left out, each like one of these:");
    const char *between = " ";
    for (int i = 0, k = 0; i < all; i++) {
        if (k < n && layers[k] == i) {
            k++;
            continue;
        }
        const int end = k < n ? layers[k] - 1 : (int)all - 1;
        hn_str_print(out, end > i ? "%s%d-%d" : "%s%d", between, i, end);
        between = ", ";
        i = end;
    }
}

hn_status hn_slice_take(hn_heap *heap, const hn_model *model, bool full, hn_model **slice, hn_str *left_out)
{
    int layers[HN_MAX_LAYERS], n;
    *slice = NULL;
    if (full || hn_model_hparams(model)->ple_width) {
        hn_str_print(left_out, "all %lld layers", (long long)hn_model_hparams(model)->n_layer);
        return hn_str_status(left_out);
    }
    HN_TRY(hn_slice_layers(heap, model, layers, &n));
    HN_TRY(hn_model_slice(model, n, layers, slice));
    hn_slice_describe(model, layers, n, left_out);
    return hn_str_status(left_out);
}
