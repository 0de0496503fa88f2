/* rows.h: plain rows by the words of int8.h. Some blocks of sixteen rows are turned four bytes at a time (sixteen.h), and unpacked
 * out of that: so many that they end with a whole sixteen bytes where they can, since that is what a row is read by. */
#ifndef HN_KERNELS_INT8_ROWS_H
#define HN_KERNELS_INT8_ROWS_H

#include "kernels/formats.h"
#include "kernels/int8/block.h"

/* Blocks of a format at a time. */
#define SOME_BLOCKS(bytes) ((bytes) <= 40 ? 8 : (bytes) % 16 ? 2 : 1)

/* Blocks of 32 from a block that begins in some phase of turned rows, each unpacked into `w`, after which `then` is done. */
#define IN_PHASE(name, each, its_phase, then)                                                  \
    HN_UNROLL                                                                                  \
    for (int g = 0; g < (each); g++) {                                                         \
        unpack_##name((sixteen){ at, its_phase }, g, w);                                       \
        then;                                                                                  \
    }

/* Phases that a format's size cannot have are not compiled. */
#define OF_ROWS(name, elements, bytes, blocks, rows, stride, ahead, then)                      \
    enum { EACH = (elements) / HN_INT8_BLOCK, AT_A_TIME = SOME_BLOCKS(bytes) };                \
    _Alignas(64) uint8_t turned[16 * ((AT_A_TIME * (bytes) + 15) / 16 * 16)];                  \
    for (int64_t b = 0, some; b < (blocks); b += some * EACH) {                                \
        some = ((blocks) - b) / EACH < AT_A_TIME ? ((blocks) - b) / EACH : AT_A_TIME;          \
        turn_rows(rows, stride, some * (bytes), ahead, turned);                                \
        rows += some * (bytes);                                                                \
        ahead += 16 * some * (bytes);                                                          \
        for (int i = 0; i < some; i++) {                                                       \
            const uint8_t *at = turned + i * (bytes) / 4 * 64;                                 \
            const int phase = i * (bytes) % 4;                                                 \
            if ((bytes) % 4 == 0 || phase == 0) {                                              \
                IN_PHASE(name, EACH, 0, then)                                                  \
            } else if ((bytes) % 2 == 0 || phase == 2) {                                       \
                IN_PHASE(name, EACH, 2, then)                                                  \
            } else if (phase == 1) {                                                           \
                IN_PHASE(name, EACH, 1, then)                                                  \
            } else {                                                                           \
                IN_PHASE(name, EACH, 3, then)                                                  \
            }                                                                                  \
        }                                                                                      \
    }

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                   \
    __attribute__((unused)) static void unpack_rows_##name(int64_t blocks, const char *rows, int64_t stride, const char *ahead, int32_t *w) \
    {                                                                                          \
        OF_ROWS(name, elements, bytes, blocks, rows, stride, ahead, w += hn_int8_words(HN_INT8_##sums)) \
    }                                                                                          \
    static void walk_rows_##name(const hn_int8_tile *t, const char *rows, int64_t stride, const char *ahead) \
    {                                                                                          \
        _Alignas(64) int32_t w[HN_INT8_MOST_WORDS];                                            \
        sums_of_rows sum;                                                                      \
        int64_t block = 0;                                                                     \
        clear_sums(t->rows, sum);                                                              \
        OF_ROWS(name, elements, bytes, t->blocks, rows, stride, ahead, add_##sums(t, block++, w, sum)) \
        put_sums(t, 0, sum);                                                                   \
    }
#include "quant/types.def"

#endif
