/* As in grid.c, with two unknowns: for fixed q, step and offset solve a linear system of two
 * equations; for fixed step and offset the nearest q is best. An offset that may not be
 * negative is 0 where the solution's is, with the best step for that. */
#include "quant/affine.h"

#include "base/half.h"

#include <math.h>
#include <string.h>

static inline hn_four points_at(float top, const float *x, float offset, float inverse)
{
    return hn_four_nearest(hn_four_within(hn_four_at(x) + offset, inverse, 0, top));
}

void hn_affine_nearest(float top, const hn_samples *samples, int from, int n, hn_affine map,
                       float *q)
{
    const float inverse = hn_inverse(map.step);
    for (int i = 0; i < n; i += 4) {
        const hn_four four = points_at(top, samples->x + from + i, map.offset, inverse);
        memcpy(q + i, &four, sizeof four);
    }
}

/* With a constant for n the loop is straight. */
static inline __attribute__((always_inline)) void sum_points(float top,
                                                             const hn_samples *samples,
                                                             int from, int n, hn_affine map,
                                                             hn_affine_sums *sums)
{
    const float inverse = hn_inverse(map.step);
    hn_four w[2] = { { 0 }, { 0 } }, ww[2] = { { 0 }, { 0 } }, xw[2] = { { 0 }, { 0 } };
    for (int i = from; i < from + n; i += HN_LANES)
        for (int half = 0; half < 2; half++) {
            const int at = i + 4 * half;
            const hn_four point = points_at(top, samples->x + at, map.offset, inverse);
            const hn_four wq = hn_four_at(samples->weight + at) * point;
            w[half] += wq;
            ww[half] += wq * point;
            xw[half] += hn_four_at(samples->wx + at) * point;
        }
    sums->q = hn_fold(w[0], w[1]);
    sums->qq = hn_fold(ww[0], ww[1]);
    sums->xq = hn_fold(xw[0], xw[1]);
}

void hn_affine_sum(float top, const hn_samples *samples, int from, int n, hn_affine map,
                   hn_affine_sums *sums)
{
    if (n == 16)
        sum_points(top, samples, from, 16, map, sums);
    else
        sum_points(top, samples, from, 32, map, sums);
}

hn_affine_sums hn_affine_constants(const hn_samples *samples, int from, int n)
{
    hn_four w[2] = { { 0 }, { 0 } }, x[2] = { { 0 }, { 0 } };
    for (int i = from; i < from + n; i += HN_LANES)
        for (int half = 0; half < 2; half++) {
            w[half] += hn_four_at(samples->weight + i + 4 * half);
            x[half] += hn_four_at(samples->wx + i + 4 * half);
        }
    return (hn_affine_sums){ .w = hn_fold(w[0], w[1]), .x = hn_fold(x[0], x[1]) };
}

hn_affine hn_affine_solve(const hn_affine_sums *s, bool is_signed)
{
    const double det = s->w * s->qq - s->q * s->q;
    if (det > s->w * s->qq * 1e-6) {
        const double step = (s->w * s->xq - s->q * s->x) / det;
        const double offset = (s->q * s->xq - s->qq * s->x) / det;
        if (step > 0 && (is_signed || offset >= 0))
            return (hn_affine){ (float)step, (float)offset };
    }
    if (is_signed)
        return (hn_affine){ 0, s->w > 0 ? (float)(-s->x / s->w) : 0 };
    const double step = s->qq > 0 ? s->xq / s->qq : 0;
    return (hn_affine){ step > 0 ? (float)step : 0, 0 };
}

hn_affine hn_affine_fit(const hn_affine_grid *grid, const hn_samples *samples, int from, int n)
{
    float low, high;
    hn_range(n, samples->x + from, &low, &high);
    low = low > 0 && !grid->is_signed ? 0 : low;
    hn_affine found = { 0, -low };
    if (high <= low) /* all equal, not positive */
        return found;
    hn_affine_sums sums = hn_affine_constants(samples, from, n);
    double least = (double)INFINITY;
    for (int s = 0; s < grid->n_spans; s++) {
        hn_affine_sum(grid->top, samples, from, n,
                      (hn_affine){ (high - low) / grid->spans[s], -low }, &sums);
        const hn_affine map = hn_affine_solve(&sums, grid->is_signed);
        const double error = hn_affine_error(&sums, (double)map.step, (double)map.offset);
        if (error < least) {
            least = error;
            found = map;
        }
    }
    for (int turn = 0; turn < 3; turn++) {
        hn_affine_sum(grid->top, samples, from, n, found, &sums);
        const hn_affine map = hn_affine_solve(&sums, grid->is_signed);
        const double error = hn_affine_error(&sums, (double)map.step, (double)map.offset);
        if (!(error < least))
            break;
        least = error;
        found = map;
    }
    return found;
}

void hn_affine_fit_f16(const hn_affine_grid *grid, const hn_samples *samples, int n,
                       hn_affine_f16 *out)
{
    hn_affine_sums sums = hn_affine_constants(samples, 0, n);
    hn_affine map = hn_affine_fit(grid, samples, 0, n);
    hn_affine best = { 0, 0 };
    double least = (double)INFINITY;
    for (int turn = 0; turn < 2; turn++) {
        const uint16_t d = hn_f16_within(map.step * samples->unit);
        const uint16_t m = hn_f16_within(-map.offset * samples->unit);
        const hn_affine rounded = { hn_f16_to_f32(d) / samples->unit,
                                    -hn_f16_to_f32(m) / samples->unit };
        hn_affine_sum(grid->top, samples, 0, n, rounded, &sums);
        const double error =
            hn_affine_error(&sums, (double)rounded.step, (double)rounded.offset);
        if (error >= least)
            break;
        least = error;
        out->d = d;
        out->m = m;
        best = rounded;
        /* the step that suits the minimum as it is */
        const double step =
            sums.qq > 0 ? (sums.xq + (double)rounded.offset * sums.q) / sums.qq : 0;
        map = (hn_affine){ step > 0 ? (float)step : 0, rounded.offset };
    }
    hn_affine_nearest(grid->top, samples, 0, n, best, out->q);
}
