/* child.h: a program that runs beside this one, and what such a program asks of its own side. As program.h: for the program
 * alone. What fails gives false, and errno says why. */
#ifndef HN_BASE_OS_CHILD_H
#define HN_BASE_OS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: none. Used by one thread at a time. */
typedef struct hn_os_child {
    intptr_t process, input;
} hn_os_child;

/* Its standard input is a line to this process, which ends when this process does, however that ends; what it says goes to
 * the end of `log`. It is in a group of its own: what a terminal sends this process does not come to it. words: the first its
 * own name; NULL after the last. */
bool hn_os_child_start(hn_os_child *child, const char *path, const char *const *words, const char *log);
/* One byte to its input. False also where it reads no more. */
bool hn_os_child_tell(hn_os_child *child, char byte);
/* True: it has ended, and is none from here on. *status: as hn_os_program_run gives it. */
bool hn_os_child_has_ended(hn_os_child *child, int *status);
/* Ends it at once and waits for that; takes none. */
void hn_os_child_end(hn_os_child *child);

/* ---- for the child ---- */

/* Waits for the next byte of standard input; false: there is none any more. */
bool hn_os_input_byte(char *byte);
/* Lets other programs go first, from here on, in threads that are started later. */
void hn_os_give_way(void);

#endif
