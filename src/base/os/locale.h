/* locale.h: this thread's locale, by a handle. */
#ifndef HN_BASE_OS_LOCALE_H
#define HN_BASE_OS_LOCALE_H

/* The C locale, and any that was there before: NULL is none, and setting it is nothing. Nothing of it is to be
 * freed but by setting it again, once. */
void *hn_os_locale_set_plain(void);
void *hn_os_locale_set(void *locale);

#endif
