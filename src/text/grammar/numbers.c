/* A number is read digit by digit beside its bounds: of each it is known whether what was read is less, the same or more, as of
 * texts, and how many digits there were, for the longer whole part is the larger number. */
#include "text/grammar/numbers.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

enum { LESS, SAME, MORE };
enum { BEGIN, SIGN, ZERO, WHOLE, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, EXPONENT_DIGITS };

static bool set_digits(hn_decimal *d, const char *digits, uint32_t n, int64_t point)
{
    while (n && *digits == '0') {
        digits++;
        n--;
        point--;
    }
    while (n && digits[n - 1] == '0')
        n--;
    const int64_t whole = n && point > 0 ? point : 1, zeros = n && point <= 0 ? -point : 0;
    if (whole + zeros + (int64_t)n >= HN_DECIMAL_DIGITS)
        return false;
    memset(d->digits, '0', sizeof d->digits);
    d->n = (uint32_t)whole;
    d->n_fraction = n && (int64_t)n > point ? (uint32_t)((int64_t)n - point) : 0;
    d->is_negative &= n > 0;
    if (n)
        memcpy(d->digits + (point > 0 ? 0 : 1 + zeros), digits, n);
    return true;
}

/* As it was written, and not as a double has it. */
bool hn_decimal_of(const hn_json *number, hn_decimal *out)
{
    char shortest[HN_NUMBER_TEXT], digits[HN_DECIMAL_DIGITS];
    const char *source = hn_json_source(number), *text = source ? source : shortest;
    uint32_t n = 0;
    int64_t point = -1, exponent = 0;
    if (strlen(source ? source : "") >= sizeof digits)
        return false;
    if (number->kind == HN_JSON_INT)
        snprintf(shortest, sizeof shortest, "%lld", (long long)hn_json_int(number));
    else if (!source)
        hn_number_write(hn_json_number(number), 0, shortest);
    *out = (hn_decimal){ .is_negative = *text == '-' };
    const char *at = text + out->is_negative;
    for (; *at && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.')
            point = n;
        else
            digits[n++] = *at;
    }
    if (*at) {
        const bool is_down = at[1] == '-';
        for (at += at[1] == '-' || at[1] == '+' ? 2 : 1; *at; at++)
            exponent = exponent < 100000 ? 10 * exponent + (*at - '0') : exponent; /* beyond all digits already */
        exponent = is_down ? -exponent : exponent;
    }
    return set_digits(out, digits, n, (point < 0 ? n : point) + exponent);
}

int hn_decimal_compare(const hn_decimal *a, const hn_decimal *b)
{
    const int sign = a->is_negative ? -1 : 1;
    if (a->is_negative != b->is_negative)
        return sign;
    if (a->n != b->n)
        return a->n < b->n ? -sign : sign;
    const int order = memcmp(a->digits, b->digits, sizeof a->digits);
    return order < 0 ? -sign : order > 0 ? sign : 0;
}

/* ---- beside a bound ---- */

/* A state: digits << 2 | LESS, SAME or MORE; the digits of the whole part count up to one more than the bound has. */
static uint32_t compare_digit(const hn_decimal *d, uint32_t state, bool in_fraction, char digit)
{
    const uint32_t n = state >> 2, order = state & 3, most = in_fraction ? d->n_fraction : d->n;
    const char beside = n < most ? d->digits[in_fraction ? d->n + n : n] : '0';
    const uint32_t now = order != SAME || (n >= most && !in_fraction) ? order : digit < beside ? LESS : digit > beside ? MORE : SAME;
    return (n < most + !in_fraction ? n + 1 : n) << 2 | now;
}

/* At the point: by length first. */
static uint32_t compare_whole(const hn_decimal *d, uint32_t state)
{
    const uint32_t n = state >> 2;
    return n < d->n ? LESS : n > d->n ? MORE : state & 3;
}

static uint32_t compare_end(const hn_decimal *d, uint32_t state, bool in_fraction)
{
    const uint32_t order = in_fraction ? state & 3 : compare_whole(d, state);
    const uint32_t read = in_fraction ? state >> 2 : 0;
    return order == SAME && read < d->n_fraction ? LESS : order;
}

/* Of the number with its sign. */
static uint32_t compare_signed(const hn_decimal *d, uint32_t state, bool in_fraction, bool is_negative)
{
    const bool is_zero = d->n == 1 && d->digits[0] == '0' && !d->n_fraction;
    const uint32_t order = compare_end(d, state, in_fraction);
    if (is_zero)
        return order == SAME ? SAME : is_negative ? LESS : MORE;
    if (is_negative != d->is_negative)
        return is_negative ? LESS : MORE;
    return is_negative ? (uint32_t)MORE - order : order;
}

/* ---- the whole ---- */

