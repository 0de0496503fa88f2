#define _GNU_SOURCE 1 /* renameat2, flock */
#include "base/out_file.h"

#include "base/map_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/random.h>
#endif

#define SUFFIX ".partial-"
enum { DIGITS = 16, MOST_LIVE = 64, TRIES = 100 };

/* ---- those in the making, for a handler of signals ---- */

static struct {
    atomic_int is_taken; /* 1: the name is being written, 2: it is there */
    char path[4104];
} live[MOST_LIVE];

static int remember(const char *path)
{
    for (int i = 0; i < MOST_LIVE; i++) {
        int none = 0;
        if (!atomic_compare_exchange_strong(&live[i].is_taken, &none, 1))
            continue;
        snprintf(live[i].path, sizeof live[i].path, "%s", path);
        atomic_store(&live[i].is_taken, 2);
        return i;
    }
    return -1; /* it is swept by whoever writes the same file next */
}

static void forget(hn_out_file *out)
{
    if (out->slot >= 0)
        atomic_store(&live[out->slot].is_taken, 0);
    out->slot = -1;
}

void hn_out_files_remove(void)
{
    for (int i = 0; i < MOST_LIVE; i++)
        if (atomic_load(&live[i].is_taken) == 2)
            unlink(live[i].path);
}

/* ---- where it goes ---- */

hn_sink hn_sink_new(const char *path) { return (hn_sink){ path, HN_OVER_NOTHING }; }

hn_sink hn_sink_own(const char *path) { return (hn_sink){ path, HN_OVER_OWN }; }

static hn_status refuse_there(const char *path)
{
    return hn_fail(HN_ERR_ARGUMENT, "%s: is there already: --overwrite replaces it", path);
}

hn_status hn_sink_check(hn_sink to)
{
    struct stat about;
    HN_REQUIRE(to.path && *to.path, HN_ERR_ARGUMENT, "a file's name: expected one, found none");
    if (to.over != HN_OVER_OWN && stat(to.path, &about) == 0)
        HN_REQUIRE(!hn_is_input(&about), HN_ERR_ARGUMENT,
                   "%s: is an input too: writing it would destroy what is read", to.path);
    if (lstat(to.path, &about) != 0)
        return HN_OK;
    HN_REQUIRE(S_ISREG(about.st_mode) || S_ISLNK(about.st_mode), HN_ERR_IO, "%s: not a regular file",
               to.path);
    return to.over == HN_OVER_NOTHING ? refuse_there(to.path) : HN_OK;
}

/* ---- its name while it is made ---- */

static uint64_t draw(void)
{
    static atomic_uint_fast64_t n_drawn;
#if defined(__linux__)
    uint64_t value;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) == (ssize_t)sizeof value)
        return value;
#endif
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_sec << 32 ^
           (uint64_t)getpid() << 16 ^ atomic_fetch_add(&n_drawn, 1);
}

static bool is_partial_of(const char *name, const char *base)
{
    const size_t n = strlen(base);
    if (strncmp(name, base, n) || strncmp(name + n, SUFFIX, strlen(SUFFIX)))
        return false;
    const char *digits = name + n + strlen(SUFFIX);
    return strlen(digits) == DIGITS && strspn(digits, "0123456789abcdef") == DIGITS;
}

