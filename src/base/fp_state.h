/* fp_state.h: the floating-point state that all of hone computes in: round to nearest, ties to
 * even, denormals kept, nothing traps. A host may have set another; it gets its own back. */
#ifndef HN_BASE_FP_STATE_H
#define HN_BASE_FP_STATE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

typedef uint64_t hn_fp_state;

static inline void hn_fp_restore(hn_fp_state state)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned)state);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(state));
#else
    (void)state;
#endif
}

/* Sets hone's state for this thread; returns what was there, for hn_fp_restore. */
static inline hn_fp_state hn_fp_set(void)
{
    hn_fp_state before = 0;
#if defined(__x86_64__)
    before = _mm_getcsr();
    hn_fp_restore(0x1f80);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    hn_fp_restore(0);
#endif
    return before;
}

#endif
