/* Runs a fuzz target without libFuzzer: over each file of a folder as it is, then over
 * mutations of it (bytes changed, cut off, doubled, runs of 0xff) made from the seed.
 *
 *     npy --corpus FOLDER [--rounds N] [--seed N]
 *
 * With clang, link the target with -fsanitize=fuzzer instead of this file. */
#include "base/file.h"
#include "base/rng.h"
#include "tests/fuzz/target.h"
#include "tests/harness/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1024, ROOM_FOR_GROWTH = 64 };

static hn_rng_key key;
static uint64_t n_drawn;

static size_t below(size_t n) { return n ? hn_rng_below(key, n_drawn++, (uint32_t)n) : 0; }

/* `data` has ROOM_FOR_GROWTH bytes more than `bytes`. */
static size_t mutate(uint8_t *data, size_t bytes)
{
    for (size_t n = 1 + below(4); n && bytes; n--) {
        const size_t at = below(bytes), length = 1 + below(8);
        switch (below(6)) {
        case 0:
            data[at] = (uint8_t)below(256);
            break;
        case 1:
            data[at] ^= (uint8_t)(1u << below(8));
            break;
        case 2:
            data[at] = (uint8_t) "0123456789()[]{}<>,:'\"\\ \n-+eE"[below(30)];
            break;
        case 3:
            memset(data + at, 0xff, length < bytes - at ? length : bytes - at);
            break;
        case 4:
            bytes = at;
            break;
        default:
            if (length <= 8 && bytes + length <= bytes + ROOM_FOR_GROWTH / 4) {
                memmove(data + at + length, data + at, bytes - at);
                bytes += length;
            }
        }
    }
    return bytes;
}

/* In a block of exactly the right size, so that a sanitizer or guard sees a read past the end.
 */
static void run_once(const uint8_t *data, size_t bytes)
{
    uint8_t *exact = malloc(bytes ? bytes : 1);
    if (!exact)
        return;
    memcpy(exact, data, bytes);
    LLVMFuzzerTestOneInput(exact, bytes);
    free(exact);
    CHECK(true);
}

static void run_file(hn_heap *heap, const char *path, long n_rounds)
{
    void *file = NULL;
    size_t bytes = 0;
    if (!CHECK_OK(hn_file_read(heap, path, 1 << 24, &file, &bytes)))
        return;
    run_once(file, bytes);
    uint8_t *copy = malloc(bytes + ROOM_FOR_GROWTH);
    for (long round = 0; copy && round < n_rounds; round++) {
        memcpy(copy, file, bytes);
        run_once(copy, mutate(copy, bytes));
    }
    free(copy);
    hn_free(heap, file);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted, so that a seed means the same everywhere. */
static size_t list(const char *folder, char **names)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && n < MOST_FILES && (entry = readdir(dir));) {
        const size_t bytes = strlen(entry->d_name) + 1;
        if (entry->d_name[0] == '.' || !(names[n] = malloc(bytes)))
            continue;
        memcpy(names[n++], entry->d_name, bytes);
    }
    if (dir)
        closedir(dir);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    static char *names[MOST_FILES];
    const char *folder = check_option("--corpus"), *rounds = check_option("--rounds");
    const size_t n = folder ? list(folder, names) : 0;
    CHECK_THAT(n > 0, "no files in %s", folder ? folder : "(no --corpus)");
    for (size_t i = 0; i < n; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        key = hn_rng_fold(hn_rng_seed(check_seed()), hn_hash_text(names[i]));
        n_drawn = 0;
        check_group(names[i]);
        run_file(&heap, path, rounds ? strtol(rounds, NULL, 10) : 1000);
        free(names[i]);
    }
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
