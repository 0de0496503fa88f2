/* Tensors by name, over an open table of twice their number. A name that comes twice is refused here, whatever the
 * format. */
#include "io/weights.h"

#include "base/rng.h"

#include <string.h>

const hn_weight_entry *hn_weights_find(const hn_weights *weights, const char *name)
{
    if (!weights->index_size)
        return NULL;
    const size_t mask = weights->index_size - 1;
    for (size_t i = hn_hash_text(name) & mask; weights->index[i]; i = (i + 1) & mask) {
        const hn_weight_entry *entry = &weights->entries[weights->index[i] - 1];
        if (!strcmp(entry->name, name))
            return entry;
    }
    return NULL;
}

hn_status hn_weights_want(const hn_weights *weights, const char *name,
                          const hn_weight_entry **out)
{
    *out = hn_weights_find(weights, name);
    HN_REQUIRE(*out, HN_ERR_FORMAT, "%s: tensor %s is missing", weights->name, name);
    HN_REQUIRE((*out)->type.dtype < HN_N_DTYPES, HN_ERR_UNSUPPORTED,
               "%s: tensor %s: type %s is not supported", weights->name, name,
               (*out)->encoding);
    return HN_OK;
}

hn_status hn_weights_index(hn_heap *heap, hn_weights *weights)
{
    HN_REQUIRE(weights->n < UINT32_MAX / 4, HN_ERR_FORMAT, "%s: %zu tensors", weights->name,
               weights->n);
    size_t size = 16;
    while (size < 2 * weights->n)
        size *= 2;
    weights->index = hn_alloc_array(heap, HN_TAG_FILE, size, sizeof *weights->index);
    if (!weights->index)
        return HN_ERR_MEMORY;
    weights->index_size = size;
    for (size_t e = 0; e < weights->n; e++) {
        const char *name = weights->entries[e].name;
        HN_REQUIRE(!hn_weights_find(weights, name), HN_ERR_FORMAT, "%s: tensor %s comes twice",
                   weights->name, name);
        size_t i = hn_hash_text(name) & (size - 1);
        while (weights->index[i])
            i = (i + 1) & (size - 1);
        weights->index[i] = (uint32_t)e + 1;
    }
    return HN_OK;
}
