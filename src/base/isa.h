/* isa.h: instruction-set levels. A level is a bundle of CPU features that kernels are written
 * for; hn_isa is a set of levels, and the empty set means `ref`, portable C. */
#ifndef HN_BASE_ISA_H
#define HN_BASE_ISA_H

#include "base/status.h"

/* Weakest first within an architecture. `vec` marks levels that `ref` loops are measured against. */
#define HN_ISA_LIST(X)                                                                         \
    X(avx2, 1)   /* x86-64-v3: AVX2, FMA, F16C, BMI2 */                                        \
    X(avx512, 2) /* F, BW, DQ, VL, VNNI, with all of avx2 */                                   \
    X(avx512bf16, 4) /* BF16 with all of avx512, where that is faster: on AMD's */             \
    X(neon, 8)   /* AArch64 baseline */

typedef unsigned hn_isa;

#define HN_ISA_ref 0u
enum {
#define HN_ISA_ENUM(name, bit) HN_ISA_##name = bit,
    HN_ISA_LIST(HN_ISA_ENUM)
#undef HN_ISA_ENUM
        HN_ISA_ALL = 15
};
#define HN_ISA(level) ((hn_isa)HN_ISA_##level)

/* HN_ON_level(code): the code where that level can be compiled, nothing elsewhere. */
#if defined(__x86_64__)
#define HN_ON_avx2(...) __VA_ARGS__
#define HN_ON_avx512(...) __VA_ARGS__
#define HN_ON_avx512bf16(...) __VA_ARGS__
#define HN_ON_neon(...)
#elif defined(__aarch64__)
#define HN_ON_avx2(...)
#define HN_ON_avx512(...)
#define HN_ON_avx512bf16(...)
#define HN_ON_neon(...) __VA_ARGS__
#else
#define HN_ON_avx2(...)
#define HN_ON_avx512(...)
#define HN_ON_avx512bf16(...)
#define HN_ON_neon(...)
#endif

/* What this processor and operating system can run. */
hn_isa hn_isa_host(void);

/* The host's levels, lowered by HN_ISA_MASK ("ref", "avx2", "avx512", "avx512bf16",
 * "neon": that level and those below it). An unknown word is an error, never ignored. */
hn_status hn_isa_available(hn_isa *out);

/* "avx2" -> that level and all below it; fails if the word is unknown. */
hn_status hn_isa_parse(const char *word, hn_isa *out);

/* The strongest level's name: "ref" for the empty set. */
const char *hn_isa_name(hn_isa isa);

#endif
