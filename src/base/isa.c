/* CPUID says what the processor has, XGETBV what the operating system saves. */
#include "base/isa.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned long long saved_state(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((unsigned long long)high << 32) | low;
}

/* AMD's processors start as many vdpbf16ps a cycle as fmas of f32. Intel's take longer for one than
 * for the two fmas that it replaces. */
static bool has_fast_bf16(void)
{
    unsigned a, b, c, d;
    const bool is_amd = __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx;
    return is_amd && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5);
}

hn_isa hn_isa_host(void)
{
    unsigned a, b, c, d, a7, b7, c7, d7;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7))
        return HN_ISA_ref;
    const unsigned osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29, fma = 1u << 12;
    if ((c & (osxsave | avx | f16c | fma)) != (osxsave | avx | f16c | fma))
        return HN_ISA_ref;
    const unsigned long long state = saved_state();
    const unsigned avx2 = 1u << 5, bmi1 = 1u << 3, bmi2 = 1u << 8;
    if ((state & 6) != 6 || (b7 & (avx2 | bmi1 | bmi2)) != (avx2 | bmi1 | bmi2))
        return HN_ISA_ref;
    const unsigned f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31, vnni = 1u << 11;
    if ((state & 0xe6) != 0xe6 || (b7 & (f | dq | bw | vl)) != (f | dq | bw | vl) || !(c7 & vnni))
        return HN_ISA(avx2);
    return HN_ISA(avx2) | HN_ISA(avx512) | (has_fast_bf16() ? HN_ISA(avx512bf16) : 0);
}
#elif defined(__aarch64__)
hn_isa hn_isa_host(void)
{
    return HN_ISA(neon);
}
#else
hn_isa hn_isa_host(void)
{
    return HN_ISA_ref;
}
#endif

hn_status hn_isa_parse(const char *word, hn_isa *out)
{
    *out = HN_ISA_ref;
    if (!strcmp(word, "ref"))
        return HN_OK;
#define HN_ISA_MATCH(name, bit)                                                                \
    if (!strcmp(word, #name)) {                                                                \
        *out = bit == HN_ISA_neon ? HN_ISA(neon) : HN_ISA(name) | (HN_ISA(name) - 1);          \
        return HN_OK;                                                                          \
    }
    HN_ISA_LIST(HN_ISA_MATCH)
#undef HN_ISA_MATCH
    return hn_fail(HN_ERR_ARGUMENT,
                   "instruction-set level '%s': expected ref, avx2, avx512, avx512bf16 or neon", word);
}

hn_status hn_isa_available(hn_isa *out)
{
    *out = hn_isa_host();
    const char *mask = getenv("HN_ISA_MASK");
    if (!mask || !*mask)
        return HN_OK;
    hn_isa allowed = HN_ISA_ref;
    const hn_status status = hn_isa_parse(mask, &allowed);
    if (status != HN_OK)
        return hn_fail_within(status, "HN_ISA_MASK: ");
    *out &= allowed;
    return HN_OK;
}

const char *hn_isa_name(hn_isa isa)
{
    const char *name = "ref";
#define HN_ISA_LAST(level, bit)                                                                \
    if (isa & HN_ISA(level))                                                                   \
        name = #level;
    HN_ISA_LIST(HN_ISA_LAST)
#undef HN_ISA_LAST
    return name;
}
