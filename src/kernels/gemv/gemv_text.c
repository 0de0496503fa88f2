/* Few rows of x by many rows of w, at one level. Each format is a walk over k that hands
 * vectors of sixteen weights, for ascending k, to TAKE; rows and groups are constants in it, so
 * that the accumulators are registers. */
#include "kernels/gemm/transpose.h"
#include "kernels/gemv/gemv.h"
#include "kernels/gemv/ways.h"
#include "kernels/gemv/weights.h"
#include "kernels/decode/lanes.h"
#include "kernels/simd/f32x16.h"

#define WALK_PARAMS                                                                            \
    const int rows, const int groups, int64_t k, const float *x, const uint8_t *w,             \
        int64_t stride, f32x16(*acc)[HN_GEMV_ROWS], float *room

/* acc[g][:] += v * x[p][:] */
HN_INLINE void take(f32x16 v, int g, int64_t p, const int rows, const float *x,
                    f32x16 (*acc)[HN_GEMV_ROWS])
{
    ALL for (int r = 0; r < rows; r++) acc[g][r] = f_fma_by(v, x + p * rows + r, acc[g][r]);
}
#define TAKE(v, g, p) take(v, g, p, rows, x, acc)

/* `bytes` of plain rows as a panel of words in `room`: four bytes of sixteen rows side by side. */
enum { GROUP_WORDS = 68, GROUP_FLOATS = 16 * GROUP_WORDS };
_Static_assert(HN_GEMV_GROUPS * GROUP_FLOATS <= HN_GEMV_ROOM, "the panels fit");

static __attribute__((noinline)) void turn_in_words(int groups, const uint8_t *w, int64_t stride, int bytes, float *room)
{
    for (int g = 0; g < groups; g++, w += 16 * stride, room += GROUP_FLOATS)
        for (int at = 0; at < bytes; at += 16)
            transpose4_to((const char *)w + at, stride, room + 4 * at);
}

HN_INLINE void plain_f32(WALK_PARAMS)
{
    int64_t p = 0;
    (void)room;
    for (; p + 16 <= k; p += 16)
        ALL for (int g = 0; g < groups; g++)
        {
            f32x16 v[16];
            fetch_lines(w + 16 * g * stride + 4 * p, stride);
            transpose16((const char *)w + 16 * g * stride + 4 * p, stride, v);
            WORDS for (int i = 0; i < 16; i++) TAKE(v[i], g, p + i);
        }
    for (; p < k; p++)
        ALL for (int g = 0; g < groups; g++) TAKE(column(w + 16 * g * stride, stride, p), g, p);
}

/* Two halves in each 32-bit word: the first is the low one. */
#define PLAIN_HALVES(name, low_half, high_half, one)                                           \
    HN_INLINE void plain_##name(WALK_PARAMS)                                                   \
    {                                                                                          \
        int64_t p = 0;                                                                         \
        (void)room;                                                                            \
        for (; p + 32 <= k; p += 32)                                                           \
            ALL for (int g = 0; g < groups; g++)                                               \
            {                                                                                  \
                f32x16 v[16];                                                                  \
                fetch_lines(w + 16 * g * stride + 2 * p, stride);                              \
                transpose16((const char *)w + 16 * g * stride + 2 * p, stride, v);             \
                HALF_WORDS for (int i = 0; i < 16; i++)                                        \
                {                                                                              \
                    TAKE(low_half(f_bits(v[i])), g, p + 2 * i);                                \
                    TAKE(high_half(f_bits(v[i])), g, p + 2 * i + 1);                           \
                }                                                                              \
            }                                                                                  \
        for (; p < k; p++)                                                                     \
            ALL for (int g = 0; g < groups; g++)                                               \
            {                                                                                  \
                float v[16];                                                                   \
                for (int l = 0; l < 16; l++) {                                                 \
                    uint16_t h;                                                                \
                    memcpy(&h, w + (16 * g + l) * stride + 2 * p, 2);                          \
                    v[l] = one(h);                                                             \
                }                                                                              \
                TAKE(f_load(v), g, p);                                                         \
            }                                                                                  \
    }
PLAIN_HALVES(bf16, low_bf16, high_bf16, hn_bf16_to_f32)
PLAIN_HALVES(f16, low_f16, high_f16, hn_f16_to_f32)

/* An f16 of each of sixteen rows. */
HN_INLINE f32x16 column_f16(const uint8_t *w, int64_t stride)
{
    uint64_t four[4];
    for (int q = 0; q < 4; q++) {
        uint16_t h[4];
        for (int l = 0; l < 4; l++)
            memcpy(h + l, w + (4 * q + l) * stride, sizeof *h);
        four[q] = h[0] | (uint64_t)h[1] << 16 | (uint64_t)h[2] << 32 | (uint64_t)h[3] << 48;
    }
    return halves_f16((const uint8_t *)four);
}

