/* Exact arithmetic on large integers, and no tables. Reading guesses in double, and moves the guess
 * until it lies between the two midpoints around it. Writing takes a double's decimal digits, all of
 * which are finite in number, and rounds them. */
#include "base/number.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* 2^1088 * 10^800 and 5^1074 * 2^53 have room. */
enum { WORDS = 136, MOST_DIGITS = 800, SHIFT_LIMIT = 1100 };

typedef struct big {
    uint32_t at[WORDS]; /* lowest first */
    int n;
} big;

static void set(big *b, uint64_t value)
{
    b->n = 0;
    for (; value; value >>= 32)
        b->at[b->n++] = (uint32_t)value;
}

static void multiply_add(big *b, uint32_t by, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->at[i] * by;
        b->at[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && b->n < WORDS)
        b->at[b->n++] = (uint32_t)carry;
}

static void multiply_power(big *b, uint32_t base, int power)
{
    const uint32_t most = base == 5 ? 1220703125u : 1000000000u; /* base^13, base^9 */
    const int each = base == 5 ? 13 : 9;
    for (; power >= each; power -= each)
        multiply_add(b, most, 0);
    for (; power > 0; power--)
        multiply_add(b, base, 0);
}

static void shift(big *b, int bits)
{
    const int words = bits / 32, rest = bits % 32;
    if (!b->n)
        return;
    if (rest)
        multiply_add(b, UINT32_C(1) << rest, 0);
    memmove(b->at + words, b->at, (size_t)b->n * sizeof *b->at);
    memset(b->at, 0, (size_t)words * sizeof *b->at);
    b->n += words;
}

static int compare(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (int i = a->n; i-- > 0;)
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    return 0;
}

