/* copies.h: whether texts have 20 words in a row that a training text has too. Words are letters
 * alone, whatever their case and what stands between them.
 *
 * The few texts in question are remembered; the training text, which may be large, only passes. */
#ifndef HN_CLI_STORY_COPIES_H
#define HN_CLI_STORY_COPIES_H

#include "base/heap.h"

enum { HN_COPY_WORDS = 20 };

typedef struct hn_copies hn_copies;

hn_status hn_copies_new(hn_heap *heap, hn_copies **out);
void hn_copies_free(hn_copies *copies); /* takes NULL */

/* Text `number` is remembered; all of them before the first hn_copies_pass. */
hn_status hn_copies_add(hn_copies *copies, uint32_t number, const char *text, size_t bytes);

/* A training text: what of it stands in a remembered one is noted. */
hn_status hn_copies_pass(hn_copies *copies, const char *text, size_t bytes);

/* The first 20 words of text `number` that were seen, "" if there are none; valid until free. */
const char *hn_copies_of(const hn_copies *copies, uint32_t number, size_t *bytes);

#endif
