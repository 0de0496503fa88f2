/* quant_rows.h: rows that encoders are compared on, the same here and in
 * tools/reference/quant_compare.c, and a column's importance. */
#ifndef TESTS_DIFFERENTIAL_QUANT_ROWS_H
#define TESTS_DIFFERENTIAL_QUANT_ROWS_H

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* A sum of twelve uniforms: near enough to normal, and exact arithmetic. */
static inline float quant_bell(uint64_t seed, uint64_t i)
{
    float sum = 0;
    for (uint64_t k = 0; k < 12; k++)
        sum += hn_rng_uniform(hn_rng_seed(seed), 12 * i + k);
    return sum - 6;
}

/* Of deviation 0.02 or so; heavy: Student's t with three degrees. */
static inline float quant_element(uint64_t i, bool is_heavy)
{
    if (!is_heavy)
        return 0.02f * quant_bell(1, i);
    float squares = 0;
    for (uint64_t k = 0; k < 3; k++) {
        const float z = quant_bell(3, 3 * i + k);
        squares += z * z;
    }
    return 0.02f * quant_bell(2, i) / sqrtf(squares / 3 + 1e-6f);
}

/* From one in a thousand to some hundreds, most below one. */
static inline float quant_importance(uint64_t column)
{
    const float z = quant_bell(4, column);
    return 0.001f + z * z * z * z;
}

/* The mean of importance (x - y)^2 over rows; importance is a row, or NULL. */
static inline double quant_error(int64_t rows, int64_t columns, const float *x, const float *y,
                                 const float *importance)
{
    double sum = 0;
    for (int64_t i = 0; i < rows * columns; i++) {
        const double off = (double)x[i] - (double)y[i];
        sum += off * off * (importance ? (double)importance[i % columns] : 1);
    }
    return sum / (double)(rows * columns);
}

#endif
