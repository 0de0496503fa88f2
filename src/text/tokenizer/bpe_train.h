/* bpe_train.h: makes a byte-level BPE vocabulary from texts: the pair that stands side by side
 * most often becomes a token, again and again. Of equal pairs the one with the lower ids goes
 * first, so that the same texts in any order make the same vocabulary. */
#ifndef HN_TEXT_TOKENIZER_BPE_TRAIN_H
#define HN_TEXT_TOKENIZER_BPE_TRAIN_H

#include "base/meta.h"

typedef struct hn_bpe_trainer hn_bpe_trainer;

hn_status hn_bpe_trainer_new(hn_heap *heap, hn_bpe_trainer **out);
void hn_bpe_trainer_free(hn_bpe_trainer *trainer); /* takes NULL */

/* Counts its pieces, cut as GPT-2 cuts. */
hn_status hn_bpe_trainer_add(hn_bpe_trainer *trainer, const char *text, size_t bytes);

/* Merges until there are `n_tokens` with the 256 bytes, or no pair stands anywhere twice.
 * *n_made: how many there are. */
hn_status hn_bpe_trainer_run(hn_bpe_trainer *trainer, uint32_t n_tokens, uint32_t *n_made);

/* The keys tokenizer.ggml.*: bytes, merges, then `n_special` control tokens. */
hn_status hn_bpe_trainer_write(const hn_bpe_trainer *trainer, const char *const *special,
                               size_t n_special, hn_meta *meta);

#endif
