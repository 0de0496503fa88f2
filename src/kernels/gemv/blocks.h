/* blocks.h: one to eight rows by sixteen rows of weights in lanes, in blocks of 32 (gemm/blocks.h).
 *
 * E and O of every row are registers, the sum lies in memory and is met once a block. Weights are rounded to bf16 as they
 * are loaded; f16 is decoded into `room` first, 256 of a row. Block formats go by ways.h. */
#ifndef HN_KERNELS_GEMV_BLOCKS_H
#define HN_KERNELS_GEMV_BLOCKS_H

#include "kernels/decode/lanes.h"
#include "kernels/gemm/transpose.h"
#include "kernels/gemv/gemv.h"
#include "kernels/gemv/ways.h"
#include "kernels/gemv/weights.h"

/* One row of x takes panels one after the other: a panel is read as it lies, and the processor asks ahead of one stream
 * better than of four, or than it is told to. Plain rows are sixteen streams a group already. */
#if defined(HN_LEVEL_avx2)
enum { BLOCK_ROWS = 3 }; /* sixteen registers, a vector takes two */
#else
enum { BLOCK_ROWS = HN_GEMV_ROWS };
#endif
enum { PANELS = 1, PLAIN = 2, BLOCK_GROUPS = 2 };

typedef f32x16 block_half[BLOCK_GROUPS][BLOCK_ROWS];

/* x is [k][of], of which `rows` are taken; w is where the block's first weights lie. */
#define BLOCK_PARAMS                                                                           \
    const int rows, const int groups, int n, int of, const float *x, const uint8_t *w, int64_t stride, block_half e, \
        block_half o

HN_INLINE void block_take(f32x16 v, const int rows, const float *x, f32x16 *half)
{
    ALL for (int r = 0; r < rows; r++) half[r] = f_fma_by(v, x + r, half[r]);
}

HN_INLINE f32x16 block_bf16(const uint8_t *w) { return f_from_bf16(h_load((const uint16_t *)(const void *)w)); }
HN_INLINE f32x16 block_f32(const uint8_t *w) { return f_round_bf16(f_load((const float *)(const void *)w)); }

HN_INLINE void block_panel_f32(BLOCK_PARAMS)
{
    int p = 0;
    for (; p + 2 <= n; p += 2, x += 2 * of, w += 128)
        ALL for (int g = 0; g < groups; g++)
        {
            block_take(block_f32(w + g * stride), rows, x, e[g]);
            block_take(block_f32(w + g * stride + 64), rows, x + of, o[g]);
        }
    if (p < n)
        ALL for (int g = 0; g < groups; g++) block_take(block_f32(w + g * stride), rows, x, e[g]);
}

/* Of each four a word holds two for E, the next two for O (decode.h). */
HN_INLINE void block_panel_bf16(BLOCK_PARAMS)
{
    int p = 0;
    for (; p + 4 <= n; p += 4, x += 4 * of, w += 128)
        ALL for (int g = 0; g < groups; g++)
        {
            const i32x16 even = words(w + g * stride, 0), odd = words(w + g * stride, 1);
            block_take(high_bf16(even), rows, x, e[g]);
            block_take(high_bf16(odd), rows, x + of, o[g]);
            block_take(low_bf16(even), rows, x + 2 * of, e[g]);
            block_take(low_bf16(odd), rows, x + 3 * of, o[g]);
        }
    ALL for (int g = 0; g < groups; g++)
    {
        const uint8_t *const last = w + g * stride;
        if (p < n)
            block_take(block_bf16(last), rows, x, e[g]);
        if (p + 1 < n)
            block_take(block_bf16(last + 32), rows, x + of, o[g]);
        if (p + 2 < n)
            block_take(block_bf16(last + 64), rows, x + 2 * of, e[g]);
    }
}

