#include "cli/cache_folder.h"

#include <stdio.h>
#include <stdlib.h>

const char *hn_cache_folder(void)
{
    static char path[4000];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        snprintf(path, sizeof path, "%s/hone", cache);
    else if (home && home[0] == '/')
        snprintf(path, sizeof path, "%s/.cache/hone", home);
    return path[0] ? path : NULL;
}
