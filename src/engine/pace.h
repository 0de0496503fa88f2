/* pace.h: how much of a prompt goes into a step beside those who generate, so that nobody waits for long who reads.
 *
 * A step is to take about twice as long as one without a prompt. What both take is measured: the more a row costs beside what a
 * step costs anyway, the shorter the pieces. No bit of any text depends on where prompts are cut, and so none depends on the clock. */
#ifndef HN_ENGINE_PACE_H
#define HN_ENGINE_PACE_H

#include <stdint.h>

typedef struct hn_pace {
    int64_t fixed, most; /* fixed 0: by measure, up to `most` */
    int64_t piece;
    double alone_ns, row_ns; /* of a step without prompts; of a row of a prompt beside others; 0: not known yet */
} hn_pace;

hn_pace hn_pace_of(int64_t fixed, int64_t most);

/* Rows of prompts that the next step may have beside those that generate. */
static inline int64_t hn_pace_piece(const hn_pace *p) { return p->piece; }

/* A step has taken so long, with so many ids of prompts beside others that generate. */
void hn_pace_took(hn_pace *p, int64_t n_prompt_ids, int64_t ns);

#endif
