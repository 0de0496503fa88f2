/* claims.c: a function for each verb of sentences.def, each an account of who is where, has
 * what and wants what. */
#include "cli/story/claims.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- words ---- */

bool hn_fill_same(const hn_fill *a, const hn_fill *b)
{
    return a->bytes == b->bytes && a->bytes && !memcmp(a->text, b->text, a->bytes);
}

bool hn_judge_refuse(hn_judge *j, const char *format, ...)
{
    va_list args;
    const int n = snprintf(j->reason, HN_JUDGE_TEXT, "sentence %d: ", j->n_sentences);
    va_start(args, format);
    if (n > 0 && n < HN_JUDGE_TEXT)
        vsnprintf(j->reason + n, (size_t)(HN_JUDGE_TEXT - n), format, args);
    va_end(args);
    return false;
}

static hn_story_person *person_named(hn_judge *j, const hn_fill *name)
{
    for (int i = 0; i < j->n_people; i++)
        if (hn_fill_same(&j->people[i].name, name))
            return &j->people[i];
    hn_judge_refuse(j, "nobody has introduced %.*s", HN_WORD(*name));
    return NULL;
}

static hn_story_thing *find_thing(hn_judge *j, const hn_fill *name)
{
    for (int i = 0; i < j->n_things; i++)
        if (hn_fill_same(&j->things[i].name, name))
            return &j->things[i];
    return NULL;
}

static hn_story_thing *thing_named(hn_judge *j, const hn_fill *name)
{
    hn_story_thing *t = find_thing(j, name);
    if (!t)
        hn_judge_refuse(j, "there is no %.*s", HN_WORD(*name));
    return t;
}

static hn_story_thing *new_thing(hn_judge *j, const hn_fill *name)
{
    hn_story_thing *t = find_thing(j, name);
    if (t)
        return t;
    if (j->n_things == HN_MAX_THINGS) {
        hn_judge_refuse(j, "%.*s: a story has at most %d things", HN_WORD(*name),
                        HN_MAX_THINGS);
        return NULL;
    }
    t = &j->things[j->n_things++];
    *t = (hn_story_thing){ .name = *name };
    return t;
}

/* ---- claims: each is true, or refused ---- */

static bool claim_meet(hn_judge *j, const hn_claim_args *a)
{
    for (int i = 0; i < j->n_people; i++)
        if (hn_fill_same(&j->people[i].name, &a->at[0]))
            return hn_judge_refuse(j, "%.*s was introduced before", HN_WORD(a->at[0]));
    if (j->n_people == HN_MAX_PEOPLE)
        return hn_judge_refuse(j, "%.*s: a story has at most %d people", HN_WORD(a->at[0]),
                               HN_MAX_PEOPLE);
    j->people[j->n_people++] = (hn_story_person){ .name = a->at[0] };
    return true;
}

static bool claim_job(hn_judge *j, const hn_claim_args *a)
{
    hn_story_person *p = person_named(j, &a->at[0]);
    if (p)
        p->job = a->at[1];
    return p != NULL;
}

static bool claim_tie(hn_judge *j, const hn_claim_args *a)
{
    hn_story_person *p = person_named(j, &a->at[0]);
    if (p)
        p->tie = a->at[1];
    return p != NULL;
}

static bool arrive(hn_judge *j, hn_story_person *p, const hn_fill *place)
{
    p->place = *place;
    if (p->n_been == HN_MAX_BEEN)
        return hn_judge_refuse(j, "%.*s has been in too many places", HN_WORD(p->name));
    p->been[p->n_been++] = *place;
    return true;
}

static bool has_been(const hn_story_person *p, const hn_fill *place)
{
    for (int i = 0; i < p->n_been; i++)
        if (hn_fill_same(&p->been[i], place))
            return true;
    return false;
}

static bool claim_put(hn_judge *j, const hn_claim_args *a)
{
    hn_story_person *p = person_named(j, &a->at[0]);
    return p && arrive(j, p, &a->at[1]);
}

static bool claim_join(hn_judge *j, const hn_claim_args *a)
{
    hn_story_person *p = person_named(j, &a->at[0]), *other = person_named(j, &a->at[1]);
    return p && other && arrive(j, p, &other->place);
}

static bool claim_at(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    if (!p || hn_fill_same(&p->place, &a->at[1]))
        return p != NULL;
    return hn_judge_refuse(j, "%.*s is at the %.*s, not at the %.*s", HN_WORD(p->name),
                           HN_WORD(p->place), HN_WORD(a->at[1]));
}

static bool claim_go(hn_judge *j, const hn_claim_args *a)
{
    hn_story_person *p = person_named(j, &a->at[0]);
    if (p && hn_fill_same(&p->place, &a->at[1]))
        return hn_judge_refuse(j, "%.*s is at the %.*s already", HN_WORD(p->name),
                               HN_WORD(a->at[1]));
    return p && arrive(j, p, &a->at[1]);
}

