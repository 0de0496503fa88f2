/* Sums over rows are kept a row and added in the order of rows, so shares are the same for any number of threads. */
#include "convert/merge_rows.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { STRIP_BYTES = 4 << 20, VECTORS = 5 };

typedef struct strip {
    const hn_merge_change *change;
    hn_dtype dtype;
    int64_t first, k, n; /* of the strip; elements of a row; rows of one expert */
    size_t from_bytes, row_bytes;
    uint8_t *bytes;
    float *floats;      /* VECTORS rows a thread */
    double *doubles;    /* one row a thread */
    hn_merge_sums *sums; /* a row of the strip */
    _Atomic int64_t bad_row;
} strip;

/* Where GGUF's row i of a head lies in canonical order. */
static int64_t canonical(int64_t pairs, int64_t i)
{
    if (!pairs)
        return i;
    const int64_t within = i % pairs;
    return i - within + within % 2 * (pairs / 2) + within / 2;
}

/* scale * B A, its row; `sum` is scratch. */
static void low_rank(const hn_adapter_pair *p, int64_t expert, int64_t row, int64_t k, double *sum,
                     float *d)
{
    const float *a = p->lora.a->data, *b = p->lora.b->data;
    const int64_t rank = hn_last_dim(&p->lora.b->type);
    memset(sum, 0, (size_t)k * sizeof *sum);
    if (p->is_embedding) { /* a row of A a word, a row of B an element */
        for (int64_t i = 0; i < k; i++)
            for (int64_t j = 0; j < rank; j++)
                sum[i] += (double)a[row * rank + j] * (double)b[i * rank + j];
    } else {
        const int64_t n = p->lora.b->type.dim[p->lora.b->type.rank - 2];
        a += expert * rank * k;
        b += (expert * n + row) * rank;
        for (int64_t j = 0; j < rank; j++)
            for (int64_t i = 0; i < k; i++)
                sum[i] += (double)b[j] * (double)a[j * k + i];
    }
    for (int64_t i = 0; i < k; i++)
        d[i] = (float)((double)p->lora.scale * sum[i]);
}

/* The change of one row of the file, whose values are w. */
static void change_of(const strip *s, int64_t row, const float *w, double *sum, float *d)
{
    const hn_merge_change *c = s->change;
    const int64_t k = s->k, expert = row / s->n;
    if (c->whole) {
        const float *whole = c->whole->data;
        const bool is_vector = c->base->type.rank < 2;
        const int64_t at = is_vector ? 0 : expert * s->n + canonical(c->pairs, row % s->n);
        for (int64_t i = 0; i < k; i++)
            d[i] = whole[at * k + (is_vector ? canonical(c->pairs, i) : i)] - w[i];
        return;
    }
    const int64_t at = canonical(c->pairs, row % s->n);
    low_rank(c->pair, expert, at, k, sum, d);
    if (!c->pair->lora.magnitude)
        return;
    double square = 0;
    for (int64_t i = 0; i < k; i++)
        square += ((double)w[i] + (double)d[i]) * ((double)w[i] + (double)d[i]);
    const double m = (double)((const float *)c->pair->lora.magnitude->data)[at] / sqrt(square);
    for (int64_t i = 0; i < k; i++)
        d[i] = (float)(m * ((double)w[i] + (double)d[i]) - (double)w[i]);
}

