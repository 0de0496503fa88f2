/* A teller runs the grammar forwards. To read, it runs it again and again against a text, each
 * time with another script of choices, and gives up a run at the first byte that differs. Open
 * words need no script: at most one of a class stands where the text is. */
#include "cli/story/teller.h"

#include "base/mathfn.h"
#include "base/rng.h"

#include <string.h>

enum { MAX_CHOICES = 256, N_PEOPLE = 2, N_THINGS = 2, N_PLACES = 3, NONE = -1 };

typedef struct span {
    const char *text;
    size_t bytes;
} span;

typedef struct person {
    int is_man, name, job, tie, trait, other; /* words, or NONE */
} person;

typedef struct bindings {
    person people[N_PEOPLE];
    struct {
        int adj, noun;
    } things[N_THINGS];
    int places[N_PLACES], food, animal, weather, hour;
} bindings;

typedef enum article { NO_ARTICLE, ARTICLE, CAPITAL_ARTICLE } article;

typedef struct words {
    span *at;
    bool *is_used;
    uint32_t n, n_used;
} words;

struct hn_teller {
    hn_heap *heap;
    const hn_grammar *grammar;
    words classes[HN_N_WORD_CLASSES];
    bindings bound;
    double nats;
    uint32_t n_choices, n_scripted; /* of this run; n_scripted counts those in the script */
    size_t length;                  /* of the text so far */
    hn_rng_key key;                 /* telling */
    hn_str text;
    bool is_reading, has_failed; /* reading */
    span target;
    uint32_t script[MAX_CHOICES], options[MAX_CHOICES], depth;
};

/* ---- choices ---- */

static void count(hn_teller *t, uint32_t n)
{
    t->nats += hn_math_log((double)n);
    t->n_choices++;
}

static uint32_t choose(hn_teller *t, uint32_t n)
{
    if (n < 2 || t->has_failed)
        return 0;
    count(t, n);
    if (!t->is_reading)
        return hn_rng_below(t->key, t->n_choices, n);
    if (t->n_scripted >= MAX_CHOICES) { /* longer than any story: not one of them */
        t->has_failed = true;
        return 0;
    }
    const uint32_t at = t->n_scripted++;
    if (at >= t->depth) {
        t->script[at] = 0;
        t->options[at] = n;
        t->depth = at + 1;
    }
    return t->script[at];
}

