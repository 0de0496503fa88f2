/* uselocale is of the calling thread alone: the host's other threads keep theirs. */
#include "base/os/locale.h"

#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

/* The C locale is made of constants: nothing is allocated, and nothing is to be freed. */
void *hn_os_locale_set_plain(void)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? (void *)uselocale(plain) : 0;
}

void *hn_os_locale_set(void *locale) { return locale ? (void *)uselocale((locale_t)locale) : 0; }
