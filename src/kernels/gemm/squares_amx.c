/* Blocks of 32 by TDPBF16PS. */
#define HN_LANES         avx512 /* whose vocabulary this is written in */
#define HN_LEVEL_avx512 1
#include "kernels/gemm/squares_text.h"

HN_KERNEL_SLOTS(gemm) { k->squares = &squares_of_level; }
