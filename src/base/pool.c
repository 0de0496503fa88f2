/* The work is cut into as many shares as there are threads (or a few dozen threads' share), each of which
 * is handed out by a word: `n_unclaimed` counts down its chunks that nobody has taken.
 *
 *     share of thread 0 | 0 1 2 3 |      of thread 1 | 4 5 6 7 |      chunks, which are in order in memory, too:
 *                         ^ next                       ^ next         what a thread reads goes on where it was
 *
 * Whoever has come to the end of its own takes from the others'. A thread that takes a chunk may read the job,
 * for the run cannot end before that chunk is done; a thread that comes late finds zeros and touches nothing.
 * So the caller never waits for a worker that has not started, and a processor shared with others costs only
 * the chunks it holds.
 *
 * Idle threads spin for a bounded time, as a decode step has hundreds of jobs a few
 * microseconds apart, then sleep on a condition. A sleeper counts itself before it looks a last
 * time, and the caller publishes before it counts sleepers (both sequentially consistent): one
 * sees the other. */
#include "base/pool.h"

#include "base/fp_state.h"
#include "base/os/clock.h"
#include "base/os/process.h"
#include "base/os/threads.h"
#include "base/rng.h"

#include <assert.h>

enum {
    SPIN_NS = 50000,       /* then sleep: to be woken takes as long on a virtual machine */
    PAUSES_PER_LOOK = 32,  /* at the clock */
    FETCHED_AT_ONCE = 1024,     /* bytes: until the next look for work */
    FETCHED_AHEAD = 384 * 1024, /* a thread: less than half of a second-level cache */
    CHUNKS_PER_THREAD = 4, /* so that an interrupted thread holds little */
    MOST_SHARES = 16,      /* all are looked at by who has nothing to do */
    LINE = 64
};

/* A line of its own. */
typedef struct share {
    _Alignas(LINE) _Atomic int64_t n_unclaimed;
    int64_t end; /* one past its last chunk */
} share;

/* What one thread asks memory for while it waits. */
typedef struct fetcher {
    unsigned number; /* of what it was told of last */
    const char *at, *end;
} fetcher;

typedef struct worker {
    hn_pool *pool;
    hn_os_thread thread;
    int index; /* from 1 */
    fetcher fetcher;
} worker;

struct hn_pool {
    /* The job; written between runs, read by those who hold a chunk. */
    hn_pool_job *job;
    void *context;
    int64_t n_units, n_chunks, units_per_chunk;

    /* Apart from each other and from the rest: each is a line that threads fight for. */
    share shares[MOST_SHARES];
    _Alignas(LINE) _Atomic int64_t n_unfinished;
    _Alignas(LINE) _Atomic int n_sleeping;
    _Atomic bool caller_sleeps, is_closing;

    /* What is to be read, and how often it changed. Who reads half of one and half of another asks for what nobody wants, once. */
    _Alignas(LINE) _Atomic(const char *) next;
    _Atomic size_t next_bytes;
    _Atomic unsigned next_number;
    fetcher of_caller;

    hn_os_mutex turn; /* held by the caller whose job it is */
    hn_os_mutex mutex;
    hn_os_condition work, done;
    hn_heap *heap;
    uint64_t shuffle_seed;
    int n_threads, n_started, n_shares;
    long made_by; /* its threads are in no other process */
    worker *workers;
};

static inline void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* A permutation of [0, n) without memory: a Feistel network over the next power of four, walked
 * until it lands inside. */
static int64_t shuffled(uint64_t seed, int64_t i, int64_t n)
{
    unsigned half_bits = 1;
    while (half_bits < 31 && (INT64_C(1) << (2 * half_bits)) < n)
        half_bits++;
    const uint64_t mask = (UINT64_C(1) << half_bits) - 1;
    const hn_rng_key key = hn_rng_seed(seed);
    uint64_t x = (uint64_t)i;
    do {
        uint64_t left = x >> half_bits, right = x & mask;
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t mixed = left ^ (hn_rng_u32(key, right << 2 | round) & mask);
            left = right;
            right = mixed;
        }
        x = left << half_bits | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}

static void run_chunk(const hn_pool *pool, int64_t chunk, int thread)
{
    if (pool->shuffle_seed)
        chunk = shuffled(pool->shuffle_seed, chunk, pool->n_chunks);
    const int64_t begin = chunk * pool->units_per_chunk;
    const int64_t left = pool->n_units - begin;
    const int64_t n = left < pool->units_per_chunk ? left : pool->units_per_chunk;
    pool->job(pool->context, begin, begin + n, thread);
}

