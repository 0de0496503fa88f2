/* attn_case.h: random attention problems for the checks, with the answer in double. */
#ifndef TESTS_KERNELS_ATTN_CASE_H
#define TESTS_KERNELS_ATTN_CASE_H

#include "kernels/attn/attn.h"

typedef struct attn_case {
    const char *name;
    int64_t n_q, n_k, heads, kv_heads, d, d_v;
    int64_t lengths[4]; /* of sequences, ending at 0; their queries are the last of them */
    float softcap;
    int64_t window;
    bool is_causal, has_sinks;
    hn_elem kv_type;
} attn_case;

extern const attn_case attn_cases[];
extern const int n_attn_cases;

/* Inputs from the harness, blank outputs; keys that no query sees are NaN. */
void attn_make(hn_attn_args *x, const attn_case *c);

/* Fresh outputs for the same inputs. */
void attn_blank(hn_attn_args *x);

/* Runs all phases, units in a shuffled order. */
void attn_run(const hn_attn_kernels *kernels, const hn_attn_args *x, bool backward,
              int threads);

/* The largest differences from double arithmetic, relative to the largest value. */
double attn_error(const hn_attn_args *x, bool backward);

#endif
