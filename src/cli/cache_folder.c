/* Where the system knows no folder for caches there is none, and what would be kept is computed each time. */
#include "cli/cache_folder.h"

#include "base/os/folders.h"

#include <stdio.h>

const char *hn_cache_folder(void)
{
    static char path[4000];
    char folder[sizeof path - sizeof "/hone"];
    if (hn_os_folder_for_caches(folder, sizeof folder))
        snprintf(path, sizeof path, "%s/hone", folder);
    return path[0] ? path : NULL;
}
