/* json_around: what stands around the model in tokenizer.json: added tokens, decoders, and what
 * a text gets before and after it. */
#include "text/tokenizer/family.h"
#include "text/tokenizer/json_parts.h"

#include <string.h>

static const char mark[] = "\xe2\x96\x81";

static hn_status read_decoder_step(hn_json_loader *l, const hn_json *step, bool *is_fused)
{
    hn_decode_rules *rules = &l->tok->decode;
    const char *type = hn_json_text_of(step, "type");
    if (strcmp(type, "ByteLevel") == 0 && l->tok->family->of_bytes)
        return HN_OK;
    if (strcmp(type, "ByteFallback") == 0)
        return HN_OK;
    if (strcmp(type, "Fuse") == 0) {
        *is_fused = true;
        return HN_OK;
    }
    if (strcmp(type, "Metaspace") == 0) {
        rules->marks_spaces = strcmp(hn_json_text_of(step, "replacement"), mark) == 0;
        rules->drops_first_marks =
            strcmp(hn_json_text_of(step, "prepend_scheme"), "never") != 0 &&
            hn_json_flag_of(step, "add_prefix_space", true);
        return rules->marks_spaces ? HN_OK : hn_json_unknown(l, "decoder", step);
    }
    if (strcmp(type, "Replace") == 0) {
        const char *from = hn_json_text_of(hn_json_get(step, "pattern"), "String");
        rules->marks_spaces =
            strcmp(from, mark) == 0 && strcmp(hn_json_text_of(step, "content"), " ") == 0;
        HN_REQUIRE(rules->marks_spaces, HN_ERR_UNSUPPORTED, "%s: decoder Replace of '%.40s'",
                   l->file, from);
        return HN_OK;
    }
    if (strcmp(type, "Strip") == 0) {
        int64_t start = 0, stop = 0;
        HN_TRY(hn_json_want_int(hn_json_get(step, "start"), "decoder Strip: start", &start));
        HN_TRY(hn_json_want_int(hn_json_get(step, "stop"), "decoder Strip: stop", &stop));
        HN_REQUIRE(*is_fused && start == 1 && stop == 0 &&
                       strcmp(hn_json_text_of(step, "content"), " ") == 0,
                   HN_ERR_UNSUPPORTED, "%s: decoder Strip of more than one space at the start",
                   l->file);
        rules->drops_first_space = true;
        return HN_OK;
    }
    if (strcmp(type, "WordPiece") == 0 && l->tok->word_inside) {
        HN_REQUIRE(strcmp(hn_json_text_of(step, "prefix"), l->tok->word_inside) == 0,
                   HN_ERR_UNSUPPORTED, "%s: decoder WordPiece: its prefix is not the model's",
                   l->file);
        rules->joins_words = true;
        rules->cleans_up = hn_json_flag_of(step, "cleanup", true);
        return HN_OK;
    }
    return hn_json_unknown(l, "decoder", step);
}

hn_status hn_json_read_decoder(hn_json_loader *l, const hn_json *step)
{
    bool is_fused = false;
    if (!step || step->kind == HN_JSON_NULL) {
        l->tok->decode.joins_words = l->tok->family->joins_words;
        HN_REQUIRE(l->tok->family->of_bytes || l->tok->family->joins_words, HN_ERR_UNSUPPORTED, "%s: decoder is missing", l->file);
        return HN_OK;
    }
    if (strcmp(hn_json_text_of(step, "type"), "Sequence") != 0)
        return read_decoder_step(l, step, &is_fused);
    const hn_json *parts = hn_json_get(step, "decoders");
    for (size_t i = 0; hn_json_at(parts, i); i++) /* a handful */
        HN_TRY(read_decoder_step(l, hn_json_at(parts, i), &is_fused));
    return HN_OK;
}

