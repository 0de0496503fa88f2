/* The thread pool: every unit once, whatever the threads, chunks and order; nothing allocated
 * by a run; the floating-point state of jobs and callers. Also run under ThreadSanitizer. */
#include "base/pool.h"
#include "base/fp_state.h"
#include "base/os/clock.h"
#include "base/rng.h"
#include "tests/harness/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_UNITS = 5000, N_THREADS_MOST = 5 };

typedef struct tally {
    int count[MOST_UNITS]; /* not atomic: a unit run twice at once is a race to be found */
    int64_t order[MOST_UNITS];
    _Atomic int64_t n_ordered, shortest;
    _Atomic int n_bad_threads, busy[N_THREADS_MOST];
    int n_threads;
    int64_t n_units;
} tally;

static void count_units(void *context, int64_t begin, int64_t end, int thread)
{
    tally *t = context;
    const bool is_known = thread >= 0 && thread < t->n_threads;
    if (!is_known || atomic_fetch_add(&t->busy[thread], 1) != 0)
        atomic_fetch_add(&t->n_bad_threads, 1);
    for (int64_t i = begin; i < end; i++) {
        t->count[i]++;
        t->order[atomic_fetch_add(&t->n_ordered, 1)] = i;
    }
    int64_t shortest = atomic_load(&t->shortest);
    while (end < t->n_units && end - begin < shortest &&
           !atomic_compare_exchange_weak(&t->shortest, &shortest, end - begin)) {
    }
    if (is_known)
        atomic_fetch_sub(&t->busy[thread], 1);
}

static bool each_once(hn_pool *pool, tally *t, int64_t n_units, int64_t min_units)
{
    for (int64_t i = 0; i < n_units; i++)
        t->count[i] = 0;
    t->n_units = n_units;
    t->n_threads = hn_pool_threads(pool);
    atomic_store(&t->n_ordered, 0);
    atomic_store(&t->shortest, INT64_MAX);
    hn_pool_run(pool, n_units, min_units, count_units, t);
    bool holds = atomic_load(&t->n_bad_threads) == 0;
    for (int64_t i = 0; i < n_units; i++)
        holds = holds && t->count[i] == 1;
    return holds;
}

static void covers(hn_pool *pool, tally *t)
{
    static const int64_t sizes[] = { 0, 1, 2, 3, 7, 16, 17, 100, 1000, 4999 };
    static const int64_t mins[] = { 0, 1, 2, 16, 5000, INT64_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof mins / sizeof *mins; j++) {
            CHECK_THAT(each_once(pool, t, sizes[i], mins[j]),
                       "%lld units by %lld on %d threads", (long long)sizes[i],
                       (long long)mins[j], hn_pool_threads(pool));
            CHECK(atomic_load(&t->shortest) >= mins[j]);
        }
}

static void shuffles(hn_pool *pool, tally *t)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        hn_pool_set_shuffle(pool, seed);
        CHECK(each_once(pool, t, (int64_t)(seed * 37), 64));
    }
    if (hn_pool_threads(pool) == 1) {
        int64_t first[200], n_same = 0, n_in_place = 0;
        hn_pool_set_shuffle(pool, 1);
        each_once(pool, t, 200, 1);
        for (int i = 0; i < 200; i++) {
            first[i] = t->order[i];
            n_in_place += first[i] == i;
        }
        hn_pool_set_shuffle(pool, 2);
        each_once(pool, t, 200, 1);
        for (int i = 0; i < 200; i++)
            n_same += first[i] == t->order[i];
        CHECK_THAT(n_same < 20 && n_in_place < 20, "%lld units kept their place",
                   (long long)n_same);
    }
    hn_pool_set_shuffle(pool, 0);
}

static void add_chunk(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    int64_t *cells = context;
    for (int64_t i = begin; i < end; i++)
        cells[i] += i;
}

/* Many tiny jobs in a row, some after a pause that puts the workers to sleep. */
static void survives_many_jobs(hn_pool *pool)
{
    int64_t cells[64] = { 0 };
    enum { N_JOBS = 5000 };
    for (int job = 0; job < N_JOBS; job++) {
        hn_pool_run(pool, 64, 1 + job % 9, add_chunk, cells);
        if (job % 500 == 0)
            nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
    }
    bool holds = true;
    for (int64_t i = 0; i < 64; i++)
        holds = holds && cells[i] == i * N_JOBS;
    CHECK(holds);
}

typedef struct caller {
    hn_pool *pool;
    int64_t cells[64];
} caller;

static void *calls_often(void *context)
{
    caller *c = context;
    for (int job = 0; job < 3000; job++)
        hn_pool_run(c->pool, 64, 1 + job % 9, add_chunk, c->cells);
    return NULL;
}

/* Each caller's jobs are done whole, whoever else calls. */
static void serves_several_callers(hn_pool *pool)
{
    enum { N_CALLERS = 3 };
    caller callers[N_CALLERS];
    pthread_t threads[N_CALLERS];
    bool holds = true;
    for (int k = 0; k < N_CALLERS; k++) {
        callers[k] = (caller){ .pool = pool };
        CHECK_INT(0, pthread_create(&threads[k], NULL, calls_often, &callers[k]));
    }
    for (int k = 0; k < N_CALLERS; k++) {
        pthread_join(threads[k], NULL);
        for (int64_t i = 0; i < 64; i++)
            holds = holds && callers[k].cells[i] == i * 3000;
    }
    CHECK(holds);
}

