/* A vocabulary may be smaller than the embedding, whose other rows nobody asks for; a larger one would ask for
 * rows that are not there. */
#include "models/open_tokenizer.h"

#include "models/format.h"

hn_status hn_open_tokenizer(hn_heap *heap, const char *path, hn_tokenizer **out)
{
    *out = NULL;
    return hn_model_format_of(path)->read_tokenizer(heap, path, out);
}

hn_status hn_check_vocabulary(const hn_tokenizer *tok, const hn_model *model)
{
    const int64_t rows = hn_model_hparams(model)->n_vocab;
    HN_REQUIRE(hn_tokenizer_size(tok) <= rows, HN_ERR_FORMAT,
               "%s: the tokenizer has %lld tokens: the model's vocabulary has %lld",
               hn_model_path(model), (long long)hn_tokenizer_size(tok), (long long)rows);
    return HN_OK;
}
