/* along.h: one row by plain rows of weights, each read from its beginning to its end, as memory has it and as it is fetched best.
 * Lanes are blocks of one row of weights until every number of the chain is there, and rows after that:
 *
 *     a row    | block 0 | block 1 | .. | block 15 |      64 bytes at a time by 64 of x: eight parts of a block's sum each,
 *                   \________|_______________/            added up crosswise: whole sums and scales of sixteen blocks
 *     planes   row 0   | sum of block 0, 1, .. |
 *              row 1   | ..                    |          the same of the scales
 *              row 15  |  |                    |          turned: sums and scales of a block in sixteen rows
 *                         v
 *                acc = fma(sum, scale, acc)               block after block */
#ifndef HN_KERNELS_INT8_ALONG_H
#define HN_KERNELS_INT8_ALONG_H

#include "kernels/formats.h"
#include "kernels/int8/ahead.h"
#include "kernels/int8/stretches.h"
#include "kernels/int8/tile.h"

enum { PLANE_BYTES = sizeof(((hn_int8_room *)0)->plane[0][0]) };

/* Parts of a sum, eight a block. */
HN_INLINE i32x16 parts_of(i32x16 u, i32x16 q, const int most)
{
#ifdef DOT4
    (void)most;
    return DOT4(i_set1(0), u, q);
#else
    if (most <= 127)
        return add_pairs(i_set1(0), pairs_of(u, q));
    const sized w = sized_of(u);
    return add_pairs(i_set1(0), pairs_of(w.size, with_sign(q, w)));
#endif
}

/* Whether the offset is in sums, and what of a block's Q it is taken out by. */
HN_INLINE int offset_in(const int offset, const int most) { return most <= 127 || WIDE_HAS_OFFSET ? offset : 0; }

HN_INLINE bool has_two_sums(hn_int8_kind kind) { return kind != HN_INT8_whole && kind != HN_INT8_less; }

/* Blocks [first, first + n) of x. What a last stretch has beyond them is computed and not looked at. */
HN_INLINE void take_x(const hn_int8_along *t, int64_t first, int64_t n, const hn_int8_kind kind, const int offset)
{
    hn_int8_room *room = t->room;
    const int64_t tail = n % STRETCH, end = n - tail;
    const hn_int8_rows x = hn_int8_rows_from(&t->x, 0, first);
    for (int64_t b = 0; b < n; b++) {
        const int32_t low = x.sum[2 * b], high = x.sum[2 * b + 1];
        room->d[b] = x.d[b];
        room->of_q[0][b] = kind == HN_INT8_halves_less ? low : has_two_sums(kind) ? offset * low : offset * (low + high);
        room->of_q[1][b] = kind == HN_INT8_halves_less ? high : offset * high;
    }
    memcpy(room->tail_q, x.q + end * HN_INT8_BLOCK, (size_t)tail * HN_INT8_BLOCK);
}

/* Planes of a stretch: sums and scales, of either half where halves are steps; of a minimum its product's factors. */
HN_INLINE void put_stretch(const hn_int8_room *room, int64_t b, const i32x16 v[8], const stretch *s, const hn_int8_kind kind,
                           float *to)
{
    const int64_t plane = sizeof room->plane[0] / sizeof(float);
    const f32x16 d = f_load(room->d + b);
    i32x16 first, second;
    add_up(v, &first, &second);
    if (!has_two_sums(kind)) {
        f_store(to, i_to_f(i_sub(i_add(first, second), i_load(room->of_q[0] + b))));
        f_store(to + plane, f_mul(s->scale, d));
        if (kind == HN_INT8_less)
            f_store(to + 2 * plane, s->minus_minimum);
        return;
    }
    const i32x16 of_q[2] = { i_load(room->of_q[0] + b), i_load(room->of_q[1] + b) };
    if (kind != HN_INT8_halves_less) {
        first = i_sub(first, of_q[0]);
        second = i_sub(second, of_q[1]);
    }
    if (kind == HN_INT8_steps) {
        f_store(to, i_to_f(first));
        f_store(to + plane, f_mul(s->factor[0], d));
        f_store(to + 2 * plane, i_to_f(second));
        f_store(to + 3 * plane, f_mul(s->factor[1], d));
        return;
    }
    f_store(to, f_fma(s->factor[1], i_to_f(second), f_mul(s->factor[0], i_to_f(first))));
    f_store(to + plane, f_mul(s->scale, d));
    if (kind == HN_INT8_halves_less) {
        const f32x16 m = f_fma(s->less[1], i_to_f(of_q[1]), f_mul(s->less[0], i_to_f(of_q[0])));
        f_store(to + 2 * plane, s->minus_minimum);
        f_store(to + 3 * plane, f_mul(d, m));
    }
}

