/* block.h: one block of sixteen columns, unpacked, by any number of rows from 2 to HN_INT8_WALKING. Their sums lie in the first cache, and are
 * loaded and stored beside the twelve operations and more that a block and a row take. SOME rows are multiplied at a time, or one less, of
 * which every number but 1, 2 and 5 is made (of 4 and 3; of 3 and 2 every one but 1); 2 and 5 begin with two:
 *
 *     sum[r] += block times x[r]        r = 0 1 2 | 3 4 5 | 6 7 8 9 | 10 11 12 13 | ...
 */
#ifndef HN_KERNELS_INT8_BLOCK_H
#define HN_KERNELS_INT8_BLOCK_H

#include "kernels/int8/tile.h"

typedef f32x16 sums_of_rows[HN_INT8_WALKING][HN_INT8_GROUPS];

_Static_assert(SOME == 3 || SOME == 4, "two rows are taken first where fours and threes do not do");

/* The next rows of t. */
HN_INLINE void add_some(hn_int8_tile *t, const int rows, const int most, const hn_int8_kind kind, const int32_t *w, int *row, sums_of_rows sum)
{
    add_block(t, rows, 1, most, kind, w, 0, sum + *row);
    t->x = hn_int8_rows_from(&t->x, rows, 0);
    *row += rows;
}

HN_INLINE void add_rows(const hn_int8_tile *t, int64_t block, const int most, const hn_int8_kind kind, const int32_t *restrict w, sums_of_rows sum)
{
    hn_int8_tile part = *t;
    part.x = hn_int8_rows_from(&t->x, 0, block);
    int row = 0;
    if (SOME == 4 && (t->rows == 2 || t->rows == 5))
        add_some(&part, 2, most, kind, w, &row, sum);
    const int by_less = row + (SOME - (t->rows - row) % SOME) % SOME * (SOME - 1);
    while (row < by_less)
        add_some(&part, SOME - 1, most, kind, w, &row, sum);
    while (row < t->rows)
        add_some(&part, SOME, most, kind, w, &row, sum);
}

/* As tiles are told apart (tile.h). */
#define ADD_PARAMS      const hn_int8_tile *t, int64_t block, const int32_t *restrict w, sums_of_rows sum
#define ADD(most, kind) add_rows(t, block, most, kind, w, sum)
static void add_whole(ADD_PARAMS) { BY_SIZE_whole(ADD) }
static void add_less(ADD_PARAMS) { BY_SIZE_less(ADD) }
static void add_halves(ADD_PARAMS) { BY_SIZE_halves(ADD) }
static void add_halves_less(ADD_PARAMS) { BY_SIZE_halves_less(ADD) }
static void add_steps(ADD_PARAMS) { BY_SIZE_steps(ADD) }

HN_INLINE void clear_sums(int rows, sums_of_rows sum)
{
    for (int r = 0; r < rows; r++)
        sum[r][0] = f_zero();
}

HN_INLINE void put_sums(const hn_int8_tile *t, int group, sums_of_rows sum)
{
    for (int r = 0; r < t->rows; r++)
        f_store(t->y + r * t->ldy + 16 * group, sum[r][0]);
}

#endif
