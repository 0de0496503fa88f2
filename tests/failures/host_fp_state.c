/* HOST-FP-STATE: the caller's rounding mode reaches results, traps that it has set kill it, and what it
 * had is not given back. Under every mode the same bits; nothing traps; control words, flags and the
 * state that a callback finds are the host's own. */
#define _GNU_SOURCE /* feenableexcept */
#include "tests/harness/small_run.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static void sees_own_mode(void *context, const hn_finetune_step *step)
{
    const int *mode = context;
    (void)step;
    CHECK_INT(*mode, fegetround());
}

static void rounds_as_ever(small_run *run, const char *digest)
{
    static const int modes[] = { FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO };
    check_group("rounding");
    for (int i = 0; i < 3; i++) {
        hn_finetune_result result;
        int mode = modes[i];
        fesetround(mode);
        const hn_status status = small_run_train(run, sees_own_mode, &mode, &result);
        const int after = fegetround();
        fesetround(FE_TONEAREST);
        CHECK_INT(mode, after);
        if (CHECK_OK(status))
            CHECK_TEXT(digest, result.sha256);
    }
}

/* A host's allocator: on its own threads it finds the host's rounding, precision and flushing, and what it
 * changes of them stays changed; on the library's the default. */
typedef struct allocator {
    pthread_t own;
    int mode, then; /* the rounding that it finds; and from the hundredth call on, which it sets then */
    atomic_int calls, wrong, wrong_elsewhere, blocks;
} allocator;

static bool finds(int mode)
{
#if defined(__x86_64__)
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    const bool is_narrow = (x87 & 0x300) == 0, flushes = (_mm_getcsr() & 0x8040) == 0x8040;
    if (mode != FE_TONEAREST ? !is_narrow || !flushes : is_narrow || flushes)
        return false;
#endif
    return fegetround() == mode;
}

static void look(allocator *a)
{
    if (!pthread_equal(a->own, pthread_self())) {
        a->wrong_elsewhere += !finds(FE_TONEAREST);
        return;
    }
    a->wrong += !finds(a->mode);
    if (++a->calls == 100) {
        fesetround(a->then);
        a->mode = a->then;
    }
}

static void *acquires(void *context, size_t bytes, size_t alignment)
{
    allocator *a = context;
    look(a);
    a->blocks++;
    return aligned_alloc(alignment, bytes);
}

static void releases(void *context, void *block, size_t bytes)
{
    allocator *a = context;
    (void)bytes;
    look(a);
    a->blocks--;
    free(block);
}

static void set_all(int mode)
{
#if defined(__x86_64__)
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    x87 = (uint16_t)(mode == FE_TONEAREST ? x87 | 0x300 : x87 & ~0x300);
    __asm__ volatile("fldcw %0" : : "m"(x87));
    _mm_setcsr(mode == FE_TONEAREST ? _mm_getcsr() & ~0x8040u : _mm_getcsr() | 0x8040u);
#endif
    fesetround(mode);
}

static void allocates_in_its_own(small_run *run, const char *digest)
{
    hn_finetune_result result;
    allocator a = { .own = pthread_self(), .mode = FE_UPWARD, .then = FE_DOWNWARD };
    check_group("an allocator");
    run->engine = (hn_engine_options){ .acquire = acquires, .release = releases, .allocator_context = &a };
    set_all(FE_UPWARD);
    const hn_status status = small_run_train(run, NULL, NULL, &result);
    const bool is_kept = finds(FE_DOWNWARD);
    set_all(FE_TONEAREST);
    run->engine = (hn_engine_options){ 0 };
    CHECK(is_kept);
    CHECK(a.calls > 200);
    CHECK_INT(0, a.wrong);
    CHECK_INT(0, a.wrong_elsewhere);
    CHECK_INT(0, a.blocks);
    if (CHECK_OK(status))
        CHECK_TEXT(digest, result.sha256);
}

static void keeps_flags(small_run *run)
{
    hn_finetune_result result;
    check_group("flags");
    feclearexcept(FE_ALL_EXCEPT);
    CHECK_OK(small_run_train(run, NULL, NULL, &result));
    CHECK_INT(0, fetestexcept(FE_ALL_EXCEPT));
    feraiseexcept(FE_OVERFLOW);
    CHECK_OK(small_run_train(run, NULL, NULL, &result));
    CHECK_INT(FE_OVERFLOW, fetestexcept(FE_OVERFLOW));
    feclearexcept(FE_ALL_EXCEPT);
}

#if defined(__x86_64__) && defined(__GLIBC__)
static void is_not_trapped(small_run *run, const char *digest)
{
    hn_finetune_result result;
    check_group("traps");
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_ALL_EXCEPT);
    const hn_status status = small_run_train(run, NULL, NULL, &result);
    const int after = fegetexcept();
    fedisableexcept(FE_ALL_EXCEPT);
    CHECK_INT(FE_ALL_EXCEPT, after);
    if (CHECK_OK(status))
        CHECK_TEXT(digest, result.sha256);
}

/* x87 in single precision, denormals flushed. */
static void is_not_narrowed(small_run *run, const char *digest)
{
    hn_finetune_result result;
    uint16_t before, narrow, after;
    check_group("precision");
    __asm__ volatile("fnstcw %0" : "=m"(before));
    narrow = (uint16_t)(before & ~0x300);
    const unsigned csr = _mm_getcsr();
    __asm__ volatile("fldcw %0" : : "m"(narrow));
    _mm_setcsr(csr | 0x8040);
    const hn_status status = small_run_train(run, NULL, NULL, &result);
    const unsigned csr_after = _mm_getcsr();
    __asm__ volatile("fnstcw %0" : "=m"(after));
    __asm__ volatile("fldcw %0" : : "m"(before));
    _mm_setcsr(csr);
    CHECK_INT(narrow, after);
    CHECK_INT((csr | 0x8040) & ~0x3fu, csr_after & ~0x3fu);
    if (CHECK_OK(status))
        CHECK_TEXT(digest, result.sha256);
}
#endif

/* The smaller functions too: numbers to a type, a graph, a step. */
static void encodes_as_ever(void)
{
    static const int modes[] = { FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO };
    const int64_t dim[] = { 256 };
    float from[256];
    uint16_t want[256], found[256];
    uint8_t blocks[2][256];
    check_group("encoding");
    for (int i = 0; i < 256; i++)
        from[i] = (float)(i - 100) / 7;
    for (int i = 0; i < 4; i++) {
        fesetround(modes[i]);
        const hn_status a = hn_tensor_encode("bf16", 1, dim, from, i ? found : want);
        const hn_status b = hn_tensor_encode("q4_k", 1, dim, from, blocks[i > 0]);
        fesetround(FE_TONEAREST);
        CHECK(a == HN_OK && b == HN_OK);
        CHECK(!i || !memcmp(want, found, sizeof want));
        CHECK(!i || !memcmp(blocks[0], blocks[1], 144));
    }
}

int main(int argc, char **argv)
{
    small_run run = { 0 };
    hn_finetune_result result;
    check_open(argc, argv);
    if (small_run_open(&run) && CHECK_OK(small_run_train(&run, NULL, NULL, &result))) {
        char digest[65];
        memcpy(digest, result.sha256, sizeof digest);
        rounds_as_ever(&run, digest);
        allocates_in_its_own(&run, digest);
        keeps_flags(&run);
        encodes_as_ever();
#if defined(__x86_64__) && defined(__GLIBC__)
        is_not_trapped(&run, digest);
        is_not_narrowed(&run, digest);
#endif
    }
    check_group(NULL);
    small_run_close(&run);
    return check_close();
}
