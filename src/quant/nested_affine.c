/* As nested.c, with two f16: each group tries the scales and minima around what it wanted, and
 * the best d and dmin for the choice solve a linear system of two equations. */
#include "base/half.h"
#include "quant/nested.h"

#include <math.h>

typedef struct trial {
    uint16_t d, dmin;
    float scale[HN_NESTED_GROUPS], min[HN_NESTED_GROUPS];
    double error;
    double aa, ab, bb, xa, xb; /* of a = scale q and b = min, over the block */
} trial;

typedef struct group {
    const hn_nested_affine *shape;
    const hn_samples *samples;
    const hn_affine_sums *constants;
    float unit, min_unit;
    int from;
} group;

static double error_of(const group *at, float scale, float min, hn_affine_sums *sums)
{
    const hn_affine map = { at->unit * scale, at->min_unit * min };
    *sums = *at->constants;
    hn_affine_sum(at->shape->grid.top, at->samples, at->from, at->shape->group, map, sums);
    return hn_affine_error(sums, (double)map.step, (double)map.offset);
}

/* The nearest whole number first, so that an exact fit is found at once and kept. */
static float beside(float nearest, int turn)
{
    return nearest + (turn == 2 ? -1.0f : (float)turn);
}

/* Tries the scales and minima next to the wanted ones; adds the best to `made`. */
static void choose_group(const group *at, hn_affine wanted, int g, trial *made)
{
    const float most = at->shape->most;
    const float scale_at = hn_nearest(hn_within(wanted.step * hn_inverse(at->unit), 0, most));
    hn_affine_sums chosen = *at->constants;
    double least = (double)INFINITY;
    for (int s = 0; s < 3; s++) {
        const float scale = beside(scale_at, s);
        if (scale < 0 || scale > most)
            continue;
        /* the minimum that suits this scale: it moves with the middle of the range */
        float offset =
            wanted.offset + at->shape->grid.top / 2 * (at->unit * scale - wanted.step);
        for (int turn = 0; turn < 2; turn++) {
            const float min = hn_nearest(hn_within(offset * hn_inverse(at->min_unit), 0, most));
            hn_affine_sums sums;
            const double error = error_of(at, scale, min, &sums);
            if (error < least) {
                least = error;
                chosen = sums;
                made->scale[g] = scale;
                made->min[g] = min;
            }
            offset = sums.w > 0
                         ? (float)(((double)(at->unit * scale) * sums.q - sums.x) / sums.w)
                         : 0;
        }
    }
    const double a = (double)made->scale[g], b = (double)made->min[g];
    made->error += least;
    made->aa += a * a * chosen.qq;
    made->ab -= a * b * chosen.q;
    made->bb += b * b * chosen.w;
    made->xa += a * chosen.xq;
    made->xb -= b * chosen.x;
}

/* d and dmin of least squared error for the trial's scales, minima and points. */
static hn_affine refine(const trial *t)
{
    const double det = t->aa * t->bb - t->ab * t->ab;
    if (det > t->aa * t->bb * 1e-9) {
        const double d = (t->xa * t->bb - t->xb * t->ab) / det;
        const double dmin = (t->xb * t->aa - t->xa * t->ab) / det;
        if (d > 0 && dmin >= 0)
            return (hn_affine){ (float)d, (float)dmin };
    }
    return (hn_affine){ t->aa > 0 && t->xa > 0 ? (float)(t->xa / t->aa) : 0, 0 };
}

static void draft(const hn_nested_affine *shape, const hn_samples *samples, const trial *from,
                  hn_nested *out)
{
    const float unit = hn_f16_to_f32(from->d) / samples->unit;
    const float min_unit = hn_f16_to_f32(from->dmin) / samples->unit;
    out->d = from->d;
    out->dmin = from->dmin;
    for (int g = 0; g * shape->group < HN_NESTED_BLOCK; g++) {
        const int at = g * shape->group;
        const hn_affine map = { unit * from->scale[g], min_unit * from->min[g] };
        out->scale[g] = (int8_t)from->scale[g];
        out->min[g] = (int8_t)from->min[g];
        hn_affine_nearest(shape->grid.top, samples, at, shape->group, map, out->q + at);
    }
}

void hn_nested_affine_fit(const hn_nested_affine *shape, const float *x, const float *weight,
                          hn_nested *out)
{
    hn_samples samples;
    hn_affine wanted[HN_NESTED_GROUPS], most = { 0, 0 };
    hn_affine_sums constants[HN_NESTED_GROUPS];
    hn_samples_take(&samples, HN_NESTED_BLOCK, x, weight);
    for (int g = 0; g * shape->group < HN_NESTED_BLOCK; g++) {
        constants[g] = hn_affine_constants(&samples, g * shape->group, shape->group);
        wanted[g] = hn_affine_fit(&shape->grid, &samples, g * shape->group, shape->group);
        most.step = wanted[g].step > most.step ? wanted[g].step : most.step;
        most.offset = wanted[g].offset > most.offset ? wanted[g].offset : most.offset;
    }
    uint16_t d = hn_f16_within(most.step / shape->most * samples.unit);
    uint16_t dmin = hn_f16_within(most.offset / shape->most * samples.unit);
    trial best = { .error = (double)INFINITY };
    for (int turn = 0; turn < 4; turn++) {
        trial made = { .d = d, .dmin = dmin };
        for (int g = 0; g * shape->group < HN_NESTED_BLOCK; g++) {
            const group at = { shape,
                               &samples,
                               &constants[g],
                               hn_f16_to_f32(d) / samples.unit,
                               hn_f16_to_f32(dmin) / samples.unit,
                               g * shape->group };
            choose_group(&at, wanted[g], g, &made);
        }
        if (made.error >= best.error)
            break;
        best = made;
        const hn_affine refined = refine(&made);
        const uint16_t next = hn_f16_within(refined.step * samples.unit);
        const uint16_t next_min = hn_f16_within(refined.offset * samples.unit);
        if (next == d && next_min == dmin)
            break;
        d = next;
        dmin = next_min;
    }
    draft(shape, &samples, &best, out);
}