/* Eighth `part` of asking the second-level cache for the bytes after those: while a chunk is
 * computed, so that memory does not wait. LEAD bytes more, for the last ones to arrive in time. */
HN_INLINE void fetch_next(const int groups, const uint8_t *w, int64_t stride, const int bytes,
                          int part)
{
    enum { LEAD = 256 };
    w += 2 * part * stride + bytes + LEAD;
    for (int g = 0; g < groups; g++, w += 16 * stride)
        for (int at = 0; at < bytes; at += 64) {
            __builtin_prefetch(w + at, 0, 2);
            __builtin_prefetch(w + stride + at, 0, 2);
        }
}

/* 32 weights from byte `first` (a constant) of words on. */
HN_INLINE void take_bytes(const int rows, const int groups, const float *x, const void *from,
                          int64_t stride, const int first, const q8_scale *scale,
                          const bool is_tame, f32x16 (*acc)[HN_GEMV_ROWS])
{
    const uint8_t *w = from;
    HN_KEEP_ROLLED
    for (int word = 0; word < 8; word++, w += 64, x += 4 * rows)
        ALL for (int b = 0; b < 4; b++)
            ALL for (int g = 0; g < groups; g++)
            {
                const i32x16 v = words(w + g * stride, (first + b) / 4);
                TAKE(q8_times(v, (first + b) % 4, &scale[g], is_tame), g, b);
            }
}

/* A block whose scales are not tame, however many rows and groups: such are rare, and one text is enough for them. */
static __attribute__((noinline)) void take_wild(int rows, int groups, const float *x, const void *from, int64_t stride,
                                                const int first, const q8_scale *scale, f32x16 (*acc)[HN_GEMV_ROWS])
{
    const uint8_t *const w = from;
    for (int p = 0; p < 32; p++)
        for (int g = 0; g < groups; g++) {
            i32x16 v = words(w + g * stride, (first + p) / 4);
            for (int up = (first + p) % 4; up < 3; up++)
                v = i_shl(v, 8);
            const f32x16 weight = f_mul(top_byte(v, 3), scale[g].step[3]);
            for (int r = 0; r < rows; r++)
                acc[g][r] = f_fma_by(weight, x + p * rows + r, acc[g][r]);
        }
}

HN_INLINE void take_q8_0(const int rows, const int groups, const float *x, const void *from,
                         int64_t stride, const int first, const f32x16 *d,
                         f32x16 (*acc)[HN_GEMV_ROWS])
{
    q8_scale scale[HN_GEMV_GROUPS];
    ALL for (int g = 0; g < groups; g++) scale[g] = q8_scale_of(d[g]);
    if (are_tame(groups, d)) {
        take_bytes(rows, groups, x, from, stride, first, scale, true, acc);
        return;
    }
    f32x16 kept[HN_GEMV_GROUPS][HN_GEMV_ROWS]; /* so that acc has no address */
    ALL for (int g = 0; g < groups; g++) ALL for (int r = 0; r < rows; r++) kept[g][r] = acc[g][r];
    take_wild(rows, groups, x, from, stride, first, scale, kept);
    ALL for (int g = 0; g < groups; g++) ALL for (int r = 0; r < rows; r++) acc[g][r] = kept[g][r];
}

/* Block 0 or 1 (`odd`, a constant) of two of Q8_0, 17 words: 2, 32, 2 and 32 bytes. */
HN_INLINE void take_half_q8_0(const int rows, const int groups, const float *x, const float *pair,
                              const bool odd, f32x16 (*acc)[HN_GEMV_ROWS])
{
    f32x16 d[HN_GEMV_GROUPS];
    ALL for (int g = 0; g < groups; g++)
    {
        const i32x16 both = words(pair + GROUP_FLOATS * g, odd ? 8 : 0);
        d[g] = odd ? high_f16(both) : low_f16(both);
    }
    take_q8_0(rows, groups, x, pair, 4 * GROUP_FLOATS, odd ? 36 : 2, d, acc);
}

/* Up to seven blocks of Q8_0: nothing past them is read. */
static __attribute__((noinline)) void turn_end_q8_0(int groups, const uint8_t *w, int64_t stride, int blocks, float *room)
{
    enum { BYTES = 240 };
    for (int g = 0; g < groups; g++, room += GROUP_FLOATS) {
        uint8_t end[16][BYTES] = { { 0 } };
        for (int row = 0; row < 16; row++, w += stride)
            memcpy(end[row], w, (size_t)(34 * blocks));
        turn_in_words(1, end[0], BYTES, BYTES, room);
    }
}

