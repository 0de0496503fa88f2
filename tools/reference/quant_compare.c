/* quant_compare: hone's encoders beside ggml's, the same rows, by squared error and time. Not part
 * of the build; docs/quantisation.md has the commands and the last figures.
 *
 *     quant_compare [rows [columns [format]]]
 *
 * For each format four lines of figures: rows normal or heavy-tailed (Student's t, three degrees),
 * without importance and with it (a lognormal factor for each column). The error is
 * sum importance (x - y)^2; a ratio below 1 means that hone's is smaller. */
#include "base/rng.h"
#include "ggml.h"
#include "quant/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t n_drawn;

static double uniform(void)
{
    return ((double)hn_rng_u32(hn_rng_seed(7), n_drawn++) + 0.5) / 4294967296.0;
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

static double heavy(void)
{
    double chi = 0;
    for (int i = 0; i < 3; i++) {
        const double z = normal();
        chi += z * z;
    }
    return normal() / sqrt(chi / 3);
}

static double error(const float *x, const float *y, const float *importance, long rows, long columns)
{
    double sum = 0;
    for (long i = 0; i < rows * columns; i++) {
        const double off = (double)x[i] - (double)y[i];
        sum += off * off * (importance ? (double)importance[i % columns] : 1);
    }
    return sum / (double)(rows * columns);
}

static void compare(const hn_format *format, const float *x, const float *importance, long rows,
                    long columns, const char *what)
{
    const enum ggml_type type = (enum ggml_type)format->gguf_id;
    const long n = rows * columns;
    const size_t bytes = (size_t)hn_format_bytes(format, n);
    char *ours = malloc(bytes), *theirs = malloc(bytes);
    float *y = malloc((size_t)n * sizeof *y);
    const double start = seconds();
    for (long r = 0; r < rows; r++)
        if (hn_format_encode(format, x + r * columns, columns,
                             ours + hn_format_bytes(format, r * columns), importance))
            exit(1);
    const double middle = seconds();
    ggml_quantize_chunk(type, x, theirs, 0, rows, columns, importance);
    const double end = seconds();
    format->decode(ours, n, y);
    const double our_error = error(x, y, importance, rows, columns);
    format->decode(theirs, n, y);
    const double their_error = error(x, y, importance, rows, columns);
    printf("%-7s %-18s %9.3e %9.3e  %.4f%s  %6.1f %6.1f ns/16  %.2f\n", format->name, what,
           our_error, their_error, our_error / their_error,
           our_error > 1.001 * their_error ? " WORSE" : "", (middle - start) / (double)n * 16e9,
           (end - middle) / (double)n * 16e9, (middle - start) / (end - middle));
    free(ours);
    free(theirs);
    free(y);
}

int main(int argc, char **argv)
{
    const long rows = argc > 1 ? atol(argv[1]) : 4096, columns = argc > 2 ? atol(argv[2]) : 1024;
    float *x = malloc((size_t)(rows * columns) * sizeof *x);
    float *importance = malloc((size_t)columns * sizeof *importance);
    for (long i = 0; i < columns; i++)
        importance[i] = (float)exp(1.5 * normal());
    for (int is_heavy = 0; is_heavy < 2; is_heavy++) {
        for (long i = 0; i < rows * columns; i++)
            x[i] = (float)(is_heavy ? heavy() : normal()) * 0.02f;
        for (int f = 0; f < HN_N_FORMATS; f++) {
            if (argc > 3 && strcmp(argv[3], hn_formats[f]->name))
                continue;
            compare(hn_formats[f], x, NULL, rows, columns, is_heavy ? "heavy" : "normal");
            compare(hn_formats[f], x, importance, rows, columns,
                    is_heavy ? "heavy, imatrix" : "normal, imatrix");
        }
    }
    return 0;
}
