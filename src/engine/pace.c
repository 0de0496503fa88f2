/* Two means that forget slowly: of steps without a prompt, and of what a row of a prompt costs beyond that. A
 * row's cost is never taken for nothing, or one lucky measurement would ask for the longest piece. */
#include "engine/pace.h"

enum { FIRST = 32, LEAST = 8, TIMES = 2 };

hn_pace hn_pace_of(int64_t fixed, int64_t most)
{
    return (hn_pace){ .fixed = fixed, .most = most, .piece = fixed ? fixed : FIRST < most ? FIRST : most };
}

static void add(double *mean, double value, double share)
{
    *mean = *mean > 0 ? *mean + (value - *mean) * share : value;
}

/* At most twice of what was, so that one step that was short by chance does not make the next one long. */
static int64_t next_piece(const hn_pace *p)
{
    const double wanted = (TIMES - 1) * p->alone_ns / p->row_ns;
    int64_t piece = wanted < (double)(2 * p->piece) ? (int64_t)wanted : 2 * p->piece;
    piece = piece < LEAST ? LEAST : piece;
    return piece < p->most ? piece : p->most;
}

void hn_pace_took(hn_pace *p, int64_t n_prompt_ids, int64_t ns)
{
    if (!n_prompt_ids)
        add(&p->alone_ns, (double)ns, 0.125);
    else if (p->alone_ns > 0) {
        const double over = (double)ns - p->alone_ns, least = p->alone_ns / 1024; /* that a row costs, however little it seems */
        add(&p->row_ns, over > least * (double)n_prompt_ids ? over / (double)n_prompt_ids : least, 0.25);
    }
    if (!p->fixed && p->alone_ns > 0 && p->row_ns > 0)
        p->piece = next_piece(p);
}
