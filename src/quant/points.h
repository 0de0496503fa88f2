/* points.h: grids of sixteen points that a four-bit code picks from. */
#ifndef HN_QUANT_POINTS_H
#define HN_QUANT_POINTS_H

#include "quant/grid.h"

/* Twice the values of FP4 E2M1, the sign above. */
#define HN_POINTS_FP4                                                                          \
    {                                                                                          \
        0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12                                \
    }
#define HN_POINTS_IQ4                                                                          \
    {                                                                                          \
        -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113               \
    }

typedef struct hn_points {
    float cells[HN_GRID_CELLS]; /* for hn_grid */
    uint8_t code[256];          /* of point + 128 */
} hn_points;

void hn_points_prepare(hn_points *out, const int8_t points[16]);

static inline uint8_t hn_point_code(const hn_points *points, float q)
{
    return points->code[(int)q + 128];
}

#endif