HN_INLINE void plain_q8_0(WALK_PARAMS)
{
    enum { BYTES = 272 };
    for (; k > 0; k -= 256, w += BYTES) {
        const int blocks = k < 256 ? (int)k / 32 : 8;
        if (blocks == 8)
            turn_in_words(groups, w, stride, BYTES, room);
        else
            turn_end_q8_0(groups, w, stride, blocks, room);
        for (int block = 0; block < blocks; block++, x += 32 * rows) {
            const float *const pair = room + 16 * 17 * (block / 2);
            fetch_next(groups, w, stride, BYTES, block);
            if (block % 2)
                take_half_q8_0(rows, groups, x, pair, true, acc);
            else
                take_half_q8_0(rows, groups, x, pair, false, acc);
        }
    }
}

/* Sub-block j of a block of Q4_K in words: the low nibbles of 32 bytes, or the high ones. */
HN_INLINE void take_nibbles(const int rows, const int groups, const float *x,
                            const void *panel, int64_t stride, int j, const bool high,
                            f32x16 (*acc)[HN_GEMV_ROWS])
{
    const float by = high ? 0x1p-4f : 1.0f;
    const uint8_t *const block = panel;
    f32x16 scale[HN_GEMV_GROUPS][4], less[HN_GEMV_GROUPS];
    ALL for (int g = 0; g < groups; g++)
    {
        const uint8_t *const head = block + g * stride;
        const i32x16 both = words(head, 0);
        i32x16 of_d, of_dmin;
        k_scales_of_words(head + 64, j, &of_d, &of_dmin);
        const f32x16 d = f_mul(low_f16(both), i_to_f(of_d));
        less[g] = f_neg(f_mul(high_f16(both), i_to_f(of_dmin)));
        ALL for (int c = 0; c < 4; c++) scale[g][c] =
            f_mul(d, f_set1(high && c == 3 ? 1.0f : by / (float)(1 << 8 * c)));
    }
    HN_KEEP_ROLLED
    for (int i = 0; i < 8; i++)
        ALL for (int c = 0; c < 4; c++)
            ALL for (int g = 0; g < groups; g++)
            {
                const i32x16 v = words(block + g * stride, 4 + j / 2 * 8 + i);
                TAKE(nibble_times(v, 2 * c + high, scale[g], less[g]), g, 4 * i + c);
            }
}

/* `next`, if there is one: plain rows to ask for. */
HN_INLINE void take_q4_k(const int rows, const int groups, const float *x, const void *block,
                         int64_t block_stride, const uint8_t *next, int64_t stride,
                         f32x16 (*acc)[HN_GEMV_ROWS])
{
    HN_KEEP_ROLLED
    for (int j = 0; j < 8; j += 2)
        ALL for (int high = 0; high < 2; high++, x += 32 * rows)
        {
            if (next)
                fetch_next(groups, next, stride, 144, j + high);
            take_nibbles(rows, groups, x, block, block_stride, j + high, high, acc);
        }
}

HN_INLINE void plain_q4_k(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p += 256, w += 144) {
        turn_in_words(groups, w, stride, 144, room);
        take_q4_k(rows, groups, x + p * rows, room, 4 * GROUP_FLOATS, w, stride, acc);
    }
}

HN_INLINE void panel_f32(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p++)
        ALL for (int g = 0; g < groups; g++)
            TAKE(f_load((const float *)(const void *)(w + g * stride + 64 * p)), g, p);
}

HN_INLINE void panel_bf16(WALK_PARAMS)
{
    int64_t p = 0;
    (void)room;
    for (; p + 4 <= k; p += 4)
        ALL for (int g = 0; g < groups; g++)
        {
            const i32x16 even = words(w + g * stride + 32 * p, 0), odd = words(w + g * stride + 32 * p, 1);
            TAKE(high_bf16(even), g, p);
            TAKE(high_bf16(odd), g, p + 1);
            TAKE(low_bf16(even), g, p + 2);
            TAKE(low_bf16(odd), g, p + 3);
        }
    for (; p < k; p++)
        ALL for (int g = 0; g < groups; g++)
            TAKE(f_from_bf16(h_load((const uint16_t *)(const void *)(w + g * stride + 32 * p))),
                 g, p);
}

HN_INLINE void panel_f16(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p++)
        ALL for (int g = 0; g < groups; g++)
            TAKE(f_from_f16(h_load((const uint16_t *)(const void *)(w + g * stride + 32 * p))),
                 g, p);
}

HN_INLINE void panel_q8_0(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p += 32, w += 16 * 34) {
        f32x16 d[HN_GEMV_GROUPS];
        ALL for (int g = 0; g < groups; g++) d[g] = halves_f16(w + g * stride);
        take_q8_0(rows, groups, x + p * rows, w + 32, stride, 0, d, acc);
    }
}

HN_INLINE void panel_q4_k(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p += 256, w += 16 * 144)
        take_q4_k(rows, groups, x + p * rows, w, stride, NULL, 0, acc);
}