/* Plain rows of f32: sixteen of k at a time. */
HN_INLINE void block_plain_f32(BLOCK_PARAMS)
{
    for (int p = 0; p < n; p += 16)
        ALL for (int g = 0; g < groups; g++)
        {
            f32x16 v[16];
            const uint8_t *from = w + 16 * g * stride + 4 * p;
            const int left = n - p;
            if (left >= 16) {
                fetch_lines(from, stride);
                transpose16((const char *)from, stride, v);
                WORDS for (int i = 0; i < 16; i += 2)
                {
                    block_take(f_round_bf16(v[i]), rows, x + (p + i) * of, e[g]);
                    block_take(f_round_bf16(v[i + 1]), rows, x + (p + i + 1) * of, o[g]);
                }
            } else {
                for (int i = 0; i < left; i++)
                    block_take(f_round_bf16(column(from, stride, i)), rows, x + (p + i) * of, i % 2 ? o[g] : e[g]);
            }
        }
}

/* Of bf16 a word holds one for E and one for O. */
HN_INLINE void block_plain_bf16(BLOCK_PARAMS)
{
    ALL for (int g = 0; g < groups; g++)
    {
        const uint8_t *from = w + 16 * g * stride;
        f32x16 v[16];
        if (n == BLOCK) {
            fetch_lines(from, stride);
            transpose16((const char *)from, stride, v);
            WORDS for (int i = 0; i < 16; i++)
            {
                block_take(low_bf16(f_bits(v[i])), rows, x + 2 * i * of, e[g]);
                block_take(high_bf16(f_bits(v[i])), rows, x + (2 * i + 1) * of, o[g]);
            }
        } else {
            for (int i = 0; i < n; i++) {
                float one[16];
                for (int l = 0; l < 16; l++) {
                    uint16_t h;
                    memcpy(&h, from + l * stride + 2 * i, 2);
                    one[l] = hn_bf16_to_f32(h);
                }
                block_take(f_load(one), rows, x + i * of, i % 2 ? o[g] : e[g]);
            }
        }
    }
}

/* Blocks of k, `step` bytes from one to the next, into y. */
#define BLOCKS_AROUND(walk, n_rows, n_groups, step)                                            \
    for (int64_t p = 0; p < k; p += BLOCK) {                                                   \
        const int n = k - p < BLOCK ? (int)(k - p) : BLOCK;                                    \
        block_half e, o;                                                                       \
        ALL for (int g = 0; g < n_groups; g++) ALL for (int r = 0; r < n_rows; r++)            \
            e[g][r] = o[g][r] = f_zero();                                                      \
        if (n == BLOCK)                                                                        \
            walk(n_rows, n_groups, BLOCK, of, x + p * of, (const uint8_t *)w + p / BLOCK * (step), stride, e, o); \
        else                                                                                   \
            walk(n_rows, n_groups, n, of, x + p * of, (const uint8_t *)w + p / BLOCK * (step), stride, e, o); \
        ALL for (int g = 0; g < n_groups; g++) ALL for (int r = 0; r < n_rows; r++)            \
        {                                                                                      \
            float *to = y + r * ldy + 16 * g;                                                  \
            if (n < BLOCK) /* the zeros that fill it */                                        \
                e[g][r] = f_add(e[g][r], f_zero());                                            \
            const f32x16 sum = accumulate || p ? f_load(to) : f_zero();                        \
            f_store(to, f_add(sum, f_add(e[g][r], o[g][r])));                                  \
        }                                                                                      \
    }
#define BLOCKS_CASE(walk, n_rows, step)                                                        \
    case n_rows:                                                                               \
        BLOCKS_AROUND(walk, n_rows, 1, step)                                                   \
        break;
#if defined(HN_LEVEL_avx2) || defined(HN_LEVEL_ref)
#define BLOCKS_MORE(walk, step)
#else
#define BLOCKS_MORE(walk, step) BLOCKS_CASE(walk, 4, step) BLOCKS_CASE(walk, 5, step) BLOCKS_CASE(walk, 6, step) \
                                BLOCKS_CASE(walk, 7, step) BLOCKS_CASE(walk, 8, step)
#endif

/* `rows` of the `of` rows of x. */
#define BLOCKS_PARAMS                                                                          \
    int rows, int of, int groups, int64_t k, const float *x, const void *w, int64_t stride, float *y, int64_t ldy, \
        bool accumulate
#if defined(HN_LEVEL_ref)
#define BLOCKS_KERNEL(walk, at_once, span, step)                                                  \
    static void some_##walk(BLOCKS_PARAMS)                                                     \
    {                                                                                          \
        for (; groups > 0; groups--, w = (const char *)w + (span), y += 16)                    \
            BLOCKS_AROUND(walk, rows, 1, step)                                                 \
    }