typedef struct states {
    hn_fp_state seen[64];
} states;

/* ---- a thread that is held up ---- */

enum { HELD_UNITS = 64 };

typedef struct held {
    _Atomic bool somebody_waits;
    _Atomic int64_t n_done;
    int64_t n_of_others; /* that were done while the first chunk waited */
} held;

static void wait_for_others(void *context, int64_t begin, int64_t end, int thread)
{
    held *h = context;
    (void)thread;
    if (!atomic_exchange(&h->somebody_waits, true)) {
        const struct timespec moment = { .tv_nsec = 100000 }; /* or none at all, where a system knows no moments so short */
        for (const int64_t until = hn_clock_ns() + 10000000000; hn_clock_ns() < until && atomic_load(&h->n_done) < HELD_UNITS - (end - begin);)
            nanosleep(&moment, NULL);
        h->n_of_others = atomic_load(&h->n_done);
    }
    atomic_fetch_add(&h->n_done, end - begin);
}

/* All but the chunk that it is in is done by the others, its share too. What is not there may be told of. */
static void goes_round_who_is_held_up(hn_pool *pool)
{
    if (hn_pool_threads(pool) == 1)
        return;
    for (int round = 0; round < 20; round++) {
        held h = { .n_of_others = 0 };
        hn_pool_will_read(pool, (const void *)(uintptr_t)(64 * round), round % 2 ? SIZE_MAX / 4 : 4096);
        hn_pool_run(pool, HELD_UNITS, 1, wait_for_others, &h);
        const int64_t chunk = (HELD_UNITS + 4 * hn_pool_threads(pool) - 1) / (4 * hn_pool_threads(pool));
        CHECK(h.n_of_others >= HELD_UNITS - chunk);
        CHECK_INT(HELD_UNITS, atomic_load(&h.n_done));
    }
}

static void note_state(void *context, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    states *s = context;
    for (int64_t i = begin; i < end; i++) {
        hn_fp_set(&s->seen[i]);
        hn_fp_restore(&s->seen[i]);
    }
}

/* The control word of x87: how it rounds, and what traps. */
static int x87_of(const hn_fp_state *s)
{
    return s->x87[0] | s->x87[1] << 8;
}

static void sets_and_restores_state(hn_pool *pool)
{
    hn_fp_state mine, hone, after;
    hn_fp_set(&mine);
    hn_fp_set(&hone);
    hn_fp_state flushing = mine;
#if defined(__x86_64__)
    flushing.control = 0x9fc0 | 0x2000; /* FTZ, DAZ, round down */
    flushing.x87[1] = 0x0c | flushing.x87[1]; /* round to zero */
#elif defined(__aarch64__)
    flushing.control = (1u << 24) | (2u << 22);
#endif
    states s;
    hn_fp_restore(&flushing);
    hn_pool_run(pool, 64, 1, note_state, &s);
    hn_fp_set(&after);
    hn_fp_restore(&mine);
    CHECK_INT((int64_t)flushing.control, (int64_t)after.control);
    CHECK_INT(x87_of(&flushing), x87_of(&after));
    bool holds = true;
    for (int i = 0; i < 64; i++)
        holds = holds && ((s.seen[i].control ^ hone.control) & ~UINT64_C(0x3f)) == 0 && /* less sticky flags */
                x87_of(&s.seen[i]) == x87_of(&hone);
    CHECK(holds);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    tally *t = calloc(1, sizeof *t);
    for (int n_threads = 1; t && n_threads <= N_THREADS_MOST; n_threads++) {
        hn_pool *pool = NULL;
        CHECK_OK(hn_pool_new(&heap, n_threads, &pool));
        CHECK_INT(n_threads, hn_pool_threads(pool));
        const int64_t n_calls = atomic_load(&heap.n_calls);
        covers(pool, t);
        shuffles(pool, t);
        survives_many_jobs(pool);
        serves_several_callers(pool);
        sets_and_restores_state(pool);
        goes_round_who_is_held_up(pool);
        CHECK_INT(n_calls, atomic_load(&heap.n_calls));
        hn_pool_free(pool);
    }
    free(t);

    hn_pool *pool = NULL;
    CHECK_OK(hn_pool_new(&heap, 0, &pool));
    CHECK(hn_pool_threads(pool) >= 1);
    hn_pool_free(pool);
    CHECK_FAILS(hn_pool_new(&heap, -1, &pool), HN_ERR_ARGUMENT, "-1 threads");
    CHECK_FAILS(hn_pool_new(&heap, 100000, &pool), HN_ERR_ARGUMENT, "100000 threads");
    CHECK(pool == NULL);
    for (int64_t n = 1; n <= 2; n++) {
        atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + n);
        CHECK_FAILS(hn_pool_new(&heap, 3, &pool), HN_ERR_MEMORY, "out of memory");
    }
    hn_pool_free(NULL);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