/* A walk between loading and storing its accumulators. */
#define AROUND(walk, n_rows, n_groups)                                                         \
    {                                                                                          \
        f32x16 acc[HN_GEMV_GROUPS][HN_GEMV_ROWS];                                              \
        ALL for (int g = 0; g < n_groups; g++) ALL for (int r = 0; r < n_rows; r++)            \
            acc[g][r] = accumulate ? f_load(y + r * ldy + 16 * g) : f_zero();                  \
        walk(n_rows, n_groups, k, x, w, stride, acc, room);                                    \
        ALL for (int g = 0; g < n_groups; g++) ALL for (int r = 0; r < n_rows; r++)            \
            f_store(y + r * ldy + 16 * g, acc[g][r]);                                          \
    }

/* `span` is the bytes from one group to the next. Where there are few rows, panels and blocks are
 * taken several groups at a time (`pairs`; `at_one`: how many by one row), to hide the latency of
 * the chains; the transposes of f32 and of halves hide it themselves. */
#define ONE_OR_TWO(walk, n_rows, span, pairs)                                                  \
    case n_rows:                                                                               \
        if (pairs && groups >= 2) {                                                            \
            AROUND(walk, n_rows, 2)                                                            \
            groups--, w = (const char *)w + (span), y += 16;                                   \
        } else {                                                                               \
            AROUND(walk, n_rows, 1)                                                            \
        }                                                                                      \
        break;
#define ONE(walk, n_rows)                                                                      \
    case n_rows:                                                                               \
        AROUND(walk, n_rows, 1) break;
#if defined(HN_LEVEL_ref)
#define KERNEL(walk, span, pairs, at_one)                                                              \
    static void do_##walk(HN_PARAMS_gemv)                                                      \
    {                                                                                          \
        for (; groups > 0; groups--, w = (const char *)w + (span), y += 16)                    \
            AROUND(walk, rows, 1)                                                              \
    }
#else
#define KERNEL(walk, span, pairs, at_one)                                                      \
    static void do_##walk(HN_PARAMS_gemv)                                                      \
    {                                                                                          \
        for (; (at_one) > 1 && rows == 1 && groups >= (at_one);                                \
             groups -= (at_one), w = (const char *)w + (at_one) * (span), y += 16 * (at_one))  \
            AROUND(walk, 1, at_one)                                                            \
        for (; groups > 0; groups--, w = (const char *)w + (span), y += 16)                    \
            switch (rows) {                                                                    \
                ONE(walk, 1)                                                                   \
                ONE_OR_TWO(walk, 2, span, pairs)                                               \
                ONE(walk, 3)                                                                   \
                ONE_OR_TWO(walk, 4, span, pairs)                                               \
                ONE(walk, 5) ONE(walk, 6) ONE(walk, 7) ONE(walk, 8)                            \
            }                                                                                  \
    }
#endif
KERNEL(plain_f32, 16 * stride, false, 1)
KERNEL(plain_bf16, 16 * stride, false, 1)
KERNEL(plain_f16, 16 * stride, false, 1)
KERNEL(plain_q8_0, 16 * stride, false, 4)
KERNEL(plain_q4_k, 16 * stride, false, 4)
KERNEL(panel_f32, stride, true, 4)
KERNEL(panel_bf16, stride, true, 4)
KERNEL(panel_f16, stride, true, 4)
KERNEL(panel_q8_0, stride, true, 4)
KERNEL(panel_q4_k, stride, true, 4)

/* ---- block formats out of words ---- */

ADD_ROWS(add_chain, CHAIN, false)
ADD_WORDS(chain_words, CHAIN, add_chain, add_chain)

/* Those of a chain that have no walk of their own: types.def says which have. */
#define BY_PANELS(name)                                                                        \
    static void do_plain_##name(HN_PARAMS_gemv)                                                \
    {                                                                                          \
        some_plain_rows(chain_words, HN_ELEM_##name, rows, groups, k, x, w, stride, y, ldy, accumulate, room); \
    }                                                                                          \
    static void do_panel_##name(HN_PARAMS_gemv)                                                \
    {                                                                                          \
        some_rows(chain_words, HN_ELEM_##name, rows, groups, k, x, w, stride, y, ldy, accumulate, room);           \
    }
#define NEEDS_walks(name)
#define NEEDS_decoded(name) BY_PANELS(name)
#define HN_ELEM(name, elements, bytes, kernels, ...) NEEDS_##kernels(name)
#include "quant/types.def"

#include "kernels/gemv/blocks.h"

HN_KERNEL_TABLE(gemv) = {
    .block_plain = blocks_of_rows,
    .block_panel = blocks_of_panel,
#define HN_ELEM(name, elements, bytes, kernels, ...)                                         \
    .plain[HN_ELEM_##name] = do_plain_##name, .panel[HN_ELEM_##name] = do_panel_##name,
#include "quant/types.def"
};
