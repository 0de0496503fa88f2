/* lock_file.h: that one process at a time works in a folder. The system holds the lock and ends it
 * with its holder, however that ends: there are no stale ones. The file says who it was. */
#ifndef HN_BASE_LOCK_FILE_H
#define HN_BASE_LOCK_FILE_H

#include "base/status.h"

typedef struct hn_lock_file {
    int file; /* + 1; 0: none, so that a zeroed one is empty */
} hn_lock_file;

/* HN_ERR_BUSY names the holder. Taking it again is nothing. */
hn_status hn_lock_file_take(hn_lock_file *lock, const char *path);
/* That it is still what `path` names: who moved the folder, or removed the file, let others take another there. */
hn_status hn_lock_file_check(const hn_lock_file *lock, const char *path);
void hn_lock_file_release(hn_lock_file *lock); /* takes an empty one */

#endif
