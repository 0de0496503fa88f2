/* map_file.h: a file's bytes where the system keeps them, read-only.
 *
 * Pages are read when they are touched. A file that is cut short by another process while it is
 * mapped would end this one with SIGBUS. While any file is mapped a handler stands there: it puts
 * zeros in the place of what is gone, and marks the mapping, so that whoever computes comes to an
 * end; hn_map_check then refuses what was made of it. Faults elsewhere go to the handler that was
 * there before, and that one comes back with the last mapping's end.
 *
 * For a heap that reads_files it is read into that instead, whole, and nothing that follows concerns it. */
#ifndef HN_BASE_MAP_FILE_H
#define HN_BASE_MAP_FILE_H

#include "base/heap.h"
#include "base/os/files.h"
#include "base/status.h"
#include "base/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hn_map_file {
    const uint8_t *data; /* NULL of an empty file */
    size_t bytes;
    int slot; /* among this process's mappings, from 1; 0: none, and of what is embedded (base/embedded.h) */
} hn_map_file;

/* `owner`: whose it is, for hn_map_check. */
hn_status hn_map_file_open(hn_map_file *out, hn_heap *owner, const char *path);
/* Pages around these bytes leave this process's memory until they are touched again: for who
 * reads a file larger than memory, once. Safe while others read. */
void hn_map_file_release(const hn_map_file *map, size_t at, size_t bytes);
/* Whole pages of a mapped file leave, those at both ends stay. Of any other memory nothing is done: a page of it
 * would be zeros when it came back. */
void hn_map_release(const void *data, size_t bytes);
/* Whether this lies in a mapped file. */
bool hn_map_has(const void *data);
void hn_map_file_close(hn_map_file *map); /* and zeroes it; takes a zeroed one */

/* As hn_map_check, of this one alone. */
hn_status hn_map_file_check(const hn_map_file *map);
/* HN_ERR_IO, by name, if a mapped file of `owner`, or NULL: of anybody, is shorter than it was by more than
 * zeros. To be asked before anything that was computed from one is handed out; of files that are whole it
 * costs a look at a byte of each. */
hn_status hn_map_check(const void *owner_or_null);
/* The same before a result gets its name. In a process that is one command (hn_inputs_keep) that is of
 * everybody's files, and settles them: what is cut after that had no part in the result. */
hn_status hn_map_settle(const void *owner_or_null);
hn_status hn_map_check_end(void); /* hn_map_check(NULL) of those that are not settled */

/* What a file was when it was mapped, and whether it is still so: written to in place it is another,
 * whoever maps it sees both. */
typedef struct hn_file_stamp {
    uint64_t device, inode, bytes;
    int64_t modified_ns, changed_ns;
} hn_file_stamp;
hn_file_stamp hn_stamp_of(const hn_os_file *about);
hn_file_stamp hn_map_file_stamp(const hn_map_file *map);   /* when it was mapped; zeros of none */
hn_file_stamp hn_map_file_restamp(const hn_map_file *map); /* of the same file now */
bool hn_same_stamp(const hn_file_stamp *a, const hn_file_stamp *b);

/* ---- inputs: what is mapped now, and what a call that has not returned has read, which nothing is written over ---- */

/* From here on every file that is read is an input to the end of the process: for a program whose process is one command. */
void hn_inputs_keep(void);
void hn_inputs_note(int file); /* for readers: it was read */
void hn_inputs_forget(struct hn_work *call); /* it returns */
bool hn_is_input(const hn_os_file *about);
bool hn_is_mapped(const hn_os_file *about); /* now */

#endif
