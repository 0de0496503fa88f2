/* Attention forward and backward: 4 and 10 operations for each query, key and channel of a head,
 * half of them if causal. */
#include "cli/bench.h"

enum { TOKENS = 2048, HEADS = 16, WIDTH = 64 };

typedef struct attention {
    hn_attn_args args;
    hn_attn_plan plan;
    bool is_backward;
} attention;

typedef struct running {
    hn_bench *b;
    const attention *a;
    int phase;
} running;

static void units(void *of, int64_t begin, int64_t end, int thread)
{
    const running *r = of;
    const hn_attn_kernels *k = &r->b->kernels.attn;
    (r->a->is_backward ? k->backward : k->forward)(&r->a->plan, r->phase, begin, end,
                                                   hn_bench_scratch(r->b, thread), r->b->shared);
}

static void run(hn_bench *b, void *what)
{
    attention *a = what;
    (a->is_backward ? hn_attn_plan_backward : hn_attn_plan_forward)(&a->plan, &a->args,
                                                                    b->n_threads);
    for (int phase = 0; phase < HN_ATTN_PHASES; phase++) {
        running r = { b, a, phase };
        hn_bench_units(b, a->plan.units[phase], units, &r);
    }
}

static void bench_one(hn_bench *b, attention *a, bool is_backward, bool is_causal)
{
    a->is_backward = is_backward;
    a->args.is_causal = is_causal;
    const double work = (is_backward ? 10.0 : 4.0) * TOKENS * TOKENS * HEADS * WIDTH;
    hn_racer racers[] = { hn_bench_fma(b),
                          { .run = run, .what = a, .work = work * (is_causal ? 0.5 : 1) } };
    hn_bench_race(b, 2, racers);
    char what[64];
    snprintf(what, sizeof what, "%s, %s", is_backward ? "backward" : "forward",
             is_causal ? "causal" : "full");
    hn_bench_line(b, "attention", what, "GFLOP/s", 2, racers);
}

hn_status hn_bench_attention(hn_bench *b)
{
    const int64_t n = (int64_t)TOKENS * HEADS * WIDTH;
    hn_attn_span *spans = hn_alloc_array(b->heap, HN_TAG_WORKSPACE, TOKENS, sizeof *spans);
    float *lse = hn_bench_floats(b, TOKENS * HEADS);
    attention a = { .args = { .n_q = TOKENS, .n_k = TOKENS, .n_head = HEADS, .n_kv_head = HEADS,
                              .d = WIDTH, .d_v = WIDTH, .scale = 0.125f, .spans = spans } };
    hn_attn_args *x = &a.args;
    hn_attn_rows *const all[] = { &x->q, &x->k, &x->v, &x->o, &x->dout, &x->dq, &x->dk, &x->dv };
    bool is_made = spans && lse;
    for (int i = 0; i < 8; i++) {
        *all[i] = (hn_attn_rows){ hn_bench_floats(b, n), HEADS * WIDTH, WIDTH };
        is_made = is_made && all[i]->data;
    }
    x->lse = (hn_attn_rows){ lse, HEADS, 1 };
    for (int i = 0; i < TOKENS && is_made; i++)
        spans[i] = (hn_attn_span){ 0, i, TOKENS };
    for (int how = 0; how < 4 && is_made; how++) /* forward first: backward reads o and lse */
        bench_one(b, &a, how > 1, how & 1);
    for (int i = 0; i < 8; i++)
        hn_free(b->heap, all[i]->data);
    hn_free(b->heap, lse);
    hn_free(b->heap, spans);
    return is_made ? HN_OK : HN_ERR_MEMORY;
}