static bool claim_back(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    if (p && !has_been(p, &a->at[1]))
        return hn_judge_refuse(j, "%.*s has never been at the %.*s", HN_WORD(p->name),
                               HN_WORD(a->at[1]));
    return p && claim_go(j, a);
}

static bool claim_home(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    if (p && !hn_fill_same(&p->been[0], &a->at[1]))
        return hn_judge_refuse(j, "%.*s came from the %.*s, not from the %.*s",
                               HN_WORD(p->name), HN_WORD(p->been[0]), HN_WORD(a->at[1]));
    return p && claim_go(j, a);
}

static bool claim_been(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    if (!p || has_been(p, &a->at[1]))
        return p != NULL;
    return hn_judge_refuse(j, "%.*s has never been at the %.*s", HN_WORD(p->name),
                           HN_WORD(a->at[1]));
}

/* The first was where the second is, and is there no more. */
static bool claim_left(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]), *q = person_named(j, &a->at[1]);
    const hn_claim_args there = { { a->at[1], a->at[2] } }, been = { { a->at[0], a->at[2] } };
    if (!p || !q || !claim_at(j, &there) || !claim_been(j, &been))
        return false;
    return !hn_fill_same(&p->place, &a->at[2]) ||
           hn_judge_refuse(j, "%.*s is still at the %.*s", HN_WORD(p->name), HN_WORD(a->at[2]));
}

static bool claim_with(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]), *q = person_named(j, &a->at[1]);
    if (!p || !q)
        return false;
    if (p != q && hn_fill_same(&p->place, &q->place))
        return true;
    return hn_judge_refuse(j, "%.*s is at the %.*s and %.*s at the %.*s", HN_WORD(p->name),
                           HN_WORD(p->place), HN_WORD(q->name), HN_WORD(q->place));
}

static bool claim_same(hn_judge *j, const hn_claim_args *a)
{
    return hn_fill_same(&a->at[0], &a->at[1]) ||
           hn_judge_refuse(j, "expected %.*s, found %.*s", HN_WORD(a->at[1]),
                           HN_WORD(a->at[0]));
}

static bool is_called(hn_judge *j, const hn_story_person *p, const hn_fill *is, const hn_fill *said)
{
    return hn_fill_same(is, said) ||
           hn_judge_refuse(j, "%.*s is the %.*s, not the %.*s", HN_WORD(p->name), HN_WORD(*is),
                           HN_WORD(*said));
}

static bool claim_is(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    return p && is_called(j, p, &p->job, &a->at[1]);
}

static bool claim_tied(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    return p && is_called(j, p, &p->tie, &a->at[1]);
}

static bool claim_he(hn_judge *j, const hn_claim_args *a)
{
    static const char hers[][4] = { "she", "her", "She", "Her" };
    const bool is_man = hn_sentences_is_man(j->language, &a->at[1]);
    bool says_he = true;
    for (size_t i = 0; i < sizeof hers / sizeof *hers; i++)
        says_he = says_he && !(a->at[0].bytes == 3 && !memcmp(a->at[0].text, hers[i], 3));
    if (says_he == is_man)
        return true;
    return hn_judge_refuse(j, "'%.*s' is not %.*s", HN_WORD(a->at[0]), HN_WORD(a->at[1]));
}

static bool claim_bears(hn_judge *j, const hn_claim_args *a)
{
    hn_story_person *p = person_named(j, &a->at[0]);
    if (p && p->n_traits == HN_MAX_TRAITS)
        return hn_judge_refuse(j, "%.*s has %d traits already", HN_WORD(p->name),
                               HN_MAX_TRAITS);
    if (p)
        p->traits[p->n_traits++] = a->at[1];
    return p != NULL;
}

static bool claim_trait(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    for (int i = 0; p && i < p->n_traits; i++)
        if (hn_fill_same(&p->traits[i], &a->at[1]))
            return true;
    return p && hn_judge_refuse(j, "nobody said that %.*s was %.*s", HN_WORD(p->name),
                                HN_WORD(a->at[1]));
}

static bool claim_owns(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    hn_story_thing *t = p ? new_thing(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->holder || t->place.bytes)
        return hn_judge_refuse(j, "the %.*s is not %.*s's to have", HN_WORD(t->name),
                               HN_WORD(p->name));
    t->holder = p;
    return true;
}

static bool claim_want(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    hn_story_thing *t = p ? new_thing(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->holder == p)
        return hn_judge_refuse(j, "%.*s has the %.*s already", HN_WORD(p->name),
                               HN_WORD(t->name));
    t->wisher = p;
    return true;
}

