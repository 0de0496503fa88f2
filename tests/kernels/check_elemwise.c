/* Every elementwise kernel against its reference, at every level that this host can run. */
#include "base/rng.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

typedef void (*map_kernel)(HN_SHARED_map);
typedef void (*binary_kernel)(HN_SHARED_binary);
typedef void (*pair_kernel)(HN_SHARED_pair);
typedef void (*map_grad_kernel)(HN_SHARED_map_grad);
typedef void (*pair_grad_kernel)(HN_SHARED_pair_grad);

static void check_map(const char *name, map_kernel ref, map_kernel opt, const float *p)
{
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        ref((int64_t)n, x, want, p);
        opt((int64_t)n, x, got, p);
        kc_same_bits(want, got, n);
        KC_BENCH(opt((int64_t)n, x, got, p));
        opt((int64_t)n, x, x, p);
        kc_same_bits(want, x, n);
    }
}

static void check_binary(const char *name, binary_kernel ref, binary_kernel opt)
{
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *a = kc_floats(n), *b = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        for (int64_t steps = 0; steps < 4; steps++) {
            ref((int64_t)n, a, steps & 1, b, steps >> 1, want);
            opt((int64_t)n, a, steps & 1, b, steps >> 1, got);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt((int64_t)n, a, 1, b, 1, got));
        float *second = kc_copy(b, n * sizeof *b);
        opt((int64_t)n, a, 1, second, 1, second);
        kc_same_bits(want, second, n);
        opt((int64_t)n, a, 1, b, 1, a);
        kc_same_bits(want, a, n);
    }
}

static void check_where(const hn_elemwise_kernels *ref, const hn_elemwise_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, where_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *a = kc_floats(n), *b = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        uint8_t *c = kc_bytes(n);
        for (size_t i = 0; i < n; i++)
            c[i] = c[i] & 1 ? c[i] : 0;
        for (int64_t steps = 0; steps < 8; steps++) {
            const int64_t cs = steps & 1, as = steps >> 1 & 1, bs = steps >> 2;
            ref->where_f32((int64_t)n, c, cs, a, as, b, bs, want);
            opt->where_f32((int64_t)n, c, cs, a, as, b, bs, got);
            kc_same_bits(want, got, n);
        }
        KC_BENCH(opt->where_f32((int64_t)n, c, 1, a, 1, b, 1, got));
        opt->where_f32((int64_t)n, c, 1, a, 1, b, 1, b);
        kc_same_bits(want, b, n);
    }
}

static void check_pair(const char *name, pair_kernel ref, pair_kernel opt)
{
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *gate = kc_floats(n), *up = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        ref((int64_t)n, gate, up, want);
        opt((int64_t)n, gate, up, got);
        kc_same_bits(want, got, n);
        KC_BENCH(opt((int64_t)n, gate, up, got));
        opt((int64_t)n, gate, up, gate);
        kc_same_bits(want, gate, n);
    }
}

static void check_map_grad(const char *name, map_grad_kernel ref, map_grad_kernel opt,
                           const float *p)
{
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *dy = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        ref((int64_t)n, x, dy, want, p);
        opt((int64_t)n, x, dy, got, p);
        kc_same_bits(want, got, n);
        KC_BENCH(opt((int64_t)n, x, dy, got, p));
        opt((int64_t)n, x, dy, dy, p);
        kc_same_bits(want, dy, n);
    }
}

static void check_pair_grad(const char *name, pair_grad_kernel ref, pair_grad_kernel opt)
{
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *gate = kc_floats(n), *up = kc_floats(n), *dy = kc_floats(n);
        float *want_gate = kc_blank(n), *want_up = kc_blank(n);
        float *dgate = kc_blank(n), *dup = kc_blank(n);
        ref((int64_t)n, gate, up, dy, want_gate, want_up);
        opt((int64_t)n, gate, up, dy, dgate, dup);
        kc_same_bits(want_gate, dgate, n);
        kc_same_bits(want_up, dup, n);
        KC_BENCH(opt((int64_t)n, gate, up, dy, dgate, dup));
        opt((int64_t)n, gate, up, dy, gate, up);
        kc_same_bits(want_gate, gate, n);
        kc_same_bits(want_up, up, n);
    }
}

