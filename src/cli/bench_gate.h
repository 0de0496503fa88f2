/* bench_gate.h: whether every kind of kernel keeps the share of its limit that bench_gate.def asks for. The
 * share is a median over all lines of the kind and over rounds; each is a ratio of two times of one race. */
#ifndef HN_CLI_BENCH_GATE_H
#define HN_CLI_BENCH_GATE_H

#include "base/json.h"

#include <stdbool.h>
#include <stdio.h>

enum { HN_GATE_LINES = 96 };

enum {
    HN_N_GATES = 0
#define HN_GATE(part, what, at_avx2, at_avx512) +1
#include "cli/bench_gate.def"
#undef HN_GATE
};

typedef struct hn_bench_gate {
    bool is_avx512; /* which column counts */
    int n[HN_N_GATES];
    double share[HN_N_GATES][HN_GATE_LINES];
} hn_bench_gate;

/* A line that no row of the table is of is not judged. */
void hn_bench_gate_note(hn_bench_gate *gate, const char *part, const char *what, double share);

/* One line a row; an error names the kind that has less than it may, or was not measured. Orders the shares. */
hn_status hn_bench_gate_judge(hn_bench_gate *gate, hn_json_writer *json, FILE *out);

/* Of n numbers, which it orders. */
double hn_bench_median(double *x, int n);

#endif
