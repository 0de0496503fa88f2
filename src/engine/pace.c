/* A piece follows from the one before and what that took: rows do not cost alike, for the first of them bring the others' tiles with
 * them (eight rows beside one took 0.8 of a step, 32 took 1.8), so that a mean of what a row costs is true of no piece. */
#include "engine/pace.h"

#include <stdbool.h>

/* LEAST: fewer rows take hardly less, unless a step is past LIMIT times one without. */
enum { LEAST = 8, TIMES = 2, LIMIT = 3, SAMPLES = 2, EVERY = 64 };

hn_pace hn_pace_of(int64_t fixed, int64_t most)
{
    hn_pace p = { .fixed = fixed, .most = most };
    for (int i = 0; i < HN_PACE_KINDS; i++)
        p.kinds[i].piece = 1;
    return p;
}

/* Two for each power of two: steps of one kind differ by half of the shorter at most, were it all rows. */
static int kind_of(int64_t n_readers)
{
    int kind = 0;
    for (; n_readers > 3; n_readers /= 2)
        kind += 2;
    kind += n_readers == 3 ? 2 : n_readers == 2 ? 1 : 0;
    return kind < HN_PACE_KINDS ? kind : HN_PACE_KINDS - 1;
}

int64_t hn_pace_piece(const hn_pace *p, int64_t n_readers)
{
    const hn_pace_kind *k = &p->kinds[kind_of(n_readers)];
    if (p->fixed)
        return p->fixed;
    return k->n_alone < SAMPLES || k->n_mixed >= EVERY ? 0 : k->piece;
}

/* The shorter of the first two, for what a machine does once is no measure; then a mean that forgets slowly, to which no
 * step counts for more than twice of it. */
static void add_alone(hn_pace_kind *k, double ns)
{
    if (k->n_alone < SAMPLES)
        k->alone_ns = !k->n_alone || ns < k->alone_ns ? ns : k->alone_ns;
    else
        k->alone_ns += ((ns < 2 * k->alone_ns ? ns : 2 * k->alone_ns) - k->alone_ns) / 4;
    k->n_alone++;
    k->n_mixed = 0;
}

/* After one of n that took so long: what had taken as long again as a step without, were it all rows. Fewer than LEAST become
 * as many more as stay within the limit if the dearest of what was over them is what each costs. */
static int64_t next_piece(const hn_pace_kind *k, int64_t n, double ns)
{
    const double wanted = (TIMES - 1) * k->alone_ns, most = LIMIT * k->alone_ns, over = ns - k->alone_ns;
    if (n < LEAST && ns <= most) {
        const int64_t twice = 2 * n;
        const double fit = over > 0 ? (double)n * (most - k->alone_ns) / over : LEAST;
        return fit < (double)twice ? (int64_t)fit : twice < LEAST ? twice : LEAST;
    }
    double factor = over > 0 ? wanted / over : 2;
    factor = factor < 0.5 ? 0.5 : factor > 1.25 ? 1.25 : factor;
    const int64_t piece = (int64_t)((double)n * factor + 0.5), least = ns > most ? 1 : LEAST;
    return piece < least ? least : piece;
}

/* A piece that was shorter than it might have been says nothing of longer ones, unless it took too long already. */
static void add_mixed(const hn_pace *p, hn_pace_kind *k, int64_t n, double ns)
{
    const bool is_long = ns > TIMES * k->alone_ns && n >= LEAST;
    k->n_mixed++;
    if (n < k->piece && !is_long)
        return;
    const int64_t piece = next_piece(k, n, ns);
    k->piece = piece < p->most ? piece : p->most;
}

void hn_pace_took(hn_pace *p, int64_t n_readers, int64_t n_prompt_ids, int64_t ns)
{
    hn_pace_kind *k = &p->kinds[kind_of(n_readers)];
    if (!n_prompt_ids)
        add_alone(k, (double)ns);
    else if (k->n_alone)
        add_mixed(p, k, n_prompt_ids, (double)ns);
}
