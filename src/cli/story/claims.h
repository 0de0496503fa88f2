/* claims.h: what a story has said so far, and what its sentences claim: the two halves of the
 * judge (judge.c reads, claims.c holds each claim against what was said). */
#ifndef HN_CLI_STORY_CLAIMS_H
#define HN_CLI_STORY_CLAIMS_H

#include "cli/story/judge.h"
#include "cli/story/sentence.h"

enum {
    HN_MAX_PEOPLE = 4,
    HN_MAX_THINGS = 4,
    HN_MAX_TRAITS = 2,
    HN_MAX_BEEN = 6,
    HN_MAX_CLAIM_ARGS = 3
};

/* What the story has said. Words are bytes of its text; .bytes 0: nothing yet. */
typedef struct hn_story_person {
    hn_fill name, job, tie, place, traits[HN_MAX_TRAITS], been[HN_MAX_BEEN];
    int n_traits, n_been;
} hn_story_person;

typedef struct hn_story_thing {
    hn_fill name, place, found; /* place: where it lies; found: where it lay */
    const hn_story_person *holder, *wisher, *giver,
        *borrower; /* giver: of whom the holder has it */
} hn_story_thing;

struct hn_judge {
    hn_heap *heap;
    hn_sentences *language;
    hn_story_person people[HN_MAX_PEOPLE];
    hn_story_thing things[HN_MAX_THINGS];
    int n_people, n_things, n_sentences;
    hn_fill weather, hour, food, beast;
    const hn_story_person *feeder;
    bool is_fed, has_ended;
    hn_sentence sentence;
    char *reason;
};

typedef struct hn_claim_args {
    hn_fill at[HN_MAX_CLAIM_ARGS];
} hn_claim_args;

#define HN_WORD(f) (int)(f).bytes, (f).bytes ? (f).text : ""

bool hn_fill_same(const hn_fill *a, const hn_fill *b); /* and not empty */

/* Writes the reason, after the number of the sentence; false. */
__attribute__((format(printf, 2, 3))) bool hn_judge_refuse(hn_judge *j, const char *format,
                                                           ...);

/* Whether a claim holds; what it tells is noted. */
bool hn_judge_claim(hn_judge *j, const char *verb, size_t bytes, const hn_claim_args *args);

/* Wishes that nobody has granted, of one person or (NULL) of all. */
int hn_judge_n_ungranted(const hn_judge *j, const hn_story_person *of);

#endif
