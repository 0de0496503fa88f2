/* type.h: what a tensor looks like: element type, shape, byte strides. A type is a value.
 *
 * Row-major: the last dimension is the innermost. Block formats have their blocks along the last
 * dimension, whose stride is the bytes of one block. Rank 0 is a scalar with one element. */
#ifndef HN_GRAPH_TYPE_H
#define HN_GRAPH_TYPE_H

#include "base/status.h"
#include "quant/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HN_MAX_RANK = 5 };

typedef enum hn_dtype { /* the scalars, then the block formats, in the order of types.def */
#define HN_SCALAR(upper, name, gguf, id, safetensors, bytes, kind, kernels, panel) HN_##upper,
#include "quant/types.def"
    HN_N_SCALARS,
    HN_FIRST_FORMAT = HN_N_SCALARS,
    HN_BEFORE_FORMATS = HN_FIRST_FORMAT - 1,
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) HN_TYPE_##name,
#include "quant/types.def"
    HN_N_DTYPES
} hn_dtype;

typedef struct hn_layout hn_layout; /* how a backend packs frozen weights: layout.h */

typedef struct hn_type {
    hn_dtype dtype;
    int rank;
    int64_t dim[HN_MAX_RANK];
    int64_t stride[HN_MAX_RANK]; /* bytes; packed: from matrix to matrix, the rest is nominal */
    const hn_layout *layout;     /* NULL: plain, row after row */
} hn_type;

const char *hn_dtype_name(hn_dtype dtype);
hn_status hn_dtype_parse(const char *name, size_t length, hn_dtype *out);
bool hn_is_float(hn_dtype dtype); /* f32 f16 bf16 f64 */
bool hn_is_block(hn_dtype dtype);
const hn_format *hn_dtype_format(hn_dtype dtype); /* NULL for scalars */
int64_t hn_dtype_block(hn_dtype dtype);           /* elements a block: 1 for scalars */
size_t hn_dtype_bytes(hn_dtype dtype);            /* bytes of one element or one block */

/* A contiguous type. Refuses rank > 5, dimensions < 1, blocks that do not divide the last
 * dimension, and sizes beyond half the address space. */
hn_status hn_type_make(hn_type *out, hn_dtype dtype, int rank, const int64_t *dim);

/* The same shape and another element type, contiguous. Blocks must divide. */
hn_status hn_type_as(hn_type *out, const hn_type *type, hn_dtype dtype);

/* Sets the strides of a contiguous tensor from dtype and dims, which must be valid. */
void hn_type_pack(hn_type *type);

int64_t hn_count(const hn_type *type);
int64_t hn_last_dim(const hn_type *type);              /* 1 for a scalar */
int64_t hn_rows(const hn_type *type);                  /* count / last dimension */
size_t hn_type_bytes(const hn_type *type);             /* of the elements, without gaps; in its layout */
size_t hn_type_span(const hn_type *type);              /* first byte to one past the last touched */
bool hn_is_contiguous(const hn_type *type);
bool hn_same_shape(const hn_type *a, const hn_type *b);
bool hn_has_rank(const hn_type *type, int rank);

/* Byte offset of element `index`, counted in row-major order (of the block that holds it). */
int64_t hn_offset_of(const hn_type *type, int64_t index);

/* "f32[2,5,100]", "q8_0@panel16[64,64]"; at most HN_TYPE_TEXT bytes. Returns `text`. */
enum { HN_TYPE_TEXT = 128 };
const char *hn_type_text(const hn_type *type, char *text);

/* Reads what hn_type_text writes of plain types; *end points past it. */
hn_status hn_type_parse(const char *text, hn_type *out, const char **end);

#endif
