/* Every softmax kernel against its reference, at every level that this host can run. */
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

#include <math.h>

static void check_softmax(const hn_softmax_kernels *ref, const hn_softmax_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, softmax_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *mask = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        const float *sink = kc_floats(1);
        for (size_t i = 0; i < n; i++)
            mask[i] = i % 3 ? mask[i] : -HUGE_VALF;
        for (int which = 0; which < 4; which++) {
            const float *m = which & 1 ? mask : NULL, *s = which & 2 ? sink : NULL;
            ref->softmax_f32((int64_t)n, x, 0.7f, m, s, want);
            opt->softmax_f32((int64_t)n, x, 0.7f, m, s, got);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt->softmax_f32((int64_t)n, x, 0.7f, NULL, NULL, got));
        opt->softmax_f32((int64_t)n, x, 0.7f, mask, sink, x);
        kc_same_bits(want, x, n);
        for (size_t i = 0; i < n; i++) {
            mask[i] = -HUGE_VALF;
            want[i] = 0.0f;
            x[i] = 1.0f;
        }
        opt->softmax_f32((int64_t)n, x, 0.7f, mask, NULL, got);
        kc_same_bits(want, got, n);
    }
}

/* Five rows, one of which is -inf alone and stands between two that wait for each other. */
static void check_softmax_rows(const hn_softmax_kernels *ref, const hn_softmax_kernels *opt)
{
    enum { ROWS = 5 };
    if (!KC_BEGIN(ref, opt, softmax_rows_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        if (n % 16 || !n)
            continue;
        float *x = kc_floats(ROWS * n), *want = kc_blank(ROWS * n), *room = kc_blank(n);
        float *got = kc_lines(ROWS * n);
        KC_BENCH(opt->softmax_rows_f32(ROWS, (int64_t)n, x, 0.7f, got, room));
        for (int empty = -1; empty < ROWS; empty++) {
            got = kc_lines(ROWS * n);
            for (size_t i = 0; empty >= 0 && i < n; i++)
                x[(size_t)empty * n + i] = -HUGE_VALF;
            for (size_t row = 0; row < ROWS; row++)
                ref->softmax_f32((int64_t)n, x + row * n, 0.7f, NULL, NULL, want + row * n);
            opt->softmax_rows_f32(ROWS, (int64_t)n, x, 0.7f, got, room);
            kc_same_bits(want, got, ROWS * n);
        }
    }
}

static void check_softmax_grad(const hn_softmax_kernels *ref, const hn_softmax_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, softmax_grad_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *y = kc_floats(n), *dy = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        ref->softmax_grad_f32((int64_t)n, y, dy, 0.7f, want, false);
        opt->softmax_grad_f32((int64_t)n, y, dy, 0.7f, got, false);
        kc_same_bits(want, got, n);
        if (n % 16 == 0) {
            got = kc_lines(n);
            opt->softmax_grad_f32((int64_t)n, y, dy, 0.7f, got, true);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt->softmax_grad_f32((int64_t)n, y, dy, 0.7f, got, false));
        float *second = kc_copy(dy, n * sizeof *dy);
        opt->softmax_grad_f32((int64_t)n, y, second, 0.7f, second, false);
        kc_same_bits(want, second, n);
        opt->softmax_grad_f32((int64_t)n, y, dy, 0.7f, y, false);
        kc_same_bits(want, y, n);
    }
}

static void check_logsumexp(const hn_softmax_kernels *ref, const hn_softmax_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, logsumexp_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *x = kc_floats(n);
        float *want = kc_blank(1), *got = kc_blank(1);
        ref->logsumexp_f32((int64_t)n, x, want);
        opt->logsumexp_f32((int64_t)n, x, got);
        kc_same_bits(want, got, 1);
        KC_BENCH(opt->logsumexp_f32((int64_t)n, x, got));
    }
}

static void check_join(const hn_softmax_kernels *ref, const hn_softmax_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, softmax_join_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *want_top = kc_blank(1), *got_top = kc_blank(1);
        double *want = kc_blank_bytes(sizeof *want), *got = kc_blank_bytes(sizeof *got);
        *want_top = *got_top = -HUGE_VALF;
        *want = *got = 0;
        for (int tile = 0; tile < 3; tile++) {
            const float *x = kc_floats(n);
            ref->softmax_join_f32((int64_t)n, x, want_top, want);
            opt->softmax_join_f32((int64_t)n, x, got_top, got);
            kc_same_bits(want_top, got_top, 1);
            kc_same_bits64(want, got, 1);
        }
    }
}

static void check_tile_grad(const hn_softmax_kernels *ref, const hn_softmax_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, softmax_tile_grad_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        const int64_t targets[] = { -5, (int64_t)n, 0, (int64_t)n - 1 };
        for (int i = 0; i < 4; i++) {
            ref->softmax_tile_grad_f32((int64_t)n, x, 1.5f, targets[i], 0.25f, want);
            opt->softmax_tile_grad_f32((int64_t)n, x, 1.5f, targets[i], 0.25f, got);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt->softmax_tile_grad_f32((int64_t)n, x, 1.5f, 0, 0.25f, got));
        opt->softmax_tile_grad_f32((int64_t)n, x, 1.5f, targets[3], 0.25f, x);
        kc_same_bits(want, x, n);
    }
}

int main(int argc, char **argv)
{
    hn_softmax_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->softmax;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->softmax;
        check_softmax(&ref, &opt);
        check_softmax_rows(&ref, &opt);
        check_softmax_grad(&ref, &opt);
        check_logsumexp(&ref, &opt);
        check_join(&ref, &opt);
        check_tile_grad(&ref, &opt);
    }
    return kc_close();
}
