/* pad_vocab.h: models have rows for more ids than their tokenizers have words. */
#ifndef HN_CONVERT_PAD_VOCAB_H
#define HN_CONVERT_PAD_VOCAB_H

#include "base/meta.h"

/* Adds unused tokens "[PADi]" until there are n_vocab; HN_ERR_FORMAT if there are more. */
hn_status hn_pad_vocab(hn_meta *meta, int64_t n_vocab);

#endif
