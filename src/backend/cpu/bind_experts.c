/* Products of a mixture of experts. Phase 0 sorts the choices by expert, in order of tokens; then
 * each expert is a unit: its rows are gathered, multiplied in blocks, and scattered back. In whole numbers an expert of few rows is
 * several units, some columns each, and one without rows is none: else four experts of a token would not share out. Where the
 * choices of a token share one row of dx, one phase a choice keeps their chain in order.
 *
 *     shared:  | first choice of each expert (and one past the last), for each round | choices | rows in blocks |
 *
 * In whole numbers, rows of x are rounded to blocks in a phase of their own after the sorting. */
#include "backend/cpu/products.h"
#include "backend/cpu/strips.h"
#include "ops/attrs.h"

#include <string.h>

enum { BLOCK = 128 }; /* rows multiplied at a time, by weights that are packed again for each */
enum { PART = 2 * HN_INT8_COLUMNS };
enum { IDS = 2 };    /* of all four ops */

typedef struct choices {
    int64_t n_expert, n_used, n, rounds;
    int32_t *first; /* [rounds][n_expert + 1] */
    int32_t *choice;
} choices;

static bool is_outer(const hn_call *call)
{
    return call->op == &hn_op_outer_id;
}

static bool is_int8(const hn_call *call)
{
    return call->op == &hn_op_linear_id_int8;
}

static bool shares_rows(const hn_call *call)
{
    return call->op == &hn_op_linear_id_back && call->out[0]->type.rank == 2;
}

static choices choices_of(const hn_call *call, char *shared)
{
    const hn_type *ids = &call->in[IDS]->type;
    const int64_t n_expert = is_outer(call) ? call->out[0]->type.dim[0] : call->in[1]->type.dim[0];
    choices c = { .n_expert = n_expert, .n_used = ids->dim[1], .n = hn_count(ids),
                  .rounds = shares_rows(call) ? ids->dim[1] : 1 };
    c.first = (int32_t *)(void *)shared;
    c.choice = c.first + c.rounds * (n_expert + 1);
    return c;
}

static size_t choices_bytes(const hn_call *call)
{
    const choices c = choices_of(call, NULL);
    return (size_t)(c.rounds * (c.n_expert + 1) + c.n) * sizeof(int32_t);
}

/* Rows of x in blocks, behind the choices. */
static hn_int8_rows rows_in_blocks(const hn_call *call, char *shared)
{
    const hn_type *x = &call->in[0]->type;
    return hn_int8_rows_in(shared + hn_round_scratch(choices_bytes(call)), hn_rows(x), hn_last_dim(x));
}

/* A counting sort: ascending expert, then ascending choice. */
static void sort_round(const choices *c, const int32_t *ids, int64_t round, int32_t *next)
{
    int32_t *first = c->first + round * (c->n_expert + 1);
    const int64_t step = c->rounds, start = c->rounds > 1 ? round : 0;
    memset(first, 0, (size_t)(c->n_expert + 1) * sizeof *first);
    for (int64_t i = start; i < c->n; i += step)
        if (ids[i] >= 0)
            first[ids[i] + 1]++;
    first[0] = *next;
    for (int64_t e = 0; e < c->n_expert; e++)
        first[e + 1] += first[e];
    for (int64_t i = start; i < c->n; i += step)
        if (ids[i] >= 0)
            c->choice[first[ids[i]]++] = (int32_t)i;
    for (int64_t e = c->n_expert; e > 0; e--) /* each start has moved to its end: move back */
        first[e] = first[e - 1];
    first[0] = *next;
    *next = first[c->n_expert];
}

/* ---- rows ---- */

static void gather(const hn_cpu_task *task, const hn_tensor *t, int64_t row, float *to)
{
    const int64_t n = hn_last_dim(&t->type);
    const char *from = (const char *)t->data + (size_t)(row * n) * hn_dtype_bytes(t->type.dtype);
    const float *wide = hn_strip_widen(task->cpu, t->type.dtype, from, n, to);
    if (wide != to)
        memcpy(to, wide, (size_t)n * sizeof(float));
}

/* Elements [first, first + n) of a row, which begins at `from`. */
static void scatter(const hn_cpu_task *task, const hn_tensor *t, int64_t row, const float *from, int64_t first, int64_t n)
{
    const size_t bytes = hn_dtype_bytes(t->type.dtype);
    char *to = (char *)t->data + (size_t)(row * hn_last_dim(&t->type) + first) * bytes;
    if (t->type.dtype == HN_F32)
        memcpy(to, from + first, (size_t)n * bytes);
    else
        hn_strip_narrow(task->cpu, t->type.dtype, from + first, n, to);
}

