/* format_hf: a Hugging Face directory: config.json, tokenizer.json, safetensors. Tensors stay in place where the file has
 * hone's order, and are put together where it has not (nn/source.h). */
#include "io/hf_dir.h"
#include "base/work.h"
#include "io/hf_templates.h"
#include "models/model_parts.h"
#include "models/tokenizer_keys.h"
#include "nn/source.h"

#include <stdio.h>
#include <string.h>

static bool is(const char *path) { return hn_is_dir(path); }

/* Where the directory has weights, they say what its names begin with. */
static void find_prefix(hn_model_head *head, const hn_weights *weights)
{
    char name[HN_TENSOR_NAME];
    for (int i = 0; head->arch->prefixes[i]; i++) {
        hn_arch_hf_name(head->arch, head->arch->prefixes[i], head->arch->weights, 0, 0, name);
        if (hn_weights_find(weights, name)) {
            head->prefix = head->arch->prefixes[i];
            return;
        }
    }
}

static hn_status read_head(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model_head *head)
{
    hn_hf_dir *dir;
    HN_TRY(hn_hf_dir_open(heap, path, 0, &dir));
    const hn_json *config = hn_json_root(dir->config);
    hn_status status = hn_arch_of_config(config, &head->arch);
    if (status == HN_OK)
        status = hn_arch_read_config(head->arch, config, ignored, head->hp);
    if (status == HN_OK)
        status = hn_hf_dir_has_weights(dir, &head->has_weights);
    hn_hf_dir_close(dir);
    HN_TRY(status);
    head->prefix = head->arch->prefixes[0];
    if (!head->has_weights)
        return HN_OK; /* the usual prefix */
    status = hn_hf_dir_open(heap, path, HN_HF_WEIGHTS, &dir);
    if (status == HN_OK)
        find_prefix(head, &dir->weights);
    hn_hf_dir_close(dir);
    return status;
}

/* One whose config.json names no architecture. */
static hn_status is_tokenizer_alone(hn_heap *heap, const char *path, bool *out)
{
    hn_hf_dir *dir;
    HN_TRY(hn_hf_dir_open(heap, path, 0, &dir));
    *out = !hn_json_get(hn_json_root(dir->config), "architectures");
    hn_hf_dir_close(dir);
    return HN_OK;
}

static hn_status read_tokenizer(hn_heap *heap, const char *path, hn_tokenizer **out)
{
    hn_hf_dir *dir;
    HN_TRY(hn_hf_dir_open(heap, path, HN_HF_TEXT, &dir));
    hn_status status;
    if (dir->tokenizer)
        status = hn_tokenizer_from_json(
            heap, path, hn_json_root(dir->tokenizer),
            dir->tokenizer_config ? hn_json_root(dir->tokenizer_config) : NULL,
            hn_hf_dir_generation(dir), out);
    else
        status = hn_fail(HN_ERR_UNSUPPORTED,
                         "%s: no tokenizer.json; hone does not read tokenizer.model", path);
    hn_hf_dir_close(dir);
    return status;
}

static hn_status add_templates(hn_chat_input *in, const hn_hf_dir *dir)
{
    hn_hf_templates list;
    HN_TRY(hn_hf_templates_read(dir, HN_HF_TRANSFORMERS, &list));
    hn_status status = HN_OK;
    for (size_t i = 0; i < list.n && status == HN_OK; i++)
        status =
            hn_chat_format_add(in->chat, list.at[i].name, list.at[i].source, list.at[i].bytes);
    hn_hf_templates_free(&list);
    return status;
}

static hn_status read_chat(hn_chat_input *in, const char *path)
{
    hn_hf_dir *dir = NULL;
    HN_TRY(hn_hf_dir_open(in->heap, path, 0, &dir));
    hn_status status = add_templates(in, dir);
    if (status == HN_OK && dir->tokenizer_config)
        status = hn_chat_format_add_tokens(in->chat, hn_json_root(dir->tokenizer_config));
    if (status == HN_OK && dir->special_tokens)
        status = hn_chat_format_add_tokens(in->chat, hn_json_root(dir->special_tokens));
    hn_hf_dir_close(dir);
    return status;
}

static hn_status read_tokenizer_keys(hn_heap *heap, const char *path, hn_meta *keys)
{
    hn_hf_dir *dir;
    HN_TRY(hn_hf_dir_open(heap, path, HN_HF_TEXT, &dir));
    const hn_status status = hn_tokenizer_keys(dir, keys);
    hn_hf_dir_close(dir);
    return status;
}

static hn_status look_at_templates(const hn_hf_dir *dir, hn_model_look *look)
{
    hn_hf_templates list;
    HN_TRY(hn_hf_templates_read(dir, HN_HF_TRANSFORMERS, &list));
    for (size_t i = 0; i < list.n; i++)
        hn_model_look_add(look, list.at[i].name, list.at[i].source, list.at[i].bytes);
    hn_hf_templates_free(&list);
    return HN_OK;
}