static void check_dropout(const hn_elemwise_kernels *ref, const hn_elemwise_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, dropout_f32))
        return;
    static const uint64_t firsts[] = { 0, 1, 7, (UINT64_C(1) << 34) - 33 }; /* carries */
    for (size_t n; kc_next_length(&n);) {
        const hn_rng_key key = hn_rng_seed(UINT64_C(0x123456789abcdef));
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n), *named = kc_blank(n);
        for (size_t at = 0; at < sizeof firsts / sizeof *firsts; at++) {
            const uint64_t first = firsts[at];
            ref->dropout_f32((int64_t)n, x, want, 0.3f, key, first);
            opt->dropout_f32((int64_t)n, x, got, 0.3f, key, first);
            kc_same_bits(want, got, n);
            for (size_t i = 0; i < n; i++)
                named[i] = hn_rng_mass_uniform(key, first + i) < 0.3f ? 0 * x[i] : x[i] * (1 / 0.7f);
            kc_same_bits(named, got, n);
        }
        KC_BENCH(opt->dropout_f32((int64_t)n, x, got, 0.3f, key, 0));
        opt->dropout_f32((int64_t)n, x, x, 0.3f, key, firsts[3]);
        kc_same_bits(want, x, n);
    }
}

static void check_all(const hn_elemwise_kernels *ref, const hn_elemwise_kernels *opt)
{
    static const float line[] = { 1.7f, -0.3f }, range[] = { -0.5f, 1.25f }, cap[] = { 3.0f };
#define MAP(slot, p)    check_map(#slot, ref->slot, opt->slot, p)
#define GRAD(slot, p)   check_map_grad(#slot, ref->slot, opt->slot, p)
#define BINARY(slot)    check_binary(#slot, ref->slot, opt->slot)
#define PAIR(slot)      check_pair(#slot, ref->slot, opt->slot)
#define PAIR_GRAD(slot) check_pair_grad(#slot, ref->slot, opt->slot)
    MAP(neg_f32, NULL), MAP(abs_f32, NULL), MAP(sqr_f32, NULL), MAP(sqrt_f32, NULL);
    MAP(rsqrt_f32, NULL), MAP(scale_f32, line), MAP(clamp_f32, range), MAP(relu_f32, NULL);
    MAP(exp_f32, NULL), MAP(expm1_f32, NULL), MAP(log_f32, NULL), MAP(log1p_f32, NULL);
    MAP(sin_f32, NULL), MAP(cos_f32, NULL), MAP(erf_f32, NULL), MAP(tanh_f32, NULL);
    MAP(sigmoid_f32, NULL), MAP(silu_f32, NULL), MAP(gelu_f32, NULL), MAP(gelu_erf_f32, NULL);
    MAP(softplus_f32, NULL), MAP(softcap_f32, cap);
    BINARY(add_f32), BINARY(sub_f32), BINARY(mul_f32), BINARY(div_f32), BINARY(pow_f32);
    BINARY(min_f32), BINARY(max_f32);
    check_where(ref, opt);
    PAIR(swiglu_f32), PAIR(geglu_f32), PAIR(geglu_erf_f32);
    GRAD(tanh_grad_f32, NULL), GRAD(sigmoid_grad_f32, NULL), GRAD(abs_grad_f32, NULL);
    GRAD(relu_grad_f32, NULL), GRAD(silu_grad_f32, NULL), GRAD(gelu_grad_f32, NULL);
    GRAD(gelu_erf_grad_f32, NULL), GRAD(softcap_grad_f32, cap), GRAD(softplus_grad_f32, NULL);
    GRAD(clamp_grad_f32, range);
    PAIR_GRAD(swiglu_grad_f32), PAIR_GRAD(geglu_grad_f32), PAIR_GRAD(geglu_erf_grad_f32);
    check_dropout(ref, opt);
}

int main(int argc, char **argv)
{
    hn_elemwise_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->elemwise;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->elemwise;
        check_all(&ref, &opt);
    }
    return kc_close();
}
