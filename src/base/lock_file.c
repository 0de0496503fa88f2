/* The lock is the system's, on the open file; the words in it are only for messages. The file stays when the lock
 * goes: if it were removed, one could hold the old file and another the new. Somebody's own file of that name is
 * told by its first words, and is not written to. */
#include "base/lock_file.h"

#include "base/out_file.h"
#include "base/os/files.h"
#include "base/os/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOLDER "process "

static hn_status check_ours(int file, const char *path)
{
    char first[sizeof HOLDER - 1];
    const ptrdiff_t n = hn_os_read_at(file, 0, first, sizeof first);
    HN_REQUIRE(n >= 0, HN_ERR_IO, "%s: it cannot be read", path);
    HN_REQUIRE(!n || (n == (ptrdiff_t)sizeof first && !memcmp(first, HOLDER, sizeof first)), HN_ERR_ARGUMENT,
               "%s: expected a lock of hone's, found another file: it stays as it is", path);
    return HN_OK;
}

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
    HN_TRY(hn_sink_check((hn_sink){ path, HN_OVER_OLD }));
    const int file = hn_os_open_lock(path);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    if (!hn_os_lock(file)) {
        const int error = errno;
        const hn_status status = error == EWOULDBLOCK ? refuse(file, path)
                                                      : hn_fail(HN_ERR_IO, "%s: %s", path, strerror(error));
        hn_os_close(file);
        return status;
    }
    const hn_status status = check_ours(file, path);
    if (status != HN_OK) {
        hn_os_close(file);
        return status;
    }
    hn_os_host_name(host, sizeof host);
    const int n = snprintf(holder, sizeof holder, HOLDER "%ld on %s\n", hn_os_process_id(), host);
    if (!hn_os_resize(file, 0) || hn_os_write_at(file, 0, holder, (size_t)n) != n) {
        hn_os_close(file); /* who holds it could not be told */
        return hn_fail(HN_ERR_IO, "%s: it cannot be written", path);
    }
    lock->file = file + 1;
    return HN_OK;
}

hn_status hn_lock_file_check(const hn_lock_file *lock, const char *path)
{
    hn_os_file held, there;
    HN_REQUIRE(lock->file && hn_os_about_open(lock->file - 1, &held), HN_ERR_IO, "%s: it is not held", path);
    const bool is_there = hn_os_about_link(path, &there);
    HN_REQUIRE(is_there && there.device == held.device && there.inode == held.inode, HN_ERR_BUSY,
               "%s: expected the lock that is held, found %s: the folder was moved or emptied, and nothing more is written there",
               path, is_there ? "another" : "none");
    return HN_OK;
}

void hn_lock_file_release(hn_lock_file *lock)
{
    if (lock->file)
        hn_os_close(lock->file - 1);
    lock->file = 0;
}
