/* pace.h: how much of a prompt goes into a step beside those who generate, so that nobody waits for long who reads.
 *
 * A step is to take about twice as long as one without a prompt, and never three times as long. What both take is measured, apart for
 * each number of readers (1, 2, 3, 4 to 5, 6 to 7, 8 to 11 and so on), because none tells of the other:
 *
 *     of these readers nothing is known yet, or for long nothing new  -> a step without prompts comes first, and is measured
 *     a step took too long                                           -> the next piece is shorter by as much, half of it at least
 *     it was short                                                   -> the next is longer, by a quarter at most, or twice as
 *                                                                       long while it has less than eight rows
 *
 * So the first piece that anybody reads beside is one row, and each is measured before a longer one comes. No bit of any
 * text depends on where prompts are cut, and so none depends on the clock. */
#ifndef HN_ENGINE_PACE_H
#define HN_ENGINE_PACE_H

#include <stdint.h>

enum { HN_PACE_KINDS = 24 };

typedef struct hn_pace_kind { /* of steps with about so many readers */
    double alone_ns;          /* of one without prompts, once it is known */
    int64_t n_alone, n_mixed; /* steps without; with, since the last without */
    int64_t piece;
} hn_pace_kind;

typedef struct hn_pace {
    int64_t fixed, most; /* fixed 0: by measure, up to `most` */
    hn_pace_kind kinds[HN_PACE_KINDS];
} hn_pace;

hn_pace hn_pace_of(int64_t fixed, int64_t most);

/* Ids of prompts that the next step may have beside so many that generate, one or more; 0: it is to be measured without. */
int64_t hn_pace_piece(const hn_pace *p, int64_t n_readers);

/* A step has taken so long, with so many ids of prompts beside those that generate. */
void hn_pace_took(hn_pace *p, int64_t n_readers, int64_t n_prompt_ids, int64_t ns);

#endif
