/* open_tokenizer.h: the tokenizer of a model on disk, whatever holds it. */
#ifndef HN_CLI_OPEN_TOKENIZER_H
#define HN_CLI_OPEN_TOKENIZER_H

#include "text/tokenizer.h"

/* Of a GGUF file or a Hugging Face directory. Nothing stays open. */
hn_status hn_open_tokenizer(hn_heap *heap, const char *path, hn_tokenizer **out);

#endif
