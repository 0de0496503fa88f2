/* A mapped file may be cut while it is read, and then reads as zeros: so files are asked after first, and only a
 * model that is whole is searched for the tensor that is to blame. */
#include "models/finite.h"

#include "base/map_file.h"
#include "base/pattern.h"
#include "base/work.h"
#include "models/model_parts.h"
#include "quant/format.h"

#include <math.h>
#include <stdio.h>

static int64_t first_bad(const float *x, int64_t n)
{
    int64_t i = 0;
    while (i < n && isfinite(x[i]))
        i++;
    return i;
}

static hn_status check_row(const nn_weight *w, const hn_tensor *t, int64_t row, float *x)
{
    const int64_t n = w->type.rank ? hn_last_dim(&w->type) : 1;
    if (hn_is_block(w->type.dtype)) {
        const size_t bytes =
            (size_t)(n / hn_dtype_block(w->type.dtype)) * hn_dtype_bytes(w->type.dtype);
        hn_dtype_format(w->type.dtype)->decode((const uint8_t *)w->data + (size_t)row * bytes, n, x);
    } else {
        for (int64_t i = 0; i < n; i++)
            x[i] = (float)hn_get(t, row * n + i);
    }
    const int64_t bad = first_bad(x, n);
    HN_REQUIRE(bad == n, HN_ERR_NUMERIC, "tensor %s: row %lld, element %lld is %g", w->name,
               (long long)row, (long long)bad, (double)x[bad]);
    return HN_OK;
}

static hn_status check_weight(const hn_model *m, const nn_weight *w)
{
    if (!hn_is_float(w->type.dtype) && !hn_is_block(w->type.dtype))
        return HN_OK;
    const hn_tensor t = hn_tensor_at(&w->type, (void *)(uintptr_t)w->data);
    const int64_t n = w->type.rank ? hn_last_dim(&w->type) : 1;
    const int64_t rows = n ? hn_count(&w->type) / n : 0;
    hn_heap *heap = m->heap;
    float *x = hn_alloc_array(heap, HN_TAG_FILE, (size_t)n + 1, sizeof *x);
    hn_status status = x ? HN_OK : HN_ERR_MEMORY;
    for (int64_t row = 0; row < rows && status == HN_OK; row++)
        status = check_row(w, &t, row, x);
    hn_free(heap, x);
    return status;
}

static hn_status check_named(const hn_model *m, const char *const *patterns)
{
    size_t n;
    const hn_arch_tensor *all = hn_model_tensors(m, &n);
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = hn_model_find(m, all[i].gguf);
        bool is_wanted = false;
        for (int k = 0; w && patterns[k]; k++)
            is_wanted = is_wanted || hn_pattern_matches(patterns[k], w->name);
        if (is_wanted)
            HN_TRY(hn_work_look(w->name));
        if (is_wanted)
            HN_TRY(check_weight(m, w));
    }
    return HN_OK;
}

hn_status hn_model_check_finite(const hn_model *m)
{
    static const char *const all[] = { "*", NULL };
    return check_named(m, all);
}

static hn_status begins(const void *context)
{
    static const char *const scores[] = { "blk.*.attn_q*", "blk.*.attn_k*", NULL };
    static const char *const head[] = { "output*", "token_embd*", NULL };
    const hn_model *m = context;
    const hn_hparams *hp = hn_model_hparams(m);
    if (hp->attn_softcap > 0)
        HN_TRY(check_named(m, scores));
    return hp->final_softcap > 0 ? check_named(m, head) : HN_OK;
}

/* Another model's file may be cut: this one's are judged. */
static hn_status check_files(const hn_model *m)
{
    const int n_parts = m->file ? m->format->parts(m->file) : 0;
    for (int i = 0; i < n_parts; i++)
        HN_TRY(hn_map_file_check(m->format->map(m->file, i)));
    return HN_OK;
}

static hn_status ran(const void *context) { return check_files(context); }

/* The weight that is to blame, and where it was met. */
static hn_status met(const void *context)
{
    const hn_model *m = context;
    char first[512];
    snprintf(first, sizeof first, "%s", hn_error_message());
    HN_TRY(check_files(m));
    const hn_status status = hn_model_check_finite(m);
    if (status == HN_OK)
        return hn_fail(HN_ERR_NUMERIC, "%s, though every weight is finite", first);
    char blamed[512];
    snprintf(blamed, sizeof blamed, "%s", hn_error_message());
    return hn_fail(status, "%s; %s", blamed, first);
}

static int64_t first_bad_of(const hn_tensor *t)
{
    const int64_t n = hn_count(&t->type);
    if (t->type.dtype == HN_F32 && hn_is_contiguous(&t->type))
        return first_bad(t->data, n);
    int64_t i = 0;
    while (i < n && isfinite(hn_get(t, i)))
        i++;
    return i;
}

static hn_status gave(const void *context, const hn_tensor *result)
{
    const int64_t bad = first_bad_of(result), n = hn_count(&result->type);
    if (bad == n)
        return HN_OK;
    HN_TRY(hn_model_check_finite(context));
    return hn_fail(HN_ERR_NUMERIC, "result %lld of %lld is %g, though every weight is finite",
                   (long long)bad, (long long)n, hn_get(result, bad));
}

hn_graph_guard hn_model_guard(const hn_model *m)
{
    return (hn_graph_guard){ .context = m, .begins = begins, .ran = ran, .met = met, .gave = gave };
}
