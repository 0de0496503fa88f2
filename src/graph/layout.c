/* Which types a layout is for; what it does with them is its backend's. */
#include "graph/layout.h"

bool hn_layout_takes(const hn_layout *layout, hn_dtype dtype, int rank)
{
    return !layout || ((rank == 2 || rank == 3) && layout->takes(dtype));
}

hn_status hn_type_set_layout(hn_type *type, const hn_layout *layout)
{
    enum { MOST_GROWTH = 64 }; /* of any layout: its bytes are counted in 64 bits */
    char text[HN_TYPE_TEXT];
    HN_REQUIRE(
        hn_layout_takes(layout, type->dtype, type->rank), HN_ERR_UNSUPPORTED,
        "%s cannot be packed as %s: expected a matrix, or one for each expert, of a type "
        "that kernels decode",
        hn_type_text(type, text), layout->name);
    HN_REQUIRE(!layout || hn_type_bytes(type) < SIZE_MAX / MOST_GROWTH, HN_ERR_SHAPE,
               "%s is too large to be packed", hn_type_text(type, text));
    type->layout = layout;
    hn_type_pack(type);
    return HN_OK;
}

hn_type hn_type_plain(const hn_type *type)
{
    hn_type plain = *type;
    plain.layout = NULL;
    hn_type_pack(&plain);
    return plain;
}

int64_t hn_layout_matrix_units(const hn_type *type)
{
    return (type->dim[type->rank - 2] + type->layout->rows - 1) / type->layout->rows;
}

int64_t hn_layout_units(const hn_type *type)
{
    return (type->rank == 3 ? type->dim[0] : 1) * hn_layout_matrix_units(type);
}
