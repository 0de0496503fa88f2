/* The list and the folder are two things, and only the list is under the lock:
 *
 *     an entry is in the list and in the chain of its place, or in the chain of free ones (by `newer`), never in both
 *     counts.files and counts.bytes are of the list
 *
 *     give      it waits (beginnings_queue.h)
 *     write     its entry goes | the file, by another name, is renamed into place | it is in the list | it waits no more
 *     read      does it wait, is it in the list | the file | digest and key, or it goes
 *
 * One thread writes, so no two meet at a name. Nothing is made durable: a file that a power cut tore has another digest.
 *
 * So what is in the list was whole once. That it still is, nobody promises: another thread may have dropped it
 * since, or somebody have removed it by hand, and so every reading looks at all its bytes. A file without an entry
 * costs room until the folder is opened again, which lists what is there and removes what was never finished.
 * Until that list is sorted by age no entry was dropped, so the first n are taken: sort_by_age needs that. */
#include "engine/beginnings_disk.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/threads.h"
#include "base/str.h"
#include "engine/beginnings_queue.h"
#include "engine/structs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1, VERSION = 1, HEAD_BYTES = 28, DIGEST_BYTES = 32, NAME_DIGITS = 64 };
#define MAGIC  "hnblocks"
#define ENDING ".block"
#define DEFAULT_MOST    ((int64_t)1 << 30)
#define DEFAULT_WAITING ((int64_t)64 << 20)

typedef struct entry {
    hn_disk_name name;
    int64_t bytes, modified_ns, number; /* of the writing: a file that comes in its place has another */
    int32_t older, newer; /* in the list; `newer` of the free ones: the next of them */
    int32_t next;         /* in its place */
} entry;

struct hn_lm_disk {
    hn_engine *engine;
    hn_lm_disk_options o;
    char *folder;
    hn_lock_file taken;
    hn_os_mutex lock; /* of these: */
    entry *at;
    int32_t *places; /* [room], each the first with these bits of the name */
    int32_t room, n, free, oldest, newest;
    int64_t n_added;
    hn_lm_disk_counts counts;
    hn_disk_queue queue; /* has a lock of its own */
};

static hn_heap *heap_of(const hn_lm_disk *d) { return &d->engine->heap; }

void hn_disk_tell(const hn_lm_disk *d)
{
    if (!d->o.on_refused)
        return;
    HN_CALL_HOST();
    d->o.on_refused(d->o.context, hn_error_message());
}

/* ---- names ---- */

static hn_status path_of(const hn_lm_disk *d, const hn_disk_name *name, hn_str *path)
{
    char digits[NAME_DIGITS + 1];
    hn_sha256_text(name->digest, digits);
    hn_str_print(path, "%s/%s" ENDING, d->folder, digits);
    return hn_str_status(path);
}

static int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* What is behind the digits, or NULL: it is no name of ours. */
static const char *read_name(const char *text, hn_disk_name *name)
{
    for (int i = 0; i < NAME_DIGITS; i += 2) {
        const int high = digit_of(text[i]), low = high < 0 ? -1 : digit_of(text[i + 1]);
        if (low < 0)
            return NULL;
        name->digest[i / 2] = (uint8_t)(high * 16 + low);
    }
    return strncmp(text + NAME_DIGITS, ENDING, sizeof ENDING - 1) ? NULL : text + NAME_DIGITS + sizeof ENDING - 1;
}

/* ---- the list ---- */

static int32_t *place_of(const hn_lm_disk *d, const hn_disk_name *name)
{
    return &d->places[hn_load_32(name->digest) & (uint32_t)(d->room - 1)];
}

static int32_t find(const hn_lm_disk *d, const hn_disk_name *name)
{
    int32_t i = d->room ? *place_of(d, name) : NONE;
    while (i != NONE && memcmp(&d->at[i].name, name, sizeof *name) != 0)
        i = d->at[i].next;
    return i;
}

static void link_newest(hn_lm_disk *d, int32_t i)
{
    d->at[i].older = d->newest;
    d->at[i].newer = NONE;
    if (d->newest == NONE)
        d->oldest = i;
    else
        d->at[d->newest].newer = i;
    d->newest = i;
}

