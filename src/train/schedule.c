/* A function of the step alone, so a run that goes on has the same rate. The cosine is our own: the C library's
 * differs from system to system. */
#include "train/schedule.h"

#include "base/mathfn.h"

#include <string.h>

static const char *const names[] = { HN_SCHEDULE_LIST(HN_WORD_ALONE, HN_WORD_ALONE, HN_WORD_ALONE) };

const char *hn_schedule_name(hn_schedule_kind kind)
{
    return names[kind];
}

hn_status hn_schedule_parse(const char *name, hn_schedule_kind *out)
{
    for (int i = 0; i < HN_N_SCHEDULES; i++)
        if (!strcmp(name, names[i])) {
            *out = (hn_schedule_kind)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_ARGUMENT, "schedule '%s': expected " HN_SCHEDULE_WORDS, name);
}

/* How much is left of the rate after `done` of `all` steps. */
static double left(const hn_schedule *s, int64_t done, int64_t all)
{
    const double p = all > 0 ? (double)done / (double)all : 1, x = p < 1 ? p : 1;
    const double share = s->kind == HN_SCHEDULE_COSINE ? 0.5 * (1 + hn_math_cos(3.141592653589793 * x))
                                                       : 1 - x;
    return s->least + (1 - s->least) * share;
}

float hn_schedule_rate(const hn_schedule *s, int64_t step)
{
    if (step < s->warm)
        return (float)(s->rate * (double)step / (double)s->warm);
    if (s->kind == HN_SCHEDULE_CONSTANT)
        return (float)s->rate;
    if (s->kind == HN_SCHEDULE_WSD) {
        const int64_t from = s->steps - s->decay;
        return (float)(step < from ? s->rate : s->rate * left(s, step - from, s->decay));
    }
    return (float)(s->rate * left(s, step - s->warm, s->steps - s->warm));
}
