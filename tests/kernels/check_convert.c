/* Every conversion against its reference and against base/half.h. */
#include "base/half.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

/* Any sixteen bits. */
static uint16_t *any_halves(size_t n)
{
    uint16_t *x = kc_halves(n);
    for (size_t i = 0; i < n; i++)
        x[i] = i % 4 ? (uint16_t)kc_random() : x[i];
    return x;
}

static int32_t *any_words(size_t n)
{
    int32_t *x = kc_indices(n, INT32_MAX);
    for (size_t i = 0; i < n; i++)
        x[i] = i % 2 ? -x[i] - 1 : x[i];
    return x;
}

/* Among others, every kind of f16 and what lies between two of them. */
static float *near_halves(size_t n)
{
    float *x = kc_floats(n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = hn_f32_bits(hn_f16_to_f32((uint16_t)kc_random()));
        if (i % 4)
            x[i] = hn_f32_from_bits(bits + (i % 4 == 1 ? 0x1000u : i % 4 == 2 ? 0xfffu : 0));
    }
    return x;
}

/* Halves, and values around 2^31. */
static float *near_words(size_t n)
{
    float *x = kc_floats(n);
    for (size_t i = 0; i < n; i++)
        if (i % 2)
            x[i] = x[i] < 0x1p20f && x[i] > -0x1p20f ? 0.5f * (float)(int32_t)(x[i] * 8)
                                                     : x[i] * 0x1p10f;
    return x;
}

static void check_f16_to_f32(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, f16_to_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        uint16_t *x = any_halves(n);
        float *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got);
        ref->f16_to_f32((int64_t)n, x, want);
        opt->f16_to_f32((int64_t)n, x, got);
        kc_same_bits(want, got, n);
        for (size_t i = 0; i < n; i++)
            want[i] = hn_f16_to_f32(x[i]);
        kc_same_bits(want, got, n);
        KC_BENCH(opt->f16_to_f32((int64_t)n, x, got));
    }
}

static void check_bf16_to_f32(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, bf16_to_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        uint16_t *x = any_halves(n);
        float *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got);
        ref->bf16_to_f32((int64_t)n, x, want);
        opt->bf16_to_f32((int64_t)n, x, got);
        kc_same_bits(want, got, n);
        for (size_t i = 0; i < n; i++)
            want[i] = hn_bf16_to_f32(x[i]);
        kc_same_bits(want, got, n);
        KC_BENCH(opt->bf16_to_f32((int64_t)n, x, got));
    }
}

static void check_f32_to_f16(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, f32_to_f16))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = near_halves(n);
        uint16_t *want = kc_blank_bytes(n * sizeof *want),
                 *got = kc_blank_bytes(n * sizeof *got);
        ref->f32_to_f16((int64_t)n, x, want);
        opt->f32_to_f16((int64_t)n, x, got);
        kc_same_halves(want, got, n);
        for (size_t i = 0; i < n; i++)
            want[i] = hn_f32_to_f16(x[i]);
        kc_same_halves(want, got, n);
        KC_BENCH(opt->f32_to_f16((int64_t)n, x, got));
    }
}

static void check_f32_to_bf16(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, f32_to_bf16))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = near_halves(n);
        uint16_t *want = kc_blank_bytes(n * sizeof *want),
                 *got = kc_blank_bytes(n * sizeof *got);
        ref->f32_to_bf16((int64_t)n, x, want);
        opt->f32_to_bf16((int64_t)n, x, got);
        kc_same_brains(want, got, n);
        for (size_t i = 0; i < n; i++)
            want[i] = hn_f32_to_bf16(x[i]);
        kc_same_brains(want, got, n);
        KC_BENCH(opt->f32_to_bf16((int64_t)n, x, got));
    }
}

static void check_round_f16(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, round_f16))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = near_halves(n);
        float *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got);
        ref->round_f16((int64_t)n, x, want);
        opt->round_f16((int64_t)n, x, got);
        kc_same_bits(want, got, n);
        for (size_t i = 0; i < n; i++)
            want[i] = hn_f16_to_f32(hn_f32_to_f16(x[i]));
        kc_same_bits(want, got, n);
        KC_BENCH(opt->round_f16((int64_t)n, x, got));
    }
}

static void check_round_bf16(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, round_bf16))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = near_halves(n);
        float *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got);
        ref->round_bf16((int64_t)n, x, want);
        opt->round_bf16((int64_t)n, x, got);
        kc_same_bits(want, got, n);
        for (size_t i = 0; i < n; i++)
            want[i] = hn_bf16_to_f32(hn_f32_to_bf16(x[i]));
        kc_same_bits(want, got, n);
        KC_BENCH(opt->round_bf16((int64_t)n, x, got));
    }
}

static void check_f32_to_f64(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, f32_to_f64))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n);
        double *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got);
        ref->f32_to_f64((int64_t)n, x, want);
        opt->f32_to_f64((int64_t)n, x, got);
        kc_same_bits64(want, got, n);
        KC_BENCH(opt->f32_to_f64((int64_t)n, x, got));
    }
}

static void check_f64_to_f32(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, f64_to_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        double *x = kc_doubles(n);
        float *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got);
        ref->f64_to_f32((int64_t)n, x, want);
        opt->f64_to_f32((int64_t)n, x, got);
        kc_same_bits(want, got, n);
        KC_BENCH(opt->f64_to_f32((int64_t)n, x, got));
    }
}

static void check_i32_to_f32(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, i32_to_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        int32_t *x = any_words(n);
        float *want = kc_blank_bytes(n * sizeof *want), *got = kc_blank_bytes(n * sizeof *got);
        ref->i32_to_f32((int64_t)n, x, want);
        opt->i32_to_f32((int64_t)n, x, got);
        kc_same_bits(want, got, n);
        KC_BENCH(opt->i32_to_f32((int64_t)n, x, got));
    }
}

static void check_f32_to_i32(const hn_convert_kernels *ref, const hn_convert_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, f32_to_i32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = near_words(n);
        int32_t *want = kc_blank_bytes(n * sizeof *want),
                *got = kc_blank_bytes(n * sizeof *got);
        ref->f32_to_i32((int64_t)n, x, want);
        opt->f32_to_i32((int64_t)n, x, got);
        kc_same_bytes(want, got, n * sizeof *got);
        KC_BENCH(opt->f32_to_i32((int64_t)n, x, got));
    }
}

int main(int argc, char **argv)
{
    hn_convert_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->convert;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->convert;
        check_f16_to_f32(&ref, &opt);
        check_bf16_to_f32(&ref, &opt);
        check_f32_to_f16(&ref, &opt);
        check_f32_to_bf16(&ref, &opt);
        check_round_f16(&ref, &opt);
        check_round_bf16(&ref, &opt);
        check_f32_to_f64(&ref, &opt);
        check_f64_to_f32(&ref, &opt);
        check_i32_to_f32(&ref, &opt);
        check_f32_to_i32(&ref, &opt);
    }
    return kc_close();
}
