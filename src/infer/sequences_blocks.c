/* Blocks that are lent, as bytes: for whoever keeps them elsewhere than among the keys.
 *
 *     | layer 0's keys | its values | layer 1's ... |         64 rows of each leaf of a room, in the graph's order;
 *     | those of layers with a window ... |                   and then, if they were held, those whose room is another
 *
 * Nothing in the bytes says what they are. Whether a window is among them is told by their number, for there are
 * two that can be; leaves, their order and types by the digest of the layout, model, adapter and numerics by the
 * other lines of hn_sequences_describe. Whoever keeps bytes keeps these lines with them, and hands back only what
 * has the same.
 *
 * A block that comes back is held and counted as lent before the first byte is written, so a device that fails
 * half way leaves something that hn_sequences_take_back can take. Keys of a window without room are left out: that
 * block serves where no window reaches back to it. */
#include "infer/sequences_state.h"

#include "base/sha256.h"

#include <string.h>

static size_t bytes_of(const hn_leaf *leaf)
{
    return hn_type_bytes(&leaf->type) / (size_t)(leaf->type.dim[0] / HN_KEY_BLOCK);
}

static size_t room_bytes(const hn_sequences *b, int room)
{
    size_t bytes = 0;
    for (int i = 0; i < b->c.g->n_leaves; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        if (hn_sequences_caches(leaf) && hn_sequences_room(b, leaf) == room)
            bytes += bytes_of(leaf);
    }
    return bytes;
}

size_t hn_sequences_lent_bytes(const hn_sequences *b, bool with_window)
{
    return room_bytes(b, HN_ROOM_ALL) + (with_window ? room_bytes(b, HN_ROOM_WINDOW) : 0);
}

static hn_status read_room(const hn_sequences *b, int room, int32_t block, uint8_t **to)
{
    for (int i = 0; i < b->c.g->n_leaves && block >= 0; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        if (!hn_sequences_caches(leaf) || hn_sequences_room(b, leaf) != room)
            continue;
        HN_TRY(hn_storage_read(b->c.storage, leaf, (size_t)block * bytes_of(leaf), *to, bytes_of(leaf)));
        *to += bytes_of(leaf);
    }
    return HN_OK;
}

hn_status hn_sequences_read_lent(const hn_sequences *b, const hn_lent_keys *keys, void *to)
{
    uint8_t *at = to;
    HN_TRY(read_room(b, HN_ROOM_ALL, keys->all, &at));
    return read_room(b, HN_ROOM_WINDOW, keys->window, &at);
}

static hn_status write_room(hn_sequences *b, int room, int32_t block, const uint8_t **from)
{
    for (int i = 0; i < b->c.g->n_leaves && block >= 0; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        if (!hn_sequences_caches(leaf) || hn_sequences_room(b, leaf) != room)
            continue;
        HN_TRY(hn_storage_write(b->c.storage, leaf, (size_t)block * bytes_of(leaf), *from, bytes_of(leaf)));
        *from += bytes_of(leaf);
    }
    return HN_OK;
}

hn_status hn_sequences_take_lent(hn_sequences *b, int32_t slot, const void *data, size_t bytes, hn_lent_keys *keys)
{
    const uint8_t *from = data;
    const bool has_window = bytes == hn_sequences_lent_bytes(b, true);
    HN_REQUIRE(has_window || bytes == hn_sequences_lent_bytes(b, false), HN_ERR_FORMAT, "%zu bytes of keys: a block has %zu", bytes,
               hn_sequences_lent_bytes(b, true));
    HN_REQUIRE(b->rooms[HN_ROOM_ALL].blocks.n_free, HN_ERR_MEMORY, "no block of keys is free");
    *keys = (hn_lent_keys){ hn_key_block_take(&b->rooms[HN_ROOM_ALL].blocks), -1, slot };
    b->n_lent++;
    if (slot >= 0)
        b->bank.n_lent[slot]++;
    if (has_window && b->n_rooms > HN_ROOM_WINDOW && b->rooms[HN_ROOM_WINDOW].blocks.n_free)
        keys->window = hn_key_block_take(&b->rooms[HN_ROOM_WINDOW].blocks);
    hn_status status = write_room(b, HN_ROOM_ALL, keys->all, &from);
    if (status == HN_OK)
        status = write_room(b, HN_ROOM_WINDOW, keys->window, &from);
    if (status != HN_OK)
        hn_sequences_take_back(b, keys);
    return status;
}

/* ---- what they were made with ---- */

static void digest_layout(const hn_sequences *b, char text[65])
{
    uint8_t digest[32];
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    for (int i = 0; i < b->c.g->n_leaves; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        if (!hn_sequences_caches(leaf))
            continue;
        const int64_t about[] = { hn_sequences_room(b, leaf), (int64_t)leaf->type.dtype, (int64_t)bytes_of(leaf) };
        hn_sha256_add(&sha, leaf->name, strlen(leaf->name) + 1);
        hn_sha256_add(&sha, about, sizeof about);
    }
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
}

hn_status hn_sequences_describe(hn_sequences *b, int32_t slot, hn_str *out)
{
    hn_sequences_identity *known = slot >= 0 ? &b->bank.identities[slot] : &b->own_identity;
    char layout[65];
    if (!known->numerics)
        HN_TRY(hn_sequences_identify(b, slot, 2, known));
    digest_layout(b, layout);
    hn_str_print(out, "model %s\nadapters %s\nnumerics %s\ncache %s\nlayout %s\n", known->model, known->adapters, known->numerics,
                 known->cache, layout);
    return hn_str_status(out);
}
