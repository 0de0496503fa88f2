/* Any bytes as a safetensors file: refused with a message, or its tensors cover the data
 * without gap or overlap and can be read; nothing leaks, and memory stays in proportion to the
 * file. */
#include "io/safetensors.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

static volatile uint64_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = ((size_t)1 << 20) + 256 * bytes;
    hn_safetensors file = { 0 };
    const hn_status status = hn_safetensors_parse(&heap, "fuzz", data, bytes, &file);
    if (status == HN_OK) {
        const uint8_t *at = file.n_tensors ? file.tensors[0].data : data + bytes;
        for (size_t i = 0; i < file.n_tensors; i++) {
            const hn_weight_entry *t = &file.tensors[i];
            if (t->data != at || !t->name[0] || !t->encoding ||
                (t->type.dtype < HN_N_DTYPES && hn_type_bytes(&t->type) != t->bytes))
                abort();
            if (t->bytes)
                sink += (uint64_t)at[0] + at[t->bytes - 1];
            at += t->bytes;
        }
        if (at != data + bytes)
            abort();
        for (size_t i = 0; i < file.meta.n; i++) {
            hn_span text;
            if (hn_meta_string(&file.meta, file.meta.values[i].key, &text) != HN_OK)
                abort();
        }
    } else if (!hn_error_message()[0] || status == HN_ERR_MEMORY) {
        abort();
    }
    hn_safetensors_close(&file);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
