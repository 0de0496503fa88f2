/* passage.h: text on its way to tokens: bytes, and where each came from in the caller's text.
 */
#ifndef HN_TEXT_UNICODE_PASSAGE_H
#define HN_TEXT_UNICODE_PASSAGE_H

#include "base/heap.h"

#include "base/work.h"

/* Failure is sticky, as that of hn_str. */
typedef struct hn_passage {
    hn_heap *heap;
    uint8_t *bytes;
    uint32_t *from; /* of each byte: where its character began; NULL unless `maps` */
    size_t n, room, from_room;
    bool maps;
    hn_status status;
} hn_passage;

typedef struct hn_piece {
    uint32_t begin, end;
} hn_piece;

typedef struct hn_pieces {
    hn_heap *heap;
    hn_piece *at;
    size_t n, room;
    hn_status status;
} hn_pieces;

/* Bytes between two looks at whether to stop: shorter texts have none. */
enum { HN_PASSAGE_STRETCH = 1 << 16 };

void hn_passage_free(hn_passage *p);
void hn_passage_clear(hn_passage *p, hn_heap *heap, bool maps);
void hn_passage_put(hn_passage *p, const void *bytes, size_t n, uint32_t from);
void hn_passage_put_char(hn_passage *p, uint32_t code, uint32_t from);
/* Bytes that stay as they are, from `at` of `source`. */
void hn_passage_copy(hn_passage *p, const hn_passage *source, size_t at, size_t n);
static inline uint32_t hn_passage_from(const hn_passage *p, size_t at)
{
    return p->maps && p->from ? p->from[at] : 0;
}

/* Asked at every place of what is read, whose last look was at *looked: false, and the status is set, where the call is ended. */
static inline bool hn_passage_goes_on(hn_passage *p, size_t *looked, size_t at)
{
    if (at - *looked < HN_PASSAGE_STRETCH)
        return true;
    *looked = at;
    const hn_status status = hn_work_look("encoding");
    if (status != HN_OK)
        p->status = status;
    return status == HN_OK;
}

void hn_pieces_free(hn_pieces *pieces);
void hn_pieces_clear(hn_pieces *pieces, hn_heap *heap);
void hn_pieces_add(hn_pieces *pieces, size_t begin, size_t end); /* not if empty */

#endif
