/* Settings that were given, as the library takes them. */
#include "cli/command.h"

#include <string.h>

static bool is_of(hn_settings_table *table, const hn_setting *setting)
{
    size_t i = 0;
    const hn_setting *s;
    while ((s = table(i)) != NULL && s != setting)
        i++;
    return s != NULL;
}

hn_status hn_setting_words_of(hn_setting_words *w, hn_heap *heap, const hn_settings *settings, hn_settings_table *table,
                              const char *except)
{
    *w = (hn_setting_words){ .heap = heap };
    for (int i = 0; i < settings->n; i++) {
        if (!is_of(table, settings->at[i].of) || (except && !strcmp(settings->at[i].of->name, except)))
            continue;
        const char *name = settings->at[i].of->name, *value = settings->at[i].value;
        const size_t bytes = strlen(name) + (value ? strlen(value) + 1 : 0) + 1;
        char *word = hn_alloc(heap, HN_TAG_TEXT, bytes);
        if (!word)
            return HN_ERR_MEMORY;
        snprintf(word, bytes, "%s%s%s", name, value ? "=" : "", value ? value : "");
        w->at[w->n++] = word;
    }
    return HN_OK;
}

void hn_setting_words_close(hn_setting_words *w)
{
    for (int32_t i = 0; i < w->n; i++)
        hn_free(w->heap, w->at[i]);
    w->n = 0;
}

const char *hn_settings_value(const hn_settings *settings, const char *name)
{
    for (int i = settings->n; i-- > 0;)
        if (!strcmp(settings->at[i].of->name, name))
            return settings->at[i].value;
    return NULL;
}
