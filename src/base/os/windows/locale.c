/* Locales are names here, and a thread follows the process's until it has its own. A handle is an entry of a
 * table: of a name, and whether the thread had its own. */
#include "base/os/locale.h"

#include "base/os/threads.h"

#include <locale.h>
#include <stddef.h>
#include <string.h>

enum { MOST = 256, NAME = 256 };

typedef struct entry {
    char name[NAME];
    int mode; /* of _configthreadlocale */
} entry;

static entry entries[MOST];
static int n_entries;
static hn_os_mutex lock = HN_OS_MUTEX;

static entry *entry_of(const char *name, int mode)
{
    entry *found = NULL;
    if (strlen(name) >= NAME)
        return NULL;
    hn_os_mutex_lock(&lock);
    for (int i = 0; i < n_entries && !found; i++)
        if (entries[i].mode == mode && !strcmp(entries[i].name, name))
            found = &entries[i];
    if (!found && n_entries < MOST) {
        found = &entries[n_entries++];
        found->mode = mode;
        memcpy(found->name, name, strlen(name) + 1);
    }
    hn_os_mutex_unlock(&lock);
    return found;
}

/* Sets a locale of this thread's own, or gives it back to the process's. NULL: nothing was changed. */
static void *set(const char *name, int mode)
{
    const int before = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    const char *now = setlocale(LC_ALL, NULL);
    entry *was = now ? entry_of(now, before) : NULL;
    if (was && strcmp(was->name, name))
        setlocale(LC_ALL, name);
    _configthreadlocale(was ? mode : before);
    return was;
}

void *hn_os_locale_set_plain(void) { return set("C", _ENABLE_PER_THREAD_LOCALE); }

void *hn_os_locale_set(void *locale)
{
    const entry *e = locale;
    return e ? set(e->name, e->mode) : NULL;
}
