/* tokenizer_meta: a tokenizer from the keys tokenizer.ggml.* of a model file. */
#include "text/tokenizer/family.h"
#include "base/work.h"
#include "text/tokenizer/same.h"

#include "base/str.h"

#include <string.h>

#define KEY "tokenizer.ggml."

typedef struct loader {
    hn_tokenizer *tok;
    const hn_meta *meta;
    const char *file;
} loader;

static bool is_bytes_text(const loader *l, uint8_t kind)
{
    return l->tok->family->of_bytes &&
           (kind == HN_TOKEN_NORMAL || kind == HN_TOKEN_UNUSED || kind == HN_TOKEN_BYTE);
}

static hn_status read_pieces(loader *l, const hn_meta_value *tokens, const hn_meta_value *types)
{
    hn_vocab *v = &l->tok->vocab;
    HN_TRY(hn_vocab_new(l->tok->heap, (int32_t)tokens->n, tokens->bytes, v));
    size_t cursor = 0;
    for (int32_t id = 0; id < v->n; id++) {
        if (hn_work_every((uint64_t)id))
            HN_TRY(hn_work_tell((uint64_t)id, 4 * tokens->n, "tokens"));
        const hn_span text = hn_meta_next_string(tokens, &cursor);
        const int64_t kind = types ? hn_meta_item_int(types, (uint64_t)id) : HN_TOKEN_NORMAL;
        HN_REQUIRE(kind >= 0 && kind <= HN_TOKEN_BYTE, HN_ERR_FORMAT,
                   "%s: " KEY "token_type: item %d is %lld: expected 1 to 6", l->file, (int)id,
                   (long long)kind);
        v->kind[id] = kind ? (uint8_t)kind : HN_TOKEN_NORMAL;
        uint8_t *to = v->bytes + v->at[id];
        size_t n = text.bytes;
        v->is_plain[id] =
            v->kind[id] == HN_TOKEN_USER_DEFINED || v->kind[id] == HN_TOKEN_CONTROL;
        if (!is_bytes_text(l, v->kind[id]) ||
            !hn_text_to_bytes(text.data, text.bytes, to, &n)) {
            n = text.bytes;
            if (n)
                memcpy(to, text.data, n);
            v->is_plain[id] |= l->tok->family->of_bytes;
        }
        v->at[id + 1] = v->at[id] + (uint32_t)n;
    }
    return HN_OK;
}

/* A byte-level piece with a character that stands for no byte can never come about. */
static bool is_made(const loader *l, int32_t id)
{
    const uint8_t kind = l->tok->vocab.kind[id];
    return (kind == HN_TOKEN_NORMAL || kind == HN_TOKEN_UNUSED || kind == HN_TOKEN_BYTE) &&
           !(l->tok->family->of_bytes && l->tok->vocab.is_plain[id]);
}

/* What is looked for in the text gives way to a piece of the model with the same bytes. */
static hn_status index_pieces(loader *l)
{
    hn_vocab *v = &l->tok->vocab;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t id = 0; id < v->n; id++) {
            if (hn_work_every((uint64_t)id))
                HN_TRY(hn_work_look("tokens"));
            const uint8_t kind = v->kind[id];
            const bool is_model = is_made(l, id);
            int32_t twin = -1;
            if ((pass == 0 && is_model) || (pass == 1 && kind == HN_TOKEN_USER_DEFINED))
                hn_vocab_index(v, id, &twin);
            HN_REQUIRE(twin < 0 || pass == 1, HN_ERR_FORMAT,
                       "%s: " KEY "tokens: item %d equals item %d", l->file, (int)id,
                       (int)twin);
        }
    }
    return HN_OK;
}

static hn_status read_vocab(loader *l)
{
    const hn_meta_value *tokens, *types, *scores;
    HN_TRY(hn_meta_array(l->meta, KEY "tokens", HN_META_STRING, &tokens));
    HN_REQUIRE(tokens, HN_ERR_FORMAT, "%s: " KEY "tokens is missing", l->file);
    HN_REQUIRE(tokens->n > 0 && tokens->n < INT32_MAX / 4, HN_ERR_FORMAT,
               "%s: " KEY "tokens: %llu items", l->file, (unsigned long long)tokens->n);
    HN_TRY(hn_meta_array(l->meta, KEY "token_type", HN_META_I32, &types));
    HN_REQUIRE(!types || types->n == tokens->n, HN_ERR_FORMAT,
               "%s: " KEY "token_type: %llu items: expected %llu", l->file,
               (unsigned long long)(types ? types->n : 0), (unsigned long long)tokens->n);
    HN_TRY(hn_meta_array(l->meta, KEY "scores", HN_META_F32, &scores));
    HN_REQUIRE(!scores || scores->n == tokens->n, HN_ERR_FORMAT,
               "%s: " KEY "scores: %llu items: expected %llu", l->file,
               (unsigned long long)(scores ? scores->n : 0), (unsigned long long)tokens->n);
    HN_TRY(read_pieces(l, tokens, types));
    HN_TRY(index_pieces(l));
    hn_tokenizer *tok = l->tok;
    tok->has_scores = scores != NULL;
    HN_REQUIRE(scores || !tok->family->needs_scores, HN_ERR_FORMAT, "%s: " KEY "scores is missing", l->file);
    if (!scores)
        return HN_OK;
    tok->vocab.score =
        hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tokens->n + 1, sizeof *tok->vocab.score);
    if (!tok->vocab.score)
        return HN_ERR_MEMORY;
    for (uint64_t i = 0; i < tokens->n; i++) {
        const double score = hn_meta_item_double(scores, i);
        HN_REQUIRE(score == score, HN_ERR_FORMAT,
                   "%s: " KEY "scores: item %llu is not a number", l->file,
                   (unsigned long long)i);
        tok->vocab.score[i] = score;
    }
    return HN_OK;
}

