/* Every optimiser step against its reference; a cut range gives the same bits. */
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

static const hn_adamw_step step = { .scale = 0.5f,
                                    .clip = 1.5f,
                                    .one_minus_beta1 = 0.1f,
                                    .one_minus_beta2 = 0.001f,
                                    .eps = 1e-8f,
                                    .rate = 0.01f,
                                    .root = 3.0f,
                                    .keep = 0.999f,
                                    .key = { { 1, 2 } } };

/* Second moments are never negative. */
static float *positive(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] < 0 ? -x[i] : x[i];
    return x;
}

static uint16_t *positive_brains(size_t n)
{
    uint16_t *x = kc_brains(n);
    for (size_t i = 0; i < n; i++)
        x[i] &= 0x7fff;
    return x;
}

static void check_adamw_f32_f32(const hn_optim_kernels *ref, const hn_optim_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, adamw_f32_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *g = kc_floats(n);
        float *m[3] = { kc_floats(n) }, *v[3] = { positive(kc_floats(n), n) };
        float *w[3] = { kc_floats(n) };
        uint16_t *b[3] = { kc_blank_bytes(2 * n), kc_blank_bytes(2 * n),
                           kc_blank_bytes(2 * n) };
        for (int i = 1; i < 3; i++) {
            m[i] = kc_copy(*m, n * sizeof **m);
            v[i] = kc_copy(*v, n * sizeof **v);
            w[i] = kc_copy(*w, n * sizeof **w);
        }
        const uint64_t first = n % 7;
        const int64_t all = (int64_t)n, cut = all / 3;
        ref->adamw_f32_f32(all, first, &step, g, *m, *v, *w, *b);
        opt->adamw_f32_f32(all, first, &step, g, m[1], v[1], w[1], b[1]);
        if (cut)
            opt->adamw_f32_f32(cut, first, &step, g, m[2], v[2], w[2], b[2]);
        opt->adamw_f32_f32(all - cut, first + (uint64_t)cut, &step, g + cut, m[2] + cut,
                           v[2] + cut, w[2] + cut, b[2] + cut);
        for (int i = 1; i < 3; i++) {
            kc_same_bits(*m, m[i], n);
            kc_same_bits(*v, v[i], n);
            kc_same_bits(*w, w[i], n);
            kc_same_brains(*b, b[i], n);
        }
        KC_BENCH(opt->adamw_f32_f32(all, 0, &step, g, m[1], v[1], w[1], b[1]));
    }
}

static void check_adamw_bf16_f32(const hn_optim_kernels *ref, const hn_optim_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, adamw_bf16_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *g = kc_floats(n);
        uint16_t *m[3] = { kc_brains(n) }, *v[3] = { positive_brains(n) };
        float *w[3] = { kc_floats(n) };
        uint16_t *b[3] = { kc_blank_bytes(2 * n), kc_blank_bytes(2 * n),
                           kc_blank_bytes(2 * n) };
        for (int i = 1; i < 3; i++) {
            m[i] = kc_copy(*m, n * sizeof **m);
            v[i] = kc_copy(*v, n * sizeof **v);
            w[i] = kc_copy(*w, n * sizeof **w);
        }
        const uint64_t first = n % 7;
        const int64_t all = (int64_t)n, cut = all / 3;
        ref->adamw_bf16_f32(all, first, &step, g, *m, *v, *w, *b);
        opt->adamw_bf16_f32(all, first, &step, g, m[1], v[1], w[1], b[1]);
        if (cut)
            opt->adamw_bf16_f32(cut, first, &step, g, m[2], v[2], w[2], b[2]);
        opt->adamw_bf16_f32(all - cut, first + (uint64_t)cut, &step, g + cut, m[2] + cut,
                            v[2] + cut, w[2] + cut, b[2] + cut);
        for (int i = 1; i < 3; i++) {
            kc_same_brains(*m, m[i], n);
            kc_same_brains(*v, v[i], n);
            kc_same_bits(*w, w[i], n);
            kc_same_brains(*b, b[i], n);
        }
        KC_BENCH(opt->adamw_bf16_f32(all, 0, &step, g, m[1], v[1], w[1], b[1]));
    }
}

static void check_adamw_f32_bf16(const hn_optim_kernels *ref, const hn_optim_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, adamw_f32_bf16))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *g = kc_floats(n);
        float *m[3] = { kc_floats(n) }, *v[3] = { positive(kc_floats(n), n) };
        uint16_t *w[3] = { kc_brains(n) };
        for (int i = 1; i < 3; i++) {
            m[i] = kc_copy(*m, n * sizeof **m);
            v[i] = kc_copy(*v, n * sizeof **v);
            w[i] = kc_copy(*w, n * sizeof **w);
        }
        const uint64_t first = n % 7;
        const int64_t all = (int64_t)n, cut = all / 3;
        ref->adamw_f32_bf16(all, first, &step, g, *m, *v, *w);
        opt->adamw_f32_bf16(all, first, &step, g, m[1], v[1], w[1]);
        if (cut)
            opt->adamw_f32_bf16(cut, first, &step, g, m[2], v[2], w[2]);
        opt->adamw_f32_bf16(all - cut, first + (uint64_t)cut, &step, g + cut, m[2] + cut,
                            v[2] + cut, w[2] + cut);
        for (int i = 1; i < 3; i++) {
            kc_same_bits(*m, m[i], n);
            kc_same_bits(*v, v[i], n);
            kc_same_brains(*w, w[i], n);
        }
        KC_BENCH(opt->adamw_f32_bf16(all, 0, &step, g, m[1], v[1], w[1]));
    }
}

