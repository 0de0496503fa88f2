/* One entry a leaf. Weights that are made together lie in one block of their device: huge pages do not end with a
 * tensor.
 *
 *     nothing --- bind ---> the caller's memory, in place: the device has the host's
 *        |    --- bind ---> the caller's memory --- make ---> a copy of it on the device, resident.c's
 *        |    --- share --> rows in a block of another storage that packed the same
 *        |    --- make ---> memory of its own, or a part of this storage's block
 *
 * What is bound may be bound anew, what was made or shared never. Two numbers tell others what changed.
 * `generation` moves with any address: programs then resolve theirs again. A place's `writes` move when the host
 * changes its bytes: copies that are kept on other devices are then made equal. What programs update moves
 * neither, and need not: only a weight that nothing in the graph updates is kept elsewhere (plan_lower.c); where
 * another graph may train the same memory, every run copies it.
 *
 * Packed rows that others may read are offered only where they came from a mapped file and nothing updates them,
 * and from then on nobody may write them. A block lives until the last who took of it has given it back. */
#include "backend/storage.h"

#include "backend/packed.h"
#include "backend/resident.h"
#include "base/map_file.h"
#include "graph/place.h"

#include <string.h>

typedef struct place {
    hn_device *device;
    void *at;     /* an address of the device's; NULL: no memory yet */
    size_t bytes; /* there */
    const void *bound; /* the caller's memory, or NULL */
    bool is_own;       /* made for this leaf alone */
    bool is_resident;  /* a copy of `bound` */
    bool is_made;      /* here, of its own or in a block */
    bool is_updated;   /* some program may write it */
    uint64_t writes;   /* how often its bytes may have changed, from 1 on */
    hn_packed_block *shared; /* another storage's block, in which its rows lie packed already */
    bool is_offered;         /* others may read what lies packed here */
} place;

/* A weight's copy on a device that is not the weight's own. */
typedef struct kept {
    const hn_leaf *leaf;
    hn_type type;       /* as this device reads it: place.h */
    hn_buffer memory;   /* none while the weight lies in rows of a file that the device can read */
    hn_device *device;
    hn_stage stage;     /* for a copy by way of the host */
    uint64_t writes;    /* of the weight when it was copied; 0: not yet */
} kept;

struct hn_storage {
    hn_heap *heap;
    const hn_graph *g;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    bool has_begun;
    int n; /* leaves when made: later ones have no memory here */
    place *leaves;
    hn_packed_block *blocks[HN_MAX_DEVICES];
    kept *kept;
    int n_kept;
    uint64_t generation;
};

