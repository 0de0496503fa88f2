/* quant_compare: hone's encoders beside ggml's, the same rows, by squared error and time. Not part
 * of the build; docs/quantisation.md has the commands and the last figures.
 *
 *     quant_compare [rows [columns [format]]]
 *     quant_compare table >tests/differential/quant/ggml_errors.def
 *
 * For each format four lines of figures: rows normal or heavy-tailed (Student's t, three degrees),
 * without importance and with it, as tests/differential/quant_rows.h makes them. The error is the
 * mean of importance (x - y)^2; a ratio below 1 means that hone's is smaller. The table is ggml's
 * errors on 64 rows of 512, which tests/differential/quant_error.c holds hone to. */
#include "ggml.h"
#include "quant/format.h"
#include "tests/differential/quant_rows.h"

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
    const double our_error = quant_error(rows, columns, x, y, importance);
    format->decode(theirs, n, y);
    const double their_error = quant_error(rows, columns, x, y, importance);
    printf("%-7s %-18s %9.3e %9.3e  %.4f%s  %6.1f %6.1f ns/16  %.2f\n", format->name, what,
           our_error, their_error, our_error / their_error,
           our_error > 1.001 * their_error ? " WORSE" : "", (middle - start) / (double)n * 16e9,
           (end - middle) / (double)n * 16e9, (middle - start) / (end - middle));
    free(ours);
    free(theirs);
    free(y);
}

static void fill(float *x, long n, bool is_heavy)
{
    for (long i = 0; i < n; i++)
        x[i] = quant_element((uint64_t)i, is_heavy);
}

static int print_table(float *x, float *y, char *blocks, const float *importance)
{
    enum { ROWS = 64, COLUMNS = 512 };
    puts("/* ggml's mean squared errors on the rows of quant_rows.h, by quant_compare: normal, with\n"
         " * importance; heavy-tailed, with importance. */");
    for (int f = 0; f < HN_N_FORMATS; f++) {
        printf("HN_GGML_ERROR(%s", hn_formats[f]->name);
        for (int kind = 0; kind < 4; kind++) {
            const float *weight = kind % 2 ? importance : NULL;
            fill(x, ROWS * COLUMNS, kind >= 2);
            ggml_quantize_chunk((enum ggml_type)hn_formats[f]->gguf_id, x, blocks, 0, ROWS, COLUMNS,
                                weight);
            hn_formats[f]->decode(blocks, ROWS * COLUMNS, y);
            printf(", %.6e", quant_error(ROWS, COLUMNS, x, y, weight));
        }
        puts(")");
    }
    return 0;
}

int main(int argc, char **argv)
{
    const bool is_table = argc == 2 && !strcmp(argv[1], "table");
    const long rows = is_table ? 64 : argc > 1 ? atol(argv[1]) : 4096;
    const long columns = is_table ? 512 : argc > 2 ? atol(argv[2]) : 1024;
    float *x = malloc((size_t)(rows * columns) * sizeof *x);
    float *importance = malloc((size_t)columns * sizeof *importance);
    for (long i = 0; i < columns; i++)
        importance[i] = quant_importance((uint64_t)i);
    if (is_table)
        return print_table(x, malloc((size_t)(rows * columns) * sizeof *x),
                           malloc((size_t)(rows * columns) * 2), importance);
    for (int is_heavy = 0; is_heavy < 2; is_heavy++) {
        fill(x, rows * columns, is_heavy);
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
