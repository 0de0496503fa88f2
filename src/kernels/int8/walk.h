/* walk.h: one row by panels as they lie. What it unpacks never leaves the lines of a block, and memory is asked evenly. */
#ifndef HN_KERNELS_INT8_WALK_H
#define HN_KERNELS_INT8_WALK_H

#include "kernels/int8/along.h"
#include "kernels/int8/tile.h"
#include "kernels/int8/unpack.h"

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                         \
    static void walk_##name(const hn_int8_tile *t, const uint8_t *panels, int64_t stride)      \
    {                                                                                          \
        const int each = (elements) / HN_INT8_BLOCK;                                           \
        _Alignas(64) int32_t w[HN_INT8_MOST_WORDS];                                            \
        for (int g = 0; g < t->groups; g++) {                                                  \
            const uint8_t *panel = panels + g * stride;                                        \
            f32x16 acc[ROWS][HN_INT8_GROUPS];                                                  \
            acc[0][0] = f_zero();                                                              \
            for (int64_t b = 0; b < t->blocks; b += each, panel += 16 * (bytes))               \
                HN_UNROLL                                                                      \
                for (int i = 0; i < each; i++) {                                               \
                    ask_for(panel + 16 * (bytes) * i / each + AHEAD, 16 * (bytes) / each, t->near); \
                    unpack_##name((sixteen){ panel, IN_PANEL }, i, w);                           \
                    add_block(t, 1, 1, HOW_LARGE(most), HN_INT8_##sums, w, b + i, acc);        \
                }                                                                              \
            f_store(t->y + 16 * g, acc[0][0]);                                                 \
        }                                                                                      \
    }
#include "quant/types.def"

/* What a level that multiplies otherwise puts in. */
__attribute__((unused)) static void put_tiles(hn_int8_kernels *k)
{
    static hn_int8_tile_fn *const tiles[HN_INT8_KINDS] = HN_INT8_TILES;
    memcpy(k->tile, tiles, sizeof tiles);
#define HN_SUMMED(name, elements, bytes, sums, offset, most) k->walk[HN_ELEM_##name] = walk_##name, k->along[HN_ELEM_##name] = along_##name;
#include "quant/types.def"
    k->rows = ROWS;
}

#endif
