/* A row may have several names, and be for some classes alone: the first table that has the key decides, a class's
 * own before those that all share. */
#include "nn/keys.h"

#include <string.h>

/* Whether `name` is one of "a|b". */
static bool is_among(const char *names, const char *name, size_t bytes)
{
    for (const char *at = names; *at;) {
        const size_t n = strcspn(at, "|");
        if (n == bytes && !memcmp(at, name, n))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

static bool is_for(const hn_key_row *row, const char *class)
{
    if (!row->of)
        return true;
    for (const char *at = row->of; *at;) {
        const size_t n = strcspn(at, "|");
        if (!strncmp(class, at, n))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

const hn_key_row *hn_key_named(const hn_key_row *const *tables, const char *class, const char *name)
{
    const size_t bytes = strlen(name);
    HN_EACH_KEY_ROW(row, tables)
        if (row->name && is_for(row, class) && is_among(row->name, name, bytes))
            return row;
    return NULL;
}

const char *hn_key_gguf(const hn_key_row *row)
{
    return row->gguf                      ? row->gguf
           : row->to && !row->is_apart ? hn_hp_gguf((hn_hp)row->to)
                                          : NULL;
}

bool hn_key_is_whole(const char *key)
{
    static const char *const spaces[] = { "general.", "tokenizer.", "hone.", "quantize.",
                                          "mradermacher.", "split.", NULL };
    for (int i = 0; spaces[i]; i++)
        if (!strncmp(key, spaces[i], strlen(spaces[i])))
            return true;
    return false;
}

/* Of "a|b.*". */
static bool fits(const char *names, const char *name, size_t bytes)
{
    for (const char *at = names; *at;) {
        const size_t n = strcspn(at, "|");
        if ((n == bytes && !memcmp(at, name, n)) ||
            (at[n - 1] == '*' && n - 1 < bytes && !memcmp(at, name, n - 1)))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

const hn_key_row *hn_key_of_gguf(const hn_key_row *const *tables, const char *name)
{
    const size_t bytes = strlen(name);
    HN_EACH_KEY_ROW(row, tables) {
        const char *gguf = hn_key_gguf(row);
        if (gguf && fits(gguf, name, bytes))
            return row;
    }
    return NULL;
}
