/* kernel.h: how a kernel is named, declared and bound. Nothing here knows a family.
 *
 * A family's .def lists HN_KERNEL(level, slot); the level `text` stands for every level,
 * because the family's text is compiled for each. HN_PARAMS_<slot> is the one copy of a
 * signature.
 *
 *     HN_KERNEL(text, rms_norm_f32)        hn_rms_norm_f32_ref, _avx2, _avx512, _neon
 *     HN_KERNEL(avx2, gemv_q4k_f32)        hn_gemv_q4k_f32_avx2 alone
 *
 * Kernels return nothing and cannot fail; n >= 1; no alignment is asked, but of
 * an output that streams (norm.h); nothing is read or written past the last element. */
#ifndef HN_KERNELS_KERNEL_H
#define HN_KERNELS_KERNEL_H

#include "base/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The level that this object is compiled for; outside kernels there is none. */
#if defined(HN_LEVEL_ref)
#define HN_LEVEL ref
#elif defined(HN_LEVEL_avx2)
#define HN_LEVEL avx2
#elif defined(HN_LEVEL_avx512)
#define HN_LEVEL avx512
#elif defined(HN_LEVEL_neon)
#define HN_LEVEL neon
#endif

#define HN_KERNEL_PASTE(slot, level)  hn_##slot##_##level
#define HN_KERNEL_EXPAND(slot, level) HN_KERNEL_PASTE(slot, level)
#define HN_KERNEL_NAME(slot)          HN_KERNEL_EXPAND(slot, HN_LEVEL)
/* The head of a definition in a text: HN_KERNEL_FN(exp_f32) { ... } */
#define HN_KERNEL_FN(slot) void HN_KERNEL_NAME(slot)(HN_PARAMS_##slot)

/* After outputs that were written past the caches, before another thread is told that they are there. */
static inline void hn_streams_end(void)
{
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

/* One member of a family's struct. */
#define HN_KERNEL_MEMBER(slot) void (*slot)(HN_PARAMS_##slot);

/* Prototypes for one line of a .def. */
#define HN_KERNEL_DECLARE_AT(level, slot) void hn_##slot##_##level(HN_PARAMS_##slot);
#define HN_KERNEL_DECLARE_text(slot)                                                           \
    HN_KERNEL_DECLARE_AT(ref, slot)                                                            \
    HN_ON_avx2(HN_KERNEL_DECLARE_AT(avx2, slot))                                               \
        HN_ON_avx512(HN_KERNEL_DECLARE_AT(avx512, slot))                                       \
            HN_ON_neon(HN_KERNEL_DECLARE_AT(neon, slot))
#define HN_KERNEL_DECLARE_ref(slot)    HN_KERNEL_DECLARE_AT(ref, slot)
#define HN_KERNEL_DECLARE_avx2(slot)   HN_ON_avx2(HN_KERNEL_DECLARE_AT(avx2, slot))
#define HN_KERNEL_DECLARE_avx512(slot) HN_ON_avx512(HN_KERNEL_DECLARE_AT(avx512, slot))
#define HN_KERNEL_DECLARE_neon(slot)   HN_ON_neon(HN_KERNEL_DECLARE_AT(neon, slot))

/* Statements that bind one line of a .def; later lines win. */
#define HN_KERNEL_BIND_AT(k, isa, level, slot)                                                 \
    if ((isa)&HN_ISA(level))                                                                   \
        (k)->slot = hn_##slot##_##level;
#define HN_KERNEL_BIND_ref(k, isa, slot)  (k)->slot = hn_##slot##_ref;
#define HN_KERNEL_BIND_avx2(k, isa, slot) HN_ON_avx2(HN_KERNEL_BIND_AT(k, isa, avx2, slot))
#define HN_KERNEL_BIND_avx512(k, isa, slot)                                                    \
    HN_ON_avx512(HN_KERNEL_BIND_AT(k, isa, avx512, slot))
#define HN_KERNEL_BIND_neon(k, isa, slot) HN_ON_neon(HN_KERNEL_BIND_AT(k, isa, neon, slot))
#define HN_KERNEL_BIND_text(k, isa, slot)                                                      \
    HN_KERNEL_BIND_ref(k, isa, slot) HN_KERNEL_BIND_avx2(k, isa, slot)                         \
        HN_KERNEL_BIND_avx512(k, isa, slot) HN_KERNEL_BIND_neon(k, isa, slot)

#endif
