#include "tests/far/layout.h"

#include "backend/cpu/panel16.h"
#include "base/half.h"
#include "kernels/gemm/rows.h"
#include "tests/far/process.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 64 }; /* bytes */

static int64_t row_bytes(const hn_type *type, hn_dtype dtype)
{
    return hn_last_dim(type) / hn_dtype_block(dtype) * (int64_t)hn_dtype_bytes(dtype);
}

static int64_t matrix_bytes(const hn_type *type)
{
    return HEAD + type->dim[type->rank - 2] * row_bytes(type, type->dtype);
}

static int64_t place_of(const hn_type *type, int64_t row)
{
    const int64_t rows = type->dim[type->rank - 2];
    return row / rows * matrix_bytes(type) + HEAD + (rows - 1 - row % rows) * row_bytes(type, type->dtype);
}

static bool takes(hn_dtype dtype)
{
    return hn_is_block(dtype) || dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16;
}

static void turn(const void *from, void *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ((unsigned char *)to)[i] = (unsigned char)~((const unsigned char *)from)[i];
}

static void pack(const hn_type *type, const hn_plain_rows *from, void *packed, int64_t first, int64_t end)
{
    const int64_t rows = type->dim[type->rank - 2], n = hn_last_dim(type), given = row_bytes(type, from->dtype);
    for (int64_t row = first; row < end; row++) {
        const int64_t lies = row / rows * rows + hn_gemm_row(from->pairs, row % rows);
        const char *plain = (const char *)from->data + lies * given;
        char *to = (char *)packed + place_of(type, row);
        if (from->dtype == type->dtype) {
            turn(plain, to, given);
            continue;
        }
        const hn_type one = { .dtype = from->dtype, .rank = 1, .dim = { n }, .stride = { (int64_t)hn_dtype_bytes(from->dtype) } };
        const hn_tensor wide = { .type = one, .data = (void *)(uintptr_t)plain };
        for (int64_t i = 0; i < n; i++) {
            const uint16_t half = hn_f32_to_bf16((float)hn_get(&wide, i));
            turn(&half, to + 2 * i, 2);
        }
    }
}

static void row(const hn_type *type, const void *packed, int64_t row, int64_t from, int64_t n, void *plain)
{
    const int64_t block = hn_dtype_block(type->dtype), bytes = (int64_t)hn_dtype_bytes(type->dtype);
    turn((const char *)packed + place_of(type, row) + from / block * bytes, plain, n / block * bytes);
}

static const hn_layout own = {
    .name = "far", .rows = 1, .takes = takes, .matrix_bytes = matrix_bytes, .pack = pack, .row = row
};

const hn_layout *const far_layouts[] = { &own, &hn_layout_panel16, NULL };

/* Mixed: by element type, and two that stand side by side in a list disagree about each. */
const hn_layout *far_preferred(int number, hn_dtype dtype, int rank)
{
    const far_taste taste = far_all.taste == FAR_MIXED ? (far_taste)(((int)dtype + number) % FAR_MIXED) : far_all.taste;
    const hn_layout *layout = taste == FAR_OWN ? &own : taste == FAR_PANEL16 ? &hn_layout_panel16 : NULL;
    return hn_layout_takes(layout, dtype, rank) ? layout : NULL;
}

static void *rows_of(const hn_tensor *packed, const hn_type *plain)
{
    void *rows = malloc(hn_type_bytes(plain));
    if (!rows)
        abort();
    const hn_tensor to = hn_tensor_at(plain, rows);
    hn_tensor_copy(&to, packed);
    return rows;
}

unsigned far_shown(const hn_call *call, hn_tensor in[HN_MAX_IN], hn_call *shown)
{
    unsigned packed = 0;
    *shown = *call;
    for (int i = 0; i < call->n_in; i++) {
        if (!call->in[i] || call->in[i]->type.layout != &own || !hn_op_reads(call->op, i))
            continue;
        const hn_type plain = hn_type_plain(&call->in[i]->type);
        in[i] = hn_tensor_at(&plain, call->in[i]->data ? rows_of(call->in[i], &plain) : NULL);
        shown->in[i] = &in[i];
        packed |= HN_IN(i);
    }
    return packed;
}

void far_shown_free(unsigned packed, const hn_tensor in[HN_MAX_IN])
{
    for (int i = 0; i < HN_MAX_IN; i++)
        if (packed & HN_IN(i))
            free(in[i].data);
}