/* Row of `t` for a choice: a row of its own, or its token's. */
static int64_t row_of(const hn_tensor *t, int32_t choice, int64_t n_used)
{
    return t->type.rank == 3 ? choice : choice / n_used;
}

static hn_tensor matrix_of(const hn_tensor *w, int64_t expert)
{
    hn_type type = w->type;
    for (int i = 0; i < 2; i++) {
        type.dim[i] = w->type.dim[i + 1];
        type.stride[i] = w->type.stride[i + 1];
    }
    type.rank = 2;
    return hn_tensor_at(&type, (char *)w->data + expert * w->type.stride[0]);
}

static hn_gemm_operand block_operand(const float *rows, int64_t width, bool is_summed)
{
    const int64_t row = width * (int64_t)sizeof(float), element = sizeof(float);
    return (hn_gemm_operand){ .data = rows, .outer_stride = is_summed ? element : row,
                              .k_stride = is_summed ? row : element, .type = HN_ELEM_f32 };
}

static void multiply(const hn_cpu_task *task, hn_gemm_args args, float *c, void *scratch)
{
    hn_gemm_plan plan;
    args.c = c;
    args.c_row_stride = args.n * (int64_t)sizeof(float);
    args.c_col_stride = sizeof(float);
    hn_gemm_plan_make(&plan, &task->cpu->kernels.gemm, &args, 1);
    hn_gemm_run(&plan, 0, plan.units, scratch);
}

/* ---- linear_id and linear_id_back ---- */

/* Of up to BLOCK rows, [rows, k] at `from`. */
static hn_gemm_args product(const hn_call *call, int64_t rows, const float *from, const hn_tensor *w)
{
    const int64_t k = hn_last_dim(&call->in[0]->type);
    return (hn_gemm_args){
        .m = rows, .n = hn_last_dim(&call->out[0]->type), .k = k, .accumulate = shares_rows(call),
        .blocks = ((const linear_id_attrs *)call->attrs)->sums == HN_SUMS_BLOCKS,
        .a = block_operand(from, k, false),
        .b = call->op == &hn_op_linear_id_back ? hn_cpu_rows_summed(w) : hn_cpu_rows_outer(w),
    };
}

static void run_expert(const hn_cpu_task *task, const choices *c, int64_t round, int64_t expert,
                       char *scratch)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[0], *y = call->out[0];
    const hn_tensor w = matrix_of(call->in[1], expert);
    const bool shared_rows = shares_rows(call);
    const int64_t k = hn_last_dim(&x->type), n = hn_last_dim(&y->type);
    const int32_t *first = c->first + round * (c->n_expert + 1);
    float *from = (float *)(void *)scratch, *to = from + BLOCK * k;
    void *room = scratch + hn_round_scratch((size_t)(BLOCK * (k + n)) * sizeof(float));
    for (int32_t at = first[expert]; at < first[expert + 1]; at += BLOCK) {
        const int32_t rows = first[expert + 1] - at < BLOCK ? first[expert + 1] - at : BLOCK;
        for (int32_t i = 0; i < rows; i++) {
            gather(task, x, row_of(x, c->choice[at + i], c->n_used), from + i * k);
            if (shared_rows)
                gather(task, y, row_of(y, c->choice[at + i], c->n_used), to + i * n);
        }
        multiply(task, product(call, rows, from, &w), to, room);
        for (int32_t i = 0; i < rows; i++)
            scatter(task, y, row_of(y, c->choice[at + i], c->n_used), to + i * n, 0, n);
    }
}

/* ---- linear_id_int8 ---- */

/* Columns [first, end) of an expert, all of its rows. */
typedef struct part {
    int64_t expert, first, end;
} part;

static int64_t rows_of_expert(const choices *c, int64_t expert) { return c->first[expert + 1] - c->first[expert]; }

/* Parts of an expert with so many rows. */
static int64_t parts_of_expert(int64_t rows, int64_t n)
{
    return rows == 0 ? 0 : rows > HN_GEMM_FEW ? 1 : (n + PART - 1) / PART;
}

static int64_t n_parts(const hn_call *call, const choices *c)
{
    int64_t parts = 0;
    for (int64_t e = 0; e < c->n_expert; e++)
        parts += parts_of_expert(rows_of_expert(c, e), hn_last_dim(&call->out[0]->type));
    return parts;
}

