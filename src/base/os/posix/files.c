/* Calls of the system, nearly one for one. Files are opened without waiting (a pipe would hold up whoever opens
 * it) and are closed in a child. A lock is flock's: it belongs to the open file, not to the process, and ends with
 * it. */
#define _GNU_SOURCE 1 /* renameat2, flock */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

_Static_assert(sizeof(off_t) >= 8 && sizeof(size_t) >= 8, "models are files of many gigabytes, and mapped whole");

/* ---- about them ---- */

static bool about(int failure, const struct stat *s, hn_os_file *out)
{
    if (failure)
        return false;
#if defined(__APPLE__)
    const struct timespec modified = s->st_mtimespec, changed = s->st_ctimespec;
#else
    const struct timespec modified = s->st_mtim, changed = s->st_ctim;
#endif
    *out = (hn_os_file){
        .is_file = S_ISREG(s->st_mode), .is_folder = S_ISDIR(s->st_mode), .is_link = S_ISLNK(s->st_mode),
        .is_guarded = s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH)),
        .is_open_to_others = (s->st_mode & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH)) != 0,
        .device = (uint64_t)s->st_dev, .inode = (uint64_t)s->st_ino, .bytes = (uint64_t)s->st_size,
        .n_links = (uint64_t)s->st_nlink,
        .modified_ns = (int64_t)modified.tv_sec * 1000000000 + modified.tv_nsec,
        .changed_ns = (int64_t)changed.tv_sec * 1000000000 + changed.tv_nsec,
    };
    return true;
}

bool hn_os_about(const char *path, hn_os_file *out)
{
    struct stat s;
    return about(stat(path, &s), &s, out);
}

bool hn_os_about_link(const char *path, hn_os_file *out)
{
    struct stat s;
    return about(lstat(path, &s), &s, out);
}

bool hn_os_about_open(int file, hn_os_file *out)
{
    struct stat s;
    return about(fstat(file, &s), &s, out);
}

bool hn_os_is_there(const char *path) { return access(path, F_OK) == 0; }

/* ---- opened ---- */

enum { ALL = O_CLOEXEC | O_NONBLOCK };

int hn_os_open_reader(const char *path) { return open(path, O_RDONLY | ALL); }

int hn_os_open_reader_itself(const char *path) { return open(path, O_RDONLY | O_NOFOLLOW | ALL); }

int hn_os_open_new(const char *path) { return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666); }

int hn_os_open_log(const char *path) { return open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | ALL, 0666); }

int hn_os_open_lock(const char *path) { return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | ALL, 0666); }

bool hn_os_close(int file) { return close(file) == 0; }

ptrdiff_t hn_os_read(int file, void *to, size_t bytes) { return read(file, to, bytes); }

ptrdiff_t hn_os_write(int file, const void *from, size_t bytes) { return write(file, from, bytes); }

ptrdiff_t hn_os_read_at(int file, uint64_t at, void *to, size_t bytes)
{
    return pread(file, to, bytes, (off_t)at);
}

ptrdiff_t hn_os_write_at(int file, uint64_t at, const void *from, size_t bytes)
{
    return pwrite(file, from, bytes, (off_t)at);
}

bool hn_os_resize(int file, uint64_t bytes) { return ftruncate(file, (off_t)bytes) == 0; }

bool hn_os_sync(int file) { return fsync(file) == 0; }

bool hn_os_room(int file, uint64_t *bytes)
{
    struct statvfs disk;
    if (fstatvfs(file, &disk) != 0)
        return false;
    *bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return true;
}

bool hn_os_lock(int file) { return flock(file, LOCK_EX | LOCK_NB) == 0; }

/* ---- named ---- */

bool hn_os_rename(const char *from, const char *to) { return rename(from, to) == 0; }

/* A link and the removal of the other name is the same on systems that cannot rename so. */
bool hn_os_rename_new(const char *from, const char *to)
{
#if defined(SYS_renameat2)
    const unsigned no_replace = 1;
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, no_replace) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
#endif
    if (link(from, to) != 0)
        return false;
    unlink(from);
    return true;
}

bool hn_os_remove(const char *path) { return unlink(path) == 0; }

bool hn_os_guard(const char *path) { return chmod(path, 0600) == 0; }

const char *hn_os_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool hn_os_is_absolute(const char *path) { return path[0] == '/'; }

bool hn_os_is_plain_name(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}