static hn_status push(hn_json_loader *l, int32_t **ids, size_t *n, int64_t id)
{
    HN_REQUIRE(id >= 0 && id < l->tok->vocab.n, HN_ERR_FORMAT,
               "%s: post_processor: id %lld of %d tokens", l->file, (long long)id,
               (int)l->tok->vocab.n);
    int32_t *grown = hn_realloc_array(l->tok->heap, HN_TAG_TEXT, *ids, *n + 1, sizeof *grown);
    if (!grown)
        return HN_ERR_MEMORY;
    *ids = grown;
    grown[(*n)++] = (int32_t)id;
    return HN_OK;
}

static hn_status read_template(hn_json_loader *l, const hn_json *step)
{
    hn_tokenizer *tok = l->tok;
    const hn_json *single = hn_json_get(step, "single"),
                  *tokens = hn_json_get(step, "special_tokens");
    HN_REQUIRE(single && single->kind == HN_JSON_ARRAY, HN_ERR_UNSUPPORTED,
               "%s: post_processor: single is no array", l->file);
    bool is_after = false;
    for (const hn_json *i = hn_json_first(single); i; i = i->next) {
        const hn_json *special = hn_json_get(i, "SpecialToken");
        is_after |= hn_json_get(i, "Sequence") != NULL;
        if (!special)
            continue;
        const hn_json *ids =
            hn_json_get(hn_json_get(tokens, hn_json_text_of(special, "id")), "ids");
        HN_REQUIRE(ids && ids->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
                   "%s: post_processor: '%.40s' has no ids", l->file,
                   hn_json_text_of(special, "id"));
        for (const hn_json *k = hn_json_first(ids); k; k = k->next) {
            int64_t id;
            HN_TRY(hn_json_want_int(k, "post_processor: ids", &id));
            if (is_after)
                HN_TRY(push(l, &tok->suffix, &tok->n_suffix, id));
            else
                HN_TRY(push(l, &tok->prefix, &tok->n_prefix, id));
        }
    }
    return HN_OK;
}

static hn_status read_post(hn_json_loader *l, const hn_json *step)
{
    if (!step || step->kind == HN_JSON_NULL)
        return HN_OK;
    hn_tokenizer *tok = l->tok;
    const char *type = hn_json_text_of(step, "type");
    if (strcmp(type, "ByteLevel") == 0)
        return HN_OK; /* it moves offsets only */
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(l, step);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        int64_t cls, sep;
        HN_TRY(hn_json_want_int(hn_json_at(hn_json_get(step, "cls"), 1), "post_processor: cls",
                                &cls));
        HN_TRY(hn_json_want_int(hn_json_at(hn_json_get(step, "sep"), 1), "post_processor: sep",
                                &sep));
        HN_TRY(push(l, &tok->prefix, &tok->n_prefix, cls));
        return push(l, &tok->suffix, &tok->n_suffix, sep);
    }
    if (strcmp(type, "Sequence") != 0)
        return hn_json_unknown(l, "post_processor", step);
    const hn_json *parts = hn_json_get(step, "processors");
    for (const hn_json *p = hn_json_at(parts, 0);
         p; p = p->next)
        HN_TRY(read_post(l, p));
    return HN_OK;
}

static hn_status read_added(hn_json_loader *l)
{
    const hn_json *list = hn_json_get(l->root, "added_tokens");
    for (const hn_json *i = hn_json_at(list, 0);
         i; i = i->next) {
        int64_t id;
        HN_TRY(hn_json_want_int(hn_json_get(i, "id"), "added_tokens: id", &id));
        const hn_added added = { .id = (int32_t)id,
                                 .is_special = hn_json_flag_of(i, "special", false),
                                 .is_normalized = hn_json_flag_of(i, "normalized", true),
                                 .strips_left = hn_json_flag_of(i, "lstrip", false),
                                 .strips_right = hn_json_flag_of(i, "rstrip", false),
                                 .single_word = hn_json_flag_of(i, "single_word", false) };
        l->tok->vocab.kind[id] = added.is_special ? HN_TOKEN_CONTROL : HN_TOKEN_USER_DEFINED;
        HN_TRY(hn_tokenizer_add_added(l->tok, added));
    }
    return HN_OK;
}