static part part_at(const hn_call *call, const choices *c, int64_t at)
{
    const int64_t n = hn_last_dim(&call->out[0]->type);
    int64_t e = 0, parts;
    for (; at >= (parts = parts_of_expert(rows_of_expert(c, e), n)); e++)
        at -= parts;
    return parts == 1 ? (part){ e, 0, n } : (part){ e, at * PART, at * PART + PART < n ? at * PART + PART : n };
}

/* One row of blocks beside others of another order. */
static void gather_blocks(const hn_int8_rows *from, int64_t row, int64_t k, const hn_int8_rows *to, int64_t at)
{
    const hn_int8_rows x = hn_int8_rows_from(from, row, 0), y = hn_int8_rows_from(to, at, 0);
    const size_t blocks = (size_t)(k / HN_INT8_BLOCK);
    memcpy(y.q, x.q, (size_t)k);
    memcpy(y.d, x.d, blocks * sizeof *y.d);
    memcpy(y.less, x.less, blocks * sizeof *y.less);
    memcpy(y.sum, x.sum, 2 * blocks * sizeof *y.sum);
}

static void run_expert_int8(const hn_cpu_task *task, const choices *c, int64_t at_part, char *scratch)
{
    const part p = part_at(task->call, c, at_part);
    const int64_t expert = p.expert;
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[0], *y = call->out[0];
    const hn_tensor w = matrix_of(call->in[1], expert);
    const int64_t k = hn_last_dim(&x->type), n = hn_last_dim(&y->type);
    const hn_int8_rows rows_of_x = rows_in_blocks(call, task->shared), own = hn_int8_rows_in(scratch, BLOCK, k);
    char *room = scratch + hn_round_scratch(BLOCK * hn_int8_row_bytes(k));
    float *to = (float *)(void *)room;
    room += hn_round_scratch((size_t)(BLOCK * n) * sizeof(float));
    for (int32_t at = c->first[expert]; at < c->first[expert + 1]; at += BLOCK) {
        const int32_t rest = c->first[expert + 1] - at, rows = rest < BLOCK ? rest : BLOCK;
        for (int32_t i = 0; i < rows; i++)
            gather_blocks(&rows_of_x, row_of(x, c->choice[at + i], c->n_used), k, &own, i);
        hn_int8_args a = hn_cpu_int8_weights(&w);
        a.rows = rows;
        a.x = own;
        a.y = to;
        hn_int8_run(&task->cpu->kernels.int8, &a, p.first / HN_INT8_COLUMNS, (p.end + HN_INT8_COLUMNS - 1) / HN_INT8_COLUMNS, room);
        for (int32_t i = 0; i < rows; i++)
            scatter(task, y, row_of(y, c->choice[at + i], c->n_used), to + i * n, p.first, p.end - p.first);
    }
}

/* ---- outer_id ---- */

static void sum_expert(const hn_cpu_task *task, const choices *c, int64_t expert, char *scratch)
{
    const hn_call *call = task->call;
    const hn_tensor *dy = call->in[0], *x = call->in[1], *acc = call->in[4];
    const int64_t n = hn_last_dim(&dy->type), k = hn_last_dim(&x->type);
    const size_t bytes = (size_t)(n * k) * sizeof(float);
    float *sum = (float *)call->out[0]->data + expert * n * k;
    if (!acc)
        memset(sum, 0, bytes);
    else if (acc->data != call->out[0]->data)
        memcpy(sum, (const float *)acc->data + expert * n * k, bytes);
    float *left = (float *)(void *)scratch, *right = left + BLOCK * n;
    void *room = scratch + hn_round_scratch((size_t)(BLOCK * (k + n)) * sizeof(float));
    for (int32_t at = c->first[expert]; at < c->first[expert + 1]; at += BLOCK) {
        const int32_t rest = c->first[expert + 1] - at, rows = rest < BLOCK ? rest : BLOCK;
        for (int32_t i = 0; i < rows; i++) {
            gather(task, dy, c->choice[at + i], left + i * n);
            gather(task, x, row_of(x, c->choice[at + i], c->n_used), right + i * k);
        }
        const hn_gemm_args args = { .m = n, .n = k, .k = rows, .accumulate = true,
                                    .a = block_operand(left, n, true),
                                    .b = block_operand(right, k, true) };
        multiply(task, args, sum, room);
    }
}

/* ---- the bindings ---- */

static bool is_float_type(hn_dtype dtype)
{
    return dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16;
}

