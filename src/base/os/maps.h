/* maps.h: a file's bytes in memory, and what the system knows of pages. */
#ifndef HN_BASE_OS_MAPS_H
#define HN_BASE_OS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t hn_os_page(void);

void *hn_os_map(int file, size_t bytes); /* to be read; NULL, and errno */
void hn_os_unmap(void *data, size_t bytes);
/* They leave this process's memory until they are touched again. */
void hn_os_map_drop(void *data, size_t bytes);
/* Whole pages in the place of a map's, that read as zeros. A handler of signals may call it. */
bool hn_os_map_zeros(uintptr_t from, size_t bytes);

/* Where a map has lost its file's bytes under a reader, `cover` is called with the place, from a handler of
 * signals, and says whether it put something there; if not, the fault takes its usual way. A handler that
 * somebody put in our place meanwhile stays. Systems that keep a mapped file from being cut need none. */
void hn_os_cuts_watch(bool (*cover)(uintptr_t at));
void hn_os_cuts_unwatch(void);

/* Where whole huge pages fit, the system may give them. */
void hn_os_want_huge_pages(void *block, size_t bytes);
/* It gives none there: what is touched is a page, and no more is waited for. Before anything of it is. */
void hn_os_want_small_pages(void *block, size_t bytes);

#endif
