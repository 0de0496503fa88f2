/* The whole word is the number, or it is none: nothing is cut off or rounded into range. */
#include "base/option_value.h"

#include "base/number.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

hn_status hn_option_int(const char *name, const char *value, int64_t low, int64_t high, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(value, &end, 10);
    HN_REQUIRE(*value && !*end && !errno && number >= low && number <= high, HN_ERR_ARGUMENT,
               "--%s %s: expected a whole number from %lld to %lld", name, value, (long long)low,
               (long long)high);
    *out = number;
    return HN_OK;
}

/* What computes does so in f32, where 1e308 is infinite and 1e-308 is 0: another thing than was typed, and often "off". */
bool hn_is_of_f32(double x)
{
    return fabs(x) <= (double)FLT_MAX && (fabs(x) >= (double)FLT_MIN || !(fabs(x) > 0));
}

hn_status hn_option_real(const char *name, const char *value, double *out)
{
    double number;
    HN_REQUIRE(hn_number_parse(value, &number) && isfinite(number) && number >= 0, HN_ERR_ARGUMENT,
               "--%s %s: expected a number, not negative", name, value);
    HN_REQUIRE(hn_is_of_f32(number), HN_ERR_ARGUMENT, "--%s %s: expected 0, or a number from %g to %g", name, value,
               (double)FLT_MIN, (double)FLT_MAX);
    *out = number;
    return HN_OK;
}

hn_status hn_memory_parse(const char *text, size_t *out)
{
    double value;
    const char *end = text + hn_number_read(text, strlen(text), &value);
    static const char units[] = "kmgt";
    const char *unit = *end ? strchr(units, *end | 32) : NULL;
    bool is_right = end != text && isfinite(value) && value > 0;
    if (*end) {
        is_right = is_right && unit && (!end[1] || !strcmp(end + 1, "B") || !strcmp(end + 1, "iB"));
        for (const char *u = units; unit && u <= unit; u++)
            value *= 1024;
    }
    HN_REQUIRE(is_right && value < 0x1p60, HN_ERR_ARGUMENT,
               "memory '%s': expected a size as 8G or 512M", text);
    *out = (size_t)value;
    return HN_OK;
}
