/* f16 and bf16: every pattern, and the neighbourhoods of every rounding boundary. */
#include "base/half.h"
#include "tests/harness/check.h"

#include <math.h>

static bool is_nan(uint16_t half, uint16_t infinity) { return (half & 0x7fffu) > infinity; }

/* By definition: the value of a finite f16. */
static double f16_value(uint16_t half)
{
    const int exponent = (half >> 10) & 31, mantissa = half & 0x3ff;
    const double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return half & 0x8000 ? -size : size;
}

static void widening_is_exact_and_comes_back(void)
{
    long n_bad = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        const uint16_t half = (uint16_t)i;
        const float f16 = hn_f16_to_f32(half), bf16 = hn_bf16_to_f32(half);
        if (is_nan(half, 0x7c00))
            n_bad += !isnan(f16) || hn_f32_to_f16(f16) != (half | 0x200);
        else if ((half & 0x7c00) == 0x7c00)
            n_bad += !isinf(f16) || hn_f32_to_f16(f16) != half;
        else
            n_bad += (double)f16 != f16_value(half) || hn_f32_to_f16(f16) != half;
        n_bad += hn_f32_to_bf16(bf16) != (is_nan(half, 0x7f80) ? (half | 0x40) : half);
    }
    CHECK_INT(0, n_bad);
}

/* Between neighbours: below the middle goes down, above goes up, the middle to the even one. */
static void narrowing_rounds_to_nearest_even(void)
{
    long n_bad = 0;
    for (uint32_t low = 0; low < 0x7bff; low++) {
        const double a = f16_value((uint16_t)low), b = f16_value((uint16_t)(low + 1));
        const float middle = (float)((a + b) / 2); /* exact: 12 bits */
        const uint16_t even = (uint16_t)(low + (low & 1));
        n_bad += hn_f32_to_f16(middle) != even;
        n_bad += hn_f32_to_f16(-middle) != (even | 0x8000);
        n_bad += hn_f32_to_f16(nextafterf(middle, 0)) != low;
        n_bad += hn_f32_to_f16(nextafterf(middle, 1e9f)) != low + 1;
    }
    CHECK_INT(0, n_bad);
    for (uint32_t low = 0; low < 0x7f7f; low++) {
        const uint32_t middle = low << 16 | 0x8000;
        n_bad += hn_f32_to_bf16(hn_f32_from_bits(middle)) != low + (low & 1);
        n_bad += hn_f32_to_bf16(hn_f32_from_bits(middle - 1)) != low;
        n_bad += hn_f32_to_bf16(hn_f32_from_bits(middle + 1)) != low + 1;
    }
    CHECK_INT(0, n_bad);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    widening_is_exact_and_comes_back();
    narrowing_rounds_to_nearest_even();
    CHECK_INT(0x7bff, hn_f32_to_f16(65519.996f));
    CHECK_INT(0x7c00, hn_f32_to_f16(65520.0f));
    CHECK_INT(0xfc00, hn_f32_to_f16(-INFINITY));
    CHECK_INT(0x7f80, hn_f32_to_bf16(hn_f32_from_bits(0x7f7fffff)));
    CHECK_INT(0x7fc0, hn_f32_to_bf16(hn_f32_from_bits(0x7f800001)));
    CHECK_INT(0x7e00, hn_f32_to_f16(hn_f32_from_bits(0x7f800001)));
    return check_close();
}
