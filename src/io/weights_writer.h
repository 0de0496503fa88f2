/* weights_writer.h: a file of tensors in the making: the header first, which fixes every place,
 * then each tensor's bytes in any order and from any thread. */
#ifndef HN_IO_WEIGHTS_WRITER_H
#define HN_IO_WEIGHTS_WRITER_H

#include "base/meta.h"
#include "io/seal.h"
#include "io/weights.h"

enum { HN_WEIGHTS_PIECE = 1 << 18 }; /* bytes of a file that its seal reads at a time */

typedef struct hn_weights_writer hn_weights_writer;

/* Of the entries name, type and, where dtype is HN_N_DTYPES, encoding and bytes are read: a
 * tensor hone cannot compute with can be copied. Refuses what the format cannot say. */
hn_status hn_gguf_create(hn_heap *heap, hn_sink to, const hn_meta *meta,
                         const hn_weight_entry *entries, size_t n, hn_weights_writer **out);

/* `meta`: strings only, which go to __metadata__; or NULL. */
hn_status hn_safetensors_create(hn_heap *heap, hn_sink to, const hn_meta *meta,
                                const hn_weight_entry *entries, size_t n,
                                hn_weights_writer **out);

/* Bytes [at, at + bytes) of tensor i. */
hn_status hn_weights_writer_put(hn_weights_writer *writer, size_t i, uint64_t at,
                                const void *data, size_t bytes);

/* Of tensor i, as the file will hold it, and of the whole file. */
uint64_t hn_weights_writer_bytes(const hn_weights_writer *writer, size_t i);
uint64_t hn_weights_writer_file_bytes(const hn_weights_writer *writer);

/* The file as it is now, under the name that it has until it is whole: for who tries it first. */
const char *hn_weights_writer_partial(const hn_weights_writer *writer);

/* Fills in the file's own digest (io/seal.h), once; hn_weights_writer_finish does where it was not
 * done. All tensors must have been put. */
hn_status hn_weights_writer_seal(hn_weights_writer *writer);

/* Makes the file durable under its name, and frees the writer whatever happens. Refuses if
 * a tensor was not written whole: that would be our own mistake. */
hn_status hn_weights_writer_finish(hn_weights_writer *writer);
/* Leaves nothing behind. Takes NULL. */
void hn_weights_writer_abandon(hn_weights_writer *writer);

/* For the formats: takes the header, and each tensor's place, counted from the file's start. */
typedef struct hn_file_place {
    uint64_t at, bytes;
} hn_file_place;
hn_status hn_weights_writer_open(hn_heap *heap, hn_sink to, hn_span header,
                                 const hn_file_place *places, size_t n, uint64_t file_bytes,
                                 hn_weights_writer **out);

#endif
