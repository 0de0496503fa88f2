/* Products of operands whose elements are all bf16, against one chain of fmaf an element: at every
 * magnitude, near and below what dots are used for, and where that is found out late. Where the
 * level has dots, also that they are used when they may be, and never otherwise. */
#include "base/half.h"
#include "kernels/gemm/gemm.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"
#include "tests/kernels/defined.h"

#include <math.h>
#include <string.h>

typedef struct dots_case {
    const char *name;
    int a_low, a_high, b_low, b_high; /* biased exponents */
    enum { ALL, LAST_K, LAST_ROW } where; /* of A are these; elsewhere they are near 1 */
    enum { NONE, SUBNORMAL, NONFINITE, NO_BF16 } one; /* of A, which is no number of this kind */
    enum { NO, SOME, YES } dots;                      /* multiply it */
} dots_case;

static const dots_case cases[] = {
    { "near one", 120, 130, 120, 130, ALL, NONE, YES },
    { "wide", 91, 160, 91, 160, ALL, NONE, YES },
    { "lowest", 71, 72, 71, 72, ALL, NONE, YES },
    { "tiny by huge", 1, 2, 141, 150, ALL, NONE, YES },
    { "overflowing", 200, 254, 200, 254, ALL, NONE, YES },
    { "too low", 70, 72, 71, 72, ALL, NONE, NO },
    { "results subnormal", 40, 66, 60, 66, ALL, NONE, NO },
    { "too low at last", 60, 66, 71, 72, LAST_K, NONE, SOME },
    { "a row too low", 60, 66, 71, 72, LAST_ROW, NONE, SOME },
    { "a subnormal", 120, 130, 120, 130, ALL, SUBNORMAL, NO },
    { "infinity and NaN", 120, 130, 120, 130, ALL, NONFINITE, YES },
    { "one no bf16", 120, 130, 120, 130, ALL, NO_BF16, NO },
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

/* More rows than are packed together; odd, and more k than two depths. */
static const int64_t shapes[][3] = { { 9, 16, 64 }, { 130, 70, 1301 }, { 29, 600, 525 }, { 16, 31, 33 } };
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static float number(int low, int high)
{
    const uint32_t word = kc_random();
    const uint32_t exponent = (uint32_t)low + (word >> 8) % (uint32_t)(high - low + 1);
    const uint32_t bits = (word & 7) == 0 ? (word & 8) << 28
                                          : (word & 8) << 28 | exponent << 23 | (word >> 24 & 127) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float odd_one(const dots_case *c)
{
    const uint32_t bits = c->one == SUBNORMAL   ? 0x00050000
                          : c->one == NONFINITE ? (kc_random() & 1 ? 0x7f800000u : 0x7fc00000u)
                                                : 0x3f800001u;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float *activations(const dots_case *c, int64_t m, int64_t k)
{
    float *a = kc_blank((size_t)(m * k));
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) {
            const bool here = c->where == ALL || (c->where == LAST_ROW ? i == m - 1 : p >= k - 9);
            a[i * k + p] = here ? number(c->a_low, c->a_high) : number(120, 130);
        }
    if (c->one) { /* among what is packed first; C does not say which of the two is drawn first */
        const int64_t row = kc_random() % 9, p = kc_random() % (k < 512 ? k : 512);
        a[row * k + p] = odd_one(c);
    }
    return a;
}

/* ---- how often the two tiles are called ---- */

static const hn_gemm_kernels *counted;
static int64_t n_dots, n_fmas;

static void count_fmas(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols, bool accumulate,
                       hn_ahead *ahead)
{
    n_fmas++;
    counted->tile(k, a, b, c, ldc, rows, cols, accumulate, ahead);
}

static void count_dots(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols, bool accumulate,
                       hn_ahead *ahead)
{
    n_dots++;
    counted->dots->tile(k, a, b, c, ldc, rows, cols, accumulate, ahead);
}

static void multiply(const hn_gemm_kernels *g, const hn_gemm_args *args, int threads)
{
    hn_gemm_dots dots = { 0 };
    hn_gemm_kernels counting = *g;
    counted = g;
    counting.tile = count_fmas;
    if (g->dots) {
        dots = *g->dots;
        dots.tile = count_dots;
        counting.dots = &dots;
    }
    hn_gemm_plan plan;
    n_dots = n_fmas = 0;
    hn_gemm_plan_make(&plan, &counting, args, threads);
    hn_gemm_run(&plan, 0, plan.units, kc_blank(hn_gemm_scratch_bytes(g, args) / sizeof(float)));
}

/* ---- the checks ---- */

/* b[n][k] as it may be stored: in f32, in bf16, in panels, along n. */
static hn_gemm_operand stored(int how, int64_t n, int64_t k, const float *b)
{
    enum { F32, BF16, PANEL16, ALONG_N };
    if (how == F32)
        return (hn_gemm_operand){ .data = b, .outer_stride = 4 * k, .k_stride = 4 };
    uint16_t *halves = kc_blank_bytes((size_t)(n * k) * sizeof *halves);
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < k; p++)
            halves[how == ALONG_N ? p * n + j : j * k + p] = hn_f32_to_bf16(b[j * k + p]);
    if (how == PANEL16) {
        void *panels = kc_blank_bytes(hn_panel16_bytes(HN_ELEM_bf16, n, k));
        hn_panel16_pack(HN_ELEM_bf16, n, k, halves, 2 * k, 0, panels, 0, (n + 15) / 16);
        halves = panels;
    }
    return (hn_gemm_operand){ .data = halves, .type = HN_ELEM_bf16, .is_panel16 = how == PANEL16,
                              .row_elems = k, .outer_stride = how == ALONG_N ? 2 : 2 * k,
                              .k_stride = how == ALONG_N ? 2 * n : 2 };
}

static void check_use(const hn_gemm_kernels *g, const dots_case *c)
{
    if (!g->dots)
        return;
    KC_CHECK((n_dots > 0) == (c->dots != NO));
    KC_CHECK((n_fmas > 0) == (c->dots != YES));
}

static void check_case(const hn_gemm_kernels *g, const dots_case *c, const int64_t shape[3])
{
    const int64_t m = shape[0], n = shape[1], k = shape[2];
    const float *a = activations(c, m, k);
    float *b = kc_blank((size_t)(n * k)), *want = kc_blank((size_t)(m * n));
    for (int64_t i = 0; i < n * k; i++)
        b[i] = number(c->b_low, c->b_high);
    b[0] = ldexpf(1, c->b_low - 127);
    defined_chains((defined_shape){ m, n, k }, a, b, want, NULL);
    hn_gemm_args args = { .m = m, .n = n, .k = k, .c_row_stride = 4 * n, .c_col_stride = 4 };
    args.a = (hn_gemm_operand){ .data = a, .outer_stride = 4 * k, .k_stride = 4 };
    for (int how = 0; how < 4; how++) {
        kc_note("%s, m %d n %d k %d, stored %d", c->name, (int)m, (int)n, (int)k, how);
        args.b = stored(how, n, k, b);
        args.c = kc_blank((size_t)(m * n));
        args.accumulate = false;
        multiply(g, &args, 1);
        kc_same_bits(want, args.c, (size_t)(m * n));
        if (c->where == ALL || k > 2 * g->kc + 9)
            check_use(g, c);
        args.c = kc_blank((size_t)(m * n));
        multiply(g, &args, 3);
        kc_same_bits(want, args.c, (size_t)(m * n));
    }
    /* what C holds may be anything: no dots */
    memset(args.c, 0, (size_t)(m * n) * sizeof *args.c);
    args.accumulate = true;
    multiply(g, &args, 1);
    kc_same_bits(want, args.c, (size_t)(m * n));
    KC_CHECK(n_dots == 0);
}

static void check_dots(const hn_gemm_kernels *ref, const hn_gemm_kernels *g)
{
    if (!kc_begin("gemm_of_bf16", (kc_function)ref->tile,
                  (kc_function)(g->dots ? g->dots->tile : g->tile)))
        return;
    for (int c = 0; c < N_CASES; c++)
        for (int s = 0; s < N_SHAPES; s++)
            while (kc_next_flavour())
                if (kc_current_flavour() == KC_PLAIN)
                    check_case(g, &cases[c], shapes[s]);
}

int main(int argc, char **argv)
{
    kc_open(argc, argv);
    const hn_gemm_kernels *ref = &at_level(HN_ISA(ref))->gemm;
    for (hn_isa isa = 0; kc_next_isa(&isa);)
        check_dots(ref, &at_level(isa)->gemm);
    return kc_close();
}