static int open_folder(const char *path, const char **base)
{
    char folder[4104];
    const char *slash = strrchr(path, '/');
    *base = slash ? slash + 1 : path;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Whoever makes a file holds a lock on it, which ends with its holder. */
static void sweep(const char *path)
{
    const char *base;
    const int folder = open_folder(path, &base);
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    if (!dir) {
        if (folder >= 0)
            close(folder);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!is_partial_of(e->d_name, base))
            continue;
        const int file = openat(dirfd(dir), e->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (file < 0)
            continue;
        if (flock(file, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(dir), e->d_name, 0);
        close(file);
    }
    closedir(dir);
}

void hn_folder_sync(const char *path)
{
    const char *base;
    const int folder = open_folder(path, &base);
    if (folder < 0)
        return;
    fsync(folder); /* which some systems cannot: the name is there all the same */
    close(folder);
}

/* Locked, and not swept away by another writer between its making and that. Systems without locks sweep
 * nothing. */
static bool holds(int file)
{
    struct stat about;
    if (flock(file, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(file, &about) == 0 && about.st_nlink > 0;
}

hn_status hn_out_file_open(hn_out_file *out, hn_sink to)
{
    *out = (hn_out_file){ .file = -1, .slot = -1, .over = to.over };
    HN_TRY(hn_sink_check(to));
    const int length = snprintf(out->path, sizeof out->path, "%s", to.path);
    HN_REQUIRE(length > 0 && (size_t)length < sizeof out->path, HN_ERR_ARGUMENT,
               "file name of %d bytes: expected 1 to %zu", length, sizeof out->path - 1);
    sweep(out->path);
    for (int i = 0; i < TRIES && out->file < 0; i++) {
        snprintf(out->partial, sizeof out->partial, "%s" SUFFIX "%016llx", out->path,
                 (unsigned long long)draw());
        out->file = open(out->partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (out->file < 0 && errno != EEXIST)
            break;
        if (out->file >= 0 && !holds(out->file)) {
            close(out->file);
            out->file = -1;
            errno = EBUSY;
        }
    }
    HN_REQUIRE(out->file >= 0, HN_ERR_IO, "%s: %s", out->path, strerror(errno));
    out->slot = remember(out->partial);
    return HN_OK;
}

hn_status hn_out_file_append(hn_out_file *out, const char *path, size_t keep)
{
    struct stat about;
    *out = (hn_out_file){ .file = -1, .slot = -1, .over = HN_OVER_OWN };
    snprintf(out->path, sizeof out->path, "%s", path);
    out->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    HN_REQUIRE(out->file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    hn_status status = HN_OK;
    if (fstat(out->file, &about) != 0 || !S_ISREG(about.st_mode))
        status = hn_fail(HN_ERR_IO, "%s: not a regular file", path);
    else if (ftruncate(out->file, (off_t)keep) != 0)
        status = hn_fail(HN_ERR_IO, "%s: %s", path, strerror(errno));
    if (status != HN_OK)
        hn_out_file_close(out);
    return status;
}

void hn_out_file_close(hn_out_file *out)
{
    if (out->file >= 0)
        close(out->file);
    out->file = -1;
}

/* ---- its bytes ---- */

static hn_status refuse_write(const hn_out_file *out, size_t bytes)
{
    return hn_fail(HN_ERR_IO, "%s: writing %zu bytes: %s", out->path, bytes,
                   errno ? strerror(errno) : "nothing was written");
}

hn_status hn_out_file_write(hn_out_file *out, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        errno = 0;
        const ssize_t n = write(out->file, (const char *)data + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return refuse_write(out, bytes);
        done += (size_t)n;
    }
    return HN_OK;
}

hn_status hn_out_file_write_at(const hn_out_file *out, uint64_t at, const void *data,
                               size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        errno = 0;
        const ssize_t n =
            pwrite(out->file, (const char *)data + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return refuse_write(out, bytes);
        done += (size_t)n;
    }
    return HN_OK;
}

hn_status hn_out_file_read_at(const hn_out_file *out, uint64_t at, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pread(out->file, (char *)data + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        HN_REQUIRE(n > 0, HN_ERR_IO, "%s: reading it back: %s", out->path,
                   n ? strerror(errno) : "it ends too soon");
        done += (size_t)n;
    }
    return HN_OK;
}

hn_status hn_out_file_reserve(const hn_out_file *out, uint64_t bytes)
{
    HN_REQUIRE(bytes <= INT64_MAX, HN_ERR_ARGUMENT, "%s: %llu bytes: too large", out->path,
               (unsigned long long)bytes);
    struct statvfs disk;
    const bool is_known = fstatvfs(out->file, &disk) == 0;
    const uint64_t room = is_known ? (uint64_t)disk.f_bavail * disk.f_frsize : UINT64_MAX;
    HN_REQUIRE(bytes <= room, HN_ERR_IO, "%s: needs %llu bytes: the disk has room for %llu",
               out->path, (unsigned long long)bytes, (unsigned long long)room);
    /* Only the size is set: blocks reserved ahead are written at half the speed. */
    HN_REQUIRE(ftruncate(out->file, (off_t)bytes) == 0, HN_ERR_IO, "%s: %llu bytes: %s",
               out->path, (unsigned long long)bytes, strerror(errno));
    return HN_OK;
}

/* ---- its end ---- */

/* 0, or errno; EEXIST if something is there. A link and the removal of the other name is the same on
 * systems that cannot rename so. */
static int rename_new(const char *from, const char *to)
{
#ifdef SYS_renameat2
    const unsigned no_replace = 1;
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, no_replace) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
#endif
    if (link(from, to) != 0)
        return errno;
    unlink(from);
    return 0;
}

static hn_status give_name(hn_out_file *out)
{
    HN_TRY(hn_map_settle(out->owner));
    HN_TRY(hn_sink_check((hn_sink){ out->path, out->over }));
    HN_REQUIRE(fsync(out->file) == 0, HN_ERR_IO, "%s: %s", out->path, strerror(errno));
    const int error = out->over == HN_OVER_NOTHING ? rename_new(out->partial, out->path)
                      : rename(out->partial, out->path) == 0 ? 0 : errno;
    if (error == EEXIST)
        return refuse_there(out->path);
    HN_REQUIRE(!error, HN_ERR_IO, "%s: %s", out->path, strerror(error));
    hn_folder_sync(out->path);
    return HN_OK;
}

hn_status hn_out_file_commit(hn_out_file *out)
{
    hn_status status = give_name(out);
    if (status != HN_OK) {
        hn_out_file_abandon(out);
        return status;
    }
    forget(out);
    if (close(out->file) != 0) /* a network's disk may say only now that it has no room */
        status = hn_fail(HN_ERR_IO, "%s: %s", out->path, strerror(errno));
    out->file = -1;
    return status;
}

void hn_out_file_abandon(hn_out_file *out)
{
    if (out->file < 0)
        return;
    unlink(out->partial);
    forget(out);
    close(out->file);
    out->file = -1;
}
