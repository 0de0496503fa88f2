/* isa.h: instruction-set levels. A level is a bundle of CPU features that kernels are written
 * for; hn_isa is a set of levels, and the empty set means `ref`, portable C. The levels are those
 * of levels.def. */
#ifndef HN_BASE_ISA_H
#define HN_BASE_ISA_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef unsigned hn_isa;

enum {
#define HN_ISA_LEVEL(name, arch, made_of, implies, needs, flags) HN_ISA_AT_##name,
#include "base/levels.def"
    HN_N_LEVELS
};

enum {
    HN_ISA_ref = 0,
#define HN_ISA_LEVEL(name, arch, made_of, implies, needs, flags) HN_ISA_##name = 1 << HN_ISA_AT_##name,
#include "base/levels.def"
    HN_ISA_ALL = (1 << HN_N_LEVELS) - 1
};
#define HN_ISA(level) ((hn_isa)HN_ISA_##level)

typedef struct hn_level {
    const char *name;
    hn_isa bit;
    hn_isa with_implied; /* the level and all that it implies, and so on */
} hn_level;

/* The i-th of HN_N_LEVELS: after those that it implies. */
hn_level hn_isa_level(int i);

/* What this processor and operating system can run, of the levels that were built (base/built.def, by cmake/hn_kernels.cmake). */
hn_isa hn_isa_host(void);

/* The host's levels, lowered by HN_ISA_MASK ("ref", or levels: those and what they imply). An unknown
 * word is an error, never ignored. */
hn_status hn_isa_available(hn_isa *out);
/* Of these alone; nothing is asked of the system for others, and for these only if it `asks`: without, a level is not there whose
 * registers this process has no right to yet. */
hn_status hn_isa_allowed(hn_isa allowed, bool asks, hn_isa *out);

/* Whether memory is asked best into the first-level cache: Zen 5 fetches a tenth more of one stream so, and a quarter more of sixteen;
 * Xeons have too few requests under way there. */
bool hn_isa_fetches_near(void);

/* "avx512" -> that level and all that it implies; "avxvnni+avx512": both. An unknown word fails. */
hn_status hn_isa_parse(const char *words, hn_isa *out);

typedef struct hn_isa_text {
    char at[96];
} hn_isa_text;

/* The levels that no other of the set implies, as hn_isa_parse reads them; "ref": the empty set. */
const char *hn_isa_name(hn_isa isa, hn_isa_text *text);

#endif
