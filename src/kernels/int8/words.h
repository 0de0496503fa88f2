/* words.h: how many sums a tile has (tile.h), and the words of x that it multiplies by. */
#ifndef HN_KERNELS_INT8_WORDS_H
#define HN_KERNELS_INT8_WORDS_H

#include "kernels/int8/int8.h"
#include "kernels/simd/f32x16.h"

#include <string.h>

/* So many rows and groups that a tile's sums are registers; so many rows that a walk's are (walk.h), and how often a panel whose blocks are of
 * 32 is walked by so few: to unpack those again costs less than sums in memory. How many rows are taken at a time of more, and the most. */
#if defined(HN_LEVEL_avx512)
enum { ROWS = 6, GROUPS = 2, FEW = 8, AGAIN = 2, SOME = 4, WALKS = 64 };
#elif defined(HN_LEVEL_avx2)
enum { ROWS = 3, GROUPS = 1, FEW = 3, AGAIN = 1, SOME = 3, WALKS = 64 };
#else
enum { ROWS = 4, GROUPS = 2, FEW = 1, AGAIN = 1, SOME = 4, WALKS = 1 };
#endif
enum { MOST_ROWS = ROWS > FEW ? ROWS : FEW };

HN_INLINE i32x16 word_of(const hn_int8_tile *t, int row, int64_t block, int j)
{
    int32_t word;
    memcpy(&word, t->x.q + (row * t->x.stride + block) * HN_INT8_BLOCK + 4 * j, sizeof word);
    return i_set1(word);
}

#endif
