/* A model of one or several parts. The first part has all the metadata; the others only say
 * which part they are. */
#include "io/gguf.h"

#include "io/gguf_part.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 9999 };

struct hn_gguf {
    hn_heap *heap;
    char *path;
    hn_gguf_part *parts;
    int n_parts;
    hn_weights weights;
    hn_status (*read_part)(hn_heap *heap, const char *path, hn_gguf_part *out);
};

typedef struct split {
    int64_t no, count, tensors;
} split;

static hn_status read_split(const hn_meta *meta, split *out)
{
    HN_TRY(hn_meta_int(meta, "split.no", 0, &out->no));
    HN_TRY(hn_meta_int(meta, "split.count", 1, &out->count));
    HN_TRY(hn_meta_int(meta, "split.tensors.count", -1, &out->tensors));
    if (out->count == 0) /* a file that was merged again says so */
        out->count = 1;
    HN_REQUIRE(out->count >= 1 && out->count <= MAX_PARTS && out->no >= 0 &&
                   out->no < out->count,
               HN_ERR_FORMAT, "%s: part %lld of %lld: split.no and split.count do not fit",
               meta->name, (long long)out->no, (long long)out->count);
    return HN_OK;
}

/* "dir/name-00002-of-00003.gguf" -> the same with `no`, from 0. */
static hn_status part_path(const char *path, const split *s, int no, char *out, size_t room)
{
    char ending[64];
    const int n = snprintf(ending, sizeof ending, "-%05d-of-%05d.gguf", (int)s->no + 1,
                           (int)s->count);
    const size_t length = strlen(path);
    HN_REQUIRE(length > (size_t)n && !strcmp(path + length - (size_t)n, ending), HN_ERR_FORMAT,
               "%s: part %d of %d: expected a name that ends in %s", path, (int)s->no + 1,
               (int)s->count, ending);
    const int stem = (int)(length - (size_t)n);
    const int written =
        snprintf(out, room, "%.*s-%05d-of-%05d.gguf", stem, path, no + 1, (int)s->count);
    HN_REQUIRE(written > 0 && (size_t)written < room, HN_ERR_ARGUMENT,
               "%s: the file name is too long", path);
    return HN_OK;
}

static bool is_same(const hn_meta_value *a, const hn_meta_value *b)
{
    return b && a->type == b->type && a->is_array == b->is_array && a->n == b->n && a->bytes == b->bytes &&
           !memcmp(a->data, b->data, a->bytes);
}

/* Only the first part's keys are read: what another says must be said there too, or be its own. */
static hn_status check_part_keys(const hn_gguf *gguf, int no)
{
    static const char *const own[] = { "split.no", "split.count", "split.tensors.count", "general.alignment" };
    const hn_meta *meta = &gguf->parts[no].meta;
    for (size_t i = 0; i < meta->n; i++) {
        const hn_meta_value *v = &meta->values[i];
        bool is_own = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            is_own = is_own || !strcmp(v->key, own[k]);
        HN_REQUIRE(is_own || is_same(v, hn_meta_find(&gguf->parts[0].meta, v->key)), HN_ERR_FORMAT,
                   "%s: key %s: %s does not say it so, whose keys count for all parts", meta->name, v->key,
                   gguf->parts[0].meta.name);
    }
    return HN_OK;
}

static hn_status open_part(hn_gguf *gguf, const char *path, const split *expected, int no)
{
    char name[4096];
    split found;
    HN_TRY(part_path(path, expected, no, name, sizeof name));
    gguf->n_parts = no + 1;
    HN_TRY(gguf->read_part(gguf->heap, name, &gguf->parts[no]));
    HN_TRY(read_split(&gguf->parts[no].meta, &found));
    HN_REQUIRE(found.no == no && found.count == expected->count, HN_ERR_FORMAT,
               "%s: is part %lld of %lld: expected part %d of %lld", name,
               (long long)found.no + 1, (long long)found.count, no + 1,
               (long long)expected->count);
    return check_part_keys(gguf, no);
}

