/* One list for the process, as in resident.c: looked at when memory is made, never while running. */
#include "backend/packed.h"

#include "base/os/threads.h"

#include <string.h>

typedef struct packed {
    struct packed *next; /* in its block */
    hn_type type;
    hn_plain_rows from;
    void *at;
} packed;

struct hn_packed_block {
    hn_packed_block *next;
    hn_buffer memory;
    packed *all;
    int holders;
};

static hn_os_mutex lock = HN_OS_MUTEX;
static hn_packed_block *blocks;

hn_status hn_packed_block_new(hn_packed_block **out, hn_device *device, size_t bytes)
{
    *out = NULL;
    hn_packed_block *b = hn_alloc(device->heap, HN_TAG_DEVICE, sizeof *b);
    if (!b)
        return HN_ERR_MEMORY;
    const hn_status status = device->backend->buffer_new(device, HN_TAG_WEIGHT, bytes, &b->memory);
    if (status != HN_OK) {
        hn_free(device->heap, b);
        return status;
    }
    b->holders = 1;
    hn_os_mutex_lock(&lock);
    b->next = blocks;
    blocks = b;
    hn_os_mutex_unlock(&lock);
    *out = b;
    return HN_OK;
}

void *hn_packed_block_at(const hn_packed_block *b)
{
    return b->memory.data;
}

static void block_free(hn_packed_block *b)
{
    hn_device *device = b->memory.device;
    for (packed *p = b->all, *next; p; p = next) {
        next = p->next;
        hn_free(device->heap, p);
    }
    device->backend->buffer_free(&b->memory);
    hn_free(device->heap, b);
}

void hn_packed_block_give(hn_packed_block *b)
{
    if (!b)
        return;
    hn_os_mutex_lock(&lock);
    const bool is_last = --b->holders == 0;
    if (is_last) {
        hn_packed_block **at = &blocks;
        while (*at != b)
            at = &(*at)->next;
        *at = b->next;
    }
    hn_os_mutex_unlock(&lock);
    if (is_last)
        block_free(b);
}

hn_status hn_packed_offer(hn_packed_block *b, const hn_type *type, const hn_plain_rows *from, void *at)
{
    packed *p = hn_alloc(b->memory.device->heap, HN_TAG_DEVICE, sizeof *p);
    if (!p)
        return HN_ERR_MEMORY;
    hn_os_mutex_lock(&lock);
    *p = (packed){ .next = b->all, .type = *type, .from = *from, .at = at };
    b->all = p;
    hn_os_mutex_unlock(&lock);
    return HN_OK;
}

static bool is_same(const packed *p, const hn_type *type, const hn_plain_rows *from)
{
    return p->from.data == from->data && p->from.dtype == from->dtype && p->from.pairs == from->pairs &&
           p->type.dtype == type->dtype && p->type.layout == type->layout && hn_same_shape(&p->type, type);
}

void *hn_packed_take(const hn_device *device, const hn_type *type, const hn_plain_rows *from,
                     hn_packed_block **block)
{
    void *at = NULL;
    hn_os_mutex_lock(&lock);
    for (hn_packed_block *b = blocks; b && !at; b = b->next)
        for (const packed *p = b->memory.device == device ? b->all : NULL; p && !at; p = p->next)
            if (is_same(p, type, from)) {
                at = p->at;
                b->holders++;
                *block = b;
            }
    hn_os_mutex_unlock(&lock);
    return at;
}
