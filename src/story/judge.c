#include "story/judge.h"

#include "story/sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PEOPLE = 4, MAX_THINGS = 4, MAX_TRAITS = 2, MAX_BEEN = 6, MAX_ARGS = 3 };
enum { LEAST_WORDS = 80, MOST_WORDS = 200 };

/* What the story has said. Words are bytes of its text; .bytes 0: nothing yet. */
typedef struct person {
    hn_fill name, job, place, traits[MAX_TRAITS], been[MAX_BEEN];
    int n_traits, n_been;
} person;

typedef struct thing {
    hn_fill name, place, found; /* place: where it lies; found: where it lay */
    const person *holder, *wisher;
} thing;

struct hn_judge {
    hn_heap *heap;
    hn_sentences *language;
    person people[MAX_PEOPLE];
    thing things[MAX_THINGS];
    int n_people, n_things, n_sentences;
    hn_fill weather, hour, food, beast;
    const person *feeder;
    bool is_fed, has_ended;
    hn_sentence sentence;
    char *reason;
};

/* ---- words ---- */

static bool same(const hn_fill *a, const hn_fill *b)
{
    return a->bytes == b->bytes && a->bytes && !memcmp(a->text, b->text, a->bytes);
}

#define WORD(f) (int)(f).bytes, (f).bytes ? (f).text : ""

__attribute__((format(printf, 2, 3))) static bool refuse(hn_judge *j, const char *format, ...)
{
    va_list args;
    const int n = snprintf(j->reason, HN_JUDGE_TEXT, "sentence %d: ", j->n_sentences);
    va_start(args, format);
    if (n > 0 && n < HN_JUDGE_TEXT)
        vsnprintf(j->reason + n, (size_t)(HN_JUDGE_TEXT - n), format, args);
    va_end(args);
    return false;
}

static person *person_named(hn_judge *j, const hn_fill *name)
{
    for (int i = 0; i < j->n_people; i++)
        if (same(&j->people[i].name, name))
            return &j->people[i];
    refuse(j, "nobody has introduced %.*s", WORD(*name));
    return NULL;
}

static thing *find_thing(hn_judge *j, const hn_fill *name)
{
    for (int i = 0; i < j->n_things; i++)
        if (same(&j->things[i].name, name))
            return &j->things[i];
    return NULL;
}

static thing *thing_named(hn_judge *j, const hn_fill *name)
{
    thing *t = find_thing(j, name);
    if (!t)
        refuse(j, "there is no %.*s", WORD(*name));
    return t;
}

static thing *new_thing(hn_judge *j, const hn_fill *name)
{
    thing *t = find_thing(j, name);
    if (t)
        return t;
    if (j->n_things == MAX_THINGS) {
        refuse(j, "%.*s: a story has at most %d things", WORD(*name), MAX_THINGS);
        return NULL;
    }
    t = &j->things[j->n_things++];
    *t = (thing){ .name = *name };
    return t;
}

/* ---- claims: each is true, or refused ---- */

typedef struct args {
    hn_fill at[MAX_ARGS];
} args;

static bool claim_meet(hn_judge *j, const args *a)
{
    for (int i = 0; i < j->n_people; i++)
        if (same(&j->people[i].name, &a->at[0]))
            return refuse(j, "%.*s was introduced before", WORD(a->at[0]));
    if (j->n_people == MAX_PEOPLE)
        return refuse(j, "%.*s: a story has at most %d people", WORD(a->at[0]), MAX_PEOPLE);
    j->people[j->n_people++] = (person){ .name = a->at[0], .job = a->at[1] };
    return true;
}

static bool arrive(hn_judge *j, person *p, const hn_fill *place)
{
    p->place = *place;
    if (p->n_been == MAX_BEEN)
        return refuse(j, "%.*s has been in too many places", WORD(p->name));
    p->been[p->n_been++] = *place;
    return true;
}

static bool has_been(const person *p, const hn_fill *place)
{
    for (int i = 0; i < p->n_been; i++)
        if (same(&p->been[i], place))
            return true;
    return false;
}

static bool claim_put(hn_judge *j, const args *a)
{
    person *p = person_named(j, &a->at[0]);
    return p && arrive(j, p, &a->at[1]);
}

static bool claim_join(hn_judge *j, const args *a)
{
    person *p = person_named(j, &a->at[0]), *other = person_named(j, &a->at[1]);
    return p && other && arrive(j, p, &other->place);
}

static bool claim_at(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    if (!p || same(&p->place, &a->at[1]))
        return p != NULL;
    return refuse(j, "%.*s is at the %.*s, not at the %.*s", WORD(p->name), WORD(p->place),
                  WORD(a->at[1]));
}

