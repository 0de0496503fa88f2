/* Which types have which layout, and the kernels' panels for any number of matrices. */
#include "graph/layout.h"

#include <string.h>

enum { PANEL = 16 };

static const char *const names[HN_N_LAYOUTS] = {
    [HN_LAYOUT_PLAIN] = "plain", [HN_LAYOUT_PANEL16] = "panel16"
};

const char *hn_layout_name(hn_layout layout)
{
    return (unsigned)layout < HN_N_LAYOUTS ? names[layout] : "?";
}

hn_status hn_layout_parse(const char *name, hn_layout *out)
{
    for (int i = 0; i < HN_N_LAYOUTS; i++)
        if (!strcmp(name, names[i])) {
            *out = (hn_layout)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_ARGUMENT, "layout '%.40s': expected plain or panel16", name);
}

bool hn_dtype_elem(hn_dtype dtype, hn_elem *out)
{
    static const char *const elems[] = {
#define HN_ELEM(name, elements, bytes, kernels, ...) #name,
#include "quant/types.def"
    };
    for (int i = 0; i < HN_N_ELEMS; i++)
        if (!strcmp(elems[i], hn_dtype_name(dtype))) {
            *out = (hn_elem)i;
            return true;
        }
    return false;
}

bool hn_layout_takes(hn_layout layout, hn_dtype dtype, int rank)
{
    hn_elem elem;
    return layout == HN_LAYOUT_PLAIN ||
           ((rank == 2 || rank == 3) && hn_dtype_elem(dtype, &elem));
}

hn_status hn_type_set_layout(hn_type *type, hn_layout layout)
{
    char text[HN_TYPE_TEXT];
    HN_REQUIRE(
        hn_layout_takes(layout, type->dtype, type->rank), HN_ERR_UNSUPPORTED,
        "%s cannot be packed as %s: expected a matrix, or one for each expert, of a type "
        "that kernels decode",
        hn_type_text(type, text), hn_layout_name(layout));
    HN_REQUIRE(layout == HN_LAYOUT_PLAIN || hn_type_bytes(type) < SIZE_MAX / 4 / PANEL,
               HN_ERR_SHAPE, "%s is too large for panels", hn_type_text(type, text));
    type->layout = layout;
    hn_type_pack(type);
    return HN_OK;
}

hn_type hn_type_plain(const hn_type *type)
{
    hn_type plain = *type;
    plain.layout = HN_LAYOUT_PLAIN;
    hn_type_pack(&plain);
    return plain;
}

static int64_t matrix_rows(const hn_type *type) { return type->dim[type->rank - 2]; }

static int64_t matrix_panels(const hn_type *type)
{
    return (matrix_rows(type) + PANEL - 1) / PANEL;
}

static int64_t row_bytes(const hn_type *type) { return type->stride[type->rank - 2]; }

int64_t hn_layout_panels(const hn_type *type)
{
    return hn_rows(type) / matrix_rows(type) * matrix_panels(type);
}

void hn_layout_pack(const hn_type *type, const hn_plain_rows *from, void *packed, int64_t first,
                    int64_t end)
{
    hn_elem elem = HN_ELEM_f32, given = HN_ELEM_f32;
    hn_dtype_elem(type->dtype, &elem);
    hn_dtype_elem(from->dtype, &given);
    const int64_t given_bytes = hn_elem_span(given, hn_last_dim(type));
    const int64_t rows = matrix_rows(type), panels = matrix_panels(type),
                  bytes = row_bytes(type);
    for (int64_t at = first; at < end; at++) {
        const int64_t matrix = at / panels, panel = at % panels;
        const char *plain = (const char *)from->data + matrix * rows * given_bytes;
        char *to = (char *)packed + matrix * panels * PANEL * bytes;
        if (given == elem)
            hn_panel16_pack(elem, rows, hn_last_dim(type), plain, bytes, from->pairs, to, panel,
                            panel + 1);
        else
            hn_panel16_round(given, rows, hn_last_dim(type), plain, given_bytes, from->pairs,
                             to, panel, panel + 1);
    }
}

void hn_layout_row(const hn_tensor *t, int64_t row, int64_t from, int64_t n, void *plain)
{
    hn_elem elem = HN_ELEM_f32;
    hn_dtype_elem(t->type.dtype, &elem);
    const int64_t rows = matrix_rows(&t->type);
    const char *matrix = (const char *)t->data +
                         row / rows * matrix_panels(&t->type) * PANEL * row_bytes(&t->type);
    hn_panel16_row(elem, hn_last_dim(&t->type), matrix, row % rows, from, n, plain);
}
