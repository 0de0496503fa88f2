/* quant_decode: a file of blocks to a file of f32 by ggml's own decoder, for types that the Python
 * package `gguf` does not decode. Not part of the build; quant_blocks.py calls it.
 *
 *     quant_decode TYPE_ID ELEMENTS BLOCKS_FILE F32_FILE */
#include "ggml.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    const enum ggml_type type = (enum ggml_type)atoi(argv[1]);
    const long n = atol(argv[2]);
    const size_t bytes = ggml_row_size(type, n);
    void *blocks = malloc(bytes);
    float *values = malloc((size_t)n * sizeof *values);
    FILE *in = fopen(argv[3], "rb"), *out = fopen(argv[4], "wb");
    if (!in || !out || fread(blocks, 1, bytes, in) != bytes)
        return 1;
    ggml_get_type_traits(type)->to_float(blocks, values, n);
    return fwrite(values, sizeof *values, (size_t)n, out) != (size_t)n || fclose(out);
}
