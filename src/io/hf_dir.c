/* What is absent and what cannot be looked at are told apart: a broken link is an error, not a directory without
 * that file. The index of shards is held to what they contain, in both directions. */
#include "io/hf_dir.h"

#include "base/embedded.h"
#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/str.h"
#include "io/safetensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTS       "model.safetensors"
#define WEIGHTS_INDEX "model.safetensors.index.json"

enum { MAX_TEXT = 256 << 20, MAX_SHARDS = 4096, MAX_LISTED = 64 };

bool hn_is_dir(const char *path)
{
    hn_os_file about;
    return !hn_is_embedded(path) && hn_os_about(path, &about) && about.is_folder;
}

static hn_status path_of(const hn_hf_dir *dir, const char *name, char **out)
{
    hn_str path = hn_str_on(dir->heap);
    hn_str_print(&path, "%s/%s", dir->path, name);
    const hn_status status = hn_str_status(&path);
    *out = status == HN_OK ? hn_strdup(dir->heap, HN_TAG_FILE, path.text) : NULL;
    hn_str_free(&path);
    return *out ? HN_OK : HN_ERR_MEMORY;
}

/* A link to what is gone, or a file that cannot be looked at, is not absent. */
static hn_status is_there(const char *path, bool *out)
{
    hn_os_file about;
    *out = hn_os_about(path, &about);
    const int why = errno;
    HN_REQUIRE(*out || why == ENOTDIR || (why == ENOENT && !hn_os_about_link(path, &about)), HN_ERR_IO, "%s: %s%s", path, strerror(why),
               why == ENOENT ? ": the link leads nowhere" : "");
    return HN_OK;
}

static hn_status has(const hn_hf_dir *dir, const char *name, bool *out)
{
    char *path;
    HN_TRY(path_of(dir, name, &path));
    const hn_status status = is_there(path, out);
    hn_free(dir->heap, path);
    return status;
}

hn_status hn_hf_dir_has_weights(const hn_hf_dir *dir, bool *out)
{
    HN_TRY(has(dir, WEIGHTS_INDEX, out));
    return *out ? HN_OK : has(dir, WEIGHTS, out);
}

