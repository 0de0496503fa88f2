/* fp_state.h: the floating-point state that all of hone computes in: round to nearest, ties to
 * even, denormals kept, nothing traps, x87 in full precision. A host may have set another; it gets
 * its own back, flags included. */
#ifndef HN_BASE_FP_STATE_H
#define HN_BASE_FP_STATE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

typedef struct hn_fp_state {
    uint64_t control, status; /* MXCSR; FPCR and FPSR */
    uint8_t x87[28];
} hn_fp_state;

static inline void hn_fp_restore(const hn_fp_state *state)
{
#if defined(__x86_64__)
    __asm__ volatile("fldenv %0" : : "m"(state->x87));
    _mm_setcsr((unsigned)state->control);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(state->control), "r"(state->status));
#else
    (void)state;
#endif
}

/* Sets hone's state for this thread; *before is what was there, for hn_fp_restore. */
static inline void hn_fp_set(hn_fp_state *before)
{
    *before = (hn_fp_state){ 0 };
#if defined(__x86_64__)
    static const uint16_t control = 0x37f;
    __asm__ volatile("fnstenv %0\n\tfnclex\n\tfldcw %1" : "=m"(before->x87) : "m"(control));
    before->control = _mm_getcsr();
    _mm_setcsr(0x1f80);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(before->control), "=r"(before->status));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
#endif
}

#endif
