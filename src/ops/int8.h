/* int8.h: what rounding x to blocks of whole numbers leaves of it, for the products that read it so. The order of their
 * sums is kernels/int8/int8.h. */
#ifndef HN_OPS_INT8_H
#define HN_OPS_INT8_H

#include "ops/ops.h"

#include <math.h>

enum { HN_OPS_INT8_BLOCK = 32 };

/* Element `at` of a row that begins at `row`: Q d of its block. */
static inline double hn_int8_of(const hn_tensor *x, int64_t row, int64_t at)
{
    const int64_t first = row + at / HN_OPS_INT8_BLOCK * HN_OPS_INT8_BLOCK;
    float m = 0;
    for (int64_t i = first; i < first + HN_OPS_INT8_BLOCK; i++) {
        const float v = fabsf((float)hn_get(x, i));
        if (!(v < INFINITY))
            return NAN;
        m = v > m ? v : m;
    }
    const float d = m / 127.0f;
    if (d < 0x1p-126f)
        return 0;
    const float exact = (float)hn_get(x, row + at) * (127.0f / m);
    const float near = exact + 0x1.8p23f - 0x1.8p23f; /* to the nearest even */
    return (double)(near > 127 ? 127 : near < -127 ? -127 : near) * (double)d;
}

static inline hn_status hn_int8_expect(const hn_call *call, int x, int w)
{
    HN_TRY(hn_expect_float(call, x));
    if (!hn_is_block(call->in[w]->type.dtype))
        return hn_refuse(call, "w is %s: expected a block format", hn_dtype_name(call->in[w]->type.dtype));
    return HN_OK;
}

#define HN_INT8_NO_GRADIENT "x is rounded to whole numbers: train in f32 or mixed"

#endif
