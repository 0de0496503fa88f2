/* layout.h: packed layouts of frozen weights, a matrix [N,K] or one for each expert [E,N,K].
 *
 *   panel16   sixteen rows interleaved (kernels/decode/decode.h); the panels of every matrix
 *             start anew, and its last one is filled up with zeros
 *
 * Kernels read a packed weight along its rows and across them with the bits of the plain one. Only
 * weight leaves have a layout: no view shows them and no op updates them. */
#ifndef HN_GRAPH_LAYOUT_H
#define HN_GRAPH_LAYOUT_H

#include "graph/tensor.h"
#include "kernels/decode/decode.h"

const char *hn_layout_name(hn_layout layout);
hn_status hn_layout_parse(const char *name, hn_layout *out);

/* The kernels' name of an element type; false if they have none. */
bool hn_dtype_elem(hn_dtype dtype, hn_elem *out);

/* Whether tensors of this element type and rank can have the layout. */
bool hn_layout_takes(hn_layout layout, hn_dtype dtype, int rank);
/* Gives a contiguous type a layout; refuses by name what cannot have it. */
hn_status hn_type_set_layout(hn_type *type, hn_layout layout);
/* The same elements in plain rows. */
hn_type hn_type_plain(const hn_type *type);

/* What is packed: plain rows of the type's own elements, or of f32 or f16, which are rounded to
 * bf16. They may lie in pairs (kernels/gemm/rows.h; 0: they do not) and are put in order. */
typedef struct hn_plain_rows {
    const void *data;
    hn_dtype dtype;
    int64_t pairs;
} hn_plain_rows;

/* Panels of a packed type, over all its matrices, and packing panels [first, end). */
int64_t hn_layout_panels(const hn_type *type);
void hn_layout_pack(const hn_type *type, const hn_plain_rows *from, void *packed, int64_t first,
                    int64_t end);
/* Elements [from, from + n), whole blocks, of row `row` (counted over all matrices) back as a plain
 * row. */
void hn_layout_row(const hn_tensor *t, int64_t row, int64_t from, int64_t n, void *plain);

#endif
