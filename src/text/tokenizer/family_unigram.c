/* family_unigram: the likeliest cut into pieces with scores, as SentencePiece has it beside its pairs. */
#include "text/tokenizer/family.h"

#include "base/host.h"
#include "base/number.h"
#include "base/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY "tokenizer.ggml."

static hn_status make_path(struct hn_encoder *e, size_t n)
{
    if (n <= e->path_room)
        return HN_OK;
    double *score = hn_realloc_array(e->heap, HN_TAG_TEXT, e->score, n, sizeof *score);
    e->score = score ? score : e->score;
    uint32_t *start = hn_realloc_array(e->heap, HN_TAG_TEXT, e->start, n, sizeof *start);
    e->start = start ? start : e->start;
    int32_t *id = hn_realloc_array(e->heap, HN_TAG_TEXT, e->id, n, sizeof *id);
    e->id = id ? id : e->id;
    if (!score || !start || !id)
        return HN_ERR_MEMORY;
    e->path_room = n;
    return HN_OK;
}

/* Viterbi: score[i] is that of the best cut of the first i bytes, whose last token is id[i]
 * from start[i] on. Of equal ones the first found stays. */
static hn_status find_path(const hn_tokenizer *tok, struct hn_encoder *e, hn_piece piece)
{
    const uint8_t *text = e->text.bytes + piece.begin;
    const size_t n = piece.end - piece.begin;
    for (size_t i = 0; i <= n; i++)
        e->start[i] = UINT32_MAX;
    e->score[0] = 0;
    size_t n_char;
    uint64_t n_chars = 0;
    for (size_t at = 0; at < n; at += n_char) {
        uint32_t code, node = 0;
        if (hn_work_every(++n_chars))
            HN_TRY(hn_work_look("encoding"));
        n_char = hn_char_at(text + at, text + n, &code);
        bool has_char = false;
        for (size_t i = at; i < n && (node = hn_trie_child(&tok->trie, node, text[i])); i++) {
            const int32_t id = tok->trie.value[node];
            if (id < 0)
                continue;
            const double score = e->score[at] + tok->vocab.score[id];
            if (e->start[i + 1] == UINT32_MAX || score > e->score[i + 1]) {
                e->score[i + 1] = score;
                e->start[i + 1] = (uint32_t)at;
                e->id[i + 1] = id;
            }
            has_char |= i + 1 == at + n_char;
        }
        const double score = e->score[at] + tok->unknown_score;
        const size_t end = at + n_char;
        if (!has_char && (e->start[end] == UINT32_MAX || score > e->score[end])) {
            e->score[end] = score;
            e->start[end] = (uint32_t)at;
            e->id[end] = -1;
        }
    }
    return HN_OK;
}

static hn_status encode(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    const size_t n = piece.end - piece.begin;
    HN_TRY(make_path(e, n + 1));
    HN_TRY(find_path(tok, e, piece));
    /* Turn the way back into the way there: start[i] becomes where the token from i on ends. */
    uint32_t next = UINT32_MAX;
    int32_t next_id = 0;
    for (uint32_t at = (uint32_t)n;;) {
        const uint32_t before = at ? e->start[at] : 0;
        const int32_t id = at ? e->id[at] : 0;
        e->start[at] = next;
        e->id[at] = next_id;
        if (!at)
            break;
        next = at;
        next_id = id;
        at = before;
    }
    for (uint32_t at = 0; at < n;) {
        uint32_t end = e->start[at];
        const int32_t id = e->id[at];
        while (id < 0 && end < n && e->id[end] < 0)
            end = e->start[end];
        if (id < 0)
            HN_TRY(hn_model_add_unknown(tok, piece.begin + at, piece.begin + end, offsets, out));
        else
            HN_TRY(hn_encoding_add(out, id, piece.begin + at, piece.begin + end, offsets));
        at = end;
    }
    return HN_OK;
}

