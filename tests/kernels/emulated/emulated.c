#include "tests/kernels/emulated/emulated.h"

#define DECLARE_texts(level) extern const emulated_unit hn_emulated_gemm_##level, hn_emulated_int8_##level;
#define DECLARE_files(level)
DECLARE_texts(ref)
#define HN_BUILT(level, made_of) DECLARE_##made_of(level)
#include "base/built.def"
#undef HN_BUILT

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
#define HN_BUILT(level, made_of) TAKE_##made_of(level)
#include "base/built.def"
#undef HN_BUILT
    return is_gemm ? gemm : int8;
}

const emulated_unit *emulated_gemm(hn_isa isa) { return unit_of(isa, true); }
const emulated_unit *emulated_int8(hn_isa isa) { return unit_of(isa, false); }
