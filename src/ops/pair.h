/* pair.h: what gated pairs share: y = act(gate) * up, and its two gradients
 *     dgate = dy * up * act'(gate),   dup = dy * act(gate),
 * of which each may take the memory of any input: element i of all three is read before element
 * i of either is written. */
#ifndef HN_OPS_PAIR_H
#define HN_OPS_PAIR_H

#include "ops/activation.h"

static inline gelu_form pair_form(const hn_call *call)
{
    return call->attrs ? (gelu_form)((const gelu_attrs *)call->attrs)->form : GELU_TANH;
}

static inline hn_status pair_infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 1));
    HN_TRY(hn_expect_same(call, 1, 0));
    return hn_infer_like(call, 0, out);
}

static inline hn_status pair_grad_infer(const hn_call *call, hn_type *out)
{
    HN_TRY(pair_infer(call, &out[0]));
    HN_TRY(hn_expect_float(call, 2));
    HN_TRY(hn_expect_same(call, 2, 0));
    return hn_infer_like(call, 1, &out[1]);
}

static inline void pair_values(const hn_call *call, double (*act)(gelu_form form, double gate))
{
    const int64_t n = hn_count(&call->out[0]->type);
    for (int64_t i = 0; i < n; i++)
        hn_set(call->out[0], i,
               act(pair_form(call), hn_get(call->in[0], i)) * hn_get(call->in[1], i));
}

static inline void pair_grads(const hn_call *call, double (*act)(gelu_form form, double gate),
                              double (*slope)(gelu_form form, double gate))
{
    const int64_t n = hn_count(&call->out[0]->type);
    for (int64_t i = 0; i < n; i++) {
        const double gate = hn_get(call->in[0], i), up = hn_get(call->in[1], i);
        const double dy = hn_get(call->in[2], i);
        hn_set(call->out[0], i, dy * up * slope(pair_form(call), gate));
        if (call->out[1])
            hn_set(call->out[1], i, dy * act(pair_form(call), gate));
    }
}

#endif
