/* Folders by the system's calls. A new name is durable when the folder that it is in has been synced. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hn_os_folder_each(const char *path, hn_os_visit *visit, void *context)
{
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    bool goes_on = true;
    for (const struct dirent *e; goes_on && (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            goes_on = visit(context, e->d_name);
    closedir(dir);
    return true;
}

bool hn_os_folder_make(const char *path, bool is_private) { return mkdir(path, is_private ? 0700 : 0777) == 0; }

bool hn_os_folder_make_temporary(char *path) { return mkdtemp(path) != NULL; }

bool hn_os_folder_remove(const char *path) { return rmdir(path) == 0; }

void hn_os_folder_sync(const char *path)
{
    char folder[4104];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    const int open_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (open_folder < 0)
        return;
    fsync(open_folder); /* which some systems cannot: the name is there all the same */
    close(open_folder);
}

bool hn_os_folder_here(char *path, size_t room) { return getcwd(path, room) != NULL; }

const char *hn_os_folder_for_temporary(void)
{
    const char *said = getenv("TMPDIR");
    return said ? said : "/tmp";
}

bool hn_os_folder_for_caches(char *path, size_t room)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool is_said = cache && cache[0] == '/';
    if (!is_said && !(home && home[0] == '/'))
        return false;
    return snprintf(path, room, "%s%s", is_said ? cache : home, is_said ? "" : "/.cache") < (int)room;
}
