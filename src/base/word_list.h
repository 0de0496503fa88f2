/* word_list.h: names as a sentence has them: "a", "a or b", "a, b or c". */
#ifndef HN_BASE_WORD_LIST_H
#define HN_BASE_WORD_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The last after `last` ("or"). What `to` has no room for is left out. */
void hn_word_list(int n, const char *const *words, const char *last, char *to, size_t room);

/* Whether a text of words parted by blanks has this one. */
bool hn_word_is_in(const char *words, const char *word);

#endif
