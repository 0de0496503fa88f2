/* Any bytes as the metadata of a model, under each architecture's name: refused with a message,
 * or numbers from which every tensor's shape and the cache's size follow without overflow. The
 * same bytes serve as config.json where they are JSON. */
#include "io/gguf_part.h"
#include "models/models.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static volatile uint64_t sink;

static void use(hn_heap *heap, const hn_arch *arch, const hn_hparams *hp)
{
    hn_arch_tensor *tensors;
    size_t n;
    if (hp->n_layer < 1 || hp->n_layer > HN_MAX_LAYERS || hp->n_shared_kv < 0)
        abort();
    for (int i = 0; i < hp->n_layer - hp->n_shared_kv; i++)
        sink += (uint64_t)hp->n_kv_head[i] *
                (uint64_t)(hn_layer_head_dim(hp, i) + hn_layer_value_dim(hp, i));
    if (hn_arch_tensors(arch, hp, heap, &tensors, &n) != HN_OK) {
        if (!hn_error_message()[0] || tensors)
            abort();
        return;
    }
    for (size_t i = 0; i < n; i++) {
        hn_type type;
        for (int d = 0; d < tensors[i].rank; d++)
            if (tensors[i].dim[d] < 1)
                abort();
        sink += hn_type_make(&type, HN_F32, tensors[i].rank, tensors[i].dim) == HN_OK;
        sink += hn_arch_needs(&tensors[i], hp);
    }
    hn_free(heap, tensors);
}

static void read_meta(hn_heap *heap, const hn_meta *meta, const hn_weights *weights,
                      hn_hparams *hp)
{
    hn_span name;
    for (int i = 0; hn_archs[i]; i++) {
        if (hn_meta_string(meta, "general.architecture", &name) != HN_OK ||
            name.bytes != strlen(hn_archs[i]->name) ||
            memcmp(name.data, hn_archs[i]->name, name.bytes) != 0)
            continue;
        if (hn_arch_read_meta(hn_archs[i], meta, weights, NULL, hp) == HN_OK)
            use(heap, hn_archs[i], hp);
        else if (!hn_error_message()[0])
            abort();
    }
}

static void read_config(hn_heap *heap, const hn_json *config, hn_hparams *hp)
{
    const hn_arch *arch;
    if (hn_arch_of_config(config, &arch) != HN_OK)
        return;
    if (hn_arch_read_config(arch, config, NULL, hp) == HN_OK)
        use(heap, arch, hp);
    else if (!hn_error_message()[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = (size_t)64 << 20;
    hn_gguf_part part = { 0 };
    hn_json_text *text = NULL;
    hn_hparams *hp = hn_alloc(&heap, HN_TAG_FILE, sizeof *hp);
    if (hn_gguf_part_parse(&heap, "fuzz", data, bytes, &part) == HN_OK) {
        hn_weights weights = { .name = "fuzz", .entries = part.tensors, .n = part.n_tensors };
        if (hn_weights_index(&heap, &weights) == HN_OK)
            read_meta(&heap, &part.meta, &weights, hp);
        hn_free(&heap, weights.index);
    } else if (hn_json_read(&heap, "fuzz", (const char *)data, bytes, &text) == HN_OK) {
        read_config(&heap, hn_json_root(text), hp);
    }
    hn_json_free(text);
    hn_gguf_part_close(&part);
    hn_free(&heap, hp);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
