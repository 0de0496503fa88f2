/* folders.h: the system's folders, by names in UTF-8. What fails gives false, and errno says why. */
#ifndef HN_BASE_OS_FOLDERS_H
#define HN_BASE_OS_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

/* Each name in it, in no order and without "." and "..", until `visit` says false. */
typedef bool hn_os_visit(void *context, const char *name);
bool hn_os_folder_each(const char *path, hn_os_visit *visit, void *context);

bool hn_os_folder_make(const char *path, bool is_private); /* private: for this user alone */
bool hn_os_folder_make_temporary(char *path); /* its last six letters are XXXXXX, and are replaced */
bool hn_os_folder_remove(const char *path);   /* an empty one */
void hn_os_folder_sync(const char *path);     /* the folder that it is in is on the disk, where the system can */

bool hn_os_folder_here(char *path, size_t room);

const char *hn_os_folder_for_temporary(void);
/* Where this user's programs keep what can be made again; false: nowhere. */
bool hn_os_folder_for_caches(char *path, size_t room);

#endif
