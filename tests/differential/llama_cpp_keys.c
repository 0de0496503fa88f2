/* The keys that llama.cpp's converter writes, tokenizers and all, of a tiny model of every architecture
 * (llama_cpp_keys/, made by tools/reference/llama_cpp_keys.py), on the tensors that it writes, which are
 * convert's (differential/convert): the file opens with nothing passed over, and computes what its
 * directory does, to the bit. */
#include "base/file.h"
#include "convert/convert.h"
#include "infer/forward.h"
#include "models/open_tokenizer.h"

#include "tests/differential/changed_gguf.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_TOKENS = 24 };

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static hn_pool *pool;
static char dir[64];

/* llama.cpp has no window in `llama`, and writes none: what it runs is another model than Transformers. */
static bool is_another(const char *name)
{
    return !strcmp(name, "mistral");
}

/* *out: hn_free it; NULL of an architecture that is read and not run. */
static hn_status logits(const char *path, float **out, int64_t *n)
{
    hn_model *model;
    hn_forward *forward = NULL;
    hn_tensor t;
    int32_t tokens[N_TOKENS];
    const hn_forward_options o = { .max_tokens = N_TOKENS };
    *out = NULL;
    *n = 0;
    HN_TRY(hn_model_open(&heap, path, NULL, &model));
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    for (int64_t i = 0; i < N_TOKENS; i++)
        tokens[i] = (int32_t)(3 + (i * i * 7 + i * 13) % (vocab - 3));
    hn_status status = HN_OK;
    if (hn_model_arch(model)->build) {
        status = hn_forward_new(&forward, &heap, model, on_all_devices(n_devices, devices), &o);
        if (status == HN_OK)
            status = hn_forward_run(forward, tokens, N_TOKENS, NULL);
        if (status == HN_OK)
            status = hn_forward_logits(forward, &t);
        if (status == HN_OK) {
            *n = hn_count(&t.type);
            *out = hn_alloc_array(&heap, HN_TAG_TEXT, (size_t)*n, sizeof **out);
            status = *out ? HN_OK : HN_ERR_MEMORY;
        }
        if (status == HN_OK)
            memcpy(*out, t.data, (size_t)*n * sizeof **out);
    }
    hn_forward_free(forward);
    hn_model_close(model);
    return status;
}

/* The tensors of one file under the keys of another. */
static bool put_keys(const char *tensors, const char *keys, const char *out)
{
    static parts p;
    static value with[MAX_KEYS];
    const char *without[MAX_KEYS + 1];
    hn_gguf *file = NULL, *from = NULL;
    bool ok = CHECK_OK(hn_gguf_open(&heap, tensors, &file)) && CHECK_OK(hn_gguf_open(&heap, keys, &from)) &&
              CHECK_OK(hn_file_read(&heap, tensors, MAX_OUT, &p.file, &p.bytes));
    const hn_meta *meta = ok ? hn_gguf_meta(from) : NULL;
    ok = ok && CHECK(meta->n <= MAX_KEYS) && take_apart(&p, file);
    if (ok) {
        for (int i = 0; i < p.n_keys; i++)
            without[i] = p.keys[i].key;
        without[p.n_keys] = NULL;
        for (size_t i = 0; i < meta->n; i++) {
            const hn_meta_value *v = &meta->values[i];
            with[i] = (value){ v->key, v->type, v->is_array, v->n, v->data, v->bytes };
        }
        ok = write_changed(&p, out, without, with, (int)meta->n);
    }
    hn_free(&heap, p.file);
    p.file = NULL;
    hn_gguf_close(file);
    hn_gguf_close(from);
    return ok;
}

static void check_same(const char *name, const char *path, const char *source)
{
    float *got = NULL, *want = NULL;
    int64_t n_got, n_want;
    hn_tokenizer *tok;
    if (CHECK_OK(logits(path, &got, &n_got)) && CHECK_OK(logits(source, &want, &n_want)) && CHECK_INT(n_want, n_got)) {
        const bool same = !n_got || !memcmp(got, want, (size_t)n_got * sizeof *got);
        CHECK_THAT(same != is_another(name), "its keys compute %s its directory", same ? "what is not" : "another model than");
    }
    hn_free(&heap, got);
    hn_free(&heap, want);
    if (CHECK_OK(hn_open_tokenizer(&heap, path, &tok)))
        hn_tokenizer_free(tok);
}

static bool check_model(const char *name)
{
    char source[512], keys[512], tensors[96], path[96 + 64];
    hn_convert_options o = { 0 };
    hn_watch watch = { 0 };
    snprintf(source, sizeof source, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    snprintf(keys, sizeof keys, "%s/tests/differential/llama_cpp_keys/%s.gguf", HN_SOURCE_DIR, name);
    snprintf(tensors, sizeof tensors, "%s/tensors.gguf", dir);
    snprintf(path, sizeof path, "%s/%.60s.gguf", dir, name);
    check_group(name);
    if (CHECK_OK(hn_recipe_named("f32", &o.recipe)) &&
        CHECK_OK(hn_convert(&heap, pool, source, hn_sink_own(tensors), &o, &watch)) && put_keys(tensors, keys, path))
        check_same(name, path, source);
    unlink(tensors);
    unlink(path);
    return true;
}

int main(int argc, char **argv)
{
    static const char *const models[] = {
        "bert",   "deepseek-v2", "deepseek-v3",  "gemma2",  "gemma3", "gemma3n",    "gemma4-dense", "gemma4-e",
        "gpt2",   "gemma4-moe",  "gpt-oss",      "granite", "llama",  "granitemoe", "llama-tied",   "mistral",
        "mixtral", "mixtral-top4", "olmoe",      "phi3",    "qwen2",  "qwen3",      "qwen3moe",     "smollm3",
        "deepseek-v2-groups", "phi4-mini",
    };
    const hn_device_options open = { .n_threads = 1 };
    int n = 0;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    snprintf(dir, sizeof dir, "%s/hone-keys-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (CHECK(mkdtemp(dir)) && CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        CHECK_OK(hn_pool_new(&heap, 1, &pool));
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            n += check_model(models[i]);
        hn_pool_free(pool);
        hn_devices_close(n_devices, devices);
        rmdir(dir);
    }
    check_group(NULL);
    printf("%d models\n", n);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
