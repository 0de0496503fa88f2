/* op_arrays.h: numpy files to and from the element types that ops compute with. */
#ifndef HN_CLI_OP_ARRAYS_H
#define HN_CLI_OP_ARRAYS_H

#include "graph/tensor.h"
#include "io/npy.h"

#include <stdio.h>

/* "FILE" or "FILE:TYPE". Without a type, f64 becomes f32 and i64 becomes i32 (refused if a number
 * does not fit); with one, numbers are cast, or encoded in blocks. Freed with hn_npy_free. */
hn_status hn_op_array_read(hn_heap *heap, const char *argument, hn_npy *out);

/* Writes PATH; with `index` >= 0, PATHindex.npy; with `suffix`, PATH with .suffix before .npy.
 * bf16 is written as f32, which holds it exactly. */
typedef struct hn_op_target {
    hn_sink to;
    int index;
    const char *suffix;
} hn_op_target;
hn_status hn_op_array_write(hn_heap *heap, const hn_tensor *t, const hn_op_target *target);
/* Before there is anything to write. */
hn_status hn_op_array_try(const hn_op_target *target);
/* Whether both are one file's name. */
bool hn_op_array_same(const hn_op_target *a, const hn_op_target *b);

/* "y f32[2,3]: 1 2 3 ..." */
void hn_op_array_print(const hn_tensor *t, const char *name, int index, FILE *out);

#endif