static hn_status open_parts(hn_gguf *gguf, const char *path)
{
    hn_gguf_part named;
    split s = { 0, 1, -1 };
    hn_status status = gguf->read_part(gguf->heap, path, &named);
    if (status == HN_OK)
        status = read_split(&named.meta, &s);
    if (status == HN_OK) {
        gguf->parts = hn_alloc_array(gguf->heap, HN_TAG_FILE, (size_t)s.count, sizeof named);
        status = gguf->parts ? HN_OK : HN_ERR_MEMORY;
    }
    if (status == HN_OK && s.count == 1) {
        gguf->parts[0] = named;
        gguf->n_parts = 1;
        return HN_OK;
    }
    hn_gguf_part_close(&named);
    for (int i = 0; i < s.count && status == HN_OK; i++)
        status = open_part(gguf, path, &s, i);
    return status;
}

static hn_status gather_tensors(hn_gguf *gguf)
{
    hn_weights *all = &gguf->weights;
    split s;
    all->name = gguf->path;
    for (int i = 0; i < gguf->n_parts; i++)
        all->n += gguf->parts[i].n_tensors;
    for (int i = 0; i < gguf->n_parts; i++) {
        HN_TRY(read_split(&gguf->parts[i].meta, &s));
        HN_REQUIRE(s.tensors < 0 || (uint64_t)s.tensors == all->n, HN_ERR_FORMAT,
                   "%s: the parts hold %zu tensors: split.tensors.count says %lld", gguf->parts[i].path,
                   all->n, (long long)s.tensors);
    }
    all->entries = hn_alloc_array(gguf->heap, HN_TAG_FILE, all->n, sizeof *all->entries);
    if (!all->entries)
        return HN_ERR_MEMORY;
    hn_weight_entry *to = all->entries;
    for (int i = 0; i < gguf->n_parts; i++)
        for (size_t t = 0; t < gguf->parts[i].n_tensors; t++) {
            *to = gguf->parts[i].tensors[t];
            to++->part = i;
        }
    return hn_weights_index(gguf->heap, all);
}

static hn_status open_by(hn_status (*read)(hn_heap *, const char *, hn_gguf_part *), hn_heap *heap, const char *path, hn_gguf **out)
{
    *out = NULL;
    hn_gguf *gguf = hn_alloc(heap, HN_TAG_FILE, sizeof *gguf);
    if (!gguf)
        return HN_ERR_MEMORY;
    gguf->heap = heap;
    gguf->read_part = read;
    gguf->path = hn_strdup(heap, HN_TAG_FILE, path);
    hn_status status = gguf->path ? open_parts(gguf, path) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = gather_tensors(gguf);
    if (status != HN_OK) {
        hn_gguf_close(gguf);
        return status;
    }
    hn_meta *meta = &gguf->parts[0].meta;
    hn_meta_remove(meta, "split.no");
    hn_meta_remove(meta, "split.count");
    hn_meta_remove(meta, "split.tensors.count");
    *out = gguf;
    return HN_OK;
}

hn_status hn_gguf_open(hn_heap *heap, const char *path, hn_gguf **out) { return open_by(hn_gguf_part_open, heap, path, out); }

hn_status hn_gguf_read(hn_heap *heap, const char *path, hn_gguf **out) { return open_by(hn_gguf_part_read, heap, path, out); }

void hn_gguf_close(hn_gguf *gguf)
{
    if (!gguf)
        return;
    for (int i = 0; i < gguf->n_parts; i++)
        hn_gguf_part_close(&gguf->parts[i]);
    hn_free(gguf->heap, gguf->parts);
    hn_free(gguf->heap, gguf->weights.entries);
    hn_free(gguf->heap, gguf->weights.index);
    hn_free(gguf->heap, gguf->path);
    hn_free(gguf->heap, gguf);
}

const hn_meta *hn_gguf_meta(const hn_gguf *gguf)
{
    return &gguf->parts[0].meta;
}

const hn_weights *hn_gguf_weights(const hn_gguf *gguf)
{
    return &gguf->weights;
}

int hn_gguf_version(const hn_gguf *gguf)
{
    return gguf->parts[0].version;
}

int hn_gguf_parts(const hn_gguf *gguf)
{
    return gguf->n_parts;
}

const hn_map_file *hn_gguf_map(const hn_gguf *gguf, int part)
{
    return &gguf->parts[part].map;
}
