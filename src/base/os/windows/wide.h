/* wide.h: the system's own words: names of two bytes a letter, and its errors as numbers of errno. */
#ifndef HN_BASE_OS_WINDOWS_WIDE_H
#define HN_BASE_OS_WINDOWS_WIDE_H

#include <stdbool.h>
#include <stddef.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { HN_OS_WIDE = 4400 };

/* Both give false with errno EINVAL or ENAMETOOLONG. */
bool hn_os_widen(const char *text, wchar_t out[HN_OS_WIDE]);
bool hn_os_narrow(const wchar_t *text, char *out, size_t room);

/* errno from the system's last error; false. */
bool hn_os_fail(void);

/* One line of all words, as a program takes them apart again: a quote, and backslashes before one, get a backslash. Of the
 * program alone. */
bool hn_os_join_words(const char *const *words, char *line, size_t room);

#endif