static hn_status settle(hn_tokenizer *tok)
{
    double least = INFINITY;
    const int32_t n = tok->from_json ? tok->n_scored : tok->vocab.n;
    for (int32_t id = 0; id < n; id++) {
        size_t bytes;
        const uint8_t *piece = hn_vocab_piece(&tok->vocab, id, &bytes);
        if ((tok->vocab.kind[id] == HN_TOKEN_NORMAL || tok->from_json) &&
            tok->vocab.score[id] < least)
            least = tok->vocab.score[id];
        if (bytes && (hn_model_makes(tok, id) || tok->from_json) &&
            tok->vocab.kind[id] != HN_TOKEN_UNUSED)
            HN_TRY(hn_trie_add(&tok->trie, piece, bytes, id));
    }
    tok->unknown_score = (isinf(least) ? 0 : least) - 10;
    return HN_OK;
}

/* The number that `tokenizers` reads: it takes the digits as an integer and divides by a power
 * of ten, which rounds twice where there are more than 15. Cuts whose scores are equal on paper
 * are told apart by that. `score` was written in as few digits as tell it apart. */
static double twice_rounded(double score)
{
    char text[40];
    int digits = 15;
    for (; digits <= 17; digits++) {
        double again = 0;
        hn_text_print(text, sizeof text, "%.*e", digits - 1, score);
        if (hn_number_parse(text, &again) && again == score)
            break;
    }
    if (digits == 15 || digits == 18)
        return score; /* fits a double's 53 bits: rounded once */
    uint64_t significand = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            significand = 10 * significand + (uint64_t)(*at - '0');
    int exponent = (int)strtol(at + 1, NULL, 10) - (digits - 1);
    for (; significand % 10 == 0; exponent++)
        significand /= 10;
    if (exponent >= 0 || exponent < -22)
        return score;
    double power = 1; /* exact up to 10^22 */
    for (; exponent < 0; exponent++)
        power *= 10;
    const double magnitude = (double)significand / power;
    return score < 0 ? -magnitude : magnitude;
}

static bool is_untyped(const hn_json *model)
{
    const hn_json *vocab = hn_json_get(model, "vocab");
    return vocab && vocab->kind == HN_JSON_ARRAY;
}

static hn_status read_json(hn_json_loader *l, const hn_json *model)
{
    hn_tokenizer *tok = l->tok;
    const hn_json *vocab = hn_json_get(model, "vocab");
    HN_REQUIRE(!vocab || vocab->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "%s: model.vocab: expected an array", l->file);
    HN_TRY(hn_json_read_vocab(l));
    tok->has_byte_fallback = hn_json_flag_of(model, "byte_fallback", false);
    tok->vocab.score = hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tok->vocab.n + 1,
                                      sizeof *tok->vocab.score);
    if (!tok->vocab.score)
        return HN_ERR_MEMORY;
    int32_t id = 0;
    for (const hn_json *i = hn_json_items_of(model, "vocab"); i; i = i->next, id++) {
        double score;
        HN_TRY(hn_json_want_double(hn_json_at(i, 1), "model.vocab: score", &score));
        tok->vocab.score[id] = twice_rounded(score);
    }
    tok->n_scored = id;
    const hn_json *unknown = hn_json_get(model, "unk_id");
    if (unknown && unknown->kind == HN_JSON_INT) {
        HN_REQUIRE(hn_json_int(unknown) >= 0 && hn_json_int(unknown) < id, HN_ERR_FORMAT,
                   "%s: model.unk_id is %lld of %d tokens", l->file,
                   (long long)hn_json_int(unknown), (int)id);
        tok->unknown = (int32_t)hn_json_int(unknown);
    }
    return HN_OK;
}

static hn_status end_json(hn_json_loader *l, const char **pre)
{
    (void)pre;
    return hn_unigram_steps_keep(l);
}

