/* map_file.h: a file's bytes where the system keeps them, read-only.
 *
 * Pages are read when they are touched. A file that is cut short by another process while it is
 * mapped ends this one with SIGBUS: no reader can check for that. */
#ifndef HN_BASE_MAP_FILE_H
#define HN_BASE_MAP_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct hn_map_file {
    const uint8_t *data; /* NULL of an empty file */
    size_t bytes;
} hn_map_file;

hn_status hn_map_file_open(hn_map_file *out, const char *path);
/* Pages around these bytes leave this process's memory until they are touched again: for who
 * reads a file larger than memory, once. Safe while others read. */
void hn_map_file_release(const hn_map_file *map, size_t at, size_t bytes);
/* Whole pages of mapped memory leave, those at both ends stay. */
void hn_map_release(const void *data, size_t bytes);
void hn_map_file_close(hn_map_file *map); /* and zeroes it; takes a zeroed one */

#endif
