/* The lock is the system's, on the open file; the words in it are only for messages. The file stays when the lock
 * goes: if it were removed, one could hold the old file and another the new. */
#include "base/lock_file.h"

#include "base/os/files.h"
#include "base/os/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static hn_status refuse(int file, const char *path)
{
    char holder[200];
    const ptrdiff_t n = hn_os_read_at(file, 0, holder, sizeof holder - 1);
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
    const int file = hn_os_open_lock(path);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    if (!hn_os_lock(file)) {
        const int error = errno;
        const hn_status status = error == EWOULDBLOCK ? refuse(file, path)
                                                      : hn_fail(HN_ERR_IO, "%s: %s", path, strerror(error));
        hn_os_close(file);
        return status;
    }
    hn_os_host_name(host, sizeof host);
    const int n = snprintf(holder, sizeof holder, "process %ld on %s\n", hn_os_process_id(), host);
    if (!hn_os_resize(file, 0) || hn_os_write_at(file, 0, holder, (size_t)n) != n) {
        hn_os_close(file); /* who holds it could not be told */
        return hn_fail(HN_ERR_IO, "%s: it cannot be written", path);
    }
    lock->file = file + 1;
    return HN_OK;
}

void hn_lock_file_release(hn_lock_file *lock)
{
    if (lock->file)
        hn_os_close(lock->file - 1);
    lock->file = 0;
}