static bool goes_on(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The word of the class that the text has at `at`, or NONE. */
static int word_at(const hn_teller *t, hn_word_class which, size_t at)
{
    const words *c = &t->classes[which];
    for (uint32_t i = 0; i < c->n; i++) {
        const size_t end = at + c->at[i].bytes;
        if (end <= t->target.bytes && !memcmp(t->target.text + at, c->at[i].text, c->at[i].bytes) &&
            (end == t->target.bytes || !goes_on(t->target.text[end])))
            return (int)i;
    }
    return NONE;
}

/* How long an article is at the end of what was read; a word that does not suit it is found out
 * when both are put. */
static size_t article_at(const hn_teller *t, article a)
{
    if (a == NO_ARTICLE)
        return 0;
    const size_t left = t->target.bytes - t->length;
    const char *text = t->target.text + t->length;
    return left > 2 && text[1] == 'n' && text[2] == ' ' ? 3 : left > 1 && text[1] == ' ' ? 2 : 0;
}

/* A word of the class that the story has not had. */
static int draw(hn_teller *t, hn_word_class which, article a)
{
    words *c = &t->classes[which];
    const uint32_t n = c->n - c->n_used;
    int word = NONE;
    if (t->has_failed)
        return 0;
    count(t, n);
    if (t->is_reading) {
        word = word_at(t, which, t->length + article_at(t, a));
        t->has_failed = word == NONE || c->is_used[word];
        if (t->has_failed)
            return 0;
    } else {
        uint32_t left = hn_rng_below(t->key, t->n_choices, n);
        for (word = 0; c->is_used[word] || left-- > 0;)
            word++;
    }
    c->is_used[word] = true;
    c->n_used++;
    return word;
}

/* ---- text ---- */

static void put(hn_teller *t, const char *text, size_t bytes)
{
    if (t->has_failed)
        return;
    if (!t->is_reading)
        hn_str_add_bytes(&t->text, text, bytes);
    else if (bytes > t->target.bytes - t->length ||
             memcmp(t->target.text + t->length, text, bytes))
        t->has_failed = true;
    t->length += bytes;
}

static void put_word(hn_teller *t, hn_word_class which, int word, article a)
{
    const span w = t->classes[which].at[word];
    if (a != NO_ARTICLE) {
        const bool is_vowel = memchr("aeiou", w.text[0], 5) != NULL;
        put(t, a == ARTICLE ? "a" : "A", 1);
        put(t, "n ", is_vowel ? 2 : 0);
        put(t, " ", is_vowel ? 0 : 1);
    }
    put(t, w.text, w.bytes);
}

/* Draws where the slot is empty. */
static void put_slot(hn_teller *t, hn_word_class which, int *slot, article a)
{
    if (*slot == NONE)
        *slot = draw(t, which, a);
    put_word(t, which, *slot, a);
}

static void put_name(hn_teller *t, person *p)
{
    if (p->name == NONE) {
        if (t->is_reading) { /* which it was can be read: names of the two are different */
            p->is_man = word_at(t, HN_WORDS_man, t->length) != NONE;
            count(t, 2);
        } else {
            p->is_man = (int)choose(t, 2);
        }
    }
    put_slot(t, p->is_man ? HN_WORDS_man : HN_WORDS_woman, &p->name, NO_ARTICLE);
}

static bool is_word(span s, const char *text)
{
    return s.bytes == strlen(text) && !memcmp(s.text, text, s.bytes);
}

/* "{A}", "{A:job}", "{A:He}" ...; what is unknown is a mistake in the tables, which the unit
 * test finds: it stands in the text as it is written. */
static bool put_person(hn_teller *t, person *p, span part)
{
    static const struct {
        const char *part, *woman, *man;
    } forms[] = { { "he", "she", "he" },    { "He", "She", "He" },    { "his", "her", "his" },
                  { "His", "Her", "His" }, { "him", "her", "him" } };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (is_word(part, forms[i].part)) {
            const char *form = p->is_man ? forms[i].man : forms[i].woman;
            put(t, form, strlen(form));
            return p->name != NONE || t->has_failed;
        }
    if (!part.bytes)
        put_name(t, p);
    else if (is_word(part, "job"))
        put_slot(t, HN_WORDS_job, &p->job, NO_ARTICLE);
    else if (is_word(part, "tie"))
        put_slot(t, HN_WORDS_tie, &p->tie, NO_ARTICLE);
    else if (is_word(part, "trait"))
        put_slot(t, HN_WORDS_trait, &p->trait, NO_ARTICLE);
    else if (is_word(part, "other"))
        put_slot(t, HN_WORDS_trait, &p->other, NO_ARTICLE);
    else
        return false;
    return true;
}

static bool put_fresh(hn_teller *t, span name, article a)
{
    for (int c = 0; c < HN_N_WORD_CLASSES; c++)
        if (is_word(name, hn_word_class_name((hn_word_class)c))) {
            int word = NONE;
            put_slot(t, (hn_word_class)c, &word, a);
            return true;
        }
    return false;
}

static bool put_thing(hn_teller *t, char which, article a)
{
    bindings *b = &t->bound;
    put_slot(t, HN_WORDS_adj, &b->things[which - 'X'].adj, a);
    put(t, " ", 1);
    put_slot(t, HN_WORDS_thing, &b->things[which - 'X'].noun, NO_ARTICLE);
    return true;
}

/* What stands between braces. */
static bool put_field(hn_teller *t, span f)
{
    bindings *b = &t->bound;
    article a = NO_ARTICLE;
    if (f.bytes > 2 && !memcmp(f.text, "a ", 2))
        a = ARTICLE, f = (span){ f.text + 2, f.bytes - 2 };
    else if (f.bytes > 3 && !memcmp(f.text, "An ", 3))
        a = CAPITAL_ARTICLE, f = (span){ f.text + 3, f.bytes - 3 };
    if (!f.bytes)
        return false;
    const char first = f.text[0];
    if (first == '*')
        return put_fresh(t, (span){ f.text + 1, f.bytes - 1 }, a);
    if ((first == 'A' || first == 'B') && (f.bytes == 1 || f.text[1] == ':'))
        return put_person(t, &b->people[first - 'A'],
                          f.bytes == 1 ? (span){ f.text, 0 }
                                       : (span){ f.text + 2, f.bytes - 2 });
    if (f.bytes != 1)
        return false;
    if (first == 'X' || first == 'Y')
        return put_thing(t, first, a);
    if (first >= 'P' && first <= 'R')
        put_slot(t, first == 'P' ? HN_WORDS_indoors : HN_WORDS_outdoors, &b->places[first - 'P'], a);
    else if (first == 'f')
        put_slot(t, HN_WORDS_food, &b->food, a);
    else if (first == 'n')
        put_slot(t, HN_WORDS_animal, &b->animal, a);
    else if (first == 'w')
        put_slot(t, HN_WORDS_weather, &b->weather, a);
    else if (first == 'h')
        put_slot(t, HN_WORDS_hour, &b->hour, a);
    else
        return false;
    return true;
}

static void say(hn_teller *t, int phrase)
{
    const char *const *wordings = t->grammar->phrases[phrase].wordings;
    uint32_t n = 0;
    while (wordings[n])
        n++;
    const char *at = wordings[choose(t, n)];
    if (t->length)
        put(t, " ", 1);
    while (*at && !t->has_failed) {
        const size_t plain = strcspn(at, "{");
        put(t, at, plain);
        at += plain;
        const char *end = strchr(at, '}');
        if (!end)
            break;
        if (!put_field(t, (span){ at + 1, (size_t)(end - at) - 1 }))
            put(t, at, (size_t)(end - at) + 1);
        at = end + 1;
    }
    put(t, at, strlen(at));
}

/* ---- stories ---- */

static void ask(hn_teller *t, const hn_plot *plot)
{
    uint32_t left[HN_MAX_ASKS], n = 0;
    while (n < HN_MAX_ASKS && plot->asks[n].phrase >= 0)
        left[n] = n, n++;
    for (uint32_t i = 0; i < t->grammar->n_asked && n > 0; i++) {
        const uint32_t k = choose(t, n);
        say(t, plot->asks[left[k]].phrase);
        memmove(left + k, left + k + 1, (--n - k) * sizeof *left);
    }
}

static void begin(hn_teller *t)
{
    memset(&t->bound, 0xff, sizeof t->bound); /* every int NONE */
    for (int c = 0; c < HN_N_WORD_CLASSES; c++) {
        if (t->classes[c].n)
            memset(t->classes[c].is_used, 0, t->classes[c].n * sizeof(bool));
        t->classes[c].n_used = 0;
    }
    t->nats = 0;
    t->n_choices = t->n_scripted = 0;
    t->length = 0;
    t->has_failed = false;
    hn_str_clear(&t->text);
}

static const hn_plot *tell(hn_teller *t)
{
    begin(t);
    const hn_plot *plot = &t->grammar->plots[choose(t, t->grammar->n_plots)];
    const bool asks_last = t->grammar->n_asked == 1;
    for (int i = 0; plot->steps[i].phrase >= 0; i++) {
        const hn_plot_step *s = &plot->steps[i];
        if (plot->steps[i + 1].phrase < 0 && !asks_last)
            ask(t, plot);
        if (!s->is_optional || choose(t, 2))
            say(t, s->phrase);
    }
    if (asks_last)
        ask(t, plot);
    return plot;
}

hn_status hn_teller_tell(hn_teller *teller, uint64_t seed, uint64_t story, hn_told *out)
{
    teller->is_reading = false;
    teller->key = hn_rng_fold(hn_rng_seed(seed), story);
    const hn_plot *plot = tell(teller);
    *out = (hn_told){ teller->text.text, teller->text.length, teller->nats, teller->n_choices,
                      plot->name };
    return hn_str_status(&teller->text);
}

/* The next script: the last choice that still has another option takes it. */
static bool advance(hn_teller *t)
{
    t->depth = t->n_scripted;
    while (t->depth > 0 && ++t->script[t->depth - 1] == t->options[t->depth - 1])
        t->depth--;
    return t->depth > 0;
}

hn_status hn_teller_read(hn_teller *teller, const char *text, size_t bytes, hn_readings *out)
{
    double least = 0, sum = 0; /* sum of exp(least - nats) */
    *out = (hn_readings){ 0 };
    teller->is_reading = true;
    teller->target = (span){ text, bytes };
    teller->depth = 0;
    do {
        tell(teller);
        if (teller->has_failed || teller->length != bytes)
            continue;
        if (out->n++ == 0)
            least = teller->nats;
        sum += hn_math_exp(least - teller->nats);
    } while (advance(teller));
    out->nats = out->n ? least - hn_math_log(sum) : 0;
    return HN_OK;
}

/* ---- words ---- */

static hn_status read_words(hn_teller *t, hn_word_class which)
{
    words *c = &t->classes[which];
    const char *text = t->grammar->words[which];
    if (!text)
        return HN_OK;
    uint32_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == ' ';
    c->at = hn_alloc_array(t->heap, HN_TAG_TEXT, n, sizeof *c->at);
    c->is_used = hn_alloc_array(t->heap, HN_TAG_TEXT, n, sizeof *c->is_used);
    if (!c->at || !c->is_used)
        return HN_ERR_MEMORY;
    for (const char *p = text; c->n < n;) {
        const size_t bytes = strcspn(p, " ");
        c->at[c->n++] = (span){ p, bytes };
        p += bytes + (p[bytes] == ' ');
    }
    return HN_OK;
}

hn_status hn_teller_new(hn_heap *heap, const hn_grammar *grammar, hn_teller **out)
{
    *out = NULL;
    hn_teller *t = hn_alloc(heap, HN_TAG_TEXT, sizeof *t);
    if (!t)
        return HN_ERR_MEMORY;
    t->heap = heap;
    t->grammar = grammar;
    t->text = hn_str_on(heap);
    for (int c = 0; c < HN_N_WORD_CLASSES; c++)
        if (read_words(t, (hn_word_class)c) != HN_OK) {
            hn_teller_free(t);
            return HN_ERR_MEMORY;
        }
    *out = t;
    return HN_OK;
}

void hn_teller_free(hn_teller *teller)
{
    if (!teller)
        return;
    for (int c = 0; c < HN_N_WORD_CLASSES; c++) {
        hn_free(teller->heap, teller->classes[c].at);
        hn_free(teller->heap, teller->classes[c].is_used);
    }
    hn_str_free(&teller->text);
    hn_free(teller->heap, teller);
}

uint32_t hn_teller_words(const hn_teller *teller)
{
    uint32_t n = 0;
    for (int c = 0; c < HN_N_WORD_CLASSES; c++)
        n += teller->classes[c].n;
    return n;
}
