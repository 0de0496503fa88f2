#include "convert/adapter_export.h"

#include "convert/adapter_base.h"
#include "convert/adapter_config.h"
#include "io/gguf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEFT_PREFIX "base_model.model."

enum { NAME_ROOM = HN_TENSOR_NAME + 64 };

/* One matrix of one module. */
typedef struct half {
    const hn_adapter_base *base;
    const hn_arch_tensor *tensor;
    const hn_weight_entry *from;
    int64_t expert, rows, columns; /* as PEFT has them */
    bool is_b, is_embedding;
    char name[NAME_ROOM], module[HN_TENSOR_NAME];
} half;

typedef struct export
{
    hn_heap *heap;
    hn_pool *pool;
    const char *dir;
    hn_watch *watch;
    hn_adapter_base base;
    hn_gguf *file;
    double alpha;
    half *halves; /* A and B of each module, one after the other */
    size_t n;
    hn_weight_entry *entries;
    hn_adapter_module_rank *modules;
}
export;

static hn_status check_word(const hn_meta *meta, const char *key, const char *want)
{
    hn_span found;
    HN_TRY(hn_meta_want_string(meta, key, &found));
    HN_REQUIRE(found.bytes == strlen(want) && !memcmp(found.data, want, found.bytes),
               HN_ERR_UNSUPPORTED, "%s: key %s: %.*s: expected %s", meta->name, key,
               (int)(found.bytes < 64 ? found.bytes : 64), (const char *)found.data, want);
    return HN_OK;
}

static hn_status check_keys(export *ex)
{
    const hn_meta *meta = hn_gguf_meta(ex->file);
    HN_TRY(check_word(meta, "general.type", "adapter"));
    HN_TRY(check_word(meta, "adapter.type", "lora"));
    HN_TRY(check_word(meta, "general.architecture", ex->base.arch->name));
    HN_TRY(hn_meta_want_double(meta, "adapter.lora.alpha", &ex->alpha));
    HN_REQUIRE(isfinite(ex->alpha), HN_ERR_FORMAT, "%s: key adapter.lora.alpha is not finite",
               meta->name);
    return HN_OK;
}

static const hn_weight_entry *find_half(const export *ex, const hn_arch_tensor *tensor,
                                        char which)
{
    char name[HN_TENSOR_NAME + 8];
    snprintf(name, sizeof name, "%s.lora_%c", tensor->gguf, which);
    return hn_weights_find(hn_gguf_weights(ex->file), name);
}

/* Some tensors have several sources, as experts apart and fused: the first names the modules.
 */
static bool is_first(const export *ex, size_t i)
{
    const hn_arch_tensor *all = ex->base.tensors;
    for (size_t k = i; k > 0 && all[k - 1].layer == all[i].layer; k--)
        if (!strcmp(all[k - 1].gguf, all[i].gguf))
            return false;
    return true;
}

static hn_status check_pair(const export *ex, const hn_arch_tensor *t, const hn_weight_entry *a,
                            const hn_weight_entry *b)
{
    const char *file = hn_gguf_weights(ex->file)->name;
    const bool is_stacked = t->spec->how & HN_W_STACK,
               is_embedding = hn_adapter_is_embedding(t);
    HN_REQUIRE(a && b, HN_ERR_FORMAT, "%s: tensor %s.lora_%c is missing", file, t->gguf,
               a ? 'b' : 'a');
    const hn_weight_entry *both[] = { a, b };
    for (int i = 0; i < 2; i++) {
        HN_REQUIRE(both[i]->type.dtype < HN_N_DTYPES &&
                       (hn_is_block(both[i]->type.dtype) || both[i]->type.dtype == HN_F32 ||
                        both[i]->type.dtype == HN_F16 || both[i]->type.dtype == HN_BF16),
                   HN_ERR_UNSUPPORTED, "%s: tensor %s: type %s is not supported", file,
                   both[i]->name, both[i]->encoding);
        HN_REQUIRE(both[i]->type.rank == (is_stacked ? 3 : 2) &&
                       (!is_stacked || both[i]->type.dim[0] == t->dim[0]),
                   HN_ERR_SHAPE, "%s: tensor %s: its shape does not fit %s", file,
                   both[i]->name, t->gguf);
    }
    hn_weight_entry x = *a, y = *b; /* of one expert, and PEFT's way round */
    memmove(x.type.dim, a->type.dim + is_stacked, 2 * sizeof *x.type.dim);
    memmove(y.type.dim, b->type.dim + is_stacked, 2 * sizeof *y.type.dim);
    x.type.rank = y.type.rank = 2;
    if (is_embedding) {
        x.type.dim[0] = a->type.dim[1];
        x.type.dim[1] = a->type.dim[0];
    }
    const hn_status status = hn_adapter_check_shapes(t, is_embedding, &x, &y);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: tensor ", file);
}

