/* Which tokens are guarded is found by one walk over what the template writes, not a token at a time. */
#include "text/tokenizer/guard.h"

#include <string.h>

static bool is_mark(const uint8_t *piece, size_t bytes)
{
    static const char *const marks[] = {
#define HN_MARK(text) text,
#include "text/tokenizer/marks.def"
#undef HN_MARK
    };
    for (size_t i = 0; i < HN_COUNT(marks); i++)
        if (strlen(marks[i]) == bytes && !memcmp(marks[i], piece, bytes))
            return true;
    return false;
}

static bool begins(const uint8_t *piece, size_t bytes, const char *with)
{
    return bytes > strlen(with) && !memcmp(piece, with, strlen(with));
}

static bool ends(const uint8_t *piece, size_t bytes, const char *with)
{
    const size_t n = strlen(with);
    return bytes > n && !memcmp(piece + bytes - n, with, n);
}

/* [SO], or [/SO]. */
static bool is_bracketed(const uint8_t *piece, size_t bytes)
{
    for (size_t i = 1; i + 1 < bytes; i++)
        if (!(piece[i] >= 'A' && piece[i] <= 'Z') && piece[i] != '_' && piece[i] != '/')
            return false;
    return bytes > 3 && piece[0] == '[' && piece[bytes - 1] == ']';
}

/* <|so|>, and as DeepSeek and Gemma write it. */
static bool looks_like_mark(const uint8_t *piece, size_t bytes)
{
    if (is_bracketed(piece, bytes))
        return true;
    return (begins(piece, bytes, "<|") && ends(piece, bytes, ">")) ||
           (begins(piece, bytes, "<") && ends(piece, bytes, "|>")) ||
           (begins(piece, bytes, "<\xef\xbd\x9c") && ends(piece, bytes, "\xef\xbd\x9c>"));
}

static bool is_letter(uint8_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80; }
static bool is_sign(uint8_t c) { return c > ' ' && c < 0x7f && !is_letter(c) && !(c >= '0' && c <= '9'); }

/* Letters between signs. */
static bool may_be_mark(const uint8_t *piece, size_t bytes)
{
    bool has_letter = false;
    for (size_t i = 0; i < bytes; i++)
        has_letter |= is_letter(piece[i]);
    return has_letter && is_sign(piece[0]) && is_sign(piece[bytes - 1]);
}

static bool always(const hn_tokenizer *tok, const hn_added *added)
{
    size_t bytes;
    const uint8_t *piece = hn_vocab_piece(&tok->vocab, added->id, &bytes);
    return added->is_special || tok->vocab.kind[added->id] == HN_TOKEN_CONTROL || tok->ends[added->id] ||
           is_mark(piece, bytes) || looks_like_mark(piece, bytes);
}

/* Tokens that stand in what the template writes. */
static void guard_words(const hn_trie *trie, const hn_text_origins *o, bool *guarded)
{
    const uint8_t *end = (const uint8_t *)o->words + o->n_words;
    for (const uint8_t *at = (const uint8_t *)o->words; trie->n_nodes && at < end; at++) {
        uint32_t node = 0;
        for (const uint8_t *p = at; p < end && (node = hn_trie_child(trie, node, *p)); p++) {
            const int32_t value = trie->value[node];
            if (value >= 0 && may_be_mark(at, (size_t)(p + 1 - at)))
                guarded[value] = true;
        }
    }
}

hn_status hn_guard_set(const hn_tokenizer *tok, const hn_text_origins *origins, struct hn_encoder *e)
{
    e->origins = NULL;
    if (!origins)
        return HN_OK;
    bool *guarded = hn_realloc_array(e->heap, HN_TAG_TEXT, e->guarded, tok->n_added + 1, sizeof *guarded);
    if (!guarded)
        return HN_ERR_MEMORY;
    e->guarded = guarded;
    e->origins = origins;
    for (size_t i = 0; i < tok->n_added; i++)
        guarded[i] = always(tok, &tok->added[i]);
    guard_words(&tok->added_raw, origins, guarded);
    guard_words(&tok->added_normalized, origins, guarded);
    return HN_OK;
}

/* Whether one own span holds all of [begin, end). */
static bool owns(const hn_text_origins *o, size_t begin, size_t end)
{
    size_t low = 0, high = o->n_own; /* of spans that begin at `begin` or before, the last */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (o->own[middle].begin <= begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low && end <= o->own[low - 1].end;
}

bool hn_guard_owns(const struct hn_encoder *e, const hn_passage *passage, size_t begin, size_t end)
{
    if (!passage)
        return owns(e->origins, begin, end);
    for (size_t i = begin; i < end; i++) {
        const size_t from = hn_passage_from(passage, i);
        if (!owns(e->origins, from, from + 1))
            return false;
    }
    return true;
}

bool hn_guard_forbids(const hn_tokenizer *tok, const struct hn_encoder *e, int32_t id)
{
    const int32_t place = tok->added_of[id] - 1;
    if (!e->origins || id == tok->unknown)
        return false;
    return place >= 0 ? e->guarded[place] : tok->vocab.kind[id] == HN_TOKEN_CONTROL;
}
