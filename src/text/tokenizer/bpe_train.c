/* Texts are cut into pieces once, and equal pieces are one with a count: so a merge costs as much as there are
 * different pieces. All pairs are counted anew for each merge, which is slow and has nothing that could fall out
 * of step. */
#include "text/tokenizer/bpe_train.h"

#include "base/work.h"
#include "text/tokenizer/parts.h"

#include <string.h>

enum { N_BYTES = 256, FIRST_SLOTS = 1 << 12, LONGEST_PIECE = 256 };

/* A piece of the texts, as the tokens that it is at present. */
typedef struct word {
    uint64_t hash, count;
    size_t at; /* in `ids` */
    uint32_t n, n_bytes;
} word;

typedef struct pair_count {
    uint64_t key, count; /* key: left id << 32 | right id, plus 1; 0: free */
} pair_count;

typedef struct merge {
    uint32_t left, right;
} merge;

struct hn_bpe_trainer {
    hn_heap *heap;
    hn_tokenizer *cutter; /* for its splitter */
    hn_passage text;
    hn_split_space split;
    word *words;
    uint32_t *slots; /* number of a word, plus 1, by hash */
    size_t n_words, words_room, n_slots;
    uint32_t *ids; /* of all words; as they were added, bytes */
    size_t n_ids, ids_room;
    pair_count *pairs;
    size_t n_pair_slots;
    merge *merges;
    uint32_t n_merges;
};

/* ---- pieces ---- */

static hn_status grow(hn_heap *heap, void **block, size_t *room, size_t n, size_t size)
{
    if (n <= *room)
        return HN_OK;
    const size_t more = n + n / 2 + 64;
    void *grown = hn_realloc_array(heap, HN_TAG_TEXT, *block, more, size);
    if (!grown)
        return HN_ERR_MEMORY;
    *block = grown;
    *room = more;
    return HN_OK;
}

static uint64_t hash_bytes(const uint8_t *bytes, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 32;
}

