/* Only the last star is ever taken up again: what an earlier one could take instead, that one can too. So the time
 * is at most the product of both lengths. */
#include "base/pattern.h"

#include <stddef.h>

bool hn_pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *resume = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            resume = text;
        } else if (*pattern == *text || *pattern == '?') {
            pattern++;
            text++;
        } else if (star) { /* the last star takes one more */
            pattern = star + 1;
            text = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
