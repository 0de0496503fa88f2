/* cache_folder.h: where the program keeps what it need not compute twice: $XDG_CACHE_HOME/hone, or
 * ~/.cache/hone. */
#ifndef HN_CLI_CACHE_FOLDER_H
#define HN_CLI_CACHE_FOLDER_H

/* NULL if the environment names none. Of one string for the whole process. */
const char *hn_cache_folder(void);

#endif
