/* words.h: weights of any block format, 32 of sixteen rows at a time, out of the words that whole numbers are multiplied from
 * (int8/unpack.h): eight times four bytes of each row, and their scales. Every format is then the same few operations: a
 * byte brought to where its sign counts, a conversion, a product by the scale, which makes up for where the byte was brought.
 *
 * To bf16 in passing: where scales are zero or 2^-24 at least, and below 2^80, every weight is zero or 2^-24 at least, and what
 * lies below its eight bits goes by being added to, and taken from, its own exponent's 2^16 times: as an addition rounds. */
#ifndef HN_KERNELS_GEMV_WORDS_H
#define HN_KERNELS_GEMV_WORDS_H

#include "kernels/gemv/weights.h"
#include "kernels/int8/int8.h"
#include "kernels/simd/bytes.h"

enum { SCALES = 8 }; /* words before them */

/* Of sixteen elements each. */
typedef struct word_scales {
    f32x16 step[2], less[2];
} word_scales;

HN_INLINE bool has_less(const hn_int8_kind kind) { return kind == HN_INT8_less || kind == HN_INT8_halves_less; }
HN_INLINE bool has_halves(const hn_int8_kind kind) { return kind != HN_INT8_whole && kind != HN_INT8_less; }

HN_INLINE word_scales scales_of(const hn_int8_kind kind, const int32_t *w)
{
    const f32x16 first = i_float(i_load(w + 16 * SCALES)), second = i_float(i_load(w + 16 * (SCALES + 1)));
    word_scales s = { { first, first }, { f_zero(), f_zero() } };
    if (kind == HN_INT8_less)
        s.less[0] = s.less[1] = second;
    if (kind == HN_INT8_steps)
        s.step[1] = second;
    for (int half = 0; half < 2; half++) {
        const int factor = SCALES + half + (kind == HN_INT8_halves_less ? 2 : 1);
        if (kind == HN_INT8_halves || kind == HN_INT8_halves_less)
            s.step[half] = f_mul(first, i_float(i_load(w + 16 * factor)));
        if (kind == HN_INT8_halves_less)
            s.less[half] = f_mul(second, i_float(i_load(w + 16 * (factor + 2))));
    }
    return s;
}

/* Below 2^80; and zero or not below 2^-24, which an f16 always is, and what is made of one by whole numbers. */
HN_INLINE m16 is_tame(const bool of_f16, f32x16 scale)
{
    const f32x16 size = f_abs(scale);
    const m16 small = f_lt(size, f_set1(0x1p80f));
    return of_f16 ? small : m_and(small, m_or(f_le(f_set1(0x1p-24f), size), f_eq(size, f_zero())));
}

HN_INLINE bool scales_are_tame(const hn_int8_kind kind, hn_elem type, const word_scales *s)
{
    m16 tame = is_tame(true, s->step[0]);
    if (kind == HN_INT8_whole && type == HN_ELEM_mxfp4) /* the one whose scales are powers of two */
        tame = is_tame(false, s->step[0]);
    if (has_halves(kind))
        tame = m_and(tame, is_tame(true, s->step[1]));
    if (has_less(kind))
        tame = m_and(tame, is_tame(true, s->less[0]));
    if (has_less(kind) && has_halves(kind))
        tame = m_and(tame, is_tame(true, s->less[1]));
    return !m_any(m_not(tame));
}

/* Byte b (a constant) of words of signed bytes times the scale; `folded`: which has 2^-24 in it. */
HN_INLINE f32x16 word_weight(i32x16 v, const int b, const bool folded, const bool less, f32x16 step, f32x16 from)
{
    const f32x16 q = folded ? top_byte(v, b) : f_mul(top_byte(v, b), f_set1(0x1p-24f));
    return less ? f_fma(q, step, from) : f_mul(q, step);
}

/* The same where zeros may have either sign: bytes stay where they are, as they are, and the offset goes in the product's
 * rounding, which is of the same number. */
typedef struct byte_scales {
    f32x16 step[3], less;
} byte_scales;

HN_INLINE byte_scales byte_scales_of(const word_scales *s, const int half, f32x16 offset)
{
    const f32x16 step = s->step[half];
    return (byte_scales){ { step, f_mul(step, f_set1(0x1p-8f)), f_mul(step, f_set1(0x1p-16f)) },
                          f_fma(step, f_neg(offset), s->less[half]) };
}

HN_INLINE f32x16 byte_weight(i32x16 u, const int b, const byte_scales *s)
{
    const i32x16 q = b == 3 ? i_shr(u, 24) : i_and(u, i_set1((int32_t)(0xffu << 8 * (b % 3))));
    return f_fma(i_to_f(q), s->step[b % 3], s->less);
}

/* To eight bits, of zero and of what lies between 2^-126 and 2^110. */
HN_INLINE f32x16 rounded_tame(f32x16 x)
{
    const f32x16 power = i_float(i_and(f_bits(x), i_set1((int32_t)0xff800000u)));
    return f_fma(power, f_set1(-0x1p16f), f_fma(power, f_set1(0x1p16f), x));
}

#endif
