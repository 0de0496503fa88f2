/* Every norm kernel against its reference, at every level that this host can run. */
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

static void check_rms_norm(const hn_norm_kernels *ref, const hn_norm_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, rms_norm_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        float *want_r = kc_blank(1), *r = kc_blank(1);
        const float *gain = kc_floats(n);
        ref->rms_norm_f32((int64_t)n, x, NULL, 1e-5f, want, want_r, false);
        opt->rms_norm_f32((int64_t)n, x, NULL, 1e-5f, got, r, false);
        kc_same_bits(want, got, n);
        kc_same_bits(want_r, r, 1);
        ref->rms_norm_f32((int64_t)n, x, gain, 1e-5f, want, NULL, false);
        opt->rms_norm_f32((int64_t)n, x, gain, 1e-5f, got, NULL, false);
        kc_same_bits(want, got, n);
        if (n % 16 == 0) {
            got = kc_lines(n);
            opt->rms_norm_f32((int64_t)n, x, gain, 1e-5f, got, NULL, true);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt->rms_norm_f32((int64_t)n, x, gain, 1e-5f, got, NULL, false));
        opt->rms_norm_f32((int64_t)n, x, gain, 1e-5f, x, NULL, false);
        kc_same_bits(want, x, n);
    }
}

static void check_layer_norm(const hn_norm_kernels *ref, const hn_norm_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, layer_norm_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        float *want_stats = kc_blank(2), *stats = kc_blank(2);
        const float *gain = kc_floats(n), *bias = kc_floats(n);
        for (int which = 0; which < 4; which++) {
            const float *g = which & 1 ? gain : NULL, *b = which & 2 ? bias : NULL;
            ref->layer_norm_f32((int64_t)n, x, g, b, 1e-5f, want, want_stats, false);
            opt->layer_norm_f32((int64_t)n, x, g, b, 1e-5f, got, stats, false);
            kc_same_bits(want, got, n);
            kc_same_bits(want_stats, stats, 2);
            if (n % 16 == 0) {
                got = kc_lines(n);
                opt->layer_norm_f32((int64_t)n, x, g, b, 1e-5f, got, NULL, true);
                kc_same_bits(want, got, n);
            }
        }
        KC_BENCH(opt->layer_norm_f32((int64_t)n, x, gain, bias, 1e-5f, got, NULL, false));
        opt->layer_norm_f32((int64_t)n, x, gain, bias, 1e-5f, x, NULL, false);
        kc_same_bits(want, x, n);
    }
}

static void check_grad(const char *name, void (*ref)(HN_PARAMS_rms_norm_grad_f32),
                       void (*opt)(HN_PARAMS_rms_norm_grad_f32), size_t n_stats)
{
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *dy = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        float *want_stats = kc_blank(n_stats), *stats = kc_blank(n_stats);
        const float *gain = kc_floats(n);
        ref((int64_t)n, x, NULL, 1e-5f, dy, want, want_stats, false);
        opt((int64_t)n, x, NULL, 1e-5f, dy, got, stats, false);
        kc_same_bits(want, got, n);
        kc_same_bits(want_stats, stats, n_stats);
        ref((int64_t)n, x, gain, 1e-5f, dy, want, NULL, false);
        opt((int64_t)n, x, gain, 1e-5f, dy, got, NULL, false);
        kc_same_bits(want, got, n);
        if (n % 16 == 0) {
            got = kc_lines(n);
            opt((int64_t)n, x, gain, 1e-5f, dy, got, NULL, true);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt((int64_t)n, x, gain, 1e-5f, dy, got, NULL, false));
        float *second = kc_copy(dy, n * sizeof *dy);
        opt((int64_t)n, x, gain, 1e-5f, second, second, NULL, false);
        kc_same_bits(want, second, n);
        opt((int64_t)n, x, gain, 1e-5f, dy, x, NULL, false);
        kc_same_bits(want, x, n);
    }
}

static void check_gain_grad(const char *name, void (*ref)(HN_PARAMS_rms_norm_gain_grad_f32),
                            void (*opt)(HN_PARAMS_rms_norm_gain_grad_f32), size_t n_stats)
{
    enum { ROWS = 5 };
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *x = kc_floats(ROWS * n), *dy = kc_floats(ROWS * n);
        const float *stats = kc_floats(ROWS * n_stats);
        float *want = kc_floats(n);
        float *got = kc_copy(want, n * sizeof *want), *cut = kc_copy(want, n * sizeof *want);
        ref(ROWS, (int64_t)n, x, dy, stats, want);
        opt(ROWS, (int64_t)n, x, dy, stats, got);
        kc_same_bits(want, got, n);
        opt(2, (int64_t)n, x, dy, stats, cut);
        opt(ROWS - 2, (int64_t)n, x + 2 * n, dy + 2 * n, stats + 2 * n_stats, cut);
        kc_same_bits(want, cut, n);
        KC_BENCH(opt(ROWS, (int64_t)n, x, dy, stats, got));
    }
}

static void check_l2_norm(const hn_norm_kernels *ref, const hn_norm_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, l2_norm_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        for (int step = 0; step < 2; step++) {
            const float eps = step ? 1e-6f : 1e6f; /* above and below the length */
            ref->l2_norm_f32((int64_t)n, x, eps, want);
            opt->l2_norm_f32((int64_t)n, x, eps, got);
            kc_same_bits(want, got, n);
        }
        opt->l2_norm_f32((int64_t)n, x, 1e-6f, x);
        kc_same_bits(want, x, n);
    }
}

static void check_l2_norm_grad(const hn_norm_kernels *ref, const hn_norm_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, l2_norm_grad_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *dy = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        for (int step = 0; step < 2; step++) {
            const float eps = step ? 1e-6f : 1e6f;
            ref->l2_norm_grad_f32((int64_t)n, x, eps, dy, want);
            opt->l2_norm_grad_f32((int64_t)n, x, eps, dy, got);
            kc_same_bits(want, got, n);
        }
        opt->l2_norm_grad_f32((int64_t)n, x, 1e-6f, dy, dy);
        kc_same_bits(want, dy, n);
    }
}

int main(int argc, char **argv)
{
    hn_norm_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->norm;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->norm;
        check_rms_norm(&ref, &opt);
        check_grad("rms_norm_grad_f32", ref.rms_norm_grad_f32, opt.rms_norm_grad_f32, 1);
        check_gain_grad("rms_norm_gain_grad_f32", ref.rms_norm_gain_grad_f32,
                        opt.rms_norm_gain_grad_f32, 1);
        check_layer_norm(&ref, &opt);
        check_grad("layer_norm_grad_f32", ref.layer_norm_grad_f32, opt.layer_norm_grad_f32, 2);
        check_gain_grad("layer_norm_gain_grad_f32", ref.layer_norm_gain_grad_f32,
                        opt.layer_norm_gain_grad_f32, 2);
        check_l2_norm(&ref, &opt);
        check_l2_norm_grad(&ref, &opt);
    }
    return kc_close();
}
