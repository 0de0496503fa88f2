#define _GNU_SOURCE 1 /* flock, gethostname */
#include "base/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static hn_status refuse(int file, const char *path)
{
    char holder[200];
    const ssize_t n = pread(file, holder, sizeof holder - 1, 0);
    holder[n > 0 ? n : 0] = 0;
    holder[strcspn(holder, "\n")] = 0;
    return hn_fail(HN_ERR_BUSY, "%s is held by %s: it works there", path,
                   holder[0] ? holder : "another process");
}

hn_status hn_lock_file_take(hn_lock_file *lock, const char *path)
{
    char host[64] = "", holder[200];
    if (lock->file)
        return HN_OK;
    const int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        const int error = errno;
        const hn_status status = error == EWOULDBLOCK ? refuse(file, path)
                                                      : hn_fail(HN_ERR_IO, "%s: %s", path, strerror(error));
        close(file);
        return status;
    }
    gethostname(host, sizeof host - 1);
    const int n = snprintf(holder, sizeof holder, "process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(file, 0) != 0 || pwrite(file, holder, (size_t)n, 0) != n) {
        close(file); /* who holds it could not be told */
        return hn_fail(HN_ERR_IO, "%s: it cannot be written", path);
    }
    lock->file = file + 1;
    return HN_OK;
}

void hn_lock_file_release(hn_lock_file *lock)
{
    if (lock->file)
        close(lock->file - 1);
    lock->file = 0;
}