static hn_status look(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model_look *out)
{
    hn_hf_dir *dir;
    HN_TRY(hn_hf_dir_open(heap, path, HN_HF_WEIGHTS, &dir));
    const hn_json *config = hn_json_root(dir->config);
    const hn_json *class = hn_json_at(hn_json_get(config, "architectures"), 0);
    const hn_json *words = dir->tokenizer_config ? hn_json_root(dir->tokenizer_config) : NULL;
    const hn_json *tokenizer = words ? hn_json_get(words, "tokenizer_class") : NULL;
    const char *text = "";
    out->file = dir;
    out->weights = &dir->weights;
    out->format = "safetensors";
    out->parts = dir->n_parts;
    out->tokenizer_class = tokenizer && tokenizer->kind == HN_JSON_STRING ? hn_json_string(tokenizer) : NULL;
    if (class)
        HN_TRY(hn_json_want_string(class, "architectures", &text));
    snprintf(out->arch_name, sizeof out->arch_name, "%s", text);
    if (hn_arch_of_config(config, &out->arch) == HN_OK) {
        snprintf(out->arch_name, sizeof out->arch_name, "%s", out->arch->name);
        out->hp = hn_alloc(heap, HN_TAG_FILE, sizeof *out->hp);
        HN_TRY(out->hp ? hn_arch_read_config(out->arch, config, ignored, out->hp) : HN_ERR_MEMORY);
    }
    return look_at_templates(dir, out);
}

static hn_status open_file(hn_model *m)
{
    hn_hf_dir *dir;
    HN_TRY(hn_hf_dir_open(m->heap, m->path, HN_HF_TEXT | HN_HF_WEIGHTS, &dir));
    m->file = dir;
    const hn_json *config = hn_json_root(dir->config);
    HN_TRY(hn_arch_of_config(config, &m->arch));
    HN_TRY(hn_arch_read_config(m->arch, config, &m->ignored, m->hp));
    HN_TRY(hn_arch_find_prefix(m->arch, &dir->weights, &m->prefix));
    return hn_arch_check_head(m->arch, m->hp, &dir->weights, m->prefix);
}

static void close_file(void *file) { hn_hf_dir_close(file); }
static const hn_weights *weights(const void *file) { return &((const hn_hf_dir *)file)->weights; }
static int parts(const void *file) { return ((const hn_hf_dir *)file)->n_parts; }
static const hn_map_file *map(const void *file, int part) { return hn_hf_dir_map(file, part); }

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
    hn_status status = data && row ? HN_OK : HN_ERR_MEMORY;
    for (int64_t i = 0; i < source->rows && status == HN_OK; i++) {
        if (hn_work_every((uint64_t)i))
            status = hn_work_look(w->name);
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
    hn_free(m->heap, row);
    return status;
}

static hn_status take_source(hn_model *m, size_t i, hn_taken *taken, bool *is_found)
{
    hn_source source;
    const hn_source_dir from = { m->arch, m->hp, hn_model_stored(m), m->prefix, false };
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
    const unsigned moved = ~(unsigned)(HN_W_PERMUTE | HN_W_F32 | HN_W_PAD | HN_W_PAD_FIRST);
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

/* Whether a later row of the table may still give this tensor. */
static bool has_alternative(const hn_model *m, size_t i)
{
    for (size_t k = i + 1; k < m->n_tensors && m->tensors[k].layer == m->tensors[i].layer; k++)
        if (!strcmp(m->tensors[k].gguf, m->tensors[i].gguf))
            return true;
    return false;
}

static hn_status take(hn_model *m, hn_taken *taken)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        bool is_found;
        HN_TRY(hn_work_tell(i, m->n_tensors, m->tensors[i].gguf));
        if (hn_model_has(m, m->tensors[i].gguf))
            continue;
        HN_TRY(take_source(m, i, taken, &is_found));
        HN_REQUIRE(is_found || has_alternative(m, i) || !hn_arch_needs(&m->tensors[i], m->hp),
                   HN_ERR_FORMAT, "%s: the tensor that is %s in GGUF is missing", m->path,
                   m->tensors[i].gguf);
    }
    return HN_OK;
}

const hn_model_format hn_model_format_hf = {
    .name = "Hugging Face",
    .is = is,
    .read_head = read_head,
    .is_tokenizer_alone = is_tokenizer_alone,
    .read_tokenizer = read_tokenizer,
    .read_chat = read_chat,
    .read_tokenizer_keys = read_tokenizer_keys,
    .look = look,
    .open = open_file,
    .close = close_file,
    .weights = weights,
    .take = take,
    .parts = parts,
    .map = map,
};