static size_t product_scratch(const hn_cpu *cpu, const hn_call *call)
{
    if (is_outer(call))
        return hn_gemm_chain_scratch_bytes(&cpu->kernels.gemm);
    const hn_tensor any = matrix_of(call->in[1], 0);
    const hn_gemm_args largest = product(call, BLOCK, NULL, &any);
    return hn_gemm_scratch_bytes(&cpu->kernels.gemm, &largest);
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    hn_elem elem;
    if (!is_float_type(call->in[0]->type.dtype) || !hn_cpu_elem(call->in[1]->type.dtype, &elem) ||
        !is_float_type(call->out[0]->type.dtype))
        return false;
    if (is_int8(call) && (call->in[0]->type.dtype != HN_F32 || !hn_int8_formats[elem].kind))
        return false;
    if (is_outer(call) ? !is_float_type(call->in[1]->type.dtype)
                       : shares_rows(call) && call->out[0]->type.dtype != HN_F32)
        return false;
    out->contiguous = HN_IN(0) | HN_IN(1) | HN_IN(2);
    if (is_outer(call))
        out->contiguous |= HN_IN(4);
    else
        out->packed = HN_IN(1);
    const int64_t k = hn_last_dim(&call->in[0]->type);
    const int64_t n = hn_last_dim(is_outer(call) ? &call->in[1]->type : &call->out[0]->type);
    out->shared_scratch = choices_bytes(call);
    if (is_int8(call)) {
        out->shared_scratch = hn_round_scratch(out->shared_scratch) +
                              (size_t)hn_rows(&call->in[0]->type) * hn_int8_row_bytes(k);
        out->thread_scratch = hn_round_scratch(BLOCK * hn_int8_row_bytes(k)) +
                              hn_round_scratch((size_t)(BLOCK * n) * sizeof(float)) + hn_int8_scratch_bytes();
        return true;
    }
    out->thread_scratch = hn_round_scratch((size_t)(BLOCK * (k + n)) * sizeof(float)) + product_scratch(cpu, call);
    return true;
}

static int phases(const hn_cpu_task *task)
{
    return 1 + is_int8(task->call) + (int)choices_of(task->call, task->shared).rounds;
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    if (phase == 1 && is_int8(task->call))
        return hn_rows(&task->call->in[0]->type);
    if (phase == 0)
        return 1;
    const choices c = choices_of(task->call, task->shared);
    return is_int8(task->call) ? n_parts(task->call, &c) : c.n_expert;
}

/* Rows that no expert writes are zero; a shared row starts from zero. */
static void start(const hn_cpu_task *task, const choices *c)
{
    const hn_call *call = task->call;
    const int32_t *ids = call->in[IDS]->data;
    int32_t next = 0;
    for (int64_t round = 0; round < c->rounds; round++)
        sort_round(c, ids, round, &next);
    const hn_tensor *y = call->out[0];
    const size_t row = (size_t)hn_last_dim(&y->type) * hn_dtype_bytes(y->type.dtype);
    if (shares_rows(call))
        memset(y->data, 0, hn_type_bytes(&y->type));
    for (int64_t i = 0; !is_outer(call) && !shares_rows(call) && i < c->n; i++)
        if (ids[i] < 0)
            memset((char *)y->data + (size_t)i * row, 0, row);
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const choices c = choices_of(task->call, task->shared);
    if (phase == 0) {
        start(task, &c);
        return;
    }
    if (phase == 1 && is_int8(task->call)) {
        const hn_int8_rows to = rows_in_blocks(task->call, task->shared);
        hn_cpu_int8_rows(task, task->call->in[0], &to, begin, end);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++)
        if (is_int8(task->call))
            run_expert_int8(task, &c, unit, hn_cpu_scratch(task, thread));
        else if (is_outer(task->call))
            sum_expert(task, &c, unit, hn_cpu_scratch(task, thread));
        else
            run_expert(task, &c, phase - 1, unit, hn_cpu_scratch(task, thread));
}

#define HN_BIND_EXPERTS(name, rows)                                                            \
    const hn_cpu_binding hn_cpu_##name = { .op = &hn_op_##name, .supports = supports,          \
                                           .phases = phases, .units = units, .run = run, \
                                           .rows_phase = rows, .sees_rows = true };
HN_BIND_EXPERTS(linear_id, 0)
HN_BIND_EXPERTS(linear_id_back, 0)
HN_BIND_EXPERTS(linear_id_int8, 2)
HN_BIND_EXPERTS(outer_id, 0)
