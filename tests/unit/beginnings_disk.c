/* A file of a block: whatever single byte of it is changed, wherever it is cut, and whatever is put behind it, it is not used: it is
 * removed, told and counted, and what was right before is right again when it is written anew. What is in the list is in the folder,
 * though memory lacks and several write one name; what makes room while somebody reads it is not counted as damaged. */
#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/threads.h"
#include "engine/beginnings_disk.h"
#include "tests/harness/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 300, KEY_BYTES = 60, DATA_BYTES = 90, FILE_BYTES = 28 + KEY_BYTES + DATA_BYTES + 32 };

static char folder[PATH], path[PATH + 100];
static int n_told;
static hn_engine *engine;

static void on_refused(void *context, const char *sentence)
{
    CHECK(context == path && strstr(sentence, path) != NULL);
    n_told++;
}

static void put(const uint8_t *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && !fclose(f));
}

/* A copy of it. */
static hn_status give(hn_lm_disk *disk, const hn_disk_name *name, const uint8_t *key, const uint8_t *data, size_t n)
{
    uint8_t *copy = hn_alloc(&engine->heap, HN_TAG_FILE, n);
    if (!copy)
        return HN_ERR_MEMORY;
    memcpy(copy, data, n);
    return hn_disk_give(disk, name, key, KEY_BYTES, copy, n, true);
}

/* With these bytes on the disk: whether they are used. */
static bool is_used(const uint8_t *bytes, size_t n, const uint8_t *key, const uint8_t *want)
{
    const hn_disk_name name = { { 0xab } };
    const hn_lm_disk_options o = { .size = sizeof o, .on_refused = on_refused, .context = path };
    hn_lm_disk *disk;
    hn_lm_disk_counts c = { 0 };
    void *data;
    size_t n_data = 0;
    put(bytes, n);
    n_told = 0;
    if (!CHECK_OK(hn_lm_disk_open(&disk, engine, folder, &o)))
        return false;
    CHECK_OK(hn_disk_read(disk, &name, key, KEY_BYTES, &data, &n_data));
    CHECK_OK(hn_lm_disk_count(disk, &c, sizeof c));
    const bool is_there = hn_os_is_there(path);
    CHECK(data ? n_data == DATA_BYTES && !memcmp(data, want, DATA_BYTES) && !n_told && c.read == 1 && is_there
               : n_told == 1 && c.refused == 1 && c.read == 0 && c.files == 0 && !is_there);
    CHECK(!hn_disk_has(disk, &name, 0) == !data);
    hn_free(&engine->heap, data);
    hn_lm_disk_close(disk);
    return data != NULL;
}

static void check_bytes(const uint8_t *whole, const uint8_t *key, const uint8_t *data)
{
    uint8_t changed[FILE_BYTES + 1] = { 0 };
    CHECK(is_used(whole, FILE_BYTES, key, data));
    for (size_t i = 0; i < FILE_BYTES; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            memcpy(changed, whole, FILE_BYTES);
            changed[i] ^= (uint8_t)(1 << bit);
            CHECK_THAT(!is_used(changed, FILE_BYTES, key, data), "byte %zu", i);
        }
    for (size_t n = 0; n < FILE_BYTES; n++)
        CHECK_THAT(!is_used(whole, n, key, data), "cut at %zu", n);
    memcpy(changed, whole, FILE_BYTES);
    CHECK(!is_used(changed, FILE_BYTES + 1, key, data));
    CHECK(is_used(whole, FILE_BYTES, key, data));
    for (size_t i = 0; i < KEY_BYTES; i++) { /* whole, and not what is looked for */
        uint8_t other[KEY_BYTES];
        memcpy(other, key, KEY_BYTES);
        other[i] ^= 1;
        CHECK(!is_used(whole, FILE_BYTES, other, data));
    }
}

/* ---- what is in the list is what is in the folder ---- */

static bool count_one(void *context, const char *name)
{
    int64_t *to = context; /* files, and their bytes */
    char file[PATH + 300];
    hn_os_file about;
    snprintf(file, sizeof file, "%s/%s", folder, name);
    if (strcmp(name, "lock") != 0 && CHECK(hn_os_about(file, &about))) {
        to[0]++;
        to[1] += (int64_t)about.bytes;
    }
    return true;
}

static void check_sums(hn_lm_disk *disk)
{
    int64_t found[2] = { 0 };
    hn_lm_disk_counts c = { 0 };
    CHECK(hn_os_folder_each(folder, count_one, found));
    CHECK_OK(hn_lm_disk_count(disk, &c, sizeof c));
    CHECK_INT(found[0], c.files);
    CHECK_INT(found[1], c.bytes);
}

/* Whatever allocation of a writing fails, there is a file if and only if it is in the list. */
static void check_memory(const uint8_t *key, const uint8_t *data)
{
    const hn_disk_name name = { { 0xab } };
    int64_t n_calls = 1;
    for (int64_t i = 1; i <= n_calls; i++) {
        hn_lm_disk *disk;
        unlink(path);
        if (!CHECK_OK(hn_lm_disk_open(&disk, engine, folder, NULL)))
            return;
        uint8_t *copy = hn_alloc(&engine->heap, HN_TAG_FILE, DATA_BYTES);
        memcpy(copy, data, DATA_BYTES);
        const int64_t before = engine->heap.n_calls;
        if (i > 1)
            engine->heap.fail_at = before + i - 1;
        const hn_status status = hn_disk_give(disk, &name, key, KEY_BYTES, copy, DATA_BYTES, false);
        hn_disk_settle(disk);
        CHECK(status == HN_OK || status == HN_ERR_MEMORY);
        engine->heap.fail_at = 0;
        if (i == 1)
            n_calls = engine->heap.n_calls - before + 1;
        CHECK(i > 1 || hn_os_is_there(path));
        check_sums(disk);
        hn_lm_disk_close(disk);
    }
    CHECK(n_calls > 3);
}

