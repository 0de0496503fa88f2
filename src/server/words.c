/* Words are counted and copied one by one, with a NULL behind them, as a program is started with. */
#include "server/words.h"

#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

void hn_words_add(hn_words *words, const char *format, ...)
{
    char text[8192];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (words->status != HN_OK)
        return;
    if (n < 0 || n >= (int)sizeof text || words->n == HN_MOST_WORDS) {
        words->status = hn_fail(HN_ERR_ARGUMENT, "expected at most %d settings of at most %zu bytes", HN_MOST_WORDS, sizeof text - 1);
        return;
    }
    char *copy = hn_strdup(words->heap, HN_TAG_TEXT, text);
    if (copy)
        words->at[words->n++] = copy;
    else
        words->status = HN_ERR_MEMORY;
}

void hn_words_free(hn_words *words)
{
    for (int32_t i = 0; i < words->n; i++)
        hn_free(words->heap, words->at[i]);
    *words = (hn_words){ 0 };
}
