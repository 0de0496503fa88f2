/* tmm.h: the registers of a processor's matrix unit (AMX): eight, each of up to sixteen rows of 64 bytes, of every thread.
 *
 *   TMM_OPEN(shapes)           this thread's registers get the rows and bytes a row of `shapes`, and hold zeros
 *   TMM_CLOSE()                it has none any more
 *   TMM_ZERO(t)
 *   TMM_LOAD(t, from, stride)  rows `stride` bytes apart; what is beyond a register's shape is not read
 *   TMM_STORE(t, to, stride)
 *   TMM_DOT_BF16(c, a, b)      c of f32, a and b of pairs of bf16: for each row i and column j of c, from E = O = +0,
 *                                  E = fma(a[i][p][0], b[p][j][0], E),  O = fma(a[i][p][1], b[p][j][1], O)  for each pair p
 *                                  c[i][j] = c[i][j] + (E + O)
 *                              each rounded to nearest even, but what is subnormal counts as zero, and becomes it
 *   TMM_DOT_BYTES(c, a, b)     c of int32, a and b of four bytes with a sign: c[i][j] += a[i][p][0] b[p][j][0] + ...
 *
 *   TMM_NARROW(to, from)       32 f32 to 32 bf16, to nearest even, a NaN to a quiet one; but what is subnormal becomes zero
 *   TMM_NARROW_TWO(to, low, high)  the same of two wide registers to one, where that is an instruction: nothing waits for memory
 *   TMM_LEAVE()                after it, for code that is compiled for narrower registers: what waits in the wide ones slows it
 *
 * t, c, a and b are numbers, written out. They are words for the instructions, not for the compiler's own: gcc 12 takes the
 * memory that its ldtilecfg reads for 8 of its 64 bytes. A file that says TMM_EMULATED, or is for a processor that never has
 * them, gets the same in C (tmm_emulated.h). Who may use them: base/isa.h. */
#ifndef HN_BASE_TMM_H
#define HN_BASE_TMM_H

#include <stdint.h>

typedef struct tmm_shapes { /* as the instruction reads them */
    uint8_t palette, from_row, none[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tmm_shapes;
_Static_assert(sizeof(tmm_shapes) == 64, "what ldtilecfg reads");

#if defined(TMM_BODY)
#include TMM_BODY
#elif defined(TMM_EMULATED) || !defined(__x86_64__)
#include "base/tmm_emulated.h"
#else
#define TMM_OPEN(shapes) __asm__ volatile("ldtilecfg %0" : : "m"(*(const tmm_shapes *)(shapes)) : "memory")
#define TMM_CLOSE()      __asm__ volatile("tilerelease" : : : "memory")
#define TMM_ZERO(t)      __asm__ volatile("tilezero %%tmm" #t : : : "memory")
#define TMM_LOAD(t, from, stride)                                                              \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"((const void *)(from)), "r"((int64_t)(stride)) : "memory")
#define TMM_STORE(t, to, stride)                                                               \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"((void *)(to)), "r"((int64_t)(stride)) : "memory")
#define TMM_DOT_BF16(c, a, b)  __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define TMM_DOT_BYTES(c, a, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : : "memory")
#define TMM_NARROW(to, from)                                                                   \
    __asm__ volatile("vmovups 64(%1), %%zmm0\n\tvcvtne2ps2bf16 (%1), %%zmm0, %%zmm0\n\tvmovups %%zmm0, (%0)" \
                     : : "r"((void *)(to)), "r"((const void *)(from)) : "xmm0", "memory")
#define TMM_NARROW_TWO(to, low, high) __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(to) : "v"(low), "v"(high))
#define TMM_LEAVE() __asm__ volatile("vzeroupper" : : : "memory")
#endif

#endif
