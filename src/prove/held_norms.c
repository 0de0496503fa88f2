/* Norms are taken in double of W + scale B A as it stands when the tensor begins to move. While it moves only
 * magnitudes follow; at the end they are put back from a copy, not computed back, so nothing is left of the visit. */
#include "prove/held_norms.h"

#include <math.h>
#include <string.h>

/* Tensors of a DoRA: A, B, magnitudes. */
static float *part(const hn_held_norms *h, hn_tune_part which)
{
    for (int i = h->tuned->first; i < h->tuned->first + h->tuned->n; i++)
        if (h->tuning->tensors[i].part == which)
            return hn_tuning_data(h->tuning, i);
    return NULL;
}

static double norm_of(const hn_held_norms *h, int64_t row)
{
    const int64_t k = h->tuned->base->type.dim[1], r = h->tuned->settings.rank;
    const float *a = part(h, HN_TUNE_A), *b = part(h, HN_TUNE_B) + row * r;
    const double scale = hn_tune_scale(&h->tuned->settings);
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        h->row[i] = (double)h->base[row * k + i];
    for (int64_t j = 0; j < r; j++)
        for (int64_t i = 0; i < k; i++)
            h->row[i] += scale * (double)b[j] * (double)a[j * k + i];
    for (int64_t i = 0; i < k; i++)
        sum += h->row[i] * h->row[i];
    return sqrt(sum);
}

hn_status hn_held_norms_begin(hn_held_norms *h, const hn_tuning *tuning, int tensor)
{
    const hn_tunable *t = &tuning->tensors[tensor];
    const hn_tuned *tuned = &tuning->tuned[t->of];
    *h = (hn_held_norms){ .tuning = tuning };
    if (tuned->settings.how != HN_TUNE_DORA || (t->part != HN_TUNE_A && t->part != HN_TUNE_B))
        return HN_OK;
    const int64_t n = tuned->base->type.dim[0], k = tuned->base->type.dim[1];
    h->tuned = tuned;
    h->base = hn_alloc_array(tuning->heap, HN_TAG_PROVE, (size_t)(n * k), sizeof *h->base);
    h->magnitudes = hn_alloc_array(tuning->heap, HN_TAG_PROVE, (size_t)n, sizeof *h->magnitudes);
    h->norms = hn_alloc_array(tuning->heap, HN_TAG_PROVE, (size_t)n, sizeof *h->norms);
    h->row = hn_alloc_array(tuning->heap, HN_TAG_PROVE, (size_t)k, sizeof *h->row);
    if (!h->base || !h->magnitudes || !h->norms || !h->row) {
        h->tuned = NULL; /* nothing was moved: nothing to put back */
        hn_held_norms_end(h);
        return HN_ERR_MEMORY;
    }
    memcpy(h->magnitudes, part(h, HN_TUNE_MAGNITUDE), (size_t)n * sizeof *h->magnitudes);
    for (int64_t row = 0; row < n; row++) {
        hn_tuned_row(tuning, tuned, row, h->base + row * k);
        h->norms[row] = norm_of(h, row);
    }
    return HN_OK;
}

void hn_held_norms_follow(hn_held_norms *h)
{
    if (!h->tuned)
        return;
    float *m = part(h, HN_TUNE_MAGNITUDE);
    for (int64_t row = 0; row < h->tuned->base->type.dim[0]; row++)
        m[row] = (float)((double)h->magnitudes[row] * norm_of(h, row) / h->norms[row]);
}

void hn_held_norms_end(hn_held_norms *h)
{
    if (h->tuned)
        memcpy(part(h, HN_TUNE_MAGNITUDE), h->magnitudes,
               (size_t)h->tuned->base->type.dim[0] * sizeof *h->magnitudes);
    hn_free(h->tuning->heap, h->base);
    hn_free(h->tuning->heap, h->magnitudes);
    hn_free(h->tuning->heap, h->norms);
    hn_free(h->tuning->heap, h->row);
    *h = (hn_held_norms){ .tuning = h->tuning };
}