static hn_status read_gguf(hn_tokenizer *tok, const hn_meta *meta, const char *file)
{
    tok->decode.drops_first_space = tok->adds_space_prefix;
    for (int32_t id = 0; id < tok->vocab.n; id++)
        if (tok->vocab.kind[id] == HN_TOKEN_USER_DEFINED)
            tok->vocab.score[id] = 0;
    const hn_meta_value *map = hn_meta_find(meta, KEY "precompiled_charsmap");
    if (map && map->n) {
        HN_REQUIRE(map->is_array && hn_meta_type_bytes(map->type) == 1, HN_ERR_FORMAT,
                   "%s: " KEY "precompiled_charsmap: expected an array of bytes", file);
        const hn_status status = hn_charsmap_check((const char *)map->data, map->bytes);
        if (status != HN_OK)
            return hn_fail_within(status, "%s: " KEY, file);
    }
    /* hone's own key, for what the format cannot say. */
    hn_span steps;
    HN_TRY(hn_meta_string(meta, "hone.tokenizer.steps", &steps));
    if (steps.data) {
        const hn_span charsmap = { map ? map->data : NULL, map ? map->bytes : 0 };
        const hn_status status = hn_unigram_steps_read(tok, steps, charsmap);
        return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", file);
    }
    if (map && map->n)
        HN_TRY(hn_normalizer_add_text(&tok->normalizer, HN_NORM_CHARSMAP,
                                      (const char *)map->data, map->bytes));
    if (tok->removes_extra_spaces)
        HN_TRY(hn_normalizer_add(&tok->normalizer, (hn_norm_step){ .kind = HN_NORM_COLLAPSE }));
    if (tok->adds_space_prefix)
        HN_TRY(hn_normalizer_add_text(&tok->normalizer, HN_NORM_PREPEND, " ", 1));
    return hn_normalizer_add_marks(&tok->normalizer);
}

static hn_status write_charsmap(const hn_tokenizer *tok, const hn_norm_step *step,
                                hn_meta *meta)
{
    int64_t *bytes = hn_alloc_array(tok->heap, HN_TAG_TEXT, step->bytes, sizeof *bytes);
    for (size_t k = 0; bytes && k < step->bytes; k++)
        bytes[k] = (uint8_t)step->text[k];
    const hn_status status = bytes ? hn_meta_set_ints(meta, KEY "precompiled_charsmap",
                                                      HN_META_U8, bytes, step->bytes)
                                   : HN_ERR_MEMORY;
    hn_free(tok->heap, bytes);
    return status;
}

/* The map and what blanks become have words in GGUF; hone's own key has all steps. */
static hn_status write_gguf(const hn_tokenizer *tok, hn_meta *meta)
{
    bool collapses = tok->removes_extra_spaces;
    HN_REQUIRE(tok->steps || !tok->from_json, HN_ERR_UNSUPPORTED,
               "normalizer: two maps of characters, or too much, for GGUF and hone's own key");
    for (size_t i = 0; i < tok->normalizer.n; i++)
        if (tok->normalizer.steps[i].kind == HN_NORM_CHARSMAP)
            HN_TRY(write_charsmap(tok, &tok->normalizer.steps[i], meta));
    for (size_t i = 0; i < tok->splitter.n && tok->from_json; i++)
        collapses |= tok->splitter.steps[i].behavior == HN_SPLIT_REMOVED &&
                     tok->splitter.steps[i].kind == HN_SPLIT_REGEX;
    if (tok->steps)
        HN_TRY(hn_meta_set_text(meta, "hone.tokenizer.steps", tok->steps));
    HN_TRY(hn_meta_set_bool(meta, KEY "add_space_prefix", tok->adds_space_prefix));
    HN_TRY(hn_meta_set_bool(meta, KEY "remove_extra_whitespaces", collapses));
    HN_TRY(hn_meta_set_text(meta, KEY "pre", "default"));
    return hn_tokenizer_write_scores(tok, meta, tok->vocab.score);
}

static const hn_family_special specials[] = {
    { HN_SPECIAL_EOS, 1 }, { HN_SPECIAL_UNK, 2 }, { HN_SPECIAL_PAD, 0 }, { HN_N_SPECIALS, -1 }
};

const hn_family_calls hn_family_unigram = {
    .encode = encode,
    .settle = settle,
    .is_untyped = is_untyped,
    .read_json = read_json,
    .end_json = end_json,
    .specials = specials,
    .needs_scores = true,
    .adds_eos = true,
    .adds_space = true,
    .read_gguf = read_gguf,
    .write_gguf = write_gguf,
};
