/* Which block each key of a sequence lies in. A sequence of `length` tokens has the blocks [0, length / 64] of its
 * row of the table, and where keys of a window lie apart, there those from `first` / 64 on. What is behind or
 * before them is -1, and nobody's.
 *
 *     row of A   | 7 | 2 | 9 |         9 has 40 keys, and B was forked there: held twice
 *     row of B   | 7 | 2 | 9 |
 *     B grows    | 7 | 2 | 5 |         5 is a copy of 9, and B writes on in it; A's 9 is as it was, held once
 *
 * Held blocks are counted, so every number of a row is one hold, and only a block that is held once is written to.
 * Needs are worked out from the same `change` that is then made: what goes is dropped before anything is taken, so
 * a window's room of n_open * (keeps / 64 + 1) blocks always suffices, save where blocks of it are lent. */
#include "infer/sequences_state.h"

#include <string.h>

static hn_status room_new(hn_sequences *b, int i, int64_t n_blocks, bool is_window)
{
    hn_key_room *room = &b->rooms[i];
    const size_t n = (size_t)(b->n_sequences * b->each);
    HN_REQUIRE(n_blocks <= INT32_MAX / HN_KEY_BLOCK && n <= INT32_MAX / HN_KEY_BLOCK, HN_ERR_ARGUMENT,
               "%lld sequences of %lld tokens, %lld blocks of keys: expected fewer than 2^31 keys in all",
               (long long)b->n_sequences, (long long)b->n_ctx, (long long)n_blocks);
    room->is_window = is_window;
    room->table = hn_alloc_array(b->heap, HN_TAG_STATE, n, sizeof *room->table);
    if (!room->table)
        return HN_ERR_MEMORY;
    memset(room->table, 0xff, n * sizeof *room->table);
    return hn_key_blocks_new(&room->blocks, b->heap, (int32_t)n_blocks);
}

hn_status hn_sequences_keys_new(hn_sequences *b, int64_t n_blocks)
{
    HN_TRY(room_new(b, HN_ROOM_ALL, n_blocks, false));
    b->n_rooms = b->keeps ? 2 : 1;
    if (!b->keeps)
        return HN_OK;
    return room_new(b, HN_ROOM_WINDOW, b->n_open * (b->keeps / HN_KEY_BLOCK + 1), true);
}

static void room_free(hn_sequences *b, int i)
{
    hn_free(b->heap, b->rooms[i].table);
    hn_key_blocks_free(&b->rooms[i].blocks, b->heap);
    b->rooms[i] = (hn_key_room){ 0 };
}

void hn_sequences_keys_join(hn_sequences *b)
{
    room_free(b, HN_ROOM_WINDOW);
    b->keeps = 0;
    b->n_rooms = 1;
}

void hn_sequences_keys_free(hn_sequences *b)
{
    for (int i = 0; i < HN_KEY_ROOMS; i++)
        room_free(b, i);
}

int hn_sequences_room(const hn_sequences *b, const hn_leaf *leaf)
{
    return b->keeps && strstr(leaf->name, ".window_") ? HN_ROOM_WINDOW : HN_ROOM_ALL;
}

/* The first key that a sequence of this length keeps in a room. */
static int64_t kept_from(const hn_sequences *b, const hn_sequence *s, int room, int64_t length)
{
    if (!b->rooms[room].is_window)
        return 0;
    const int64_t from = length > b->keeps ? (length - b->keeps) / HN_KEY_BLOCK * HN_KEY_BLOCK : 0;
    return from > s->first ? from : s->first;
}

/* What changes of a sequence's blocks when tokens come: [drop_from, drop_to) go, [take_from, take_to) come,
 * and block `copy` is exchanged for a copy of its own, unless that is -1. */
typedef struct change {
    int64_t drop_from, drop_to, take_from, take_to, copy;
} change;

static change change_of(const hn_sequences *b, const hn_sequence *s, int room, int64_t more)
{
    const hn_key_room *r = &b->rooms[room];
    const int32_t *row = hn_sequences_row(b, s, room);
    const int64_t has = hn_blocks_of(s->length), last = s->length / HN_KEY_BLOCK;
    const int64_t from = kept_from(b, s, room, s->length + more) / HN_KEY_BLOCK;
    change c = { .drop_from = s->first / HN_KEY_BLOCK, .drop_to = from < has ? from : has,
                 .take_from = from > has ? from : has, .take_to = hn_blocks_of(s->length + more), .copy = -1 };
    if (!r->is_window)
        c.drop_from = c.drop_to = 0;
    if (last < has && last >= from && hn_key_block_is_shared(&r->blocks, row[last]))
        c.copy = last;
    return c;
}

