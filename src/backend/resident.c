/* One list for the process: tensors that are trained are asked for by whoever holds them, who knows no device.
 * Lists are short, and looked at when memory is bound or handed out, never while running.
 *
 * A copy is known by device, address and bytes, and is there exactly as long as somebody has it. Who binds gives
 * it back before his memory goes: the next at that address would have the old bytes. The lock is held while a copy
 * is filled, so two who bind the same do not upload it twice and neither sees half of it.
 *
 * Which side is right at a time is not kept: who changes the host's memory pushes, who wants what programs made of
 * it pulls. Only the end is kept in mind: if any of its users had programs that update it, the last who gives it
 * back writes it home, and fills the host's memory with what is no number where the device cannot be read any
 * more. Lost training is not taken for none. */
#include "backend/resident.h"

#include "base/map_file.h"
#include "base/os/threads.h"
#include "base/work.h"

#include <string.h>

typedef struct resident {
    struct resident *next;
    const void *data;
    hn_buffer at;
    int users;
    bool is_changed;
} resident;

static hn_os_mutex lock = HN_OS_MUTEX;
static resident *all;

static resident **find(const hn_device *device, const void *data, size_t bytes)
{
    resident **r = &all;
    while (*r && ((*r)->at.device != device || (*r)->data != data || (*r)->at.bytes != bytes))
        r = &(*r)->next;
    return r;
}

/* Piece after piece. Of a mapped file's rows nobody reads the pages again: they leave. */
static hn_status write_all(hn_device *device, char *to, const char *data, size_t bytes)
{
    enum { PIECE = 4 << 20 };
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < PIECE ? bytes - at : PIECE;
        HN_TRY(hn_work_look("uploading weights"));
        HN_TRY(device->backend->write(device, to + at, data + at, n));
        hn_map_release(data + at, n);
    }
    return HN_OK;
}

static hn_status upload(hn_device *device, const void *data, size_t bytes, resident **out)
{
    resident *r = hn_alloc(device->heap, HN_TAG_DEVICE, sizeof *r);
    if (!r)
        return HN_ERR_MEMORY;
    r->data = data;
    hn_status status = device->backend->buffer_new(device, HN_TAG_WEIGHT, bytes, &r->at);
    if (status == HN_OK) {
        status = write_all(device, r->at.data, data, bytes);
        if (status != HN_OK)
            device->backend->buffer_free(&r->at);
    }
    if (status != HN_OK) {
        hn_free(device->heap, r);
        return status;
    }
    r->next = all;
    all = r;
    *out = r;
    return HN_OK;
}

hn_status hn_resident_take(hn_device *device, const void *data, size_t bytes, hn_buffer *out)
{
    hn_status status = HN_OK;
    *out = (hn_buffer){ 0 };
    hn_os_mutex_lock(&lock);
    resident *r = *find(device, data, bytes);
    if (!r)
        status = upload(device, data, bytes, &r);
    if (status == HN_OK) {
        r->users++;
        *out = r->at;
    }
    hn_os_mutex_unlock(&lock);
    return status;
}

bool hn_resident_has(const hn_device *device, const void *data, size_t bytes)
{
    hn_os_mutex_lock(&lock);
    const bool has = *find(device, data, bytes) != NULL;
    hn_os_mutex_unlock(&lock);
    return has;
}

static void write_back(resident *r)
{
    void *host = (void *)(uintptr_t)r->data;
    if (hn_device_read(r->at.device, host, r->at.data, r->at.bytes) != HN_OK)
        memset(host, 0xff, r->at.bytes);
}

void hn_resident_give(hn_device *device, const void *data, size_t bytes, bool changed)
{
    hn_os_mutex_lock(&lock);
    resident **at = find(device, data, bytes), *r = *at;
    if (r)
        r->is_changed = r->is_changed || changed;
    if (r && --r->users == 0) {
        *at = r->next;
        if (r->is_changed)
            write_back(r);
        device->backend->buffer_free(&r->at);
        hn_free(device->heap, r);
    }
    hn_os_mutex_unlock(&lock);
}

hn_status hn_resident_pull(void *data, size_t bytes)
{
    hn_status status = HN_OK;
    hn_os_mutex_lock(&lock);
    for (const resident *r = all; r; r = r->next)
        if (r->data == data && r->at.bytes == bytes) {
            status = hn_device_read(r->at.device, data, r->at.data, bytes);
            break;
        }
    hn_os_mutex_unlock(&lock);
    return status;
}

hn_status hn_resident_push(const void *data, size_t bytes)
{
    hn_status status = HN_OK;
    hn_os_mutex_lock(&lock);
    for (const resident *r = all; r && status == HN_OK; r = r->next)
        if (r->data == data && r->at.bytes == bytes)
            status = r->at.device->backend->write(r->at.device, r->at.data, data, bytes);
    hn_os_mutex_unlock(&lock);
    return status;
}
