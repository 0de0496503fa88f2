/* Every pass of a draw against its reference, at every level that this host can run. */
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

#include <math.h>

/* Logits of words: no NaN, none above `best`, some out; in the flavours of extremes with infinities below. */
static float *logits(size_t n, float *best)
{
    float *x = kc_floats(n);
    *best = -HUGE_VALF;
    for (size_t i = 0; i < n; i++) {
        x[i] = isnan(x[i]) || x[i] == HUGE_VALF || kc_random() % 8 == 0 ? -HUGE_VALF : x[i];
        *best = x[i] > *best ? x[i] : *best;
    }
    x[n / 2] = *best = *best > -HUGE_VALF ? *best : 1.0f;
    return x;
}

static void check_look(const hn_draw_kernels *ref, const hn_draw_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, draw_look_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const size_t n_peaks = (n + HN_DRAW_CHUNK - 1) / HN_DRAW_CHUNK * 16;
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n), *want_peaks = kc_blank(n_peaks), *got_peaks = kc_blank(n_peaks);
        const size_t words = (n + 63) / 64;
        uint64_t *allowed = kc_copy(kc_bytes(8 * words), 8 * words);
        for (int masked = 0; masked < 2; masked++) {
            hn_draw_found a, b;
            ref->draw_look_f32((int64_t)n, x, masked ? allowed : NULL, want, want_peaks, &a);
            opt->draw_look_f32((int64_t)n, x, masked ? allowed : NULL, got, got_peaks, &b);
            kc_same_bits(want, got, n);
            kc_same_bits(want_peaks, got_peaks, n_peaks);
            kc_same_bits(&a.most, &b.most, 1);
            kc_same_bits(&a.least, &b.least, 1);
            KC_CHECK(a.has_nan == b.has_nan);
            bool has_nan = false;
            for (size_t i = 0; i < n; i++) {
                has_nan |= isnan(x[i]);
                const bool is_in = !masked || allowed[i / 64] >> i % 64 & 1;
                KC_CHECK(is_in ? isnan(x[i]) ? isnan(got[i]) : got[i] == x[i] : got[i] == -HUGE_VALF);
                KC_CHECK(!(got[i] > got_peaks[i / HN_DRAW_CHUNK * 16 + i % 16]));
            }
            KC_CHECK(has_nan == b.has_nan);
        }
        KC_BENCH(opt->draw_look_f32((int64_t)n, x, NULL, got, got_peaks, &(hn_draw_found){ .most = 0 }));
        opt->draw_look_f32((int64_t)n, x, allowed, x, got_peaks, &(hn_draw_found){ .most = 0 });
        kc_same_bits(want, x, n);
    }
}

static const float heats[] = { 0, 1, 0.01f, 1000, 3e38f };
enum { N_HEATS = sizeof heats / sizeof *heats };

static void check_weigh(const hn_draw_kernels *ref, const hn_draw_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, draw_weigh_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float best, *x = logits(n, &best), *want = kc_blank(n), *got = kc_blank(n);
        KC_BENCH(opt->draw_weigh_f32((int64_t)n, x, best, 1, got));
        for (int h = 0; h < N_HEATS; h++) {
            ref->draw_weigh_f32((int64_t)n, x, best, heats[h], want);
            opt->draw_weigh_f32((int64_t)n, x, best, heats[h], got);
            kc_same_bits(want, got, n);
            for (size_t i = 0; i < n; i++) {
                const double z = !(x[i] > -HUGE_VALF) ? -100 : heats[h] > 0 ? (double)((x[i] - best) * heats[h]) : 0;
                const double exact = z < -40 ? 0 : exp(z) * 0x1p40;
                KC_CHECK(got[i] == rintf(got[i]) && fabs((double)got[i] - exact) <= 0.5 + 2e-7 * exact);
            }
            KC_CHECK(got[n / 2] == 0x1p40f);
        }
        opt->draw_weigh_f32((int64_t)n, x, best, heats[N_HEATS - 1], x);
        kc_same_bits(want, x, n);
    }
}

