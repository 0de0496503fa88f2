#include "models/model_parts.h"

#include "base/map_file.h"
#include "base/rng.h"
#include "models/finite.h"
#include "nn/source.h"
#include "nn/surplus.h"

#include <string.h>

hn_status hn_model_index(hn_model *m)
{
    m->index_size = 64;
    while (m->index_size < 2 * m->n)
        m->index_size *= 2;
    m->index = hn_alloc_array(m->heap, HN_TAG_FILE, m->index_size, sizeof *m->index);
    if (!m->index)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < m->n; i++) {
        size_t at = hn_hash_text(m->weights[i].name) & (m->index_size - 1);
        while (m->index[at])
            at = (at + 1) & (m->index_size - 1);
        m->index[at] = (uint32_t)i + 1;
    }
    return HN_OK;
}

const nn_weight *hn_model_find(const void *model, const char *gguf_name)
{
    const hn_model *m = model;
    size_t at = hn_hash_text(gguf_name) & (m->index_size - 1);
    for (; m->index[at]; at = (at + 1) & (m->index_size - 1))
        if (!strcmp(m->weights[m->index[at] - 1].name, gguf_name))
            return &m->weights[m->index[at] - 1];
    return NULL;
}

static bool has_weight(const hn_model *m, const char *name)
{
    for (size_t i = m->n; i > 0; i--)
        if (!strcmp(m->weights[i - 1].name, name))
            return true;
    return false;
}

/* Whether a later row of the table may still give this tensor. */
static bool has_alternative(const hn_model *m, size_t i)
{
    for (size_t k = i + 1; k < m->n_tensors && m->tensors[k].layer == m->tensors[i].layer; k++)
        if (!strcmp(m->tensors[k].gguf, m->tensors[i].gguf))
            return true;
    return false;
}

/* GGUF: every tensor where it lies. */

static const hn_weights *stored(const hn_model *m)
{
    return m->in_memory ? m->in_memory : m->dir ? &m->dir->weights : hn_gguf_weights(m->gguf);
}

static hn_status take_entry(hn_model *m, const hn_arch_tensor *want, hn_taken *taken)
{
    const hn_weight_entry *e;
    HN_TRY(hn_weights_want(stored(m), want->gguf, &e));
    hn_taken_mark(taken, e);
    bool fits = e->type.rank == want->rank;
    for (int i = 0; fits && i < want->rank; i++)
        fits = e->type.dim[i] == want->dim[i];
    char found[HN_TYPE_TEXT], expected[HN_TYPE_TEXT];
    hn_type shape = e->type;
    shape.rank = want->rank;
    memcpy(shape.dim, want->dim, sizeof shape.dim);
    HN_REQUIRE(fits, HN_ERR_FORMAT, "%s: tensor %s: expected %s, found %s", m->path, want->gguf,
               hn_type_text(&shape, expected), hn_type_text(&e->type, found));
    m->weights[m->n++] = (nn_weight){ .name = want->gguf, .type = e->type, .data = e->data,
                                      .is_shifted = want->spec->how & HN_W_PLUS_ONE,
                                      .is_rounded = !(want->spec->how & HN_W_CONSTANT),
                                      .is_permuted = (want->spec->how & HN_W_PERMUTE) != 0 };
    return HN_OK;
}

static hn_status take_gguf(hn_model *m, hn_taken *taken)
{
    const hn_weights *all = stored(m);
    for (size_t i = 0; i < m->n_tensors; i++) {
        const hn_arch_tensor *want = &m->tensors[i];
        if (hn_weights_find(all, want->gguf)) {
            if (!has_weight(m, want->gguf))
                HN_TRY(take_entry(m, want, taken));
            continue;
        }
        HN_REQUIRE(!hn_arch_needs(want, m->hp), HN_ERR_FORMAT, "%s: tensor %s is missing",
                   m->path, want->gguf);
    }
    return HN_OK;
}

/* A directory: in place where the file has hone's order, else put together. */

static hn_dtype kept_type(const hn_source *source)
{
    const hn_dtype dtype = hn_source_dtype(source);
    const bool is_vector = source->want.rank == 1;
    return is_vector || source->want.spec->how & (HN_W_F32 | HN_W_PLUS_ONE) ? HN_F32 : dtype;
}

static hn_status copy_rows(hn_model *m, hn_source *source, nn_weight *w, void **owned)
{
    const size_t row_bytes = hn_dtype_bytes(w->type.dtype) *
                             (size_t)(source->row_elements / hn_dtype_block(w->type.dtype));
    uint8_t *data = hn_alloc_array(m->heap, HN_TAG_WEIGHT, (size_t)source->rows, row_bytes);
    float *row = hn_alloc_array(m->heap, HN_TAG_FILE, (size_t)source->row_elements, sizeof *row);
    *owned = data;
    for (int64_t i = 0; data && row && i < source->rows; i++) {
        uint8_t *to = data + (size_t)i * row_bytes;
        const uint8_t *ready = w->type.dtype == hn_source_dtype(source)
                                   ? hn_source_bytes(source, i)
                                   : NULL;
        if (w->type.dtype == HN_TYPE_mxfp4) {
            hn_source_mxfp4(source, i, to);
        } else if (ready) {
            memcpy(to, ready, row_bytes);
        } else {
            hn_source_row(source, i, row);
            const hn_tensor t = hn_tensor_at(&w->type, data);
            for (int64_t k = 0; k < source->row_elements; k++)
                hn_set(&t, i * source->row_elements + k, (double)row[k]);
        }
    }
    w->data = data;
    const bool ok = data && row;
    hn_free(m->heap, row);
    return ok ? HN_OK : HN_ERR_MEMORY;
}