/* A block of the chain of sixteen rows: planes of it, and of x what its Q add up to, times d. */
HN_INLINE f32x16 chain_block(const hn_int8_kind kind, f32x16 sum, f32x16 scale, f32x16 third, f32x16 fourth, float less, f32x16 acc)
{
    acc = f_fma(sum, scale, acc);
    if (kind == HN_INT8_less)
        return f_fma(third, f_set1(less), acc);
    return kind == HN_INT8_halves_less || kind == HN_INT8_steps ? f_fma(third, fourth, acc) : acc;
}

/* Blocks [first, first + n), whose planes are there. */
HN_INLINE f32x16 chain_of(const hn_int8_along *t, int64_t first, int64_t n, const hn_int8_kind kind, f32x16 acc)
{
    const hn_int8_room *room = t->room;
    const int planes = kind == HN_INT8_less ? 3 : kind == HN_INT8_halves_less || kind == HN_INT8_steps ? 4 : 2;
    const float *less = t->x.less + first;
    for (int64_t b = 0; b < n; b += 4) {
        f32x16 at[4][4];
        HN_UNROLL
        for (int p = 0; p < planes; p++)
            transpose4((const char *)(room->plane[p][0] + b), PLANE_BYTES, at[p]);
#define CHAIN_BLOCK(i) acc = chain_block(kind, at[0][i], at[1][i], at[2][i], at[3][i], less[b + (i)], acc);
        CHAIN_BLOCK(0)
        if (b + 4 <= n) {
            CHAIN_BLOCK(1) CHAIN_BLOCK(2) CHAIN_BLOCK(3)
            continue;
        }
        if (b + 1 < n)
            CHAIN_BLOCK(1)
        if (b + 2 < n)
            CHAIN_BLOCK(2)
    }
    return acc;
}

#define PAIR_OF(name, bytes, each, most, i)                                                    \
    v[i] = parts_of(two_##name(row + 2 * (i) / (each) * (bytes), row + (2 * (i) + 1) / (each) * (bytes), 2 * (i) % (each)), \
                    i_load_bytes(q + 64 * (i)), most);

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                   \
    HN_INLINE void stretch_##name(const hn_int8_room *room, int64_t b, const uint8_t *row, const int8_t *q, float *to) \
    {                                                                                          \
        enum { EACH = (elements) / HN_INT8_BLOCK };                                            \
        i32x16 v[8];                                                                           \
        PAIR_OF(name, bytes, EACH, most, 0)                                                    \
        PAIR_OF(name, bytes, EACH, most, 1)                                                    \
        PAIR_OF(name, bytes, EACH, most, 2)                                                    \
        PAIR_OF(name, bytes, EACH, most, 3)                                                    \
        PAIR_OF(name, bytes, EACH, most, 4)                                                    \
        PAIR_OF(name, bytes, EACH, most, 5)                                                    \
        PAIR_OF(name, bytes, EACH, most, 6)                                                    \
        PAIR_OF(name, bytes, EACH, most, 7)                                                    \
        stretch s;                                                                             \
        of_##name(row, &s);                                                                    \
        put_stretch(room, b, v, &s, HN_INT8_##sums, to);                                       \
    }                                                                                          \
    static void along_##name(const hn_int8_along *t)                                           \
    {                                                                                          \
        enum { EACH = (elements) / HN_INT8_BLOCK, WHOLE = STRETCH / EACH * (bytes) };          \
        hn_int8_room *room = t->room;                                                          \
        f32x16 acc = f_zero();                                                                 \
        for (int64_t first = 0; first < t->blocks; first += HN_INT8_ALONG) {                   \
            const int64_t rest = t->blocks - first, n = rest < HN_INT8_ALONG ? rest : HN_INT8_ALONG; \
            const int8_t *q = t->x.q + first * HN_INT8_BLOCK;                                  \
            take_x(t, first, n, HN_INT8_##sums, offset_in(offset, most));                      \
            for (int r = 0; r < 16; r++) {                                                     \
                const uint8_t *row = t->row[r] + first / EACH * (bytes);                       \
                int64_t b = 0;                                                                 \
                for (; b + STRETCH <= n; b += STRETCH, row += WHOLE) {                         \
                    ask_for(row + AHEAD, WHOLE, t->near);                                               \
                    stretch_##name(room, b, row, q + b * HN_INT8_BLOCK, room->plane[0][r] + b); \
                }                                                                              \
                if (b == n)                                                                    \
                    continue;                                                                  \
                memcpy(room->tail, row, (size_t)((n - b) / EACH * (bytes)));                   \
                stretch_##name(room, b, room->tail, room->tail_q, room->plane[0][r] + b);      \
            }                                                                                  \
            acc = chain_of(t, first, n, HN_INT8_##sums, acc);                                  \
        }                                                                                      \
        f_store(t->y, acc);                                                                    \
    }
#include "quant/types.def"

#endif