/* Takes chunks of a share until none is left, and gives how many. */
static int64_t work_off_share(hn_pool *pool, share *s, int thread)
{
    int64_t n_done = 0;
    int64_t unclaimed = atomic_load_explicit(&s->n_unclaimed, memory_order_acquire);
    while (unclaimed > 0) {
        if (!atomic_compare_exchange_weak_explicit(&s->n_unclaimed, &unclaimed, unclaimed - 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        run_chunk(pool, s->end - unclaimed, thread);
        n_done++;
        unclaimed = atomic_load_explicit(&s->n_unclaimed, memory_order_acquire);
    }
    return n_done;
}

static int share_of(const hn_pool *pool, int thread) { return (int)((int64_t)thread * pool->n_shares / pool->n_threads); }

/* All shares, this thread's first. True if this thread finished the last chunk of the run. */
static bool work_off(hn_pool *pool, int thread)
{
    const int own = share_of(pool, thread);
    int64_t n_done = 0;
    for (int i = 0; i < pool->n_shares; i++)
        n_done += work_off_share(pool, &pool->shares[(own + i) % pool->n_shares], thread);
    return n_done && atomic_fetch_sub(&pool->n_unfinished, n_done) == n_done;
}

static bool has_work(hn_pool *pool)
{
    for (int i = 0; i < pool->n_shares; i++)
        if (atomic_load(&pool->shares[i].n_unclaimed) > 0)
            return true;
    return atomic_load(&pool->is_closing);
}

static bool is_done(hn_pool *pool) { return atomic_load(&pool->n_unfinished) == 0; }

static void fetch_some(hn_pool *pool, int thread, fetcher *f)
{
    const unsigned number = atomic_load_explicit(&pool->next_number, memory_order_acquire);
    if (number != f->number) {
        const char *next = atomic_load_explicit(&pool->next, memory_order_relaxed);
        const size_t bytes = atomic_load_explicit(&pool->next_bytes, memory_order_relaxed), own = (size_t)share_of(pool, thread);
        const size_t n = (size_t)pool->n_shares, begin = bytes / n * own, most = bytes / n;
        f->number = number;
        f->at = next + begin;
        f->end = f->at + (most < FETCHED_AHEAD ? most : FETCHED_AHEAD);
    }
    for (int i = 0; i < FETCHED_AT_ONCE && f->at < f->end; i += LINE, f->at += LINE)
        __builtin_prefetch(f->at, 0, 2);
}

/* Spins until `holds`, not for long. */
static bool spin(hn_pool *pool, bool (*holds)(hn_pool *), int thread, fetcher *f)
{
    const int64_t until = hn_clock_ns() + SPIN_NS;
    do {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if (holds(pool))
                return true;
            fetch_some(pool, thread, f);
            rest();
        }
    } while (hn_clock_ns() < until);
    return holds(pool);
}

static void wait_for_work(worker *self)
{
    hn_pool *pool = self->pool;
    if (spin(pool, has_work, self->index, &self->fetcher))
        return;
    hn_os_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->n_sleeping, 1);
    while (!has_work(pool))
        hn_os_condition_wait(&pool->work, &pool->mutex);
    atomic_fetch_sub(&pool->n_sleeping, 1);
    hn_os_mutex_unlock(&pool->mutex);
}

static void wait_until_done(hn_pool *pool)
{
    if (spin(pool, is_done, 0, &pool->of_caller))
        return;
    hn_os_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, true);
    while (!is_done(pool))
        hn_os_condition_wait(&pool->done, &pool->mutex);
    atomic_store(&pool->caller_sleeps, false);
    hn_os_mutex_unlock(&pool->mutex);
}

static void wake_workers(hn_pool *pool, int64_t n_wanted)
{
    const int n_sleeping = atomic_load(&pool->n_sleeping);
    if (!n_sleeping)
        return;
    hn_os_mutex_lock(&pool->mutex);
    if (n_wanted >= n_sleeping)
        hn_os_condition_wake_all(&pool->work);
    else
        for (int64_t i = 0; i < n_wanted; i++)
            hn_os_condition_wake(&pool->work);
    hn_os_mutex_unlock(&pool->mutex);
}

static void worker_main(void *argument)
{
    worker *self = argument;
    hn_pool *pool = self->pool;
    hn_fp_state host;
    hn_fp_set(&host);
    while (!atomic_load(&pool->is_closing)) {
        wait_for_work(self);
        if (work_off(pool, self->index) && atomic_load(&pool->caller_sleeps)) {
            hn_os_mutex_lock(&pool->mutex);
            hn_os_condition_wake(&pool->done);
            hn_os_mutex_unlock(&pool->mutex);
        }
    }
}

static hn_status start_workers(hn_pool *pool)
{
    int failure = 0;
    for (int i = 1; i < pool->n_threads && !failure; i++) {
        worker *w = &pool->workers[i - 1];
        *w = (worker){ .pool = pool, .index = i };
        failure = hn_os_thread_start(&w->thread, worker_main, w);
        pool->n_started += !failure;
    }
    HN_REQUIRE(!failure, HN_ERR_MEMORY,
               "thread pool: the system gave %d of %d threads (error %d)", pool->n_started + 1,
               pool->n_threads, failure);
    return HN_OK;
}

static int count_processors(void)
{
    const int n = hn_os_processors();
    return n < HN_POOL_MAX_THREADS ? n : HN_POOL_MAX_THREADS;
}

