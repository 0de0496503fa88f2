/* A batch of rows is encoded by all threads and written by one, which waits for the disk alone. A row that cannot
 * be encoded is noted by its number, the lowest of all threads', and explained afterwards: so the message is the
 * same for any number of threads. */
#include "convert/encode_rows.h"

#include "base/bytes.h"
#include "base/half.h"

#include <stdatomic.h>
#include <string.h>

enum { BATCH_BYTES = 8 << 20 };

typedef struct batch {
    const hn_row_job *job;
    int64_t first;
    size_t row_bytes;
    uint8_t *bytes;
    float *scratch;           /* a row a thread */
    _Atomic int64_t bad_row;  /* the first that cannot be encoded, or INT64_MAX */
} batch;

hn_status hn_watch_tell(hn_watch *watch, uint64_t more_bytes, const char *what)
{
    watch->done_bytes += more_bytes;
    const double done =
        watch->total_bytes ? (double)watch->done_bytes / (double)watch->total_bytes : 1;
    if (watch->progress && !watch->progress(watch->context, done, what))
        return hn_fail(HN_ERR_CANCELLED, "%s: interrupted", what);
    return HN_OK;
}

/* The first element that a scalar type cannot hold, or n: what is not finite, and what f16 would
 * make infinite. */
static int64_t find_bad(hn_dtype dtype, const float *x, int64_t n)
{
    const float largest = dtype == HN_F16 ? 65519.0f : 3.4028235e38f;
    int64_t i = 0;
    while (i < n && x[i] >= -largest && x[i] <= largest)
        i++;
    return i;
}

bool hn_row_encode(hn_dtype dtype, const float *x, int64_t n, const float *importance, uint8_t *out)
{
    if (!hn_is_block(dtype) && find_bad(dtype, x, n) < n)
        return false;
    switch (dtype) {
    case HN_F32:
        for (int64_t i = 0; i < n; i++)
            hn_store_32(out + 4 * i, hn_f32_bits(x[i]));
        return true;
    case HN_F16:
        for (int64_t i = 0; i < n; i++)
            hn_store_16(out + 2 * i, hn_f32_to_f16(x[i]));
        return true;
    case HN_BF16:
        for (int64_t i = 0; i < n; i++)
            hn_store_16(out + 2 * i, hn_f32_to_bf16(x[i]));
        return true;
    default:
        return hn_format_encode(hn_dtype_format(dtype), x, n, out, importance) == HN_OK;
    }
}

void hn_row_decode(hn_dtype dtype, const uint8_t *bytes, int64_t n, float *out)
{
    if (hn_is_block(dtype)) {
        hn_dtype_format(dtype)->decode(bytes, n, out);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = dtype == HN_F32   ? hn_f32_from_bits(hn_load_32(bytes + 4 * i))
                 : dtype == HN_F16 ? hn_f16_to_f32(hn_load_16(bytes + 2 * i))
                                   : hn_bf16_to_f32(hn_load_16(bytes + 2 * i));
}

static const float *importance_of(const hn_row_job *job, int64_t row)
{
    return job->importance
               ? job->importance + row / job->rows_per_importance * job->row_elements
               : NULL;
}

/* Rows that are copied as they lie are looked at too; integers are no weights. */
static bool is_sound(const hn_row_job *job, const uint8_t *row, float *x)
{
    const hn_dtype d = job->dtype;
    if (d != HN_F32 && d != HN_F16 && d != HN_BF16 && !hn_is_block(d))
        return true;
    hn_row_decode(d, row, job->row_elements, x);
    return find_bad(HN_F32, x, job->row_elements) == job->row_elements;
}

static void encode_some(void *context, int64_t begin, int64_t end, int thread)
{
    batch *b = context;
    const hn_row_job *job = b->job;
    float *x = b->scratch + (size_t)thread * (size_t)job->row_elements;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = b->first + i;
        uint8_t *out = b->bytes + (size_t)i * b->row_bytes;
        const uint8_t *ready = job->row(job->context, row, x, out);
        if (ready && ready != out)
            memcpy(out, ready, b->row_bytes);
        if (ready ? is_sound(job, out, x)
                  : hn_row_encode(job->dtype, x, job->row_elements, importance_of(job, row), out))
            continue;
        int64_t worst = b->bad_row;
        while (row < worst && !atomic_compare_exchange_weak(&b->bad_row, &worst, row))
            continue;
    }
}