/* Bins as the header has them, and their sums, which nothing rounds. */
static void check_tally(const hn_draw_kernels *ref, const hn_draw_kernels *opt)
{
    static const int32_t ranges[][2] = { { 0, HN_DRAW_BINS }, { 0, 1 }, { 0, 300 }, { 300, HN_DRAW_BINS } };
    if (!KC_BEGIN(ref, opt, draw_tally_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float best, *x = logits(n, &best), *w = kc_blank(n);
        uint64_t *sums = kc_blank_bytes(HN_DRAW_SUMS * sizeof *sums);
        uint64_t *want = kc_blank_bytes((HN_DRAW_BINS + 1) * sizeof *want), *got = kc_blank_bytes((HN_DRAW_BINS + 1) * sizeof *got);
        KC_BENCH(opt->draw_tally_f32((int64_t)n, x, best, 1, 256, 0, HN_DRAW_BINS, sums, &got[HN_DRAW_BINS]));
        for (int h = 0; h < N_HEATS; h++)
            for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
                const float step = 1023 / 29.0f * (heats[h] > 0 && heats[h] < 1e30f ? heats[h] : 1);
                const int32_t from = ranges[r][0], to = ranges[r][1];
                opt->draw_weigh_f32((int64_t)n, x, best, heats[h], w);
                for (int b = 0; b <= HN_DRAW_BINS; b++)
                    want[b] = got[b] = 0;
                for (size_t i = 0; i < n; i++) {
                    const float place = (best - x[i]) * step;
                    const int b = (int)rintf(place < HN_DRAW_BINS - 1 ? place : HN_DRAW_BINS - 1);
                    want[b >= from && b < to ? b : HN_DRAW_BINS] += (uint64_t)w[i];
                }
                opt->draw_tally_f32((int64_t)n, x, best, heats[h], step, from, to, sums, &got[HN_DRAW_BINS]);
                for (int b = from; b < to; b++)
                    got[b] = sums[b];
                kc_same_bytes(want, got, (HN_DRAW_BINS + 1) * sizeof *want);
            }
    }
}

static void check_places(const hn_draw_kernels *ref, const hn_draw_kernels *opt, bool is_bin)
{
    if (is_bin ? !KC_BEGIN(ref, opt, draw_bin_f32) : !KC_BEGIN(ref, opt, draw_above_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float best, *x = logits(n, &best);
        int32_t *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got), a, b;
        for (int t = 0; t < 4; t++) {
            const int32_t bin = t == 3 ? HN_DRAW_BINS - 1 : 10 * t;
            const float step = 20, least = t == 3 ? -3e38f : best - (float)t / 4;
            a = 0;
            for (size_t i = 0; i < n; i++) {
                const float place = (best - x[i]) * step;
                const bool is_in = rintf(place < HN_DRAW_BINS - 1 ? place : HN_DRAW_BINS - 1) == (float)bin && x[i] > -HUGE_VALF;
                if (is_bin ? is_in : x[i] >= least)
                    want[a++] = (int32_t)i;
            }
            if (is_bin)
                opt->draw_bin_f32((int64_t)n, x, best, step, bin, got, &b);
            else
                opt->draw_above_f32((int64_t)n, x, least, got, &b);
            kc_same_bytes(&a, &b, sizeof a);
            kc_same_bytes(want, got, (size_t)a * sizeof *want);
        }
        if (is_bin)
            KC_BENCH(opt->draw_bin_f32((int64_t)n, x, best, 20, 10, got, &b));
        else
            KC_BENCH(opt->draw_above_f32((int64_t)n, x, best - 0.1f, got, &b));
    }
}

static void check_keep(const hn_draw_kernels *ref, const hn_draw_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, draw_keep_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float best, *x = logits(n, &best), *want = kc_blank(n);
        for (size_t i = 0; i < n; i += 3)
            x[i] = best; /* ties */
        const int32_t lasts[] = { INT32_MAX, 0, (int32_t)(n / 3), (int32_t)n - 1 };
        for (int t = 0; t < 4; t++) {
            const float least = t == 1 ? best - 1 : best;
            float *got = kc_copy(x, n * sizeof *x);
            for (size_t i = 0; i < n; i++)
                want[i] = x[i] < least || (x[i] == least && (int32_t)i > lasts[t]) ? -HUGE_VALF : x[i];
            opt->draw_keep_f32((int64_t)n, got, least, lasts[t]);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt->draw_keep_f32((int64_t)n, x, best, 0));
    }
}

int main(int argc, char **argv)
{
    hn_draw_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->draw;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->draw;
        check_look(&ref, &opt);
        check_weigh(&ref, &opt);
        check_tally(&ref, &opt);
        check_places(&ref, &opt, true);
        check_places(&ref, &opt, false);
        check_keep(&ref, &opt);
    }
    return kc_close();
}
