/* Adapters for llama.cpp: pairs of matrices, and nothing else. */
#include "convert/adapter_export.h"

#include "base/work.h"
#include "infer/adapter.h"

#include <string.h>

static bool is_pair(const char *name)
{
    const size_t n = strlen(name);
    return n > 7 && (!strcmp(name + n - 7, ".lora_a") || !strcmp(name + n - 7, ".lora_b"));
}

static hn_status check(const hn_gguf *file)
{
    const hn_weights *all = hn_gguf_weights(file);
    hn_span type;
    HN_TRY(hn_meta_want_string(hn_gguf_meta(file), "adapter.type", &type));
    for (size_t i = 0; i < all->n; i++)
        HN_REQUIRE(is_pair(all->entries[i].name), HN_ERR_UNSUPPORTED,
                   "%s: tensor %s: a GGUF adapter of llama.cpp has pairs of matrices only; hone merge "
                   "writes it into the model", all->name, all->entries[i].name);
    HN_REQUIRE(type.bytes == 4 && (!memcmp(type.data, "lora", 4) || !memcmp(type.data, "hone", 4)),
               HN_ERR_FORMAT, "%s: key adapter.type is neither lora nor hone", all->name);
    return HN_OK;
}

static hn_status copy(hn_heap *heap, const hn_gguf *file, hn_sink out)
{
    const hn_weights *all = hn_gguf_weights(file);
    const hn_meta *keys = hn_gguf_meta(file);
    hn_weights_writer *writer = NULL;
    hn_meta meta = hn_meta_on(heap, out.path);
    hn_status status = HN_OK;
    for (size_t i = 0; i < keys->n && status == HN_OK; i++)
        status = hn_meta_set_copy(&meta, &keys->values[i]);
    if (status == HN_OK)
        status = hn_meta_set_text(&meta, "adapter.type", "lora");
    if (status == HN_OK && hn_meta_find(&meta, HN_ADAPTER_SEAL)) /* of these bytes */
        status = hn_meta_set_text(&meta, HN_ADAPTER_SEAL, HN_SEAL_BLANK);
    if (status == HN_OK)
        status = hn_gguf_create(heap, out, &meta, all->entries, all->n, &writer);
    for (size_t i = 0; i < all->n && status == HN_OK; i++) {
        status = hn_work_tell(i, all->n, all->entries[i].name);
        if (status == HN_OK)
            status = hn_weights_writer_put(writer, i, 0, all->entries[i].data,
                                           (size_t)hn_weights_writer_bytes(writer, i));
    }
    hn_meta_free(&meta);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status hn_adapter_export_gguf(hn_heap *heap, hn_pool *pool, const char *adapter, const hn_ignored *ignored, const char *base,
                                 const hn_template_choice *template, hn_sink out)
{
    hn_gguf *file;
    const hn_work_part first = hn_work_part_begin(0, 0.8);
    HN_TRY(hn_work_part_end(&first, hn_adapter_file_open(&file, heap, adapter, ignored, base, true, template, hn_pool_threads(pool))));
    const hn_work_part second = hn_work_part_begin(0.8, 1);
    hn_status status = check(file);
    if (status == HN_OK)
        status = copy(heap, file, out);
    hn_work_part_end(&second, status);
    hn_gguf_close(file);
    return status;
}
