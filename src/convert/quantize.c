/* Types are chosen for all tensors before one is encoded. A result that has no tensor of the type asked for and
 * none that changed is refused: it would be a copy under a name that promises otherwise. */
#include "convert/quantize.h"

#include "io/gguf.h"
#include "models/models.h"

#include <string.h>

typedef struct quantization {
    hn_heap *heap;
    hn_pool *pool;
    const hn_quantize_options *options;
    hn_watch *watch;
    hn_gguf *in;
    hn_hparams *hp;
    hn_weight_entry *entries;
    hn_meta meta;
} quantization;

static bool is_plain(hn_dtype dtype)
{
    return dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16;
}

static hn_status choose_type(const quantization *q, const hn_recipe_model *model,
                             const hn_weight_entry *from, hn_weight_entry *to)
{
    *to = *from;
    if (from->type.dtype >= HN_N_DTYPES)
        return hn_fail(HN_ERR_UNSUPPORTED, "%s: tensor %s: type %s cannot be read",
                       hn_gguf_weights(q->in)->name, from->name, from->encoding);
    if (!is_plain(from->type.dtype) && !hn_is_block(from->type.dtype))
        return HN_OK; /* integers are no weights */
    const hn_dtype chosen = hn_recipe_choose(q->options->recipe, model, from->name, &from->type,
                                             from->type.dtype);
    HN_REQUIRE(chosen == from->type.dtype || is_plain(from->type.dtype) ||
                   q->options->may_requantize,
               HN_ERR_UNSUPPORTED,
               "%s: tensor %s is %s: to encode it again loses twice; begin with f32, f16 or "
               "bf16 weights, or say --requantize",
               hn_gguf_weights(q->in)->name, from->name, from->encoding);
    return hn_type_make(&to->type, chosen, from->type.rank, from->type.dim);
}

static void tell(const quantization *q, const hn_recipe_model *model, const hn_weight_entry *was,
                 const hn_weight_entry *is)
{
    const hn_dtype current = was->type.dtype;
    const hn_dtype unlikely = current == HN_F32 ? HN_F16 : HN_F32; /* kept, if it is given back */
    const hn_recipe *recipe = q->options->recipe;
    const bool is_weight = is_plain(current) || hn_is_block(current);
    const hn_dtype meant = is_weight ? hn_recipe_meant(recipe, model, was->name, &was->type, current) : current;
    const bool is_kept = !is_weight || (meant == current && hn_recipe_meant(recipe, model, was->name, &was->type,
                                                                            unlikely) == unlikely);
    const hn_quantized tensor = { .name = was->name, .was = &was->type, .is = &is->type, .meant = meant,
                                  .is_kept = is_kept };
    if (q->options->told)
        q->options->told(q->options->context, &tensor);
}

/* A file of the same types under another name would pass for what was asked for. */
static hn_status check_result(const quantization *q, const hn_weights *all, const hn_recipe_model *model)
{
    const hn_dtype asked = hn_recipe_dtype(q->options->recipe);
    bool has_asked = false, has_changed = q->options->n_keep > 0;
    for (size_t i = 0; i < all->n; i++) {
        const hn_dtype dtype = q->entries[i].type.dtype;
        has_asked = has_asked || dtype == asked;
        has_changed = has_changed || dtype != all->entries[i].type.dtype;
    }
    HN_REQUIRE(has_asked || has_changed, HN_ERR_UNSUPPORTED,
               "%s: no tensor of it can be %s, and none would change", all->name, hn_dtype_name(asked));
    for (size_t i = 0; i < all->n; i++)
        tell(q, model, &all->entries[i], &q->entries[i]);
    return HN_OK;
}

/* Weighed by what a tensor's inputs are, errors of blocks alone are: a matrix that none of them is in would change nothing. */
static hn_status check_importance(const quantization *q, const hn_weights *all)
{
    const float *mean = NULL;
    bool has_blocks = false;
    for (size_t i = 0; i < all->n && q->options->importance && !mean; i++) {
        const hn_type *from = &all->entries[i].type, *to = &q->entries[i].type;
        if (!hn_is_block(to->dtype) || to->dtype == from->dtype)
            continue;
        has_blocks = true;
        HN_TRY(hn_importance_of(q->options->importance, all->entries[i].name, from->rank == 3 ? from->dim[0] : 1, hn_last_dim(from), &mean));
    }
    HN_REQUIRE(mean || !q->options->importance, HN_ERR_ARGUMENT, "--imatrix: %s", has_blocks ?
               "it has none of the tensors that are encoded in blocks" : "no tensor is encoded in blocks, whose errors it weighs");
    return HN_OK;
}