static bool claim_go(hn_judge *j, const args *a)
{
    person *p = person_named(j, &a->at[0]);
    if (p && same(&p->place, &a->at[1]))
        return refuse(j, "%.*s is at the %.*s already", WORD(p->name), WORD(a->at[1]));
    return p && arrive(j, p, &a->at[1]);
}

static bool claim_back(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    if (p && !has_been(p, &a->at[1]))
        return refuse(j, "%.*s has never been at the %.*s", WORD(p->name), WORD(a->at[1]));
    return p && claim_go(j, a);
}

static bool claim_home(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    if (p && !same(&p->been[0], &a->at[1]))
        return refuse(j, "%.*s came from the %.*s, not from the %.*s", WORD(p->name),
                      WORD(p->been[0]), WORD(a->at[1]));
    return p && claim_go(j, a);
}

static bool claim_been(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    if (!p || has_been(p, &a->at[1]))
        return p != NULL;
    return refuse(j, "%.*s has never been at the %.*s", WORD(p->name), WORD(a->at[1]));
}

static bool claim_with(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]), *q = person_named(j, &a->at[1]);
    if (!p || !q)
        return false;
    if (p != q && same(&p->place, &q->place))
        return true;
    return refuse(j, "%.*s is at the %.*s and %.*s at the %.*s", WORD(p->name), WORD(p->place),
                  WORD(q->name), WORD(q->place));
}

static bool claim_same(hn_judge *j, const args *a)
{
    return same(&a->at[0], &a->at[1]) ||
           refuse(j, "expected %.*s, found %.*s", WORD(a->at[1]), WORD(a->at[0]));
}

static bool claim_is(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    if (!p || same(&p->job, &a->at[1]))
        return p != NULL;
    return refuse(j, "%.*s is the %.*s, not the %.*s", WORD(p->name), WORD(p->job),
                  WORD(a->at[1]));
}

static bool claim_he(hn_judge *j, const args *a)
{
    static const char hers[][4] = { "she", "her", "She", "Her" };
    const bool is_man = hn_sentences_is_man(j->language, &a->at[1]);
    bool says_he = true;
    for (size_t i = 0; i < sizeof hers / sizeof *hers; i++)
        says_he = says_he && !(a->at[0].bytes == 3 && !memcmp(a->at[0].text, hers[i], 3));
    if (says_he == is_man)
        return true;
    return refuse(j, "'%.*s' is not %.*s", WORD(a->at[0]), WORD(a->at[1]));
}

static bool claim_bears(hn_judge *j, const args *a)
{
    person *p = person_named(j, &a->at[0]);
    if (p && p->n_traits == MAX_TRAITS)
        return refuse(j, "%.*s has %d traits already", WORD(p->name), MAX_TRAITS);
    if (p)
        p->traits[p->n_traits++] = a->at[1];
    return p != NULL;
}

static bool claim_trait(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    for (int i = 0; p && i < p->n_traits; i++)
        if (same(&p->traits[i], &a->at[1]))
            return true;
    return p && refuse(j, "nobody said that %.*s was %.*s", WORD(p->name), WORD(a->at[1]));
}

static bool claim_owns(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    thing *t = p ? new_thing(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->holder || t->place.bytes)
        return refuse(j, "the %.*s is not %.*s's to have", WORD(t->name), WORD(p->name));
    t->holder = p;
    return true;
}

static bool claim_want(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    thing *t = p ? new_thing(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->holder == p)
        return refuse(j, "%.*s has the %.*s already", WORD(p->name), WORD(t->name));
    t->wisher = p;
    return true;
}

static bool claim_wishes(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    const thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->wisher == p && t->holder != p)
        return true;
    return refuse(j, "%.*s does not want for the %.*s", WORD(p->name), WORD(t->name));
}

static bool claim_wished(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    const thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t || t->wisher == p)
        return t != NULL;
    return refuse(j, "%.*s never wanted the %.*s", WORD(p->name), WORD(t->name));
}

static bool claim_misses(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (t)
        t->wisher = p;
    return t != NULL;
}

static bool claim_has(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    const thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t || t->holder == p)
        return t != NULL;
    if (t->holder)
        return refuse(j, "%.*s has the %.*s, not %.*s", WORD(t->holder->name), WORD(t->name),
                      WORD(p->name));
    return refuse(j, "nobody has the %.*s", WORD(t->name));
}

static bool claim_lacks(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    const thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (t && t->holder == p)
        return refuse(j, "%.*s has the %.*s", WORD(p->name), WORD(t->name));
    return t != NULL;
}

/* Whoever has it is where this person is, and another. */
static bool claim_near(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    const thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->holder && t->holder != p && same(&t->holder->place, &p->place))
        return true;
    return refuse(j, "nobody by %.*s has the %.*s", WORD(p->name), WORD(t->name));
}

