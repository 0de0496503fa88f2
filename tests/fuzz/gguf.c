/* Any bytes as a GGUF file: refused with a message, or every key and every tensor's bytes can
 * be read to their end; nothing leaks, and memory stays in proportion to the file. */
#include "io/gguf_part.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static volatile uint64_t sink;

static void within(const uint8_t *data, size_t bytes, const void *at, uint64_t n)
{
    const uint8_t *first = at;
    if (n > bytes || first < data || (uint64_t)(first - data) > bytes - n)
        abort();
    if (n)
        sink += (uint64_t)first[0] + first[n - 1];
}

static void read_value(const hn_meta *meta, const hn_meta_value *v)
{
    int64_t integer;
    double number;
    bool flag;
    hn_span span;
    size_t at = 0;
    for (uint64_t i = 0; i < v->n; i++) {
        if (v->type == HN_META_STRING) {
            const hn_span s = hn_meta_next_string(v, &at);
            within(v->data, v->bytes, s.data, s.bytes);
        } else {
            sink += (uint64_t)hn_meta_item_int(v, i);
            sink += hn_meta_item_double(v, i) > 0;
        }
    }
    if (v->type == HN_META_STRING && at != v->bytes)
        abort();
    const bool is_number = hn_meta_int(meta, v->key, 0, &integer) == HN_OK ||
                           hn_meta_double(meta, v->key, 0, &number) == HN_OK ||
                           hn_meta_bool(meta, v->key, false, &flag) == HN_OK;
    if (is_number == (hn_meta_string(meta, v->key, &span) == HN_OK) && !v->is_array &&
        v->type != HN_META_U64)
        abort(); /* a single value is a number or a string */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = ((size_t)1 << 20) + 64 * bytes;
    hn_gguf_part part = { 0 };
    const hn_status status = hn_gguf_part_parse(&heap, "fuzz", data, bytes, &part);
    if (status == HN_OK) {
        for (size_t i = 0; i < part.meta.n; i++) {
            within(data, bytes, part.meta.values[i].data, part.meta.values[i].bytes);
            read_value(&part.meta, &part.meta.values[i]);
        }
        for (size_t i = 0; i < part.n_tensors; i++) {
            const hn_weight_entry *t = &part.tensors[i];
            within(data, bytes, t->data, t->bytes);
            if (!t->name[0] || !t->encoding || t->type.rank < 1 ||
                (t->type.dtype < HN_N_DTYPES && hn_type_bytes(&t->type) != t->bytes))
                abort();
        }
    } else if (!hn_error_message()[0] || status == HN_ERR_MEMORY) {
        abort();
    }
    hn_gguf_part_close(&part);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
