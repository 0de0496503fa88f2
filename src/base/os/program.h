/* program.h: what a program may do and the library never does, as it changes the host. So are signals.h and
 * terminal.h: the build gives what is in SYSTEM/program to the program alone. */
#ifndef HN_BASE_OS_PROGRAM_H
#define HN_BASE_OS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* The first thing that main does: words and streams are bytes, the words UTF-8, on every system; and no file that is opened
 * later gets the number of a stream that was closed. False where that cannot be had. */
bool hn_os_begin(int *argc, char ***argv);

bool hn_os_folder_enter(const char *path); /* false, and errno */
void hn_os_default_variable(const char *name, const char *value); /* of the environment, unless it is set */

/* The file that this program is of; false, and errno. */
bool hn_os_program_path(char *path, size_t room);
/* Runs a program with these words (the first its own name; NULL after the last), its output thrown away, and waits:
 * its exit status, 128 and the number of the signal that ended it, or -1 and errno. */
int hn_os_program_run(const char *path, const char *const *words);

void *hn_os_library_open(const char *path); /* NULL: hn_os_library_error says why */
const char *hn_os_library_error(void);
bool hn_os_library_find(void *library, const char *name, void *function); /* a pointer to a function's */

#endif
