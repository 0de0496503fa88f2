/* safetensors.h: one file of tensors in Hugging Face's format, mapped.
 *
 * The header is JSON from strangers: every name, dimension and offset is checked, and the
 * tensors must cover the data exactly, without gaps or overlaps, as the format demands. */
#ifndef HN_IO_SAFETENSORS_H
#define HN_IO_SAFETENSORS_H

#include "base/map_file.h"
#include "base/meta.h"
#include "io/weights.h"

typedef struct hn_safetensors {
    hn_heap *heap;
    char *path;
    hn_map_file map;
    hn_meta meta; /* __metadata__: strings */
    hn_weight_entry *tensors; /* in the order of their data; names are on the heap */
    size_t n_tensors;
} hn_safetensors;

/* What failed is left for hn_safetensors_close to release, which can be called twice. */
hn_status hn_safetensors_open(hn_heap *heap, const char *path, hn_safetensors *out);
/* The same of bytes in memory, which must outlive it; `name` begins messages. */
hn_status hn_safetensors_parse(hn_heap *heap, const char *name, const void *file, size_t bytes,
                               hn_safetensors *out);
void hn_safetensors_close(hn_safetensors *file);

#endif
