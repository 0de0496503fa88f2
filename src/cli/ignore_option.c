#include "cli/ignore_option.h"

#include <string.h>

_Static_assert((int)HN_MAX_IGNORED == (int)HN_MAX_LIST, "one for each --ignore");

hn_ignored hn_ignored_of(const hn_list *keys)
{
    hn_ignored ignored = { .n = keys->n };
    memcpy(ignored.at, keys->at, sizeof ignored.at);
    return ignored;
}
