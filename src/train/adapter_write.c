/* Rows are put into GGUF's order on the way, and B is scaled where a pair means another alpha over rank than the
 * file says. A number that is not finite stops it before the file has its name. */
#include "train/adapter_write.h"

#include "io/weights_writer.h"
#include "kernels/gemm/rows.h"

#include <math.h>
#include <string.h>

bool hn_tuning_is_full(const hn_tuning *t)
{
    for (int i = 0; i < t->n_tuned; i++)
        if (t->tuned[i].settings.how != HN_TUNE_FULL)
            return false;
    return true;
}

/* Whether llama.cpp's kind can say it. */
static bool is_plain(const hn_tuning *t)
{
    for (int i = 0; i < t->n_tuned; i++)
        if (t->tuned[i].settings.how != HN_TUNE_LORA)
            return false;
    return true;
}

static const hn_arch_tensor *find_tensor(const hn_tuning *t, const char *gguf)
{
    size_t n;
    const hn_arch_tensor *all = hn_model_tensors(t->model, &n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].gguf, gguf))
            return &all[i];
    return NULL;
}

/* The head size of a tensor whose rows GGUF has in pairs; 0: in order. */
static int64_t pairs_of(const hn_tuning *t, const char *gguf)
{
    const hn_arch_tensor *tensor = find_tensor(t, gguf);
    return tensor && tensor->spec->how & HN_W_PERMUTE
               ? hn_layer_head_dim(hn_model_hparams(t->model), tensor->layer) : 0;
}

/* Alpha and rank of the first pair; the others' B is scaled to mean the same by them. */
static double file_alpha(const hn_tuning *t)
{
    for (int i = 0; i < t->n_tuned; i++)
        if (t->tuned[i].settings.how != HN_TUNE_FULL)
            return hn_tune_scale(&t->tuned[i].settings) * (double)t->tuned[i].settings.rank;
    return 0;
}

/* A tensor as a file has it: rows in GGUF's order, B times `factor`. To be freed. */
static hn_status in_file_order(const hn_tuning *t, int i, float factor, float **file)
{
    const hn_tunable *x = &t->tensors[i];
    const nn_weight *w = &x->weight;
    const float *from = hn_tuning_data(t, i);
    const int64_t n = hn_count(&w->type), k = w->type.rank > 1 ? hn_last_dim(&w->type) : 1;
    /* A's columns and an embedding's rows are in order everywhere; copies of a file's own tensor
     * lie as it has them. */
    const bool turns = x->part != HN_TUNE_A && !w->is_permuted;
    const int64_t pairs = turns ? pairs_of(t, t->tuned[x->of].base->name) : 0;
    float *out = *file = hn_alloc_array(t->heap, HN_TAG_FILE, (size_t)n, sizeof *out);
    if (!out)
        return HN_ERR_MEMORY;
    for (int64_t e = 0; e < n; e++) {
        HN_REQUIRE(isfinite(from[e]), HN_ERR_NUMERIC, "%s: element %lld is %g: nothing was written",
                   x->name, (long long)e, (double)from[e]);
        out[hn_gemm_row(pairs, e / k) * k + e % k] = factor < 1 || factor > 1 ? from[e] * factor
                                                                               : from[e];
    }
    return HN_OK;
}

static hn_status put(const hn_tuning *t, int i, float factor, hn_weights_writer *writer, size_t at)
{
    float *values;
    hn_status status = in_file_order(t, i, factor, &values);
    if (status == HN_OK)
        status = hn_weights_writer_put(writer, at, 0, values,
                                       (size_t)hn_count(&t->tensors[i].weight.type) * sizeof *values);
    hn_free(t->heap, values);
    return status;
}

static float factor_of(const hn_tuning *t, int i, double alpha)
{
    const hn_tunable *x = &t->tensors[i];
    const hn_tune_settings *s = &t->tuned[x->of].settings;
    if (x->part != HN_TUNE_B)
        return 1;
    return (float)(hn_tune_scale(s) * (double)s->rank / alpha);
}

