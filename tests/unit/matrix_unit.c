/* A processor has the level of a matrix unit where CPUID says so, the system gives its registers, and its bits are right: here the
 * first is made up, the second asked of a stand-in, and the third tried with registers in C that can be wrong. */
#define TMM_BODY "tests/unit/tmm_planted.h"
#include "base/os/process.h"

static int n_asked, is_given, is_had;
#define hn_os_matrix_unit(asks) (n_asked += (asks), is_given && ((asks) || is_had))
#include "base/isa.c" /* its own copy, for this body */
#undef hn_os_matrix_unit
#include "tests/harness/check.h"

#include <errno.h>

static void check_trial(void)
{
    check_group("a trial finds each kind of wrong dot");
    for (planted = NO_FAULT; planted < FAULTS; planted++)
        CHECK_THAT(tmm_trial() == (planted == NO_FAULT), "fault %d", (int)planted);
    planted = NO_FAULT;
    CHECK_INT(0, tmm.n_refused);
    CHECK(!tmm.is_open);
}

/* What is asked of the system is asked once in a process, so each way to be absent has its own copy of what was found. */
typedef struct way {
    const char *name;
    unsigned lacks;
    int is_given;
    fault planted;
    hn_isa allowed;
    bool is_there;
    int asked;
} way;

#if defined(__x86_64__)
static void check_ways(void)
{
    static const way ways[] = {
        { "not of the processor", amx_bf16, 1, NO_FAULT, HN_ISA_ALL, false, 0 },
        { "not what it implies", avx512vnni, 1, NO_FAULT, HN_ISA_ALL, false, 0 },
        { "masked", 0, 1, NO_FAULT, HN_ISA_ALL & ~HN_ISA_amx, false, 0 },
        { "refused by the system", 0, 0, NO_FAULT, HN_ISA_ALL, false, 1 },
        { "wrong by its sums", 0, 1, ONE_CHAIN, HN_ISA_ALL, false, 1 },
        { "wrong by its whole numbers", 0, 1, SIGNLESS, HN_ISA_ALL, false, 1 },
        { "right", 0, 1, NO_FAULT, HN_ISA_ALL, true, 1 },
    };
    check_group("whether a level is there");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const way *w = &ways[i];
        has_unit = n_asked = 0;
        is_given = w->is_given;
        planted = w->planted;
        for (int again = 0; again < 2; again++) { /* the second time nothing is asked */
            const hn_isa levels = levels_of(ALL_FEATURES & ~w->lacks, w->allowed, true);
            CHECK_THAT(!(levels & HN_ISA(amx)) == !w->is_there, "%s", w->name);
            CHECK_THAT(levels & HN_ISA(avx512), "%s: other levels stay", w->name);
            CHECK_THAT(n_asked == w->asked, "%s: asked %d times", w->name, n_asked);
        }
    }
    planted = NO_FAULT;
}

/* Who does not ask has it only if somebody did, or it was given before. */
static void check_unasked(void)
{
    check_group("who asks nothing");
    has_unit = n_asked = is_had = 0;
    is_given = 1;
    CHECK(!(levels_of(ALL_FEATURES, HN_ISA_ALL, false) & HN_ISA(amx)));
    CHECK_INT(0, n_asked);
    CHECK(levels_of(ALL_FEATURES, HN_ISA_ALL, true) & HN_ISA(amx)); /* that it was not there is not kept */
    CHECK_INT(1, n_asked);
    CHECK(levels_of(ALL_FEATURES, HN_ISA_ALL, false) & HN_ISA(amx));
    has_unit = n_asked = 0;
    is_had = 1;
    CHECK(levels_of(ALL_FEATURES, HN_ISA_ALL, false) & HN_ISA(amx));
    CHECK_INT(0, n_asked);
}
#endif

static void check_system(void)
{
    check_group("asking changes nothing that a caller sees");
    errno = 77;
    const bool is_had_before = hn_os_matrix_unit(false);
    CHECK_INT(is_had_before, hn_os_matrix_unit(false)); /* to ask whether it is had gives nothing */
    const bool is_given_once = hn_os_matrix_unit(true);
    CHECK_INT(is_given_once, hn_os_matrix_unit(true));
    CHECK_INT(is_given_once, hn_os_matrix_unit(false));
    CHECK_INT(77, errno);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_trial();
#if defined(__x86_64__)
    check_ways();
    check_unasked();
#else
    check_skip("amx", "a level of x86-64");
#endif
    check_system();
    return check_close();
}
