/* rows.h: plain rows into the words of int8.h. Some blocks of sixteen rows are turned four bytes at a time (sixteen.h), and unpacked
 * out of that: so many that they end with a whole sixteen bytes where they can, since that is what a row is read by. */
#ifndef HN_KERNELS_INT8_ROWS_H
#define HN_KERNELS_INT8_ROWS_H

#include "kernels/int8/unpack.h"

/* Blocks of a format at a time. */
#define SOME_BLOCKS(bytes) ((bytes) <= 40 ? 8 : (bytes) % 16 ? 2 : 1)

/* All of a block that begins `offset` bytes into turned rows. Phases that a format's size cannot have are not compiled. */
#define UNPACK_PHASE(name, sums, each, its_phase)                                              \
    HN_UNROLL                                                                                  \
    for (int g = 0; g < (each); g++)                                                           \
        unpack_##name((sixteen){ at, its_phase }, g, to + g * hn_int8_words(HN_INT8_##sums));

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                   \
    static void unpack_rows_##name(int64_t blocks, const char *rows, int64_t stride, const char *ahead, \
                                   int32_t *to)                                                \
    {                                                                                          \
        enum { EACH = (elements) / HN_INT8_BLOCK, SOME = SOME_BLOCKS(bytes) };                 \
        _Alignas(64) uint8_t turned[16 * ((SOME * (bytes) + 15) / 16 * 16)];                   \
        for (int64_t b = 0, some; b < blocks; b += some * EACH) {                                  \
            some = (blocks - b) / EACH < SOME ? (blocks - b) / EACH : SOME;                    \
            turn_rows(rows, stride, some * (bytes), ahead, turned);                            \
            rows += some * (bytes);                                                            \
            ahead += 16 * some * (bytes);                                                      \
            for (int i = 0; i < some; i++, to += EACH * hn_int8_words(HN_INT8_##sums)) {       \
                const uint8_t *at = turned + i * (bytes) / 4 * 64;                             \
                const int phase = i * (bytes) % 4;                                             \
                if ((bytes) % 4 == 0 || phase == 0) {                                          \
                    UNPACK_PHASE(name, sums, EACH, 0)                                          \
                } else if ((bytes) % 2 == 0 || phase == 2) {                                   \
                    UNPACK_PHASE(name, sums, EACH, 2)                                          \
                } else if (phase == 1) {                                                       \
                    UNPACK_PHASE(name, sums, EACH, 1)                                          \
                } else {                                                                       \
                    UNPACK_PHASE(name, sums, EACH, 3)                                          \
                }                                                                              \
            }                                                                                  \
        }                                                                                      \
    }
#include "quant/types.def"

#endif