static uint32_t divide(big *b, uint32_t by)
{
    uint64_t rest = 0;
    for (int i = b->n; i-- > 0;) {
        rest = rest << 32 | b->at[i];
        b->at[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    while (b->n && !b->at[b->n - 1])
        b->n--;
    return (uint32_t)rest;
}

/* ---- reading ---- */

/* digits * 10^exponent, written with few or many. */
typedef struct decimal {
    uint8_t digits[MOST_DIGITS + 1];
    int n, exponent;
} decimal;

static size_t read_decimal(const char *text, size_t bytes, decimal *d)
{
    size_t i = 0, n_seen = 0;
    bool is_fraction = false, is_cut = false;
    d->n = d->exponent = 0;
    for (; i < bytes; i++) {
        const char c = text[i];
        if (c == '.' && !is_fraction) {
            is_fraction = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        n_seen++;
        d->exponent -= is_fraction;
        if (!d->n && c == '0')
            continue;
        if (d->n < MOST_DIGITS) {
            d->digits[d->n++] = (uint8_t)(c - '0');
        } else { /* only whether there is more than nothing */
            is_cut |= c != '0';
            d->exponent++;
        }
    }
    if (is_cut) {
        d->digits[d->n++] = 1;
        d->exponent--;
    }
    return n_seen ? i : 0;
}

static size_t read_exponent(const char *text, size_t bytes, int *out)
{
    size_t i = 1;
    int sign = 1, value = 0;
    if (bytes < 2 || (text[0] != 'e' && text[0] != 'E'))
        return 0;
    if (text[i] == '+' || text[i] == '-')
        sign = text[i++] == '-' ? -1 : 1;
    const size_t first = i;
    for (; i < bytes && text[i] >= '0' && text[i] <= '9'; i++)
        value = value < 100000000 ? value * 10 + (text[i] - '0') : value;
    *out = sign * value;
    return i > first ? i : 0;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Off by a few units in the last place. */
static double guess(const decimal *d)
{
    static const double powers[] = { 1e1, 1e2, 1e4, 1e8, 1e16, 1e32, 1e64, 1e128, 1e256 };
    double x = 0;
    int exponent = d->exponent;
    for (int i = 0; i < d->n && i < 19; i++)
        x = x * 10 + d->digits[i];
    exponent += d->n > 19 ? d->n - 19 : 0;
    const int size = exponent < 0 ? -exponent : exponent;
    for (int i = 8; i >= 0; i--)
        if (size >> i & 1)
            x = exponent < 0 ? x / powers[i] : x * powers[i];
    return x;
}

/* How digits * 10^exponent compares with the midpoint between the double of these bits and the
 * next one: (2 mantissa + 1) * 2^(power - 1). */
static int compare_middle(const decimal *d, uint64_t bits)
{
    const int field = (int)(bits >> 52);
    const uint64_t mantissa = (bits & 0xfffffffffffff) | (field ? UINT64_C(1) << 52 : 0);
    const int power = (field ? field : 1) - 1075 - 1;
    big left, right;
    set(&left, 0);
    for (int i = 0; i < d->n; i++)
        multiply_add(&left, 10, d->digits[i]);
    set(&right, 2 * mantissa + 1);
    multiply_power(d->exponent > 0 ? &left : &right, 10,
                   d->exponent > 0 ? d->exponent : -d->exponent);
    shift(power > 0 ? &right : &left, power > 0 ? power : -power);
    return compare(&left, &right);
}

static double round_decimal(const decimal *d)
{
    static const uint64_t infinite = UINT64_C(0x7ff) << 52;
    if (!d->n || d->n + d->exponent < -330)
        return 0;
    if (d->n + d->exponent > 310)
        return (double)INFINITY;
    const double first = guess(d);
    uint64_t bits = first < (double)INFINITY ? to_bits(first) : infinite - 1;
    for (int toward; bits < infinite; bits++) {
        toward = compare_middle(d, bits);
        if (toward < 0 || (toward == 0 && !(bits & 1)))
            break;
    }
    for (int toward; bits > 0; bits--) {
        toward = compare_middle(d, bits - 1);
        if (toward > 0 || (toward == 0 && !(bits & 1)))
            break;
    }
    return from_bits(bits);
}

/* 0x1.8p+3, as "%a" writes it: the bits themselves. */
static size_t read_hex(const char *text, size_t bytes, double *out)
{
    uint64_t mantissa = 0;
    int power = 0, exponent = 0;
    bool is_fraction = false, has_digit = false;
    size_t i = 2;
    if (bytes < 3 || text[0] != '0' || (text[1] | 0x20) != 'x')
        return 0;
    for (; i < bytes; i++) {
        const char c = text[i], lower = (char)(c | 0x20);
        if (c == '.' && !is_fraction) {
            is_fraction = true;
            continue;
        }
        const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (digit < 0)
            break;
        if (mantissa >> 49)
            return 0; /* more than a double has */
        mantissa = mantissa << 4 | (uint64_t)digit;
        power -= is_fraction ? 4 : 0;
        has_digit = true;
    }
    if (!has_digit || i >= bytes || (text[i] | 0x20) != 'p')
        return 0;
    char copy[16] = "e";
    size_t n = bytes - i - 1 < sizeof copy - 1 ? bytes - i - 1 : sizeof copy - 1;
    memcpy(copy + 1, text + i + 1, n);
    n = read_exponent(copy, n + 1, &exponent);
    *out = ldexp((double)mantissa, power + exponent);
    return n ? i + n : 0;
}

size_t hn_number_read(const char *text, size_t bytes, double *out)
{
    static const char infinity[] = "infinity";
    const bool is_signed = bytes && (text[0] == '-' || text[0] == '+');
    size_t at = is_signed;
    decimal d;
    *out = 0;
    for (size_t n = 8; n; n = n == 8 ? 3 : 0)
        if (bytes - at >= n && !memcmp(text + at, infinity, n)) {
            *out = is_signed && text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
            return at + n;
        }
    const size_t hex = read_hex(text + at, bytes - at, out);
    if (hex) {
        *out = is_signed && text[0] == '-' ? -*out : *out;
        return at + hex;
    }
    const size_t n = read_decimal(text + at, bytes - at, &d);
    if (!n)
        return 0;
    at += n;
    int exponent = 0;
    at += read_exponent(text + at, bytes - at, &exponent);
    d.exponent += exponent;
    const double value = round_decimal(&d);
    *out = is_signed && text[0] == '-' ? -value : value;
    return at;
}

bool hn_number_parse(const char *text, double *out)
{
    const size_t n = strlen(text);
    return n && hn_number_read(text, n, out) == n;
}

/* ---- writing ---- */

/* All digits of a finite number that is not zero: 0.DIGITS * 10^*point. */
static int all_digits(double value, char digits[WORDS * 10], int *point)
{
    int power;
    const double fraction = frexp(value, &power);
    big b;
    set(&b, (uint64_t)ldexp(fraction, 53));
    power -= 53;
    if (power > 0)
        shift(&b, power);
    else
        multiply_power(&b, 5, -power); /* x * 2^-k is x * 5^k * 10^-k */
    char reversed[WORDS * 10];
    int n = 0;
    while (b.n) {
        uint32_t nine = divide(&b, 1000000000u);
        for (int i = 0; i < 9 && (nine || b.n); i++, nine /= 10)
            reversed[n++] = (char)('0' + nine % 10);
    }
    for (int i = 0; i < n; i++)
        digits[i] = reversed[n - 1 - i];
    *point = n + (power > 0 ? 0 : power);
    return n;
}

/* To `n` digits, half to even: there are `n_all`. */
static void round_digits(char *digits, int n_all, int n, int *point)
{
    if (n_all <= n) {
        memset(digits + n_all, '0', (size_t)(n - n_all));
        return;
    }
    bool is_beyond = false;
    for (int i = n + 1; i < n_all; i++)
        is_beyond |= digits[i] != '0';
    const bool is_odd = (digits[n - 1] - '0') % 2;
    if (digits[n] < '5' || (digits[n] == '5' && !is_beyond && !is_odd))
        return;
    int i = n - 1;
    for (; i >= 0 && digits[i] == '9'; i--)
        digits[i] = '0';
    if (i >= 0) {
        digits[i]++;
        return;
    }
    digits[0] = '1'; /* 99.9 became 100 */
    ++*point;
}

static size_t write_digits(const char *digits, int n, int point, bool is_negative, char *out)
{
    char *to = out;
    const int exponent = point - 1, precision = n;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (is_negative)
        *to++ = '-';
    if (exponent < -4 || exponent >= precision) {
        *to++ = digits[0];
        if (n > 1)
            *to++ = '.';
        memcpy(to, digits + 1, (size_t)(n - 1));
        to += n - 1;
        const int size = exponent < 0 ? -exponent : exponent;
        *to++ = 'e';
        *to++ = exponent < 0 ? '-' : '+';
        if (size >= 100)
            *to++ = (char)('0' + size / 100);
        *to++ = (char)('0' + size / 10 % 10);
        *to++ = (char)('0' + size % 10);
    } else if (point <= 0) {
        *to++ = '0';
        *to++ = '.';
        memset(to, '0', (size_t)-point);
        to += -point;
        memcpy(to, digits, (size_t)n);
        to += n;
    } else {
        for (int i = 0; i < n || i < point; i++) {
            if (i == point)
                *to++ = '.';
            *to++ = i < n ? digits[i] : '0';
        }
    }
    *to = 0;
    return (size_t)(to - out);
}

static size_t write_to(double value, int digits, char *out)
{
    char all[WORDS * 10 + 20];
    int point;
    const int n = all_digits(fabs(value), all, &point);
    round_digits(all, n, digits, &point);
    return write_digits(all, digits, point, value < 0, out);
}

size_t hn_number_write(double value, int digits, char out[HN_NUMBER_TEXT])
{
    const bool is_negative = signbit(value) != 0;
    const char *word = isnan(value) ? "nan" : isinf(value) ? "inf" : value == 0 ? "0" : NULL;
    if (word) {
        const size_t n = strlen(word);
        out[0] = '-';
        memcpy(out + is_negative, word, n + 1);
        return n + is_negative;
    }
    if (digits)
        return write_to(value, digits > 17 ? 17 : digits, out);
    size_t length = 0;
    double again = 0;
    for (int d = 6; d <= 17; d += d < 15 ? 9 : 1) { /* 7 to 14 are tried by nobody's numbers */
        length = write_to(value, d, out);
        if (d == 17 || (hn_number_read(out, length, &again) && again == value))
            break;
    }
    return length;
}

hn_status hn_memory_parse(const char *text, size_t *out)
{
    double value;
    const char *end = text + hn_number_read(text, strlen(text), &value);
    static const char units[] = "kmgt";
    const char *unit = *end ? strchr(units, *end | 32) : NULL;
    bool is_right = end != text && isfinite(value) && value > 0;
    if (*end) {
        is_right = is_right && unit && (!end[1] || !strcmp(end + 1, "B") || !strcmp(end + 1, "iB"));
        for (const char *u = units; unit && u <= unit; u++)
            value *= 1024;
    }
    HN_REQUIRE(is_right && value < 0x1p60, HN_ERR_ARGUMENT,
               "memory '%s': expected a size as 8G or 512M", text);
    *out = (size_t)value;
    return HN_OK;
}
