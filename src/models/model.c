/* What both formats have in common: weights by name, and that every tensor of the architecture's table is there
 * and no other. */
#include "models/model_parts.h"

#include "base/map_file.h"
#include "base/rng.h"
#include "models/finite.h"
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

bool hn_model_has(const hn_model *m, const char *name)
{
    for (size_t i = m->n; i > 0; i--)
        if (!strcmp(m->weights[i - 1].name, name))
            return true;
    return false;
}

const hn_weights *hn_model_stored(const hn_model *m)
{
    return m->in_memory ? m->in_memory : m->format->weights(m->file);
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
    HN_TRY(hn_taken_begin(&taken, m->heap, hn_model_stored(m)));
    hn_status status = m->format->take(m, &taken);
    if (status == HN_OK)
        status = hn_taken_check(&taken, m->arch, m->hp, m->prefix, m->path);
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
    m->format = hn_model_format_of(path);
    hn_status status = m->format->open(m);
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
    m->format = &hn_model_format_gguf;
    hn_status status = hn_model_read_keys(m, meta);
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
    if (m->file)
        m->format->close(m->file);
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

bool hn_model_embeds_only(const hn_model *m) { return m->arch->embeds_only || m->hp->is_headless; }

const char *hn_model_path(const hn_model *m)
{
    return m->path;
}

hn_gguf *hn_model_gguf(const hn_model *m)
{
    return m->format == &hn_model_format_gguf ? m->file : NULL;
}

hn_hf_dir *hn_model_hf_dir(const hn_model *m)
{
    return m->format == &hn_model_format_hf ? m->file : NULL;
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
    if (options->numerics == HN_NUMERICS_INT8 && !b->has_whole && !hn_is_poison(g, y))
        return hn_graph_fail(g, HN_ERR_UNSUPPORTED,
                             "%s: int8 numerics multiply by matrices in block formats, and there is none: it runs in f32",
                             m->path);
    return y;
}
