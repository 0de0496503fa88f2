#include "tests/harness/random_adapter.h"

#include "base/os/folders.h"
#include "base/os/process.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

typedef struct recipe {
    hn_weight_entry entries[2 * MOST];
    size_t n;
    hn_rng_key key;
} recipe;

static bool is_wanted(const hn_arch_tensor *tensor, const nn_weight *w, bool experts, const char *also, uint64_t draw)
{
    const size_t n = strlen(tensor->gguf), m = also ? strlen(also) : 0;
    if (also && n >= m && !strcmp(tensor->gguf + n - m, also))
        return true;
    if (w->type.rank < 2 || strncmp(tensor->gguf, "blk.", 4) || strstr(tensor->gguf, "ffn_gate_inp") ||
        n < 7 || strcmp(tensor->gguf + n - 7, ".weight"))
        return false;
    return (w->type.rank == 2 || experts) && draw % 4 != 0 &&
           (strstr(tensor->gguf, ".attn_") || strstr(tensor->gguf, ".ffn_"));
}

static hn_status add(recipe *r, hn_heap *heap, const nn_weight *w, int64_t rank)
{
    const int top = w->type.rank - 2;
    for (int half = 0; half < 2; half++) {
        hn_weight_entry *e = &r->entries[r->n++];
        char *name = hn_alloc(heap, HN_TAG_TEXT, 96);
        int64_t dim[3] = { w->type.dim[0] };
        if (!name)
            return HN_ERR_MEMORY;
        snprintf(name, 96, "%s.lora_%c", w->name, half ? 'b' : 'a');
        dim[top] = half ? w->type.dim[top] : rank;
        dim[top + 1] = half ? rank : w->type.dim[top + 1];
        *e = (hn_weight_entry){ .name = name };
        HN_TRY(hn_type_make(&e->type, HN_F32, w->type.rank, dim));
    }
    return HN_OK;
}

static hn_status choose(recipe *r, hn_heap *heap, const hn_model *model, int64_t rank, bool experts, const char *also)
{
    size_t n;
    const hn_arch_tensor *all = hn_model_tensors(model, &n);
    for (size_t i = 0; i < n && r->n < 2 * MOST; i++) {
        const nn_weight *w = hn_model_find(model, all[i].gguf);
        bool is_there = false;
        for (size_t j = 0; w && j < r->n; j++)
            is_there = is_there || !strncmp(r->entries[j].name, w->name, strlen(w->name));
        if (w && !is_there && is_wanted(&all[i], w, experts, also, hn_rng_u32(r->key, i)))
            HN_TRY(add(r, heap, w, i % 3 == 0 && rank > 1 ? rank - 1 : rank));
    }
    return HN_OK;
}

static hn_status put(const recipe *r, hn_heap *heap, hn_weights_writer *writer)
{
    for (size_t i = 0; i < r->n; i++) {
        const int64_t n = hn_count(&r->entries[i].type);
        float *x = hn_alloc_array(heap, HN_TAG_FILE, (size_t)n, sizeof *x);
        if (!x)
            return HN_ERR_MEMORY;
        for (int64_t j = 0; j < n; j++)
            x[j] = (hn_rng_uniform(hn_rng_fold(r->key, i), (uint64_t)j) - 0.5f) * 0.5f;
        const hn_status status = hn_weights_writer_put(writer, i, 0, x, (size_t)n * sizeof *x);
        hn_free(heap, x);
        HN_TRY(status);
    }
    return HN_OK;
}

hn_status adapter_file_begin(hn_weights_writer **writer, hn_heap *heap, const hn_model *model, const char *path,
                             const hn_weight_entry *entries, size_t n)
{
    hn_meta meta = hn_meta_on(heap, path);
    hn_status status = hn_meta_set_text(&meta, "general.type", "adapter");
    if (status == HN_OK)
        status = hn_meta_set_text(&meta, "general.architecture", hn_model_arch(model)->name);
    if (status == HN_OK)
        status = hn_meta_set_text(&meta, HN_ADAPTER_TYPE, "lora");
    if (status == HN_OK)
        status = hn_gguf_create(heap, hn_sink_own(path), &meta, entries, n, writer);
    hn_meta_free(&meta);
    return status;
}

static hn_status write_file(const recipe *r, hn_heap *heap, const hn_model *model, const char *path)
{
    hn_weights_writer *writer;
    HN_TRY(adapter_file_begin(&writer, heap, model, path, r->entries, r->n));
    const hn_status status = put(r, heap, writer);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status random_adapter_open(hn_heap *heap, const hn_model *model, hn_run_spec run, int64_t rank, bool experts,
                              const char *also, uint64_t seed, hn_adapter **out)
{
    char path[128];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.80s/hone-random-adapter-%lld.gguf", dir ? dir : "/tmp", (long long)hn_os_process_id());
    recipe *r = hn_alloc(heap, HN_TAG_FILE, sizeof *r);
    if (!r)
        return HN_ERR_MEMORY;
    r->key = hn_rng_seed(seed);
    hn_status status = choose(r, heap, model, rank, experts, also);
    if (status == HN_OK)
        status = write_file(r, heap, model, path);
    if (status == HN_OK) {
        const hn_adapter_use use = { .model = model, .run = run };
        status = hn_adapter_open(out, heap, path, &use, NULL);
    }
    remove(path);
    for (size_t i = 0; i < r->n; i++)
        hn_free(heap, (void *)(uintptr_t)r->entries[i].name);
    hn_free(heap, r);
    return status;
}
