/* out_file.h: a file in the making. It is `path`.partial until it is committed: durable, then
 * renamed, so that `path` is the old file or the whole new one, never half of it. */
#ifndef HN_BASE_OUT_FILE_H
#define HN_BASE_OUT_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct hn_out_file {
    int file; /* -1: none */
    char path[4080], partial[4096];
} hn_out_file;

/* Refuses to replace what is no regular file. */
hn_status hn_out_file_open(hn_out_file *out, const char *path);

hn_status hn_out_file_write(hn_out_file *out, const void *data, size_t bytes);

/* At a place of its own, whatever was written elsewhere; safe from any thread. */
hn_status hn_out_file_write_at(const hn_out_file *out, uint64_t at, const void *data,
                               size_t bytes);

/* Sets the file's size, and refuses at once what the disk has no room for: not after hours of
 * work. */
hn_status hn_out_file_reserve(const hn_out_file *out, uint64_t bytes);

/* Either way nothing named .partial is left, and `out` is closed. */
hn_status hn_out_file_commit(hn_out_file *out);
void hn_out_file_abandon(hn_out_file *out); /* takes a closed one */

#endif