static hn_status take_source(hn_model *m, size_t i, hn_taken *taken, bool *is_found)
{
    hn_source source;
    const hn_source_dir from = { m->arch, m->hp, &m->dir->weights, m->prefix, false };
    HN_TRY(hn_source_open(m->heap, &from, &m->tensors[i], &source, is_found));
    if (!*is_found)
        return HN_OK;
    for (int p = 0; p < source.n_parts; p++)
        hn_taken_mark(taken, source.parts[p]);
    nn_weight *w = &m->weights[m->n];
    *w = (nn_weight){ .name = m->tensors[i].gguf,
                      .is_shifted = m->tensors[i].spec->how & HN_W_PLUS_ONE,
                      .is_rounded = !(m->tensors[i].spec->how & HN_W_CONSTANT) };
    hn_status status = hn_type_make(&w->type, kept_type(&source), m->tensors[i].rank,
                                    m->tensors[i].dim);
    const unsigned moved = ~(unsigned)(HN_W_PERMUTE | HN_W_F32 | HN_W_PAD);
    const bool is_whole = source.n_parts == 1 && !(source.want.spec->how & moved) &&
                          w->type.dtype == hn_source_dtype(&source) &&
                          source.parts[0]->bytes == hn_type_bytes(&w->type);
    if (status == HN_OK && is_whole)
        w->data = source.parts[0]->data;
    else if (status == HN_OK)
        status = copy_rows(m, &source, w, &m->owned[m->n]);
    m->n++;
    hn_source_close(&source);
    return status;
}

static hn_status take_dir(hn_model *m, hn_taken *taken)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        bool is_found;
        if (has_weight(m, m->tensors[i].gguf))
            continue;
        HN_TRY(take_source(m, i, taken, &is_found));
        HN_REQUIRE(is_found || has_alternative(m, i) || !hn_arch_needs(&m->tensors[i], m->hp),
                   HN_ERR_FORMAT, "%s: the tensor that is %s in GGUF is missing", m->path,
                   m->tensors[i].gguf);
    }
    return HN_OK;
}

static hn_status read_keys(hn_model *m, const hn_meta *meta)
{
    char *name;
    HN_TRY(hn_meta_text(meta, "general.architecture", &name));
    HN_REQUIRE(name, HN_ERR_FORMAT, "%s: key general.architecture is missing", m->path);
    const hn_status status = hn_arch_named(name, &m->arch);
    hn_free(m->heap, name);
    HN_TRY(status);
    return hn_arch_read_meta(m->arch, meta, stored(m), &m->ignored, m->hp);
}

static hn_status read_file(hn_model *m)
{
    HN_TRY(hn_gguf_open(m->heap, m->path, &m->gguf));
    return read_keys(m, hn_gguf_meta(m->gguf));
}

static hn_status read_dir(hn_model *m)
{
    HN_TRY(hn_hf_dir_open(m->heap, m->path, HN_HF_TEXT | HN_HF_WEIGHTS, &m->dir));
    const hn_json *config = hn_json_root(m->dir->config);
    HN_TRY(hn_arch_of_config(config, &m->arch));
    HN_TRY(hn_arch_read_config(m->arch, config, &m->ignored, m->hp));
    HN_TRY(hn_arch_find_prefix(m->arch, &m->dir->weights, &m->prefix));
    return hn_arch_check_head(m->arch, m->hp, &m->dir->weights, m->prefix);
}

/* All tensors of its architecture and numbers, and no other. */
static hn_status take_all(hn_model *m)
{
    HN_TRY(hn_arch_tensors(m->arch, m->hp, m->heap, &m->tensors, &m->n_tensors));
    m->weights = hn_alloc_array(m->heap, HN_TAG_FILE, m->n_tensors, sizeof *m->weights);
    m->owned = hn_alloc_array(m->heap, HN_TAG_FILE, m->n_tensors, sizeof *m->owned);
    if (!m->weights || !m->owned)
        return HN_ERR_MEMORY;
    hn_taken taken;
    HN_TRY(hn_taken_begin(&taken, m->heap, stored(m)));
    hn_status status = m->dir ? take_dir(m, &taken) : take_gguf(m, &taken);
    if (status == HN_OK)
        status = hn_taken_check(&taken, m->arch, m->hp, m->dir ? m->prefix : NULL, m->path);
    hn_taken_free(&taken, m->heap);
    HN_TRY(status);
    return hn_model_index(m);
}

