/* Numbers and their text: against the C library in the C locale, at the edges and at random; every
 * double reads back as itself; and the locale that the host has set is not looked at. */
#include "base/number.h"
#include "base/rng.h"
#include "tests/harness/check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(double a, double b)
{
    return !memcmp(&a, &b, sizeof a);
}

static void reads(const char *text)
{
    double found = 0;
    const double want = strtod(text, NULL);
    CHECK_THAT(hn_number_parse(text, &found) && same(want, found), "%s: expected %a, found %a", text,
               want, found);
}

static void writes(double value)
{
    char want[64], found[HN_NUMBER_TEXT];
    double again = 0;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(want, sizeof want, "%.*g", digits, value);
        const size_t n = hn_number_write(value, digits, found);
        CHECK_THAT(!strcmp(want, found) && n == strlen(found), "%a in %d: expected %s, found %s", value,
                   digits, want, found);
    }
    hn_number_write(value, 0, found);
    CHECK_THAT(hn_number_parse(found, &again) && same(value, again), "%a was written %s", value, found);
}

static void refuses(const char *text)
{
    double found = 0;
    CHECK_THAT(!hn_number_parse(text, &found), "'%s' was read as %g", text, found);
}

/* What lies exactly between two doubles goes to the even one, and a digit far behind decides. */
static void check_middles(hn_rng_key key)
{
#if LDBL_MANT_DIG >= 64
    static char text[3000];
    for (uint64_t i = 0; i < 1500; i++) {
        const int power = (int)(hn_rng_u32(key, 3 * i + 20000) % 600) - 300;
        const uint64_t bits = (uint64_t)hn_rng_u32(key, 3 * i + 20001) << 32 | hn_rng_u32(key, 3 * i + 20002);
        const double low = ldexp((double)(bits >> 11 | UINT64_C(1) << 52), power - 52);
        const long double middle = ((long double)low + (long double)nextafter(low, INFINITY)) / 2;
        int n = snprintf(text, sizeof text, "%.1200Le", middle);
        char *e = strchr(text, 'e');
        CHECK(n > 1200 && e);
        reads(text);
        e[-1] = '1'; /* of 1,201 digits, of which fewer are its own */
        reads(text);
        snprintf(text, sizeof text, "%.1200Le", middle);
        for (char *at = e - 1; at > text && (*at == '0' || *at == '.'); at--)
            *at = *at == '.' ? '.' : '9'; /* just below: one less where it ends, nines behind */
        for (char *at = e - 1; at > text; at--)
            if (*at != '9' && *at != '.') {
                --*at;
                break;
            }
        reads(text);
    }
#else
    (void)key; /* of numbers that are longer than doubles, which this processor has none of */
#endif
    char small[64];
    for (int i = 0; i < 1000; i++) { /* around half of the smallest */
        snprintf(small, sizeof small, "24703282292062327%03de-343", i);
        reads(small);
    }
    for (int zeros = 0; zeros < 40; zeros++) { /* the same with other roundings on the way */
        snprintf(small, sizeof small, "24703282292062327%0*de-%d", zeros ? zeros : 1, 0, 340 + (zeros ? zeros : 1));
        reads(small);
        snprintf(small, sizeof small, "0.%0*d24703282292062327e-%d", zeros ? zeros : 1, 0, 323 - (zeros ? zeros : 1));
        reads(small);
    }
}

int main(int argc, char **argv)
{
    static const char *const texts[] = {
        "0", "-0", "1", "+1", "-1.5", "0.1", ".5", "5.", "1e5", "1E-5", "123456789012345678901234567890",
        "9007199254740993", "9007199254740992.9999", "9007199254740993.0000000000000000000000001",
        "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1e309", "-1e400",
        "2.2250738585072011e-308", "2.2250738585072014e-308", "4.9406564584124654e-324",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "1e-99999999999", "1e99999999999",
        "0e99999", "0.000000000000000000000000000000000000000001e42", "8.5e-323", "6250000000e-10",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587"
        "207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711"
        "531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093"
        "042880", "inf", "-inf", "infinity", "0x1.8p+3", "-0x1p-1074", "0x0p+0", "0x1.fffffffffffffp+1023",
    };
    static const char *const wrong[] = { "", "-", "+", ".", "e5", "1e", "1e+", "1,5", "1 ", " 1", "0x10",
                                         "0x", "0xp1", "0x1.8", "0x1p", "0x1.00000000000001p+0", "1.2.3", "nan", "--1", "in", "infinit" };
    static const double values[] = { 0.0, -0.0, 1, -1.5, 0.1, 1.0 / 3, 1e22, 1e23, 123456, 1234567, 1e-4,
                                     9.9999e-5, 99999.5, 999999.5, DBL_MAX, DBL_MIN, 4.9406564584124654e-324,
                                     8.5e-323, 0.5, 1.5, 2.5, 1e15, 1e16, 1e17 };
    check_open(argc, argv);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        reads(texts[i]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(wrong[i]);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        writes(values[i]);
    const hn_rng_key key = hn_rng_seed(7);
    for (uint64_t i = 0; i < 4000; i++) {
        const uint64_t bits = (uint64_t)hn_rng_u32(key, 4 * i) << 32 | hn_rng_u32(key, 4 * i + 1);
        double value;
        char text[64];
        memcpy(&value, &bits, sizeof value);
        if (isnan(value))
            continue;
        writes(value);
        const int digits = 1 + (int)(hn_rng_u32(key, 4 * i + 2) % 24);
        snprintf(text, sizeof text, "%.*e", digits, value);
        reads(text);
        snprintf(text, sizeof text, "%a", value);
        if (isfinite(value))
            reads(text);
        writes((double)(float)(hn_rng_u32(key, 4 * i + 3) * 1e-3));
    }
    check_middles(key);
    char out[HN_NUMBER_TEXT];
    hn_number_write(0.1, 0, out);
    CHECK_TEXT("0.1", out);
    hn_number_write(-2.2250738585072014e-308, 0, out);
    CHECK_TEXT("-2.2250738585072014e-308", out);
    return check_close();
}