static void add_half(export *ex, const hn_arch_tensor *t, const hn_weight_entry *from,
                     int expert, bool is_b)
{
    half *h = &ex->halves[ex->n++];
    const bool is_embedding = hn_adapter_is_embedding(t);
    const int64_t *dim = from->type.dim + from->type.rank - 2;
    *h = (half){ .base = &ex->base,
                 .tensor = t,
                 .from = from,
                 .expert = expert,
                 .is_b = is_b,
                 .is_embedding = is_embedding,
                 .rows = dim[0],
                 .columns = dim[1] };
    if (is_embedding && !is_b) {
        h->rows = dim[1];
        h->columns = dim[0];
    }
    hn_adapter_module(&ex->base, ex->base.prefix, t, expert, h->module);
    snprintf(h->name, sizeof h->name, PEFT_PREFIX "%s%s%c%s", h->module,
             is_embedding ? ".lora_embedding_" : ".lora_", is_b ? 'B' : 'A',
             is_embedding ? "" : ".weight");
}

/* With NULL halves only counts. */
static hn_status walk_pairs(export *ex, size_t *n_halves, size_t *n_found)
{
    *n_halves = *n_found = 0;
    for (size_t i = 0; i < ex->base.n; i++) {
        const hn_arch_tensor *t = &ex->base.tensors[i];
        const hn_weight_entry *a = find_half(ex, t, 'a'), *b = find_half(ex, t, 'b');
        if ((!a && !b) || !is_first(ex, i))
            continue;
        HN_REQUIRE(t->spec->hf, HN_ERR_UNSUPPORTED, "tensor %s is in no other file", t->gguf);
        HN_TRY(hn_adapter_check_kind(&ex->base, t, t->gguf));
        HN_TRY(check_pair(ex, t, a, b));
        const int64_t experts = hn_adapter_experts(t);
        for (int e = 0; ex->halves && e < experts; e++) {
            add_half(ex, t, a, e, false);
            add_half(ex, t, b, e, true);
        }
        *n_halves += 2 * (size_t)experts;
        *n_found += 2;
    }
    return HN_OK;
}

static hn_status check_all_used(const export *ex, size_t n_found)
{
    const hn_weights *all = hn_gguf_weights(ex->file);
    if (n_found == all->n)
        return all->n ? HN_OK : hn_fail(HN_ERR_FORMAT, "%s: no tensors", all->name);
    for (size_t i = 0; i < all->n; i++) {
        bool is_known = false;
        for (size_t k = 0; k < ex->n && !is_known; k++)
            is_known = ex->halves[k].from == &all->entries[i];
        HN_REQUIRE(is_known, HN_ERR_UNSUPPORTED, "%s: tensor %s: %s has no place for it",
                   all->name, all->entries[i].name, ex->base.arch->name);
    }
    return HN_OK;
}

static hn_status plan(export *ex)
{
    size_t n_halves, n_found;
    HN_TRY(walk_pairs(ex, &n_halves, &n_found));
    ex->halves = hn_alloc_array(ex->heap, HN_TAG_FILE, n_halves, sizeof *ex->halves);
    ex->entries = hn_alloc_array(ex->heap, HN_TAG_FILE, n_halves, sizeof *ex->entries);
    ex->modules = hn_alloc_array(ex->heap, HN_TAG_FILE, n_halves, sizeof *ex->modules);
    if (!ex->halves || !ex->entries || !ex->modules)
        return HN_ERR_MEMORY;
    HN_TRY(walk_pairs(ex, &n_halves, &n_found));
    HN_TRY(check_all_used(ex, n_found));
    for (size_t i = 0; i < ex->n; i++) {
        const half *h = &ex->halves[i];
        const hn_dtype from = h->from->type.dtype;
        const int64_t dim[] = { h->rows, h->columns };
        ex->entries[i].name = h->name;
        HN_TRY(hn_type_make(&ex->entries[i].type, hn_is_block(from) ? HN_F32 : from, 2, dim));
        ex->watch->total_bytes += hn_type_bytes(&ex->entries[i].type);
        if (!h->is_b)
            ex->modules[i / 2] = (hn_adapter_module_rank){ h->module, h->rows };
    }
    return HN_OK;
}

