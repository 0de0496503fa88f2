/* word_list.h: names as a sentence has them: "a", "a or b", "a, b or c". */
#ifndef HN_BASE_WORD_LIST_H
#define HN_BASE_WORD_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The last after `last` ("or"). What `to` has no room for is left out. */
void hn_word_list(int n, const char *const *words, const char *last, char *to, size_t room);

/* The same for a sentence that says what was expected: "a, b or c", which is the text's. */
typedef struct hn_word_text {
    char at[512];
} hn_word_text;
const char *hn_words_or(int n, const char *const *words, hn_word_text *text);

/* The same where the words are a list of macros, HEAD(NAME, "a") NEXT(NAME, "b") ... TAIL(NAME, "c"): LIST(HN_WORD_HEAD,
 * HN_WORD_NEXT, HN_WORD_TAIL) is the text, for tables that are constant. */
#define HN_WORD_HEAD(NAME, word) word
#define HN_WORD_NEXT(NAME, word)  ", " word
#define HN_WORD_TAIL(NAME, word)  " or " word
#define HN_WORD_ALONE(NAME, word) word, /* for an array of them */

/* Whether a text of words parted by blanks has this one. */
bool hn_word_is_in(const char *words, const char *word);

#endif