/* "x" or {"content": "x"}. */
static int32_t configured(const hn_json_loader *l, const char *key)
{
    const hn_json *value = hn_json_get(l->config, key);
    const hn_json *text = hn_json_get(value, "content") ? hn_json_get(value, "content") : value;
    if (!text || text->kind != HN_JSON_STRING)
        return -1;
    return hn_tokenizer_find(l->tok, hn_json_string(text), hn_json_bytes(text));
}

/* A number, a list of them, or null. A negative one is no token, and ends nothing. */
static hn_status read_ends(hn_json_loader *l)
{
    const hn_json *eos = hn_json_get(l->generation, "eos_token_id");
    const hn_json *first = eos && eos->kind == HN_JSON_ARRAY ? hn_json_first(eos) : eos;
    if (eos && eos->kind == HN_JSON_NULL)
        return HN_OK;
    for (const hn_json *i = first; i; i = eos->kind == HN_JSON_ARRAY ? i->next : NULL) {
        int64_t id;
        HN_TRY(hn_json_want_int(i, "eos_token_id", &id));
        HN_REQUIRE(id < l->tok->vocab.n, HN_ERR_FORMAT, "%s: eos_token_id is %lld: the tokenizer has %d tokens",
                   l->file, (long long)id, (int)l->tok->vocab.n);
        if (id >= 0)
            l->tok->ends[id] = true;
    }
    return HN_OK;
}

/* tokenizer_config.json's word counts over the post-processor's, as in `transformers`. */
static hn_status read_choices(hn_json_loader *l)
{
    hn_tokenizer *tok = l->tok;
    tok->adds_prefix = tok->n_prefix > 0;
    tok->adds_suffix = tok->n_suffix > 0;
    if (!tok->n_prefix && tok->special[HN_SPECIAL_BOS] >= 0)
        HN_TRY(push(l, &tok->prefix, &tok->n_prefix, tok->special[HN_SPECIAL_BOS]));
    if (!tok->n_suffix && tok->special[HN_SPECIAL_EOS] >= 0)
        HN_TRY(push(l, &tok->suffix, &tok->n_suffix, tok->special[HN_SPECIAL_EOS]));
    tok->adds_prefix =
        hn_json_flag_of(l->config, "add_bos_token", tok->adds_prefix) && tok->n_prefix;
    tok->adds_suffix =
        hn_json_flag_of(l->config, "add_eos_token", tok->adds_suffix) && tok->n_suffix;
    return HN_OK;
}

hn_status hn_json_read_around(hn_json_loader *l)
{
    static const struct {
        hn_special role;
        const char *key;
    } roles[] = { { HN_SPECIAL_BOS, "bos_token" },  { HN_SPECIAL_EOS, "eos_token" },
                  { HN_SPECIAL_UNK, "unk_token" },  { HN_SPECIAL_SEP, "sep_token" },
                  { HN_SPECIAL_PAD, "pad_token" },  { HN_SPECIAL_CLS, "cls_token" },
                  { HN_SPECIAL_MASK, "mask_token" } };
    HN_TRY(read_added(l));
    HN_TRY(hn_json_read_decoder(l, hn_json_get(l->root, "decoder")));
    HN_TRY(read_post(l, hn_json_get(l->root, "post_processor")));
    for (size_t i = 0; i < HN_COUNT(roles); i++)
        l->tok->special[roles[i].role] = configured(l, roles[i].key);
    if (l->tok->special[HN_SPECIAL_UNK] < 0)
        l->tok->special[HN_SPECIAL_UNK] = l->tok->unknown;
    HN_TRY(read_choices(l));
    HN_TRY(hn_tokenizer_settle(l->tok));
    hn_tokenizer_find_ends(l->tok);
    return read_ends(l);
}