static void merge_some(void *context, int64_t begin, int64_t end, int thread)
{
    strip *s = context;
    const int64_t k = s->k;
    const hn_dtype from = s->change->base->type.dtype;
    float *w = s->floats + (size_t)thread * VECTORS * (size_t)k, *d = w + k, *x = d + k, *q = x + k,
          *was = q + k;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = s->first + i;
        uint8_t *out = s->bytes + (size_t)i * s->row_bytes;
        hn_merge_sums *sums = &s->sums[i];
        hn_row_decode(from, (const uint8_t *)s->change->base->data + (size_t)row * s->from_bytes, k, w);
        change_of(s, row, w, s->doubles + (size_t)thread * (size_t)k, d);
        for (int64_t e = 0; e < k; e++)
            x[e] = w[e] + d[e];
        bool is_good = true;
        if (s->dtype != from) {
            is_good = hn_row_encode(s->dtype, w, k, NULL, out);
            hn_row_decode(s->dtype, out, k, was);
        }
        is_good = is_good && hn_row_encode(s->dtype, x, k, NULL, out);
        if (!is_good) {
            int64_t worst = s->bad_row;
            while (row < worst && !atomic_compare_exchange_weak(&s->bad_row, &worst, row))
                continue;
            continue;
        }
        hn_row_decode(s->dtype, out, k, q);
        const float *before = s->dtype != from ? was : w;
        *sums = (hn_merge_sums){ 0 };
        for (int64_t e = 0; e < k; e++) {
            const double change = (double)d[e], off = (double)q[e] - (double)x[e];
            sums->base += (double)w[e] * (double)w[e];
            sums->change += change * change;
            sums->along += ((double)q[e] - (double)before[e]) * change;
            sums->error += off * off;
        }
    }
}

static hn_status run_strips(strip *s, hn_pool *pool, int64_t rows, int64_t at_once,
                            hn_weights_writer *writer, size_t tensor, hn_watch *watch,
                            hn_merge_sums *out)
{
    const char *name = s->change->base->name;
    for (s->first = 0; s->first < rows; s->first += at_once) {
        const int64_t n = rows - s->first < at_once ? rows - s->first : at_once;
        s->bad_row = INT64_MAX;
        hn_pool_run(pool, n, 1 + 16384 / (s->k + 1), merge_some, s);
        HN_REQUIRE(s->bad_row == INT64_MAX, HN_ERR_NUMERIC, "tensor %s, row %lld: %s cannot hold it",
                   name, (long long)s->bad_row, hn_dtype_name(s->dtype));
        for (int64_t i = 0; i < n; i++) {
            out->base += s->sums[i].base;
            out->change += s->sums[i].change;
            out->along += s->sums[i].along;
            out->error += s->sums[i].error;
        }
        HN_TRY(hn_weights_writer_put(writer, tensor, (uint64_t)s->first * s->row_bytes, s->bytes,
                                     (size_t)n * s->row_bytes));
        HN_TRY(hn_watch_tell(watch, (size_t)n * s->row_bytes, name));
    }
    return HN_OK;
}

hn_status hn_merge_rows(hn_heap *heap, hn_pool *pool, const hn_merge_change *change, hn_dtype dtype,
                        hn_weights_writer *writer, size_t tensor, hn_watch *watch,
                        hn_merge_sums *out)
{
    const hn_type *type = &change->base->type;
    const int64_t k = hn_last_dim(type), rows = hn_rows(type);
    const size_t threads = (size_t)hn_pool_threads(pool);
    strip s = { .change = change, .dtype = dtype, .k = k,
                .n = type->rank >= 2 ? type->dim[type->rank - 2] : 1 };
    *out = (hn_merge_sums){ 0 };
    s.from_bytes = hn_dtype_bytes(type->dtype) * (size_t)(k / hn_dtype_block(type->dtype));
    s.row_bytes = hn_dtype_bytes(dtype) * (size_t)(k / hn_dtype_block(dtype));
    int64_t at_once = STRIP_BYTES / (int64_t)s.row_bytes;
    at_once = at_once < 1 ? 1 : at_once > rows ? rows : at_once;
    s.bytes = hn_alloc_array(heap, HN_TAG_FILE, (size_t)at_once, s.row_bytes);
    s.sums = hn_alloc_array(heap, HN_TAG_FILE, (size_t)at_once, sizeof *s.sums);
    s.floats = hn_alloc_array(heap, HN_TAG_FILE, threads * VECTORS * (size_t)k, sizeof *s.floats);
    s.doubles = hn_alloc_array(heap, HN_TAG_FILE, threads * (size_t)k, sizeof *s.doubles);
    const hn_status status =
        s.bytes && s.sums && s.floats && s.doubles
            ? run_strips(&s, pool, rows, at_once, writer, tensor, watch, out)
            : HN_ERR_MEMORY;
    hn_free(heap, s.bytes);
    hn_free(heap, s.sums);
    hn_free(heap, s.floats);
    hn_free(heap, s.doubles);
    return status;
}