static bool claim_give(hn_judge *j, const args *a)
{
    const args who = { { a->at[0], a->at[2] } };
    if (!claim_with(j, a) || !claim_has(j, &who))
        return false;
    thing_named(j, &a->at[2])->holder = person_named(j, &a->at[1]);
    return true;
}

static bool claim_drop(hn_judge *j, const args *a)
{
    if (!claim_has(j, a))
        return false;
    thing *t = thing_named(j, &a->at[1]);
    t->place = t->holder->place;
    t->wisher = t->holder;
    t->holder = NULL;
    return true;
}

static bool claim_lay(hn_judge *j, const args *a)
{
    thing *t = new_thing(j, &a->at[0]);
    if (t && t->holder)
        return refuse(j, "%.*s has the %.*s", WORD(t->holder->name), WORD(t->name));
    if (t)
        t->place = a->at[1];
    return t != NULL;
}

static bool claim_lies(hn_judge *j, const args *a)
{
    const thing *t = thing_named(j, &a->at[0]);
    if (!t || same(&t->place, &a->at[1]))
        return t != NULL;
    return refuse(j, "the %.*s is not at the %.*s", WORD(t->name), WORD(a->at[1]));
}

static bool claim_find(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (!same(&t->place, &p->place))
        return refuse(j, "the %.*s is not where %.*s is", WORD(t->name), WORD(p->name));
    t->found = t->place;
    t->place = (hn_fill){ 0 };
    t->holder = p;
    return true;
}

static bool claim_found(hn_judge *j, const args *a)
{
    const thing *t = thing_named(j, &a->at[0]);
    if (!t || same(&t->found, &a->at[1]))
        return t != NULL;
    return refuse(j, "the %.*s was not found at the %.*s", WORD(t->name), WORD(a->at[1]));
}

static bool claim_food(hn_judge *j, const args *a)
{
    j->feeder = person_named(j, &a->at[0]);
    j->food = a->at[1];
    return j->feeder != NULL;
}

static bool claim_beast(hn_judge *j, const args *a)
{
    j->beast = a->at[0];
    return true;
}

static bool claim_fed(hn_judge *j, const args *a)
{
    if (j->is_fed && same(&j->beast, &a->at[0]))
        return true;
    return refuse(j, "no %.*s was fed", WORD(a->at[0]));
}

static bool claim_feed(hn_judge *j, const args *a)
{
    if (!same(&j->beast, &a->at[1]))
        return refuse(j, "there is no %.*s", WORD(a->at[1]));
    if (!same(&j->food, &a->at[2]) || j->is_fed || j->feeder != person_named(j, &a->at[0]))
        return refuse(j, "%.*s has no %.*s", WORD(a->at[0]), WORD(a->at[2]));
    j->is_fed = true;
    return true;
}

static bool claim_ate(hn_judge *j, const args *a)
{
    if (!claim_fed(j, a))
        return false;
    return same(&j->food, &a->at[1]) || refuse(j, "nobody gave it the %.*s", WORD(a->at[1]));
}

static bool claim_sky(hn_judge *j, const args *a)
{
    j->weather = a->at[0];
    return true;
}

static bool claim_time(hn_judge *j, const args *a)
{
    j->hour = a->at[0];
    return true;
}

static bool claim_still(hn_judge *j, const args *a)
{
    return same(&j->weather, &a->at[0]) ||
           refuse(j, "it was %.*s, not %.*s", WORD(j->weather), WORD(a->at[0]));
}

static bool claim_then(hn_judge *j, const args *a)
{
    return same(&j->hour, &a->at[0]) ||
           refuse(j, "it was %.*s, not %.*s", WORD(j->hour), WORD(a->at[0]));
}

static int n_ungranted(const hn_judge *j, const person *of)
{
    int n = 0;
    for (int i = 0; i < j->n_things; i++)
        n += j->things[i].wisher && (!of || j->things[i].wisher == of) &&
             j->things[i].holder != j->things[i].wisher;
    return n;
}

static bool claim_glad(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    return p && (!n_ungranted(j, p) || refuse(j, "%.*s has no reason to be glad", WORD(p->name)));
}

static bool claim_sorry(hn_judge *j, const args *a)
{
    const person *p = person_named(j, &a->at[0]);
    return p && (n_ungranted(j, p) || refuse(j, "%.*s has no reason to be sorry", WORD(p->name)));
}

static bool claim_end(hn_judge *j, const args *a)
{
    (void)a;
    j->has_ended = true;
    return true;
}

