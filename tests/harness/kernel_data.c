/* What kernels are fed and how their outputs are compared. Inputs come from integers by exact
 * operations alone, so they are the same on every machine. */
#include "tests/harness/kernel_check.h"

#include "base/half.h"
#include "tests/harness/guard.h"
#include "tests/harness/kernel_state.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_AT_MOST = 4 };

static const uint32_t blank_bits = 0x5b1ab1ab; /* about 4.4e16 */

uint32_t kc_random(void) { return hn_rng_u32(kc.key, kc.n_drawn++); }

static float plain(void) /* [-2, 2), a multiple of 2^-22 */
{
    return (float)((int32_t)kc_random() >> 8) * 0x1p-22f;
}

static float wide(void)
{
    const uint32_t bits = kc_random();
    const uint32_t exponent = 127u - 30u + kc_random() % 60u;
    return hn_f32_from_bits((bits & 0x807fffffu) | exponent << 23);
}

static float extreme(bool with_nonfinite)
{
    static const uint32_t table[] = {
        0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
        0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff,
        0xff7fffff, 0x4b800000, 0x42b17218, 0xc2ce8ed0, 0x3f000000, 0x3effffff,
        0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001,
    };
    enum { N_ALL = sizeof table / sizeof *table, N_FINITE = 18 };
    const uint32_t roll = kc_random();
    if (roll % 16)
        return plain() * 0x1p-6f;
    return hn_f32_from_bits(table[(roll >> 8) % (with_nonfinite ? N_ALL : N_FINITE)]);
}

static float next_float(void)
{
    switch (kc.flavour) {
    case KC_WIDE:
        return wide();
    case KC_EXTREME:
        return extreme(false);
    case KC_NONFINITE:
        return extreme(true);
    default:
        return plain();
    }
}

float *kc_floats(size_t n)
{
    float *x = guard_new(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = next_float();
    if (n && kc.flavour == KC_EXTREME)
        x[kc_random() % n] = 0x1p20f; /* one large among small */
    return x;
}

float *kc_floats_in(size_t n, float low, float high)
{
    float *x = guard_new(n * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        const float u = (float)(kc_random() >> 8) * 0x1p-24f;
        x[i] = low + u * (high - low);
    }
    return x;
}

double *kc_doubles(size_t n)
{
    double *x = guard_new(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (double)next_float() + (double)plain() * 0x1p-40;
    return x;
}

uint16_t *kc_halves(size_t n)
{
    uint16_t *x = guard_new(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = hn_f32_to_f16(next_float());
    return x;
}

uint16_t *kc_brains(size_t n)
{
    uint16_t *x = guard_new(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = hn_f32_to_bf16(next_float());
    return x;
}

uint8_t *kc_bytes(size_t n)
{
    uint8_t *x = guard_new(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (uint8_t)(kc_random() >> 11);
    return x;
}

int32_t *kc_indices(size_t n, int32_t bound)
{
    int32_t *x = guard_new(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t)((uint64_t)kc_random() * (uint64_t)bound >> 32);
    return x;
}

void *kc_copy(const void *source, size_t bytes)
{
    void *copy = guard_new(bytes);
    if (bytes)
        memcpy(copy, source, bytes);
    return copy;
}

float *kc_blank(size_t n)
{
    float *x = guard_new(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = hn_f32_from_bits(blank_bits);
    return x;
}

float *kc_lines(size_t n)
{
    char *room = kc_blank_bytes(n * sizeof(float) + 63);
    return (float *)(void *)(room + (64 - (uintptr_t)room % 64) % 64);
}

void *kc_blank_bytes(size_t bytes)
{
    return bytes ? memset(guard_new(bytes), 0x5b, bytes) : guard_new(0);
}

static void bad(const char *file, int line, const char *what)
{
    if (kc.n_bad++ >= SHOWN_AT_MOST)
        return;
    char place[384];
    kc_place(place, sizeof place);
    printf("%s:%d: %s: %s\n", file, line, place, what);
}

void kc_recycle(void)
{
    if (!guard_all_intact())
        bad(__FILE__, __LINE__, "bytes before a buffer were written");
    guard_free_all();
}

void kc_that(const char *file, int line, bool holds, const char *text)
{
    if (!holds)
        bad(file, line, text);
}

static void hash_word(uint64_t word, int bytes)
{
    if (!kc.hashes)
        return;
    for (int i = 0; i < bytes; i++)
        kc.digest = (kc.digest ^ (word >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
}

void kc_same_floats(const char *file, int line, const float *want, const float *got, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t w = hn_f32_bits(want[i]), g = hn_f32_bits(got[i]);
        hash_word(isnan(want[i]) ? 0x7fc00000u : w, 4);
        if (w == g || (isnan(want[i]) && isnan(got[i])))
            continue;
        char what[160];
        snprintf(what, sizeof what, "[%zu] expected %a (%08x), found %a (%08x)", i,
                 (double)want[i], w, (double)got[i], g);
        bad(file, line, what);
    }
}

void kc_same_doubles(const char *file, int line, const double *want, const double *got,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t w, g;
        memcpy(&w, &want[i], sizeof w);
        memcpy(&g, &got[i], sizeof g);
        hash_word(isnan(want[i]) ? UINT64_C(0x7ff8000000000000) : w, 8);
        if (w == g || (isnan(want[i]) && isnan(got[i])))
            continue;
        char what[160];
        snprintf(what, sizeof what, "[%zu] expected %a, found %a", i, want[i], got[i]);
        bad(file, line, what);
    }
}

void kc_same_16(const char *file, int line, const uint16_t *want, const uint16_t *got, size_t n,
                uint16_t infinity)
{
    for (size_t i = 0; i < n; i++) {
        const bool want_nan = (want[i] & 0x7fffu) > infinity;
        hash_word(want_nan ? 0x7fffu : want[i], 2);
        if (want[i] == got[i] || (want_nan && (got[i] & 0x7fffu) > infinity))
            continue;
        char what[160];
        snprintf(what, sizeof what, "[%zu] expected %04x, found %04x", i, want[i], got[i]);
        bad(file, line, what);
    }
}

void kc_same_memory(const char *file, int line, const void *want, const void *got, size_t bytes)
{
    const uint8_t *w = want, *g = got;
    for (size_t i = 0; i < bytes; i++) {
        hash_word(w[i], 1);
        if (w[i] == g[i])
            continue;
        char what[160];
        snprintf(what, sizeof what, "byte [%zu] expected %02x, found %02x", i, w[i], g[i]);
        bad(file, line, what);
    }
}
