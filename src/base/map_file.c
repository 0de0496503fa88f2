/* A table of what is mapped, and not a list on the heap, because the handler of SIGBUS reads it: slots are never
 * moved, their bounds are atomic, and what the handler does is to put zeros there and set a flag. `end` is written
 * last when a slot is taken and first when it is given up, before the pages go: else somebody's memory that comes in their place
 * would be taken for a file's, which may be dropped. Slots are taken and given up under the lock, which no handler takes.
 *
 * A file that was cut and has grown again, with other bytes, does not fault: its last byte that was not zero was
 * looked at when it was opened, and tells of it. */
#include "base/map_file.h"

#include "base/embedded.h"
#include "base/file.h"
#include "base/host.h"
#include "base/os/maps.h"
#include "base/os/threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- what is mapped: read by a handler of signals, so in a place of its own ---- */

enum { MOST = 4096, NAME = 200, MOST_KEPT = 4096 };

typedef struct mapping {
    atomic_uintptr_t begin, end; /* end 0: free */
    atomic_bool is_cut;
    atomic_bool is_read; /* into its owner's memory: no page of it can go */
    bool is_settled; /* a result that held was named while it was mapped: what comes later had no part in it */
    hn_heap *owner;
    int file;
    hn_file_stamp stamp;
    const volatile uint8_t *last; /* the last byte that is not zero; NULL: not near the end */
    uint8_t last_value;
    char name[NAME]; /* its end, if it is longer */
} mapping;

static mapping mappings[MOST];
static atomic_int n_used; /* slots that were ever taken */
static int n_mapped;
static hn_os_mutex lock = HN_OS_MUTEX;

/* Of a file's pages, without the lock: false of a slot that is free, is none's pages, or changes meanwhile. */
static bool bounds_of(const mapping *m, uintptr_t *begin, uintptr_t *end)
{
    *begin = atomic_load(&m->begin);
    *end = atomic_load(&m->end);
    const bool is_read = atomic_load(&m->is_read);
    return *end && *begin && !is_read && atomic_load(&m->begin) == *begin && atomic_load(&m->end) == *end;
}

/* ---- the handler ---- */

/* Everything from the page at `at` to the mapping's end reads as zeros. */
static bool cover(uintptr_t at)
{
    const uintptr_t page = (uintptr_t)hn_os_page();
    const int n = atomic_load(&n_used);
    for (int i = 0; i < n; i++) {
        uintptr_t begin, end;
        if (!bounds_of(&mappings[i], &begin, &end) || at < begin || at >= end)
            continue;
        const uintptr_t from = at / page * page;
        atomic_store(&mappings[i].is_cut, true);
        return hn_os_map_zeros(from, end - from);
    }
    return false;
}

/* ---- stamps ---- */

hn_file_stamp hn_stamp_of(const hn_os_file *about)
{
    return (hn_file_stamp){ .device = about->device, .inode = about->inode, .bytes = about->bytes,
                            .modified_ns = about->modified_ns, .changed_ns = about->changed_ns };
}

