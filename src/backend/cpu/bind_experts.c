/* Products of a mixture of experts. Phase 0 sorts the choices by expert, in order of tokens; then
 * each expert is a unit: its rows are gathered, multiplied in blocks, and scattered back. Where the
 * choices of a token share one row of dx, one phase a choice keeps their chain in order.
 *
 *     shared:  | first choice of each expert (and one past the last), for each round | choices |
 *
 * In whole numbers, rows of x are rounded to blocks in a phase of their own after the sorting, and lie in its order: an expert's are
 * one piece. Units are parts of what all columns of all experts cost, so that no thread has the popular ones alone:
 *
 *     shared:  | first choice of each expert | choices | place of each choice | rows in blocks |
 *
 *     unit     |    0    |    1    |    2    |    3    |
 *     expert   |0     |1           |2|3          |4    |      those without rows cost nothing */
#include "backend/cpu/products.h"
#include "backend/cpu/strips.h"
#include "ops/attrs.h"

#include <string.h>

enum { BLOCK = 128 }; /* rows multiplied at a time, by weights that are packed again for each */
enum { UNITS = 256 }; /* at most: more than threads can be told apart by */
enum { TURNED = 8 };  /* rows that take as long as weights that are unpacked for them */
enum { IDS = 2 };    /* of all four ops */

typedef struct choices {
    int64_t n_expert, n_used, n, rounds;
    int32_t *first; /* [rounds][n_expert + 1] */
    int32_t *choice;
    int32_t *place; /* where a choice is in that order */
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
    c.place = c.choice + c.n;
    return c;
}

static size_t choices_bytes(const hn_call *call)
{
    const choices c = choices_of(call, NULL);
    return (size_t)(c.rounds * (c.n_expert + 1) + (is_int8(call) ? 2 : 1) * c.n) * sizeof(int32_t);
}

