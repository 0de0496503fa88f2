/* Every reduction against its reference, at every level that this host can run. */
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

typedef void (*row_kernel)(int64_t n, const float *x, float *y);

static void check_row(const char *name, row_kernel ref, row_kernel opt)
{
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *x = kc_floats(n);
        float *want = kc_blank(1), *got = kc_blank(1);
        ref((int64_t)n, x, want);
        opt((int64_t)n, x, got);
        kc_same_bits(want, got, 1);
        KC_BENCH(opt((int64_t)n, x, got));
    }
}

static void check_argmax(const hn_reduce_kernels *ref, const hn_reduce_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, argmax_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n);
        int32_t *want = kc_blank_bytes(sizeof *want), *got = kc_blank_bytes(sizeof *got);
        ref->argmax_f32((int64_t)n, x, want);
        opt->argmax_f32((int64_t)n, x, got);
        kc_same_bytes(want, got, sizeof *want);
        x[n - 1] = x[*want]; /* the first of equals wins */
        opt->argmax_f32((int64_t)n, x, got);
        kc_same_bytes(want, got, sizeof *want);
        KC_BENCH(opt->argmax_f32((int64_t)n, x, got));
    }
}

static void check_cumsum(const hn_reduce_kernels *ref, const hn_reduce_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, cumsum_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *want = kc_blank(n);
        ref->cumsum_f32((int64_t)n, x, want);
        opt->cumsum_f32((int64_t)n, x, x);
        kc_same_bits(want, x, n);
    }
}

static void check_top_k(const hn_reduce_kernels *ref, const hn_reduce_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, top_k_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n);
        for (size_t i = 0; i < n; i += 3)
            x[i] = (float)(int)(x[i] > 0 ? 2 : -1); /* ties */
        for (size_t k = 1; k <= n && k <= 64; k = 2 * k + 1) {
            float *want = kc_blank(k), *got = kc_blank(k);
            int32_t *want_at = kc_blank_bytes(k * sizeof *want_at);
            int32_t *got_at = kc_blank_bytes(k * sizeof *got_at);
            ref->top_k_f32((int64_t)n, x, (int64_t)k, want, want_at);
            opt->top_k_f32((int64_t)n, x, (int64_t)k, got, got_at);
            kc_same_bits(want, got, k);
            kc_same_bytes(want_at, got_at, k * sizeof *want_at);
            for (size_t i = 1; i < k; i++)
                KC_CHECK(got[i] != got[i] || got[i - 1] > got[i] ||
                         (got[i - 1] == got[i] && got_at[i - 1] < got_at[i]));
        }
    }
}

static void check_sum_squares(const hn_reduce_kernels *ref, const hn_reduce_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, sum_squares_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *x = kc_floats(n);
        const size_t blocks = (n + 4095) / 4096;
        double *want = kc_blank_bytes(blocks * sizeof *want);
        double *got = kc_blank_bytes(blocks * sizeof *got);
        ref->sum_squares_f32((int64_t)n, x, want);
        opt->sum_squares_f32((int64_t)n, x, got);
        kc_same_bits64(want, got, blocks);
        KC_BENCH(opt->sum_squares_f32((int64_t)n, x, got));
    }
}

static void check_sum_rows(const hn_reduce_kernels *ref, const hn_reduce_kernels *opt)
{
    enum { ROWS = 5 };
    if (!KC_BEGIN(ref, opt, sum_rows_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *x = kc_floats(ROWS * n);
        float *want = kc_floats(n);
        float *got = kc_copy(want, n * sizeof *want), *cut = kc_copy(want, n * sizeof *want);
        ref->sum_rows_f32(ROWS, (int64_t)n, x, want);
        opt->sum_rows_f32(ROWS, (int64_t)n, x, got);
        kc_same_bits(want, got, n);
        opt->sum_rows_f32(3, (int64_t)n, x, cut);
        opt->sum_rows_f32(ROWS - 3, (int64_t)n, x + 3 * n, cut);
        kc_same_bits(want, cut, n);
        KC_BENCH(opt->sum_rows_f32(ROWS, (int64_t)n, x, got));
    }
}

int main(int argc, char **argv)
{
    hn_reduce_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->reduce;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->reduce;
        check_row("sum_f32", ref.sum_f32, opt.sum_f32);
        check_row("mean_f32", ref.mean_f32, opt.mean_f32);
        check_row("row_max_f32", ref.row_max_f32, opt.row_max_f32);
        check_argmax(&ref, &opt);
        check_cumsum(&ref, &opt);
        check_top_k(&ref, &opt);
        check_sum_squares(&ref, &opt);
        check_sum_rows(&ref, &opt);
    }
    return kc_close();
}
