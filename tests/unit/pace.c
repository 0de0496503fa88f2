/* How long pieces of prompts become, on processors of which each takes so long for a step and so long for a row more. */
#include "engine/pace.h"

#include "tests/harness/check.h"

enum { MOST = 512 };

/* After a while of both kinds of steps. */
static int64_t settled(double step_ns, double row_ns, double noise)
{
    hn_pace p = hn_pace_of(0, MOST);
    for (int i = 0; i < 400; i++) {
        const double here = 1 + noise * (i % 5 - 2) / 2;
        const int64_t n = i % 4 ? hn_pace_piece(&p) : 0;
        hn_pace_took(&p, n, (int64_t)((step_ns + row_ns * (double)n) * here));
        CHECK(hn_pace_piece(&p) >= 8 && hn_pace_piece(&p) <= MOST);
    }
    return hn_pace_piece(&p);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_group("as many rows as take as long as a step");
    CHECK_INT(40, settled(40e6, 1e6, 0));
    CHECK_INT(100, settled(1e6, 1e4, 0));
    CHECK_INT(8, settled(1e6, 1e6, 0));
    CHECK_INT(MOST, settled(1e6, 1e2, 0));
    CHECK_INT(MOST, settled(1e6, 0, 0));
    for (int k = 1; k <= 3; k++) { /* no step is over three times as long as one without */
        const int64_t n = settled(40e6, 1e6, 0.1 * k);
        CHECK_THAT(n >= 24 && n <= 80, "with noise of %d tenths: %lld rows", k, (long long)n);
    }
    check_group("what is said is taken");
    hn_pace fixed = hn_pace_of(100, MOST);
    for (int i = 0; i < 50; i++)
        hn_pace_took(&fixed, i % 2 ? 100 : 0, i % 2 ? 1000000 : 10);
    CHECK_INT(100, hn_pace_piece(&fixed));
    check_group("the first, and short ones");
    hn_pace first = hn_pace_of(0, MOST), little = hn_pace_of(0, 4);
    CHECK_INT(32, hn_pace_piece(&first));
    CHECK_INT(4, hn_pace_piece(&little));
    hn_pace_took(&first, 32, 1000); /* before a step without is known nothing follows */
    CHECK_INT(32, hn_pace_piece(&first));
    hn_pace_took(&first, 0, 1000000);
    hn_pace_took(&first, 32, 1000); /* sooner than without: at most twice as many */
    CHECK_INT(64, hn_pace_piece(&first));
    return check_close();
}
