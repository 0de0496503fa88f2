/* Attention at every level against `ref` in bits and against doubles within a bound; split or
 * not, any order of units, and each query alone. */
#include "kernels/attn/attn.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/attn_case.h"
#include "tests/kernels/at_level.h"

#include <stdio.h>
#include <string.h>

static size_t outputs(const hn_attn_args *x) { return (size_t)(x->n_q * x->n_head * x->d_v); }

static void same_forward(const hn_attn_args *want, const hn_attn_args *got)
{
    kc_same_bits((float *)want->o.data, (float *)got->o.data, outputs(want));
    kc_same_bits((float *)want->lse.data, (float *)got->lse.data,
                 (size_t)(want->n_q * want->n_head));
}

static void same_backward(const hn_attn_args *want, const hn_attn_args *got)
{
    const int64_t h = want->n_head, g = want->n_kv_head;
    kc_same_bits((float *)want->dq.data, (float *)got->dq.data,
                 (size_t)(want->n_q * h * want->d));
    kc_same_bits((float *)want->dk.data, (float *)got->dk.data,
                 (size_t)(want->n_k * g * want->d));
    kc_same_bits((float *)want->dv.data, (float *)got->dv.data,
                 (size_t)(want->n_k * g * want->d_v));
    if (want->sinks)
        kc_same_bits(want->dsinks, got->dsinks, (size_t)h);
}

/* Some queries in calls of their own. */
static void check_alone(const hn_attn_kernels *kernels, const hn_attn_args *all)
{
    hn_attn_args x = *all, got = *all;
    attn_blank(&got);
    memcpy(got.o.data, all->o.data, outputs(all) * sizeof(float));
    memcpy(got.lse.data, all->lse.data, (size_t)(all->n_q * all->n_head) * sizeof(float));
    x.n_q = 1;
    for (int64_t t = 0; t < all->n_q; t += 1 + all->n_q / 9) {
        x.spans = all->spans + t;
        x.q.data = (float *)all->q.data + t * all->q.token_stride;
        x.o.data = (float *)got.o.data + t * all->o.token_stride;
        x.lse.data = (float *)got.lse.data + t * all->lse.token_stride;
        memset(x.o.data, 0x55, (size_t)(all->n_head * all->d_v) * sizeof(float));
        static const int threads[] = { 1, 2, 3, 8 }; /* kv heads of a unit: all, a half, a third, one */
        attn_run(kernels, &x, false, threads[t % 4]);
    }
    same_forward(all, &got);
}

static void check_case(const hn_attn_kernels *ref, const hn_attn_kernels *opt,
                       const attn_case *c)
{
    char slot[64];
    snprintf(slot, sizeof slot, "attn_%s", c->name);
    for (char *at = slot; *at; at++)
        *at = *at == ' ' ? '_' : *at;
    if (!kc_begin(slot, (kc_function)ref->forward, (kc_function)opt->forward))
        return;
    hn_attn_args want, got;
    attn_make(&want, c);
    attn_run(ref, &want, false, 1);
    KC_CHECK(attn_error(&want, false) < 3e-6);
    got = want;
    for (int threads = 1; threads <= 16; threads = threads < 3 ? threads + 1 : 4 * threads + 4) { /* 1, 2, 3, 16 */
        attn_blank(&got);
        attn_run(opt, &got, false, threads);
        same_forward(&want, &got);
    }
    check_alone(opt, &want);

    attn_run(ref, &want, true, 1);
    KC_CHECK(attn_error(&want, true) < 1e-5);
    for (int threads = 1; threads < 40; threads += 36) {
        hn_attn_args back = want;
        attn_blank(&back);
        back.o = want.o, back.lse = want.lse;
        attn_run(opt, &back, true, threads);
        same_backward(&want, &back);
    }
}

int main(int argc, char **argv)
{
    kc_open(argc, argv);
    const hn_attn_kernels *ref = &at_level(HN_ISA(ref))->attn;
    for (hn_isa isa = 0; kc_next_isa(&isa);)
        for (int i = 0; i < n_attn_cases; i++)
            check_case(ref, &at_level(isa)->attn, attn_cases + i);
    return kc_close();
}
