/* Elementwise, shape, reduction, norm, softmax, product and rope ops against PyTorch in double
 * precision; rope's inverse frequencies against the formulas of Transformers, number by number.
 */
#include "ops/rope_table.h"
#include "tests/differential/reference.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOLDER HN_SOURCE_DIR "/tests/differential/ops/"

/* "WORD N VALUES" or "WORD -"; returns N. */
static int64_t read_values(FILE *file, double out[HN_ROPE_MAX_PAIRS])
{
    long long n = 0;
    if (fscanf(file, " %*s %lld", &n) != 1)
        fscanf(file, " -");
    for (long long i = 0; i < n && i < HN_ROPE_MAX_PAIRS; i++)
        if (!CHECK(fscanf(file, "%lf", &out[i]) == 1))
            return i;
    return n;
}

/* One unit in the last place, for torch's pow is its own. */
static void check_frequencies(const char *attrs, FILE *file)
{
    double factor[HN_ROPE_MAX_PAIRS], want[HN_ROPE_MAX_PAIRS];
    float got[HN_ROPE_MAX_PAIRS];
    hn_rope_spec spec = { 0 };
    const int64_t n_factors = read_values(file, factor), n = read_values(file, want);
    check_group(attrs);
    CHECK_OK(hn_attrs_parse("rope_angles", hn_op_rope_angles.attrs, attrs, &spec));
    spec = hn_rope_filled(&spec);
    if (!CHECK_INT(spec.width / 2, n))
        return;
    const hn_type type = { .dtype = HN_F64, .rank = 1, .dim = { n_factors }, .stride = { 8 } };
    const hn_tensor factors = hn_tensor_at(&type, factor);
    hn_rope_frequencies(&spec, n_factors ? &factors : NULL, got);
    for (int64_t i = 0; i < n; i++)
        CHECK_THAT(fabs((double)got[i] - want[i]) <= 0x1p-23 * want[i],
                   "pair %lld: %.9g, not %.9g", (long long)i, (double)got[i], want[i]);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    reference_check(FOLDER "ops.txt");
    FILE *file = fopen(FOLDER "frequencies.txt", "r");
    char line[256];
    while (CHECK(file != NULL) && fgets(line, sizeof line, file)) {
        if (line[0] != 'r')
            continue; /* the end of a list of values */
        line[strcspn(line, "\n")] = 0;
        check_frequencies(line + sizeof "rope_angles", file);
    }
    if (file)
        fclose(file);
    return check_close();
}