static hn_status plan(quantization *q)
{
    const hn_weights *all = hn_gguf_weights(q->in);
    bool has_values[HN_MAX_LAYERS] = { false };
    for (size_t i = 0; i < all->n; i++)
        hn_recipe_mark_values(all->entries[i].name, has_values);
    const hn_recipe_model model = {
        .hp = q->hp,
        .has_values = has_values,
        .has_output = hn_weights_find(all, "output.weight") != NULL,
        .has_importance = q->options->importance != NULL,
        .n_keep = q->options->n_keep,
        .keep = q->options->keep,
    };
    q->entries = hn_alloc_array(q->heap, HN_TAG_FILE, all->n, sizeof *q->entries);
    if (!q->entries)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < all->n; i++) {
        HN_TRY(choose_type(q, &model, &all->entries[i], &q->entries[i]));
        q->watch->total_bytes += hn_type_bytes(&q->entries[i].type);
    }
    HN_TRY(hn_recipe_check_keep(&model, all->entries, all->n));
    HN_TRY(check_importance(q, all));
    return check_result(q, all, &model);
}

typedef struct row_source {
    const hn_weight_entry *from;
    size_t row_bytes;
    bool is_copied;
} row_source;

static const uint8_t *take_row(const void *context, int64_t row, float *out, uint8_t *bytes)
{
    const row_source *s = context;
    const uint8_t *data = s->from->data + (size_t)row * s->row_bytes;
    const int64_t n = hn_last_dim(&s->from->type);
    (void)bytes;
    if (s->is_copied)
        return data;
    hn_row_decode(s->from->type.dtype, data, n, out);
    return NULL;
}

static hn_status write_tensor(quantization *q, hn_weights_writer *writer, size_t i)
{
    const hn_weight_entry *from = &hn_gguf_weights(q->in)->entries[i];
    const hn_type *type = &from->type;
    const int64_t n = hn_last_dim(type);
    const row_source source = { from, hn_dtype_bytes(type->dtype) * (size_t)(n / hn_dtype_block(type->dtype)),
                                q->entries[i].type.dtype == type->dtype };
    hn_row_job job = { .name = from->name, .dtype = q->entries[i].type.dtype,
                       .rows = hn_rows(type), .row_elements = n, .row = take_row,
                       .context = &source };
    if (q->options->importance && hn_is_block(job.dtype) && !source.is_copied) {
        const int64_t experts = type->rank == 3 ? type->dim[0] : 1;
        job.rows_per_importance = job.rows / experts;
        HN_TRY(hn_importance_of(q->options->importance, from->name, experts, n,
                                &job.importance));
    }
    return hn_encode_rows(&job, q->heap, q->pool, writer, i, q->watch);
}

static hn_status check_ignored(const quantization *q)
{
    for (int i = 0; i < q->options->ignored->n; i++)
        HN_REQUIRE(hn_meta_find(hn_gguf_meta(q->in), q->options->ignored->at[i]), HN_ERR_ARGUMENT,
                   "--ignore %s: %s has no such key", q->options->ignored->at[i],
                   hn_gguf_meta(q->in)->name);
    return HN_OK;
}

static hn_status copy_keys(quantization *q)
{
    const hn_meta *meta = hn_gguf_meta(q->in);
    for (size_t i = 0; i < meta->n; i++)
        HN_TRY(hn_meta_set_copy(&q->meta, &meta->values[i]));
    if (q->options->ignored)
        HN_TRY(check_ignored(q));
    HN_TRY(hn_ignored_write(q->options->ignored, &q->meta));
    HN_TRY(hn_meta_set_int(&q->meta, "general.quantization_version", HN_META_U32, 2));
    return hn_meta_set_int(&q->meta, "general.file_type", HN_META_U32,
                           hn_recipe_file_type(q->options->recipe));
}

static hn_status quantize(quantization *q, hn_sink out)
{
    hn_weights_writer *writer;
    const hn_arch *arch;
    hn_span name;
    const hn_meta *meta = hn_gguf_meta(q->in);
    HN_TRY(hn_meta_want_string(meta, "general.architecture", &name));
    char text[64] = "";
    memcpy(text, name.data, name.bytes < sizeof text ? name.bytes : sizeof text - 1);
    HN_TRY(hn_arch_named(text, &arch));
    HN_TRY(copy_keys(q));
    HN_TRY(hn_arch_read_meta(arch, &q->meta, hn_gguf_weights(q->in), q->options->ignored, q->hp));
    HN_TRY(plan(q));
    const size_t n = hn_gguf_weights(q->in)->n;
    HN_TRY(hn_gguf_create(q->heap, out, &q->meta, q->entries, n, &writer));
    hn_status status = HN_OK;
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = write_tensor(q, writer, i);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status hn_quantize(hn_heap *heap, hn_pool *pool, const char *in, hn_sink out,
                      const hn_quantize_options *options, hn_watch *watch)
{
    quantization q = { .heap = heap, .pool = pool, .options = options, .watch = watch,
                       .meta = hn_meta_on(heap, in) };
    q.hp = hn_alloc(heap, HN_TAG_FILE, sizeof *q.hp);
    hn_status status = q.hp ? hn_gguf_open(heap, in, &q.in) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = quantize(&q, out);
    hn_gguf_close(q.in);
    hn_free(heap, q.entries);
    hn_free(heap, q.hp);
    hn_meta_free(&q.meta);
    return status;
}
