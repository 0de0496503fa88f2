/* byte_tokenizer.h: the tokenizer of models that have none of their own: a token a byte. */
#ifndef HN_CONVERT_BYTE_TOKENIZER_H
#define HN_CONVERT_BYTE_TOKENIZER_H

#include "base/meta.h"

enum { HN_BYTE_TOKENS = 259 }; /* 256 bytes, <|im_start|>, <|im_end|>, <|endoftext|> */

/* Writes tokenizer.* for n_vocab >= HN_BYTE_TOKENS tokens, with a ChatML template. */
hn_status hn_byte_tokenizer(hn_meta *meta, int64_t n_vocab);

#endif
