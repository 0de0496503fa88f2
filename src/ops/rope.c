/* rope: turns pairs (a, b) of each head of x [T, H, D] by the angle of its token:
 *     a' = a cos - b sin,   b' = b cos + a sin.
 * angles [T, N]: N / 2 cosines of each token, then as many sines (rope_angles). Columns offset ..
 * offset + N - 1 of a head are pairs, in one of two layouts (ops/attrs.h); the others are copied.
 * The gradient turns back, by the same angles. */
#include "ops/attrs.h"
#include "ops/ops.h"

enum { X, ANGLES };

static const hn_attr attrs[] = {
    HN_ATTR_INT(rope_attrs, offset, "0"),
    HN_ATTR_ENUM(rope_attrs, layout, "half", "half|adjacent"),
    HN_ATTR_BOOL(rope_attrs, inverse, "0"),
    HN_ATTR_END,
};

static hn_status infer(const hn_call *call, hn_type *out)
{
    const rope_attrs *at = call->attrs;
    HN_TRY(hn_expect_rank_between(call, X, 2, HN_MAX_RANK));
    HN_TRY(hn_expect_float(call, ANGLES));
    HN_TRY(hn_expect_rank(call, ANGLES, 2));
    HN_TRY(hn_expect_dim(call, ANGLES, 0, call->in[X]->type.dim[0]));
    const int64_t head = hn_last_dim(&call->in[X]->type), width = hn_last_dim(&call->in[ANGLES]->type);
    if (at->offset < 0 || at->offset >= head || width > head - at->offset)
        return hn_refuse(call, "columns %lld to %lld of %lld", (long long)at->offset,
                         (long long)(at->offset + width), (long long)head);
    if (width % 2)
        return hn_refuse(call, "%lld columns: expected an even number", (long long)width);
    return hn_infer_like(call, X, out);
}

/* The pairs of the head that begins at `head_at`, a head of token t. */
static void turn(const hn_call *call, int64_t t, int64_t head_at)
{
    const rope_attrs *at = call->attrs;
    const hn_tensor *x = call->in[X], *angles = call->in[ANGLES], *y = call->out[0];
    const int64_t width = hn_last_dim(&angles->type), n_pairs = width / 2;
    const bool is_half = at->layout == ROPE_HALF;
    for (int64_t i = 0; i < n_pairs; i++) {
        const int64_t a_at = head_at + at->offset + (is_half ? i : 2 * i);
        const int64_t b_at = a_at + (is_half ? n_pairs : 1);
        const double a = hn_get(x, a_at), b = hn_get(x, b_at);
        const double c = hn_get(angles, t * width + i), s = hn_get(angles, t * width + n_pairs + i);
        const double sine = at->inverse ? -s : s;
        hn_set(y, a_at, a * c - b * sine);
        hn_set(y, b_at, b * c + a * sine);
    }
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X];
    const int64_t n_tokens = x->type.dim[0], token = hn_count(&x->type) / n_tokens;
    hn_tensor_copy(call->out[0], x);
    for (int64_t t = 0; t < n_tokens; t++)
        for (int64_t at = t * token; at < (t + 1) * token; at += hn_last_dim(&x->type))
            turn(call, t, at);
}

static void backward(hn_grad *d)
{
    rope_attrs back = *(const rope_attrs *)d->attrs;
    back.inverse = !back.inverse;
    d->din[X] = HN_APPLY(d->g, &hn_op_rope, &back, d->dout[0], d->in[ANGLES]);
}

static const char *const cases[] = {
    "f32[1,1,2] f32[1,2]",
    "f32[5,3,8] f32[5,8]",
    "f32[4,2,12] f32[4,6] offset=4",
    "f32[3,2,10] f32[3,8] layout=adjacent offset=1",
    "f32[4,2,34] f32[4,32] offset=2 inverse=1",
    "f32[3,2,64] f32[3,64] layout=adjacent",
    "f32[3,5,2,16] f32[3,12]",
    "bf16[4,2,32] f32[4,32]",
    NULL,
};
/* clang-format off */
const hn_op hn_op_rope = {
    .name = "rope", .summary = "pairs of x, turned by the angles of their tokens",
    .inputs = "x angles!", .attrs = attrs, .attrs_size = sizeof(rope_attrs),
    .affine_in = HN_IN(X), .infer = infer, .forward = forward, .backward = backward,
    .flops_per_element = 3, .may_overwrite = { HN_IN(X) }, .cases = cases, .tolerance = 4e-7,
};
/* clang-format on */
hn_node *hn_rope(hn_graph *g, hn_node *x, hn_node *angles)
{
    return HN_APPLY(g, &hn_op_rope, &((rope_attrs){ 0 }), x, angles);
}