/* What a weight takes in a block of them. */
static size_t in_block(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static hn_status place_all(hn_storage *s)
{
    hn_target targets[HN_MAX_DEVICES];
    int *device = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)s->n + 1, sizeof *device);
    if (!device)
        return HN_ERR_MEMORY;
    for (int d = 0; d < s->n_devices; d++)
        targets[d] = hn_device_target(s->devices[d]);
    const hn_status status = hn_place_leaves(s->g, s->n_devices, targets, device);
    for (int i = 0; i < s->n && status == HN_OK; i++) {
        const hn_leaf *leaf = s->g->leaves[i];
        s->leaves[i] = (place){ .device = s->devices[device[i]], .at = leaf->data,
                                .bytes = leaf->data ? hn_type_bytes(&leaf->type) : 0, .writes = 1 };
    }
    for (int i = 0; i < s->g->n_applies && status == HN_OK; i++)
        for (int o = 0; o < s->g->applies[i]->n_out; o++)
            if (s->g->applies[i]->out[o]->leaf && !s->g->applies[i]->op->view_of)
                s->leaves[s->g->applies[i]->out[o]->leaf->id].is_updated = true;
    hn_free(s->heap, device);
    return status;
}

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
    s->leaves = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)s->n + 1, sizeof *s->leaves);
    const hn_status status = s->leaves ? place_all(s) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_storage_free(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

static void let_go(place *p)
{
    if (p->is_resident)
        hn_resident_give(p->device, p->bound, p->bytes, p->is_updated);
    hn_packed_block_give(p->shared);
    if (p->is_own)
        p->device->backend->buffer_free(&(hn_buffer){ p->device, p->at, p->bytes });
}

void hn_storage_free(hn_storage *s)
{
    if (!s)
        return;
    for (int i = 0; s->leaves && i < s->n; i++)
        let_go(&s->leaves[i]);
    for (int i = 0; i < s->n_devices; i++)
        hn_packed_block_give(s->blocks[i]);
    for (int i = 0; i < s->n_kept; i++) {
        if (s->kept[i].memory.device)
            s->kept[i].device->backend->buffer_free(&s->kept[i].memory);
        hn_free(s->heap, s->kept[i].stage.at);
    }
    hn_free(s->heap, s->kept);
    hn_free(s->heap, s->leaves);
    hn_free(s->heap, s);
}

static hn_status check(const hn_storage *s, const hn_leaf *leaf)
{
    HN_REQUIRE(leaf && leaf->id < s->n && s->g->leaves[leaf->id] == leaf, HN_ERR_ARGUMENT,
               "%s is not a leaf of this graph", leaf ? leaf->name : "NULL");
    return HN_OK;
}

static bool may_be_smaller(const hn_leaf *leaf)
{
    for (int i = 0; i < leaf->type.rank; i++)
        if (leaf->extent[i])
            return true;
    return false;
}

/* Once for all storages of the device. */
static hn_status upload(hn_storage *s, place *p)
{
    hn_buffer copy;
    if (!p->bound || p->at)
        return HN_OK;
    HN_TRY(hn_resident_take(p->device, p->bound, p->bytes, &copy));
    p->at = copy.data;
    p->is_resident = true;
    s->generation++;
    return HN_OK;
}

hn_status hn_storage_bind(hn_storage *s, const hn_leaf *leaf, const void *data, size_t bytes)
{
    HN_TRY(check(s, leaf));
    place *p = &s->leaves[leaf->id];
    const size_t whole = hn_type_bytes(&leaf->type);
    HN_REQUIRE(data && !p->is_made, HN_ERR_ARGUMENT,
               "%s: no memory given, or it has its own already", leaf->name);
    HN_REQUIRE(bytes >= whole || (bytes && may_be_smaller(leaf)), HN_ERR_ARGUMENT,
               "%s: memory of %zu bytes: expected %zu", leaf->name, bytes, whole);
    const bool is_host = hn_device_is_host(p->device);
    place bound = { .device = p->device, .at = is_host ? (void *)(uintptr_t)data : NULL,
                    .bytes = is_host || bytes < whole ? bytes : whole, .bound = data, .is_updated = p->is_updated,
                    .writes = p->writes + 1 };
    if (!is_host && s->has_begun)
        HN_TRY(upload(s, &bound)); /* before the old one goes, which may be the same */
    let_go(p);
    *p = bound;
    s->generation++;
    return HN_OK;
}

hn_status hn_storage_make(hn_storage *s, const hn_leaf *leaf)
{
    HN_TRY(check(s, leaf));
    place *p = &s->leaves[leaf->id];
    if (p->bound)
        return upload(s, p);
    if (p->at)
        return HN_OK;
    const hn_tag tag = leaf->kind == HN_LEAF_WEIGHT ? HN_TAG_WEIGHT : HN_TAG_STATE;
    hn_buffer own;
    HN_TRY(p->device->backend->buffer_new(p->device, tag, hn_type_bytes(&leaf->type), &own));
    *p = (place){ .device = p->device, .at = own.data, .bytes = own.bytes, .is_own = true,
                  .is_made = true, .is_updated = p->is_updated, .writes = p->writes + 1 };
    s->generation++;
    return HN_OK;
}

void hn_storage_share(hn_storage *s, const hn_leaf *leaf, const hn_plain_rows *from)
{
    if (check(s, leaf) != HN_OK || hn_storage_has(s, leaf))
        return;
    place *p = &s->leaves[leaf->id];
    p->at = hn_packed_take(p->device, &leaf->type, from, &p->shared);
    if (!p->at)
        return;
    p->bytes = hn_type_bytes(&leaf->type);
    p->is_made = true;
    s->generation++;
}

static hn_packed_block *block_of(const hn_storage *s, const place *p)
{
    for (int i = 0; i < s->n_devices; i++)
        if (s->devices[i] == p->device && !p->is_own)
            return s->blocks[i];
    return NULL;
}

hn_status hn_storage_pack(hn_storage *s, const hn_leaf *leaf, const hn_plain_rows *from)
{
    HN_TRY(hn_storage_make(s, leaf));
    place *p = &s->leaves[leaf->id];
    HN_REQUIRE(from->data && p->is_made, HN_ERR_ARGUMENT,
               "%s: no rows given, or it is bound to memory of the caller's", leaf->name);
    if (p->shared)
        return HN_OK;
    p->writes++;
    HN_TRY(p->device->backend->pack(p->device, &leaf->type, p->at, from));
    hn_packed_block *block = block_of(s, p);
    p->is_offered = block && !p->is_updated && hn_map_has(from->data);
    return p->is_offered ? hn_packed_offer(block, &leaf->type, from, p->at) : HN_OK;
}

/* The weights that `device` has yet to make: their places in `block`, or only its size. */
static size_t place_weights(hn_storage *s, const hn_device *device, char *block)
{
    size_t at = 0;
    for (int i = 0; i < s->n; i++) {
        const hn_leaf *leaf = s->g->leaves[i];
        place *p = &s->leaves[i];
        if (leaf->kind != HN_LEAF_WEIGHT || p->at || p->bound || p->device != device)
            continue;
        const size_t bytes = hn_type_bytes(&leaf->type);
        if (block) {
            p->at = block + at;
            p->bytes = bytes;
            p->is_made = true;
        }
        at += in_block(bytes);
    }
    return at;
}

static hn_status make_weights(hn_storage *s, int device)
{
    hn_device *on = s->devices[device];
    const size_t bytes = s->blocks[device] ? 0 : place_weights(s, on, NULL);
    if (!bytes)
        return HN_OK;
    HN_TRY(hn_packed_block_new(&s->blocks[device], on, bytes));
    place_weights(s, on, hn_packed_block_at(s->blocks[device]));
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
        const place *p = &s->leaves[i];
        if (s->g->leaves[i]->kind == HN_LEAF_ACC && p->at)
            HN_TRY(p->device->backend->fill(p->device, p->at, 0, hn_type_bytes(&s->g->leaves[i]->type)));
    }
    return HN_OK;
}

