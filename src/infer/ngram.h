/* ngram.h: what came after the same tokens before. Code, tables, quotations and lists repeat themselves, and so does an answer
 * that takes up its prompt. */
#ifndef HN_INFER_NGRAM_H
#define HN_INFER_NGRAM_H

#include <stdint.h>

/* What followed the longest run of tokens that ends the sequence and stood in it before; of runs as long, the latest. Runs have
 * `shortest` to `longest` tokens. A run that reaches into what follows it goes on in the guess itself: abab goes on with abab.
 * Returns how many: `most`, or 0. */
int64_t hn_ngram_guess(const int32_t *tokens, int64_t n, int64_t longest, int64_t shortest, int64_t most, int32_t *guess);

#endif
