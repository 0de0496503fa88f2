#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

hn_status hn_out_file_open(hn_out_file *out, const char *path)
{
    out->file = -1;
    const int length = snprintf(out->path, sizeof out->path, "%s", path);
    HN_REQUIRE(length > 0 && (size_t)length < sizeof out->path, HN_ERR_ARGUMENT,
               "file name of %d bytes: expected 1 to %zu", length, sizeof out->path - 1);
    snprintf(out->partial, sizeof out->partial, "%s.partial", out->path);
    struct stat about;
    HN_REQUIRE(stat(path, &about) != 0 || S_ISREG(about.st_mode), HN_ERR_IO,
               "%s: not a regular file", path);
    out->file = open(out->partial, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    HN_REQUIRE(out->file >= 0, HN_ERR_IO, "%s: %s", out->partial, strerror(errno));
    return HN_OK;
}

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

hn_status hn_out_file_commit(hn_out_file *out)
{
    int error = fsync(out->file) == 0 ? 0 : errno;
    if (close(out->file) != 0 && !error)
        error = errno;
    out->file = -1;
    if (!error && rename(out->partial, out->path) != 0)
        error = errno;
    if (error)
        unlink(out->partial);
    HN_REQUIRE(!error, HN_ERR_IO, "%s: %s", out->path, strerror(error));
    return HN_OK;
}

void hn_out_file_abandon(hn_out_file *out)
{
    if (out->file < 0)
        return;
    close(out->file);
    unlink(out->partial);
    out->file = -1;
}