bool hn_storage_has(const hn_storage *s, const hn_leaf *leaf)
{
    return leaf->id < s->n && (s->leaves[leaf->id].at || s->leaves[leaf->id].bound);
}

hn_leaf_bytes hn_storage_measure(const hn_storage *s, const hn_leaf *leaf)
{
    const size_t whole = hn_type_bytes(&leaf->type);
    if (leaf->id >= s->n || leaf->kind == HN_LEAF_CONSTANT)
        return (hn_leaf_bytes){ 0 };
    const place *p = &s->leaves[leaf->id];
    const bool is_bound = p->bound != NULL, is_host = hn_device_is_host(p->device);
    hn_leaf_bytes b = { .device = p->device, .is_in_place = is_bound && is_host };
    b.bytes = is_bound ? p->bytes : leaf->kind == HN_LEAF_WEIGHT ? in_block(whole) : whole;
    const bool is_there = p->at || (is_bound && hn_resident_has(p->device, p->bound, p->bytes));
    const bool is_paged = b.is_in_place && hn_map_has(p->bound); /* it comes in as it is read */
    b.held = is_there && !is_paged ? b.bytes : 0;
    return b;
}

static hn_status check_range(const hn_storage *s, const hn_leaf *leaf, size_t at, size_t bytes)
{
    HN_TRY(check(s, leaf));
    const place *p = &s->leaves[leaf->id];
    HN_REQUIRE(p->at && leaf->kind != HN_LEAF_CONSTANT, HN_ERR_ARGUMENT, "%s has no memory here",
               leaf->name);
    HN_REQUIRE(at <= p->bytes && bytes <= p->bytes - at, HN_ERR_ARGUMENT,
               "%s: bytes %zu to %zu: it has %zu", leaf->name, at, at + bytes, p->bytes);
    return HN_OK;
}

hn_status hn_storage_write(hn_storage *s, const hn_leaf *leaf, size_t at, const void *from, size_t bytes)
{
    HN_TRY(check_range(s, leaf, at, bytes));
    place *p = &s->leaves[leaf->id];
    HN_REQUIRE(!p->bound || leaf->kind >= HN_LEAF_WEIGHT, HN_ERR_ARGUMENT,
               "%s is bound to memory that its owner writes to", leaf->name);
    HN_REQUIRE(!p->shared && !p->is_offered, HN_ERR_ARGUMENT, "%s lies packed in memory that others read", leaf->name);
    p->writes++;
    return p->device->backend->write(p->device, (char *)p->at + at, from, bytes);
}

hn_status hn_storage_read(const hn_storage *s, const hn_leaf *leaf, size_t at, void *to, size_t bytes)
{
    HN_TRY(check_range(s, leaf, at, bytes));
    const place *p = &s->leaves[leaf->id];
    return hn_device_read(p->device, to, (char *)p->at + at, bytes);
}

hn_status hn_storage_move(hn_storage *s, const hn_leaf *leaf, size_t to, size_t from, size_t bytes)
{
    HN_TRY(check_range(s, leaf, to, bytes));
    HN_TRY(check_range(s, leaf, from, bytes));
    place *p = &s->leaves[leaf->id];
    HN_REQUIRE(!p->bound, HN_ERR_ARGUMENT, "%s is bound to memory that its owner writes to", leaf->name);
    p->writes++;
    return p->device->backend->copy(p->device, (char *)p->at + to, p->device, (char *)p->at + from, bytes);
}

