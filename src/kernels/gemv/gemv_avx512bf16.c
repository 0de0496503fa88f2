/* Few rows by block formats in blocks of 32, two steps of E or of O an instruction (gemm/dots.h). */
#define HN_LANES         avx512 /* whose vocabulary this is written in */
#define HN_LEVEL_avx512 1
#include "kernels/gemm/dots.h"
#include "kernels/simd/f32x16.h"

/* Two vectors rounded to bf16, a word a lane; the high half is multiplied first. Subnormals count as zero: there are none
 * among weights of tame scales. */
HN_INLINE f32x16 pair(f32x16 first, f32x16 second)
{
    const __m512i turned = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
                                            19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(turned, (__m512i)_mm512_cvtne2ps_pbh(first, second)));
}
HN_INLINE f32x16 dot_by(f32x16 pairs, const float *x, f32x16 acc)
{
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(pairs), "m"(*x));
    return acc;
}
#define HN_GEMV_PAIR
#include "kernels/gemv/ways.h"

/* Weights of tame scales are multiples of 2^-24, and x of exponent e one of 2^(e - 127 - 7): their products, and so what they
 * add up to, of 2^-126, the least normal number. */
enum { LEAST_OF_X = 24 + 127 + 7 - 126 };

static bool pair_up(int64_t k, int rows, float *x)
{
    i32x16 least = i_set1(-1); /* twice the magnitude less one, in which zero is the largest */
    for (int64_t i = 0; i < k * rows; i += 16) {
        const i32x16 bits = f_bits(f_load(x + i));
        least = _mm512_min_epu32(least, i_sub(i_add(bits, bits), i_set1(1)));
    }
    if (_mm512_reduce_min_epu32(least) < ((uint32_t)LEAST_OF_X << 24) - 1)
        return false;
    for (int64_t p = 0; p < k; p += 4, x += 4 * rows)
        for (int i = 0; i < 2 * rows; i++) {
            uint32_t first, second;
            memcpy(&first, x + i, sizeof first);
            memcpy(&second, x + 2 * rows + i, sizeof second);
            first |= second >> 16;
            memcpy(x + 2 * rows + i, &first, sizeof first);
        }
    return true;
}

ADD_ROWS(add_dots, DOTS, false)
ADD_ROWS(add_slowly, BLOCKS, true)
ADD_WORDS(dot_words, DOTS, add_dots, add_slowly)

static void dots_of_panel(hn_elem type, HN_PARAMS_gemv)
{
    some_rows(dot_words, type, rows, groups, k, x, w, stride, y, ldy, accumulate, room);
}

static void dots_of_rows(hn_elem type, HN_PARAMS_gemv)
{
    some_plain_rows(dot_words, type, rows, groups, k, x, w, stride, y, ldy, accumulate, room);
}

HN_KERNEL_SLOTS(gemv)
{
    k->pair_up = pair_up;
    k->pair_plain = dots_of_rows;
    k->pair_panel = dots_of_panel;
}