static hn_status take_ignored(hn_model *m, const hn_ignored *from)
{
    for (int i = 0; from && i < from->n; i++) {
        m->ignored.at[i] = hn_strdup(m->heap, HN_TAG_FILE, from->at[i]);
        if (!m->ignored.at[i])
            return HN_ERR_MEMORY;
        m->ignored.n++;
    }
    return HN_OK;
}

static hn_status begin(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model **out)
{
    hn_model *m = hn_alloc(heap, HN_TAG_FILE, sizeof *m);
    if (!m)
        return HN_ERR_MEMORY;
    m->heap = heap;
    m->path = hn_strdup(heap, HN_TAG_FILE, path);
    m->hp = hn_alloc(heap, HN_TAG_FILE, sizeof *m->hp);
    hn_status status = m->path && m->hp ? hn_identity_new(&m->identity, heap) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = take_ignored(m, ignored);
    if (status != HN_OK)
        hn_model_close(m);
    *out = status == HN_OK ? m : NULL;
    return status;
}

hn_status hn_model_open(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model **out)
{
    hn_model *m;
    *out = NULL;
    HN_TRY(begin(heap, path, ignored, &m));
    hn_status status = hn_is_dir(path) ? read_dir(m) : read_file(m);
    if (status == HN_OK)
        status = take_all(m);
    if (status != HN_OK) { /* what config.json says is told without the directory */
        const bool is_named = strstr(hn_error_message(), path) != NULL;
        hn_model_close(m);
        return is_named ? status : hn_fail_within(status, "%s: ", path);
    }
    *out = m;
    return HN_OK;
}

hn_status hn_model_of(hn_heap *heap, const char *name, const hn_meta *meta, const hn_weights *weights,
                      hn_model **out)
{
    hn_model *m;
    *out = NULL;
    HN_TRY(begin(heap, name, NULL, &m));
    m->in_memory = weights;
    hn_status status = read_keys(m, meta);
    if (status == HN_OK)
        status = take_all(m);
    m->in_memory = NULL;
    if (status != HN_OK) {
        hn_model_close(m);
        return status;
    }
    for (size_t i = 0; i < m->n; i++)
        m->owned[i] = (void *)(uintptr_t)m->weights[i].data;
    *out = m;
    return HN_OK;
}

void hn_model_close(hn_model *m)
{
    if (!m)
        return;
    hn_identity_free(m->identity);
    for (int i = 0; i < m->ignored.n; i++)
        hn_free(m->heap, (void *)(uintptr_t)m->ignored.at[i]);
    for (size_t i = 0; m->owned && i < m->n; i++)
        hn_free(m->heap, m->owned[i]);
    hn_free(m->heap, m->owned);
    hn_free(m->heap, m->weights);
    hn_free(m->heap, m->index);
    hn_free(m->heap, m->tensors);
    hn_free(m->heap, m->hp);
    hn_gguf_close(m->gguf);
    hn_hf_dir_close(m->dir);
    hn_free(m->heap, m->path);
    hn_free(m->heap, m);
}

const hn_arch *hn_model_arch(const hn_model *m)
{
    return m->arch;
}

const hn_ignored *hn_model_ignored(const hn_model *m)
{
    return &m->ignored;
}

const hn_hparams *hn_model_hparams(const hn_model *m)
{
    return m->hp;
}

const char *hn_model_path(const hn_model *m)
{
    return m->path;
}

hn_gguf *hn_model_gguf(const hn_model *m)
{
    return m->gguf;
}

hn_hf_dir *hn_model_hf_dir(const hn_model *m)
{
    return m->dir;
}

const hn_arch_tensor *hn_model_tensors(const hn_model *m, size_t *n)
{
    *n = m->n_tensors;
    return m->tensors;
}

bool hn_model_owns(const hn_model *m, const void *data)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->owned[i] == data)
            return true;
    return false;
}

void hn_model_release(const hn_model *m, const void *data, size_t bytes)
{
    if (!hn_model_owns(m, data))
        hn_map_release(data, bytes);
}

hn_node *hn_model_build(const hn_model *m, nn_build *b, hn_graph *g,
                        const nn_build_options *options)
{
    *b = (nn_build){ .model = { m, hn_model_find } };
    g->guard = hn_model_guard(m);
    nn_build_begin(b, g, m->hp, options);
    if (!m->arch->build)
        return hn_graph_fail(g, HN_ERR_UNSUPPORTED,
                             "%s: architecture %s cannot be run yet: its files can be read, "
                             "converted and quantised",
                             m->path, m->arch->name);
    if (options->numerics == HN_NUMERICS_BF16 && !m->arch->has_bf16)
        return hn_graph_fail(g, HN_ERR_UNSUPPORTED,
                             "%s: architecture %s has no bf16 mode: it runs in f32", m->path,
                             m->arch->name);
    hn_node *y = m->arch->build(b);
    if (options->numerics == HN_NUMERICS_MIXED && !b->has_narrow && !hn_is_poison(g, y))
        return hn_graph_fail(g, HN_ERR_UNSUPPORTED,
                             "mixed numerics multiply in bf16 by matrices that are, and remain, stored in "
                             "BF16: there is none here, or all are trained in full");
    return y;
}
