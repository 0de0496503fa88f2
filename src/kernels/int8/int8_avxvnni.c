/* Four products a lane in one instruction, of half the width. */
#define HN_LANES      avx2 /* whose vocabulary this is written in */
#define HN_LEVEL_avx2 1
#include "kernels/int8/int8.h"
#include "kernels/simd/f32x16.h"

HN_INLINE i32x16 dot4(i32x16 acc, i32x16 u, i32x16 q)
{
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc.a) : "x"(u.a), "x"(q.a));
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc.b) : "x"(u.b), "x"(q.b));
    return acc;
}
#define DOT4      dot4
#include "kernels/int8/walk.h"

HN_KERNEL_SLOTS(int8) { put_tiles(k); }
