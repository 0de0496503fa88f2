/* Both ways of a grid are tables: the code of a point, and for each half step the nearest point. */
#include "quant/points.h"

#include <math.h>

void hn_points_prepare(hn_points *out, const int8_t points[16])
{
    for (int i = 0; i < 256; i++)
        out->code[i] = 0;
    for (int code = 15; code >= 0; code--) /* of two zeros the first is kept */
        out->code[points[code] + 128] = (uint8_t)code;
    for (int cell = 0; cell < HN_GRID_CELLS; cell++) {
        const float middle = (float)cell / 2 - 127.75f;
        float nearest = points[0];
        for (int code = 1; code < 16; code++)
            if (fabsf((float)points[code] - middle) < fabsf(nearest - middle))
                nearest = points[code];
        out->cells[cell] = nearest;
    }
}
