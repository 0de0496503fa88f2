/* Lists of words in one text: written for people, and looked into, words apart by blanks. */
#include "base/word_list.h"

#include <stdio.h>
#include <string.h>

void hn_word_list(int n, const char *const *words, const char *last, char *to, size_t room)
{
    size_t at = 0;
    to[0] = '\0';
    for (int i = 0; i < n && at < room; i++) {
        const bool ends = i > 0 && i == n - 1;
        at += (size_t)snprintf(to + at, room - at, "%s%s%s%s", ends ? " " : i ? ", " : "",
                               ends ? last : "", ends ? " " : "", words[i]);
    }
}

const char *hn_words_or(int n, const char *const *words, hn_word_text *text)
{
    hn_word_list(n, words, "or", text->at, sizeof text->at);
    return text->at;
}

bool hn_word_is_in(const char *words, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += bytes)
        if ((at == words || at[-1] == ' ') && (at[bytes] == ' ' || !at[bytes]))
            return true;
    return false;
}