static const struct {
    const char *verb;
    bool (*claim)(hn_judge *j, const args *a);
} verbs[] = {
    { "meet", claim_meet },     { "put", claim_put },     { "join", claim_join },
    { "at", claim_at },         { "go", claim_go },       { "back", claim_back },
    { "home", claim_home },     { "been", claim_been },   { "with", claim_with },
    { "same", claim_same },     { "is", claim_is },       { "he", claim_he },
    { "bears", claim_bears },   { "trait", claim_trait }, { "owns", claim_owns },
    { "want", claim_want },     { "wishes", claim_wishes }, { "wished", claim_wished },
    { "misses", claim_misses }, { "has", claim_has },     { "lacks", claim_lacks },
    { "near", claim_near },     { "give", claim_give },   { "drop", claim_drop },
    { "lay", claim_lay },       { "lies", claim_lies },   { "find", claim_find },
    { "found", claim_found },   { "food", claim_food },   { "beast", claim_beast },
    { "fed", claim_fed },       { "feed", claim_feed },   { "ate", claim_ate },
    { "sky", claim_sky },       { "time", claim_time },   { "still", claim_still },
    { "then", claim_then },     { "glad", claim_glad },   { "sorry", claim_sorry },
    { "end", claim_end },
};

/* ---- stories ---- */

/* "give N1 N0 o1": N0 is whom the story is about. "at J1 p1": J1 is whose job that is. */
static bool read_argument(hn_judge *j, int letter, int number, hn_fill *out)
{
    if (letter != 'J') {
        *out = number ? j->sentence.fills[letter][number] : j->people[0].name;
        return true;
    }
    const hn_fill *job = &j->sentence.fills['j'][number];
    for (int i = 0; i < j->n_people; i++)
        if (same(&j->people[i].job, job)) {
            *out = j->people[i].name;
            return true;
        }
    return refuse(j, "nobody is the %.*s", WORD(*job));
}

static bool read_claim(hn_judge *j, const char *claim, size_t bytes)
{
    args a = { 0 };
    const size_t verb = strcspn(claim, " ,");
    const char *end = claim + bytes;
    int n = 0;
    for (const char *p = claim + verb; p + 2 < end && n < MAX_ARGS; p += 3)
        if (!read_argument(j, p[1], p[2] - '0', &a.at[n++]))
            return false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strlen(verbs[i].verb) == verb && !memcmp(verbs[i].verb, claim, verb))
            return verbs[i].claim(j, &a);
    return refuse(j, "the judge knows no '%.*s'", (int)verb, claim);
}

static bool read_claims(hn_judge *j)
{
    if (j->has_ended)
        return refuse(j, "the story has ended before");
    for (const char *p = j->sentence.claims;;) {
        const size_t bytes = strcspn(p, ",");
        if (j->n_people == 0 && strncmp(p, "meet", 4) != 0)
            return refuse(j, "the story has not begun");
        if (!read_claim(j, p, bytes))
            return false;
        if (!p[bytes])
            return true;
        p += bytes + 2;
    }
}

static bool judge_whole(hn_judge *j, const char *text, size_t bytes)
{
    int n_words = bytes > 0;
    for (size_t i = 0; i < bytes; i++)
        n_words += text[i] == ' ';
    j->n_sentences = 0;
    for (const char *at = text, *end = text + bytes; at < end;) {
        j->n_sentences++;
        if (!hn_sentence_read(j->language, at, (size_t)(end - at), &j->sentence))
            return refuse(j, "not understood: %.*s", end - at < 90 ? (int)(end - at) : 90, at);
        if (!read_claims(j))
            return false;
        at += j->sentence.bytes;
        at += at < end;
    }
    if (!j->has_ended)
        return refuse(j, "the story does not end");
    if (n_ungranted(j, NULL))
        return refuse(j, "a wish is not granted at the end");
    if (n_words < LEAST_WORDS || n_words > MOST_WORDS)
        return refuse(j, "%d words: expected %d to %d", n_words, LEAST_WORDS, MOST_WORDS);
    return true;
}

bool hn_judge_story(hn_judge *j, const char *text, size_t bytes, char reason[HN_JUDGE_TEXT])
{
    hn_heap *heap = j->heap;
    hn_sentences *language = j->language;
    *j = (hn_judge){ .heap = heap, .language = language, .reason = reason };
    reason[0] = '\0';
    return judge_whole(j, text, bytes);
}

hn_status hn_judge_new(hn_heap *heap, hn_judge **out)
{
    hn_judge *j = *out = hn_alloc(heap, HN_TAG_TEXT, sizeof *j);
    if (!j)
        return HN_ERR_MEMORY;
    j->heap = heap;
    const hn_status status = hn_sentences_new(heap, &j->language);
    if (status != HN_OK) {
        hn_judge_free(j);
        *out = NULL;
    }
    return status;
}

void hn_judge_free(hn_judge *judge)
{
    if (!judge)
        return;
    hn_sentences_free(judge->language);
    hn_free(judge->heap, judge);
}
