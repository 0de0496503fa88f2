/* random_text.h: texts for comparing tokenizers, by number; tools/reference/tokenizers_text.py
 * makes the same ones. */
#ifndef TESTS_DIFFERENTIAL_RANDOM_TEXT_H
#define TESTS_DIFFERENTIAL_RANDOM_TEXT_H

#include "base/str.h"

typedef struct text_alphabet text_alphabet;

/* NULL if the file cannot be read. */
text_alphabet *text_alphabet_read(hn_heap *heap, const char *path);
void text_alphabet_free(hn_heap *heap, text_alphabet *alphabet);

/* Text `number`, in UTF-8, instead of what `out` held. */
void random_text(const text_alphabet *alphabet, uint64_t number, hn_str *out);
/* One whose characters join or not: marks, joiners, controls, syllables, conjuncts. */
void cluster_text(const text_alphabet *alphabet, uint64_t number, hn_str *out);
/* The text by which a character is judged. */
void sweep_text(uint32_t code, hn_str *out);

#endif
