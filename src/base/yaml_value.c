/* yaml_value: truth values, numbers, bytes and dates as PyYAML's constructors make them with
 * Python's int, float, base64 and datetime. Behind a tag (`!!int " 12 "`) they take more than
 * the patterns of plain scalars let through, and of what the patterns do they refuse some (30
 * February). */
#include "base/yaml_make.h"

#include "base/ascii.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 64, MOST_DIGITS = 4300 }; /* the second is Python's, of decimal integers */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void strip(const char **at, size_t *n)
{
    while (*n && is_space((*at)[0]))
        ++*at, --*n;
    while (*n && is_space((*at)[*n - 1]))
        --*n;
}

static bool take_sign(const char **at, size_t *n)
{
    const bool is_minus = *n && **at == '-';
    if (*n && (is_minus || **at == '+'))
        ++*at, --*n;
    return is_minus;
}

/* Python's int(text, base) as a double. */
static bool read_int(const char *at, size_t n, int base, double *out)
{
    const char letter = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : 0;
    strip(&at, &n);
    const bool is_minus = take_sign(&at, &n);
    if (letter && n > 1 && at[0] == '0' && (at[1] | 32) == letter)
        at += 2, n -= 2;
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = at[i];
        const int digit = is_digit(c)            ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : 16;
        if (digit >= base)
            return false;
        *out = *out * base + digit;
    }
    *out = is_minus ? -*out : *out;
    return n && (base != 10 || n <= MOST_DIGITS);
}

/* Python's float(text). `at[n]` is no part of a number. */
static bool read_float(const char *at, size_t n, double *out)
{
    strip(&at, &n);
    const char *begin = at;
    const bool is_minus = take_sign(&at, &n);
    if ((n == 3 && hn_ascii_same_n(at, "inf", 3)) || (n == 8 && hn_ascii_same_n(at, "infinity", 8))) {
        *out = is_minus ? -INFINITY : INFINITY;
        return true;
    }
    if (n == 3 && hn_ascii_same_n(at, "nan", 3)) {
        *out = NAN;
        return true;
    }
    size_t i = 0, n_digits = 0;
    for (; i < n && is_digit(at[i]); i++)
        n_digits++;
    i += i < n && at[i] == '.';
    for (; i < n && is_digit(at[i]); i++)
        n_digits++;
    if (n_digits && i < n && (at[i] | 32) == 'e') {
        i += i + 1 < n && (at[i + 1] == '-' || at[i + 1] == '+') ? 2 : 1;
        if (i == n || !is_digit(at[i]))
            return false;
        while (i < n && is_digit(at[i]))
            i++;
    }
    if (!n_digits || i != n)
        return false;
    hn_number_read(begin, (size_t)(at + n - begin), out);
    return true;
}

/* "1:30:05": parts of sixtieths, each read by itself. */
static bool read_parts(const char *at, size_t n, bool is_float, double *out)
{
    *out = 0;
    for (const char *end = at + n;; at++) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        const size_t length = (size_t)((colon ? colon : end) - at);
        double part;
        if (is_float ? !read_float(at, length, &part) : !read_int(at, length, 10, &part))
            return false;
        *out = *out * 60 + part;
        if (!colon)
            return true;
        at = colon;
    }
}

static bool make_int(hn_yaml *value, const char *at, size_t n)
{
    double number = 0;
    if (!n)
        return false;
    const bool is_minus = take_sign(&at, &n);
    if (!n)
        return false;
    if (n > 1 && at[0] == '0' && (at[1] == 'b' || at[1] == 'x')) {
        if (!read_int(at + 2, n - 2, at[1] == 'b' ? 2 : 16, &number))
            return false;
    } else if (n > 1 && at[0] == '0') {
        if (!read_int(at, n, 8, &number))
            return false;
    } else if (memchr(at, ':', n) ? !read_parts(at, n, false, &number)
                                  : !read_int(at, n, 10, &number)) {
        return false;
    }
    number = is_minus && number != 0 ? -number : number;
    value->kind = HN_YAML_INT;
    value->number = number;
    value->integer = number >= 9e18 ? INT64_MAX : number <= -9e18 ? INT64_MIN : (int64_t)number;
    return true;
}