static const struct {
    hn_special role;
    const char *key, *old_key;
} special_keys[] = {
    { HN_SPECIAL_BOS, KEY "bos_token_id", NULL },
    { HN_SPECIAL_EOS, KEY "eos_token_id", NULL },
    { HN_SPECIAL_EOT, KEY "eot_token_id", NULL },
    { HN_SPECIAL_EOM, KEY "eom_token_id", NULL },
    { HN_SPECIAL_UNK, KEY "unknown_token_id", NULL },
    { HN_SPECIAL_SEP, KEY "seperator_token_id", NULL }, /* so spelt */
    { HN_SPECIAL_PAD, KEY "padding_token_id", NULL },
    { HN_SPECIAL_CLS, KEY "cls_token_id", NULL },
    { HN_SPECIAL_MASK, KEY "mask_token_id", NULL },
    { HN_SPECIAL_FIM_PRE, KEY "fim_pre_token_id", KEY "prefix_token_id" },
    { HN_SPECIAL_FIM_SUF, KEY "fim_suf_token_id", KEY "suffix_token_id" },
    { HN_SPECIAL_FIM_MID, KEY "fim_mid_token_id", KEY "middle_token_id" },
    { HN_SPECIAL_FIM_PAD, KEY "fim_pad_token_id", NULL },
    { HN_SPECIAL_FIM_REP, KEY "fim_rep_token_id", NULL },
    { HN_SPECIAL_FIM_SEP, KEY "fim_sep_token_id", NULL },
};

static hn_status read_specials(loader *l)
{
    hn_tokenizer *tok = l->tok;
    for (const hn_family_special *s = tok->family->specials; s && s->id >= 0; s++)
        if (s->id < tok->vocab.n)
            tok->special[s->role] = s->id;
    for (size_t i = 0; i < HN_COUNT(special_keys); i++) {
        const char *key = special_keys[i].key;
        if (!hn_meta_find(l->meta, key) && special_keys[i].old_key)
            key = special_keys[i].old_key;
        int64_t id;
        HN_TRY(hn_meta_int(l->meta, key, -1, &id));
        /* Writers put 2^32 - 1 where there is none. */
        if (!hn_meta_find(l->meta, key) || id == UINT32_MAX || id == -1)
            continue;
        HN_REQUIRE(id >= 0 && id < tok->vocab.n, HN_ERR_FORMAT,
                   "%s: %s is %lld: expected less than %d tokens", l->file, key, (long long)id,
                   (int)tok->vocab.n);
        tok->special[special_keys[i].role] = (int32_t)id;
    }
    tok->unknown = tok->special[HN_SPECIAL_UNK];
    return HN_OK;
}

static hn_status read_around(loader *l)
{
    hn_tokenizer *tok = l->tok;
    const hn_family_calls *family = tok->family;
    const bool is_words = family->of_sentences;
    bool bos = tok->adds_prefix || family->adds_bos, eos = family->adds_eos;
    HN_TRY(hn_meta_bool(l->meta, KEY "add_bos_token", bos, &bos));
    HN_TRY(hn_meta_bool(l->meta, KEY "add_eos_token", eos, &eos));
    if (is_words)
        HN_TRY(hn_meta_bool(l->meta, KEY "add_sep_token", eos, &eos));
    int32_t first = tok->special[HN_SPECIAL_BOS], last = tok->special[HN_SPECIAL_EOS];
    if (is_words && tok->special[HN_SPECIAL_CLS] >= 0)
        first = tok->special[HN_SPECIAL_CLS];
    if (is_words && tok->special[HN_SPECIAL_SEP] >= 0)
        last = tok->special[HN_SPECIAL_SEP];
    tok->prefix = hn_alloc(tok->heap, HN_TAG_TEXT, sizeof *tok->prefix);
    tok->suffix = hn_alloc(tok->heap, HN_TAG_TEXT, sizeof *tok->suffix);
    if (!tok->prefix || !tok->suffix)
        return HN_ERR_MEMORY;
    *tok->prefix = first;
    *tok->suffix = last;
    tok->n_prefix = first >= 0;
    tok->n_suffix = last >= 0;
    tok->adds_prefix = (bos || family->always_adds_bos) && first >= 0;
    tok->adds_suffix = eos && last >= 0;
    return HN_OK;
}

