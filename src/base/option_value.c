/* The whole word is the number, or it is none: nothing is cut off or rounded into range. */
#include "base/option_value.h"

#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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

hn_status hn_option_real(const char *name, const char *value, double *out)
{
    double number;
    HN_REQUIRE(hn_number_parse(value, &number) && isfinite(number) && number >= 0, HN_ERR_ARGUMENT,
               "--%s %s: expected a number, not negative", name, value);
    *out = number;
    return HN_OK;
}
