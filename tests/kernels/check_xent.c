/* Fused cross-entropy at every level: the bits of `ref`, doubles within a bound, any threads
 * and order of units, rows alone, tokens in two parts with dw going on,
 * and the loss and dx at once. */
#include "base/half.h"
#include "kernels/xent/xent.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/gemm_data.h"
#include "tests/kernels/at_level.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    const char *name;
    int64_t n, c, v;
    hn_elem type;
    bool panel16;
    float cap;
    bool narrow; /* x and the slopes are bf16 too */
} problem;

static const problem problems[] = {
    { "small", 3, 5, 7, HN_ELEM_f32, false, 0 },
    { "tiles", 37, 24, 1100, HN_ELEM_f32, false, 0 },
    { "capped", 20, 16, 600, HN_ELEM_f32, false, 3 },
    { "blocks", 300, 8, 530, HN_ELEM_f32, false, 0 },
    { "bf16", 40, 33, 700, HN_ELEM_bf16, false, 0 },
    { "narrow", 40, 33, 700, HN_ELEM_bf16, false, 0, true },
    { "narrow capped", 230, 64, 1100, HN_ELEM_bf16, false, 2, true },
    { "narrow blocks", 33, 64, 600, HN_ELEM_q8_0, false, 0, true },
    { "many words", 33, 8, 66000, HN_ELEM_f32, false, 0 },  /* too many to keep: made again */
    { "narrow words", 37, 8, 66000, HN_ELEM_bf16, false, 0, true },
    { "q8_0", 33, 64, 600, HN_ELEM_q8_0, false, 0 },
    { "q4_k panel", 20, 256, 530, HN_ELEM_q4_k, true, 0 },
};
enum { N_PROBLEMS = sizeof problems / sizeof problems[0] };

typedef enum pass { FORWARD, BACKWARD, BOTH } pass; /* both: the loss and dx at once */

typedef struct level {
    const hn_xent_kernels *xent;
    const hn_gemm_kernels *gemm;
} level;

static level level_of(hn_isa isa)
{
    const hn_families *k = at_level(isa);
    return (level){ &k->xent, &k->gemm };
}

static void run(level kernels, const hn_xent_args *args, pass what, int threads)
{
    hn_xent_plan plan;
    hn_xent_args own = *args;
    const hn_xent_args *x = &own;
    own.dx = what == FORWARD ? NULL : args->dx;
    hn_xent_plan_make(&plan, kernels.xent, kernels.gemm, x, what == BACKWARD, threads);
    void *scratch = kc_blank_bytes(hn_xent_scratch_bytes(&plan));
    void *shared = kc_blank_bytes(hn_xent_shared_bytes(&plan));
    for (int64_t phase = 0; phase < plan.n_phases; phase++) {
        const int64_t n = hn_xent_units(&plan, phase), step = n > 1 ? 1 + kc_random() % n : 1;
        for (int64_t start = step; start-- > 0;)
            for (int64_t unit = start; unit < n; unit += step)
                hn_xent_run(&plan, phase, unit, unit + 1, scratch, shared);
    }
}

static void blank(hn_xent_args *x)
{
    x->nll = kc_blank((size_t)x->n);
    x->dx = kc_blank((size_t)(x->n * x->c));
    x->dw = kc_blank((size_t)(x->v * x->c));
}

static float *make(hn_xent_args *x, const problem *p)
{
    *x = (hn_xent_args){ .n = p->n, .c = p->c, .v = p->v, .scale = 0.75f, .cap = p->cap,
                          .narrow = p->narrow };
    float *rows = kc_floats_in((size_t)(p->n * p->c), -1, 1);
    for (int64_t i = 0; i < p->n * p->c && p->narrow; i++)
        rows[i] = hn_bf16_to_f32(hn_f32_to_bf16(rows[i]));
    x->x = rows;
    x->x_stride = x->dx_stride = x->dw_stride = 4 * p->c;
    float *w = gemm_weights(&x->w, p->type, p->v, p->c, false, p->panel16);
    int32_t *label = kc_indices((size_t)p->n, (int32_t)p->v);
    for (int64_t t = 2; t < p->n; t += 7)
        label[t] = -1;
    x->label = label;
    x->weight = kc_floats_in((size_t)p->n, 0, 1);
    x->grad = kc_floats_in((size_t)p->n, -1, 1);
    blank(x);
    x->lse = kc_blank((size_t)p->n);
    return w;
}

