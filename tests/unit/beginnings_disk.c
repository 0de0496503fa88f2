/* A file of a block: whatever single byte of it is changed, wherever it is cut, and whatever is put behind it, it is not used: it is
 * removed, told and counted, and what was right before is right again when it is written anew. */
#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "engine/beginnings_disk.h"
#include "tests/harness/check.h"

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
        hn_disk_write(disk, &name, key, sizeof key, data, sizeof data);
        CHECK(hn_disk_has(disk, &name, DATA_BYTES) && !hn_disk_has(disk, &name, FILE_BYTES + 1));
        hn_lm_disk_close(disk);
    }
    if (CHECK_OK(hn_file_read(&engine->heap, path, 1000, &whole, &n)) && CHECK(n == FILE_BYTES))
        check_bytes(whole, key, data);
    hn_free(&engine->heap, whole);
    hn_engine_free(engine);
    unlink(path);
    unlink(lock);
    CHECK(!rmdir(folder) && !rmdir(dir));
    return check_close();
}
