/* tokenizer_json: a tokenizer from Hugging Face's tokenizer.json and what lies beside it. */
#include "text/tokenizer/family.h"
#include "text/tokenizer/json_parts.h"

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
    l->tok->adds_space_prefix = l->prepends_mark;
    const char *pre_name = NULL;
    if (l->tok->family->end_json)
        HN_TRY(l->tok->family->end_json(l, &pre_name));
    l->tok->pre_name = hn_strdup(l->tok->heap, HN_TAG_TEXT, pre_name ? pre_name : "");
    if (!l->tok->pre_name)
        return HN_ERR_MEMORY;
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