bool hn_same_stamp(const hn_file_stamp *a, const hn_file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

hn_file_stamp hn_map_file_stamp(const hn_map_file *map)
{
    return map->slot ? mappings[map->slot - 1].stamp : (hn_file_stamp){ 0 };
}

hn_file_stamp hn_map_file_restamp(const hn_map_file *map)
{
    hn_os_file about;
    if (!map->slot || !hn_os_about_open(mappings[map->slot - 1].file, &about))
        return (hn_file_stamp){ 0 };
    return hn_stamp_of(&about);
}

/* ---- inputs ---- */

static atomic_bool keeps;
static struct {
    uint64_t device, inode;
    const hn_work *by; /* the call that read it; NULL: to the end of the process */
} kept[MOST_KEPT];
static int n_kept;
static int n_full; /* who found no room, of calls until they return: then nothing that is there is known not to be an input */

static void keep(const hn_os_file *about)
{
    const bool is_for_all = atomic_load(&keeps);
    hn_work *call = is_for_all ? NULL : hn_host_work();
    if (!is_for_all && !call)
        return;
    const uint64_t device = about->device, inode = about->inode;
    hn_os_mutex_lock(&lock);
    int at = 0;
    while (at < n_kept && (kept[at].device != device || kept[at].inode != inode || kept[at].by != call))
        at++;
    if (at == n_kept && n_kept < MOST_KEPT) {
        kept[n_kept].device = device;
        kept[n_kept].by = call;
        kept[n_kept++].inode = inode;
    } else if (at == n_kept && !(call && call->has_more_inputs)) {
        n_full++;
        if (call)
            call->has_more_inputs = true;
    }
    hn_os_mutex_unlock(&lock);
    if (call)
        call->has_inputs = true;
}

void hn_inputs_forget(hn_work *call)
{
    int n = 0;
    hn_os_mutex_lock(&lock);
    for (int i = 0; i < n_kept; i++)
        if (kept[i].by != call)
            kept[n++] = kept[i];
    n_kept = n;
    n_full -= call->has_more_inputs;
    hn_os_mutex_unlock(&lock);
    call->has_inputs = call->has_more_inputs = false;
}

void hn_inputs_keep(void) { atomic_store(&keeps, true); }

void hn_inputs_note(int file)
{
    hn_os_file about;
    if (hn_os_about_open(file, &about) && about.is_file)
        keep(&about);
}

bool hn_is_input(const hn_os_file *about)
{
    const uint64_t device = about->device, inode = about->inode;
    hn_os_mutex_lock(&lock);
    bool is_one = n_full > 0;
    for (int i = 0; i < n_kept && !is_one; i++)
        is_one = kept[i].device == device && kept[i].inode == inode;
    hn_os_mutex_unlock(&lock);
    return is_one || hn_is_mapped(about);
}

bool hn_is_mapped(const hn_os_file *about)
{
    bool is_one = false;
    hn_os_mutex_lock(&lock);
    for (int i = 0; i < atomic_load(&n_used) && !is_one; i++)
        is_one = atomic_load(&mappings[i].end) && mappings[i].stamp.device == about->device &&
                 mappings[i].stamp.inode == about->inode;
    hn_os_mutex_unlock(&lock);
    return is_one;
}

/* ---- opening and closing ---- */

/* The slot, from 1; 0: none is free. */
static int enter(const void *data, size_t bytes, hn_heap *owner, int file, const hn_os_file *about,
                 const char *path)
{
    const size_t n = strlen(path);
    int slot = 0;
    hn_os_mutex_lock(&lock);
    for (int i = 0; i < MOST && !slot; i++)
        if (!atomic_load(&mappings[i].end))
            slot = i + 1;
    if (slot) {
        mapping *m = &mappings[slot - 1];
        m->owner = owner;
        m->file = file;
        m->stamp = hn_stamp_of(about);
        m->last = NULL;
        m->is_settled = false;
        atomic_store(&m->is_read, owner->reads_files);
        snprintf(m->name, sizeof m->name, "%s%s", n < NAME ? "" : "...", path + (n < NAME ? 0 : n - NAME + 4));
        atomic_store(&m->is_cut, false);
        atomic_store(&m->begin, (uintptr_t)data);
        atomic_store(&m->end, (uintptr_t)data + bytes);
        if (slot > atomic_load(&n_used))
            atomic_store(&n_used, slot);
        if (!m->is_read) {
            n_mapped++;
            hn_os_cuts_watch(cover);
        }
    }
    hn_os_mutex_unlock(&lock);
    return slot;
}

/* A file that was cut reads as zeros from there on, or faults: its last byte that was none tells of it,
 * without asking the system. */
static void find_last(mapping *m, const uint8_t *data, size_t bytes)
{
    enum { FAR = 1 << 16 };
    size_t i = bytes;
    while (i > 0 && bytes - i < FAR && !data[i - 1])
        i--;
    if (!i || !data[i - 1])
        return;
    hn_os_mutex_lock(&lock);
    m->last = data + i - 1;
    m->last_value = data[i - 1];
    hn_os_mutex_unlock(&lock);
}

static bool is_whole(mapping *m)
{
    return m->is_read || (m->last && *m->last == m->last_value && !atomic_load(&m->is_cut));
}

/* The bytes, mapped or read. */
static hn_status take_bytes(hn_heap *owner, int file, const char *path, size_t bytes, void **out)
{
    if (owner->reads_files)
        return hn_file_read_open(owner, file, path, bytes, out);
    *out = hn_os_map(file, bytes);
    HN_REQUIRE(*out, HN_ERR_IO, "%s: mapping %zu bytes: %s", path, bytes, strerror(errno));
    return HN_OK;
}

static void give_bytes_up(hn_heap *owner, void *data, size_t bytes, bool is_read)
{
    if (is_read)
        hn_free(owner, data);
    else
        hn_os_unmap(data, bytes);
}

static hn_status map_open(hn_map_file *out, hn_heap *owner, int file, const char *path)
{
    hn_os_file about;
    HN_REQUIRE(hn_os_about_open(file, &about), HN_ERR_IO, "%s: %s", path, strerror(errno));
    HN_REQUIRE(about.is_file, HN_ERR_IO, "%s: not a regular file", path);
    HN_REQUIRE(about.bytes <= PTRDIFF_MAX, HN_ERR_IO, "%s: %llu bytes do not fit the address space", path,
               (unsigned long long)about.bytes);
    keep(&about);
    if (about.bytes == 0) {
        hn_os_close(file);
        return HN_OK;
    }
    const size_t bytes = (size_t)about.bytes;
    void *data;
    HN_TRY(take_bytes(owner, file, path, bytes, &data));
    const int slot = enter(data, bytes, owner, file, &about, path);
    if (!slot) {
        give_bytes_up(owner, data, bytes, owner->reads_files);
        return hn_fail(HN_ERR_IO, "%s: more than %d files are mapped", path, MOST);
    }
    if (!owner->reads_files)
        find_last(&mappings[slot - 1], data, bytes);
    *out = (hn_map_file){ data, bytes, slot };
    return HN_OK;
}

hn_status hn_map_file_open(hn_map_file *out, hn_heap *owner, const char *path)
{
    *out = (hn_map_file){ 0 };
    if (hn_is_embedded(path)) { /* no file: nobody can change it or cut it short */
        *out = (hn_map_file){ hn_embedded_model().data, hn_embedded_model().bytes, 0 };
        return HN_OK;
    }
    const int file = hn_os_open_reader(path);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    const hn_status status = map_open(out, owner, file, path);
    if (status != HN_OK)
        hn_os_close(file);
    return status;
}

/* A program's result is judged when its files are closed. */
static char cut_before[NAME];
static uint64_t cut_had, cut_has;

static void remember_cut(const mapping *m)
{
    hn_os_file about;
    const bool is_known = hn_os_about_open(m->file, &about);
    const uint64_t has = is_known ? about.bytes : 0;
    if (m->is_settled || (!atomic_load(&m->is_cut) && (!is_known || has >= m->stamp.bytes)))
        return; /* a state that cannot be read is no shorter file: reading one that was cut would have told */
    memcpy(cut_before, m->name, sizeof cut_before);
    cut_had = m->stamp.bytes;
    cut_has = has;
}

void hn_map_file_close(hn_map_file *map)
{
    if (map->slot) {
        mapping *m = &mappings[map->slot - 1];
        hn_os_mutex_lock(&lock);
        if (atomic_load(&keeps))
            remember_cut(m);
        hn_heap *owner = m->owner;
        const int file = m->file;
        const bool is_read = m->is_read;
        atomic_store(&m->end, 0);
        atomic_store(&m->begin, 0);
        if (!is_read && --n_mapped == 0)
            hn_os_cuts_unwatch();
        hn_os_mutex_unlock(&lock);
        give_bytes_up(owner, (void *)(uintptr_t)map->data, map->bytes, is_read); /* perhaps to a host's allocator: not under the lock */
        hn_os_close(file);
    }
    *map = (hn_map_file){ 0 };
}

/* ---- what became of them ---- */

/* Whether it is shorter than it was by more than zeros; under the lock. *has: bytes that it has now. */
static bool was_cut(mapping *m, uint64_t *has)
{
    hn_os_file about;
    if (!atomic_load(&m->end) || is_whole(m))
        return false;
    const bool is_known = hn_os_about_open(m->file, &about);
    const bool is_gone = m->last && !*m->last; /* it may have grown again */
    if (!atomic_load(&m->is_cut) && !is_gone && is_known && about.bytes >= m->stamp.bytes)
        return false;
    *has = is_known ? about.bytes : 0;
    atomic_store(&m->is_cut, true); /* whatever it becomes later, parts of it were not there */
    return true;
}

static hn_status refuse_cut(const char *name, uint64_t had, uint64_t has)
{
    return hn_fail(HN_ERR_IO, "%s: was cut short while it was read: it had %llu bytes, now %llu", name, (unsigned long long)had,
                   (unsigned long long)has);
}

hn_status hn_map_file_check(const hn_map_file *map)
{
    mapping *m = &mappings[map->slot ? map->slot - 1 : 0];
    uint64_t has = 0;
    hn_os_mutex_lock(&lock);
    const bool is_cut = map->slot && was_cut(m, &has);
    hn_os_mutex_unlock(&lock);
    return is_cut ? refuse_cut(m->name, m->stamp.bytes, has) : HN_OK;
}

static hn_status check(const void *owner, bool is_end)
{
    char name[NAME] = "";
    uint64_t had = 0, has = 0;
    hn_os_mutex_lock(&lock);
    for (int i = 0; i < atomic_load(&n_used) && !name[0]; i++) {
        mapping *m = &mappings[i];
        if ((owner && m->owner != owner) || (is_end && m->is_settled) || !was_cut(m, &has))
            continue;
        memcpy(name, m->name, sizeof name);
        had = m->stamp.bytes;
    }
    if (!name[0] && !owner && cut_before[0]) {
        memcpy(name, cut_before, sizeof name);
        had = cut_had;
        has = cut_has;
    }
    hn_os_mutex_unlock(&lock);
    return name[0] ? refuse_cut(name, had, has) : HN_OK;
}

hn_status hn_map_check(const void *owner) { return check(owner, false); }

hn_status hn_map_settle(const void *owner)
{
    const bool is_all = atomic_load(&keeps);
    HN_TRY(hn_map_check(is_all ? NULL : owner));
    hn_os_mutex_lock(&lock);
    for (int i = 0; i < atomic_load(&n_used) && is_all; i++)
        mappings[i].is_settled = true;
    hn_os_mutex_unlock(&lock);
    return HN_OK;
}

hn_status hn_map_check_end(void) { return check(NULL, true); }

/* Systems map several pages around one that is touched: a window of that size goes. */
void hn_map_file_release(const hn_map_file *map, size_t at, size_t bytes)
{
    enum { WINDOW = 1 << 16 };
    if (!map->slot || mappings[map->slot - 1].is_read || at >= map->bytes || bytes > map->bytes - at)
        return; /* pages of other memory would come back as zeros */
    const size_t begin = at / WINDOW * WINDOW;
    const size_t end = at + bytes + WINDOW - 1 - (at + bytes + WINDOW - 1) % WINDOW;
    const size_t last = end < map->bytes ? end : map->bytes;
    hn_os_map_drop((void *)(uintptr_t)(map->data + begin), last - begin);
}

static bool is_mapped(uintptr_t at, size_t bytes)
{
    const int n = atomic_load(&n_used);
    for (int i = 0; i < n; i++) {
        uintptr_t begin, end;
        if (bounds_of(&mappings[i], &begin, &end) && at >= begin && at < end && bytes <= end - at)
            return true;
    }
    return false;
}

bool hn_map_has(const void *data)
{
    return is_mapped((uintptr_t)data, 1);
}

void hn_map_release(const void *data, size_t bytes)
{
    if (!is_mapped((uintptr_t)data, bytes))
        return;
    const uintptr_t page = (uintptr_t)hn_os_page(), at = (uintptr_t)data;
    const uintptr_t begin = (at + page - 1) / page * page, end = (at + bytes) / page * page;
    if (end > begin)
        hn_os_map_drop((void *)begin, end - begin);
}
