/* Each group's own best scale comes first. Then turns: given d, each group takes the whole
 * number nearest to what it wanted or that on the other side; given those and their points, the
 * best d is a least-squares fit. The first d puts the largest scale at either end of its range.
 */
#include "quant/nested.h"

#include "base/half.h"

#include <math.h>
#include <string.h>

/* One trial: whole numbers of the groups for a d, their sums and error. */
typedef struct trial {
    uint16_t d;
    float scale[HN_NESTED_GROUPS];
    double error, xq, qq; /* of the block, points times scales */
} trial;

/* Error of one group at scale * unit; adds nothing. */
static double group_error(const hn_nested_grid *shape, const hn_samples *samples, int from,
                          float scale, hn_grid_sums *sums)
{
    *sums = hn_grid_sum(&shape->grid, samples, from, shape->group, hn_inverse(scale));
    return hn_grid_error(*sums, (double)scale);
}

static trial choose_scales(const hn_nested_grid *shape, const hn_samples *samples,
                           const float *wanted, uint16_t d)
{
    trial made = { .d = d };
    const float unit = hn_f16_to_f32(d) / samples->unit, inverse = hn_inverse(unit);
    for (int g = 0; g * shape->group < HN_NESTED_BLOCK; g++) {
        const float at = hn_within(wanted[g] * inverse, shape->scale_low, shape->scale_high);
        const float nearest = hn_nearest(at), other = nearest + (at < nearest ? -1.0f : 1.0f);
        hn_grid_sums sums, other_sums;
        double error = group_error(shape, samples, g * shape->group, unit * nearest, &sums);
        made.scale[g] = nearest;
        if (other >= shape->scale_low && other <= shape->scale_high) {
            const double beside =
                group_error(shape, samples, g * shape->group, unit * other, &other_sums);
            if (beside < error) {
                error = beside;
                sums = other_sums;
                made.scale[g] = other;
            }
        }
        made.error += error;
        made.xq += (double)made.scale[g] * sums.xq;
        made.qq += (double)made.scale[g] * (double)made.scale[g] * sums.qq;
    }
    return made;
}

static void draft(const hn_nested_grid *shape, const hn_samples *samples, const trial *from,
                  hn_nested *out)
{
    const float unit = hn_f16_to_f32(from->d) / samples->unit;
    out->d = from->d;
    out->dmin = 0;
    for (int g = 0; g * shape->group < HN_NESTED_BLOCK; g++) {
        const int at = g * shape->group;
        out->scale[g] = (int8_t)from->scale[g];
        out->min[g] = 0;
        hn_grid_nearest(&shape->grid, samples, at, shape->group,
                        hn_inverse(unit * from->scale[g]), out->q + at);
    }
}

void hn_nested_fit(const hn_nested_grid *shape, const float *x, const float *weight,
                   hn_nested *out)
{
    hn_samples samples;
    float wanted[HN_NESTED_GROUPS], largest = 0;
    hn_samples_take(&samples, HN_NESTED_BLOCK, x, weight);
    for (int g = 0; g * shape->group < HN_NESTED_BLOCK; g++) {
        wanted[g] = hn_grid_fit(&shape->grid, &samples, g * shape->group, shape->group);
        if (fabsf(wanted[g]) > fabsf(largest))
            largest = wanted[g];
    }
    trial best = { .error = 0 }; /* d 0: all zeros */
    const float spans[] = { shape->scale_low, shape->scale_high };
    for (int s = 0; s < 2 && largest != 0; s++) {
        uint16_t d = hn_f16_within(largest / spans[s] * samples.unit);
        for (int turn = 0; turn < 3; turn++) {
            const trial made = choose_scales(shape, &samples, wanted, d);
            const bool is_better = made.error < best.error;
            if (is_better)
                best = made;
            const float refined = made.qq > 0 ? (float)(made.xq / made.qq) : 0;
            const uint16_t next = hn_f16_within(refined * samples.unit);
            if (!is_better || next == d)
                break;
            d = next;
        }
    }
    draft(shape, &samples, &best, out);
}