static void check_adamw_bf16_bf16(const hn_optim_kernels *ref, const hn_optim_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, adamw_bf16_bf16))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *g = kc_floats(n);
        uint16_t *m[3] = { kc_brains(n) }, *v[3] = { positive_brains(n) };
        uint16_t *w[3] = { kc_brains(n) };
        for (int i = 1; i < 3; i++) {
            m[i] = kc_copy(*m, n * sizeof **m);
            v[i] = kc_copy(*v, n * sizeof **v);
            w[i] = kc_copy(*w, n * sizeof **w);
        }
        const uint64_t first = n % 7;
        const int64_t all = (int64_t)n, cut = all / 3;
        ref->adamw_bf16_bf16(all, first, &step, g, *m, *v, *w);
        opt->adamw_bf16_bf16(all, first, &step, g, m[1], v[1], w[1]);
        if (cut)
            opt->adamw_bf16_bf16(cut, first, &step, g, m[2], v[2], w[2]);
        opt->adamw_bf16_bf16(all - cut, first + (uint64_t)cut, &step, g + cut, m[2] + cut,
                             v[2] + cut, w[2] + cut);
        for (int i = 1; i < 3; i++) {
            kc_same_brains(*m, m[i], n);
            kc_same_brains(*v, v[i], n);
            kc_same_brains(*w, w[i], n);
        }
        KC_BENCH(opt->adamw_bf16_bf16(all, 0, &step, g, m[1], v[1], w[1]));
    }
}

static void check_sgd_f32(const hn_optim_kernels *ref, const hn_optim_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, sgd_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *g = kc_floats(n);
        float *u = kc_floats(n), *w = kc_floats(n);
        float *got_u = kc_copy(u, n * sizeof *u), *got_w = kc_copy(w, n * sizeof *w);
        uint16_t *b = kc_blank_bytes(2 * n), *got_b = kc_blank_bytes(2 * n);
        for (int which = 0; which < 3; which++) {
            const hn_sgd_step s = { .scale = 0.5f,
                                    .clip = which ? 1.0f : 0.0f,
                                    .momentum = 0.9f,
                                    .rate = 0.1f,
                                    .keep = 0.99f,
                                    .is_nesterov = which == 2 };
            ref->sgd_f32((int64_t)n, &s, g, which ? u : NULL, w, which ? b : NULL);
            opt->sgd_f32((int64_t)n, &s, g, which ? got_u : NULL, got_w, which ? got_b : NULL);
            kc_same_bits(u, got_u, n);
            kc_same_bits(w, got_w, n);
        }
        kc_same_brains(b, got_b, n);
    }
}

static void check_lion_f32(const hn_optim_kernels *ref, const hn_optim_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, lion_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        const float *g = kc_floats(n);
        float *m = kc_floats(n), *w = kc_floats(n);
        m[n / 2] = n % 3 ? m[n / 2] : -0.0f;
        float *got_m = kc_copy(m, n * sizeof *m), *got_w = kc_copy(w, n * sizeof *w);
        uint16_t *b = kc_blank_bytes(2 * n), *got_b = kc_blank_bytes(2 * n);
        for (int which = 0; which < 2; which++) {
            const hn_lion_step s = { .scale = which ? 0.5f : 0.0f, .clip = which ? 1.0f : 0.0f,
                                     .one_minus_beta1 = 0.1f, .one_minus_beta2 = 0.01f, .rate = 0.1f,
                                     .keep = 0.99f, .toward = which ? 1.0f : 0.0f };
            ref->lion_f32((int64_t)n, &s, g, m, w, which ? b : NULL);
            opt->lion_f32((int64_t)n, &s, g, got_m, got_w, which ? got_b : NULL);
            kc_same_bits(m, got_m, n);
            kc_same_bits(w, got_w, n);
        }
        kc_same_brains(b, got_b, n);
        KC_BENCH(opt->lion_f32((int64_t)n, &(hn_lion_step){ .scale = 1, .keep = 1 }, g, got_m, got_w, NULL));
    }
}

int main(int argc, char **argv)
{
    hn_optim_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->optim;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->optim;
        check_adamw_f32_f32(&ref, &opt);
        check_adamw_bf16_f32(&ref, &opt);
        check_adamw_f32_bf16(&ref, &opt);
        check_adamw_bf16_bf16(&ref, &opt);
        check_sgd_f32(&ref, &opt);
        check_lion_f32(&ref, &opt);
    }
    return kc_close();
}
