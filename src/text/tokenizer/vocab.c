/* vocab: open addressing; a slot holds 32 bits of the hash, so that a probe touches the pieces
 * only when they are most likely equal. */
#include "text/tokenizer/vocab.h"

#include "text/unicode/charset.h"

#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t x = (a ^ b) * 0x9fb21c651e98df25u;
    return x ^ x >> 32;
}

uint64_t hn_text_hash(const uint8_t *bytes, size_t n)
{
    uint64_t hash = n * 0x9e3779b97f4a7c15u, word = 0;
    for (; n > 8; n -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    word = 0;
    if (n == 8)
        memcpy(&word, bytes, 8);
    else
        for (size_t i = 0; i < n; i++)
            word |= (uint64_t)bytes[i] << 8 * i;
    hash = mix(hash, word);
    return hash * 0x9e3779b97f4a7c15u ^ hash >> 29;
}

hn_status hn_vocab_new(hn_heap *heap, int32_t n, uint64_t bytes, hn_vocab *out)
{
    *out = (hn_vocab){ .heap = heap, .n = n };
    HN_REQUIRE(bytes < UINT32_MAX, HN_ERR_UNSUPPORTED,
               "vocabulary: %llu bytes of pieces: expected less than 4 GiB",
               (unsigned long long)bytes);
    uint32_t slots = 16;
    while (slots < 2 * (uint64_t)n)
        slots *= 2;
    out->mask = slots - 1;
    const size_t count = (size_t)n;
    out->bytes = hn_alloc(heap, HN_TAG_TEXT, bytes + 1);
    out->at = hn_alloc_array(heap, HN_TAG_TEXT, count + 1, sizeof *out->at);
    out->kind = hn_alloc(heap, HN_TAG_TEXT, count + 1);
    out->is_plain = hn_alloc_array(heap, HN_TAG_TEXT, count + 1, sizeof *out->is_plain);
    out->slots = hn_alloc_array(heap, HN_TAG_TEXT, slots, sizeof *out->slots);
    if (out->bytes && out->at && out->kind && out->is_plain && out->slots)
        return HN_OK;
    hn_vocab_free(out);
    return HN_ERR_MEMORY;
}

void hn_vocab_free(hn_vocab *v)
{
    hn_free(v->heap, v->bytes);
    hn_free(v->heap, v->at);
    hn_free(v->heap, v->kind);
    hn_free(v->heap, v->is_plain);
    hn_free(v->heap, v->score);
    hn_free(v->heap, v->slots);
    *v = (hn_vocab){ .heap = v->heap };
}

void hn_vocab_index(hn_vocab *v, int32_t id, int32_t *twin)
{
    size_t n;
    const uint8_t *piece = hn_vocab_piece(v, id, &n);
    const uint64_t hash = hn_text_hash(piece, n);
    if (n > v->longest)
        v->longest = (uint32_t)n;
    *twin = hn_vocab_find_hashed(v, piece, n, hash);
    if (*twin >= 0)
        return;
    uint32_t slot = (uint32_t)hash & v->mask;
    while (v->slots[slot])
        slot = (slot + 1) & v->mask;
    v->slots[slot] = hash >> 32 << 32 | (uint32_t)(id + 1);
}

int32_t hn_vocab_find_hashed(const hn_vocab *v, const uint8_t *bytes, size_t n, uint64_t hash)
{
    for (uint32_t slot = (uint32_t)hash & v->mask; v->slots[slot];
         slot = (slot + 1) & v->mask) {
        if (v->slots[slot] >> 32 != hash >> 32)
            continue;
        const int32_t id = (int32_t)(uint32_t)v->slots[slot] - 1;
        if (v->at[id + 1] - v->at[id] == n && memcmp(v->bytes + v->at[id], bytes, n) == 0)
            return id;
    }
    return -1;
}

int32_t hn_vocab_find(const hn_vocab *v, const uint8_t *bytes, size_t n)
{
    return n > v->longest ? -1 : hn_vocab_find_hashed(v, bytes, n, hn_text_hash(bytes, n));
}

static bool is_printable(uint32_t c)
{
    return (c >= 33 && c <= 126) || (c >= 161 && c <= 172) || (c >= 174 && c <= 255);
}

uint32_t hn_byte_char(uint8_t byte)
{
    if (is_printable(byte))
        return byte;
    return 256u + (byte <= 32 ? byte : byte <= 160 ? byte - 127u + 33u : 67u);
}

int hn_byte_of_char(uint32_t code)
{
    if (code < 256)
        return is_printable(code) ? (int)code : -1;
    if (code < 256 + 33)
        return (int)code - 256;
    if (code < 256 + 67)
        return (int)code - 256 - 33 + 127;
    return code == 256 + 67 ? 173 : -1;
}

bool hn_text_to_bytes(const uint8_t *text, size_t n, uint8_t *out, size_t *n_out)
{
    *n_out = 0;
    for (size_t at = 0; at < n;) {
        uint32_t code;
        at += hn_char_at(text + at, text + n, &code);
        const int byte = hn_byte_of_char(code);
        if (byte < 0)
            return false;
        out[(*n_out)++] = (uint8_t)byte;
    }
    return true;
}
