/* The library tells JSON from a file's name by its first character. */
#include "cli/json_name.h"

#include <stdio.h>
#include <string.h>

const char *hn_json_name(const char *path, char room[HN_JSON_NAME])
{
    if (!path || !*path || !strchr("[{ \t\r\n", *path))
        return path;
    snprintf(room, HN_JSON_NAME, "./%s", path);
    return room;
}
