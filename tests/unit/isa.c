/* Levels: an order that is not of a line, and its words. */
#include "base/isa.h"
#include "tests/harness/check.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static void check_order(void)
{
    check_group("every level comes after those that it implies");
    for (int i = 0; i < HN_N_LEVELS; i++) {
        const hn_level level = hn_isa_level(i);
        CHECK_INT(1 << i, level.bit);
        CHECK(level.with_implied & level.bit);
        CHECK_THAT(level.with_implied < 2u << i, "%s implies a level behind it", level.name);
        for (int other = 0; other < i; other++) {
            const hn_level below = hn_isa_level(other);
            if (level.with_implied & below.bit)
                CHECK_THAT((level.with_implied & below.with_implied) == below.with_implied,
                           "%s implies %s but not all that it implies", level.name, below.name);
        }
    }
    CHECK_INT(HN_ISA(avx2) | HN_ISA(avx512) | HN_ISA(avx512bf16),
              hn_isa_level(HN_ISA_AT_avx512bf16).with_implied);
    CHECK_INT(HN_ISA(avx2) | HN_ISA(avxvnni), hn_isa_level(HN_ISA_AT_avxvnni).with_implied);
    CHECK_INT(HN_ISA(avx2) | HN_ISA(avx512) | HN_ISA(avx512vnni) | HN_ISA(amx), hn_isa_level(HN_ISA_AT_amx).with_implied);
    CHECK_INT(HN_ISA(neon), hn_isa_level(HN_ISA_AT_neon).with_implied);
}

/* Every set that holds what its levels imply has a name of its own, which is read as that set. */
static void check_names(void)
{
    check_group("names");
    for (hn_isa isa = 0; isa <= HN_ISA_ALL; isa++) {
        hn_isa whole = isa, back = 0;
        hn_isa_text text;
        for (int i = 0; i < HN_N_LEVELS; i++)
            if (isa >> i & 1)
                whole |= hn_isa_level(i).with_implied;
        if (whole != isa)
            continue;
        CHECK_OK(hn_isa_parse(hn_isa_name(isa, &text), &back));
        CHECK_INT(isa, back);
        CHECK(strlen(text.at) + 1 < sizeof text.at);
    }
    hn_isa_text text;
    CHECK_TEXT("ref", hn_isa_name(HN_ISA(ref), &text));
    CHECK_TEXT("avx512bf16+amx",
               hn_isa_name(HN_ISA_ALL & ~(HN_ISA(neon) | HN_ISA(avxvnni)), &text));
}

static void check_refused(void)
{
    check_group("unknown words");
    static const char *const words[] = { "", "sse", "avx", "avx2+", "+avx2", "avx2 ", "AVX2", "avx5122" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        hn_isa isa;
        CHECK_FAILS(hn_isa_parse(words[i], &isa), HN_ERR_ARGUMENT, "avx512bf16, amx or neon");
    }
}

static void check_host(void)
{
    check_group("the host has what its levels imply");
    const hn_isa host = hn_isa_host();
    for (int i = 0; i < HN_N_LEVELS; i++)
        if (host >> i & 1)
            CHECK_INT(hn_isa_level(i).with_implied, host & hn_isa_level(i).with_implied);
}

#if defined(__x86_64__)
/* The wide halves of registers that hold something, where the processor tells (XINUSE): code that is compiled for narrower ones is slow
 * beside them, with the same bits, so that nothing else would tell. */
static unsigned wide_in_use(void)
{
    enum { OSXSAVE = 1u << 27, TELLS = 1u << 2, YMM = 1u << 2, ZMM = 1u << 6 };
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & OSXSAVE) || !__get_cpuid_count(13, 1, &eax, &ebx, &ecx, &edx) ||
        !(eax & TELLS))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(1));
    return eax & (YMM | ZMM);
}
#else
static unsigned wide_in_use(void) { return 0; }
#endif

static void check_left(void)
{
    check_group("what was tried to find the levels is left as it was found");
    const unsigned before = wide_in_use();
    (void)hn_isa_host();
    CHECK_INT(0, wide_in_use() & ~before);
}

/* What a level puts into a family's slots has to be put after what those that it implies do, and a stronger one's last. */
static void check_slots(void)
{
    check_group("slots are filled in the order of levels");
    static const int at[] = { -1,
#define HN_SLOTS(family, level) HN_ISA_AT_##level,
#include "kernels/slots.def"
#undef HN_SLOTS
    };
    for (size_t i = 1; i < sizeof at / sizeof *at; i++)
        CHECK_THAT(at[i - 1] <= at[i], "line %zu: %s", i, hn_isa_level(at[i]).name);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_left(); /* first: what is tried is tried once */
    check_order();
    check_names();
    check_refused();
    check_host();
    check_slots();
    return check_close();
}
