/* gemm_data.h: stored weights for the checks, with their values. */
#ifndef TESTS_KERNELS_GEMM_DATA_H
#define TESTS_KERNELS_GEMM_DATA_H

#include "kernels/gemm/gemm.h"

const char *gemm_elem_name(hn_elem type);

/* w[rows, row] of `type`, as an operand seen along k (rows are outer) or along n (rows are k).
 * Ends at a guard page. Returns the values, decoded by `ref`, [rows][row]. */
float *gemm_weights(hn_gemm_operand *out, hn_elem type, int64_t rows, int64_t row, bool along_n,
                    bool panel16);

/* n blocks all of whose bytes but their own scales are `byte`. */
void gemm_fill_blocks(hn_elem type, size_t n, int byte, uint8_t *x);

#endif
