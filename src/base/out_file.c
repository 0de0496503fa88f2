/* A file lives under a name of its own until it is given the other one, and three parties may meet it there. A
 * writer of the same path sweeps away what has nobody's lock, and a maker holds one from right after the making:
 * in between it may lose the file, sees that it has no link any more, and makes another. A handler of signals
 * removes what is in the making, from a table that it can read at any moment: whoever makes a file has a place
 * there before, and hears no signal until its name stands in it, so that a handler that finds the place without
 * a name is in another thread and can wait for it; and once one has begun, nobody makes a file any more. And
 * whoever reads `path` meets it after all bytes are on the disk, unless it may be lost: then a power cut can leave
 * it torn under its name. */
#include "base/out_file.h"

#include "base/map_file.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/process.h"
#include "base/os/threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".partial-"
enum { DIGITS = 16, MOST_LIVE = 64, TRIES = 100 };

/* ---- those in the making, for a handler of signals ---- */

enum { FREE, MAKING, THERE };

static struct {
    atomic_int state;
    char path[4104];
} live[MOST_LIVE];
static atomic_bool is_ending;

/* False: the process ends. */
static bool take_place(hn_out_file *out)
{
    for (int i = 0; i < MOST_LIVE && out->slot < 0; i++) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&live[i].state, &expected, MAKING))
            out->slot = i;
    }
    return !atomic_load(&is_ending); /* without a place it is swept by whoever writes the same file next */
}

static void remember(const hn_out_file *out)
{
    if (out->slot < 0)
        return;
    snprintf(live[out->slot].path, sizeof live[out->slot].path, "%s", out->partial);
    atomic_store(&live[out->slot].state, THERE);
}

static void forget(hn_out_file *out)
{
    if (out->slot >= 0)
        atomic_store(&live[out->slot].state, FREE);
    out->slot = -1;
}

void hn_out_files_remove(void)
{
    enum { MOST_MS = 1000 }; /* a disk that does not answer holds no end up */
    int waited = 0;
    atomic_store(&is_ending, true);
    for (int i = 0; i < MOST_LIVE; i++) {
        while (atomic_load(&live[i].state) == MAKING && waited++ < MOST_MS)
            hn_os_thread_rest(1);
        if (atomic_load(&live[i].state) == THERE)
            hn_os_remove(live[i].path);
    }
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
    hn_os_file about;
    HN_REQUIRE(to.path && *to.path, HN_ERR_ARGUMENT, "a file's name: expected one, found none");
    /* What its writer keeps it may have read itself, but nobody reads it any more. */
    if (hn_os_about(to.path, &about))
        HN_REQUIRE(!(to.over == HN_OVER_OWN ? hn_is_mapped : hn_is_input)(&about), HN_ERR_ARGUMENT,
                   "%s: is an input too: writing it would destroy what is read", to.path);
    if (!hn_os_about_link(to.path, &about))
        return HN_OK;
    HN_REQUIRE(about.is_file || about.is_link, HN_ERR_IO, "%s: not a regular file",
               to.path);
    return to.over == HN_OVER_NOTHING ? refuse_there(to.path) : HN_OK;
}

/* ---- its name while it is made ---- */

static uint64_t draw(void)
{
    static atomic_uint_fast64_t n_drawn;
    uint64_t value;
    if (hn_os_random(&value))
        return value;
    const uint64_t now = (uint64_t)hn_clock_wall_ns();
    return now * 0x9e3779b97f4a7c15u ^ (uint64_t)hn_os_process_id() << 16 ^ atomic_fetch_add(&n_drawn, 1);
}

static bool is_partial_of(const char *name, const char *base)
{
    const size_t n = strlen(base);
    if (strncmp(name, base, n) || strncmp(name + n, SUFFIX, strlen(SUFFIX)))
        return false;
    const char *digits = name + n + strlen(SUFFIX);
    return strlen(digits) == DIGITS && strspn(digits, "0123456789abcdef") == DIGITS;
}

