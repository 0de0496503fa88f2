/* The table is bench_gate.def; here lines are sorted into its rows by how they begin. A row without a line is
 * refused: a kind that is no longer measured would pass for ever. */
#include "cli/bench_gate.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *part, *what;
    double least[2]; /* per cent; at AVX2, at AVX-512 */
} rows[] = {
#define HN_GATE(part, what, at_avx2, at_avx512) { part, what, { at_avx2, at_avx512 } },
#include "cli/bench_gate.def"
#undef HN_GATE
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double hn_bench_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

void hn_bench_gate_note(hn_bench_gate *gate, const char *part, const char *what, double share)
{
    for (int i = 0; i < HN_N_GATES; i++)
        if (!strcmp(rows[i].part, part) && !strncmp(rows[i].what, what, strlen(rows[i].what)) &&
            gate->n[i] < HN_GATE_LINES)
            gate->share[i][gate->n[i]++] = share;
}

hn_status hn_bench_gate_judge(hn_bench_gate *gate, hn_json_writer *json, FILE *out)
{
    int n_below = 0, first = -1;
    double worst = 0, asked = 0;
    fputs("part       what             lines   share   least\n", out);
    for (int i = 0; i < HN_N_GATES; i++) {
        HN_REQUIRE(gate->n[i] > 0, HN_ERR_UNSUPPORTED, "%s, %s: expected lines of it, found none", rows[i].part,
                   rows[i].what);
        const double share = 100 * hn_bench_median(gate->share[i], gate->n[i]);
        const double least = rows[i].least[gate->is_avx512];
        const bool is_below = !(share >= least);
        if (is_below || strcmp(rows[i].part, "formats")) /* which are many */
            fprintf(out, "%-10s %-16s %5d %5.0f %% %5.0f %%%s\n", rows[i].part, rows[i].what, gate->n[i], share, least,
                    is_below ? "  BELOW" : "");
        if (is_below && n_below++ == 0) {
            first = i;
            worst = share;
            asked = least;
        }
        if (!json)
            continue;
        hn_json_begin_object(json);
        hn_json_key(json, "part"), hn_json_add_string(json, rows[i].part);
        hn_json_key(json, "what"), hn_json_add_string(json, rows[i].what);
        hn_json_key(json, "share"), hn_json_add_double(json, share / 100);
        hn_json_key(json, "least"), hn_json_add_double(json, least / 100);
        hn_json_end_object(json);
    }
    fprintf(out, "%d passed, %d failed\n", HN_N_GATES - n_below, n_below);
    HN_REQUIRE(!n_below, HN_ERR_UNSUPPORTED, "%s, %s: expected at least %.0f %% of its limit, found %.0f %%",
               rows[first].part, rows[first].what, asked, worst);
    return HN_OK;
}
