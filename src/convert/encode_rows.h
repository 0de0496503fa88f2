/* encode_rows.h: a tensor's rows, encoded on all threads and written where they belong.
 *
 * The bytes do not depend on the number of threads: rows are encoded alone. */
#ifndef HN_CONVERT_ENCODE_ROWS_H
#define HN_CONVERT_ENCODE_ROWS_H

#include "base/pool.h"
#include "io/weights_writer.h"

/* Says how far all of the work is; false: stop. */
typedef struct hn_watch {
    bool (*progress)(void *context, double done, const char *what); /* or NULL */
    void *context;
    uint64_t done_bytes, total_bytes;
} hn_watch;

hn_status hn_watch_tell(hn_watch *watch, uint64_t more_bytes, const char *what);

typedef struct hn_row_job {
    const char *name;   /* of the tensor: begins messages */
    hn_dtype dtype;     /* of the result */
    int64_t rows, row_elements;
    int64_t rows_per_importance; /* rows that share a vector of importance: an expert's */
    const float *importance;     /* or NULL */

    /* Either writes the row as f32 to `out` and returns NULL, or returns its finished bytes. */
    const uint8_t *(*row)(const void *context, int64_t row, float *out, uint8_t *bytes);
    const void *context;
} hn_row_job;

/* One row. False if the type cannot hold it. `importance` of block formats, or NULL. */
bool hn_row_encode(hn_dtype dtype, const float *x, int64_t n, const float *importance, uint8_t *out);
/* Back: of f32, f16, bf16 and block formats. */
void hn_row_decode(hn_dtype dtype, const uint8_t *bytes, int64_t n, float *out);

/* HN_ERR_NUMERIC names tensor, row and what is wrong. HN_ERR_CANCELLED. */
hn_status hn_encode_rows(const hn_row_job *job, hn_heap *heap, hn_pool *pool,
                         hn_weights_writer *writer, size_t tensor, hn_watch *watch);

#endif
