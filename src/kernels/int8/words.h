/* words.h: how many sums a tile has (tile.h), and the words of x that it multiplies by. */
#ifndef HN_KERNELS_INT8_WORDS_H
#define HN_KERNELS_INT8_WORDS_H

#include "kernels/int8/int8.h"
#include "kernels/simd/f32x16.h"

#include <string.h>

/* So many rows and groups that their sums are registers; the rows by which panels are walked (walk.h), and how often a panel whose blocks are
 * of 32 is: to unpack those again costs less than to put them down and fetch them. */
#if defined(HN_LEVEL_avx512)
enum { ROWS = 6, GROUPS = 2, WALKS = 8, AGAIN = 2 };
#elif defined(HN_LEVEL_avx2)
enum { ROWS = 3, GROUPS = 1, WALKS = 5, AGAIN = 2 };
#else
enum { ROWS = 4, GROUPS = 2, WALKS = 1, AGAIN = 1 };
#endif
enum { MOST_ROWS = ROWS > WALKS ? ROWS : WALKS };

HN_INLINE i32x16 word_of(const hn_int8_tile *t, int row, int64_t block, int j)
{
    int32_t word;
    memcpy(&word, t->x.q + (row * t->x.stride + block) * HN_INT8_BLOCK + 4 * j, sizeof word);
    return i_set1(word);
}

#endif
