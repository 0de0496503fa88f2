/* What takes a pass over all words is a kernel, at the best level of this machine, whatever a model runs at: levels give the same bits. */
#include "infer/crowd.h"

#include "kernels/families.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { FEW = 64, BINS = HN_DRAW_BINS };

static int64_t n_peaks(int64_t n) { return (n + HN_DRAW_CHUNK - 1) / HN_DRAW_CHUNK * 16; }

hn_status hn_crowd_open(hn_crowd *c, hn_heap *heap, int32_t n)
{
    hn_isa isa;
    hn_families kernels;
    *c = (hn_crowd){ .heap = heap, .n = n };
    HN_REQUIRE(n > 0 && n <= HN_CROWD_MOST, HN_ERR_ARGUMENT, "a vocabulary of %d: draws are among 1 to %d", n, HN_CROWD_MOST);
    HN_TRY(hn_isa_allowed(HN_ISA_ALL & ~HN_ISA_amx, false, &isa)); /* whose registers no draw needs */
    hn_families_init(&kernels, isa);
    c->kernels = kernels.draw;
    c->logits = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n, sizeof *c->logits);
    c->weights = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n, sizeof *c->weights);
    c->places = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n, sizeof *c->places);
    c->peaks = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n_peaks(n), sizeof *c->peaks);
    c->sums = hn_alloc_array(heap, HN_TAG_STATE, HN_DRAW_SUMS, sizeof *c->sums);
    if (c->logits && c->weights && c->places && c->peaks && c->sums)
        return HN_OK;
    hn_crowd_close(c);
    return HN_ERR_MEMORY;
}

void hn_crowd_close(hn_crowd *c)
{
    hn_free(c->heap, c->logits);
    hn_free(c->heap, c->weights);
    hn_free(c->heap, c->places);
    hn_free(c->heap, c->peaks);
    hn_free(c->heap, c->sums);
    *c = (hn_crowd){ .n = 0 };
}

hn_status hn_crowd_look(hn_crowd *c, const float *logits, const uint64_t *allowed)
{
    hn_draw_found found;
    c->kernels.draw_look_f32(c->n, logits, allowed, c->logits, c->peaks, &found);
    for (int32_t i = 0; found.has_nan && i < c->n; i++)
        HN_REQUIRE(!isnan(logits[i]), HN_ERR_NUMERIC, "the logit of token %d is not a number", i);
    c->best = found.most;
    c->least = found.least;
    return HN_OK;
}

/* ---- walks by weight ---- */

/* Adds the weights of bins from n_bins on, before `to`, to those that are there; returns those of all others. */
static uint64_t tally(hn_crowd *c, int32_t to)
{
    uint64_t others;
    c->kernels.draw_tally_f32(c->n, c->logits, c->best, c->heat, c->step, c->n_bins, to, c->sums, &others);
    c->n_bins = to;
    return others;
}

static uint64_t sum_of_bins(const hn_crowd *c)
{
    uint64_t sum = 0;
    for (int32_t b = 0; b < c->n_bins; b++)
        sum += c->sums[b];
    return sum;
}

/* Bins lie from the best to the least, or to where nothing weighs anything. Most draws end among the likely, and most words are not among
 * them: of these the bins are added up where a draw comes that far. */
uint64_t hn_crowd_tally(hn_crowd *c, float heat)
{
    enum { LIKELY = 10, NOTHING = 29 }; /* exp(-29) 2^40 is 0.28 */
    const double range = (double)c->best - (double)c->least, far = heat > 0 ? NOTHING / (double)heat : range;
    const double step = (BINS - 1) / (far < range ? far : range); /* perhaps of nothing */
    c->heat = heat;
    c->step = step < (double)FLT_MAX ? (float)step : FLT_MAX;
    const double likely = heat > 0 ? LIKELY / (double)heat * (double)c->step : BINS;
    c->n_bins = 0;
    const uint64_t others = tally(c, likely < BINS - 1 ? (int32_t)likely + 1 : BINS);
    return sum_of_bins(c) + others;
}

