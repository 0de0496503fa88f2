/* Decoding against the Python package `gguf` and ggml, bit for bit: random blocks and blocks
 * whose scales are zero, denormal, the largest, infinite and NaN. */
#include "base/bytes.h"
#include "base/half.h"
#include "quant/format.h"
#include "tests/harness/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The whole file, or NULL; the caller frees. */
static uint8_t *read_all(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*bytes + 1);
    if (data && fread(data, 1, *bytes, file) != *bytes) {
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

static uint8_t *read_part(const char *folder, const char *name, const char *ending,
                          size_t *bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    uint8_t *data = read_all(path, bytes);
    CHECK_THAT(data != NULL, "%s cannot be read", path);
    return data;
}

static void compare(const hn_format *format, const char *folder)
{
    size_t block_bytes = 0, value_bytes = 0;
    uint8_t *blocks = read_part(folder, format->name, "blocks", &block_bytes);
    uint8_t *values = read_part(folder, format->name, "f32", &value_bytes);
    const int64_t n = (int64_t)value_bytes / 4;
    CHECK_INT(hn_format_bytes(format, n), (int64_t)block_bytes);
    float *out = calloc((size_t)n + 1, sizeof *out);
    if (blocks && values && out) {
        format->decode(blocks, n, out);
        int64_t n_off = 0, first = -1;
        for (int64_t i = 0; i < n; i++) {
            const float want = hn_f32_from_bits(hn_load_32(values + 4 * i));
            if (hn_f32_bits(want) == hn_f32_bits(out[i]) || (isnan(want) && isnan(out[i])))
                continue;
            first = n_off++ ? first : i;
        }
        CHECK_THAT(n_off == 0, "%" PRId64 " of %" PRId64 " differ, the first at %" PRId64,
                   n_off, n, first);
    }
    free(blocks);
    free(values);
    free(out);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    const char *folder = check_option("--folder");
    for (int i = 0; i < HN_N_FORMATS; i++) {
        check_group(hn_formats[i]->name);
        compare(hn_formats[i], folder ? folder : HN_SOURCE_DIR "/tests/differential/quant");
    }
    return check_close();
}
