/* regex.h: regular expressions as pre-tokenisers write them, with Oniguruma's meaning: of all
 * matches the leftmost, and there the one that the order of alternatives and greed prefers.
 *
 *     x|y (x) (?:x) (?i:x) (?=x) (?!x) (?<=x) (?<!x) (?>x)     groups never capture
 *     x* x+ x? x{2,3}, lazy with ?, and * + ? possessive with +
 *     . [a-z] [^x[y]&&z] \s \d \w \h \p{L} \p{Han} \P{N} \x41 \x{41} \u0041 \r \n \t \f \v \e
 *     ^ $ of lines, \A \z \Z of the text
 *
 * What it does not know is refused by name when a pattern is compiled. */
#ifndef HN_TEXT_PATTERN_REGEX_H
#define HN_TEXT_PATTERN_REGEX_H

#include "base/heap.h"

typedef struct hn_regex hn_regex;
struct hn_ranges; /* text/unicode/charset.h */

/* HN_ERR_FORMAT for what is malformed, HN_ERR_UNSUPPORTED for what Oniguruma has and hone not.
 */
hn_status hn_regex_new(hn_heap *heap, const char *pattern, size_t bytes, hn_regex **out);
/* One character of the ranges; settles them. */
hn_status hn_regex_new_set(hn_heap *heap, struct hn_ranges *set, hn_regex **out);
/* These bytes, as they are. */
hn_status hn_regex_new_literal(hn_heap *heap, const char *text, size_t bytes, hn_regex **out);
void hn_regex_free(hn_regex *regex); /* takes NULL */

/* Whether both were compiled to the same: spelling does not count, but some equal patterns
 * differ. */
bool hn_regex_equal(const hn_regex *a, const hn_regex *b);

/* What matching needs; one a thread. Zero it before use. */
typedef struct hn_regex_stack {
    struct hn_regex_choice *at;
    size_t n, room;
    uint64_t n_steps;
} hn_regex_stack;
void hn_regex_stack_free(hn_heap *heap, hn_regex_stack *stack);

/* The first match at or after `from` in text[0, bytes): *begin and *end, or *begin = bytes + 1
 * if there is none. Fails with HN_ERR_MEMORY, or HN_ERR_UNSUPPORTED if the pattern tries more
 * ways than any pre-tokeniser should (Oniguruma gives up too). */
hn_status hn_regex_find(const hn_regex *regex, hn_regex_stack *stack, const uint8_t *text,
                        size_t bytes, size_t from, size_t *begin, size_t *end);

#endif
