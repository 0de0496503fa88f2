/* out_file.h: a file in the making, and the only way to make one.
 *
 * It has a name of its own beside `path`, which nobody else can have taken, until it is committed:
 * durable, then given its name, so that `path` is the old file or the whole new one, never half of
 * it, and never that of two who wrote at once. What is an input of this process is never written
 * over, by device and inode; another file that is there only with permission. */
#ifndef HN_BASE_OUT_FILE_H
#define HN_BASE_OUT_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What may be where a file goes. */
typedef enum hn_over {
    HN_OVER_NOTHING, /* and nothing that came in the meantime either */
    HN_OVER_OLD,     /* --overwrite: a file, but no input */
    HN_OVER_OWN      /* a file that the writer itself keeps: a run's, a session's */
} hn_over;

typedef struct hn_sink {
    const char *path;
    hn_over over;
} hn_sink;

hn_sink hn_sink_new(const char *path);
hn_sink hn_sink_own(const char *path);

/* Refuses what is there and may not be replaced, as a commit does. */
hn_status hn_sink_check(hn_sink to);

/* Before any work is done: the same, and whatever else its writer would meet. A file is made beside it, and goes. */
hn_status hn_sink_try(hn_sink to);
/* So for files in a folder, which is there or can be made. */
hn_status hn_sink_try_folder(const char *path);

typedef struct hn_out_file {
    int file; /* -1: none */
    int slot; /* among those that hn_out_files_remove knows; -1: none */
    hn_over over;
    bool may_be_lost; /* set before it is committed: it gets its name without being durable first */
    const void *owner; /* hn_map_check asks for its mappings; NULL: for all */
    char path[4072], partial[4104];
} hn_out_file;

/* Refuses to replace what is no regular file. Removes what a writer that was killed left of the same
 * file. */
hn_status hn_out_file_open(hn_out_file *out, hn_sink to);

/* A log: `path` itself, its first `keep` bytes, and what is written from then on. No link is
 * followed. It ends with hn_out_file_close. */
hn_status hn_out_file_append(hn_out_file *out, const char *path, size_t keep);
void hn_out_file_close(hn_out_file *out); /* takes a closed one */

hn_status hn_out_file_write(hn_out_file *out, const void *data, size_t bytes);

/* At a place of its own, whatever was written elsewhere; safe from any thread. */
hn_status hn_out_file_write_at(const hn_out_file *out, uint64_t at, const void *data,
                               size_t bytes);
hn_status hn_out_file_read_at(const hn_out_file *out, uint64_t at, void *data, size_t bytes);

/* Sets the file's size, and refuses at once what the disk has no room for: not after hours of
 * work. */
hn_status hn_out_file_reserve(const hn_out_file *out, uint64_t bytes);

/* Either way nothing of it is left under another name, and `out` is closed. Refuses if a mapped file
 * was cut while it was read: what was made of it is nothing. */
hn_status hn_out_file_commit(hn_out_file *out);
void hn_out_file_abandon(hn_out_file *out); /* takes a closed one */

/* For a handler of signals that ends the process, where nothing else may be called: files in the making go, and
 * none is made any more. */
void hn_out_files_remove(void);

#endif
