/* MAPPED-FILE-CUT: a host of the library that has a handler of SIGBUS of its own. A fault in a file that
 * the library has mapped is the library's: an error that names the file. A fault elsewhere is the
 * host's, and its handler is back when the library has no file open. */
#include "base/map_file.h"
#include "base/os/threads.h"
#include "base/pool.h"
#include "io/gguf.h"
#include "tests/harness/check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t n_faults;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    n_faults++;
    siglongjmp(back, 1);
}

static char path[] = "/tmp/hone-cut-XXXXXX", other[] = "/tmp/hone-cut-XXXXXX";

static int make(char *name, size_t bytes)
{
    const int file = mkstemp(name);
    char zeros[4096] = { 1 };
    for (size_t i = 0; i < bytes; i += sizeof zeros)
        CHECK(write(file, zeros, sizeof zeros) == (ssize_t)sizeof zeros);
    return file;
}

static unsigned sum(const uint8_t *data, size_t bytes)
{
    unsigned all = 0;
    for (size_t i = 0; i < bytes; i += 512)
        all += data[i];
    return all;
}

static void check_host(void)
{
    struct sigaction own = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER }, now;
    const size_t bytes = 64 * 4096;
    hn_map_file map, whole;
    hn_heap one = { 0 }, two = { 0 };
    sigemptyset(&own.sa_mask);
    sigaction(SIGBUS, &own, NULL);
    const int file = make(path, bytes), theirs = make(other, bytes);
    const volatile uint8_t *foreign = mmap(NULL, bytes, PROT_READ, MAP_SHARED, theirs, 0);
    CHECK(foreign != MAP_FAILED);
    if (!CHECK_OK(hn_map_file_open(&map, &one, path)) || !CHECK_OK(hn_map_file_open(&whole, &two, path)))
        return;
    CHECK_INT(64, (int)sum(map.data, bytes));
    CHECK_OK(hn_map_check(NULL));
    hn_map_file_close(&whole);
    CHECK(ftruncate(file, 5 * 4096 + 100) == 0);
    CHECK(sum(map.data, bytes) >= 5); /* no fault reaches us: what is gone reads as zeros */
    CHECK_INT(0, (int)n_faults);
    CHECK_FAILS(hn_map_check(&one), HN_ERR_IO, path);
    CHECK_FAILS(hn_map_check(NULL), HN_ERR_IO, "was cut short while it was read");
    CHECK_OK(hn_map_check(&two)); /* another engine's files are whole */
    CHECK(ftruncate(file, (off_t)bytes) == 0);
    CHECK_FAILS(hn_map_check(&one), HN_ERR_IO, path); /* whatever it becomes later */
    for (int i = 0; i < 3; i++) {
        CHECK(ftruncate(theirs, 0) == 0);
        if (!sigsetjmp(back, 1)) {
            (void)foreign[4096 * 3];
            CHECK(false);
        }
        CHECK_INT(i + 1, (int)n_faults);
    }
    hn_map_file_close(&map);
    sigaction(SIGBUS, NULL, &now);
    CHECK(now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault);
    CHECK_OK(hn_map_check(NULL));
    munmap((void *)(uintptr_t)foreign, bytes);
    close(file);
    close(theirs);
    unlink(path);
    unlink(other);
}

/* Wherever it is cut: also within a page, where nothing faults, and however soon it grows again. Zeros that
 * are gone are no loss. */
static void check_ends(void)
{
    static char name[] = "/tmp/hone-cut-XXXXXX";
    enum { BYTES = 3 * 4096 + 1000, ZEROS = 300 };
    uint8_t data[BYTES];
    const int file = mkstemp(name);
    for (int i = 0; i < BYTES; i++)
        data[i] = i < BYTES - ZEROS ? (uint8_t)(i % 250 + 1) : 0;
    for (int keeps = BYTES; keeps > 0; keeps -= 97) {
        hn_map_file map;
        hn_heap owner = { 0 };
        CHECK(ftruncate(file, 0) == 0 && pwrite(file, data, BYTES, 0) == BYTES);
        if (!CHECK_OK(hn_map_file_open(&map, &owner, name)))
            break;
        CHECK_OK(hn_map_check(&owner));
        CHECK(ftruncate(file, keeps) == 0 && (keeps % 2 || ftruncate(file, BYTES) == 0));
        if (keeps >= BYTES - ZEROS)
            CHECK_OK(hn_map_check(&owner));
        else
            CHECK_FAILS(hn_map_check(&owner), HN_ERR_IO, "was cut short while it was read");
        hn_map_file_close(&map);
    }
    close(file);
    unlink(name);
}