static bool contains(hn_span text, const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.bytes; i++) {
        size_t k = 0;
        while (k < n && ((((const char *)text.data)[i + k] | 0x20) == (word[k] | 0x20)))
            k++;
        if (k == n)
            return true;
    }
    return false;
}

/* GGUF does not say which tokens take blanks along; these models' own files do. */
static void set_strips(const loader *l, hn_added *added)
{
    hn_span name = { NULL, 0 }, piece = hn_tokenizer_piece(l->tok, added->id);
    if (hn_meta_string(l->meta, "general.name", &name) != HN_OK)
        name.bytes = 0;
    const char *pre = hn_tokenizer_pre(l->tok);
    const bool is_mask =
        (piece.bytes == 6 && !memcmp(piece.data, "<mask>", 6) &&
         !strncmp(pre, "jina-v2-", 8)) ||
        (piece.bytes == 6 && !memcmp(piece.data, "[MASK]", 6) && !strcmp(pre, "modern-bert"));
    added->strips_left = is_mask;
    if (!contains(name, "phi-3") && !contains(name, "phi3"))
        return;
    added->strips_right = !(piece.bytes == 5 && !memcmp(piece.data, "<unk>", 5)) &&
                          !(piece.bytes == 3 && !memcmp(piece.data, "<s>", 3)) &&
                          !(piece.bytes == 13 && !memcmp(piece.data, "<|endoftext|>", 13));
}

static hn_status read_added(loader *l)
{
    for (int32_t id = 0; id < l->tok->vocab.n; id++) {
        const uint8_t kind = l->tok->vocab.kind[id];
        if (kind != HN_TOKEN_USER_DEFINED && kind != HN_TOKEN_CONTROL &&
            kind != HN_TOKEN_UNKNOWN)
            continue;
        hn_added added = { .id = id, .is_special = kind != HN_TOKEN_USER_DEFINED };
        set_strips(l, &added);
        HN_TRY(hn_tokenizer_read_flags(l->tok, l->meta, &added));
        HN_TRY(hn_tokenizer_add_added(l->tok, added));
    }
    return HN_OK;
}

/* The steps before the model, and how its pieces become text again. */
static hn_status read_steps(loader *l)
{
    hn_tokenizer *tok = l->tok;
    HN_TRY(hn_meta_bool(l->meta, KEY "add_space_prefix", tok->family->adds_space, &tok->adds_space_prefix));
    HN_TRY(hn_meta_bool(l->meta, KEY "remove_extra_whitespaces", false,
                        &tok->removes_extra_spaces));
    tok->decode.marks_spaces = !tok->family->of_bytes;
    tok->has_byte_fallback = tok->family->falls_back_to_bytes;
    return tok->family->read_gguf(tok, l->meta, l->file);
}

static hn_status read_kind(loader *l)
{
    hn_span model, pre;
    HN_TRY(hn_meta_want_string(l->meta, KEY "model", &model));
    hn_tokenizer *tok = l->tok;
    const hn_family *family = hn_family_of_gguf(model);
    HN_REQUIRE(family, HN_ERR_UNSUPPORTED,
               "%s: " KEY "model: '%.*s' is no tokenizer that hone knows", l->file,
               model.bytes > 60 ? 60 : (int)model.bytes, (const char *)model.data);
    tok->family = family->calls;
    tok->kind_name = family->gguf;
    HN_TRY(hn_meta_string(l->meta, KEY "pre", &pre));
    if (tok->family->read_pre)
        HN_TRY(tok->family->read_pre(tok, l->file, &pre));
    tok->pre_name = hn_alloc(tok->heap, HN_TAG_TEXT, pre.bytes + 1);
    if (!tok->pre_name)
        return HN_ERR_MEMORY;
    if (pre.bytes)
        memcpy(tok->pre_name, pre.data, pre.bytes);
    return HN_OK;
}

static hn_status load(loader *l)
{
    HN_TRY(read_kind(l));
    HN_TRY(read_vocab(l));
    HN_TRY(read_specials(l));
    HN_TRY(read_around(l));
    HN_TRY(read_steps(l));
    HN_TRY(hn_tokenizer_read_around(l->tok, l->meta));
    HN_TRY(read_added(l));
    HN_TRY(hn_tokenizer_settle(l->tok));
    hn_tokenizer_find_ends(l->tok);
    return hn_tokenizer_read_ends(l->tok, l->meta);
}

hn_status hn_tokenizer_from_meta(hn_heap *heap, const hn_meta *meta, hn_tokenizer **out)
{
    loader l = { .meta = meta, .file = meta->name ? meta->name : "model" };
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