static void unlink_one(hn_lm_disk *d, int32_t i)
{
    const entry *e = &d->at[i];
    if (e->older == NONE)
        d->oldest = e->newer;
    else
        d->at[e->older].newer = e->newer;
    if (e->newer == NONE)
        d->newest = e->older;
    else
        d->at[e->newer].older = e->older;
}

/* Twice as many places. */
static hn_status grow(hn_lm_disk *d)
{
    const int32_t room = d->room ? 2 * d->room : 64;
    entry *at = hn_alloc_array(heap_of(d), HN_TAG_STATE, (size_t)room, sizeof *at);
    int32_t *places = hn_alloc_array(heap_of(d), HN_TAG_STATE, (size_t)room, sizeof *places);
    if (!at || !places || room <= 0) {
        hn_free(heap_of(d), at);
        hn_free(heap_of(d), places);
        return HN_ERR_MEMORY;
    }
    if (d->room)
        memcpy(at, d->at, (size_t)d->room * sizeof *at);
    hn_free(heap_of(d), d->at);
    hn_free(heap_of(d), d->places);
    for (int32_t i = room - 1; i >= d->room; i--) {
        at[i].newer = d->free;
        d->free = i;
    }
    d->at = at;
    d->places = places;
    d->room = room;
    memset(places, 0xff, (size_t)room * sizeof *places);
    for (int32_t i = d->oldest; i != NONE; i = at[i].newer) {
        int32_t *place = place_of(d, &at[i].name);
        at[i].next = *place;
        *place = i;
    }
    return HN_OK;
}

static hn_status add(hn_lm_disk *d, const hn_disk_name *name, int64_t bytes, int64_t modified_ns)
{
    if (d->free == NONE)
        HN_TRY(grow(d));
    const int32_t i = d->free;
    d->free = d->at[i].newer;
    int32_t *place = place_of(d, name);
    d->at[i] = (entry){ .name = *name, .bytes = bytes, .modified_ns = modified_ns, .number = ++d->n_added, .next = *place };
    *place = i;
    link_newest(d, i);
    d->counts.files++;
    d->counts.bytes += bytes;
    return HN_OK;
}

static void forget(hn_lm_disk *d, int32_t i)
{
    int32_t *at = place_of(d, &d->at[i].name);
    while (*at != i)
        at = &d->at[*at].next;
    *at = d->at[i].next;
    unlink_one(d, i);
    d->counts.files--;
    d->counts.bytes -= d->at[i].bytes;
    d->at[i].newer = d->free;
    d->free = i;
}

/* The file of one goes, and it from the list. */
static void drop(hn_lm_disk *d, int32_t i)
{
    hn_str path = hn_str_on(heap_of(d));
    if (path_of(d, &d->at[i].name, &path) == HN_OK)
        hn_os_remove(path.text);
    hn_str_free(&path);
    forget(d, i);
}

static void make_room(hn_lm_disk *d, int64_t bytes)
{
    while (d->oldest != NONE && d->counts.bytes + bytes > d->o.most) {
        drop(d, d->oldest);
        d->counts.gone++;
    }
}

/* ---- the folder ---- */

typedef struct scan {
    hn_lm_disk *disk;
    hn_status status;
} scan;

/* A file that was never finished goes; what is not ours is left where it is, and not counted. */
static bool visit(void *context, const char *text)
{
    scan *s = context;
    hn_disk_name name;
    hn_os_file about;
    const char *rest = read_name(text, &name);
    hn_str path = hn_str_on(heap_of(s->disk));
    hn_str_print(&path, "%s/%s", s->disk->folder, text);
    s->status = hn_str_status(&path);
    if (s->status == HN_OK && rest && *rest)
        hn_os_remove(path.text);
    else if (s->status == HN_OK && rest && hn_os_about_link(path.text, &about) && about.is_file)
        s->status = add(s->disk, &name, (int64_t)about.bytes, about.modified_ns);
    hn_str_free(&path);
    return s->status == HN_OK;
}

static int compare_ages(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->modified_ns != y->modified_ns)
        return x->modified_ns < y->modified_ns ? -1 : 1;
    return memcmp(&x->name, &y->name, sizeof x->name);
}

/* Nothing was ever dropped yet: the first n places are taken. */
static void sort_by_age(hn_lm_disk *d)
{
    const int32_t n = (int32_t)d->counts.files;
    if (n)
        qsort(d->at, (size_t)n, sizeof *d->at, compare_ages);
    d->oldest = d->newest = NONE;
    if (d->room)
        memset(d->places, 0xff, (size_t)d->room * sizeof *d->places);
    for (int32_t i = 0; i < n; i++) {
        int32_t *place = place_of(d, &d->at[i].name);
        d->at[i].next = *place;
        *place = i;
        link_newest(d, i);
    }
}

