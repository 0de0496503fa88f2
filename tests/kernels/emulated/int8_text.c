/* Compiled once for each level of texts (tests/CMakeLists.txt), as int8_amx.c is for one. */
#define TMM_EMULATED 1
#include "kernels/int8/squares_text.h"
#include "tests/kernels/emulated/emulated.h"

static int n_refused(void) { return tmm.n_refused; }
static bool is_open(void) { return tmm.is_open; }

extern const emulated_unit HN_KERNEL_NAME(emulated_int8);
const emulated_unit HN_KERNEL_NAME(emulated_int8) = { .int8 = &squares_of_level, .n_refused = n_refused, .is_open = is_open };