static bool claim_wishes(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    const hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->wisher == p && t->holder != p)
        return true;
    return hn_judge_refuse(j, "%.*s does not want for the %.*s", HN_WORD(p->name),
                           HN_WORD(t->name));
}

static bool claim_wished(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    const hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t || t->wisher == p)
        return t != NULL;
    return hn_judge_refuse(j, "%.*s never wanted the %.*s", HN_WORD(p->name), HN_WORD(t->name));
}

static bool claim_misses(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (t)
        t->wisher = p;
    return t != NULL;
}

static bool claim_has(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    const hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t || t->holder == p)
        return t != NULL;
    if (t->holder)
        return hn_judge_refuse(j, "%.*s has the %.*s, not %.*s", HN_WORD(t->holder->name),
                               HN_WORD(t->name), HN_WORD(p->name));
    return hn_judge_refuse(j, "nobody has the %.*s", HN_WORD(t->name));
}

static bool claim_lacks(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    const hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (t && t->holder == p)
        return hn_judge_refuse(j, "%.*s has the %.*s", HN_WORD(p->name), HN_WORD(t->name));
    return t != NULL;
}

/* Whoever has it is where this person is, and another. */
static bool claim_near(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    const hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (t->holder && t->holder != p && hn_fill_same(&t->holder->place, &p->place))
        return true;
    return hn_judge_refuse(j, "nobody by %.*s has the %.*s", HN_WORD(p->name),
                           HN_WORD(t->name));
}

static bool claim_give(hn_judge *j, const hn_claim_args *a)
{
    const hn_claim_args who = { { a->at[0], a->at[2] } };
    if (!claim_with(j, a) || !claim_has(j, &who))
        return false;
    hn_story_thing *t = thing_named(j, &a->at[2]);
    t->giver = t->holder;
    t->holder = person_named(j, &a->at[1]);
    return true;
}

static bool claim_from(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    const hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t || t->giver == p)
        return t != NULL;
    return hn_judge_refuse(j, "%.*s did not give the %.*s", HN_WORD(p->name), HN_WORD(t->name));
}

static bool claim_lent(hn_judge *j, const hn_claim_args *a)
{
    hn_story_thing *t = thing_named(j, &a->at[1]);
    if (t)
        t->borrower = person_named(j, &a->at[0]);
    return t && t->borrower;
}

static bool claim_borrowed(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    const hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t || t->borrower == p)
        return t != NULL;
    return hn_judge_refuse(j, "%.*s did not borrow the %.*s", HN_WORD(p->name),
                           HN_WORD(t->name));
}

static bool claim_drop(hn_judge *j, const hn_claim_args *a)
{
    if (!claim_has(j, a))
        return false;
    hn_story_thing *t = thing_named(j, &a->at[1]);
    t->place = t->holder->place;
    t->wisher = t->holder;
    t->holder = NULL;
    return true;
}

static bool claim_lay(hn_judge *j, const hn_claim_args *a)
{
    hn_story_thing *t = new_thing(j, &a->at[0]);
    if (t && t->holder)
        return hn_judge_refuse(j, "%.*s has the %.*s", HN_WORD(t->holder->name),
                               HN_WORD(t->name));
    if (t)
        t->place = a->at[1];
    return t != NULL;
}

static bool claim_lies(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_thing *t = thing_named(j, &a->at[0]);
    if (!t || hn_fill_same(&t->place, &a->at[1]))
        return t != NULL;
    return hn_judge_refuse(j, "the %.*s is not at the %.*s", HN_WORD(t->name),
                           HN_WORD(a->at[1]));
}

static bool claim_find(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    hn_story_thing *t = p ? thing_named(j, &a->at[1]) : NULL;
    if (!t)
        return false;
    if (!hn_fill_same(&t->place, &p->place))
        return hn_judge_refuse(j, "the %.*s is not where %.*s is", HN_WORD(t->name),
                               HN_WORD(p->name));
    t->found = t->place;
    t->place = (hn_fill){ 0 };
    t->holder = p;
    return true;
}

static bool claim_found(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_thing *t = thing_named(j, &a->at[0]);
    if (!t || hn_fill_same(&t->found, &a->at[1]))
        return t != NULL;
    return hn_judge_refuse(j, "the %.*s was not found at the %.*s", HN_WORD(t->name),
                           HN_WORD(a->at[1]));
}

static bool claim_food(hn_judge *j, const hn_claim_args *a)
{
    j->feeder = person_named(j, &a->at[0]);
    j->food = a->at[1];
    return j->feeder != NULL;
}

static bool claim_beast(hn_judge *j, const hn_claim_args *a)
{
    j->beast = a->at[0];
    return true;
}

