/* No encoder is worse than ggml's: squared error, weighted by importance where there is one, on
 * rows of which quant/ggml_errors.def keeps ggml's. */
#include "quant/format.h"
#include "tests/differential/quant_rows.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 512 };

static const struct {
    const char *format;
    double error[4]; /* normal, with importance; heavy-tailed, with importance */
} ggml[] = {
#define HN_GGML_ERROR(name, ...) { #name, { __VA_ARGS__ } },
#include "tests/differential/quant/ggml_errors.def"
#undef HN_GGML_ERROR
};

static float x[ROWS * COLUMNS], y[ROWS * COLUMNS], importance[COLUMNS];
static uint8_t blocks[2 * ROWS * COLUMNS];

static double error_of(const hn_format *format, const float *weight)
{
    for (int64_t r = 0; r < ROWS; r++)
        CHECK_OK(hn_format_encode(format, x + r * COLUMNS, COLUMNS,
                                  blocks + hn_format_bytes(format, r * COLUMNS), weight));
    format->decode(blocks, ROWS * COLUMNS, y);
    return quant_error(ROWS, COLUMNS, x, y, weight);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = { "normal", "normal, with importance", "heavy-tailed",
                                         "heavy-tailed, with importance" };
    check_open(argc, argv);
    for (int i = 0; i < COLUMNS; i++)
        importance[i] = quant_importance((uint64_t)i);
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < ROWS * COLUMNS; i++)
            x[i] = quant_element((uint64_t)i, kind >= 2);
        for (size_t g = 0; g < sizeof ggml / sizeof *ggml; g++) {
            const hn_format *format = hn_format_named(ggml[g].format);
            check_group(ggml[g].format);
            if (!CHECK(format != NULL))
                continue;
            const double ours = error_of(format, kind % 2 ? importance : NULL);
            const double theirs = ggml[g].error[kind];
            CHECK_THAT(ours <= 1.001 * theirs, "%s: %g, %.4f of ggml's", kinds[kind], ours,
                       ours / theirs);
        }
    }
    int64_t n_written = 0;
    for (int f = 0; f < HN_N_FORMATS; f++)
        n_written += hn_formats[f]->encode != NULL;
    CHECK_INT(n_written, (int64_t)(sizeof ggml / sizeof *ggml));
    return check_close();
}
