/* files.h: the system's files, by small numbers and by names in UTF-8. What fails gives -1 or false, and
 * errno says why. What may be opened for writing is base/out_file.h's and base/lock_file.h's to say. */
#ifndef HN_BASE_OS_FILES_H
#define HN_BASE_OS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hn_os_file {
    bool is_file, is_folder, is_link;
    bool is_guarded; /* this user's own, and written to by nobody else */
    bool is_open_to_others; /* who may read it or write to it; Windows is not asked: false */
    uint64_t device, inode, bytes, n_links;
    int64_t modified_ns, changed_ns;
} hn_os_file;

bool hn_os_about(const char *path, hn_os_file *out);      /* of what a link leads to */
bool hn_os_about_link(const char *path, hn_os_file *out); /* of a link itself */
bool hn_os_about_open(int file, hn_os_file *out);
bool hn_os_is_there(const char *path);

/* None is inherited by a child, and a FIFO holds none of them up. */
int hn_os_open_reader(const char *path);
int hn_os_open_reader_itself(const char *path); /* which is no link */
int hn_os_open_new(const char *path);           /* read and written; EEXIST if anything is there */
int hn_os_open_log(const char *path);           /* made, or written to at its end; it is no link */
int hn_os_open_lock(const char *path);          /* made, or as it is; read and written; it is no link */
bool hn_os_close(int file);

/* Bytes done, at most those asked for. */
ptrdiff_t hn_os_read(int file, void *to, size_t bytes);
ptrdiff_t hn_os_write(int file, const void *from, size_t bytes);
ptrdiff_t hn_os_read_at(int file, uint64_t at, void *to, size_t bytes);
ptrdiff_t hn_os_write_at(int file, uint64_t at, const void *from, size_t bytes);

bool hn_os_resize(int file, uint64_t bytes);
bool hn_os_sync(int file); /* what was written is on the disk */
bool hn_os_room(int file, uint64_t *bytes); /* what its disk has left for this user */

/* Held until it is closed or its process ends. EWOULDBLOCK: by another. */
bool hn_os_lock(int file);

bool hn_os_rename(const char *from, const char *to); /* what was there is gone, at no moment is nothing there */
bool hn_os_rename_new(const char *from, const char *to); /* EEXIST if anything is there */
bool hn_os_remove(const char *path); /* a handler of signals may call it */
bool hn_os_guard(const char *path);  /* nobody but this user reads or writes it */

/* The last part of a name, behind the folders; and whether a name says where it begins. */
const char *hn_os_last_part(const char *path);
bool hn_os_is_absolute(const char *path);
/* Whether it names something in a folder itself: no folder, and none of the system's own names. */
bool hn_os_is_plain_name(const char *name);

#endif
