/* One visitor, for writing and for comparing: an element's side is how many of the op's kinks lie below it, or,
 * where the kink is two inputs' agreement, which of them is greater. */
#include "prove/turns.h"

static uint8_t side_of(const hn_call *call, int64_t k, size_t n, const double *at)
{
    const hn_type *out = &call->out[0]->type;
    const double x = hn_get(call->in[0], hn_broadcast_index(&call->in[0]->type, out, k));
    if (call->op->kink_where_equal)
        return x > hn_get(call->in[1], hn_broadcast_index(&call->in[1]->type, out, k));
    uint8_t below = 0;
    for (size_t i = 0; i < n; i++)
        below = (uint8_t)(below + (x > at[i]));
    return below;
}

/* Whether every element has the side written down; with `keep` it has from now on. */
static bool visit(const hn_call *call, uint8_t *keep, const uint8_t *sides)
{
    double at[4];
    const size_t n = call->op->kinks ? (size_t)call->op->kinks(call->attrs, at) : 0;
    const int64_t count = (int64_t)hn_turns_count(call);
    for (int64_t k = 0; k < count; k++) {
        const uint8_t side = side_of(call, k, n, at);
        if (keep)
            keep[k] = side;
        else if (side != sides[k])
            return false;
    }
    return true;
}

size_t hn_turns_count(const hn_call *call)
{
    return call->op->kinks || call->op->kink_where_equal ? (size_t)hn_count(&call->out[0]->type) : 0;
}

void hn_turns_keep(const hn_call *call, uint8_t *sides) { visit(call, sides, NULL); }

bool hn_turns_moved(const hn_call *call, const uint8_t *sides) { return !visit(call, NULL, sides); }
