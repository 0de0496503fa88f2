/* Rows of x in blocks of whole numbers, weights out of panels, and tiles where four products are not one instruction. */
#include "kernels/int8/int8.h"
#include "kernels/int8/quantise.h"
#include "kernels/int8/rows.h"

#include "kernels/int8/walk.h"

/* ---- weights ---- */

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                         \
    static void unpack_blocks_##name(int64_t first, int64_t blocks, const uint8_t *panel, int32_t *to) \
    {                                                                                          \
        const int each = (elements) / HN_INT8_BLOCK;                                           \
        for (int64_t b = first; b < first + blocks; b++, to += hn_int8_words(HN_INT8_##sums)) { \
            ask_for(panel + 16 * (bytes) * b / each + AHEAD, 16 * (bytes) / each, false);            \
            unpack_##name((sixteen){ panel + 16 * (bytes) * (b / each), IN_PANEL }, (int)(b % each), to); \
        }                                                                                      \
    }
#include "quant/types.def"

HN_KERNEL_TABLE(int8) = {
    .quantise = quantise,
    .unpack = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = unpack_blocks_##name,
#include "quant/types.def"
    },
    .unpack_rows = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = unpack_rows_##name,
#include "quant/types.def"
    },
    .walk = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = walk_##name,
#include "quant/types.def"
    },
    .along = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = along_##name,
#include "quant/types.def"
    },
    .tile = HN_INT8_TILES,
    .rows = ROWS,
};