int64_t hn_sequences_keys_need(const hn_sequences *b, const hn_sequence *s, int room, int64_t more)
{
    const change c = change_of(b, s, room, more);
    const int32_t *row = hn_sequences_row(b, s, room);
    int64_t n = c.take_to - c.take_from + (c.copy >= 0);
    for (int64_t i = c.drop_from; i < c.drop_to; i++)
        n -= !hn_key_block_is_shared(&b->rooms[room].blocks, row[i]);
    return n;
}

int64_t hn_sequences_keys_need_anew(const hn_sequences *b, int room, int64_t n, int64_t first)
{
    const hn_sequence empty = { .first = first };
    return hn_blocks_of(n) - kept_from(b, &empty, room, n) / HN_KEY_BLOCK;
}

/* The keys of a block in all layers of a room. */
static hn_status copy_block(const hn_sequences *b, int room, int32_t from, int32_t to)
{
    for (int i = 0; i < b->c.g->n_leaves; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        if (!hn_sequences_caches(leaf) || hn_sequences_room(b, leaf) != room)
            continue;
        const size_t bytes = hn_type_bytes(&leaf->type) / (size_t)(leaf->type.dim[0] / HN_KEY_BLOCK);
        HN_TRY(hn_storage_move(b->c.storage, leaf, (size_t)to * bytes, (size_t)from * bytes, bytes));
    }
    return HN_OK;
}

/* A copy that fails leaves the block to both, as it was. */
static hn_status own_block(hn_sequences *b, int room, int32_t *at)
{
    hn_key_blocks *blocks = &b->rooms[room].blocks;
    const int32_t own = hn_key_block_take(blocks);
    const hn_status status = copy_block(b, room, *at, own);
    hn_key_block_drop(blocks, status == HN_OK ? *at : own);
    if (status == HN_OK)
        *at = own;
    return status;
}

static void drop(hn_sequences *b, int32_t *row, int room, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        if (row[i] >= 0) {
            hn_key_block_drop(&b->rooms[room].blocks, row[i]);
            row[i] = -1;
        }
}

hn_status hn_sequences_keys_grow(hn_sequences *b, hn_sequence *s, int room, int64_t more)
{
    const change c = change_of(b, s, room, more);
    const int64_t need = hn_sequences_keys_need(b, s, room, more);
    hn_key_blocks *blocks = &b->rooms[room].blocks;
    int32_t *row = hn_sequences_row(b, s, room);
    HN_REQUIRE(need <= blocks->n_free, HN_ERR_MEMORY,
               "%lld tokens after %lld of a sequence take %lld more blocks of %d keys: %d of %d are free",
               (long long)more, (long long)s->length, (long long)need, HN_KEY_BLOCK, blocks->n_free, blocks->n);
    drop(b, row, room, c.drop_from, c.drop_to);
    if (b->rooms[room].is_window)
        s->first = kept_from(b, s, room, s->length + more);
    if (c.copy >= 0)
        HN_TRY(own_block(b, room, &row[c.copy]));
    for (int64_t i = c.take_from; i < c.take_to; i++)
        row[i] = hn_key_block_take(blocks);
    return HN_OK;
}

void hn_sequences_keys_cut(hn_sequences *b, hn_sequence *s, int64_t length)
{
    for (int i = 0; i < b->n_rooms; i++)
        drop(b, hn_sequences_row(b, s, i), i, hn_blocks_of(length), b->each);
    if (!length)
        s->first = 0;
}

void hn_sequences_keys_share(hn_sequences *b, const hn_sequence *from, hn_sequence *to, int64_t length)
{
    for (int i = 0; i < b->n_rooms; i++) {
        const int32_t *have = hn_sequences_row(b, from, i);
        int32_t *row = hn_sequences_row(b, to, i);
        for (int64_t j = 0; j < hn_blocks_of(length); j++) {
            row[j] = have[j];
            if (row[j] >= 0)
                hn_key_block_hold(&b->rooms[i].blocks, row[j]);
        }
    }
    to->first = length ? from->first : 0;
}
