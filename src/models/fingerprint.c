/* A hundred places are enough to tell models apart that were trained; what changes one number is not seen, and
 * identity.c is for that. */
#include "models/fingerprint.h"

#include "base/sha256.h"
#include "base/work.h"
#include "kernels/gemm/rows.h"

#include <stdio.h>
#include <string.h>

enum { RUNS = 8, RUN = 16 };

static int64_t head_size(const hn_model *m, const hn_arch_tensor *t, const nn_weight *w)
{
    return w->is_permuted ? hn_layer_head_dim(hn_model_hparams(m), t->layer) : 0;
}

static void add_elements(hn_sha256 *sha, const nn_weight *w, int64_t pairs)
{
    const hn_tensor t = hn_tensor_at(&w->type, (void *)(uintptr_t)w->data);
    const int64_t n = hn_count(&w->type), k = w->type.rank > 1 ? hn_last_dim(&w->type) : 1;
    for (int64_t r = 0; r < RUNS; r++) {
        float seen[RUN] = { 0 };
        const int64_t from = n / RUNS * r + n / RUNS / 2;
        for (int64_t i = 0; i < RUN && from + i < n; i++) {
            const int64_t row = hn_gemm_row(pairs, (from + i) / k);
            seen[i] = (float)hn_get(&t, row * k + (from + i) % k);
        }
        hn_sha256_add(sha, seen, sizeof seen);
    }
}

hn_status hn_model_fingerprint(const hn_model *m, uint8_t digest[32])
{
    hn_sha256 sha;
    size_t n;
    char text[HN_TENSOR_NAME + 128];
    const hn_arch_tensor *all = hn_model_tensors(m, &n);
    const nn_weight *last = NULL;
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, hn_model_arch(m)->name, strlen(hn_model_arch(m)->name) + 1);
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = hn_model_find(m, all[i].gguf);
        if (!w || w == last || all[i].spec->how & HN_W_CONSTANT)
            continue;
        last = w;
        HN_TRY(hn_work_tell(i, n, w->name));
        int used = snprintf(text, sizeof text, "%s", w->name);
        for (int d = 0; d < w->type.rank; d++)
            used += snprintf(text + used, sizeof text - (size_t)used, " %lld",
                             (long long)w->type.dim[d]);
        hn_sha256_add(&sha, text, (size_t)used + 1);
        add_elements(&sha, w, head_size(m, &all[i], w));
    }
    hn_sha256_end(&sha, digest);
    return HN_OK;
}
