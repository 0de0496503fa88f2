/* numbers.h: numbers in decimal digits, within bounds. Private to this folder. */
#ifndef HN_TEXT_GRAMMAR_NUMBERS_H
#define HN_TEXT_GRAMMAR_NUMBERS_H

#include "base/json.h"
#include "text/grammar/automaton.h"

enum { HN_DECIMAL_DIGITS = 700, HN_MOST_MULTIPLES = 4, HN_LARGEST_MULTIPLE = 100000 };

/* digits[0, n) before the point, as one writes them, and n_fraction after it, of which the last is not 0. */
typedef struct hn_decimal {
    char digits[HN_DECIMAL_DIGITS];
    uint32_t n, n_fraction;
    bool is_negative;
} hn_decimal;

/* False: more digits than there is room for. */
bool hn_decimal_of(const hn_json *number, hn_decimal *out);
int hn_decimal_compare(const hn_decimal *a, const hn_decimal *b);

typedef struct hn_number_bounds {
    bool is_integer, has_least, has_most, above_least, below_most;
    hn_decimal least, most;
    uint32_t multiples[HN_MOST_MULTIPLES], places[HN_MOST_MULTIPLES]; /* of 10^-places */
    int n_multiples;
} hn_number_bounds;

/* With bounds or multiples, no number has an exponent. */
void hn_automaton_of_numbers(hn_build *b, const hn_number_bounds *bounds, hn_automaton *out);

#endif
