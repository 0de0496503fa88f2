/* set_rows: a state with row ids[i] replaced by x[i], rounded to the state's type: how keys and
 * values enter their cache. A row is all that follows the first dimension; of equal ids the
 * later one stays. A state in blocks gets them encoded, block by block. */
#include "ops/ids.h"
#include "ops/ops.h"

#include <string.h>

enum { STATE, X, IDS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_dtype dtype = call->in[STATE]->type.dtype;
    if (!hn_is_block(dtype) || !hn_format_stores(hn_dtype_format(dtype)))
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

/* Elements [0, width) of row i of x, into row `row` of y. */
static void encode_row(const hn_tensor *x, const hn_tensor *y, int64_t width, int64_t i, int64_t row)
{
    enum { LARGEST_BLOCK = 256 };
    const hn_format *format = hn_dtype_format(y->type.dtype);
    float block[LARGEST_BLOCK];
    const int64_t n = format->block_elements, bytes = hn_format_bytes(format, width);
    for (int64_t at = 0; at < width; at += n) {
        for (int64_t j = 0; j < n; j++)
            block[j] = (float)hn_get(x, i * width + at + j);
        hn_format_store(format, block,
                        (char *)y->data + row * bytes + hn_format_bytes(format, at));
    }
}

static void forward(const hn_call *call)
{
    const hn_tensor *state = call->in[STATE], *x = call->in[X], *y = call->out[0];
    const int64_t n = x->type.dim[0], width = hn_count(&x->type) / n;
    if (y->data != state->data)
        hn_tensor_copy(y, state);
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = hn_get_int(call->in[IDS], i);
        if (hn_is_block(y->type.dtype))
            encode_row(x, y, width, i, row);
        else
            for (int64_t j = 0; j < width; j++)
                hn_set(y, row * width + j, hn_get(x, i * width + j));
    }
}

static const char *const cases[] = { "f32[3,4] f32[1,4] i32[1]{0:3}",
                                     "f32[9,7] f32[5,7] i32[5]{perm}",
                                     "f16[8,2,16] f32[4,2,16] i32[4]{0:8}",
                                     "bf16[5,33] bf16[2,33] i32[2]{iota}",
                                     "q8_0[5,2,64] f32[3,2,64] i32[3]{0:5}",
                                     "q4_0[9,1056] f32[4,1056] i32[4]{iota}", NULL };
/* clang-format off */
const hn_op hn_op_set_rows = {
    .name = "set_rows", .summary = "state with rows ids = x", .inputs = "state! x ids!",
    .infer = infer, .forward = forward, .no_gradient = "a state", .check = check, .checks = HN_IN(IDS),
    .updates = { HN_INPUT(STATE) }, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_set_rows(hn_graph *g, hn_node *state, hn_node *x, hn_node *ids)
{
    return HN_APPLY(g, &hn_op_set_rows, NULL, state, x, ids);
}
