/* For a program whose main knows nothing of tests. */
#include "tests/far/far.h"

__attribute__((constructor)) static void install(void)
{
    hn_far_install();
}