hn_status hn_pool_new(hn_heap *heap, int n_threads, hn_pool **out)
{
    *out = NULL;
    HN_REQUIRE(n_threads >= 0 && n_threads <= HN_POOL_MAX_THREADS, HN_ERR_ARGUMENT,
               "thread pool: %d threads: expected 0 to %d", n_threads, HN_POOL_MAX_THREADS);
    if (n_threads == 0)
        n_threads = count_processors();
    hn_pool *pool = hn_alloc(heap, HN_TAG_DEVICE, sizeof *pool);
    if (!pool)
        return HN_ERR_MEMORY;
    pool->heap = heap;
    pool->n_threads = n_threads;
    pool->n_shares = n_threads < MOST_SHARES ? n_threads : MOST_SHARES;
    pool->made_by = hn_os_process_id();
    hn_os_mutex_open(&pool->turn);
    hn_os_mutex_open(&pool->mutex);
    hn_os_condition_open(&pool->work);
    hn_os_condition_open(&pool->done);
    pool->workers = hn_alloc_array(heap, HN_TAG_DEVICE, (size_t)n_threads, sizeof(worker));
    const hn_status status = pool->workers ? start_workers(pool) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_pool_free(pool);
        return status;
    }
    *out = pool;
    return HN_OK;
}

/* In a child of fork the threads do not exist, and the locks may be held by nobody for ever. */
static void end_threads(hn_pool *pool)
{
    hn_os_mutex_lock(&pool->mutex);
    atomic_store(&pool->is_closing, true);
    hn_os_condition_wake_all(&pool->work);
    hn_os_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->n_started; i++)
        hn_os_thread_join(&pool->workers[i].thread);
    hn_os_condition_close(&pool->done);
    hn_os_condition_close(&pool->work);
    hn_os_mutex_close(&pool->mutex);
    hn_os_mutex_close(&pool->turn);
}

void hn_pool_free(hn_pool *pool)
{
    if (!pool)
        return;
    if (pool->made_by == hn_os_process_id())
        end_threads(pool);
    hn_free(pool->heap, pool->workers);
    hn_free(pool->heap, pool);
}

int hn_pool_threads(const hn_pool *pool) { return pool->n_threads; }

void hn_pool_will_read(hn_pool *pool, const void *from, size_t bytes)
{
    atomic_store_explicit(&pool->next, from, memory_order_relaxed);
    atomic_store_explicit(&pool->next_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->next_number, 1, memory_order_release);
}

void hn_pool_set_shuffle(hn_pool *pool, uint64_t seed) { pool->shuffle_seed = seed; }

static int64_t choose_chunk(const hn_pool *pool, int64_t n_units, int64_t min_units)
{
    if (pool->shuffle_seed)
        return 1;
    if (pool->n_threads == 1)
        return n_units;
    const int64_t n_parts = (int64_t)pool->n_threads * CHUNKS_PER_THREAD;
    const int64_t even = n_units / n_parts + (n_units % n_parts != 0);
    return even > min_units ? even : min_units;
}

static void hand_out(hn_pool *pool)
{
    int64_t begin = 0;
    for (int i = 0; i < pool->n_shares; i++) {
        share *s = &pool->shares[i];
        s->end = pool->n_chunks * (i + 1) / pool->n_shares;
        atomic_store(&s->n_unclaimed, s->end - begin);
        begin = s->end;
    }
}

/* Most jobs of a decode step: nobody's turn is waited for, and no thread is told. */
static void run_alone(int64_t n_units, hn_pool_job *job, void *context)
{
    hn_fp_state before;
    hn_fp_set(&before);
    job(context, 0, n_units, 0);
    hn_fp_restore(&before);
}

void hn_pool_run(hn_pool *pool, int64_t n_units, int64_t min_units_per_chunk, hn_pool_job *job,
                 void *context)
{
    if (n_units <= 0)
        return;
    const int64_t per_chunk = choose_chunk(pool, n_units, min_units_per_chunk > 1 ? min_units_per_chunk : 1);
    if (per_chunk >= n_units) {
        run_alone(n_units, job, context);
        return;
    }
    const bool is_outside = hn_os_mutex_lock(&pool->turn); /* else it is this thread's already */
    assert(is_outside);
    (void)is_outside;
    hn_fp_state before;
    hn_fp_set(&before);
    pool->job = job;
    pool->context = context;
    pool->n_units = n_units;
    pool->units_per_chunk = per_chunk;
    pool->n_chunks = n_units / per_chunk + (n_units % per_chunk != 0);
    if (pool->n_threads == 1) { /* in an order made from a seed */
        for (int64_t chunk = 0; chunk < pool->n_chunks; chunk++)
            run_chunk(pool, chunk, 0);
    } else {
        atomic_store(&pool->n_unfinished, pool->n_chunks);
        hand_out(pool);
        wake_workers(pool, pool->n_chunks - 1);
        if (!work_off(pool, 0))
            wait_until_done(pool);
    }
    hn_fp_restore(&before);
    hn_os_mutex_unlock(&pool->turn);
}
