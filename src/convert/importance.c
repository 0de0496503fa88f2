/* Sums become means when they are read, and a mean that is no number, negative or too large is refused there: who
 * quantises weighs by them. */
#include "convert/importance.h"

#include "base/bytes.h"
#include "base/half.h"
#include "base/map_file.h"
#include "io/gguf.h"

#include <stdio.h>
#include <string.h>

typedef struct item {
    char name[160];
    int64_t experts, inputs;
    float *mean; /* experts * inputs */
} item;

struct hn_importance {
    hn_heap *heap;
    char *path;
    item *items;
    size_t n;
};

static hn_status add_item(hn_importance *all, const char *name, size_t name_bytes,
                          int64_t experts, int64_t inputs, item **out)
{
    item *items = hn_realloc_array(all->heap, HN_TAG_FILE, all->items, all->n + 1, sizeof *items);
    if (!items)
        return HN_ERR_MEMORY;
    all->items = items;
    item *added = &items[all->n];
    HN_REQUIRE(name_bytes < sizeof added->name, HN_ERR_FORMAT, "%s: a name of %zu bytes",
               all->path, name_bytes);
    memcpy(added->name, name, name_bytes);
    added->name[name_bytes] = '\0';
    added->experts = experts;
    added->inputs = inputs;
    added->mean = hn_alloc_array(all->heap, HN_TAG_FILE, (size_t)experts * (size_t)inputs,
                                 sizeof *added->mean);
    if (!added->mean)
        return HN_ERR_MEMORY;
    all->n++;
    *out = added;
    return HN_OK;
}

static hn_status set_mean(const hn_importance *all, item *it, int64_t i, float sum, float count)
{
    const float mean = count > 0 ? sum / count : 1.0f;
    HN_REQUIRE(count >= 0, HN_ERR_NUMERIC, "%s: %s: the count of importance %lld is %g", all->path, it->name, (long long)i, (double)count);
    HN_REQUIRE(mean >= 0 && mean <= 3.0e38f, HN_ERR_NUMERIC,
               "%s: %s: importance %lld is %g", all->path, it->name, (long long)i, (double)mean);
    it->mean[i] = mean;
    return HN_OK;
}

/* A GGUF file. */

static hn_status add_pair(hn_importance *all, const hn_weights *weights,
                          const hn_weight_entry *sums)
{
    static const char ending[] = ".in_sum2";
    const size_t length = strlen(sums->name) - (sizeof ending - 1);
    char partner[256];
    const hn_weight_entry *counts;
    item *it;
    snprintf(partner, sizeof partner, "%.*s.counts", (int)length, sums->name);
    HN_TRY(hn_weights_want(weights, partner, &counts));
    const int64_t inputs = hn_last_dim(&sums->type), experts = hn_count(&sums->type) / inputs;
    HN_REQUIRE(sums->type.dtype == HN_F32 && counts->type.dtype == HN_F32 &&
                   hn_count(&counts->type) == experts,
               HN_ERR_FORMAT, "%s: %s and %s do not fit each other", all->path, sums->name,
               partner);
    HN_TRY(add_item(all, sums->name, length, experts, inputs, &it));
    for (int64_t i = 0; i < experts * inputs; i++)
        HN_TRY(set_mean(all, it, i, hn_f32_from_bits(hn_load_32(sums->data + 4 * i)),
                        hn_f32_from_bits(hn_load_32(counts->data + 4 * (i / inputs)))));
    return HN_OK;
}

static hn_status read_gguf(hn_importance *all)
{
    hn_gguf *file;
    HN_TRY(hn_gguf_open(all->heap, all->path, &file));
    const hn_weights *weights = hn_gguf_weights(file);
    hn_status status = HN_OK;
    for (size_t i = 0; i < weights->n && status == HN_OK; i++) {
        const char *name = weights->entries[i].name;
        const size_t n = strlen(name);
        if (n > 8 && !strcmp(name + n - 8, ".in_sum2"))
            status = add_pair(all, weights, &weights->entries[i]);
    }
    hn_gguf_close(file);
    if (status == HN_OK && !all->n)
        status = hn_fail(HN_ERR_FORMAT, "%s: expected an importance matrix, found no *.in_sum2",
                         all->path);
    return status;
}

