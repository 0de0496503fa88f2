/* How long pieces of prompts become, on processors of which each takes so long for a step and so long for a row more: a clock that is
 * computed, so that what is held is rows per step. */
#include "engine/pace.h"

#include "tests/harness/check.h"

#include <stddef.h>

enum { MOST = 512 };

/* A step takes what a row more than one brings with it, as soon as there is one, and what each costs; a row of a prompt that many
 * times as much as its last rows are deep. */
typedef struct machine {
    double step_ns, jump_ns, row_ns, deep_ns;
} machine;

static double took(const machine *m, int64_t n_readers, int64_t n, int64_t depth)
{
    const double rows = (double)(n_readers + n);
    return m->step_ns + (rows > 1 ? m->jump_ns : 0) + m->row_ns * rows + m->deep_ns * (double)(n * depth);
}

typedef struct seen {
    int64_t n_steps, n_alone;
    double worst; /* step, of one without prompts of as many readers */
} seen;

/* A prompt enters beside so many. */
static seen enter(hn_pace *p, const machine *m, int64_t n_readers, int64_t n_prompt)
{
    seen s = { 0 };
    const double alone = took(m, n_readers, 0, 0);
    for (int64_t at = 0; at < n_prompt && s.n_steps < 100000; s.n_steps++) {
        const int64_t may = hn_pace_piece(p, n_readers), n = may < n_prompt - at ? may : n_prompt - at;
        const double ns = took(m, n_readers, n, at);
        hn_pace_took(p, n_readers, n, (int64_t)ns);
        at += n;
        s.n_alone += !n;
        s.worst = ns / alone > s.worst ? ns / alone : s.worst;
    }
    return s;
}

/* After a while of both kinds of steps. */
static int64_t settled(double step_ns, double row_ns, double noise)
{
    hn_pace p = hn_pace_of(0, MOST);
    for (int i = 0; i < 400; i++) {
        const double here = 1 + noise * (i % 5 - 2) / 2;
        const int64_t n = i % 4 ? hn_pace_piece(&p, 1) : 0;
        hn_pace_took(&p, 1, n, (int64_t)((step_ns + row_ns * (double)n) * here));
        CHECK(hn_pace_piece(&p, 1) >= (i > 4) && hn_pace_piece(&p, 1) <= MOST);
    }
    return hn_pace_piece(&p, 1);
}

static void check_settled(void)
{
    check_group("as many rows as take as long as a step");
    CHECK_INT(40, settled(40e6, 1e6, 0));
    CHECK_INT(100, settled(1e6, 1e4, 0));
    CHECK_INT(8, settled(10e6, 2e6, 0)); /* fewer take hardly less */
    CHECK_INT(2, settled(1e6, 1e6, 0));  /* but never over three times a step */
    CHECK_INT(MOST, settled(1e6, 1e2, 0));
    CHECK_INT(MOST, settled(1e6, 0, 0));
    for (int k = 1; k <= 3; k++) {
        const int64_t n = settled(40e6, 1e6, 0.1 * k);
        CHECK_THAT(n >= 20 && n <= 80, "with noise of %d tenths: %lld rows", k, (long long)n);
    }
}

/* From the first step on, and whoever reads: they come and go while prompts enter. `most_steps`: that all of it may take. */
static void check_held(const char *name, const machine *m, int64_t most_steps)
{
    static const int64_t readers[] = { 1, 16, 1, 4, 5, 31, 2, 1, 8, 16 };
    hn_pace p = hn_pace_of(0, MOST);
    seen all = { 0 };
    check_group(name);
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const seen s = enter(&p, m, readers[i], i == 4 ? 40 : 4000);
        CHECK_THAT(s.worst <= 3, "beside %lld readers a step took %.2f of one without", (long long)readers[i], s.worst);
        all.n_steps += s.n_steps;
        all.n_alone += s.n_alone;
    }
    CHECK_THAT(all.n_steps <= most_steps, "%lld steps, expected %lld at most", (long long)all.n_steps, (long long)most_steps);
    CHECK_THAT(all.n_alone >= 12 + (all.n_steps - 600) / 64 && all.n_alone <= 12 + all.n_steps / 64,
               "%lld of %lld steps are without", (long long)all.n_alone, (long long)all.n_steps);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_settled();
    check_held("rows that cost a tenth of a step", &(machine){ 10e6, 0, 1e6, 0 }, 4000);
    check_held("rows that cost as much as a step", &(machine){ 1e4, 0, 1e6, 0 }, 9000);
    check_held("rows that bring others' tiles with them", &(machine){ 8e6, 5e6, 4e5, 0 }, 2200);
    check_held("rows that cost more the deeper they are", &(machine){ 8e6, 3e6, 4e5, 1e2 }, 3000);
    check_held("rows that cost next to nothing", &(machine){ 8e6, 0, 1e2, 0 }, 300);
    check_group("what is said is taken");
    hn_pace fixed = hn_pace_of(100, MOST);
    for (int i = 0; i < 50; i++)
        hn_pace_took(&fixed, 1, i % 2 ? 100 : 0, i % 2 ? 1000000 : 10);
    CHECK_INT(100, hn_pace_piece(&fixed, 1));
    CHECK_INT(100, hn_pace_piece(&fixed, 20));
    check_group("the first, and short ones");
    hn_pace first = hn_pace_of(0, MOST), little = hn_pace_of(0, 4);
    CHECK_INT(0, hn_pace_piece(&first, 3)); /* of two steps without, the shorter is what one takes */
    hn_pace_took(&first, 3, 0, 5000000);
    CHECK_INT(0, hn_pace_piece(&first, 3));
    hn_pace_took(&first, 3, 0, 1000000);
    CHECK_INT(1, hn_pace_piece(&first, 3));
    CHECK_INT(0, hn_pace_piece(&first, 4)); /* which tells nothing of more readers */
    for (int64_t n = 1; n < 8; n *= 2) {    /* sooner than without: twice as many, up to eight, then a quarter more */
        hn_pace_took(&first, 3, n, 900000);
        CHECK_INT(2 * n, hn_pace_piece(&first, 3));
    }
    hn_pace_took(&first, 3, 8, 900000);
    CHECK_INT(10, hn_pace_piece(&first, 3));
    hn_pace_took(&first, 3, 10, 9000000); /* far too long: half */
    CHECK_INT(5, hn_pace_piece(&first, 3));
    hn_pace_took(&first, 3, 2, 2500000); /* a prompt's end tells nothing */
    CHECK_INT(5, hn_pace_piece(&first, 3));
    for (int64_t n = 0; n < 6; n++)
        hn_pace_took(&little, 1, n < 2 ? 0 : hn_pace_piece(&little, 1), 1000000);
    CHECK_INT(4, hn_pace_piece(&little, 1));
    return check_close();
}