static hn_status make_keys(const hn_tuning *t, const hn_meta *keys, double alpha, hn_meta *out)
{
    HN_TRY(hn_meta_set_text(out, "general.architecture", hn_model_arch(t->model)->name));
    HN_TRY(hn_meta_set_text(out, "general.type", "adapter"));
    HN_TRY(hn_meta_set_text(out, HN_ADAPTER_TYPE, is_plain(t) ? "lora" : "hone"));
    if (alpha > 0)
        HN_TRY(hn_meta_set_double(out, HN_ADAPTER_ALPHA, HN_META_F32, alpha));
    for (size_t i = 0; keys && i < keys->n; i++)
        HN_TRY(hn_meta_set_copy(out, &keys->values[i]));
    return HN_OK;
}

hn_status hn_adapter_write(const hn_tuning *t, const char *path, const hn_meta *keys)
{
    HN_TRY(hn_tuning_pull(t));
    const double alpha = file_alpha(t);
    hn_weights_writer *writer = NULL;
    hn_meta meta = hn_meta_on(t->heap, path);
    hn_weight_entry *entries = hn_alloc_array(t->heap, HN_TAG_FILE, (size_t)t->n_tensors,
                                              sizeof *entries);
    hn_status status = entries ? make_keys(t, keys, alpha, &meta) : HN_ERR_MEMORY;
    for (int i = 0; i < t->n_tensors && status == HN_OK; i++)
        entries[i] = (hn_weight_entry){ .name = t->tensors[i].name, .type = t->tensors[i].weight.type };
    if (status == HN_OK)
        status = hn_gguf_create(t->heap, hn_sink_own(path), &meta, entries, (size_t)t->n_tensors, &writer);
    for (int i = 0; i < t->n_tensors && status == HN_OK; i++)
        status = put(t, i, factor_of(t, i, alpha), writer, (size_t)i);
    if (status == HN_OK)
        status = hn_weights_writer_finish(writer);
    else
        hn_weights_writer_abandon(writer);
    hn_free(t->heap, entries);
    hn_meta_free(&meta);
    return status;
}

/* ---- whole models ---- */

/* A trained copy back in its base's type. */
static hn_status put_whole(const hn_tuning *t, int i, hn_dtype dtype, hn_weights_writer *writer,
                           size_t at)
{
    hn_type type;
    float *values;
    HN_TRY(hn_type_as(&type, &t->tensors[i].weight.type, dtype));
    void *bytes = hn_alloc(t->heap, HN_TAG_FILE, hn_type_bytes(&type));
    if (!bytes)
        return HN_ERR_MEMORY;
    const hn_tensor to = hn_tensor_at(&type, bytes);
    hn_status status = in_file_order(t, i, 1, &values);
    for (int64_t e = 0; e < hn_count(&type) && status == HN_OK; e++)
        hn_set(&to, e, (double)values[e]);
    if (status == HN_OK)
        status = hn_weights_writer_put(writer, at, 0, bytes, hn_type_bytes(&type));
    hn_free(t->heap, values);
    hn_free(t->heap, bytes);
    return status;
}

hn_status hn_tuned_model_write(const hn_tuning *t, const hn_gguf *file, const char *path,
                               const hn_meta *keys)
{
    const hn_weights *all = hn_gguf_weights(file);
    hn_weights_writer *writer = NULL;
    hn_meta meta = hn_meta_on(t->heap, path);
    hn_status status = HN_OK;
    const hn_meta *of_file = hn_gguf_meta(file);
    for (size_t i = 0; i < of_file->n && status == HN_OK; i++)
        status = hn_meta_set_copy(&meta, &of_file->values[i]);
    for (size_t i = 0; keys && i < keys->n && status == HN_OK; i++)
        status = hn_meta_set_copy(&meta, &keys->values[i]);
    if (status == HN_OK)
        status = hn_gguf_create(t->heap, hn_sink_own(path), &meta, all->entries, all->n, &writer);
    for (size_t i = 0; i < all->n && status == HN_OK; i++) {
        const hn_weight_entry *e = &all->entries[i];
        const int trained = hn_tuning_find(t, e->name);
        status = trained >= 0
                     ? put_whole(t, trained, e->type.dtype, writer, i)
                     : hn_weights_writer_put(writer, i, 0, e->data,
                                             (size_t)hn_weights_writer_bytes(writer, i));
    }
    if (status == HN_OK)
        status = hn_weights_writer_finish(writer);
    else
        hn_weights_writer_abandon(writer);
    hn_meta_free(&meta);
    return status;
}