typedef struct giver {
    hn_os_thread thread;
    hn_lm_disk *disk;
    const uint8_t *key, *data;
    size_t n;
    int failed; /* checks are counted on one thread */
    atomic_bool is_done;
} giver;

enum { N_GIVEN = 400 };

static void give_often(void *context)
{
    giver *g = context;
    for (int i = 0; i < N_GIVEN; i++) {
        const hn_disk_name name = { { 0xab } };
        g->failed += give(g->disk, &name, g->key, g->data, g->n) != HN_OK;
    }
}

static void check_two(const uint8_t *key, const uint8_t *data)
{
    giver short_one = { .key = key, .data = data, .n = 20 }, long_one = { .key = key, .data = data, .n = DATA_BYTES };
    unlink(path);
    if (!CHECK_OK(hn_lm_disk_open(&short_one.disk, engine, folder, NULL)))
        return;
    long_one.disk = short_one.disk;
    CHECK(!hn_os_thread_start(&long_one.thread, give_often, &long_one));
    give_often(&short_one);
    hn_os_thread_join(&long_one.thread);
    CHECK_INT(0, short_one.failed + long_one.failed);
    hn_disk_settle(short_one.disk);
    check_sums(short_one.disk);
    hn_lm_disk_close(short_one.disk);
}

static void give_in_turn(void *context)
{
    giver *g = context;
    for (int i = 0; i < 10 * N_GIVEN; i++) {
        const hn_disk_name name = { { i % 2 ? 0xcd : 0xab } };
        g->failed += give(g->disk, &name, g->key, g->data, g->n) != HN_OK;
        hn_disk_settle(g->disk); /* else it would be read while it waits */
    }
    g->is_done = true;
}

/* A disk with room for one: what is looked for goes all the time, which is no damage. */
static void check_evicted(const uint8_t *key, const uint8_t *data)
{
    const hn_lm_disk_options o = { .size = sizeof o, .most = FILE_BYTES, .on_refused = on_refused, .context = path };
    const hn_disk_name name = { { 0xab } };
    giver one = { .key = key, .data = data, .n = DATA_BYTES };
    hn_lm_disk_counts c = { 0 };
    unlink(path);
    n_told = 0;
    if (!CHECK_OK(hn_lm_disk_open(&one.disk, engine, folder, &o)))
        return;
    CHECK(!hn_os_thread_start(&one.thread, give_in_turn, &one));
    while (!one.is_done) {
        void *found;
        size_t n = DATA_BYTES;
        CHECK_OK(hn_disk_read(one.disk, &name, key, KEY_BYTES, &found, &n));
        CHECK(!found || (n == DATA_BYTES && !memcmp(found, data, n)));
        hn_free(&engine->heap, found);
    }
    hn_os_thread_join(&one.thread);
    CHECK_INT(0, one.failed);
    CHECK_OK(hn_lm_disk_count(one.disk, &c, sizeof c));
    CHECK_INT(0, c.refused);
    CHECK_INT(0, n_told);
    check_sums(one.disk);
    hn_lm_disk_close(one.disk);
    if (CHECK_OK(hn_lm_disk_open(&one.disk, engine, folder, &(hn_lm_disk_options){ .size = sizeof o, .most = 1 }))) /* none fits */
        hn_lm_disk_close(one.disk);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/hone-blocks-XXXXXX", lock[PATH + 10], digits[65];
    uint8_t key[KEY_BYTES] = "model a\nowner 7\n", data[DATA_BYTES];
    hn_disk_name name = { { 0xab } };
    hn_lm_disk *disk;
    void *whole;
    size_t n;
    check_open(argc, argv);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    snprintf(folder, sizeof folder, "%s/b", dir);
    snprintf(lock, sizeof lock, "%s/lock", folder);
    hn_sha256_text(name.digest, digits);
    snprintf(path, sizeof path, "%s/%s.block", folder, digits);
    for (int i = 0; i < KEY_BYTES - 20; i++)
        key[20 + i] = (uint8_t)(i * 7);
    for (int i = 0; i < DATA_BYTES; i++)
        data[i] = (uint8_t)(i * 5 + 1);
    if (CHECK_OK(hn_lm_disk_open(&disk, engine, folder, NULL))) {
        CHECK_OK(give(disk, &name, key, data, sizeof data));
        CHECK(hn_disk_has(disk, &name, DATA_BYTES) && !hn_disk_has(disk, &name, FILE_BYTES + 1)); /* while it waits, or is written */
        hn_disk_settle(disk);
        CHECK(hn_disk_has(disk, &name, DATA_BYTES) && !hn_disk_has(disk, &name, FILE_BYTES + 1));
        hn_lm_disk_close(disk);
    }
    if (CHECK_OK(hn_file_read(&engine->heap, path, 1000, &whole, &n)) && CHECK(n == FILE_BYTES))
        check_bytes(whole, key, data);
    hn_free(&engine->heap, whole);
    check_group("memory that lacks");
    check_memory(key, data);
    check_group("two that write one name");
    check_two(key, data);
    check_group("what makes room while it is read");
    check_evicted(key, data);
    check_group(NULL);
    hn_engine_free(engine);
    unlink(path);
    unlink(lock);
    CHECK(!rmdir(folder) && !rmdir(dir));
    return check_close();
}
