/* schedule.h: the learning rate of every step, counted from 0, as Hugging Face's schedulers have
 * it: during the warm-up rate * s / W, so that the first of a warm-up changes nothing.
 *
 *     constant  rate
 *     linear    down to the least
 *     cosine    half a cosine down to the least
 *     wsd       constant, then linearly down over the last `decay` steps
 */
#ifndef HN_TRAIN_SCHEDULE_H
#define HN_TRAIN_SCHEDULE_H

#include "base/status.h"
#include "base/word_list.h"

#include <stdint.h>

#define HN_SCHEDULE_LIST(HEAD, NEXT, TAIL)                                                    \
    HEAD(CONSTANT, "constant") NEXT(LINEAR, "linear") NEXT(COSINE, "cosine") TAIL(WSD, "wsd")
#define HN_SCHEDULE_WORDS HN_SCHEDULE_LIST(HN_WORD_HEAD, HN_WORD_NEXT, HN_WORD_TAIL)

typedef enum hn_schedule_kind {
#define HN_SCHEDULE_ENUM(NAME, word) HN_SCHEDULE_##NAME,
    HN_SCHEDULE_LIST(HN_SCHEDULE_ENUM, HN_SCHEDULE_ENUM, HN_SCHEDULE_ENUM)
#undef HN_SCHEDULE_ENUM
    HN_N_SCHEDULES
} hn_schedule_kind;

typedef struct hn_schedule {
    hn_schedule_kind kind;
    double rate, least; /* least: a share of the rate */
    int64_t steps, warm, decay;
} hn_schedule;

const char *hn_schedule_name(hn_schedule_kind kind);
hn_status hn_schedule_parse(const char *name, hn_schedule_kind *out);

float hn_schedule_rate(const hn_schedule *schedule, int64_t step);

#endif
