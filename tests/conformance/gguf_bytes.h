/* gguf_bytes.h: GGUF files put together by hand, field by field, right or wrong. */
#ifndef TESTS_CONFORMANCE_GGUF_BYTES_H
#define TESTS_CONFORMANCE_GGUF_BYTES_H

#include "io/gguf_part.h"

enum { GGUF_BYTES_ROOM = 1 << 22 };

typedef struct gguf_bytes {
    uint8_t data[GGUF_BYTES_ROOM];
    size_t n;
} gguf_bytes;

void gguf_put(gguf_bytes *b, uint64_t value, int bytes); /* little endian */
void gguf_text(gguf_bytes *b, const char *text);         /* length and bytes */
void gguf_begin(gguf_bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_keys);
void gguf_key(gguf_bytes *b, const char *key, hn_meta_type type); /* value follows */
void gguf_array(gguf_bytes *b, const char *key, hn_meta_type type,
                uint64_t n); /* items follow */
void gguf_int(gguf_bytes *b, const char *key, hn_meta_type type, uint64_t value);
/* One dimension of `n`, or n x m. */
void gguf_tensor(gguf_bytes *b, const char *name, uint64_t n, uint64_t m, uint32_t type,
                 uint64_t offset);
void gguf_pad(gguf_bytes *b, size_t alignment);
void gguf_fill(gguf_bytes *b, size_t n); /* n bytes 1, 2, 3 ... */

/* In a block of exactly this size, which `part` keeps pointing into: see gguf_drop. */
hn_status gguf_parse(hn_heap *heap, const gguf_bytes *b, size_t n, hn_gguf_part *part);
void gguf_drop(hn_gguf_part *part);

#endif
