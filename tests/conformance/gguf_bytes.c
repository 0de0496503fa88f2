#include "tests/conformance/gguf_bytes.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *exact; /* what gguf_parse read last */

void gguf_put(gguf_bytes *b, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes && b->n < GGUF_BYTES_ROOM; i++)
        b->data[b->n++] = (uint8_t)(value >> (8 * i));
}

void gguf_text(gguf_bytes *b, const char *text)
{
    gguf_put(b, strlen(text), 8);
    for (; *text; text++)
        gguf_put(b, (uint8_t)*text, 1);
}

void gguf_begin(gguf_bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys)
{
    b->n = 0;
    gguf_put(b, 0x46554747, 4); /* "GGUF" */
    gguf_put(b, version, 4);
    gguf_put(b, n_tensors, 8);
    gguf_put(b, n_keys, 8);
}

void gguf_key(gguf_bytes *b, const char *key, hn_meta_type type)
{
    gguf_text(b, key);
    gguf_put(b, type, 4);
}

void gguf_array(gguf_bytes *b, const char *key, hn_meta_type type, uint64_t n)
{
    gguf_key(b, key, HN_META_ARRAY);
    gguf_put(b, type, 4);
    gguf_put(b, n, 8);
}

void gguf_int(gguf_bytes *b, const char *key, hn_meta_type type, uint64_t value)
{
    gguf_key(b, key, type);
    gguf_put(b, value, (int)hn_meta_type_bytes(type));
}

void gguf_tensor(gguf_bytes *b, const char *name, uint64_t n, uint64_t m, uint32_t type,
                 uint64_t offset)
{
    gguf_text(b, name);
    gguf_put(b, m ? 2 : 1, 4);
    gguf_put(b, n, 8);
    if (m)
        gguf_put(b, m, 8);
    gguf_put(b, type, 4);
    gguf_put(b, offset, 8);
}

void gguf_pad(gguf_bytes *b, size_t alignment)
{
    while (b->n % alignment)
        gguf_put(b, 0, 1);
}

void gguf_fill(gguf_bytes *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        gguf_put(b, i + 1, 1);
}

hn_status gguf_parse(hn_heap *heap, const gguf_bytes *b, size_t n, hn_gguf_part *part)
{
    exact = malloc(n ? n : 1);
    if (exact && n)
        memcpy(exact, b->data, n);
    *part = (hn_gguf_part){ 0 };
    return hn_gguf_part_parse(heap, "x.gguf", exact, n, part);
}

void gguf_drop(hn_gguf_part *part)
{
    hn_gguf_part_close(part);
    free(exact);
    exact = NULL;
}