static bool claim_fed(hn_judge *j, const hn_claim_args *a)
{
    if (j->is_fed && hn_fill_same(&j->beast, &a->at[0]))
        return true;
    return hn_judge_refuse(j, "no %.*s was fed", HN_WORD(a->at[0]));
}

static bool claim_feed(hn_judge *j, const hn_claim_args *a)
{
    if (!hn_fill_same(&j->beast, &a->at[1]))
        return hn_judge_refuse(j, "there is no %.*s", HN_WORD(a->at[1]));
    if (!hn_fill_same(&j->food, &a->at[2]) || j->is_fed ||
        j->feeder != person_named(j, &a->at[0]))
        return hn_judge_refuse(j, "%.*s has no %.*s", HN_WORD(a->at[0]), HN_WORD(a->at[2]));
    j->is_fed = true;
    return true;
}

static bool claim_ate(hn_judge *j, const hn_claim_args *a)
{
    if (!claim_fed(j, a))
        return false;
    return hn_fill_same(&j->food, &a->at[1]) ||
           hn_judge_refuse(j, "nobody gave it the %.*s", HN_WORD(a->at[1]));
}

static bool claim_sky(hn_judge *j, const hn_claim_args *a)
{
    j->weather = a->at[0];
    return true;
}

static bool claim_time(hn_judge *j, const hn_claim_args *a)
{
    j->hour = a->at[0];
    return true;
}

static bool claim_still(hn_judge *j, const hn_claim_args *a)
{
    return hn_fill_same(&j->weather, &a->at[0]) ||
           hn_judge_refuse(j, "it was %.*s, not %.*s", HN_WORD(j->weather), HN_WORD(a->at[0]));
}

static bool claim_then(hn_judge *j, const hn_claim_args *a)
{
    return hn_fill_same(&j->hour, &a->at[0]) ||
           hn_judge_refuse(j, "it was %.*s, not %.*s", HN_WORD(j->hour), HN_WORD(a->at[0]));
}

int hn_judge_n_ungranted(const hn_judge *j, const hn_story_person *of)
{
    int n = 0;
    for (int i = 0; i < j->n_things; i++)
        n += j->things[i].wisher && (!of || j->things[i].wisher == of) &&
             j->things[i].holder != j->things[i].wisher;
    return n;
}

static bool claim_glad(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    return p && (!hn_judge_n_ungranted(j, p) ||
                 hn_judge_refuse(j, "%.*s has no reason to be glad", HN_WORD(p->name)));
}

static bool claim_sorry(hn_judge *j, const hn_claim_args *a)
{
    const hn_story_person *p = person_named(j, &a->at[0]);
    return p && (hn_judge_n_ungranted(j, p) ||
                 hn_judge_refuse(j, "%.*s has no reason to be sorry", HN_WORD(p->name)));
}

static bool claim_end(hn_judge *j, const hn_claim_args *a)
{
    (void)a;
    j->has_ended = true;
    return true;
}

static const struct {
    const char *verb;
    bool (*claim)(hn_judge *j, const hn_claim_args *a);
} verbs[] = {
    { "job", claim_job },
    { "tie", claim_tie },
    { "tied", claim_tied },
    { "left", claim_left },
    { "from", claim_from },
    { "lent", claim_lent },
    { "borrowed", claim_borrowed },
    { "meet", claim_meet },
    { "put", claim_put },
    { "join", claim_join },
    { "at", claim_at },
    { "go", claim_go },
    { "back", claim_back },
    { "home", claim_home },
    { "been", claim_been },
    { "with", claim_with },
    { "same", claim_same },
    { "is", claim_is },
    { "he", claim_he },
    { "bears", claim_bears },
    { "trait", claim_trait },
    { "owns", claim_owns },
    { "want", claim_want },
    { "wishes", claim_wishes },
    { "wished", claim_wished },
    { "misses", claim_misses },
    { "has", claim_has },
    { "lacks", claim_lacks },
    { "near", claim_near },
    { "give", claim_give },
    { "drop", claim_drop },
    { "lay", claim_lay },
    { "lies", claim_lies },
    { "find", claim_find },
    { "found", claim_found },
    { "food", claim_food },
    { "beast", claim_beast },
    { "fed", claim_fed },
    { "feed", claim_feed },
    { "ate", claim_ate },
    { "sky", claim_sky },
    { "time", claim_time },
    { "still", claim_still },
    { "then", claim_then },
    { "glad", claim_glad },
    { "sorry", claim_sorry },
    { "end", claim_end },
};

bool hn_judge_claim(hn_judge *j, const char *verb, size_t bytes, const hn_claim_args *a)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strlen(verbs[i].verb) == bytes && !memcmp(verbs[i].verb, verb, bytes))
            return verbs[i].claim(j, a);
    return hn_judge_refuse(j, "the judge knows no '%.*s'", (int)bytes, verb);
}
