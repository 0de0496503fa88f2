/* Conversion against llama.cpp's converter: every tensor's name, type, shape and bytes, and every
 * key, of a tiny model of each architecture, in f32 and bf16. convert.json was made by
 * tools/reference/llama_cpp_convert.py from the models beside it. */
#include "convert/convert.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/sha256.h"
#include "io/gguf.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_heap heap;
static hn_pool *pool;

static void check_tensor(const hn_json *want, const hn_weights *weights)
{
    const hn_weight_entry *got = hn_weights_find(weights, want->key);
    if (!CHECK_THAT(got != NULL, "tensor %s is missing", want->key))
        return;
    uint8_t digest[32];
    char text[65];
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, got->data, (size_t)got->bytes);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    const hn_json *shape = hn_json_at(want, 1);
    bool fits = (int)shape->as.children.n == got->type.rank;
    for (int i = 0; fits && i < got->type.rank; i++)
        fits = hn_json_at(shape, (size_t)i)->as.integer ==
               got->type.dim[got->type.rank - 1 - i];
    CHECK_THAT(fits, "tensor %s: another shape", want->key);
    CHECK_TEXT(hn_json_at(want, 0)->as.string.text, got->encoding);
    CHECK_THAT(!strcmp(hn_json_at(want, 2)->as.string.text, text), "tensor %s: other bytes",
               want->key);
}

static bool same_item(const hn_json *want, const hn_meta_value *got, uint64_t i, size_t *cursor)
{
    if (got->type == HN_META_STRING) {
        const hn_span text = hn_meta_next_string(got, cursor);
        return want->kind == HN_JSON_STRING && want->as.string.bytes == text.bytes &&
               !memcmp(want->as.string.text, text.data, text.bytes);
    }
    if (got->type == HN_META_BOOL)
        return want->kind == HN_JSON_BOOL && want->as.boolean == (got->data[i] != 0);
    if (got->type == HN_META_F32) {
        char bits[9];
        snprintf(bits, sizeof bits, "%08x", hn_load_32(got->data + 4 * i));
        return want->kind == HN_JSON_STRING && !strcmp(want->as.string.text, bits);
    }
    return want->kind == HN_JSON_INT && want->as.integer == hn_meta_item_int(got, i);
}

/* Names of types as the Python package has them. */
static const char *type_name(hn_meta_type type)
{
    static const char *const names[] = { "UINT8",   "INT8",   "UINT16", "INT16", "UINT32",
                                         "INT32",   "FLOAT32", "BOOL",  "STRING", "ARRAY",
                                         "UINT64",  "INT64",  "FLOAT64" };
    return names[type];
}

static void check_key(const hn_json *want, const hn_meta *meta)
{
    const hn_meta_value *got = hn_meta_find(meta, want->key);
    if (!CHECK_THAT(got != NULL, "key %s is missing", want->key))
        return;
    const hn_json *kinds = hn_json_at(want, 0), *value = hn_json_at(want, 1);
    const hn_json *last = hn_json_at(kinds, kinds->as.children.n - 1);
    CHECK_TEXT(last->as.string.text, type_name(got->type));
    CHECK_THAT(got->is_array == (kinds->as.children.n == 2), "key %s: an array or not", want->key);
    size_t cursor = 0;
    bool same = !got->is_array || value->as.children.n == got->n;
    for (uint64_t i = 0; same && i < got->n; i++)
        same = same_item(got->is_array ? hn_json_at(value, i) : value, got, i, &cursor);
    CHECK_THAT(same, "key %s: another value", want->key);
}

static bool is_compared(const char *key)
{
    return strncmp(key, "tokenizer.", 10) != 0 && strncmp(key, "hone.", 5) != 0;
}

static void check_file(const hn_json *want, const char *path)
{
    hn_gguf *file;
    if (!CHECK_OK(hn_gguf_open(&heap, path, &file)))
        return;
    const hn_weights *weights = hn_gguf_weights(file);
    const hn_meta *meta = hn_gguf_meta(file);
    const hn_json *tensors = hn_json_get(want, "tensors"), *keys = hn_json_get(want, "keys");
    for (const hn_json *t = tensors->as.children.first; t; t = t->next)
        check_tensor(t, weights);
    for (const hn_json *k = keys->as.children.first; k; k = k->next)
        check_key(k, meta);
    CHECK_INT((int64_t)tensors->as.children.n, (int64_t)weights->n);
    for (size_t i = 0; i < meta->n; i++)
        CHECK_THAT(!is_compared(meta->values[i].key) || hn_json_get(keys, meta->values[i].key),
                   "key %s: llama.cpp writes none", meta->values[i].key);
    hn_gguf_close(file);
}

static void check_model(const hn_json *want, const char *out)
{
    char dir[512], type[16];
    const char *slash = strchr(want->key, '/');
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%.*s", HN_SOURCE_DIR,
             (int)(slash - want->key), want->key);
    snprintf(type, sizeof type, "%s", slash + 1);
    hn_convert_options options = { 0 };
    hn_watch watch = { 0 };
    check_group(want->key);
    if (CHECK_OK(hn_recipe_named(type, &options.recipe)) &&
        CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_own(out), &options, &watch)))
        check_file(want, out);
}

int main(int argc, char **argv)
{
    void *text;
    size_t bytes;
    hn_json_text *json = NULL;
    char out[] = "/tmp/hone-convert-XXXXXX";
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const int file = mkstemp(out);
    if (CHECK(file >= 0) && CHECK_OK(hn_pool_new(&heap, 2, &pool)) &&
        CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/tests/differential/convert.json", 1 << 24,
                              &text, &bytes))) {
        if (CHECK_OK(hn_json_read(&heap, "convert.json", text, bytes, &json)))
            for (const hn_json *m = hn_json_root(json)->as.children.first; m; m = m->next)
                check_model(m, out);
        hn_free(&heap, text);
    }
    close(file);
    unlink(out);
    hn_json_free(json);
    hn_pool_free(pool);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
