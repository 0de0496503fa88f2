/* A letter of a pattern stands for a class of words, and a word may be of several. A sentence is what one pattern
 * covers to its end. */
#include "cli/story/sentence.h"

#include <ctype.h>
#include <string.h>

/* The letter of each class; names and places are of two. */
static const struct {
    char letter;
    const char *words;
} lists[] = {
#define LETTER_woman 'N'
#define LETTER_man 'M'
#define LETTER_job 'j'
#define LETTER_trait 't'
#define LETTER_indoors 'p'
#define LETTER_outdoors 'p'
#define LETTER_adj 'd'
#define LETTER_thing 'o'
#define LETTER_food 'f'
#define LETTER_animal 'n'
#define LETTER_moving 'm'
#define LETTER_manner 'a'
#define LETTER_weather 'w'
#define LETTER_hour 'h'
#define LETTER_glad 'g'
#define LETTER_sorry 's'
#define LETTER_tie 'r'
#define LETTER_year 'y'
#define HN_WORDS(name, text) { LETTER_##name, text },
#include "cli/story/words.def"
#undef HN_WORDS
    { 'P', "he she him his her He She His Her" },
};

static const struct {
    const char *pattern, *claims;
} patterns[] = {
#define HN_SENTENCE(pattern, claims) { pattern, claims },
#include "cli/story/sentences.def"
#undef HN_SENTENCE
};

enum { N_LISTS = sizeof lists / sizeof *lists, N_PATTERNS = sizeof patterns / sizeof *patterns };
enum { N_SLOTS = 1 << 13 };

typedef struct known_word {
    hn_fill word;
    char letter;
} known_word;

struct hn_sentences {
    hn_heap *heap;
    known_word slots[N_SLOTS];
};

static uint32_t slot_of(const char *text, size_t bytes)
{
    uint32_t hash = 5381;
    for (size_t i = 0; i < bytes; i++)
        hash = hash * 33 + (unsigned char)text[i];
    return (hash ^ hash >> 15) % N_SLOTS;
}

hn_status hn_sentences_new(hn_heap *heap, hn_sentences **out)
{
    hn_sentences *s = *out = hn_alloc(heap, HN_TAG_TEXT, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    s->heap = heap;
    for (int i = 0; i < N_LISTS; i++)
        for (const char *p = lists[i].words; *p;) {
            const size_t bytes = strcspn(p, " ");
            uint32_t at = slot_of(p, bytes);
            while (s->slots[at].letter)
                at = (at + 1) % N_SLOTS;
            s->slots[at] = (known_word){ { p, bytes }, lists[i].letter };
            p += bytes + (p[bytes] == ' ');
        }
    return HN_OK;
}

void hn_sentences_free(hn_sentences *sentences)
{
    if (sentences)
        hn_free(sentences->heap, sentences);
}

static bool is_in(const hn_sentences *s, const hn_fill *word, char letter)
{
    for (uint32_t at = slot_of(word->text, word->bytes); s->slots[at].letter;
         at = (at + 1) % N_SLOTS) {
        const known_word *k = &s->slots[at];
        if (k->letter == letter && k->word.bytes == word->bytes &&
            !memcmp(k->word.text, word->text, word->bytes))
            return true;
    }
    return false;
}

bool hn_sentences_is_man(const hn_sentences *sentences, const hn_fill *name)
{
    return is_in(sentences, name, 'M');
}

typedef struct reader {
    const char *at, *end;
} reader;

static hn_fill next_word(reader *r)
{
    hn_fill word = { r->at, 0 };
    while (r->at < r->end && isalpha((unsigned char)*r->at))
        r->at++;
    word.bytes = (size_t)(r->at - word.text);
    return word;
}

static bool read_article(reader *r, bool is_capital)
{
    const size_t left = (size_t)(r->end - r->at);
    if (left < 4 || *r->at != (is_capital ? 'A' : 'a'))
        return false;
    const bool is_an = r->at[1] == 'n';
    r->at += is_an ? 2 : 1;
    if (*r->at != ' ' || r->at + 1 == r->end)
        return false;
    r->at++;
    return is_an == (strchr("aeiou", *r->at) != NULL);
}

static bool read_fill(const hn_sentences *s, reader *r, char letter, hn_sentence *out)
{
    if (letter == 'A' || letter == 'C')
        return read_article(r, letter == 'C');
    hn_fill word = next_word(r);
    if (letter == 'o') {
        if (!is_in(s, &word, 'd') || r->at == r->end || *r->at++ != ' ')
            return false;
        const hn_fill noun = next_word(r);
        if (!is_in(s, &noun, 'o'))
            return false;
        word.bytes = (size_t)(r->at - word.text);
    } else if (!is_in(s, &word, letter) && !(letter == 'N' && is_in(s, &word, 'M'))) {
        return false;
    }
    const int n = ++out->n[(int)letter];
    if (n >= HN_SENTENCE_FILLS)
        return false;
    out->fills[(int)letter][n] = word;
    return true;
}

static bool fits(const hn_sentences *s, const char *pattern, reader r, hn_sentence *out)
{
    const char *begin = r.at;
    memset(out->n, 0, sizeof out->n);
    for (; *pattern; pattern++) {
        if (*pattern == '%') {
            if (!read_fill(s, &r, *++pattern, out))
                return false;
        } else if (r.at == r.end || *r.at++ != *pattern) {
            return false;
        }
    }
    out->bytes = (size_t)(r.at - begin);
    return r.at == r.end || *r.at == ' ';
}

bool hn_sentence_read(const hn_sentences *s, const char *text, size_t bytes, hn_sentence *out)
{
    for (int i = 0; i < N_PATTERNS; i++)
        if (fits(s, patterns[i].pattern, (reader){ text, text + bytes }, out)) {
            out->claims = patterns[i].claims;
            return true;
        }
    return false;
}