/* The older form: i32 entries; each i32 name length, name, i32 calls, i32 values, f32 sums. */

typedef struct cursor {
    const uint8_t *data;
    size_t at, end;
} cursor;

static bool take_i32(cursor *c, int64_t *out)
{
    if (c->end - c->at < 4)
        return false;
    *out = (int32_t)hn_load_32(c->data + c->at);
    c->at += 4;
    return true;
}

static hn_status read_old_item(hn_importance *all, cursor *c)
{
    int64_t length, calls, n;
    item *it;
    if (!take_i32(c, &length) || length <= 0 || (uint64_t)length > c->end - c->at)
        return hn_fail(HN_ERR_FORMAT, "%s: cut off, or no importance matrix", all->path);
    const char *name = (const char *)c->data + c->at;
    c->at += (size_t)length;
    if (!take_i32(c, &calls) || !take_i32(c, &n) || n <= 0 ||
        (uint64_t)n > (c->end - c->at) / 4)
        return hn_fail(HN_ERR_FORMAT, "%s: cut off, or no importance matrix", all->path);
    HN_TRY(add_item(all, name, (size_t)length, 1, n, &it));
    for (int64_t i = 0; i < n; i++)
        HN_TRY(set_mean(all, it, i, hn_f32_from_bits(hn_load_32(c->data + c->at + 4 * (size_t)i)),
                        calls > 0 ? (float)calls : 1.0f));
    c->at += 4 * (size_t)n;
    return HN_OK;
}

static hn_status read_old(hn_importance *all, const uint8_t *data, size_t bytes)
{
    cursor c = { data, 0, bytes };
    int64_t n;
    if (!take_i32(&c, &n) || n <= 0)
        return hn_fail(HN_ERR_FORMAT, "%s: expected an importance matrix", all->path);
    for (int64_t i = 0; i < n; i++)
        HN_TRY(read_old_item(all, &c));
    return HN_OK;
}

static hn_status read_file(hn_importance *all)
{
    hn_map_file map;
    HN_TRY(hn_map_file_open(&map, all->heap, all->path));
    const bool is_gguf = map.bytes >= 4 && !memcmp(map.data, "GGUF", 4);
    hn_status status = is_gguf ? HN_OK : read_old(all, map.data, map.bytes);
    hn_map_file_close(&map);
    return is_gguf ? read_gguf(all) : status;
}

hn_status hn_importance_open(hn_heap *heap, const char *path, hn_importance **out)
{
    *out = NULL;
    hn_importance *all = hn_alloc(heap, HN_TAG_FILE, sizeof *all);
    if (!all)
        return HN_ERR_MEMORY;
    all->heap = heap;
    all->path = hn_strdup(heap, HN_TAG_FILE, path);
    const hn_status status = all->path ? read_file(all) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_importance_close(all);
        return status;
    }
    *out = all;
    return HN_OK;
}

void hn_importance_close(hn_importance *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++)
        hn_free(all->heap, all->items[i].mean);
    hn_free(all->heap, all->items);
    hn_free(all->heap, all->path);
    hn_free(all->heap, all);
}

hn_status hn_importance_of(const hn_importance *all, const char *tensor, int64_t experts,
                           int64_t inputs, const float **out)
{
    *out = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const item *it = &all->items[i];
        if (strcmp(it->name, tensor) != 0)
            continue;
        /* The older form has the experts of a tensor one after the other. */
        HN_REQUIRE(it->experts * it->inputs == experts * inputs, HN_ERR_SHAPE,
                   "%s: %s: %lld x %lld numbers: the tensor needs %lld x %lld", all->path, tensor,
                   (long long)it->experts, (long long)it->inputs, (long long)experts,
                   (long long)inputs);
        *out = it->mean;
        return HN_OK;
    }
    return HN_OK;
}
