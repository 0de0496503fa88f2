/* One entry a leaf. A leaf lives on its own device, or beside the leaf that it belongs to. Weights that
 * are made together lie in one block of their device: huge pages do not end with a tensor. */
#include "backend/storage.h"

struct hn_storage {
    hn_heap *heap;
    const hn_graph *g;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    bool has_begun;
    int n; /* leaves when made: later ones have no memory here */
    void **data;
    hn_buffer *own; /* without bytes: a part of its device's block */
    hn_buffer blocks[HN_MAX_DEVICES];
    uint64_t generation;
};

hn_status hn_storage_new(hn_storage **out, const hn_graph *g, int n_devices,
                         hn_device *const *devices)
{
    *out = NULL;
    hn_storage *s = hn_alloc(g->heap, HN_TAG_STATE, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    s->heap = g->heap;
    s->g = g;
    s->n = g->n_leaves;
    s->n_devices = n_devices;
    s->generation = 1;
    for (int i = 0; i < n_devices; i++)
        s->devices[i] = devices[i];
    s->data = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)s->n + 1, sizeof *s->data);
    s->own = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)s->n + 1, sizeof *s->own);
    if (!s->data || !s->own) {
        hn_storage_free(s);
        return HN_ERR_MEMORY;
    }
    for (int i = 0; i < s->n; i++)
        s->data[i] = g->leaves[i]->data;
    *out = s;
    return HN_OK;
}

void hn_storage_free(hn_storage *s)
{
    if (!s)
        return;
    for (int i = 0; s->own && i < s->n; i++)
        if (s->own[i].bytes)
            s->own[i].device->backend->buffer_free(&s->own[i]);
    for (int i = 0; i < s->n_devices; i++)
        if (s->blocks[i].bytes)
            s->devices[i]->backend->buffer_free(&s->blocks[i]);
    hn_free(s->heap, s->own);
    hn_free(s->heap, s->data);
    hn_free(s->heap, s);
}

static hn_status check(const hn_storage *s, const hn_leaf *leaf)
{
    HN_REQUIRE(leaf && leaf->id < s->n && s->g->leaves[leaf->id] == leaf, HN_ERR_ARGUMENT,
               "%s is not a leaf of this graph", leaf ? leaf->name : "NULL");
    return HN_OK;
}

hn_status hn_storage_bind(hn_storage *s, const hn_leaf *leaf, void *data)
{
    HN_TRY(check(s, leaf));
    HN_REQUIRE(data && !s->own[leaf->id].device, HN_ERR_ARGUMENT,
               "%s: no memory given, or it has its own already", leaf->name);
    s->data[leaf->id] = data;
    s->generation++;
    return HN_OK;
}

static hn_device *device_of(const hn_storage *s, const hn_leaf *leaf)
{
    while (leaf->device == HN_ANY_DEVICE && leaf->beside)
        leaf = leaf->beside;
    return s->devices[leaf->device == HN_ANY_DEVICE || leaf->device >= s->n_devices ? 0
                                                                                   : leaf->device];
}

hn_status hn_storage_make(hn_storage *s, const hn_leaf *leaf)
{
    HN_TRY(check(s, leaf));
    if (s->data[leaf->id])
        return HN_OK;
    hn_device *device = device_of(s, leaf);
    const hn_tag tag = leaf->kind == HN_LEAF_WEIGHT ? HN_TAG_WEIGHT : HN_TAG_STATE;
    HN_TRY(device->backend->buffer_new(device, tag, hn_type_bytes(&leaf->type),
                                       &s->own[leaf->id]));
    s->data[leaf->id] = s->own[leaf->id].data;
    s->generation++;
    return HN_OK;
}

hn_status hn_storage_pack(hn_storage *s, const hn_leaf *leaf, const hn_plain_rows *from)
{
    HN_TRY(hn_storage_make(s, leaf));
    HN_REQUIRE(from->data && s->own[leaf->id].device, HN_ERR_ARGUMENT,
               "%s: no rows given, or it is bound to memory of the caller's", leaf->name);
    hn_device *device = s->own[leaf->id].device;
    return device->backend->pack(device, &leaf->type, s->data[leaf->id], from);
}

/* The weights that `device` has yet to make: their places in `block`, or only its size. */
static size_t place_weights(hn_storage *s, hn_device *device, char *block)
{
    size_t at = 0;
    for (int i = 0; i < s->n; i++) {
        const hn_leaf *leaf = s->g->leaves[i];
        if (leaf->kind != HN_LEAF_WEIGHT || s->data[i] || device_of(s, leaf) != device)
            continue;
        if (block) {
            s->data[i] = block + at;
            s->own[i] = (hn_buffer){ .device = device, .data = s->data[i] };
        }
        at += (hn_type_bytes(&leaf->type) + 63) / 64 * 64;
    }
    return at;
}

static hn_status make_weights(hn_storage *s, int device)
{
    hn_device *on = s->devices[device];
    const size_t bytes = s->blocks[device].bytes ? 0 : place_weights(s, on, NULL);
    if (!bytes)
        return HN_OK;
    HN_TRY(on->backend->buffer_new(on, HN_TAG_WEIGHT, bytes, &s->blocks[device]));
    place_weights(s, on, s->blocks[device].data);
    s->generation++;
    return HN_OK;
}

hn_status hn_storage_make_all(hn_storage *s)
{
    const hn_graph_guard *guard = &s->g->guard;
    if (guard->begins && !s->has_begun)
        HN_TRY(guard->begins(guard->context));
    s->has_begun = true;
    for (int i = 0; i < s->n_devices; i++)
        HN_TRY(make_weights(s, i));
    for (int i = 0; i < s->n; i++)
        if (s->g->leaves[i]->kind >= HN_LEAF_WEIGHT)
            HN_TRY(hn_storage_make(s, s->g->leaves[i]));
    return HN_OK;
}

hn_status hn_storage_zero_sums(hn_storage *s)
{
    for (int i = 0; i < s->n; i++) {
        const hn_leaf *leaf = s->g->leaves[i];
        if (leaf->kind != HN_LEAF_ACC || !s->data[i])
            continue;
        hn_device *device = device_of(s, leaf);
        HN_TRY(device->backend->fill(device, s->data[i], 0, hn_type_bytes(&leaf->type)));
    }
    return HN_OK;
}

void *hn_storage_data(const hn_storage *s, const hn_leaf *leaf)
{
    return leaf->id < s->n ? s->data[leaf->id] : NULL;
}

uint64_t hn_storage_generation(const hn_storage *s)
{
    return s->generation;
}
