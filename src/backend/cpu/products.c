/* Phases: the product; then, for a narrow result, its rounding. A sum that goes on from elsewhere is
 * copied into place first. */
#include "backend/cpu/products.h"

#include "backend/cpu/panel16.h"
#include "backend/cpu/strips.h"

#include <math.h>
#include <string.h>

/* One more than the kernels' number of a type; 0: they have none. */
#define HN_ELEM_OF_none(dtype, name)
#define HN_ELEM_OF_decoded(dtype, name) [dtype] = 1 + HN_ELEM_##name,
#define HN_ELEM_OF_walks(dtype, name) [dtype] = 1 + HN_ELEM_##name,
static const uint8_t elem_of[HN_N_DTYPES] = {
#define HN_SCALAR(upper, name, gguf, id, safetensors, bytes, kind, kernels, panel) HN_ELEM_OF_##kernels(HN_##upper, name)
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) HN_ELEM_OF_##kernels(HN_TYPE_##name, name)
#include "quant/types.def"
};

bool hn_cpu_elem(hn_dtype dtype, hn_elem *out)
{
    const int elem = elem_of[dtype];
    if (elem)
        *out = (hn_elem)(elem - 1);
    return elem != 0;
}

bool hn_cpu_has_rows(const hn_type *t)
{
    if (t->rank == 0)
        return true;
    if (hn_last_dim(t) != 1 && t->stride[t->rank - 1] != (int64_t)hn_dtype_bytes(t->dtype))
        return false;
    return t->rank <= 2 || hn_is_contiguous(t);
}

static int64_t row_bytes(const hn_type *t)
{
    if (t->rank == 2)
        return t->stride[0];
    return hn_last_dim(t) / hn_dtype_block(t->dtype) * (int64_t)hn_dtype_bytes(t->dtype);
}

static hn_gemm_operand operand(const hn_tensor *t, int64_t outer, int64_t summed, bool rows_are_k)
{
    hn_gemm_operand x = { .data = t->data, .outer_stride = outer, .k_stride = summed,
                          .is_panel16 = t->type.layout == &hn_layout_panel16,
                          .rows_are_k = rows_are_k, .row_elems = hn_last_dim(&t->type) };
    hn_cpu_elem(t->type.dtype, &x.type);
    if (x.is_panel16)
        x.lowest = hn_panel16_lowest(x.type, t->type.dim[t->type.rank - 2], x.row_elems, x.data);
    return x;
}

/* Along blocks the kernels want a stride of 0. */
static int64_t along(const hn_type *t)
{
    return hn_is_block(t->dtype) ? 0 : (int64_t)hn_dtype_bytes(t->dtype);
}

hn_gemm_operand hn_cpu_rows_outer(const hn_tensor *t)
{
    return operand(t, row_bytes(&t->type), along(&t->type), false);
}

hn_gemm_operand hn_cpu_rows_summed(const hn_tensor *t)
{
    return operand(t, along(&t->type), row_bytes(&t->type), true);
}

size_t hn_cpu_product_shared(const hn_type *out)
{
    return out->dtype == HN_F32 ? 0 : (size_t)hn_count(out) * sizeof(float);
}

static bool is_narrow(const hn_cpu_product *p)
{
    return p->out->type.dtype != HN_F32;
}

static bool needs_copy(const hn_cpu_product *p)
{
    return p->acc && p->acc->data != p->out->data;
}

int hn_cpu_product_phases(const hn_cpu_product *p)
{
    return 1 + needs_copy(p) + is_narrow(p);
}

static void make_plan(const hn_cpu_task *task, const hn_cpu_product *p, hn_gemm_plan *plan)
{
    hn_gemm_args args = p->args;
    args.c = is_narrow(p) ? (void *)task->shared : p->out->data;
    args.c_row_stride = args.n * (int64_t)sizeof(float);
    args.c_col_stride = sizeof(float);
    args.accumulate = p->acc != NULL;
    hn_gemm_plan_make(plan, &task->cpu->kernels.gemm, &args, task->cpu->device.n_threads);
}

int64_t hn_cpu_product_units(const hn_cpu_task *task, const hn_cpu_product *p, int phase)
{
    if (needs_copy(p) && phase == 0)
        return p->args.m;
    if (phase == needs_copy(p)) {
        hn_gemm_plan plan;
        make_plan(task, p, &plan);
        return plan.units;
    }
    return p->args.m;
}

void hn_cpu_product_run(const hn_cpu_task *task, const hn_cpu_product *p, int phase, int64_t begin,
                        int64_t end, int thread)
{
    const int64_t n = p->args.n;
    if (needs_copy(p) && phase == 0) {
        memcpy((float *)p->out->data + begin * n, (const float *)p->acc->data + begin * n,
               (size_t)((end - begin) * n) * sizeof(float));
        return;
    }
    if (phase == needs_copy(p)) {
        hn_gemm_plan plan;
        make_plan(task, p, &plan);
        hn_gemm_run(&plan, begin, end, hn_cpu_scratch(task, thread));
        return;
    }
    const size_t bytes = hn_dtype_bytes(p->out->type.dtype);
    hn_strip_narrow(task->cpu, p->out->type.dtype, (const float *)(void *)task->shared + begin * n,
                    (end - begin) * n, (char *)p->out->data + (size_t)(begin * n) * bytes);
}

/* ---- in whole numbers ---- */

hn_int8_args hn_cpu_int8_weights(const hn_tensor *w)
{
    hn_int8_args a = { .n = w->type.dim[0], .k = w->type.dim[1], .w = w->data, .stride = row_bytes(&w->type),
                       .is_panel16 = w->type.layout == &hn_layout_panel16 };
    hn_cpu_elem(w->type.dtype, &a.type);
    return a;
}

void hn_cpu_int8_row(const hn_cpu_task *task, const hn_tensor *x, int64_t row, const hn_int8_rows *to)
{
    const int64_t k = hn_last_dim(&x->type), blocks = k / HN_INT8_BLOCK;
    task->cpu->kernels.int8.quantise(k, (const float *)x->data + row * k, to);
    int64_t b = 0;
    while (b < blocks && !isnan(to->d[b]))
        b++;
    if (b < blocks)
        hn_cpu_refuse_row(task, row);
}

void hn_cpu_int8_rows(const hn_cpu_task *task, const hn_tensor *x, const hn_int8_rows *to, int64_t begin, int64_t end)
{
    for (int64_t row = begin; row < end; row++) {
        const hn_int8_rows own = hn_int8_rows_from(to, row, 0);
        hn_cpu_int8_row(task, x, row, &own);
    }
}
