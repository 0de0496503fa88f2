/* file.h: whole files to and from memory. */
#ifndef HN_BASE_FILE_H
#define HN_BASE_FILE_H

#include "base/heap.h"

/* Reads a regular file of at most `limit` bytes. *out ends in a NUL that *bytes does not count,
 * and is freed with hn_free. Fails with HN_ERR_IO, or HN_ERR_FORMAT if it is larger. */
hn_status hn_file_read(hn_heap *heap, const char *path, size_t limit, void **out,
                       size_t *bytes);

typedef struct hn_span {
    const void *data;
    size_t bytes;
} hn_span;

/* Writes the spans one after the other to `path`.partial, makes them durable and renames, so
 * that `path` is the old file or the whole new one. Refuses to replace what is no regular file.
 */
hn_status hn_file_write(const char *path, const hn_span *spans, int n_spans);

#endif
