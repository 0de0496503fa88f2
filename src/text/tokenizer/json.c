/* tokenizer_json: a tokenizer from Hugging Face's tokenizer.json and what lies beside it. */
#include "text/tokenizer/json_parts.h"

#include <string.h>

static void set_names(hn_json_loader *l)
{
    hn_tokenizer *tok = l->tok;
    static const char *const kinds[] = { [HN_MODEL_BYTES] = "gpt2",
                                         [HN_MODEL_CHARS] = "gemma4",
                                         [HN_MODEL_SPM] = "llama",
                                         [HN_MODEL_UNIGRAM] = "t5",
                                         [HN_MODEL_WORDS] = "bert" };
    tok->kind_name = kinds[tok->kind];
    tok->adds_space_prefix = l->prepends_mark;
    if (tok->kind == HN_MODEL_CHARS)
        tok->kind_name = !tok->has_byte_fallback ? "bpe"
                         : l->prepends_mark      ? "llama"
                                                 : "gemma4";
}

static hn_status set_pre(hn_json_loader *l)
{
    hn_tokenizer *tok = l->tok;
    const char *name = NULL;
    if (tok->kind == HN_MODEL_BYTES)
        HN_TRY(hn_pretokenizer_name(&tok->splitter, &name));
    if (name && !strcmp(name, "llama-bpe") && !tok->ignores_merges)
        name = "smaug-bpe";
    tok->pre_name = hn_strdup(tok->heap, HN_TAG_TEXT,
                              name                          ? name
                              : tok->kind == HN_MODEL_CHARS ? tok->kind_name
                                                            : "");
    return tok->pre_name ? HN_OK : HN_ERR_MEMORY;
}

static hn_status load(hn_json_loader *l)
{
    HN_REQUIRE(l->root && l->root->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "%s: expected an object", l->file);
    const hn_json *normalizer = hn_json_get(l->root, "normalizer"),
                  *pre = hn_json_get(l->root, "pre_tokenizer");
    l->has_byte_level =
        hn_json_has_type(normalizer, "ByteLevel") || hn_json_has_type(pre, "ByteLevel");
    l->tok->from_json = true;
    HN_TRY(hn_json_read_model(l));
    HN_TRY(hn_json_read_normalizer(l, normalizer, true));
    HN_TRY(hn_json_read_split(l, pre, true));
    if (l->tok->kind == HN_MODEL_UNIGRAM)
        HN_TRY(hn_unigram_steps_keep(l));
    set_names(l);
    HN_TRY(set_pre(l));
    return hn_json_read_around(l);
}

hn_status hn_tokenizer_from_json(hn_heap *heap, const char *name, const hn_json *tokenizer,
                                 const hn_json *config, const hn_json *generation,
                                 hn_tokenizer **out)
{
    hn_json_loader l = {
        .file = name, .root = tokenizer, .config = config, .generation = generation
    };
    *out = NULL;
    HN_TRY(hn_tokenizer_new(heap, &l.tok));
    const hn_status status = load(&l);
    if (status != HN_OK) {
        hn_tokenizer_free(l.tok);
        return status;
    }
    *out = l.tok;
    return HN_OK;
}