/* ---- copies of weights on other devices ---- */

static kept *find_kept(const hn_storage *s, const hn_leaf *leaf, const hn_device *device)
{
    for (int i = 0; i < s->n_kept; i++)
        if (s->kept[i].leaf == leaf && s->kept[i].device == device)
            return &s->kept[i];
    return NULL;
}

/* Rows of a file that nobody writes to. */
static bool is_mapped(const place *p)
{
    return p->bound && hn_map_has(p->bound);
}

static bool is_as_it_lies(const kept *k)
{
    return k->type.layout == k->leaf->type.layout;
}

static bool is_read_in_place(const kept *k, const place *p)
{
    return is_mapped(p) && hn_device_is_host(k->device) && is_as_it_lies(k);
}

hn_status hn_storage_keep(hn_storage *s, const hn_leaf *leaf, hn_device *device)
{
    HN_TRY(check(s, leaf));
    if (find_kept(s, leaf, device))
        return HN_OK;
    kept *all = hn_realloc_array(s->heap, HN_TAG_STATE, s->kept, (size_t)s->n_kept + 1, sizeof *all);
    if (!all)
        return HN_ERR_MEMORY;
    s->kept = all;
    const hn_target target = hn_device_target(device);
    s->kept[s->n_kept++] = (kept){ .leaf = leaf, .device = device, .type = hn_type_on(&target, &leaf->type) };
    s->generation++;
    return HN_OK;
}

static hn_status make_kept(hn_storage *s, kept *k, const place *p)
{
    const size_t bytes = hn_type_bytes(&k->type);
    HN_TRY(k->device->backend->buffer_new(k->device, HN_TAG_WEIGHT, bytes, &k->memory));
    s->generation++;
    if (!is_as_it_lies(k) || !hn_copy_stages(k->device, p->device))
        return HN_OK;
    k->stage.at = hn_alloc(s->heap, HN_TAG_STATE, bytes);
    return k->stage.at ? HN_OK : HN_ERR_MEMORY;
}

/* What is bound and no file's may be trained by another graph, which tells nobody. */
static bool is_fresh(const kept *k, const place *p)
{
    return k->writes == p->writes && (!p->bound || is_mapped(p));
}

/* Plain rows of what is packed as the other device does not read it, by way of the host. */
static hn_status unpack(const hn_storage *s, const kept *k, const place *p)
{
    const size_t bytes = hn_type_bytes(&k->leaf->type);
    const hn_tensor packed = hn_tensor_at(&k->leaf->type, hn_alloc(s->heap, HN_TAG_STATE, bytes));
    const hn_tensor rows = hn_tensor_at(&k->type, hn_alloc(s->heap, HN_TAG_STATE, hn_type_bytes(&k->type)));
    hn_status status = packed.data && rows.data ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = hn_device_read(p->device, packed.data, p->at, bytes);
    if (status == HN_OK) {
        hn_tensor_copy(&rows, &packed);
        status = k->device->backend->write(k->device, k->memory.data, rows.data, hn_type_bytes(&k->type));
    }
    hn_free(s->heap, packed.data);
    hn_free(s->heap, rows.data);
    return status;
}

hn_status hn_storage_refresh(hn_storage *s)
{
    for (int i = 0; i < s->n_kept; i++) {
        kept *k = &s->kept[i];
        const place *p = &s->leaves[k->leaf->id];
        if (is_read_in_place(k, p) || !p->at)
            continue;
        if (!k->memory.device)
            HN_TRY(make_kept(s, k, p));
        if (is_fresh(k, p))
            continue;
        HN_TRY(is_as_it_lies(k) ? hn_device_copy(k->device, k->memory.data, p->device, p->at, hn_type_bytes(&k->type), &k->stage)
                                : unpack(s, k, p));
        k->writes = p->writes;
    }
    return HN_OK;
}

void *hn_storage_address(const hn_storage *s, const hn_leaf *leaf, const hn_device *device, size_t *bytes)
{
    *bytes = 0;
    if (leaf->id >= s->n)
        return NULL;
    const place *p = &s->leaves[leaf->id];
    const kept *k = p->device == device ? NULL : find_kept(s, leaf, device);
    *bytes = k ? hn_type_bytes(&k->type) : p->bytes;
    if (!k)
        return p->device == device ? p->at : NULL;
    return is_read_in_place(k, p) ? (void *)(uintptr_t)p->bound : k->memory.data;
}

uint64_t hn_storage_generation(const hn_storage *s)
{
    return s->generation;
}