static bool is_word(const hn_bpe_trainer *t, const word *w, uint64_t hash, const uint8_t *bytes,
                    size_t n)
{
    if (w->hash != hash || w->n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (t->ids[w->at + i] != bytes[i])
            return false;
    return true;
}

static hn_status more_slots(hn_bpe_trainer *t)
{
    const size_t n = t->n_slots ? 2 * t->n_slots : FIRST_SLOTS;
    uint32_t *slots = hn_alloc_array(t->heap, HN_TAG_TEXT, n, sizeof *slots);
    if (!slots)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < t->n_words; i++) {
        size_t at = t->words[i].hash & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    hn_free(t->heap, t->slots);
    t->slots = slots;
    t->n_slots = n;
    return HN_OK;
}

static hn_status count_piece(hn_bpe_trainer *t, const uint8_t *bytes, size_t n)
{
    if (2 * t->n_words >= t->n_slots)
        HN_TRY(more_slots(t));
    const uint64_t hash = hash_bytes(bytes, n);
    size_t at = hash & (t->n_slots - 1);
    for (; t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
        word *w = &t->words[t->slots[at] - 1];
        if (is_word(t, w, hash, bytes, n)) {
            w->count++;
            return HN_OK;
        }
    }
    void *words = t->words, *ids = t->ids;
    hn_status status = grow(t->heap, &words, &t->words_room, t->n_words + 1, sizeof(word));
    t->words = words;
    if (status == HN_OK)
        status = grow(t->heap, &ids, &t->ids_room, t->n_ids + n, sizeof(uint32_t));
    t->ids = ids;
    HN_TRY(status);
    t->words[t->n_words++] = (word){ hash, 1, t->n_ids, (uint32_t)n, (uint32_t)n };
    t->slots[at] = (uint32_t)t->n_words;
    for (size_t i = 0; i < n; i++)
        t->ids[t->n_ids++] = bytes[i];
    return HN_OK;
}

hn_status hn_bpe_trainer_add(hn_bpe_trainer *t, const char *text, size_t bytes)
{
    HN_REQUIRE(!t->n_merges, HN_ERR_ARGUMENT, "a BPE trainer takes no text after its run");
    HN_REQUIRE(bytes <= UINT32_MAX / 2, HN_ERR_ARGUMENT, "a text of %zu bytes: at most 2 GiB",
               bytes);
    hn_passage_clear(&t->text, t->heap, false);
    hn_passage_put(&t->text, text, bytes, 0);
    HN_TRY(t->text.status);
    HN_TRY(hn_splitter_run(&t->cutter->splitter, &t->split, &t->text, true));
    for (size_t i = 0; i < t->split.pieces.n; i++) {
        const hn_piece p = t->split.pieces.at[i];
        if (hn_work_every(i + 1))
            HN_TRY(hn_work_look("counting words"));
        if (p.end - p.begin <= LONGEST_PIECE) /* lines of dashes and the like teach nothing */
            HN_TRY(count_piece(t, t->text.bytes + p.begin, p.end - p.begin));
    }
    return HN_OK;
}

/* ---- merges ---- */

static void count_pairs(hn_bpe_trainer *t)
{
    const size_t mask = t->n_pair_slots - 1;
    memset(t->pairs, 0, t->n_pair_slots * sizeof *t->pairs);
    for (size_t i = 0; i < t->n_words; i++) {
        const word *w = &t->words[i];
        for (uint32_t k = 0; k + 1 < w->n; k++) {
            const uint64_t key =
                ((uint64_t)t->ids[w->at + k] << 32 | t->ids[w->at + k + 1]) + 1;
            size_t at = (key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
            while (t->pairs[at].key && t->pairs[at].key != key)
                at = (at + 1) & mask;
            t->pairs[at].key = key;
            t->pairs[at].count += w->count;
        }
    }
}

/* The key does not depend on the order of the texts, so neither does the winner. */
static pair_count best_pair(const hn_bpe_trainer *t)
{
    pair_count best = { 0 };
    for (size_t i = 0; i < t->n_pair_slots; i++) {
        const pair_count p = t->pairs[i];
        if (p.count > best.count || (p.count && p.count == best.count && p.key < best.key))
            best = p;
    }
    return best;
}

static void apply_merge(hn_bpe_trainer *t, merge m, uint32_t id)
{
    for (size_t i = 0; i < t->n_words; i++) {
        word *w = &t->words[i];
        uint32_t *ids = t->ids + w->at, n = 0;
        for (uint32_t k = 0; k < w->n; k++) {
            const bool is_pair = k + 1 < w->n && ids[k] == m.left && ids[k + 1] == m.right;
            ids[n++] = is_pair ? id : ids[k];
            k += is_pair;
        }
        w->n = n;
    }
}

hn_status hn_bpe_trainer_run(hn_bpe_trainer *t, uint32_t n_tokens, uint32_t *n_made)
{
    HN_REQUIRE(n_tokens >= N_BYTES && n_tokens <= 1 << 20, HN_ERR_ARGUMENT,
               "a vocabulary of %u: expected 256 to %d", (unsigned)n_tokens, 1 << 20);
    HN_REQUIRE(!t->merges, HN_ERR_ARGUMENT, "a BPE trainer runs once");
    t->n_pair_slots = FIRST_SLOTS;
    while (t->n_pair_slots < 2 * t->n_ids)
        t->n_pair_slots *= 2;
    t->pairs = hn_alloc_array(t->heap, HN_TAG_TEXT, t->n_pair_slots, sizeof *t->pairs);
    t->merges = hn_alloc_array(t->heap, HN_TAG_TEXT, n_tokens - N_BYTES + 1, sizeof *t->merges);
    if (!t->pairs || !t->merges)
        return HN_ERR_MEMORY;
    while (N_BYTES + t->n_merges < n_tokens) {
        HN_TRY(hn_work_tell(t->n_merges, n_tokens - N_BYTES, "merges"));
        count_pairs(t);
        const pair_count best = best_pair(t);
        if (best.count < 2)
            break;
        const merge m = { (uint32_t)((best.key - 1) >> 32), (uint32_t)(best.key - 1) };
        apply_merge(t, m, N_BYTES + t->n_merges);
        t->merges[t->n_merges++] = m;
    }
    *n_made = N_BYTES + t->n_merges;
    return HN_OK;
}

/* ---- the result ---- */

static void put_token(const hn_bpe_trainer *t, uint32_t id, hn_str *out)
{
    if (id >= N_BYTES) { /* as deep as the piece is long */
        put_token(t, t->merges[id - N_BYTES].left, out);
        put_token(t, t->merges[id - N_BYTES].right, out);
        return;
    }
    char text[4];
    hn_str_add_bytes(out, text, hn_utf8_put(hn_byte_char((uint8_t)id), text));
}

typedef struct strings {
    hn_str text;
    hn_span *spans;
    size_t *ends, n;
} strings;

static void end_string(strings *s)
{
    s->ends[s->n++] = s->text.length;
}

static hn_status set_strings(strings *s, const char *key, hn_meta *meta)
{
    HN_TRY(hn_str_status(&s->text));
    for (size_t i = 0, begin = 0; i < s->n; begin = s->ends[i++])
        s->spans[i] = (hn_span){ s->text.text + begin, s->ends[i] - begin };
    HN_TRY(hn_meta_set_strings(meta, key, s->spans, s->n));
    hn_str_clear(&s->text);
    s->n = 0;
    return HN_OK;
}

static hn_status write_lists(const hn_bpe_trainer *t, const char *const *special,
                             size_t n_special, strings *s, hn_meta *meta)
{
    const uint32_t n = N_BYTES + t->n_merges;
    for (uint32_t i = 0; i < t->n_merges; i++) {
        put_token(t, t->merges[i].left, &s->text);
        hn_str_add_char(&s->text, ' ');
        put_token(t, t->merges[i].right, &s->text);
        end_string(s);
    }
    HN_TRY(set_strings(s, "tokenizer.ggml.merges", meta));
    int64_t *kinds = hn_alloc_array(t->heap, HN_TAG_TEXT, n + n_special, sizeof *kinds);
    if (!kinds)
        return HN_ERR_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        put_token(t, i, &s->text);
        end_string(s);
        kinds[i] = HN_TOKEN_NORMAL;
    }
    for (size_t i = 0; i < n_special; i++) {
        hn_str_add(&s->text, special[i]);
        end_string(s);
        kinds[n + i] = HN_TOKEN_CONTROL;
    }
    hn_status status = set_strings(s, "tokenizer.ggml.tokens", meta);
    if (status == HN_OK)
        status = hn_meta_set_ints(meta, "tokenizer.ggml.token_type", HN_META_I32, kinds,
                                  n + n_special);
    hn_free(t->heap, kinds);
    return status;
}

hn_status hn_bpe_trainer_write(const hn_bpe_trainer *t, const char *const *special,
                               size_t n_special, hn_meta *meta)
{
    const size_t most = N_BYTES + t->n_merges + n_special;
    strings s = { .text = hn_str_on(t->heap) };
    HN_REQUIRE(t->merges, HN_ERR_ARGUMENT, "a BPE trainer that did not run has nothing to write");
    HN_TRY(hn_meta_set_text(meta, "tokenizer.ggml.model", "gpt2"));
    HN_TRY(hn_meta_set_text(meta, "tokenizer.ggml.pre", "gpt-2"));
    s.spans = hn_alloc_array(t->heap, HN_TAG_TEXT, most, sizeof *s.spans);
    s.ends = hn_alloc_array(t->heap, HN_TAG_TEXT, most, sizeof *s.ends);
    const hn_status status =
        s.spans && s.ends ? write_lists(t, special, n_special, &s, meta) : HN_ERR_MEMORY;
    hn_free(t->heap, s.spans);
    hn_free(t->heap, s.ends);
    hn_str_free(&s.text);
    return status;
}

hn_status hn_bpe_trainer_new(hn_heap *heap, hn_bpe_trainer **out)
{
    *out = NULL;
    hn_bpe_trainer *t = hn_alloc(heap, HN_TAG_TEXT, sizeof *t);
    if (!t)
        return HN_ERR_MEMORY;
    t->heap = heap;
    hn_status status = hn_tokenizer_new(heap, &t->cutter);
    if (status == HN_OK)
        status = hn_pretokenizer_add(t->cutter, "gpt-2", "gpt-2", strlen("gpt-2"));
    if (status == HN_OK) {
        *out = t;
        return HN_OK;
    }
    hn_bpe_trainer_free(t);
    return status;
}

void hn_bpe_trainer_free(hn_bpe_trainer *t)
{
    if (!t)
        return;
    hn_tokenizer_free(t->cutter);
    hn_passage_free(&t->text);
    hn_split_space_free(t->heap, &t->split);
    hn_free(t->heap, t->words);
    hn_free(t->heap, t->slots);
    hn_free(t->heap, t->ids);
    hn_free(t->heap, t->pairs);
    hn_free(t->heap, t->merges);
    hn_free(t->heap, t);
}
