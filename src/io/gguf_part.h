/* gguf_part.h: one GGUF file: header, metadata and tensor infos, read and checked. */
#ifndef HN_IO_GGUF_PART_H
#define HN_IO_GGUF_PART_H

#include "base/map_file.h"
#include "base/meta.h"
#include "io/weights.h"

typedef struct hn_gguf_part {
    hn_heap *heap;
    char *path;
    hn_map_file map;
    void *copy; /* of one that was read: where `map` lies then */
    int version;
    hn_meta meta;
    hn_weight_entry *tensors; /* names are on the heap */
    size_t n_tensors;
} hn_gguf_part;

enum { HN_GGUF_ALIGNMENT = 32, HN_GGUF_MIN_ALIGNMENT = 8, HN_GGUF_MAX_ALIGNMENT = 1 << 20 };

/* What failed is left for hn_gguf_part_close to release, and can be closed twice. */
hn_status hn_gguf_part_open(hn_heap *heap, const char *path, hn_gguf_part *out);
/* All of it is read, and the file is nobody's any more. */
hn_status hn_gguf_part_read(hn_heap *heap, const char *path, hn_gguf_part *out);
/* The same of bytes in memory, which must outlive it; `name` begins messages. */
hn_status hn_gguf_part_parse(hn_heap *heap, const char *name, const void *file, size_t bytes,
                             hn_gguf_part *out);
void hn_gguf_part_close(hn_gguf_part *part);

#endif
