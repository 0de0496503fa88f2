/* As in grid.c, with two unknowns: for fixed q, step and offset solve a linear system of two
 * equations; for fixed step and offset the nearest q is best. Each candidate spreads the range
 * of the group over 15, 14, 13 .. or a little more than 15 steps, then alternates the two. An
 * offset may not be negative: where the solution's is, the best step for offset 0 is taken. */
#include "quant/affine.h"

#include <math.h>
#include <stddef.h>

double hn_affine_round(hn_affine map, const float *x, const float *weight, uint8_t *q)
{
    double error = 0;
    for (int i = 0; i < HN_AFFINE_GROUP; i++) {
        q[i] =
            (uint8_t)hn_grid_point((hn_grid){ 0, HN_AFFINE_TOP }, x[i] + map.offset, map.step);
        const double off = (double)x[i] - (double)(map.step * (float)q[i] - map.offset);
        error += weight ? (double)weight[i] * off * off : off * off;
    }
    return error;
}

/* x = step q - offset, offset >= 0, in the sense of least squares. */
static hn_affine solve(const float *x, const float *weight, const uint8_t *q)
{
    double w = 0, wq = 0, wqq = 0, wx = 0, wxq = 0;
    for (int i = 0; i < HN_AFFINE_GROUP; i++) {
        const double each = weight ? (double)weight[i] : 1;
        w += each;
        wq += each * q[i];
        wqq += each * (q[i] * q[i]);
        wx += each * (double)x[i];
        wxq += each * (double)x[i] * q[i];
    }
    const double det = w * wqq - wq * wq;
    if (det > w * wqq * 1e-9) {
        const double step = (w * wxq - wq * wx) / det, offset = (wq * wxq - wqq * wx) / det;
        if (step > 0 && offset >= 0)
            return (hn_affine){ (float)step, (float)offset };
    }
    const double step = wqq > 0 ? wxq / wqq : 0;
    return (hn_affine){ step > 0 ? (float)step : 0, 0 };
}

typedef struct best {
    hn_affine map;
    double error;
} best;

static void try_map(const float *x, const float *weight, hn_affine map, best *found)
{
    uint8_t q[HN_AFFINE_GROUP];
    for (int turn = 0; turn < 3; turn++) {
        const double error = hn_affine_round(map, x, weight, q);
        if (error < found->error)
            *found = (best){ map, error };
        const hn_affine refined = solve(x, weight, q);
        if (error == 0 || (refined.step == map.step && refined.offset == map.offset))
            return;
        map = refined;
    }
}

hn_affine hn_affine_fit(const float *x, const float *weight)
{
    float low = 0, high = x[0]; /* low: at most 0, as the offset is not negative */
    for (int i = 0; i < HN_AFFINE_GROUP; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    best found = { { 0, -low }, INFINITY };
    if (high <= low) /* all equal, not positive */
        return found.map;
    static const float spans[] = { 15, 14, 13, 15.5f, 16.5f, 12 };
    for (size_t s = 0; s < sizeof spans / sizeof *spans && found.error > 0; s++)
        try_map(x, weight, (hn_affine){ (high - low) / spans[s], -low }, &found);
    return found.map;
}
