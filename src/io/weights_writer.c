/* Bytes of a tensor are counted as they are written; a file whose tensors are not all whole is never given its
 * name. Each byte is to come once: that is the caller's to see to, for only their number is counted. */
#include "io/weights_writer.h"

#include "base/out_file.h"
#include "base/sha256.h"
#include "base/work.h"

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
    size_t seal_at; /* SIZE_MAX: it has none, or it is there */
};

hn_status hn_weights_writer_open(hn_heap *heap, hn_sink to, hn_span header,
                                 const hn_file_place *places, size_t n, uint64_t file_bytes,
                                 hn_weights_writer **out)
{
    *out = NULL;
    hn_weights_writer *writer = hn_alloc(heap, HN_TAG_FILE, sizeof *writer);
    if (!writer)
        return HN_ERR_MEMORY;
    *writer = (hn_weights_writer){ .heap = heap, .n = n, .file_bytes = file_bytes,
                                   .seal_at = hn_seal_find(header.data, header.bytes, HN_SEAL_BLANK) };
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

static hn_status check_whole(const hn_weights_writer *writer)
{
    for (size_t i = 0; i < writer->n; i++)
        HN_REQUIRE(writer->tensors[i].written == writer->tensors[i].place.bytes, HN_ERR_ARGUMENT,
                   "%s: tensor %zu: %llu of %llu bytes were written", writer->out.path, i,
                   (unsigned long long)writer->tensors[i].written,
                   (unsigned long long)writer->tensors[i].place.bytes);
    return HN_OK;
}

/* Of what the file holds, not of what we meant to write. The digits are still zeros. */
hn_status hn_weights_writer_seal(hn_weights_writer *writer)
{
    hn_sha256 sha;
    uint8_t digest[32];
    char text[65];
    HN_TRY(check_whole(writer));
    if (writer->seal_at == SIZE_MAX)
        return HN_OK;
    uint8_t *piece = hn_alloc(writer->heap, HN_TAG_FILE, HN_WEIGHTS_PIECE);
    hn_status status = piece ? HN_OK : HN_ERR_MEMORY;
    hn_sha256_begin(&sha);
    for (uint64_t at = 0; at < writer->file_bytes && status == HN_OK; at += HN_WEIGHTS_PIECE) {
        const uint64_t left = writer->file_bytes - at;
        const size_t n = left < HN_WEIGHTS_PIECE ? (size_t)left : HN_WEIGHTS_PIECE;
        status = hn_work_tell(at, writer->file_bytes, "SHA-256 of the file");
        if (status == HN_OK)
            status = hn_out_file_read_at(&writer->out, at, piece, n);
        if (status == HN_OK)
            hn_sha256_add(&sha, piece, n);
    }
    hn_free(writer->heap, piece);
    HN_TRY(status);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    HN_TRY(hn_out_file_write_at(&writer->out, writer->seal_at, text, 64));
    writer->seal_at = SIZE_MAX;
    return HN_OK;
}

hn_status hn_weights_writer_finish(hn_weights_writer *writer)
{
    hn_status status = hn_weights_writer_seal(writer);
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