/* Zeros were read in the place of words, and the words are back: the mapping is marked all the same, also
 * of a file that ends in zeros for long. */
static void check_marked(void)
{
    static char name[] = "/tmp/hone-cut-XXXXXX";
    enum { PAGE = 4096, PAGES = 40 };
    static uint8_t data[PAGES * PAGE];
    hn_map_file map;
    hn_heap owner = { 0 };
    const int file = mkstemp(name);
    memset(data, 7, 10 * PAGE);
    CHECK(pwrite(file, data, sizeof data, 0) == (ssize_t)sizeof data);
    if (CHECK_OK(hn_map_file_open(&map, &owner, name))) {
        CHECK(ftruncate(file, 5 * PAGE) == 0);
        CHECK_INT(0, map.data[7 * PAGE]);
        CHECK(pwrite(file, data, sizeof data, 0) == (ssize_t)sizeof data);
        CHECK_FAILS(hn_map_check(&owner), HN_ERR_IO, "was cut short while it was read");
        hn_map_file_close(&map);
    }
    if (CHECK_OK(hn_map_file_open(&map, &owner, name))) { /* nobody touched it: who asked once knows */
        CHECK(ftruncate(file, 5 * PAGE) == 0);
        CHECK_FAILS(hn_map_check(&owner), HN_ERR_IO, "was cut short while it was read");
        CHECK(pwrite(file, data, sizeof data, 0) == (ssize_t)sizeof data);
        CHECK_FAILS(hn_map_check(&owner), HN_ERR_IO, "was cut short while it was read");
    }
    hn_map_file_close(&map);
    close(file);
    unlink(name);
}

/* Memory that is no file's is not taken for one while files are closed beside it: its pages would be dropped. */
static atomic_bool is_over;
static atomic_int n_taken;

static void look(void *context)
{
    while (!atomic_load(&is_over))
        for (int i = 0; i < 1000; i++)
            if (hn_map_has(context))
                atomic_fetch_add(&n_taken, 1);
}

static void check_closing(void)
{
    enum { TIMES = 20000 };
    static char name[] = "/tmp/hone-cut-XXXXXX";
    hn_heap owner = { 0 };
    hn_os_thread thread;
    static char low; /* with the program, below where files lie */
    const int file = make(name, 4096);
    if (CHECK_INT(0, hn_os_thread_start(&thread, look, &low))) {
        for (int i = 0; i < TIMES; i++) {
            hn_map_file map;
            if (!CHECK_OK(hn_map_file_open(&map, &owner, name)))
                break;
            hn_map_file_close(&map);
        }
        atomic_store(&is_over, true);
        hn_os_thread_join(&thread);
        CHECK_INT(0, atomic_load(&n_taken));
    }
    close(file);
    unlink(name);
}

/* A worker of the pool that meets the cut goes on, too: a thread in which that signal was blocked would end the
 * process. */
typedef struct reading {
    hn_map_file map;
    size_t piece;
    atomic_int n_workers;
    _Atomic unsigned sum;
} reading;

static void read_piece(void *context, int64_t begin, int64_t end, int thread)
{
    reading *r = context;
    while (thread == 0 && !atomic_load(&r->n_workers)) { /* all of what is cut is a worker's */
    }
    atomic_fetch_add(&r->n_workers, 1);
    for (int64_t i = begin; i < end; i++)
        atomic_fetch_add(&r->sum, sum(r->map.data + (size_t)i * r->piece, r->piece));
}

static void check_workers(void)
{
    enum { PIECES = 16, PIECE = 4 * 4096 };
    static char name[] = "/tmp/hone-cut-XXXXXX";
    static reading r;
    hn_heap owner = { 0 };
    hn_heap heap;
    hn_pool *pool;
    hn_heap_init(&heap, NULL);
    const int file = make(name, (size_t)PIECES * PIECE);
    r.piece = PIECE;
    if (CHECK_OK(hn_pool_new(&heap, 3, &pool)) && CHECK_OK(hn_map_file_open(&r.map, &owner, name))) {
        CHECK(ftruncate(file, 0) == 0);
        hn_pool_run(pool, PIECES, 1, read_piece, &r);
        CHECK(atomic_load(&r.n_workers) > 0);
        CHECK_INT(0, (int)atomic_load(&r.sum));
        CHECK_FAILS(hn_map_check(&owner), HN_ERR_IO, "was cut short while it was read");
        hn_map_file_close(&r.map);
    }
    hn_pool_free(pool);
    close(file);
    unlink(name);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_workers();
    check_host();
    check_ends();
    check_marked();
    check_closing();
    return check_close();
}