static float element(const half *h, int64_t row, int64_t column)
{
    const hn_type *type = &h->from->type;
    const int64_t n = hn_last_dim(type);
    if (!hn_is_block(type->dtype))
        return hn_adapter_element(h->from, row * n + column);
    /* Block by block is slow, and an adapter in blocks is rare and small. */
    const hn_format *format = hn_dtype_format(type->dtype);
    const int64_t block = (row * n + column) / format->block_elements;
    float values[256];
    format->decode(h->from->data + block * format->block_bytes, format->block_elements, values);
    return values[(row * n + column) % format->block_elements];
}

static const uint8_t *take_row(const void *context, int64_t row, float *out, uint8_t *bytes)
{
    const half *h = context;
    const bool is_turned = h->is_embedding && !h->is_b; /* a row a word there */
    const int64_t i = h->is_b ? hn_adapter_row_of_hf(h->base, h->tensor, row) : row;
    (void)bytes;
    for (int64_t k = 0; k < h->columns; k++)
        out[k] = is_turned ? element(h, k, row) : element(h, h->expert * h->rows + i, k);
    return NULL;
}

static hn_status write_tensors(export *ex, hn_weights_writer *writer)
{
    for (size_t i = 0; i < ex->n; i++) {
        const hn_row_job job = { .name = ex->halves[i].name,
                                 .dtype = ex->entries[i].type.dtype,
                                 .rows = ex->halves[i].rows,
                                 .row_elements = ex->halves[i].columns,
                                 .row = take_row,
                                 .context = &ex->halves[i] };
        HN_TRY(hn_encode_rows(&job, ex->heap, ex->pool, writer, i, ex->watch));
    }
    return HN_OK;
}

static hn_status write_weights(export *ex, const char *path)
{
    hn_weights_writer *writer = NULL;
    hn_meta meta = hn_meta_on(ex->heap, path);
    hn_status status = hn_meta_set_text(&meta, "format", "pt");
    if (status == HN_OK)
        status = hn_safetensors_create(ex->heap, path, &meta, ex->entries, ex->n, &writer);
    hn_meta_free(&meta);
    HN_TRY(status);
    status = write_tensors(ex, writer);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

static hn_status write_dir(export *ex)
{
    char weights[4096], config[4096];
    HN_REQUIRE(strlen(ex->dir) + 40 < sizeof weights, HN_ERR_ARGUMENT, "%s: too long a name",
               ex->dir);
    HN_REQUIRE(mkdir(ex->dir, 0777) == 0 || errno == EEXIST, HN_ERR_IO, "%s: %s", ex->dir,
               strerror(errno));
    snprintf(weights, sizeof weights, "%s/adapter_model.safetensors", ex->dir);
    snprintf(config, sizeof config, "%s/adapter_config.json", ex->dir);
    HN_TRY(write_weights(ex, weights));
    const hn_status status = hn_adapter_config_write(
        ex->heap, config, ex->alpha, hn_gguf_meta(ex->file), ex->modules, ex->n / 2);
    if (status != HN_OK)
        unlink(weights); /* half an adapter is none */
    return status;
}

hn_status hn_adapter_export(hn_heap *heap, hn_pool *pool, const char *adapter, const char *base,
                            const char *dir, hn_watch *watch)
{
    export ex = { .heap = heap, .pool = pool, .dir = dir, .watch = watch };
    hn_status status = hn_adapter_base_open(heap, base, &ex.base);
    if (status == HN_OK)
        status = hn_gguf_open(heap, adapter, &ex.file);
    if (status == HN_OK)
        status = check_keys(&ex);
    if (status == HN_OK)
        status = plan(&ex);
    if (status == HN_OK)
        status = write_dir(&ex);
    hn_free(heap, ex.halves);
    hn_free(heap, ex.entries);
    hn_free(heap, ex.modules);
    hn_gguf_close(ex.file);
    hn_adapter_base_close(&ex.base);
    return status;
}
