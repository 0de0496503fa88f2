/* Sixteen rows by sixteen columns in one instruction. */
#define HN_LANES         avx512 /* whose vocabulary this is written in */
#define HN_LEVEL_avx512 1
#include "kernels/int8/squares_text.h"

HN_KERNEL_SLOTS(int8) { k->squares = &squares_of_level; }
