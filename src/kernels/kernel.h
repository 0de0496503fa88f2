/* kernel.h: how a kernel is named, declared and put into its family's table. Nothing here knows a family
 * or a level.
 *
 * A family's text (NAME_text.c) is compiled once for every level of texts, with HN_LEVEL its name. Of a
 * kernel, HN_PARAMS_<slot> is the one copy of its signature, HN_KERNEL_FN(slot) { ... } its
 * definition, hn_rms_norm_f32_avx512 its name at a level. HN_KERNEL(slot) in kernels/FAMILY/FAMILY.def, which is made of
 * the signatures (cmake/hn_derive.cmake), makes it a member of the family's table.
 *
 * Kernels return nothing and cannot fail; n >= 1; no alignment is asked, but of
 * an output that streams (norm.h); nothing is read or written past the last element. */
#ifndef HN_KERNELS_KERNEL_H
#define HN_KERNELS_KERNEL_H

#include "base/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The level that this object is compiled for is HN_LEVEL; outside kernels there is none. */
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

/* What becomes of a line of that list: a member of the family's table; what is compiled for this level; its place there. */
#define HN_KERNEL_MEMBER(slot)  void (*slot)(HN_PARAMS_##slot);
#define HN_KERNEL_DECLARE(slot) void HN_KERNEL_NAME(slot)(HN_PARAMS_##slot);
#define HN_KERNEL_ENTRY(slot)   .slot = HN_KERNEL_NAME(slot),

/* The family's table of this level: HN_KERNEL_TABLE(norm) = { ... }; families.h picks among them. */
#define HN_KERNEL_TABLE(family)                                                                \
    extern const hn_##family##_kernels HN_KERNEL_NAME(family##_kernels);                       \
    const hn_##family##_kernels HN_KERNEL_NAME(family##_kernels)

/* What a level of files does better than its texts: HN_KERNEL_SLOTS(gemm) { k->dots = ... } */
#define HN_KERNEL_SLOTS(family)                                                                \
    void HN_KERNEL_NAME(family##_slots)(hn_##family##_kernels *k);                             \
    void HN_KERNEL_NAME(family##_slots)(hn_##family##_kernels *k)

#endif
