/* open_tokenizer.h: the tokenizer of a model on disk, whatever holds it. */
#ifndef HN_MODELS_OPEN_TOKENIZER_H
#define HN_MODELS_OPEN_TOKENIZER_H

#include "models/model.h"
#include "text/tokenizer/tokenizer.h"

/* Of a GGUF file or a Hugging Face directory. Nothing stays open. */
hn_status hn_open_tokenizer(hn_heap *heap, const char *path, hn_tokenizer **out);

/* HN_ERR_FORMAT if it has tokens that the model has no rows for. */
hn_status hn_check_vocabulary(const hn_tokenizer *tok, const hn_model *model);

#endif
