/* case.h: one line of an op's `cases`, read, and filled with seeded data.
 *
 *     f32[2,5,100] f32[100]{0.5:2} - i32[4]{0:8} =0 eps=1e-6
 *
 * One word an input: a type with an optional fill, `-` for one that is left out, `=0` for the very
 * same tensor as input 0; then attributes. Fills: {low:high}; {iota} {seg} {perm} {mask};
 * {span:9} rows of first <= self < end <= 9. */
#ifndef HN_PROVE_CASE_H
#define HN_PROVE_CASE_H

#include "base/heap.h"
#include "graph/op.h"

typedef enum hn_fill {
    HN_FILL_DEFAULT,
    HN_FILL_RANGE,
    HN_FILL_IOTA,
    HN_FILL_SEG,
    HN_FILL_PERM,
    HN_FILL_MASK,
    HN_FILL_SPAN, /* high: the number of keys */
    HN_FILL_BLOCKS /* the same, of `low` sequences with `high` keys each */
} hn_fill;

typedef struct hn_case_input {
    bool is_given;
    int same_as; /* -1, or an earlier input */
    hn_type type;
    hn_fill fill;
    double low, high;
} hn_case_input;

enum { HN_CASE_TEXT = 256 };
typedef struct hn_case {
    const hn_op *op;
    char text[HN_CASE_TEXT];
    char attrs[HN_CASE_TEXT]; /* the "key=value" part */
    int n_in;
    hn_case_input in[HN_MAX_IN];
} hn_case;

hn_status hn_case_parse(const hn_op *op, const char *text, hn_case *out);

/* Fills packed memory of input `i`'s type. Floats stay away from the op's kinks. */
hn_status hn_case_data(const hn_case *c, int i, uint64_t seed, hn_heap *heap, const hn_tensor *out);

/* Random values for anything else: standard normal, clipped to [-2, 2]. */
hn_status hn_random_data(uint64_t seed, double low, double high, hn_heap *heap,
                         const hn_tensor *out);

#endif