#else
#define BLOCKS_KERNEL(walk, at_once, span, step)                                                  \
    static void some_##walk(BLOCKS_PARAMS)                                                     \
    {                                                                                          \
        for (; rows == 1 && groups >= (at_once);                                               \
             groups -= (at_once), w = (const char *)w + (at_once) * (span), y += 16 * (at_once)) \
            BLOCKS_AROUND(walk, 1, at_once, step)                                              \
        for (; groups > 0; groups--, w = (const char *)w + (span), y += 16)                    \
            switch (rows) {                                                                    \
                BLOCKS_CASE(walk, 1, step)                                                     \
                BLOCKS_CASE(walk, 2, step)                                                     \
                BLOCKS_CASE(walk, 3, step)                                                     \
                BLOCKS_MORE(walk, step)                                                        \
            }                                                                                  \
    }
#endif
BLOCKS_KERNEL(block_panel_f32, PANELS, stride, 64 * BLOCK)
BLOCKS_KERNEL(block_panel_bf16, PANELS, stride, 32 * BLOCK)
BLOCKS_KERNEL(block_plain_f32, PLAIN, 16 * stride, 4 * BLOCK)
BLOCKS_KERNEL(block_plain_bf16, PLAIN, 16 * stride, 2 * BLOCK)

typedef void some_blocks(BLOCKS_PARAMS);

HN_INLINE void all_rows(some_blocks *some, HN_PARAMS_gemv)
{
    (void)room;
    for (int r = 0; r < rows; r += BLOCK_ROWS)
        some(rows - r < BLOCK_ROWS ? rows - r : BLOCK_ROWS, rows, groups, k, x + r, w, stride, y + r * ldy, ldy, accumulate);
}

ADD_ROWS(add_blocks, BLOCKS, false)
ADD_WORDS(block_words, BLOCKS, add_blocks, add_blocks)

static void blocks_of_panel(hn_elem type, HN_PARAMS_gemv)
{
    enum { CHUNK = 256 };
    if (type == HN_ELEM_f32 || type == HN_ELEM_bf16) {
        all_rows(type == HN_ELEM_f32 ? some_block_panel_f32 : some_block_panel_bf16, rows, groups, k, x, w, stride, y, ldy,
                 accumulate, room);
        return;
    }
    if (hn_elem_block(type) > 1) {
        some_rows(block_words, type, rows, groups, k, x, w, stride, y, ldy, accumulate, room);
        return;
    }
    for (; groups > 0; groups--, w = (const char *)w + stride, y += 16)
        for (int64_t p = 0; p < k; p += CHUNK) {
            const int64_t n = k - p < CHUNK ? k - p : CHUNK;
            HN_KERNEL_NAME(decode_kernels).panel[type](n, (const char *)w + 16 * hn_elem_span(type, p), room, 16);
            all_rows(some_block_panel_f32, rows, 1, n, x + p * rows, room, 0, y, ldy, accumulate || p > 0, NULL);
        }
}

static void blocks_of_rows(hn_elem type, HN_PARAMS_gemv)
{
    enum { CHUNK = 256, LD = HN_GEMV_ROOM / 16 };
    if (type == HN_ELEM_f32 || type == HN_ELEM_bf16) {
        all_rows(type == HN_ELEM_f32 ? some_block_plain_f32 : some_block_plain_bf16, rows, groups, k, x, w, stride, y, ldy,
                 accumulate, room);
        return;
    }
    if (hn_elem_block(type) > 1) {
        some_plain_rows(block_words, type, rows, groups, k, x, w, stride, y, ldy, accumulate, room);
        return;
    }
    for (; groups > 0; groups--, w = (const char *)w + 16 * stride, y += 16)
        for (int64_t p = 0; p < k; p += CHUNK) {
            const int64_t n = k - p < CHUNK ? k - p : CHUNK;
            for (int row = 0; row < 16; row++)
                HN_KERNEL_NAME(decode_kernels).row[type](n, (const char *)w + row * stride + hn_elem_span(type, p), room + LD * row);
            all_rows(some_block_plain_f32, rows, 1, n, x + p * rows, room, LD * (int64_t)sizeof *room, y, ldy,
                     accumulate || p > 0, NULL);
        }
}

#endif