/* The likelier first; of equals the lower number. */
static int by_logit(const void *a, const void *b)
{
    const hn_candidate *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

/* The first bin with which `sums` come to `need`; *passed grows by those before it. */
static int find_bin(const uint64_t *sums, uint64_t need, uint64_t *passed)
{
    int b = 0;
    while (b < BINS - 1 && *passed + sums[b] < need)
        *passed += sums[b++];
    return b;
}

/* Of the first n places, few or of one logit and in the order of their numbers. */
static hn_reached walk(const hn_crowd *c, int32_t n, uint64_t need, uint64_t passed)
{
    struct {
        hn_candidate who; /* first: what by_logit looks at */
        uint64_t weight;
    } few[FEW];
    if (n <= FEW) {
        for (int32_t i = 0; i < n; i++) {
            few[i].who = (hn_candidate){ c->logits[c->places[i]], c->places[i] };
            few[i].weight = (uint64_t)c->weights[i];
        }
        qsort(few, (size_t)n, sizeof *few, by_logit);
    }
    hn_reached r = { .sum = passed };
    for (int32_t i = 0; i < n && r.sum < need; i++) {
        r.at = n <= FEW ? few[i].who : (hn_candidate){ c->logits[c->places[i]], c->places[i] };
        r.sum += n <= FEW ? few[i].weight : (uint64_t)c->weights[i];
    }
    return r;
}

/* Where x lies between the largest and the least of a bin: these are 0 and nearly BINS - 1. */
static int bin_between(float x, float high, double step)
{
    const int b = (int)(((double)high - (double)x) * step);
    return b < BINS ? b : BINS - 1;
}

/* Of the first n places those of the bin that comes to what is needed, still by number: how many. */
static int32_t narrow(hn_crowd *c, int32_t n, float high, float low, uint64_t need, uint64_t *passed)
{
    uint64_t *sums = c->sums + BINS;
    const double step = (BINS - 1) / ((double)high - (double)low);
    int32_t left = 0;
    for (int b = 0; b < BINS; b++)
        sums[b] = 0;
    for (int32_t i = 0; i < n; i++)
        sums[bin_between(c->logits[c->places[i]], high, step)] += (uint64_t)c->weights[i];
    const int bin = find_bin(sums, need, passed);
    for (int32_t i = 0; i < n; i++)
        if (bin_between(c->logits[c->places[i]], high, step) == bin) {
            c->places[left] = c->places[i];
            c->weights[left++] = c->weights[i];
        }
    return left;
}

hn_reached hn_crowd_reach(hn_crowd *c, uint64_t need)
{
    uint64_t passed = 0;
    int32_t n;
    if (sum_of_bins(c) < need)
        tally(c, BINS);
    c->kernels.draw_bin_f32(c->n, c->logits, c->best, c->step, find_bin(c->sums, need, &passed), c->places, &n);
    for (int32_t i = 0; i < n; i++)
        c->weights[i] = c->logits[c->places[i]];
    if (n)
        c->kernels.draw_weigh_f32(n, c->weights, c->best, c->heat, c->weights);
    while (n > FEW) {
        float high = -INFINITY, low = INFINITY;
        for (int32_t i = 0; i < n; i++) {
            const float x = c->logits[c->places[i]];
            high = x > high ? x : high;
            low = x < low ? x : low;
        }
        if (high == low)
            break;
        n = narrow(c, n, high, low, need, &passed);
    }
    return walk(c, n, need, passed);
}

void hn_crowd_keep(hn_crowd *c, hn_candidate last)
{
    c->kernels.draw_keep_f32(c->n, c->logits, last.logit, last.token);
    c->least = last.logit > c->least ? last.logit : c->least;
}

uint64_t hn_crowd_weight(const hn_crowd *c, int32_t token)
{
    float weight;
    c->kernels.draw_weigh_f32(1, &c->logits[token], c->best, c->heat, &weight);
    return (uint64_t)weight;
}

/* ---- the likeliest ---- */

hn_candidate hn_crowd_first(const hn_crowd *c)
{
    int64_t peak = 0;
    while (peak < n_peaks(c->n) - 1 && c->peaks[peak] != c->best)
        peak++;
    int32_t i = (int32_t)(peak / 16 * HN_DRAW_CHUNK);
    while (i < c->n - 1 && c->logits[i] != c->best)
        i++;
    return (hn_candidate){ c->best, i };
}

/* [0, n) is a heap with the least on top, but perhaps for the one at i. */
static void sift(float *heap, int64_t n, int64_t i)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[i] <= heap[child])
            return;
        const float swapped = heap[i];
        heap[i] = heap[child];
        heap[child] = swapped;
    }
}

/* The k-th of the peaks, or less than everybody: at least k words are not below, and seldom many more. */
static float peak_of(const hn_crowd *c, int32_t k)
{
    const int64_t n = n_peaks(c->n);
    float *heap = c->weights;
    if (k >= n || k > c->n)
        return -FLT_MAX;
    for (int64_t i = 0; i < k; i++)
        heap[i] = c->peaks[i];
    for (int64_t i = k / 2; i-- > 0;)
        sift(heap, k, i);
    for (int64_t i = k; i < n; i++)
        if (c->peaks[i] > heap[0]) {
            heap[0] = c->peaks[i];
            sift(heap, k, 0);
        }
    return heap[0] > -FLT_MAX ? heap[0] : -FLT_MAX;
}

/* The same of candidates, where the last in order is on top. One heap for both takes a draw of the defaults 1.2 times as long, and more. */
static void sift_last(hn_candidate *heap, int32_t n, int32_t i)
{
    for (int32_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && by_logit(&heap[child], &heap[child + 1]) < 0;
        if (by_logit(&heap[i], &heap[child]) >= 0)
            return;
        const hn_candidate swapped = heap[i];
        heap[i] = heap[child];
        heap[child] = swapped;
    }
}

int32_t hn_crowd_likeliest(hn_crowd *c, int32_t k, hn_candidate *to)
{
    int32_t n;
    c->kernels.draw_above_f32(c->n, c->logits, peak_of(c, k), c->places, &n);
    k = k < n ? k : n;
    for (int32_t i = 0; i < k; i++)
        to[i] = (hn_candidate){ c->logits[c->places[i]], c->places[i] };
    for (int32_t i = k < n ? k / 2 : 0; i-- > 0;)
        sift_last(to, k, i);
    for (int32_t i = k; i < n && k; i++) {
        const hn_candidate next = { c->logits[c->places[i]], c->places[i] };
        if (by_logit(&next, &to[0]) < 0) {
            to[0] = next;
            sift_last(to, k, 0);
        }
    }
    qsort(to, (size_t)k, sizeof *to, by_logit);
    return k;
}
