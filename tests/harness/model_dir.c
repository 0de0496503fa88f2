#include "tests/harness/model_dir.h"

#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const linked[] = { "model.safetensors", "tokenizer.json", "tokenizer_config.json",
                                      "generation_config.json" };
enum { N_LINKED = sizeof linked / sizeof *linked };

void json_add_members(hn_json_writer *w, const hn_json *first)
{
    for (const hn_json *v = first; v; v = v->next) {
        if (v->key)
            hn_json_key(w, v->key);
        hn_json_add_value(w, v);
    }
}

hn_json_text *json_read_file(hn_heap *heap, const char *path)
{
    hn_json_text *out = NULL;
    FILE *f = fopen(path, "rb");
    if (!CHECK_THAT(f != NULL, "%s is not there", path))
        return NULL;
    fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    rewind(f);
    char *text = hn_alloc(heap, HN_TAG_TEXT, (size_t)n + 1);
    if (text && CHECK(fread(text, 1, (size_t)n, f) == (size_t)n))
        CHECK_OK(hn_json_read(heap, path, text, (size_t)n, &out));
    hn_free(heap, text);
    fclose(f);
    return out;
}

static bool is_taken(const hn_json *list, const char *key)
{
    for (const hn_json *v = list ? list->as.children.first : NULL; v; v = v->next)
        if (!strcmp(v->as.string.text, key))
            return true;
    return false;
}

static bool write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    const bool ok = f && fwrite(text, 1, strlen(text), f) == strlen(text);
    if (f)
        fclose(f);
    return CHECK_THAT(ok, "%s could not be written", path);
}

bool model_dir_write(const model_dir *d, const hn_json *put, const hn_json *take)
{
    hn_str text = hn_str_on(d->heap);
    hn_json_writer w = hn_json_write_to(&text);
    hn_json_begin_object(&w);
    for (const hn_json *v = hn_json_root(d->base)->as.children.first; v; v = v->next)
        if (!hn_json_get(put, v->key) && !is_taken(take, v->key)) {
            hn_json_key(&w, v->key);
            hn_json_add_value(&w, v);
        }
    if (put)
        json_add_members(&w, put->as.children.first);
    hn_json_end_object(&w);
    const bool ok = write_text(d->config, text.text);
    hn_str_free(&text);
    return ok;
}

bool model_dir_put(const model_dir *d, const char *file, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", d->path, file);
    unlink(path);
    return !text || write_text(path, text);
}

bool model_dir_make(model_dir *d, hn_heap *heap, const char *name)
{
    char path[600], link[600];
    *d = (model_dir){ .heap = heap };
    snprintf(d->source, sizeof d->source, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    snprintf(d->path, sizeof d->path, "%s/hone-config-XXXXXX", /* many files, each made durable */
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    snprintf(path, sizeof path, "%s/config.json", d->source);
    if (!CHECK(mkdtemp(d->path)))
        return false;
    snprintf(d->config, sizeof d->config, "%s/config.json", d->path);
    snprintf(d->gguf, sizeof d->gguf, "%s/x.gguf", d->path);
    d->base = json_read_file(heap, path);
    for (size_t i = 0; i < N_LINKED; i++) {
        snprintf(path, sizeof path, "%s/%s", d->source, linked[i]);
        snprintf(link, sizeof link, "%s/%s", d->path, linked[i]);
        if (access(path, R_OK) == 0)
            CHECK(symlink(path, link) == 0);
    }
    return d->base != NULL;
}

void model_dir_remove(model_dir *d)
{
    char link[600];
    for (size_t i = 0; i < N_LINKED; i++) {
        snprintf(link, sizeof link, "%s/%s", d->path, linked[i]);
        unlink(link);
    }
    unlink(d->config);
    unlink(d->gguf);
    rmdir(d->path);
    hn_json_free(d->base);
    d->base = NULL;
}