/* The largest error relative to the largest value, over nll, dx and dw. */
static double error(const hn_xent_args *x, const float *w)
{
    double *dw = calloc((size_t)(x->v * x->c), 8), *z = calloc((size_t)x->v, 8);
    double *th = calloc((size_t)x->v, 8), worst[3] = { 0 }, top[3] = { 1e-9, 1e-9, 1e-9 };
    for (int64_t t = 0; t < x->n; t++) {
        if (x->label[t] < 0)
            continue;
        double sum = 0, most = -INFINITY;
        for (int64_t v = 0; v < x->v; v++) {
            z[v] = 0;
            for (int64_t i = 0; i < x->c; i++)
                z[v] += (double)x->x[t * x->c + i] * (double)w[v * x->c + i];
            z[v] *= (double)x->scale;
            if (x->cap > 0)
                th[v] = tanh(z[v] / (double)x->cap), z[v] = (double)x->cap * th[v];
            most = fmax(most, z[v]);
        }
        for (int64_t v = 0; v < x->v; v++)
            sum += exp(z[v] - most);
        const double lse = most + log(sum), g = (double)x->grad[t] * (double)x->weight[t];
        const double nll = (double)x->weight[t] * (lse - z[x->label[t]]);
        worst[0] = fmax(worst[0], fabs(nll - (double)x->nll[t])),
        top[0] = fmax(top[0], fabs(nll));
        for (int64_t v = 0; v < x->v; v++) {
            z[v] = (exp(z[v] - lse) - (v == x->label[t])) * g * (1 - th[v] * th[v]) *
                   (double)x->scale;
            for (int64_t i = 0; i < x->c; i++)
                dw[v * x->c + i] += z[v] * (double)x->x[t * x->c + i];
        }
        for (int64_t i = 0; i < x->c; i++) {
            double dx = 0;
            for (int64_t v = 0; v < x->v; v++)
                dx += z[v] * (double)w[v * x->c + i];
            worst[1] = fmax(worst[1], fabs(dx - (double)x->dx[t * x->c + i]));
            top[1] = fmax(top[1], fabs(dx));
        }
    }
    for (int64_t i = 0; i < x->v * x->c; i++) {
        worst[2] = fmax(worst[2], fabs(dw[i] - (double)x->dw[i]));
        top[2] = fmax(top[2], fabs(dw[i]));
    }
    free(dw), free(z), free(th);
    return fmax(worst[0] / top[0], fmax(worst[1] / top[1], worst[2] / top[2]));
}

static void same(const hn_xent_args *want, const hn_xent_args *got)
{
    kc_same_bits(want->nll, got->nll, (size_t)want->n);
    kc_same_bits(want->lse, got->lse, (size_t)want->n);
    kc_same_bits(want->dx, got->dx, (size_t)(want->n * want->c));
    kc_same_bits(want->dw, got->dw, (size_t)(want->v * want->c));
}

/* The first `cut` tokens, then the rest, dw going on. */
static void check_parts(level kernels, const hn_xent_args *all, int64_t cut)
{
    hn_xent_args got = *all;
    blank(&got);
    got.lse = kc_blank((size_t)all->n);
    for (int part = 0; part < 2; part++) {
        const int64_t from = part ? cut : 0, n = part ? all->n - cut : cut;
        hn_xent_args x = got;
        x.n = n;
        x.x += from * x.c, x.label += from, x.weight += from, x.grad += from;
        x.nll += from, x.lse += from, x.dx += from * x.c;
        x.accumulate = part == 1;
        run(kernels, &x, FORWARD, 1 + part);
        run(kernels, &x, BACKWARD, 3);
    }
    same(all, &got);
}

static void check_problem(level ref, level opt, const problem *p)
{
    char slot[64];
    snprintf(slot, sizeof slot, "xent_%s", p->name);
    for (char *at = slot; *at; at++)
        *at = *at == ' ' ? '_' : *at;
    if (!kc_begin(slot, (kc_function)ref.xent->stats, (kc_function)opt.xent->stats))
        return;
    hn_xent_args want, got;
    const float *w = make(&want, p);
    run(ref, &want, FORWARD, 1);
    run(ref, &want, BACKWARD, 1);
    const double apart = error(&want, w);
    KC_CHECK(apart < (p->narrow ? 4e-3 : 2e-5) && (!p->narrow || apart > 1e-4)); /* slopes are rounded */
    got = want;
    blank(&got);
    got.lse = kc_blank((size_t)p->n);
    run(opt, &got, FORWARD, 4);
    run(opt, &got, BACKWARD, 4);
    same(&want, &got);
    got.dx = kc_blank((size_t)(p->n * p->c));
    got.nll = kc_blank((size_t)p->n);
    got.lse = kc_blank((size_t)p->n);
    run(opt, &got, BOTH, 3);
    same(&want, &got);
    check_parts(opt, &want, 1);
    check_parts(opt, &want, p->n / 2);
}

int main(int argc, char **argv)
{
    kc_open(argc, argv);
    const level ref = level_of(HN_ISA(ref));
    for (hn_isa isa = 0; kc_next_isa(&isa);)
        for (int i = 0; i < N_PROBLEMS; i++)
            check_problem(ref, level_of(isa), problems + i);
    return kc_close();
}
