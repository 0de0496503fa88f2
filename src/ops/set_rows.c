/* set_rows: a state with row ids[i] replaced by x[i], rounded to the state's type: how keys and
 * values enter their cache. A row is all that follows the first dimension; of equal ids the
 * later one stays. */
#include "ops/ids.h"
#include "ops/ops.h"

enum { STATE, X, IDS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, STATE));
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_rank_between(call, STATE, 2, HN_MAX_RANK));
    const hn_type *state = &call->in[STATE]->type;
    HN_TRY(hn_expect_rank(call, X, state->rank));
    for (int i = 1; i < state->rank; i++)
        HN_TRY(hn_expect_dim(call, X, i, state->dim[i]));
    HN_TRY(hn_expect_integer(call, IDS));
    HN_TRY(hn_expect_vector(call, IDS, call->in[X]->type.dim[0]));
    *out = *state;
    hn_type_pack(out);
    return HN_OK;
}

static hn_status check(const hn_call *call)
{
    return hn_check_ids(call, IDS, 0, call->in[STATE]->type.dim[0]);
}

static void forward(const hn_call *call)
{
    const hn_tensor *state = call->in[STATE], *x = call->in[X], *y = call->out[0];
    const int64_t n = x->type.dim[0], width = hn_count(&x->type) / n;
    if (y->data != state->data)
        hn_tensor_copy(y, state);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < width; j++)
            hn_set(y, hn_get_int(call->in[IDS], i) * width + j, hn_get(x, i * width + j));
}

static const char *const cases[] = { "f32[3,4] f32[1,4] i32[1]{0:3}",
                                     "f32[9,7] f32[5,7] i32[5]{perm}",
                                     "f16[8,2,16] f32[4,2,16] i32[4]{0:8}",
                                     "bf16[5,33] bf16[2,33] i32[2]{iota}", NULL };
/* clang-format off */
const hn_op hn_op_set_rows = {
    .name = "set_rows", .summary = "state with rows ids = x", .inputs = "state! x ids!",
    .infer = infer, .forward = forward, .no_gradient = "a state", .check = check,
    .updates = { HN_INPUT(STATE) }, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_set_rows(hn_graph *g, hn_node *state, hn_node *x, hn_node *ids)
{
    return HN_APPLY(g, &hn_op_set_rows, NULL, state, x, ids);
}