/* Rows of x in blocks, one for each choice, behind the choices. */
static hn_int8_rows rows_in_blocks(const hn_call *call, char *shared)
{
    return hn_int8_rows_in(shared + hn_round_scratch(choices_bytes(call)), hn_count(&call->in[IDS]->type), hn_last_dim(&call->in[0]->type));
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

static void copy_blocks(const hn_int8_rows *rows, int64_t from, int64_t to, int64_t k)
{
    const hn_int8_rows x = hn_int8_rows_from(rows, from, 0), y = hn_int8_rows_from(rows, to, 0);
    const size_t blocks = (size_t)(k / HN_INT8_BLOCK);
    memcpy(y.q, x.q, (size_t)k);
    memcpy(y.d, x.d, blocks * sizeof *y.d);
    memcpy(y.less, x.less, blocks * sizeof *y.less);
    memcpy(y.sum, x.sum, 2 * blocks * sizeof *y.sum);
}

/* A row of x, to the places of all choices that take it. One that none takes is looked at all the same, `apart`. */
static void round_row(const hn_cpu_task *task, const choices *c, int64_t row, const hn_int8_rows *apart)
{
    const hn_tensor *x = task->call->in[0];
    const hn_int8_rows rows = rows_in_blocks(task->call, task->shared);
    const int64_t each = x->type.rank == 3 ? 1 : c->n_used;
    int64_t first = -1;
    for (int64_t choice = row * each; choice < (row + 1) * each; choice++) {
        const int64_t place = c->place[choice];
        if (place < 0)
            continue;
        if (first >= 0) {
            copy_blocks(&rows, first, place, hn_last_dim(&x->type));
            continue;
        }
        const hn_int8_rows to = hn_int8_rows_from(&rows, place, 0);
        hn_cpu_int8_row(task, x, row, &to);
        first = place;
    }
    if (first < 0)
        hn_cpu_int8_row(task, x, row, apart);
}

static int64_t rows_of_expert(const choices *c, int64_t expert) { return c->first[expert + 1] - c->first[expert]; }

static int64_t groups_of(const hn_call *call) { return (hn_last_dim(&call->out[0]->type) + HN_INT8_COLUMNS - 1) / HN_INT8_COLUMNS; }

/* What a group of columns costs, in rows. */
static int64_t cost_of(const choices *c, int64_t expert)
{
    const int64_t rows = rows_of_expert(c, expert);
    return rows ? rows + TURNED : 0;
}

static int64_t cost_of_all(const hn_call *call, const choices *c)
{
    int64_t cost = 0;
    for (int64_t e = 0; e < c->n_expert; e++)
        cost += cost_of(c, e);
    return cost * groups_of(call);
}

/* As many as there are groups, or so many that they are worth telling apart; one where nothing is multiplied, for rows of zeros. */
static int64_t units_int8(const hn_call *call, const choices *c)
{
    int64_t groups = 0;
    for (int64_t e = 0; e < c->n_expert && groups < UNITS; e++)
        groups += rows_of_expert(c, e) ? groups_of(call) : 0;
    return groups < 1 ? 1 : groups < UNITS ? groups : UNITS;
}

/* Groups [first, end) of columns of an expert, all of its rows. Scratch of a thread is a block of y, and what products take. */
static void run_groups(const hn_cpu_task *task, const choices *c, int64_t expert, int64_t first, int64_t end, char *scratch)
{
    const hn_call *call = task->call;
    const hn_tensor *y = call->out[0], w = matrix_of(call->in[1], expert);
    const int64_t n = hn_last_dim(&y->type), column = first * HN_INT8_COLUMNS;
    const int64_t past = end * HN_INT8_COLUMNS < n ? end * HN_INT8_COLUMNS : n;
    const hn_int8_rows rows_of_x = rows_in_blocks(call, task->shared);
    float *to = (float *)(void *)scratch;
    char *room = scratch + hn_round_scratch((size_t)(BLOCK * n) * sizeof(float));
    for (int32_t at = c->first[expert]; at < c->first[expert + 1]; at += BLOCK) {
        const int32_t rest = c->first[expert + 1] - at, rows = rest < BLOCK ? rest : BLOCK;
        hn_int8_args a = hn_cpu_int8_weights(&w);
        a.rows = rows;
        a.x = hn_int8_rows_from(&rows_of_x, at, 0);
        a.y = to;
        hn_int8_run(&task->cpu->kernels.int8, &a, first, end, room);
        for (int32_t i = 0; i < rows; i++)
            scatter(task, y, row_of(y, c->choice[at + i], c->n_used), to + i * n, column, past - column);
    }
}

/* The first group of an expert that begins `at` or later, where the expert begins at 0. */
static int64_t group_from(int64_t at, int64_t cost, int64_t groups)
{
    const int64_t group = at <= 0 ? 0 : (at + cost - 1) / cost;
    return group < groups ? group : groups;
}

/* Units [begin, end) of `units`: groups that begin in that part of the cost. */
static void run_parts(const hn_cpu_task *task, const choices *c, int64_t begin, int64_t end, char *scratch)
{
    const int64_t all = cost_of_all(task->call, c), groups = groups_of(task->call), units = units_int8(task->call, c);
    const int64_t from = (begin * all + units - 1) / units, to = (end * all + units - 1) / units;
    int64_t at = 0;
    for (int64_t e = 0; e < c->n_expert && at < to; e++) {
        const int64_t cost = cost_of(c, e);
        if (!cost)
            continue;
        const int64_t first = group_from(from - at, cost, groups), past = group_from(to - at, cost, groups);
        if (first < past)
            run_groups(task, c, e, first, past, scratch);
        at += cost * groups;
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
                              (size_t)hn_count(&call->in[IDS]->type) * hn_int8_row_bytes(k);
        const size_t product = hn_round_scratch((size_t)(BLOCK * n) * sizeof(float)) + hn_int8_scratch_bytes();
        out->thread_scratch = product > hn_int8_row_bytes(k) ? product : hn_int8_row_bytes(k);
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
    return is_int8(task->call) ? units_int8(task->call, &c) : c.n_expert;
}

/* Rows that no expert writes. */
static void put_zeros(const hn_call *call, int64_t n)
{
    const int32_t *ids = call->in[IDS]->data;
    const hn_tensor *y = call->out[0];
    const size_t row = (size_t)hn_last_dim(&y->type) * hn_dtype_bytes(y->type.dtype);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0)
            memset((char *)y->data + (size_t)i * row, 0, row);
}

static void start_int8(const choices *c)
{
    memset(c->place, -1, (size_t)c->n * sizeof *c->place);
    for (int32_t at = 0; at < c->first[c->n_expert]; at++)
        c->place[c->choice[at]] = at;
}

/* A shared row starts from zero. */
static void start(const hn_cpu_task *task, const choices *c)
{
    const hn_call *call = task->call;
    const int32_t *ids = call->in[IDS]->data;
    int32_t next = 0;
    for (int64_t round = 0; round < c->rounds; round++)
        sort_round(c, ids, round, &next);
    if (is_int8(call))
        start_int8(c);
    else if (shares_rows(call))
        memset(call->out[0]->data, 0, hn_type_bytes(&call->out[0]->type));
    else if (!is_outer(call))
        put_zeros(call, c->n);
}

static void run_int8(const hn_cpu_task *task, const choices *c, int phase, int64_t begin, int64_t end, int thread)
{
    char *scratch = hn_cpu_scratch(task, thread);
    const hn_int8_rows apart = hn_int8_rows_in(scratch, 1, hn_last_dim(&task->call->in[0]->type));
    for (int64_t row = begin; phase == 1 && row < end; row++)
        round_row(task, c, row, &apart);
    if (phase == 2 && begin == 0)
        put_zeros(task->call, c->n);
    if (phase == 2)
        run_parts(task, c, begin, end, scratch);
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const choices c = choices_of(task->call, task->shared);
    if (phase == 0) {
        start(task, &c);
        return;
    }
    if (is_int8(task->call)) {
        run_int8(task, &c, phase, begin, end, thread);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++)
        if (is_outer(task->call))
            sum_expert(task, &c, unit, hn_cpu_scratch(task, thread));
        else
            run_expert(task, &c, phase - 1, unit, hn_cpu_scratch(task, thread));
}

#define HN_BIND_EXPERTS(name, rows, by)                                                        \
    const hn_cpu_binding hn_cpu_##name = { .op = &hn_op_##name, .supports = supports,          \
                                           .phases = phases, .units = units, .run = run, \
                                           .rows_phase = rows, .rows_by = by, .sees_rows = true };
HN_BIND_EXPERTS(linear_id, 0, 0)
HN_BIND_EXPERTS(linear_id_back, 0, 0)
HN_BIND_EXPERTS(linear_id_int8, 2, IDS)
HN_BIND_EXPERTS(outer_id, 0, 0)
