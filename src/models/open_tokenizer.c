/* open_tokenizer: a directory is Hugging Face's, a file is GGUF. */
#include "models/open_tokenizer.h"

#include "io/gguf.h"
#include "io/hf_dir.h"

static hn_status from_dir(hn_heap *heap, const char *path, hn_tokenizer **out)
{
    hn_hf_dir *dir;
    HN_TRY(hn_hf_dir_open(heap, path, HN_HF_TEXT, &dir));
    hn_status status;
    if (dir->tokenizer)
        status = hn_tokenizer_from_json(
            heap, path, hn_json_root(dir->tokenizer),
            dir->tokenizer_config ? hn_json_root(dir->tokenizer_config) : NULL,
            hn_hf_dir_generation(dir), out);
    else
        status = hn_fail(HN_ERR_UNSUPPORTED,
                         "%s: no tokenizer.json; hone does not read tokenizer.model", path);
    hn_hf_dir_close(dir);
    return status;
}

hn_status hn_open_tokenizer(hn_heap *heap, const char *path, hn_tokenizer **out)
{
    *out = NULL;
    if (hn_is_dir(path))
        return from_dir(heap, path, out);
    hn_gguf *gguf;
    HN_TRY(hn_gguf_open(heap, path, &gguf));
    const hn_status status = hn_tokenizer_from_meta(heap, hn_gguf_meta(gguf), out);
    hn_gguf_close(gguf);
    return status;
}

hn_status hn_check_vocabulary(const hn_tokenizer *tok, const hn_model *model)
{
    const int64_t rows = hn_model_hparams(model)->n_vocab;
    HN_REQUIRE(hn_tokenizer_size(tok) <= rows, HN_ERR_FORMAT,
               "%s: the tokenizer has %lld tokens: the model's vocabulary has %lld",
               hn_model_path(model), (long long)hn_tokenizer_size(tok), (long long)rows);
    return HN_OK;
}
