/* walk.h: few rows by panels as they lie: each block is multiplied as it is unpacked, so what is unpacked stays in a block's lines, and
 * memory is asked evenly. A tile (tile.h) puts eight blocks or more of two groups down first.
 *
 * Sums of up to FEW rows stay in registers from a panel's first block to its last; those of more lie in the first cache (block.h).
 *
 * Blocks of a format's block follow each other written out for one row, which shares what it can between them; of more rows that is
 * more code than the processor keeps decoded, and takes up to twice as long. */
#ifndef HN_KERNELS_INT8_WALK_H
#define HN_KERNELS_INT8_WALK_H

#include "kernels/formats.h"
#include "kernels/int8/along.h"
#include "kernels/int8/block.h"
#include "kernels/int8/rows.h"

_Static_assert(FEW <= 8 && WALKS <= (int)HN_INT8_WALKING, "walk_NAME has each number of few rows, and a walk room for its sums");

#define WALK_BY(name, n)                                                                       \
    case n:                                                                                    \
        if (n <= FEW)                                                                          \
            walk_few_##name(t, n, panels, stride);                                             \
        return;

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                   \
    HN_INLINE void walk_unpack_##name(const hn_int8_tile *t, const uint8_t *panel, const int i, int32_t *w) \
    {                                                                                          \
        const int each = (elements) / HN_INT8_BLOCK;                                           \
        ask_for(panel + 16 * (bytes) * i / each + AHEAD, 16 * (bytes) / each, t->near);        \
        unpack_##name((sixteen){ panel, IN_PANEL }, i, w);                                     \
    }                                                                                          \
    HN_INLINE void walk_part_##name(const hn_int8_tile *t, const int rows, const uint8_t *panel, const int i, int32_t *w, int64_t b, \
                                    f32x16 sum[MOST_ROWS][HN_INT8_GROUPS])                     \
    {                                                                                          \
        walk_unpack_##name(t, panel, i, w);                                                    \
        add_block(t, rows, 1, HOW_LARGE(most), HN_INT8_##sums, w, b + i, sum);                 \
    }                                                                                          \
    HN_INLINE void walk_few_##name(const hn_int8_tile *t, const int rows, const uint8_t *panels, int64_t stride) \
    {                                                                                          \
        const int each = (elements) / HN_INT8_BLOCK;                                           \
        _Alignas(64) int32_t w[HN_INT8_MOST_WORDS];                                            \
        for (int g = 0; g < t->groups; g++) {                                                  \
            const uint8_t *panel = panels + g * stride;                                        \
            f32x16 sum[MOST_ROWS][HN_INT8_GROUPS];                                             \
            HN_UNROLL                                                                          \
            for (int r = 0; r < rows; r++)                                                     \
                sum[r][0] = f_zero();                                                          \
            for (int64_t b = 0; b < t->blocks; b += each, panel += 16 * (bytes))               \
                if (rows > 1 && each > 1) {                                                    \
                    HN_KEEP_ROLLED                                                             \
                    for (int i = 0; i < each; i++)                                             \
                        walk_part_##name(t, rows, panel, i, w, b, sum);                        \
                } else {                                                                       \
                    HN_UNROLL                                                                  \
                    for (int i = 0; i < each; i++)                                             \
                        walk_part_##name(t, rows, panel, i, w, b, sum);                        \
                }                                                                              \
            HN_UNROLL                                                                          \
            for (int r = 0; r < rows; r++)                                                     \
                f_store(t->y + r * t->ldy + 16 * g, sum[r][0]);                                \
        }                                                                                      \
    }                                                                                          \
    static void walk_many_##name(const hn_int8_tile *t, const uint8_t *panels, int64_t stride) \
    {                                                                                          \
        const int each = (elements) / HN_INT8_BLOCK;                                           \
        _Alignas(64) int32_t w[HN_INT8_MOST_WORDS];                                            \
        sums_of_rows sum;                                                                      \
        for (int g = 0; g < t->groups; g++) {                                                  \
            const uint8_t *panel = panels + g * stride;                                        \
            clear_sums(t->rows, sum);                                                          \
            for (int64_t b = 0; b < t->blocks; b += each, panel += 16 * (bytes)) {             \
                HN_KEEP_ROLLED                                                                 \
                for (int i = 0; i < each; i++) {                                               \
                    walk_unpack_##name(t, panel, i, w);                                        \
                    add_rows(t, b + i, HOW_LARGE(most), HN_INT8_##sums, w, sum);               \
                }                                                                              \
            }                                                                                  \
            put_sums(t, g, sum);                                                               \
        }                                                                                      \
    }                                                                                          \
    static void walk_##name(const hn_int8_tile *t, const uint8_t *panels, int64_t stride)      \
    {                                                                                          \
        if (WALKS > FEW && t->rows > FEW) {                                                    \
            walk_many_##name(t, panels, stride);                                               \
            return;                                                                            \
        }                                                                                      \
        switch (t->rows) {                                                                     \
            WALK_BY(name, 1) WALK_BY(name, 2) WALK_BY(name, 3) WALK_BY(name, 4)                \
            WALK_BY(name, 5) WALK_BY(name, 6) WALK_BY(name, 7) WALK_BY(name, 8)                \
        }                                                                                      \
    }
#include "quant/types.def"

/* What a level that multiplies otherwise puts in. */
__attribute__((unused)) static void put_tiles(hn_int8_kernels *k)
{
    static hn_int8_tile_fn *const tiles[HN_INT8_KINDS] = HN_INT8_TILES;
    memcpy(k->tile, tiles, sizeof tiles);
#define HN_SUMMED(name, elements, bytes, sums, offset, most) \
    k->walk[HN_ELEM_##name] = walk_##name, k->walk_rows[HN_ELEM_##name] = walk_rows_##name, k->along[HN_ELEM_##name] = along_##name;
#include "quant/types.def"
    k->rows = ROWS;
    k->walks = WALKS;
    k->few = FEW;
    k->again = AGAIN;
}

#endif