hn_status hn_hf_dir_read(const hn_hf_dir *dir, const char *name, size_t limit, void **out,
                         size_t *bytes)
{
    bool is;
    char *path;
    *out = NULL;
    *bytes = 0;
    HN_TRY(path_of(dir, name, &path));
    hn_status status = is_there(path, &is);
    if (status == HN_OK && is)
        status = hn_file_read(dir->heap, path, limit, out, bytes);
    hn_free(dir->heap, path);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef struct listed {
    const hn_hf_dir *dir;
    const char *ending;
    char **names;
    size_t n;
    hn_status status;
} listed;

static bool list_one(void *context, const char *name)
{
    listed *list = context;
    const size_t length = strlen(name), tail = strlen(list->ending);
    if (length <= tail || strcmp(name + length - tail, list->ending) != 0)
        return true;
    if (list->n == MAX_LISTED)
        list->status = hn_fail(HN_ERR_UNSUPPORTED, "%s: more than %d files *%s in a folder", list->dir->path,
                               MAX_LISTED, list->ending);
    else if (!(list->names[list->n++] = hn_strdup(list->dir->heap, HN_TAG_FILE, name)))
        list->status = HN_ERR_MEMORY;
    return list->status == HN_OK;
}

static hn_status visit_one(const hn_hf_dir *dir, const char *folder, char *name, size_t tail,
                           hn_hf_dir_visit *visit, void *context)
{
    hn_str file = hn_str_on(dir->heap);
    hn_str_print(&file, "%s/%s", folder, name);
    hn_status status = hn_str_status(&file);
    name[strlen(name) - tail] = '\0';
    if (status == HN_OK)
        status = visit(context, file.text, name);
    hn_str_free(&file);
    return status;
}

hn_status hn_hf_dir_each(const hn_hf_dir *dir, const char *folder, const char *ending,
                         hn_hf_dir_visit *visit, void *context)
{
    char *path, *names[MAX_LISTED];
    listed list = { .dir = dir, .ending = ending, .names = names };
    HN_TRY(path_of(dir, folder, &path));
    hn_os_folder_each(path, list_one, &list); /* no folder: none */
    hn_status status = list.status;
    if (status == HN_OK && list.n)
        qsort(names, list.n, sizeof *names, by_name);
    for (size_t i = 0; i < list.n && status == HN_OK; i++)
        status = visit_one(dir, folder, names[i], strlen(ending), visit, context);
    for (size_t i = 0; i < list.n; i++)
        hn_free(dir->heap, names[i]);
    hn_free(dir->heap, path);
    return status;
}

/* *out is NULL if the file is not there. */
static hn_status read_json(const hn_hf_dir *dir, const char *name, hn_json_text **out)
{
    void *text;
    size_t bytes;
    char *path;
    HN_TRY(hn_hf_dir_read(dir, name, MAX_TEXT, &text, &bytes));
    if (!text)
        return HN_OK;
    hn_status status = path_of(dir, name, &path);
    if (status == HN_OK)
        status = hn_json_read(dir->heap, path, text, bytes, out);
    hn_free(dir->heap, path);
    hn_free(dir->heap, text);
    return status;
}

static hn_status open_shard(hn_hf_dir *dir, const char *name)
{
    char *path;
    HN_REQUIRE(hn_os_is_plain_name(name), HN_ERR_FORMAT,
               "%s: shard %s lies outside of the directory", dir->path, name);
    HN_TRY(path_of(dir, name, &path));
    hn_safetensors *part = hn_alloc(dir->heap, HN_TAG_FILE, sizeof *part);
    hn_status status = part ? HN_OK : HN_ERR_MEMORY;
    if (part) {
        dir->parts[dir->n_parts++] = part;
        status = hn_safetensors_open(dir->heap, path, part);
    }
    hn_free(dir->heap, path);
    return status;
}

static int find_shard(const hn_hf_dir *dir, const char *name)
{
    for (int i = 0; i < dir->n_parts; i++) {
        if (!strcmp(hn_os_last_part(dir->parts[i]->path), name))
            return i;
    }
    return -1;
}

/* Its metadata says how large it all is, and by whom it was written. */
static hn_status check_index_keys(const hn_hf_dir *dir, const hn_json *index)
{
    const hn_json *map = hn_json_get(index, "weight_map");
    HN_REQUIRE(map && map->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "%s/" WEIGHTS_INDEX ": expected an object weight_map", dir->path);
    for (const hn_json *v = hn_json_first(index); v; v = v->next)
        HN_REQUIRE(v == map || !strcmp(v->key, "metadata"), HN_ERR_UNSUPPORTED,
                   "%s/" WEIGHTS_INDEX ": key %s: expected metadata and weight_map alone", dir->path, v->key);
    return HN_OK;
}

/* Opens every shard that the index names. Transformers reads the file without an index where both are there. */
static hn_status open_indexed(hn_hf_dir *dir, const hn_json *index)
{
    bool has_whole;
    HN_TRY(check_index_keys(dir, index));
    HN_TRY(has(dir, WEIGHTS, &has_whole));
    const hn_json *map = hn_json_get(index, "weight_map");
    for (const hn_json *v = hn_json_first(map); v; v = v->next) {
        const char *shard;
        HN_TRY(hn_json_want_string(v, v->key, &shard));
        if (find_shard(dir, shard) >= 0)
            continue;
        HN_REQUIRE(dir->n_parts < MAX_SHARDS, HN_ERR_FORMAT, "%s: more than %d shards",
                   dir->path, MAX_SHARDS);
        HN_TRY(open_shard(dir, shard));
    }
    HN_REQUIRE(!has_whole || find_shard(dir, WEIGHTS) >= 0, HN_ERR_FORMAT,
               "%s: " WEIGHTS " and " WEIGHTS_INDEX ", which does not name it: expected one of them, for they may be two models",
               dir->path);
    return HN_OK;
}

static hn_status check_index(const hn_hf_dir *dir, const hn_json *index)
{
    const hn_json *map = hn_json_get(index, "weight_map");
    for (const hn_json *v = hn_json_first(map); v; v = v->next) {
        const hn_weight_entry *entry = hn_weights_find(&dir->weights, v->key);
        HN_REQUIRE(entry && entry->part == find_shard(dir, hn_json_string(v)), HN_ERR_FORMAT,
                   "%s: tensor %s: not in %s, where the index says it is", dir->path, v->key,
                   hn_json_string(v));
    }
    for (size_t i = 0; i < dir->weights.n && dir->weights.n > hn_json_count(map); i++) {
        const hn_weight_entry *entry = &dir->weights.entries[i];
        HN_REQUIRE(hn_json_get(map, entry->name), HN_ERR_FORMAT, "%s: tensor %s: in %s, and the index does not name it",
                   dir->path, entry->name, hn_os_last_part(dir->parts[entry->part]->path));
    }
    return HN_OK;
}

static hn_status gather(hn_hf_dir *dir)
{
    hn_weights *all = &dir->weights;
    for (int i = 0; i < dir->n_parts; i++)
        all->n += dir->parts[i]->n_tensors;
    all->entries = hn_alloc_array(dir->heap, HN_TAG_FILE, all->n, sizeof *all->entries);
    if (!all->entries)
        return HN_ERR_MEMORY;
    hn_weight_entry *to = all->entries;
    for (int i = 0; i < dir->n_parts; i++)
        for (size_t t = 0; t < dir->parts[i]->n_tensors; t++) {
            *to = dir->parts[i]->tensors[t];
            to++->part = i;
        }
    return hn_weights_index(dir->heap, all);
}

static hn_status open_weights(hn_hf_dir *dir)
{
    hn_json_text *index = NULL;
    dir->parts = hn_alloc_array(dir->heap, HN_TAG_FILE, MAX_SHARDS, sizeof *dir->parts);
    if (!dir->parts)
        return HN_ERR_MEMORY;
    HN_TRY(read_json(dir, WEIGHTS_INDEX, &index));
    hn_status status = index ? open_indexed(dir, hn_json_root(index))
                             : open_shard(dir, WEIGHTS);
    if (status == HN_OK)
        status = gather(dir);
    if (status == HN_OK && index)
        status = check_index(dir, hn_json_root(index));
    hn_json_free(index);
    return status;
}

static hn_status read_all(hn_hf_dir *dir, int what)
{
    HN_TRY(read_json(dir, "config.json", &dir->config));
    HN_REQUIRE(dir->config, HN_ERR_FORMAT,
               "%s: no config.json: expected a model directory of Hugging Face", dir->path);
    HN_REQUIRE(hn_json_root(dir->config)->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "%s/config.json: expected an object", dir->path);
    HN_TRY(read_json(dir, "generation_config.json", &dir->generation));
    HN_TRY(read_json(dir, "tokenizer_config.json", &dir->tokenizer_config));
    HN_TRY(read_json(dir, "special_tokens_map.json", &dir->special_tokens));
    if (what & HN_HF_TEXT)
        HN_TRY(read_json(dir, "tokenizer.json", &dir->tokenizer));
    return what & HN_HF_WEIGHTS ? open_weights(dir) : HN_OK;
}

hn_status hn_hf_dir_open(hn_heap *heap, const char *path, int what, hn_hf_dir **out)
{
    *out = NULL;
    hn_hf_dir *dir = hn_alloc(heap, HN_TAG_FILE, sizeof *dir);
    if (!dir)
        return HN_ERR_MEMORY;
    dir->heap = heap;
    dir->path = hn_strdup(heap, HN_TAG_FILE, path);
    dir->weights.name = dir->path;
    const hn_status status = dir->path ? read_all(dir, what) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_hf_dir_close(dir);
        return status;
    }
    *out = dir;
    return HN_OK;
}

const hn_json *hn_hf_dir_generation(const hn_hf_dir *dir)
{
    const hn_json *config = hn_json_root(dir->config), *ends = hn_json_get(config, "eos_token_id");
    if (dir->generation)
        return hn_json_root(dir->generation);
    const hn_json *text = hn_json_get(config, "text_config");
    return text && (!ends || ends->kind == HN_JSON_NULL) ? text : config;
}

void hn_hf_dir_close(hn_hf_dir *dir)
{
    if (!dir)
        return;
    for (int i = 0; i < dir->n_parts; i++) {
        hn_safetensors_close(dir->parts[i]);
        hn_free(dir->heap, dir->parts[i]);
    }
    hn_free(dir->heap, dir->parts);
    hn_free(dir->heap, dir->weights.entries);
    hn_free(dir->heap, dir->weights.index);
    hn_json_free(dir->config);
    hn_json_free(dir->generation);
    hn_json_free(dir->tokenizer_config);
    hn_json_free(dir->special_tokens);
    hn_json_free(dir->tokenizer);
    hn_free(dir->heap, dir->path);
    hn_free(dir->heap, dir);
}

const hn_map_file *hn_hf_dir_map(const hn_hf_dir *dir, int part)
{
    return &dir->parts[part]->map;
}