/* The folder that it is in, as far as its last separator. */
static void folder_of(const char *path, char folder[4104])
{
    const int n = (int)(hn_os_last_part(path) - path);
    snprintf(folder, 4104, "%.*s", n ? n : 1, n ? path : ".");
}

/* Whoever makes a file holds a lock on it, which ends with its holder. */
static bool sweep_one(void *context, const char *name)
{
    char folder[4104], path[4400];
    if (!is_partial_of(name, hn_os_last_part(context)))
        return true;
    folder_of(context, folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int file = hn_os_open_reader_itself(path);
    if (file < 0)
        return true;
    if (hn_os_lock(file))
        hn_os_remove(path);
    hn_os_close(file);
    return true;
}

static void sweep(char *path)
{
    char folder[4104];
    folder_of(path, folder);
    hn_os_folder_each(folder, sweep_one, path);
}

/* Locked, and not swept away by another writer between its making and that. Systems without locks sweep
 * nothing. */
static bool holds(int file)
{
    hn_os_file about;
    if (!hn_os_lock(file))
        return errno != EWOULDBLOCK;
    return hn_os_about_open(file, &about) && about.n_links > 0;
}

/* A name that nobody has, and the file under it: -1 and errno if there is none. */
static int make(hn_out_file *out)
{
    for (int i = 0; i < TRIES; i++) {
        snprintf(out->partial, sizeof out->partial, "%s" SUFFIX "%016llx", out->path,
                 (unsigned long long)draw());
        const int file = hn_os_open_new(out->partial);
        if (file >= 0 && holds(file))
            return file;
        if (file < 0 && errno != EEXIST)
            return -1;
        if (file >= 0) {
            hn_os_close(file);
            hn_os_remove(out->partial); /* another's sweep has done it, unless its state could not be read */
            errno = EBUSY;
        }
    }
    return -1;
}

/* Deaf, so that no handler of signals finds the file without its name. */
static int make_known(hn_out_file *out)
{
    hn_os_deaf deaf;
    hn_os_thread_deafen(&deaf);
    errno = EINTR;
    out->file = take_place(out) ? make(out) : -1;
    const int why = errno;
    if (out->file >= 0)
        remember(out);
    else
        forget(out);
    hn_os_thread_hear(&deaf);
    return why;
}

/* Whatever is there under the name itself. */
static hn_status begin(hn_out_file *out, const char *path, hn_over over)
{
    char folder[4104];
    *out = (hn_out_file){ .file = -1, .slot = -1, .over = over };
    const int length = snprintf(out->path, sizeof out->path, "%s", path);
    HN_REQUIRE(length > 0 && (size_t)length < sizeof out->path, HN_ERR_ARGUMENT,
               "file name of %d bytes: expected 1 to %zu", length, sizeof out->path - 1);
    sweep(out->path);
    const int why = make_known(out);
    folder_of(out->path, folder);
    HN_REQUIRE(out->file >= 0, HN_ERR_IO, "%s: no file can be made in %s: %s", out->path, folder, strerror(why));
    return HN_OK;
}

hn_status hn_out_file_open(hn_out_file *out, hn_sink to)
{
    *out = (hn_out_file){ .file = -1, .slot = -1, .over = to.over };
    HN_TRY(hn_sink_check(to));
    return begin(out, to.path, to.over);
}

static hn_status try_beside(const char *path)
{
    hn_out_file out;
    HN_TRY(begin(&out, path, HN_OVER_OWN));
    hn_out_file_abandon(&out);
    return HN_OK;
}

hn_status hn_sink_try(hn_sink to)
{
    HN_TRY(hn_sink_check(to));
    return try_beside(to.path);
}

hn_status hn_sink_try_folder(const char *path)
{
    static const char inside[] = "/.hone";
    hn_os_file about;
    char name[4072];
    const int length = snprintf(name, sizeof name, "%s", path);
    HN_REQUIRE(length > 0 && (size_t)length < sizeof name - sizeof inside, HN_ERR_ARGUMENT,
               "folder name of %d bytes: expected 1 to %zu", length, sizeof name - sizeof inside - 1);
    size_t n = (size_t)length;
    while (n > 1 && hn_os_last_part(name) == name + n) /* a separator at the end says nothing */
        name[--n] = 0;
    if (hn_os_about_link(name, &about)) {
        HN_REQUIRE(hn_os_about(name, &about) && about.is_folder, HN_ERR_IO, "%s: not a folder", path);
        memcpy(name + n, inside, sizeof inside);
    }
    return try_beside(name);
}

hn_status hn_out_file_append(hn_out_file *out, const char *path, size_t keep)
{
    hn_os_file about;
    *out = (hn_out_file){ .file = -1, .slot = -1, .over = HN_OVER_OWN };
    snprintf(out->path, sizeof out->path, "%s", path);
    out->file = hn_os_open_log(path);
    HN_REQUIRE(out->file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    hn_status status = HN_OK;
    if (!hn_os_about_open(out->file, &about) || !about.is_file)
        status = hn_fail(HN_ERR_IO, "%s: not a regular file", path);
    else if (!hn_os_resize(out->file, keep))
        status = hn_fail(HN_ERR_IO, "%s: %s", path, strerror(errno));
    if (status != HN_OK)
        hn_out_file_close(out);
    return status;
}

void hn_out_file_close(hn_out_file *out)
{
    if (out->file >= 0)
        hn_os_close(out->file);
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
        const ptrdiff_t n = hn_os_write(out->file, (const char *)data + done, bytes - done);
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
        const ptrdiff_t n = hn_os_write_at(out->file, at + done, (const char *)data + done, bytes - done);
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
        const ptrdiff_t n = hn_os_read_at(out->file, at + done, (char *)data + done, bytes - done);
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
    uint64_t room;
    const bool is_known = hn_os_room(out->file, &room);
    HN_REQUIRE(!is_known || bytes <= room, HN_ERR_IO, "%s: needs %llu bytes: the disk has room for %llu",
               out->path, (unsigned long long)bytes, (unsigned long long)room);
    /* Only the size is set: blocks reserved ahead are written at half the speed. */
    HN_REQUIRE(hn_os_resize(out->file, bytes), HN_ERR_IO, "%s: %llu bytes: %s",
               out->path, (unsigned long long)bytes, strerror(errno));
    return HN_OK;
}

/* ---- its end ---- */

static hn_status give_name(hn_out_file *out)
{
    HN_TRY(hn_map_settle(out->owner));
    HN_TRY(hn_sink_check((hn_sink){ out->path, out->over }));
    HN_REQUIRE(out->may_be_lost || hn_os_sync(out->file), HN_ERR_IO, "%s: %s", out->path, strerror(errno));
    const bool is_named = out->over == HN_OVER_NOTHING ? hn_os_rename_new(out->partial, out->path)
                                                       : hn_os_rename(out->partial, out->path);
    if (!is_named && errno == EEXIST && out->over == HN_OVER_NOTHING)
        return refuse_there(out->path);
    HN_REQUIRE(is_named, HN_ERR_IO, "%s: %s", out->path, strerror(errno));
    if (!out->may_be_lost)
        hn_os_folder_sync(out->path);
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
    if (!hn_os_close(out->file)) /* a network's disk may say only now that it has no room */
        status = hn_fail(HN_ERR_IO, "%s: %s", out->path, strerror(errno));
    out->file = -1;
    return status;
}

void hn_out_file_abandon(hn_out_file *out)
{
    if (out->file < 0)
        return;
    hn_os_remove(out->partial);
    forget(out);
    hn_os_close(out->file);
    out->file = -1;
}
