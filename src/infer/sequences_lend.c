/* Blocks that outlive the sequence that computed them: they are lent, and other sequences begin with them.
 *
 *     sequence 3    | 7 | 2 | 9 |            its blocks; of those with a window the last two
 *     lent          | 7 | 2 | 9 |            held once more, each with its keys of a window while it has some
 *     sequence 5    | 7 | 2 |                begins with them: held by three
 */
#include "infer/sequences_state.h"

#include <string.h>

static void lend(hn_sequences *b, const hn_sequence *s, int room, int64_t i, int32_t *block)
{
    const int32_t at = room < b->n_rooms ? hn_sequences_row(b, s, room)[i] : -1;
    if (*block >= 0 || at < 0)
        return;
    hn_key_block_hold(&b->rooms[room].blocks, at);
    *block = at;
}

static void take_back(hn_sequences *b, int room, int32_t *block)
{
    if (*block >= 0)
        hn_key_block_drop(&b->rooms[room].blocks, *block);
    *block = -1;
}

void hn_sequences_lend(hn_sequences *b, int32_t sequence, int64_t i, hn_lent_keys *keys)
{
    const hn_sequence *s = hn_sequences_find(b, sequence);
    if (keys->all < 0) {
        keys->slot = s->slot;
        b->n_lent++;
        if (s->slot >= 0)
            b->bank.n_lent[s->slot]++;
    }
    lend(b, s, HN_ROOM_ALL, i, &keys->all);
    lend(b, s, HN_ROOM_WINDOW, i, &keys->window);
}

void hn_sequences_take_back(hn_sequences *b, hn_lent_keys *keys)
{
    hn_sequences_take_back_window(b, keys);
    take_back(b, HN_ROOM_ALL, &keys->all);
    b->n_lent--;
    if (keys->slot >= 0)
        b->bank.n_lent[keys->slot]--;
}

void hn_sequences_take_back_window(hn_sequences *b, hn_lent_keys *keys)
{
    take_back(b, HN_ROOM_WINDOW, &keys->window);
}

bool hn_sequences_frees(const hn_sequences *b, const hn_lent_keys *keys)
{
    return !hn_key_block_is_shared(&b->rooms[HN_ROOM_ALL].blocks, keys->all);
}

bool hn_sequences_frees_window(const hn_sequences *b, const hn_lent_keys *keys)
{
    return keys->window >= 0 && !hn_key_block_is_shared(&b->rooms[HN_ROOM_WINDOW].blocks, keys->window);
}

int64_t hn_sequences_lent(const hn_sequences *b) { return b->n_lent; }

/* The first block that layers with a window read after so many blocks. */
static int64_t first_read(const hn_sequences *b, int64_t n)
{
    const int64_t window = hn_model_hparams(b->model)->window, from = n * HN_KEY_BLOCK - window + 1;
    return from > 0 ? from / HN_KEY_BLOCK : 0;
}

int64_t hn_sequences_can_begin(const hn_sequences *b, const hn_lent_keys *const *keys, int64_t n)
{
    if (b->n_rooms <= HN_ROOM_WINDOW)
        return n;
    for (; n > 0; n--) {
        int64_t i = n;
        while (i > first_read(b, n) && keys[i - 1]->window >= 0)
            i--;
        if (i == first_read(b, n))
            break;
    }
    return n;
}

void hn_sequences_begin(hn_sequences *b, int32_t sequence, const int32_t *tokens, const hn_lent_keys *const *keys, int64_t n)
{
    hn_sequence *s = hn_sequences_find(b, sequence);
    const bool has_window = b->n_rooms > HN_ROOM_WINDOW;
    const int64_t first = has_window ? first_read(b, n) : 0;
    for (int64_t i = 0; i < n; i++) {
        hn_key_block_hold(&b->rooms[HN_ROOM_ALL].blocks, keys[i]->all);
        hn_sequences_row(b, s, HN_ROOM_ALL)[i] = keys[i]->all;
        if (!has_window || i < first)
            continue;
        hn_key_block_hold(&b->rooms[HN_ROOM_WINDOW].blocks, keys[i]->window);
        hn_sequences_row(b, s, HN_ROOM_WINDOW)[i] = keys[i]->window;
    }
    memcpy(s->tokens, tokens, (size_t)(n * HN_KEY_BLOCK) * sizeof *tokens);
    s->length = n * HN_KEY_BLOCK;
    s->first = first * HN_KEY_BLOCK;
}

int64_t hn_sequences_lacks(const hn_sequences *b, const hn_piece *pieces, int64_t n, bool of_windows)
{
    const int room = of_windows ? HN_ROOM_WINDOW : HN_ROOM_ALL;
    int64_t blocks = 0;
    if (room >= b->n_rooms)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        const hn_sequence *s = hn_sequences_find(b, pieces[i].sequence);
        blocks += s ? hn_sequences_keys_need(b, s, room, pieces[i].n) : 0;
    }
    return blocks - b->rooms[room].blocks.n_free;
}
