/* format_gguf: a GGUF file, in one part or several: every tensor where it lies, by the names that hone has. */
#include "io/gguf.h"
#include "base/work.h"
#include "models/model_parts.h"
#include "text/template/chat.h"

#include <string.h>

static bool is(const char *path)
{
    (void)path;
    return true;
}

static hn_status read_head(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model_head *head)
{
    hn_gguf *file;
    char *name = NULL;
    HN_TRY(hn_gguf_open(heap, path, &file));
    const hn_meta *meta = hn_gguf_meta(file);
    hn_status status = hn_meta_text(meta, "general.architecture", &name);
    if (status == HN_OK && !name)
        status = hn_fail(HN_ERR_FORMAT, "%s: key general.architecture is missing", path);
    if (status == HN_OK)
        status = hn_arch_named(name, &head->arch);
    if (status == HN_OK)
        status = hn_arch_read_meta(head->arch, meta, hn_gguf_weights(file), ignored, head->hp);
    if (name)
        hn_free(meta->heap, name);
    head->has_weights = hn_gguf_weights(file)->n > 0;
    hn_gguf_close(file);
    return status;
}

static hn_status is_tokenizer_alone(hn_heap *heap, const char *path, bool *out)
{
    hn_gguf *file;
    HN_TRY(hn_gguf_open(heap, path, &file));
    *out = hn_gguf_weights(file)->n == 0;
    hn_gguf_close(file);
    return HN_OK;
}

static hn_status read_tokenizer(hn_heap *heap, const char *path, hn_tokenizer **out)
{
    hn_gguf *file;
    HN_TRY(hn_gguf_open(heap, path, &file));
    const hn_status status = hn_tokenizer_from_meta(heap, hn_gguf_meta(file), out);
    hn_gguf_close(file);
    return status;
}

static hn_status read_chat(hn_chat_input *in, const char *path)
{
    hn_gguf *file;
    HN_TRY(hn_gguf_open(in->heap, path, &file));
    const hn_status status = hn_chat_format_add_meta(in->chat, hn_gguf_meta(file));
    hn_gguf_close(file);
    return status;
}

static hn_status read_tokenizer_keys(hn_heap *heap, const char *path, hn_meta *keys)
{
    hn_gguf *file;
    HN_TRY(hn_gguf_open(heap, path, &file));
    const hn_meta *all = hn_gguf_meta(file);
    hn_status status = HN_OK;
    for (size_t i = 0; i < all->n && status == HN_OK; i++)
        if (!strncmp(all->values[i].key, "tokenizer.", strlen("tokenizer.")))
            status = hn_meta_set_copy(keys, &all->values[i]);
    hn_gguf_close(file);
    HN_REQUIRE(status != HN_OK || keys->n, HN_ERR_FORMAT, "%s: it has no keys tokenizer.*", path);
    return status;
}

static hn_status look_at_templates(hn_model_look *look)
{
    static const char written[] = "tokenizer.chat_template";
    const char *key = hn_chat_template_key(look->meta);
    hn_span text, unused;
    HN_TRY(hn_meta_string(look->meta, key, &text));
    if (text.data)
        hn_model_look_add(look, "default", text.data, text.bytes);
    look->template_key = key;
    HN_TRY(hn_meta_string(look->meta, written, &unused));
    if (strcmp(key, written) != 0)
        look->template_unused = unused.bytes;
    const size_t n = strlen(key);
    for (size_t i = 0; i < look->meta->n; i++)
        if (!strncmp(look->meta->values[i].key, key, n) && look->meta->values[i].key[n] == '.')
            hn_model_look_add(look, look->meta->values[i].key + n + 1, NULL, 0);
    return HN_OK;
}

/* A vocabulary alone, or an adapter. */
static bool has_no_shape(const hn_model_look *look)
{
    hn_span type;
    return !look->weights->n || (hn_meta_string(look->meta, "general.type", &type) == HN_OK && type.bytes == 7 &&
                                 !memcmp(type.data, "adapter", 7));
}

static hn_status look_at_shape(hn_heap *heap, const hn_ignored *ignored, hn_model_look *look)
{
    look->hp = hn_alloc(heap, HN_TAG_FILE, sizeof *look->hp);
    const hn_status status =
        look->hp ? hn_arch_read_meta(look->arch, look->meta, look->weights, ignored, look->hp) : HN_ERR_MEMORY;
    if (status != HN_ERR_FORMAT || !has_no_shape(look))
        return status;
    hn_free(heap, look->hp);
    look->hp = NULL;
    return HN_OK;
}

static hn_status look(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model_look *out)
{
    hn_span name;
    hn_gguf *file;
    HN_TRY(hn_gguf_open(heap, path, &file));
    out->file = file;
    out->meta = hn_gguf_meta(file);
    out->weights = hn_gguf_weights(file);
    out->parts = hn_gguf_parts(file);
    out->format = hn_gguf_version(file) == 2 ? "GGUF 2" : "GGUF 3";
    HN_TRY(hn_meta_string(out->meta, "general.architecture", &name));
    if (name.data)
        memcpy(out->arch_name, name.data,
               name.bytes < sizeof out->arch_name ? name.bytes : sizeof out->arch_name - 1);
    /* What hone cannot run can still be looked at. */
    if (hn_arch_named(out->arch_name, &out->arch) == HN_OK)
        HN_TRY(look_at_shape(heap, ignored, out));
    return look_at_templates(out);
}

hn_status hn_model_read_keys(hn_model *m, const hn_meta *meta)
{
    char *name;
    HN_TRY(hn_meta_text(meta, "general.architecture", &name));
    HN_REQUIRE(name, HN_ERR_FORMAT, "%s: key general.architecture is missing", m->path);
    const hn_status status = hn_arch_named(name, &m->arch);
    hn_free(m->heap, name);
    HN_TRY(status);
    return hn_arch_read_meta(m->arch, meta, hn_model_stored(m), &m->ignored, m->hp);
}

static hn_status open_file(hn_model *m)
{
    hn_gguf *file;
    HN_TRY(hn_gguf_open(m->heap, m->path, &file));
    m->file = file;
    return hn_model_read_keys(m, hn_gguf_meta(file));
}

static void close_file(void *file) { hn_gguf_close(file); }
static const hn_weights *weights(const void *file) { return hn_gguf_weights(file); }
static int parts(const void *file) { return hn_gguf_parts(file); }
static const hn_map_file *map(const void *file, int part) { return hn_gguf_map(file, part); }

static hn_status take_entry(hn_model *m, const hn_arch_tensor *want, hn_taken *taken)
{
    const hn_weight_entry *e;
    HN_TRY(hn_weights_want(hn_model_stored(m), want->gguf, &e));
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

static hn_status take(hn_model *m, hn_taken *taken)
{
    const hn_weights *all = hn_model_stored(m);
    for (size_t i = 0; i < m->n_tensors; i++) {
        const hn_arch_tensor *want = &m->tensors[i];
        HN_TRY(hn_work_tell(i, m->n_tensors, want->gguf));
        if (hn_weights_find(all, want->gguf)) {
            if (!hn_model_has(m, want->gguf))
                HN_TRY(take_entry(m, want, taken));
            continue;
        }
        HN_REQUIRE(!hn_arch_needs(want, m->hp), HN_ERR_FORMAT, "%s: tensor %s is missing",
                   m->path, want->gguf);
    }
    return HN_OK;
}

const hn_model_format hn_model_format_gguf = {
    .name = "GGUF",
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
