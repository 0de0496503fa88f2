/* Memory of keys that is touched before a step writes to it. The system gives a page when it is first touched, and clears it; where
 * pages are huge, a block's first row in each of fifty leaves is a hundred megabytes that one token would wait for. So it is
 * touched in pieces, leaf after leaf, each for as many blocks as a huge page holds, and each step pays for as much as it
 * takes itself:
 *
 *     blocks       0 ... 15    16 ... 31   32 ... 47         a piece: 16 blocks of a leaf
 *     leaf 0      |  held     |  5        |  8        |      the order in which they are touched; held: n_ever is 16
 *     leaf 1      |  held     |  6        |  9        |      or less
 *     leaf 2      |  held     |  7        |           |
 *
 * To have `until` blocks ready one goes on to the pieces of `until` blocks and a column: a column too many at the most is
 * begun, and a step that takes a sixteenth of one touches a sixteenth. What was ever held is somebody's, and left alone. */
#include "infer/sequences_state.h"

enum { PIECE_BYTES = 2 << 20 }; /* a huge page */

typedef struct columns {
    int64_t n_leaves, blocks; /* of the room; in a piece */
} columns;

static bool is_in(const hn_sequences *b, int room, const hn_leaf *leaf)
{
    return hn_sequences_caches(leaf) && hn_sequences_room(b, leaf) == room;
}

static columns columns_of(const hn_sequences *b, int room)
{
    columns c = { 0 };
    size_t most = 1;
    for (int i = 0; i < b->c.g->n_leaves; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        if (!is_in(b, room, leaf))
            continue;
        c.n_leaves++;
        most = hn_sequences_block_bytes(leaf) > most ? hn_sequences_block_bytes(leaf) : most;
    }
    c.blocks = most < PIECE_BYTES ? (int64_t)(PIECE_BYTES / most) : 1;
    return c;
}

static const hn_leaf *leaf_at(const hn_sequences *b, int room, int64_t at)
{
    int i = 0;
    while (!is_in(b, room, b->c.g->leaves[i]) || at-- > 0)
        i++;
    return b->c.g->leaves[i];
}

static hn_status touch(hn_sequences *b, int room, const columns *c)
{
    hn_key_room *r = &b->rooms[room];
    const hn_leaf *leaf = leaf_at(b, room, r->n_pieces % c->n_leaves);
    const size_t bytes = hn_sequences_block_bytes(leaf);
    const int64_t column = r->n_pieces / c->n_leaves * c->blocks, end = column + c->blocks;
    const int64_t from = column > r->blocks.n_ever ? column : r->blocks.n_ever, to = end < r->blocks.n ? end : r->blocks.n;
    if (from < to)
        HN_TRY(hn_storage_zero(b->c.storage, leaf, (size_t)from * bytes, (size_t)(to - from) * bytes));
    if (++r->n_pieces % c->n_leaves == 0)
        r->blocks.n_ready = (int32_t)to;
    return HN_OK;
}

static hn_status touch_room(hn_sequences *b, int room, int64_t n)
{
    const hn_key_blocks *blocks = &b->rooms[room].blocks;
    const columns c = columns_of(b, room);
    if (!c.n_leaves) /* every layer is in the other room */
        b->rooms[room].blocks.n_ready = blocks->n;
    const int64_t until = hn_key_blocks_until(blocks, n);
    while (blocks->n_ready < blocks->n && b->rooms[room].n_pieces * c.blocks < c.n_leaves * (until + c.blocks))
        HN_TRY(touch(b, room, &c));
    return HN_OK;
}

/* A piece of n tokens takes a block for each 64 of them, and one: so each that is open, and what all have in a step. */
hn_status hn_sequences_ahead(hn_sequences *b)
{
    for (int room = 0; room < b->n_rooms; room++)
        HN_TRY(touch_room(b, room, hn_blocks_of(b->max_tokens) + hn_sequences_open_now(b)));
    return HN_OK;
}

int64_t hn_sequences_late(const hn_sequences *b)
{
    int64_t n = 0;
    for (int room = 0; room < b->n_rooms; room++)
        n += b->rooms[room].blocks.n_late;
    return n;
}