/* What was read: words of a key. */
typedef struct reading {
    uint32_t phase, is_negative, least, most, n_fraction, rest[HN_MOST_MULTIPLES];
} reading;
enum { N_WORDS = sizeof(reading) / sizeof(uint32_t) };

static bool next_phase(const hn_number_bounds *o, uint32_t *phase, char c)
{
    const bool is_digit = c >= '0' && c <= '9', is_free = !o->has_least && !o->has_most && !o->n_multiples;
    switch (*phase) {
    case BEGIN:
    case SIGN:
        if (c == '-' && *phase == BEGIN)
            *phase = SIGN;
        else
            *phase = c == '0' ? ZERO : WHOLE;
        return is_digit || *phase == SIGN;
    case ZERO:
    case WHOLE:
    case FRACTION:
        if (is_digit)
            return *phase != ZERO;
        if (c == '.' && *phase != FRACTION && !o->is_integer)
            *phase = POINT;
        else if ((c == 'e' || c == 'E') && !o->is_integer && is_free)
            *phase = EXPONENT;
        else
            return false;
        return true;
    case POINT:
        *phase = FRACTION;
        return is_digit;
    case EXPONENT:
        *phase = is_digit ? EXPONENT_DIGITS : EXPONENT_SIGN;
        return is_digit || c == '+' || c == '-';
    default:
        *phase = EXPONENT_DIGITS;
        return is_digit;
    }
}

static bool read_digit(const hn_number_bounds *o, reading *r, char c)
{
    const bool in_fraction = r->phase == FRACTION;
    if (o->has_least)
        r->least = compare_digit(&o->least, r->least, in_fraction, c);
    if (o->has_most)
        r->most = compare_digit(&o->most, r->most, in_fraction, c);
    for (int i = 0; i < o->n_multiples; i++) {
        if (in_fraction && r->n_fraction >= o->places[i]) {
            if (c != '0')
                return false;
            continue;
        }
        r->rest[i] = (r->rest[i] * 10 + (uint32_t)(c - '0')) % o->multiples[i];
    }
    uint32_t places = 0;
    for (int i = 0; i < o->n_multiples; i++)
        places = o->places[i] > places ? o->places[i] : places;
    r->n_fraction += in_fraction && r->n_fraction < places;
    return true;
}

static bool read_char(const hn_number_bounds *o, reading *r, char c)
{
    if (!next_phase(o, &r->phase, c))
        return false;
    if (c == '-' && r->phase == SIGN)
        r->is_negative = 1;
    if (r->phase == POINT) {
        r->least = o->has_least ? compare_whole(&o->least, r->least) : 0;
        r->most = o->has_most ? compare_whole(&o->most, r->most) : 0;
    }
    return r->phase < ZERO || r->phase >= EXPONENT || c == '.' || read_digit(o, r, c);
}

static bool may_end(const hn_number_bounds *o, const reading *r)
{
    const bool in_fraction = r->phase == FRACTION;
    if (r->phase != ZERO && r->phase != WHOLE && !in_fraction && r->phase != EXPONENT_DIGITS)
        return false;
    const uint32_t least = o->has_least ? compare_signed(&o->least, r->least, in_fraction, r->is_negative) : MORE;
    const uint32_t most = o->has_most ? compare_signed(&o->most, r->most, in_fraction, r->is_negative) : LESS;
    if (least == LESS || most == MORE || (o->above_least && least == SAME) || (o->below_most && most == SAME))
        return false;
    for (int i = 0; i < o->n_multiples; i++) {
        uint64_t rest = r->rest[i];
        for (uint32_t k = r->n_fraction; k < o->places[i]; k++)
            rest = rest * 10 % o->multiples[i];
        if (rest)
            return false;
    }
    return true;
}

void hn_automaton_of_numbers(hn_build *b, const hn_number_bounds *o, hn_automaton *out)
{
    static const char chars[] = "+-.0123456789Ee"; /* in their order */
    hn_met keys = { 0 };
    const reading begin = { .least = SAME, .most = SAME };
    uint32_t words[N_WORDS];
    *out = (hn_automaton){ 0 };
    memcpy(words, &begin, sizeof words);
    hn_met_add(b, &keys, words, N_WORDS);
    for (size_t i = 0; i < keys.n && b->status == HN_OK; i++) {
        reading at;
        memcpy(&at, keys.words + keys.at[i], sizeof at);
        hn_automaton_add_state(b, out, may_end(o, &at));
        for (const char *c = chars; *c && b->status == HN_OK; c++) {
            reading next = at;
            if (!read_char(o, &next, *c))
                continue;
            memcpy(words, &next, sizeof words);
            hn_automaton_add_edge(b, out, (uint8_t)*c, (uint8_t)*c, hn_met_add(b, &keys, words, N_WORDS));
        }
    }
    hn_met_free(b, &keys);
    hn_automaton_close(b, out);
}
