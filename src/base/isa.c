/* CPUID says what the processor has, XGETBV what the operating system saves. A matrix unit's registers are given to whoever
 * asks, and what it computes is tried: one that gives other bits is none. */
#include "base/isa.h"

#include "base/os/process.h"
#include "base/tmm_trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a processor has: the words in which levels.def says what a level needs ---- */

enum {
#define HN_ISA_FEATURE(name, leaf, subleaf, register, bit, state) AT_##name,
#include "base/levels.def"
    N_FEATURES
};
enum {
#define HN_ISA_FEATURE(name, leaf, subleaf, register, bit, state) name = 1 << AT_##name,
#include "base/levels.def"
    ALL_FEATURES = (1 << N_FEATURES) - 1
};

#if defined(__x86_64__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };
enum { STATE_YMM = 0x6, STATE_ZMM = 0xe6, STATE_TMM = 0x600e6 }; /* what the operating system must save */

static const struct {
    unsigned feature, leaf, subleaf, reg, bit, state;
} features[] = {
#define HN_ISA_FEATURE(name, leaf, subleaf, register, bit, state) { name, leaf, subleaf, register, bit, state },
#include "base/levels.def"
};

/* 0 where the operating system saves nothing beyond what every processor has. */
static unsigned saved_state(void)
{
    unsigned a, b, c, d, low, high;
    const unsigned osxsave = 1u << 27;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* AMD's processors start as many vdpbf16ps a cycle as fmas of f32. Intel's take longer for one than
 * for the two fmas that it replaces. */
static bool is_amd(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx;
}

static unsigned look_at_processor(void)
{
    unsigned has = 0;
    const unsigned saved = saved_state();
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        unsigned r[4];
        if (__get_cpuid_count(features[i].leaf, features[i].subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) &&
            (r[features[i].reg] >> features[i].bit & 1) &&
            (saved & features[i].state) == features[i].state)
            has |= features[i].feature;
    }
    return is_amd() ? has : has & ~(unsigned)fast_bf16;
}

static bool look_whether_it_fetches_near(void)
{
    enum { ZEN_5 = 26 };
    unsigned a, b, c, d;
    return is_amd() && __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 15) + (a >> 20 & 255) >= ZEN_5;
}

/* Looked at once: CPUID leaves a virtual machine each time, and every sampler asks for levels. */
enum { LOOKED = 1 << N_FEATURES, FETCHES_NEAR = 2 << N_FEATURES };
static unsigned looked_at(void)
{
    static _Atomic unsigned has;
    if (!has)
        has = look_at_processor() | LOOKED | (look_whether_it_fetches_near() ? FETCHES_NEAR : 0);
    return has;
}

static unsigned processor_has(void) { return looked_at() & ALL_FEATURES; }
bool hn_isa_fetches_near(void) { return looked_at() & FETCHES_NEAR; }
#else
static unsigned processor_has(void) { return 0; }
bool hn_isa_fetches_near(void) { return false; }
#endif

/* ---- levels ---- */

enum {
    BUILT = 0
#define HN_BUILT(level, made_of) | HN_ISA_##level
#include "base/built.def"
#undef HN_BUILT
};

static const struct {
    const char *name;
    hn_isa implies;
    unsigned needs;
} rows[HN_N_LEVELS] = {
#define HN_ISA_LEVEL(name, arch, made_of, implies, needs, flags)                               \
    { #name, implies, needs },
#include "base/levels.def"
};

hn_level hn_isa_level(int i)
{
    hn_level level = { rows[i].name, 1u << i, 1u << i };
    for (int at = i; at >= 0; at--) /* what a level implies stands before it */
        if (level.with_implied >> at & 1)
            level.with_implied |= rows[at].implies;
    return level;
}

/* Once: what the system gives it does not take back. What nobody asked for somebody may ask for later. */
static _Atomic int has_unit; /* 1: no, 2: yes */

static bool has_matrix_unit(bool asks)
{
    if (!has_unit) {
        const bool has_right = hn_os_matrix_unit(asks);
        if (!has_right && !asks)
            return false;
        has_unit = 1 + (has_right && tmm_trial());
    }
    return has_unit == 2;
}

/* Of the levels `allowed`, those that a processor with these features can run. Nothing is asked of the system for others. */
static hn_isa levels_of(unsigned has, hn_isa allowed, bool asks)
{
    hn_isa levels = HN_ISA_ref;
    for (int i = 0; i < HN_N_LEVELS; i++)
        if ((BUILT & allowed) >> i & 1 && (has & rows[i].needs) == rows[i].needs &&
            (levels & rows[i].implies) == rows[i].implies && (!(rows[i].needs & amx_tile) || has_matrix_unit(asks)))
            levels |= 1u << i;
    return levels;
}

hn_isa hn_isa_host(void) { return levels_of(processor_has(), HN_ISA_ALL, true); }

static hn_status fail_unknown(const char *word, size_t n)
{
    char all[128] = "ref";
    for (int i = 0; i < HN_N_LEVELS; i++) {
        const size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s", i + 1 < HN_N_LEVELS ? ", " : " or ", rows[i].name);
    }
    return hn_fail(HN_ERR_ARGUMENT, "instruction-set level '%.*s': expected %s", (int)n, word, all);
}

hn_status hn_isa_parse(const char *words, hn_isa *out)
{
    *out = HN_ISA_ref;
    for (const char *word = words;; word++) {
        const size_t n = strcspn(word, "+");
        bool is_known = n == 3 && !memcmp(word, "ref", n);
        for (int i = 0; i < HN_N_LEVELS && !is_known; i++)
            if (strlen(rows[i].name) == n && !memcmp(word, rows[i].name, n)) {
                *out |= hn_isa_level(i).with_implied;
                is_known = true;
            }
        if (!is_known)
            return fail_unknown(word, n);
        word += n;
        if (!*word)
            return HN_OK;
    }
}

hn_status hn_isa_allowed(hn_isa allowed, bool asks, hn_isa *out)
{
    const char *mask = getenv("HN_ISA_MASK");
    hn_isa masked = HN_ISA_ALL;
    if (mask && *mask) {
        const hn_status status = hn_isa_parse(mask, &masked);
        if (status != HN_OK)
            return hn_fail_within(status, "HN_ISA_MASK: ");
    }
    *out = levels_of(processor_has(), allowed & masked, asks);
    return HN_OK;
}

hn_status hn_isa_available(hn_isa *out) { return hn_isa_allowed(HN_ISA_ALL, true, out); }

const char *hn_isa_name(hn_isa isa, hn_isa_text *text)
{
    hn_isa implied = HN_ISA_ref;
    for (int i = 0; i < HN_N_LEVELS; i++)
        if (isa >> i & 1)
            implied |= hn_isa_level(i).with_implied & ~(1u << i);
    snprintf(text->at, sizeof text->at, "%s", isa ? "" : "ref");
    for (int i = 0; i < HN_N_LEVELS; i++) {
        const size_t n = strlen(text->at);
        if ((isa & ~implied) >> i & 1)
            snprintf(text->at + n, sizeof text->at - n, "%s%s", n ? "+" : "", rows[i].name);
    }
    return text->at;
}
