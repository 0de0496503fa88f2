/* What a choice came to, as every API tells it: why it ended, how many tokens it took, what its calls are known by; and the seed
 * that it was drawn with, and its rank among others. */
#include "server/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

uint64_t hn_choice_seed(uint64_t seed, int32_t i)
{
    uint64_t x = seed + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
    if (!i)
        return seed;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

double hn_choice_merit(double sum, size_t n) { return n ? sum / (double)n : -HUGE_VAL; }

void hn_choices_rank(const double *merits, int32_t n, int32_t *order)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t at = i;
        for (; at && merits[order[at - 1]] < merits[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

const char *hn_choice_reason(const hn_choice *c)
{
    const bool is_done = c->h.stopped_by || c->has_said_end || c->end == HN_LM_DONE;
    return is_done && c->h.n_calls ? "tool_calls" : is_done ? "stop" : "length";
}

int64_t hn_answer_drawn(const hn_answer *a)
{
    int64_t n = 0;
    for (int32_t i = 0; i < a->n_choices; i++)
        n += a->choices[i].n_drawn;
    return n;
}

int64_t hn_answer_thought(const hn_answer *a)
{
    int64_t n = 0;
    for (int32_t i = 0; i < a->n_choices; i++)
        n += a->choices[i].h.n_thought;
    return n;
}

void hn_choice_call_id(const hn_choice *c, int32_t call, const char *own, char *to, size_t room)
{
    if (*own)
        snprintf(to, room, "%s", own);
    else
        snprintf(to, room, "call_%.40s_%d_%d", c->answer->id, c->index, call);
}

bool hn_choice_call_is_whole(const hn_choice *c, int32_t call)
{
    const hn_str *arguments = &c->h.calls[call].arguments;
    hn_json_text *read = NULL;
    const bool is_whole = hn_json_read(c->answer->heap, "arguments", arguments->text, arguments->length, &read) == HN_OK;
    hn_json_free(read);
    return is_whole;
}