static hn_status check_folder(const char *folder)
{
    hn_os_file about;
    if (!hn_os_is_there(folder))
        HN_REQUIRE(hn_os_folder_make(folder, true), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    HN_REQUIRE(hn_os_about(folder, &about), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    HN_REQUIRE(about.is_folder && about.is_guarded, HN_ERR_ARGUMENT, "%s: expected a folder of this user's own that nobody else may "
               "write to, found %s", folder, about.is_folder ? "another's, or one that others may write to" : "a file");
    return HN_OK;
}

static hn_status open_folder(hn_lm_disk *d, const char *folder)
{
    hn_str path = hn_str_on(heap_of(d));
    HN_TRY(check_folder(folder));
    hn_str_print(&path, "%s/lock", folder);
    hn_status status = hn_str_status(&path);
    if (status == HN_OK)
        status = hn_lock_file_take(&d->taken, path.text);
    hn_str_free(&path);
    HN_TRY(status);
    const size_t n = strlen(folder) + 1;
    d->folder = hn_alloc(heap_of(d), HN_TAG_STATE, n);
    if (!d->folder)
        return HN_ERR_MEMORY;
    memcpy(d->folder, folder, n);
    scan s = { d, HN_OK };
    HN_REQUIRE(hn_os_folder_each(folder, visit, &s), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    HN_TRY(s.status);
    sort_by_age(d);
    make_room(d, 0);
    return HN_OK;
}

/* ---- writing ---- */

static hn_status write_block(hn_lm_disk *d, const hn_disk_name *name, const hn_span *key, const hn_span *data)
{
    uint8_t head[HEAD_BYTES], digest[DIGEST_BYTES];
    hn_sha256 sha;
    hn_str path = hn_str_on(heap_of(d));
    memcpy(head, MAGIC, 8);
    hn_store_32(head + 8, VERSION);
    hn_store_64(head + 12, key->bytes);
    hn_store_64(head + 20, data->bytes);
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, head, sizeof head);
    hn_sha256_add(&sha, key->data, key->bytes);
    hn_sha256_add(&sha, data->data, data->bytes);
    hn_sha256_end(&sha, digest);
    const hn_span spans[] = { { head, sizeof head }, *key, *data, { digest, sizeof digest } };
    hn_status status = path_of(d, name, &path);
    if (status == HN_OK)
        status = hn_file_write_passing(path.text, spans, 4);
    hn_str_free(&path);
    return status;
}

/* Room for one more of so many bytes; what has its name is forgotten, and its file written over. */
static bool takes(hn_lm_disk *d, const hn_disk_name *name, int64_t bytes)
{
    hn_os_mutex_lock(&d->lock);
    const int32_t i = find(d, name);
    if (i != NONE)
        drop(d, i);
    const bool fits = bytes <= d->o.most;
    if (fits)
        make_room(d, bytes);
    hn_os_mutex_unlock(&d->lock);
    return fits;
}

static void keep(hn_lm_disk *d, const hn_disk_name *name, int64_t bytes)
{
    hn_str path = hn_str_on(heap_of(d));
    hn_os_mutex_lock(&d->lock);
    hn_status status = add(d, name, bytes, 0);
    if (status == HN_OK)
        d->counts.written++;
    else if (path_of(d, name, &path) == HN_OK)
        hn_os_remove(path.text); /* what is not in the list would be in nobody's sum */
    make_room(d, 0);
    hn_os_mutex_unlock(&d->lock);
    hn_str_free(&path);
    if (status != HN_OK)
        hn_disk_tell(d);
}

/* On the queue's thread. */
static void write_waiting(void *context, const hn_disk_waiting *w)
{
    hn_lm_disk *d = context;
    const hn_span key = { w->key, w->key_bytes }, data = { w->data, w->data_bytes };
    const int64_t bytes = (int64_t)(HEAD_BYTES + DIGEST_BYTES + w->key_bytes + w->data_bytes);
    if (!takes(d, &w->name, bytes))
        return;
    if (write_block(d, &w->name, &key, &data) == HN_OK)
        keep(d, &w->name, bytes);
    else
        hn_disk_tell(d);
}

hn_status hn_disk_give(hn_lm_disk *d, const hn_disk_name *name, const void *key, size_t key_bytes, void *data, size_t data_bytes, bool waits)
{
    const hn_status status = hn_disk_queue_give(&d->queue, name, key, key_bytes, data, data_bytes, waits);
    if (status == HN_OK)
        return HN_OK;
    hn_free(heap_of(d), data);
    if (status != HN_ERR_BUSY)
        return status;
    hn_os_mutex_lock(&d->lock);
    d->counts.skipped++;
    hn_os_mutex_unlock(&d->lock);
    return HN_OK;
}

void hn_disk_settle(hn_lm_disk *d)
{
    if (hn_engine_check(d->engine) == HN_OK)
        hn_disk_queue_settle(&d->queue);
}

/* ---- opening and closing ---- */

hn_status hn_lm_disk_open(hn_lm_disk **out, hn_engine *engine, const char *folder, const hn_lm_disk_options *options)
{
    HN_ENTER();
    hn_lm_disk_options o;
    HN_REQUIRE(out && engine && folder, HN_ERR_ARGUMENT, "hn_lm_disk_open: expected out, an engine and a folder, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_take_struct("hn_lm_disk_options", options, sizeof o, &o));
    HN_REQUIRE(o.most >= 0, HN_ERR_ARGUMENT, "hn_lm_disk_options: expected most of at least 0, found %lld", (long long)o.most);
    HN_REQUIRE(o.waiting >= 0, HN_ERR_ARGUMENT, "hn_lm_disk_options: expected waiting of at least 0, found %lld", (long long)o.waiting);
    o.most = o.most ? o.most : DEFAULT_MOST;
    o.waiting = o.waiting ? o.waiting : DEFAULT_WAITING;
    hn_lm_disk *d = hn_alloc(&engine->heap, HN_TAG_STATE, sizeof *d);
    if (!d)
        return HN_ERR_MEMORY;
    *d = (hn_lm_disk){ .engine = engine, .o = o, .free = NONE, .oldest = NONE, .newest = NONE };
    hn_os_mutex_open(&d->lock);
    hn_status status = open_folder(d, folder);
    if (status == HN_OK)
        status = hn_disk_queue_start(&d->queue, &engine->heap, o.waiting, write_waiting, d);
    if (status != HN_OK) {
        hn_lm_disk_close(d);
        return status;
    }
    *out = d;
    return HN_OK;
}

void hn_lm_disk_close(hn_lm_disk *d)
{
    HN_ENTER();
    if (!d)
        return;
    hn_heap *heap = heap_of(d);
    if (hn_engine_check(d->engine) == HN_OK) /* a child of fork has no such thread */
        hn_disk_queue_stop(&d->queue);
    hn_lock_file_release(&d->taken);
    hn_os_mutex_close(&d->lock);
    hn_free(heap, d->folder);
    hn_free(heap, d->at);
    hn_free(heap, d->places);
    hn_free(heap, d);
}

hn_status hn_lm_disk_count(const hn_lm_disk *d, hn_lm_disk_counts *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_disk_counts, out, to, size);
    HN_REQUIRE(d && to, HN_ERR_ARGUMENT, "hn_lm_disk_count: expected a disk and room, found NULL");
    hn_os_mutex *lock = (hn_os_mutex *)(uintptr_t)&d->lock; /* no part of what is read */
    hn_os_mutex_lock(lock);
    *out = d->counts;
    hn_os_mutex_unlock(lock);
    return HN_OK;
}

/* ---- reading ---- */

/* The number of its file; 0: it is not in the list, or has less data. */
static int64_t look(hn_lm_disk *d, const hn_disk_name *name, size_t data_bytes)
{
    hn_os_mutex_lock(&d->lock);
    const int32_t i = find(d, name);
    const bool has = i != NONE && (uint64_t)d->at[i].bytes >= data_bytes;
    if (has) {
        unlink_one(d, i);
        link_newest(d, i);
    }
    const int64_t number = has ? d->at[i].number : 0;
    hn_os_mutex_unlock(&d->lock);
    return number;
}

bool hn_disk_has(hn_lm_disk *d, const hn_disk_name *name, size_t data_bytes)
{
    return hn_disk_queue_has(&d->queue, name, data_bytes) || look(d, name, data_bytes); /* what waits no more is in the list */
}

/* A key is lines of a word and what it is, a NUL, and ids: the word of the first line that is another, or the ids. */
static hn_status other_key(const char *path, const char *found, size_t n, const char *want)
{
    const size_t text = strlen(want);
    size_t i = 0, line = 0;
    for (; i < n && i < text && found[i] == want[i]; i++)
        if (want[i] == '\n')
            line = i + 1;
    return line < text ? hn_fail(HN_ERR_FORMAT, "%s: made with another %.*s", path, (int)strcspn(want + line, " "), want + line)
                       : hn_fail(HN_ERR_FORMAT, "%s: made of other tokens", path);
}

static hn_status check_file(const char *path, const uint8_t *file, size_t bytes, const void *key, size_t key_bytes)
{
    uint8_t digest[DIGEST_BYTES];
    hn_sha256 sha;
    HN_REQUIRE(bytes >= HEAD_BYTES + DIGEST_BYTES && !memcmp(file, MAGIC, 8), HN_ERR_FORMAT, "%s: no block of a cache, or its beginning alone",
               path);
    HN_REQUIRE(hn_load_32(file + 8) == VERSION, HN_ERR_UNSUPPORTED, "%s: version %u: expected %d", path, (unsigned)hn_load_32(file + 8),
               VERSION);
    const uint64_t n_key = hn_load_64(file + 12), n_data = hn_load_64(file + 20), rest = bytes - HEAD_BYTES - DIGEST_BYTES;
    HN_REQUIRE(n_key <= rest && n_data == rest - n_key, HN_ERR_FORMAT, "%s: %zu bytes are not what its beginning says", path, bytes);
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, file, bytes - DIGEST_BYTES);
    hn_sha256_end(&sha, digest);
    HN_REQUIRE(!memcmp(digest, file + bytes - DIGEST_BYTES, DIGEST_BYTES), HN_ERR_FORMAT, "%s: its bytes are not those that were written",
               path);
    if (n_key != key_bytes || memcmp(file + HEAD_BYTES, key, key_bytes) != 0)
        return other_key(path, (const char *)file + HEAD_BYTES, (size_t)n_key, key);
    return HN_OK;
}

/* One that may not be used goes, and is told; unless it went meanwhile to make room, or another came in its place: then what was read
 * is not what is in the list, and says nothing of it. */
static void refuse(hn_lm_disk *d, const hn_disk_name *name, int64_t number)
{
    hn_os_mutex_lock(&d->lock);
    const int32_t i = find(d, name);
    const bool is_it = i != NONE && d->at[i].number == number;
    if (is_it) {
        d->counts.refused++;
        drop(d, i);
    }
    hn_os_mutex_unlock(&d->lock);
    if (is_it)
        hn_disk_tell(d);
}

static void count_read(hn_lm_disk *d)
{
    hn_os_mutex_lock(&d->lock);
    d->counts.read++;
    hn_os_mutex_unlock(&d->lock);
}

hn_status hn_disk_read(hn_lm_disk *d, const hn_disk_name *name, const void *key, size_t key_bytes, void **data, size_t *data_bytes)
{
    void *file = NULL;
    size_t bytes = 0;
    hn_str path = hn_str_on(heap_of(d));
    hn_status status = hn_disk_queue_copy(&d->queue, name, key, key_bytes, data, data_bytes);
    if (*data)
        count_read(d);
    const int64_t number = status == HN_OK && !*data ? look(d, name, 0) : 0;
    if (!number)
        return status;
    status = path_of(d, name, &path);
    if (status == HN_OK)
        status = hn_file_read(heap_of(d), path.text, (size_t)d->o.most, &file, &bytes);
    if (status == HN_OK)
        status = check_file(path.text, file, bytes, key, key_bytes);
    hn_str_free(&path);
    if (status != HN_OK) {
        hn_free(heap_of(d), file);
        if (status == HN_ERR_MEMORY)
            return status;
        refuse(d, name, number);
        return HN_OK;
    }
    *data_bytes = bytes - HEAD_BYTES - DIGEST_BYTES - key_bytes;
    memmove(file, (uint8_t *)file + HEAD_BYTES + key_bytes, *data_bytes);
    *data = file;
    count_read(d);
    return HN_OK;
}
