/* What a call says of how far it is, and whose wish ends it: parts of parts, shares that never go back, an entry within another,
 * a callback's own, threads that are in none, and what is written whole all the same. */
#include "base/host.h"
#include "base/os/threads.h"
#include "tests/harness/check.h"

typedef struct heard {
    double at[32];
    int n;
} heard;

static void hear(void *context, double done, const char *what)
{
    heard *h = context;
    CHECK(what[0]);
    if (h->n < 32)
        h->at[h->n++] = done;
}

static bool is_at(const heard *h, int i, double want)
{
    return CHECK(i < h->n) && CHECK_THAT(h->at[i] > want - 1e-12 && h->at[i] < want + 1e-12, "%d: %g, expected %g", i, h->at[i], want);
}

static hn_status tells(int n)
{
    for (int i = 0; i < n; i++)
        HN_TRY(hn_work_tell((uint64_t)i, (uint64_t)n, "a piece"));
    return HN_OK;
}

static void check_parts(void)
{
    HN_ENTER();
    heard h = { .n = 0 };
    check_group("parts");
    CHECK_OK(hn_work_done(HN_OK, "nothing")); /* nobody hears */
    hn_work_heard_by(hear, &h);
    CHECK_OK(hn_work_done(HN_OK, "nothing")); /* nothing was told: a short call */
    CHECK_INT(0, h.n);
    const hn_work_part first = hn_work_part_begin(0, 0.5);
    CHECK_OK(hn_work_part_end(&first, tells(2)));
    const hn_work_part second = hn_work_part_begin(0.5, 1), inner = hn_work_part_begin(0.5, 1);
    CHECK_OK(tells(2));
    hn_work_part_end(&inner, HN_OK);
    CHECK_OK(tells(1)); /* which is before what was told */
    CHECK_INT(HN_ERR_IO, hn_work_part_end(&second, HN_ERR_IO));
    CHECK_INT(HN_ERR_IO, hn_work_done(HN_ERR_IO, "all"));
    CHECK_INT(5, h.n);
    CHECK_OK(hn_work_done(HN_OK, "all"));
    static const double want[] = { 0, 0.25, 0.75, 0.875, 0.875, 1 };
    for (int i = 0; i < 6; i++)
        is_at(&h, i, want[i]);
    CHECK_INT(6, h.n);
}

static hn_status call_within(const hn_cancel_flag *flag)
{
    HN_ENTER();
    hn_work_heed(flag); /* it is a part of the call around it */
    HN_TRY(tells(1));
    return hn_work_done(HN_OK, "a call");
}

static void look_aside(void *context)
{
    *(hn_status *)context = hn_work_look("a thread");
}

static void call_back(const hn_cancel_flag *other)
{
    HN_CALL_HOST();
    CHECK(!hn_host_work());
    CHECK_OK(hn_work_look("outside"));
    HN_ENTER();
    CHECK_OK(hn_work_look("a call of its own"));
    hn_work_heed(other);
    CHECK_FAILS(hn_work_look("a call of its own"), HN_ERR_CANCELLED, "a call of its own: cancelled");
}

static void insist(void)
{
    HN_WORK_INSISTS();
    CHECK_OK(hn_work_look("a checkpoint"));
    CHECK_OK(hn_work_tell(1, 1, "a checkpoint"));
}

static void check_wishes(void)
{
    hn_cancel_flag flag = { .also = NULL }, set = { .is_set = true };
    hn_status aside = HN_ERR_IO;
    hn_os_thread thread;
    heard h = { .n = 0 };
    check_group("wishes");
    CHECK_OK(hn_work_look("outside"));
    CHECK(!hn_work_cancel());
    HN_ENTER();
    hn_work_heed(&flag);
    hn_work_heed(&set); /* the first is heard */
    hn_work_heard_by(hear, &h);
    CHECK(hn_work_cancel() == &flag);
    CHECK_OK(hn_work_look("it"));
    const hn_work_part part = hn_work_part_begin(0, 0.5);
    CHECK_OK(call_within(&set));
    hn_work_part_end(&part, HN_OK);
    is_at(&h, 1, 0.5);
    call_back(&set);
    CHECK_OK(hn_work_look("it"));
    atomic_store(&flag.is_set, true);
    CHECK_FAILS(hn_work_look("it"), HN_ERR_CANCELLED, "it: cancelled");
    CHECK_FAILS(hn_work_tell(1, 2, "it"), HN_ERR_CANCELLED, "it: cancelled");
    insist();
    CHECK_FAILS(hn_work_look("it"), HN_ERR_CANCELLED, "it: cancelled");
    if (CHECK_INT(0, hn_os_thread_start(&thread, look_aside, &aside)))
        hn_os_thread_join(&thread);
    CHECK_INT(HN_OK, aside);
}

static void check_count(void)
{
    _Atomic int64_t looks = 3;
    hn_cancel_flag flag = { .looks = &looks }, own = { .also = &flag };
    check_group("counted looks");
    CHECK(!hn_is_cancelled(&own) && !hn_is_cancelled(&own) && hn_is_cancelled(&own) && hn_is_cancelled(&own));
    CHECK_INT(-1, looks);
    looks = 0;
    CHECK(!hn_is_cancelled(&own));
    CHECK(hn_work_every(0) && !hn_work_every(1) && hn_work_every(4096) && !hn_is_cancelled(NULL));
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_parts();
    check_wishes();
    check_count();
    return check_close();
}
