/* Four products a lane in one instruction. */
#define HN_LANES        avx512 /* whose vocabulary this is written in */
#define HN_LEVEL_avx512 1
#include "kernels/int8/int8.h"
#include "kernels/simd/f32x16.h"

/* Not by the compiler's own word for it: gcc 12 spills every sum around that one. */
HN_INLINE i32x16 dot4(i32x16 acc, i32x16 u, i32x16 q)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(q));
    return acc;
}
#define DOT4      dot4
#include "kernels/int8/walk.h"

HN_KERNEL_SLOTS(int8) { put_tiles(k); }
