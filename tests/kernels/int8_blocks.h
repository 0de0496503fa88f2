/* int8_blocks.h: the whole numbers of 32 elements of a row in each block format, one by one as the formats say
 * (src/quant), for the check of the kernels that read sixteen rows at a time. */
#ifndef TESTS_KERNELS_INT8_BLOCKS_H
#define TESTS_KERNELS_INT8_BLOCKS_H

#include "kernels/int8/int8.h"

typedef struct int8_block {
    int q[32];
    float scale[2]; /* ws; of the second sixteen, where they are steps */
    float minimum;  /* wm */
    int factor[2], less[2];
} int8_block;

/* Block number `at` of 32, of a row that begins at `row`. */
int8_block int8_block_of(hn_elem type, const uint8_t *row, int64_t at);

#endif
