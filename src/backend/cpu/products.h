/* products.h: calls of ops turned into operands of the matrix kernels. */
#ifndef HN_BACKEND_CPU_PRODUCTS_H
#define HN_BACKEND_CPU_PRODUCTS_H

#include "backend/cpu/cpu.h"

/* The kernels' name of an element type; false if they have none. */
bool hn_cpu_elem(hn_dtype dtype, hn_elem *out);

/* The operand with rows `t.stride[0]` (or packed rows) apart: rows along the outer dimension, or
 * along the summed one. `t` is [.., n] with contiguous rows. */
hn_gemm_operand hn_cpu_rows_outer(const hn_tensor *t);
hn_gemm_operand hn_cpu_rows_summed(const hn_tensor *t);

/* Whether the rows of `t` can be walked with one stride and are contiguous inside. */
bool hn_cpu_has_rows(const hn_type *t);

/* A product whose result is `out`: f32 directly, else through shared scratch and rounded. */
typedef struct hn_cpu_product {
    hn_gemm_args args;
    const hn_tensor *out, *acc;
} hn_cpu_product;

size_t hn_cpu_product_shared(const hn_type *out);
int hn_cpu_product_phases(const hn_cpu_product *p);
int64_t hn_cpu_product_units(const hn_cpu_task *task, const hn_cpu_product *p, int phase);
void hn_cpu_product_run(const hn_cpu_task *task, const hn_cpu_product *p, int phase, int64_t begin,
                        int64_t end, int thread);

/* Weights [n,k] for products in whole numbers; a row of x, or rows [begin, end), into blocks, one that is not finite refused. */
hn_int8_args hn_cpu_int8_weights(const hn_tensor *w);
void hn_cpu_int8_row(const hn_cpu_task *task, const hn_tensor *x, int64_t row, const hn_int8_rows *to);
void hn_cpu_int8_rows(const hn_cpu_task *task, const hn_tensor *x, const hn_int8_rows *to, int64_t begin, int64_t end);

#endif
