/* Each body stands once and is compiled twice on x86, for processors with an instruction for fma and for those without: the
 * same number by either, and a call for each fma would be most of what kernels' checks take. Eight columns lie side by side,
 * turned and filled with zeros, whose sums know nothing of each other. */
#include "tests/kernels/defined.h"

#include "base/half.h"
#include "tests/harness/kernel_check.h"

#include <math.h>
#include <stdbool.h>

enum { BLOCK = 32, AT_ONCE = 8 };

#define BODY static inline __attribute__((always_inline)) void

BODY chain(int64_t k, const float *a, const float *b, float acc[AT_ONCE])
{
    for (int64_t p = 0; p < k; p++)
        for (int q = 0; q < AT_ONCE; q++)
            acc[q] = fmaf(a[p], b[p * AT_ONCE + q], acc[q]);
}

/* What is left of a block is zeros, but there is no block of zeros alone. */
BODY one_block(int64_t left, const float *a, const float *b, float sum[AT_ONCE])
{
    float half[2][AT_ONCE] = { { 0 } };
    for (int p = 0; p < BLOCK; p++)
        for (int q = 0; q < AT_ONCE; q++)
            half[p % 2][q] = p < left ? fmaf(a[p], b[p * AT_ONCE + q], half[p % 2][q]) : fmaf(0.0f, 0.0f, half[p % 2][q]);
    for (int q = 0; q < AT_ONCE; q++)
        sum[q] = half[0][q] + half[1][q];
}

BODY blocks(int64_t k, const float *a, const float *b, float acc[AT_ONCE], float more[AT_ONCE])
{
    float sum[AT_ONCE];
    for (int64_t p = 0; p < k; p += BLOCK) {
        one_block(k - p, a + p, b + p * AT_ONCE, sum);
        for (int q = 0; q < AT_ONCE; q++)
            acc[q] += sum[q], more[q] += sum[q];
    }
}

static void read(int64_t n, const float *c, float acc[AT_ONCE])
{
    for (int q = 0; q < AT_ONCE; q++)
        acc[q] = q < n ? c[q] : 0;
}

static void write(int64_t n, const float acc[AT_ONCE], float *c)
{
    for (int q = 0; q < AT_ONCE && q < n; q++)
        c[q] = acc[q];
}

typedef struct sides {
    defined_shape s;
    const float *a, *b; /* [m][k], [n / AT_ONCE][k][AT_ONCE] */
} sides;

/* c goes on from what it holds. */
BODY all_chains(const sides *x, float *c)
{
    for (int64_t i = 0; i < x->s.m; i++)
        for (int64_t j = 0; j < x->s.n; j += AT_ONCE) {
            float acc[AT_ONCE], *at = c + i * x->s.n + j;
            read(x->s.n - j, at, acc);
            chain(x->s.k, x->a + i * x->s.k, x->b + j * x->s.k, acc);
            write(x->s.n - j, acc, at);
        }
}

/* c from +0, and `more` from what it holds. */
BODY all_blocks(const sides *x, float *c, float *more)
{
    for (int64_t i = 0; i < x->s.m; i++)
        for (int64_t j = 0; j < x->s.n; j += AT_ONCE) {
            float acc[AT_ONCE] = { 0 }, goes_on[AT_ONCE];
            const int64_t at = i * x->s.n + j;
            read(x->s.n - j, more + at, goes_on);
            blocks(x->s.k, x->a + i * x->s.k, x->b + j * x->s.k, acc, goes_on);
            write(x->s.n - j, acc, c + at);
            write(x->s.n - j, goes_on, more + at);
        }
}

static void chains_plain(const sides *x, float *c) { all_chains(x, c); }

static void blocks_plain(const sides *x, float *c, float *more) { all_blocks(x, c, more); }

#if defined(__x86_64__) && !defined(__FMA__)
#define FUSED __attribute__((target("avx2,fma"))) static void

FUSED chains_fused(const sides *x, float *c) { all_chains(x, c); }

FUSED blocks_fused(const sides *x, float *c, float *more) { all_blocks(x, c, more); }

static bool is_fused(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
#define chains_fused chains_plain
#define blocks_fused blocks_plain

static bool is_fused(void) { return false; }
#endif

static float rounded(float x) { return hn_bf16_to_f32(hn_f32_to_bf16(x)); }

static sides sides_of(defined_shape s, const float *a, const float *b, bool is_rounded)
{
    const int64_t n = (s.n + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
    float *rows = kc_blank((size_t)(s.m * s.k)), *columns = kc_blank((size_t)(n * s.k));
    for (int64_t i = 0; i < s.m * s.k; i++)
        rows[i] = is_rounded ? rounded(a[i]) : a[i];
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < s.k; p++) {
            const float value = j < s.n ? b[j * s.k + p] : 0;
            columns[j / AT_ONCE * AT_ONCE * s.k + p * AT_ONCE + j % AT_ONCE] = is_rounded ? rounded(value) : value;
        }
    return (sides){ s, rows, columns };
}

static void clear(int64_t n, float *c)
{
    for (int64_t i = 0; i < n; i++)
        c[i] = 0;
}

void defined_chains(defined_shape s, const float *a, const float *b, float *c, float *more)
{
    void (*const all)(const sides *, float *) = is_fused() ? chains_fused : chains_plain;
    const sides x = sides_of(s, a, b, false);
    clear(s.m * s.n, c);
    all(&x, c);
    if (more)
        all(&x, more);
}

void defined_blocks(defined_shape s, const float *a, const float *b, float *c, float *more)
{
    const sides x = sides_of(s, a, b, true);
    (is_fused() ? blocks_fused : blocks_plain)(&x, c, more);
}
