/* The formats of types.def by number. An input is looked at once for all its blocks, and only if something is
 * wrong a second time, for the first element at fault. */
#include "quant/format.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

const hn_format *const hn_formats[HN_N_FORMATS] = {
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) &hn_format_##name,
#include "quant/types.def"
};

const hn_format *hn_format_named(const char *name)
{
    for (int i = 0; i < HN_N_FORMATS; i++)
        if (!strcmp(hn_formats[i]->name, name))
            return hn_formats[i];
    return NULL;
}

const hn_format *hn_format_of_gguf(uint32_t gguf_id)
{
    for (int i = 0; i < HN_N_FORMATS; i++)
        if (hn_formats[i]->gguf_id == gguf_id)
            return hn_formats[i];
    return NULL;
}

double hn_format_bits(const hn_format *format)
{
    return 8.0 * format->block_bytes / format->block_elements;
}

int64_t hn_format_bytes(const hn_format *format, int64_t n)
{
    return n / format->block_elements * format->block_bytes;
}

/* Whether all of x are in [low, high]; NaN is not. */
static bool all_within(const float *x, int64_t n, float low, float high)
{
    int n_out = 0;
    for (int64_t i = 0; i < n; i++)
        n_out |= !(x[i] >= low && x[i] <= high);
    return !n_out;
}

/* The first that is at fault. */
static hn_status refuse(const hn_format *format, const float *x, int64_t n,
                        const float *importance)
{
    for (int64_t i = 0; i < n; i++) {
        HN_REQUIRE(isfinite(x[i]), HN_ERR_NUMERIC,
                   "%s: element %" PRId64 " is %g: expected a finite number", format->name, i,
                   (double)x[i]);
        HN_REQUIRE(fabsf(x[i]) <= format->largest, HN_ERR_NUMERIC,
                   "%s: element %" PRId64 " is %g: expected at most %g in magnitude",
                   format->name, i, (double)x[i], (double)format->largest);
        HN_REQUIRE(!importance || (isfinite(importance[i]) && importance[i] >= 0),
                   HN_ERR_NUMERIC,
                   "%s: importance of element %" PRId64 " is %g: expected a finite number, not "
                   "negative",
                   format->name, i, (double)importance[i]);
    }
    return HN_OK;
}

hn_status hn_format_encode(const hn_format *format, const float *x, int64_t n, void *blocks,
                           const float *importance)
{
    HN_REQUIRE(format->encode, HN_ERR_UNSUPPORTED, "%s is read, but not written", format->name);
    HN_REQUIRE(n >= 0 && n % format->block_elements == 0, HN_ERR_SHAPE,
               "%s: %" PRId64 " elements: expected a multiple of %d", format->name, n,
               format->block_elements);
    if (!all_within(x, n, -format->largest, format->largest) ||
        (importance && !all_within(importance, n, 0, FLT_MAX)))
        return refuse(format, x, n, importance);
    format->encode(x, n, blocks, importance);
    return HN_OK;
}

void hn_format_store(const hn_format *format, const float *x, void *block)
{
    if (all_within(x, format->block_elements, -format->largest, format->largest))
        format->encode(x, format->block_elements, block, NULL);
    else
        memset(block, 0xff, (size_t)format->block_bytes);
}

bool hn_format_stores(const hn_format *format)
{
    return format == &hn_format_q8_0 || format == &hn_format_q4_0;
}
