/* npy.h: arrays in NumPy's .npy format, versions 1 to 3, little endian.
 *
 * Files may be hostile. Column-major ("Fortran") arrays are transposed while they are read, so
 * that an hn_npy is always row-major. Booleans are read as u8, 0 or 1. */
#ifndef HN_IO_NPY_H
#define HN_IO_NPY_H

#include "base/heap.h"
#include "base/out_file.h"
#include "graph/type.h"

typedef struct hn_npy {
    hn_heap *heap;            /* what `data` is freed to; NULL if borrowed */
    hn_dtype dtype;           /* f64 f32 f16 i32 i64 u8 */
    bool is_bool;             /* dtype is u8, and the file's was bool */
    int rank;                 /* 0 to HN_MAX_RANK */
    int64_t dim[HN_MAX_RANK]; /* may be 0 */
    void *data;               /* never NULL after reading */
    size_t bytes;
} hn_npy;

/* HN_ERR_IO, HN_ERR_FORMAT (malformed, cut off, bytes left over), HN_ERR_UNSUPPORTED (an
 * element type or rank that hone has not), HN_ERR_MEMORY; then *out is zero. */
hn_status hn_npy_read(hn_heap *heap, const char *path, hn_npy *out);

/* The same from memory; `name` begins messages. */
hn_status hn_npy_parse(hn_heap *heap, const char *name, const void *file, size_t bytes,
                       hn_npy *out);

/* Version 1.0. `bytes` must be what dtype and dims say. */
hn_status hn_npy_write(hn_sink to, const hn_npy *array);

void hn_npy_free(hn_npy *array); /* and zeroes it; takes what failed reading left */

#endif