/* Encodes it again, on this thread, for the words. */
static hn_status explain(batch *b)
{
    const hn_row_job *job = b->job;
    const int64_t row = b->bad_row;
    const uint8_t *ready = job->row(job->context, row, b->scratch, b->bytes);
    if (ready) {
        hn_row_decode(job->dtype, ready, job->row_elements, b->scratch);
        const int64_t bad = find_bad(HN_F32, b->scratch, job->row_elements);
        return hn_fail(HN_ERR_NUMERIC, "tensor %s, row %lld, element %lld is %g", job->name,
                       (long long)row, (long long)bad, (double)b->scratch[bad]);
    }
    if (!hn_is_block(job->dtype)) {
        const int64_t bad = find_bad(job->dtype, b->scratch, job->row_elements);
        return hn_fail(HN_ERR_NUMERIC, "tensor %s, row %lld, element %lld: %s cannot hold %g",
                       job->name, (long long)row, (long long)bad, hn_dtype_name(job->dtype),
                       (double)b->scratch[bad]);
    }
    const hn_status status =
        hn_format_encode(hn_dtype_format(job->dtype), b->scratch, job->row_elements, b->bytes,
                         importance_of(job, row));
    return hn_fail_within(status, "tensor %s, row %lld: ", job->name, (long long)row);
}

static hn_status run_batches(batch *b, int64_t batch_rows, hn_pool *pool,
                             hn_weights_writer *writer, size_t tensor, hn_watch *watch)
{
    const hn_row_job *job = b->job;
    for (b->first = 0; b->first < job->rows; b->first += batch_rows) {
        const int64_t left = job->rows - b->first, n = left < batch_rows ? left : batch_rows;
        b->bad_row = INT64_MAX;
        hn_pool_run(pool, n, 1 + 16384 / (job->row_elements + 1), encode_some, b);
        if (b->bad_row != INT64_MAX)
            return explain(b);
        const size_t bytes = (size_t)n * b->row_bytes;
        HN_TRY(hn_weights_writer_put(writer, tensor, (uint64_t)b->first * b->row_bytes, b->bytes,
                                     bytes));
        HN_TRY(hn_watch_tell(watch, bytes, job->name));
    }
    return HN_OK;
}

hn_status hn_encode_rows(const hn_row_job *job, hn_heap *heap, hn_pool *pool,
                         hn_weights_writer *writer, size_t tensor, hn_watch *watch)
{
    batch b = { .job = job };
    b.row_bytes = (size_t)(job->row_elements / hn_dtype_block(job->dtype)) *
                  hn_dtype_bytes(job->dtype);
    int64_t batch_rows = BATCH_BYTES / (int64_t)b.row_bytes;
    batch_rows = batch_rows < 1 ? 1 : batch_rows > job->rows ? job->rows : batch_rows;
    b.bytes = hn_alloc_array(heap, HN_TAG_FILE, (size_t)batch_rows, b.row_bytes);
    b.scratch = hn_alloc_array(heap, HN_TAG_FILE,
                               (size_t)hn_pool_threads(pool) * (size_t)job->row_elements,
                               sizeof *b.scratch);
    const hn_status status = b.bytes && b.scratch
                                 ? run_batches(&b, batch_rows, pool, writer, tensor, watch)
                                 : HN_ERR_MEMORY;
    hn_free(heap, b.bytes);
    hn_free(heap, b.scratch);
    return status;
}
