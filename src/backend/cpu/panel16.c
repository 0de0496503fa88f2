/* The kernels' panels, for any number of matrices. */
#include "backend/cpu/panel16.h"

#include "backend/cpu/products.h"

enum { PANEL = 16 };

static bool takes(hn_dtype dtype)
{
    hn_elem elem;
    return hn_cpu_elem(dtype, &elem);
}

static int64_t matrix_rows(const hn_type *type) { return type->dim[type->rank - 2]; }

static int64_t matrix_bytes(const hn_type *type)
{
    hn_elem elem = HN_ELEM_f32;
    hn_cpu_elem(type->dtype, &elem);
    return (int64_t)hn_panel16_bytes(elem, matrix_rows(type), hn_last_dim(type));
}

static void pack(const hn_type *type, const hn_plain_rows *from, void *packed, int64_t first, int64_t end)
{
    hn_elem elem = HN_ELEM_f32, given = HN_ELEM_f32;
    hn_cpu_elem(type->dtype, &elem);
    hn_cpu_elem(from->dtype, &given);
    const int64_t given_bytes = hn_elem_span(given, hn_last_dim(type));
    const int64_t rows = matrix_rows(type), panels = hn_layout_matrix_units(type), bytes = matrix_bytes(type);
    for (int64_t at = first; at < end; at++) {
        const int64_t matrix = at / panels, panel = at % panels;
        const char *plain = (const char *)from->data + matrix * rows * given_bytes;
        char *to = (char *)packed + matrix * bytes;
        if (given == elem)
            hn_panel16_pack(elem, rows, hn_last_dim(type), plain, given_bytes, from->pairs, to, panel, panel + 1);
        else
            hn_panel16_round(given, rows, hn_last_dim(type), plain, given_bytes, from->pairs, to, panel, panel + 1);
    }
}

static void row(const hn_type *type, const void *packed, int64_t row, int64_t from, int64_t n, void *plain)
{
    hn_elem elem = HN_ELEM_f32;
    hn_cpu_elem(type->dtype, &elem);
    const int64_t rows = matrix_rows(type);
    const char *matrix = (const char *)packed + row / rows * matrix_bytes(type);
    hn_panel16_row(elem, hn_last_dim(type), matrix, row % rows, from, n, plain);
}

const hn_layout hn_layout_panel16 = {
    .name = "panel16", .rows = PANEL, .takes = takes, .matrix_bytes = matrix_bytes, .pack = pack, .row = row
};
