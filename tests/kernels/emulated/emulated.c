#include "tests/kernels/emulated/emulated.h"

#define DECLARE_texts(level) extern const emulated_unit hn_emulated_gemm_##level, hn_emulated_int8_##level;
#define DECLARE_files(level)
DECLARE_texts(ref)
#define HN_ISA_LEVEL(name, arch, made_of, implies, needs, flags) HN_ON_##arch(DECLARE_##made_of(name))
#include "base/levels.def"

#define TAKE_texts(level)                                                                      \
    if (isa & HN_ISA(level)) {                                                                 \
        gemm = &hn_emulated_gemm_##level;                                                      \
        int8 = &hn_emulated_int8_##level;                                                      \
    }
#define TAKE_files(level)

static const emulated_unit *unit_of(hn_isa isa, bool is_gemm)
{
    const emulated_unit *gemm = &hn_emulated_gemm_ref, *int8 = &hn_emulated_int8_ref;
    (void)isa;
#define HN_ISA_LEVEL(name, arch, made_of, implies, needs, flags) HN_ON_##arch(TAKE_##made_of(name))
#include "base/levels.def"
    return is_gemm ? gemm : int8;
}

const emulated_unit *emulated_gemm(hn_isa isa) { return unit_of(isa, true); }
const emulated_unit *emulated_int8(hn_isa isa) { return unit_of(isa, false); }
