/* layout.h: packed layouts of frozen weights, a matrix [N,K] or one for each expert [E,N,K].
 *
 * A layout is a backend's, which says what graphs, plans and the host need to know of it; there is one of each, told by
 * its address. The matrices of a type are packed apart, each in units of some rows:
 *
 *     q8_0@NAME[2,40,64]    | unit 0 .. | unit 1 .. | unit 2 ..  |  unit 3 .. |           layout->rows = 16
 *                           | rows 0-15 |   16-31   | 32-39 of 0 | 0-15 of 1  |
 *                           stride[0] = layout->matrix_bytes -----^
 *
 * Kernels read a packed weight along its rows and across them with the bits of the plain one. Only weight leaves have a
 * layout: no view shows them and no op updates them. A device whose kernels do not read it gets plain rows
 * (place.h). */
#ifndef HN_GRAPH_LAYOUT_H
#define HN_GRAPH_LAYOUT_H

#include "graph/tensor.h"

/* What is packed: plain rows of the type's own elements, or of f32 or f16, which are rounded to
 * bf16. They may lie in pairs (kernels/gemm/rows.h; 0: they do not) and are put in order. */
typedef struct hn_plain_rows {
    const void *data;
    hn_dtype dtype;
    int64_t pairs;
} hn_plain_rows;

/* Addresses are the host's: a device of other memory may pack by itself, to these bytes. */
struct hn_layout {
    const char *name; /* as in "q8_0@panel16[64,64]" */
    int rows;         /* of a matrix, in a unit of packing */
    bool (*takes)(hn_dtype dtype);
    int64_t (*matrix_bytes)(const hn_type *type); /* of each matrix; strides are not looked at */
    /* Units [first, end), counted over all matrices. */
    void (*pack)(const hn_type *type, const hn_plain_rows *from, void *packed, int64_t first, int64_t end);
    /* Elements [from, from + n), whole blocks, of row `row` (counted over all matrices) back as a plain row. */
    void (*row)(const hn_type *type, const void *packed, int64_t row, int64_t from, int64_t n, void *plain);
};

/* Whether tensors of this element type and rank can have the layout. */
bool hn_layout_takes(const hn_layout *layout, hn_dtype dtype, int rank);
/* Gives a contiguous type a layout; refuses by name what cannot have it. */
hn_status hn_type_set_layout(hn_type *type, const hn_layout *layout);
/* The same elements in plain rows. */
hn_type hn_type_plain(const hn_type *type);

/* Units of a packed type: how many a matrix has, and all its matrices. */
int64_t hn_layout_matrix_units(const hn_type *type);
int64_t hn_layout_units(const hn_type *type);

#endif
