/* array.h: arrays in files, in NumPy's .npy format, row-major: "f32" "f64" "f16" "i32" "i64" "u8". */
#ifndef HONE_ARRAY_H
#define HONE_ARRAY_H

#include "hone/engine.h"
#include "hone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Written whole or not at all. What is there is refused, unless `overwrite`. */
HN_API hn_status hn_array_write(const char *path, int32_t overwrite, const char *type, int32_t rank, const int64_t *dim,
                                const void *data);

/* The caller frees it, before its engine. Nothing changes it: any number of threads may read one. */
typedef struct hn_array hn_array;

/* On the engine's heap. Dimensions may be 0. Ended by hn_engine_cancel. */
HN_API hn_status hn_array_read(hn_array **out, hn_engine *engine, const char *path);
HN_API void hn_array_free(hn_array *array); /* takes NULL */

/* All live as long as the array. */
HN_API const char *hn_array_type(const hn_array *array);
HN_API const hn_shape *hn_array_shape(const hn_array *array);
HN_API const void *hn_array_data(const hn_array *array, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
