/* pattern.h: names with stars: '*' stands for any characters, or none, '?' for one. */
#ifndef HN_BASE_PATTERN_H
#define HN_BASE_PATTERN_H

#include <stdbool.h>

bool hn_pattern_matches(const char *pattern, const char *text);

#endif
