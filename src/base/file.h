/* file.h: whole files to and from memory. */
#ifndef HN_BASE_FILE_H
#define HN_BASE_FILE_H

#include "base/heap.h"
#include "base/out_file.h"

/* Reads a regular file of at most `limit` bytes. *out ends in a NUL that *bytes does not count,
 * and is freed with hn_free. Fails with HN_ERR_IO, or HN_ERR_FORMAT if it is larger. */
hn_status hn_file_read(hn_heap *heap, const char *path, size_t limit, void **out,
                       size_t *bytes);

typedef struct hn_span {
    const void *data;
    size_t bytes;
} hn_span;

/* The same, of a text: HN_ERR_FORMAT too where it is no UTF-8, which says at which byte. */
hn_status hn_file_read_text(hn_heap *heap, const char *path, size_t limit, void **out, size_t *bytes);

/* Writes the spans one after the other, as base/out_file.h has it: the old file, or the whole new one. */
hn_status hn_file_write(hn_sink to, const hn_span *spans, int n_spans);
/* The writer's own, which nobody but this user reads: at no time, also not before it has its name. */
hn_status hn_file_write_private(const char *path, const hn_span *spans, int n_spans);
/* The same, of what can be made again and is known when it is torn: nobody waits for the disk. */
hn_status hn_file_write_passing(const char *path, const hn_span *spans, int n_spans);

/* A descriptor to read from, or -1 with errno; a FIFO does not hold it up. Only base/ opens files. */
int hn_file_reader(const char *path);
/* So many bytes of one that is open, from its beginning: memory of the heap. */
hn_status hn_file_read_open(hn_heap *heap, int file, const char *path, size_t bytes, void **out);

/* The beginning of a text, for files whose size the system does not tell (/proc), and to see what a file
 * is: that makes it no input. Ended by a NUL. Empty if it cannot be read. */
void hn_file_text(const char *path, char *out, size_t room);

#endif
