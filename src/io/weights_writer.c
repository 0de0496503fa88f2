#include "io/weights_writer.h"

#include "base/out_file.h"

#include <stdatomic.h>
#include <string.h>

typedef struct tensor {
    hn_file_place place;
    _Atomic uint64_t written;
} tensor;

struct hn_weights_writer {
    hn_heap *heap;
    hn_out_file out;
    tensor *tensors;
    size_t n;
    uint64_t file_bytes;
};

hn_status hn_weights_writer_open(hn_heap *heap, hn_sink to, hn_span header,
                                 const hn_file_place *places, size_t n, uint64_t file_bytes,
                                 hn_weights_writer **out)
{
    *out = NULL;
    hn_weights_writer *writer = hn_alloc(heap, HN_TAG_FILE, sizeof *writer);
    if (!writer)
        return HN_ERR_MEMORY;
    *writer = (hn_weights_writer){ .heap = heap, .n = n, .file_bytes = file_bytes };
    writer->out.file = -1;
    writer->tensors = hn_alloc_array(heap, HN_TAG_FILE, n, sizeof *writer->tensors);
    hn_status status = writer->tensors ? HN_OK : HN_ERR_MEMORY;
    for (size_t i = 0; i < n && status == HN_OK; i++)
        writer->tensors[i].place = places[i];
    if (status == HN_OK)
        status = hn_out_file_open(&writer->out, to);
    writer->out.owner = heap;
    if (status == HN_OK)
        status = hn_out_file_reserve(&writer->out, file_bytes);
    if (status == HN_OK)
        status = hn_out_file_write_at(&writer->out, 0, header.data, header.bytes);
    if (status != HN_OK) {
        hn_weights_writer_abandon(writer);
        return status;
    }
    *out = writer;
    return HN_OK;
}

hn_status hn_weights_writer_put(hn_weights_writer *writer, size_t i, uint64_t at,
                                const void *data, size_t bytes)
{
    HN_REQUIRE(i < writer->n && at <= writer->tensors[i].place.bytes &&
                   bytes <= writer->tensors[i].place.bytes - at,
               HN_ERR_ARGUMENT, "%s: tensor %zu of %zu: bytes beyond its end", writer->out.path,
               i, writer->n);
    HN_TRY(hn_out_file_write_at(&writer->out, writer->tensors[i].place.at + at, data, bytes));
    atomic_fetch_add(&writer->tensors[i].written, bytes);
    return HN_OK;
}

const char *hn_weights_writer_partial(const hn_weights_writer *writer)
{
    return writer->out.partial;
}

uint64_t hn_weights_writer_bytes(const hn_weights_writer *writer, size_t i)
{
    return writer->tensors[i].place.bytes;
}

uint64_t hn_weights_writer_file_bytes(const hn_weights_writer *writer)
{
    return writer->file_bytes;
}

static void release(hn_weights_writer *writer)
{
    hn_free(writer->heap, writer->tensors);
    hn_free(writer->heap, writer);
}

hn_status hn_weights_writer_finish(hn_weights_writer *writer)
{
    hn_status status = HN_OK;
    for (size_t i = 0; i < writer->n && status == HN_OK; i++)
        if (writer->tensors[i].written != writer->tensors[i].place.bytes)
            status = hn_fail(HN_ERR_ARGUMENT, "%s: tensor %zu: %llu of %llu bytes were written",
                             writer->out.path, i,
                             (unsigned long long)writer->tensors[i].written,
                             (unsigned long long)writer->tensors[i].place.bytes);
    if (status == HN_OK)
        status = hn_out_file_commit(&writer->out);
    hn_out_file_abandon(&writer->out);
    release(writer);
    return status;
}

void hn_weights_writer_abandon(hn_weights_writer *writer)
{
    if (!writer)
        return;
    hn_out_file_abandon(&writer->out);
    release(writer);
}
