/* The stop that ends first counts, and of those that end at one place the longest. What is safe to tell ends where
 * the longest beginning of any stop does. */
#include "server/stops.h"

#include <string.h>

size_t hn_stops_find(const hn_stops *stops, const char *text, size_t bytes, size_t from, int *which)
{
    size_t found = bytes;
    for (size_t end = from + 1; end <= bytes && found == bytes; end++)
        for (int i = 0; i < stops->n; i++) {
            const size_t n = strlen(stops->at[i]);
            if (n <= end - from && end - n < found && !memcmp(text + end - n, stops->at[i], n)) {
                *which = i;
                found = end - n;
            }
        }
    return found;
}

size_t hn_stops_safe(const hn_stops *stops, const char *text, size_t bytes)
{
    size_t safe = bytes;
    for (int i = 0; i < stops->n; i++) {
        const size_t longest = strlen(stops->at[i]) - 1;
        size_t at = bytes > longest ? bytes - longest : 0;
        while (at < safe && memcmp(text + at, stops->at[i], bytes - at) != 0)
            at++;
        safe = at < safe ? at : safe;
    }
    return safe;
}