static bool make_float(hn_yaml *value, const char *at, size_t n)
{
    if (!n)
        return false;
    const bool is_minus = take_sign(&at, &n);
    double number = 0;
    if (n == 4 && hn_ascii_same_n(at, ".inf", 4))
        number = INFINITY;
    else if (n == 4 && hn_ascii_same_n(at, ".nan", 4))
        number = NAN;
    else if (n && memchr(at, ':', n) ? !read_parts(at, n, true, &number)
                                     : !read_float(at, n, &number))
        return false;
    value->kind = HN_YAML_FLOAT;
    value->number = is_minus ? -number : number;
    return true;
}

static bool make_bool(hn_yaml *value, const char *text, size_t bytes)
{
    static const char *const words[] = { "no", "yes", "false", "true", "off", "on" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == bytes && hn_ascii_same_n(text, words[i], bytes)) {
            value->kind = HN_YAML_BOOL;
            value->integer = i % 2;
            return true;
        }
    return false;
}

/* base64, whatever stands between its characters, as binascii reads it. */
static bool make_bytes(hn_yaml *value, const char *text, size_t bytes)
{
    int place = 0, n_pads = 0;
    size_t n = 0;
    bool is_over = false;
    for (size_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if ((unsigned char)c >= 0x80)
            return false;
        if (c == '=') {
            is_over = is_over || (place >= 2 && place + ++n_pads >= 4);
        } else if (!is_over && (is_digit(c) || (c >= 'a' && c <= 'z') ||
                                (c >= 'A' && c <= 'Z') || c == '+' || c == '/')) {
            n += place > 0;
            n_pads = 0;
            place = (place + 1) % 4;
        }
    }
    value->kind = HN_YAML_OTHER;
    value->is_empty = !n;
    return is_over || !place;
}

/* `least` to `most` digits. */
static bool take_number(const char **at, int least, int most, int *out)
{
    int n = 0;
    for (*out = 0; n < most && is_digit(**at); n++)
        *out = *out * 10 + *(*at)++ - '0';
    return n >= least;
}

static bool take(const char **at, char c) { return **at == c && *(*at)++; }

static bool is_day(int year, int month, int day)
{
    static const char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && is_leap);
}

/* Behind the seconds. */
static bool is_zone(const char *at)
{
    int hours = 0, minutes = 0;
    if (take(&at, '.'))
        at += strspn(at, "0123456789");
    if (!*at)
        return true;
    at += strspn(at, " \t");
    if (take(&at, 'Z'))
        return !*at;
    if (!take(&at, '-') && !take(&at, '+'))
        return false;
    if (!take_number(&at, 1, 2, &hours) ||
        (take(&at, ':') && !take_number(&at, 2, 2, &minutes)))
        return false;
    return !*at && hours * 60 + minutes < 24 * 60;
}

static bool is_timestamp(const char *at)
{
    int year, month, day, hour, minute, second;
    if (!take_number(&at, 4, 4, &year) || !take(&at, '-') || !take_number(&at, 1, 2, &month) ||
        !take(&at, '-') || !take_number(&at, 1, 2, &day) || !is_day(year, month, day))
        return false;
    if (!*at)
        return true;
    if (!take(&at, 'T') && !take(&at, 't')) {
        const size_t blanks = strspn(at, " \t");
        if (!blanks)
            return false;
        at += blanks;
    }
    return take_number(&at, 1, 2, &hour) && take(&at, ':') && take_number(&at, 2, 2, &minute) &&
           take(&at, ':') && take_number(&at, 2, 2, &second) && hour < 24 && minute < 60 &&
           second < 60 && is_zone(at);
}

/* How long the text is without underscores, as it then is. */
static size_t drop_underscores(char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != '_')
            text[n++] = text[i];
    text[n] = '\0';
    return n;
}

bool hn_yaml_value(hn_yaml *value, char *text, size_t bytes)
{
    const bool has_nul = memchr(text, 0, bytes) != NULL;
    switch (value->tag) {
    case HN_YAML_TAG_BOOL:
        return make_bool(value, text, bytes);
    case HN_YAML_TAG_INT:
        return make_int(value, text, drop_underscores(text, bytes));
    case HN_YAML_TAG_FLOAT:
        return make_float(value, text, drop_underscores(text, bytes));
    case HN_YAML_TAG_BINARY:
        return make_bytes(value, text, bytes);
    default:
        if (bytes && text[bytes - 1] == '\n')
            text[bytes - 1] = '\0'; /* as in hn_yaml_resolve */
        value->kind = HN_YAML_OTHER;
        return !has_nul && is_timestamp(text);
    }
}
