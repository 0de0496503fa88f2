/* A window of 20 words has a rolling hash, of which a word that goes out is subtracted again; windows with the
 * same hash are then compared letter by letter. Only the few texts have an index, so the training text may be of
 * any size. */
#include "cli/story/copies.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

static const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);

/* 20 words, as they lie in `text`: lower case, one space between. */
typedef struct window {
    uint64_t hash;
    size_t at, bytes;
    uint32_t number;
    bool is_seen;
} window;

/* A text as plain words, and where each begins. */
typedef struct plain {
    hn_str text;
    size_t *begin; /* of each word, and one past the last */
    uint64_t *hash;
    size_t n, room;
} plain;

struct hn_copies {
    hn_heap *heap;
    hn_str text;
    plain plain;
    window *windows;
    size_t n, room;
    uint32_t *slots; /* number of a window, plus 1 */
    size_t n_slots;
    uint64_t top; /* factor ^ 20 */
};

hn_status hn_copies_new(hn_heap *heap, hn_copies **out)
{
    hn_copies *c = *out = hn_alloc(heap, HN_TAG_TEXT, sizeof *c);
    if (!c)
        return HN_ERR_MEMORY;
    c->heap = heap;
    c->text = c->plain.text = hn_str_on(heap);
    c->top = 1;
    for (int i = 0; i < HN_COPY_WORDS; i++)
        c->top *= factor;
    return HN_OK;
}

void hn_copies_free(hn_copies *c)
{
    if (!c)
        return;
    hn_str_free(&c->text);
    hn_str_free(&c->plain.text);
    hn_free(c->heap, c->plain.begin);
    hn_free(c->heap, c->plain.hash);
    hn_free(c->heap, c->windows);
    hn_free(c->heap, c->slots);
    hn_free(c->heap, c);
}

static hn_status begin_word(hn_copies *c)
{
    plain *p = &c->plain;
    if (p->n + 2 > p->room) {
        const size_t room = 2 * p->room + 256;
        size_t *begin = hn_realloc_array(c->heap, HN_TAG_TEXT, p->begin, room, sizeof *begin);
        p->begin = begin ? begin : p->begin;
        uint64_t *hash =
            begin ? hn_realloc_array(c->heap, HN_TAG_TEXT, p->hash, room, sizeof *hash) : NULL;
        p->hash = hash ? hash : p->hash;
        if (!hash)
            return HN_ERR_MEMORY;
        p->room = room;
    }
    p->begin[p->n] = p->text.length;
    p->hash[p->n++] = 7;
    return HN_OK;
}

static hn_status make_plain(hn_copies *c, const char *text, size_t bytes)
{
    plain *p = &c->plain;
    bool in_word = false;
    hn_str_clear(&p->text);
    p->n = 0;
    for (size_t i = 0; i < bytes; i++) {
        const bool is_letter = isalnum((unsigned char)text[i]) != 0;
        if (is_letter && !in_word)
            HN_TRY(begin_word(c));
        if (is_letter) {
            const char lower = (char)tolower((unsigned char)text[i]);
            hn_str_add_char(&p->text, lower);
            p->hash[p->n - 1] = (p->hash[p->n - 1] ^ (unsigned char)lower) * UINT64_C(0x100000001b3);
        } else if (in_word) {
            hn_str_add_char(&p->text, ' ');
        }
        in_word = is_letter;
    }
    if (in_word)
        hn_str_add_char(&p->text, ' ');
    if (p->n)
        p->begin[p->n] = p->text.length;
    return hn_str_status(&p->text);
}

static hn_status add_window(hn_copies *c, window w)
{
    if (c->n == c->room) {
        const size_t room = 2 * c->room + 256;
        window *more = hn_realloc_array(c->heap, HN_TAG_TEXT, c->windows, room, sizeof *more);
        if (!more)
            return HN_ERR_MEMORY;
        c->windows = more;
        c->room = room;
    }
    c->windows[c->n++] = w;
    return HN_OK;
}

/* One more word goes in, and from the 21st on one goes out. */
static uint64_t roll(const hn_copies *c, uint64_t hash, size_t i)
{
    const plain *p = &c->plain;
    hash = hash * factor + p->hash[i];
    return i < HN_COPY_WORDS ? hash : hash - p->hash[i - HN_COPY_WORDS] * c->top;
}

hn_status hn_copies_add(hn_copies *c, uint32_t number, const char *text, size_t bytes)
{
    HN_REQUIRE(!c->slots, HN_ERR_ARGUMENT, "texts are added before training text passes");
    HN_TRY(make_plain(c, text, bytes));
    const plain *p = &c->plain;
    const size_t base = c->text.length;
    hn_str_add_bytes(&c->text, p->text.text, p->text.length);
    uint64_t hash = 0;
    for (size_t i = 0; i < p->n; i++) {
        hash = roll(c, hash, i);
        if (i + 1 < HN_COPY_WORDS)
            continue;
        const size_t first = p->begin[i + 1 - HN_COPY_WORDS];
        HN_TRY(add_window(c, (window){ hash, base + first, p->begin[i + 1] - first, number, false }));
    }
    return hn_str_status(&c->text);
}

static hn_status index_windows(hn_copies *c)
{
    c->n_slots = 64;
    while (c->n_slots < 2 * c->n)
        c->n_slots *= 2;
    c->slots = hn_alloc_array(c->heap, HN_TAG_TEXT, c->n_slots, sizeof *c->slots);
    if (!c->slots)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < c->n; i++) {
        size_t at = c->windows[i].hash & (c->n_slots - 1);
        while (c->slots[at])
            at = (at + 1) & (c->n_slots - 1);
        c->slots[at] = (uint32_t)i + 1;
    }
    return HN_OK;
}

static void look_up(hn_copies *c, uint64_t hash, const char *text, size_t bytes)
{
    for (size_t at = hash & (c->n_slots - 1); c->slots[at]; at = (at + 1) & (c->n_slots - 1)) {
        window *w = &c->windows[c->slots[at] - 1];
        if (w->hash == hash && w->bytes == bytes && !memcmp(c->text.text + w->at, text, bytes))
            w->is_seen = true;
    }
}

hn_status hn_copies_pass(hn_copies *c, const char *text, size_t bytes)
{
    if (!c->slots)
        HN_TRY(index_windows(c));
    HN_TRY(make_plain(c, text, bytes));
    const plain *p = &c->plain;
    uint64_t hash = 0;
    for (size_t i = 0; i < p->n; i++) {
        hash = roll(c, hash, i);
        if (i + 1 < HN_COPY_WORDS)
            continue;
        const size_t first = p->begin[i + 1 - HN_COPY_WORDS];
        look_up(c, hash, p->text.text + first, p->begin[i + 1] - first);
    }
    return HN_OK;
}

const char *hn_copies_of(const hn_copies *c, uint32_t number, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->windows[i].number == number && c->windows[i].is_seen) {
            *bytes = c->windows[i].bytes - 1; /* not the last space */
            return c->text.text + c->windows[i].at;
        }
    return "";
}
