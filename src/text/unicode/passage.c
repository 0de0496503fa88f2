/* passage: growing arrays whose room is kept from one text to the next. */
#include "text/unicode/passage.h"

#include "base/utf8.h"

#include <string.h>

void hn_passage_free(hn_passage *p)
{
    if (p->heap) {
        hn_free(p->heap, p->bytes);
        hn_free(p->heap, p->from);
    }
    *p = (hn_passage){ 0 };
}

void hn_passage_clear(hn_passage *p, hn_heap *heap, bool maps)
{
    p->heap = heap;
    p->n = 0;
    p->maps = maps;
    p->status = HN_OK;
}

static bool grow(hn_passage *p, size_t n)
{
    size_t room = p->room ? p->room : 256;
    while (room < p->n + n)
        room *= 2;
    if (p->status == HN_OK && p->n + n > UINT32_MAX / 2)
        p->status = hn_fail(HN_ERR_ARGUMENT, "text: more than 2 GiB after normalising");
    if (p->status == HN_OK && room > p->room) {
        uint8_t *bytes = hn_realloc_array(p->heap, HN_TAG_TEXT, p->bytes, room, 1);
        if (bytes) {
            p->bytes = bytes;
            p->room = room;
        } else {
            p->status = HN_ERR_MEMORY;
        }
    }
    if (p->status == HN_OK && p->maps && p->from_room < p->room) {
        uint32_t *from = hn_realloc_array(p->heap, HN_TAG_TEXT, p->from, p->room, sizeof *from);
        if (from) {
            p->from = from;
            p->from_room = p->room;
        } else {
            p->status = HN_ERR_MEMORY;
        }
    }
    return p->status == HN_OK;
}

static bool has_room(hn_passage *p, size_t n)
{
    if (p->status == HN_OK && p->n + n <= p->room && (!p->maps || p->from_room >= p->room))
        return true;
    return grow(p, n);
}

void hn_passage_put(hn_passage *p, const void *bytes, size_t n, uint32_t from)
{
    if (!n || !has_room(p, n))
        return;
    memcpy(p->bytes + p->n, bytes, n);
    for (size_t i = 0; p->maps && i < n; i++)
        p->from[p->n + i] = from;
    p->n += n;
}

void hn_passage_put_char(hn_passage *p, uint32_t code, uint32_t from)
{
    char text[4];
    hn_passage_put(p, text, hn_utf8_put(code, text), from);
}

void hn_passage_copy(hn_passage *p, const hn_passage *source, size_t at, size_t n)
{
    if (!n || !has_room(p, n))
        return;
    memcpy(p->bytes + p->n, source->bytes + at, n);
    if (p->maps)
        memcpy(p->from + p->n, source->from + at, n * sizeof *p->from);
    p->n += n;
}

void hn_pieces_free(hn_pieces *pieces)
{
    if (pieces->heap)
        hn_free(pieces->heap, pieces->at);
    *pieces = (hn_pieces){ 0 };
}

void hn_pieces_clear(hn_pieces *pieces, hn_heap *heap)
{
    pieces->heap = heap;
    pieces->n = 0;
    pieces->status = HN_OK;
}

void hn_pieces_add(hn_pieces *pieces, size_t begin, size_t end)
{
    if (begin == end || pieces->status != HN_OK)
        return;
    if (pieces->n == pieces->room) {
        const size_t room = pieces->room ? 2 * pieces->room : 256;
        hn_piece *at =
            hn_realloc_array(pieces->heap, HN_TAG_TEXT, pieces->at, room, sizeof *at);
        if (!at) {
            pieces->status = HN_ERR_MEMORY;
            return;
        }
        pieces->at = at;
        pieces->room = room;
    }
    pieces->at[pieces->n++] = (hn_piece){ (uint32_t)begin, (uint32_t)end };
}
