/* A token's text need be no whole text: OpenAI's chats have its bytes beside it, the old form has them in its place. */
#include "server/scores.h"

#include "base/utf8.h"

#include <string.h>

/* ---- a list ---- */

static size_t bytes_of(const hn_told_tokens *tokens)
{
    return sizeof(hn_told_token) + (size_t)tokens->likeliest * sizeof(hn_lm_likely);
}

void hn_told_free(hn_told_tokens *tokens)
{
    if (tokens->at)
        hn_free(tokens->heap, tokens->at);
    tokens->at = NULL;
    tokens->n = tokens->room = 0;
}

hn_status hn_told_reserve(hn_told_tokens *tokens, size_t room)
{
    if (room <= tokens->room)
        return HN_OK;
    char *grown = hn_realloc_array(tokens->heap, HN_TAG_TEXT, tokens->at, room, bytes_of(tokens));
    if (!grown)
        return HN_ERR_MEMORY;
    tokens->at = grown;
    tokens->room = room;
    return HN_OK;
}

hn_status hn_told_add(hn_told_tokens *tokens, const hn_told_token *of, const hn_lm_likely *likeliest)
{
    if (tokens->n == tokens->room)
        HN_TRY(hn_told_reserve(tokens, tokens->room ? 2 * tokens->room : 16));
    hn_told_token *t = (hn_told_token *)(void *)(tokens->at + tokens->n++ * bytes_of(tokens));
    *t = *of;
    if (of->n_likeliest)
        memcpy(t->likeliest, likeliest, (size_t)of->n_likeliest * sizeof *t->likeliest);
    return HN_OK;
}

const hn_told_token *hn_told_at(const hn_told_tokens *tokens, size_t i)
{
    return (const hn_told_token *)(const void *)(tokens->at + i * bytes_of(tokens));
}

/* ---- as it is told ---- */

typedef struct piece {
    const char *data;
    size_t bytes;
} piece;

static piece piece_of(const hn_lm *lm, int32_t id)
{
    const char *text = "";
    size_t bytes = 0;
    if (hn_lm_piece(lm, id, &text, &bytes) != HN_OK)
        bytes = 0; /* a vocabulary's padding */
    return (piece){ text, bytes };
}

void hn_score_add_token(hn_json_writer *w, const hn_lm *lm, int32_t id)
{
    const piece own = piece_of(lm, id);
    const hn_json text = hn_json_of_string(own.data, own.bytes);
    hn_json_key(w, "token");
    hn_json_add_scalar(w, &text);
    hn_json_key(w, "bytes");
    hn_json_begin_array(w);
    for (size_t i = 0; i < own.bytes; i++)
        hn_json_add_int(w, (unsigned char)own.data[i]);
    hn_json_end_array(w);
}

static void add_scored(hn_json_writer *w, const hn_lm *lm, int32_t id, double value)
{
    hn_score_add_token(w, lm, id);
    hn_json_key(w, "logprob");
    hn_json_add_double(w, value);
}

void hn_score_add(hn_json_writer *w, const hn_lm *lm, const hn_told_token *t)
{
    hn_json_begin_object(w);
    add_scored(w, lm, t->id, t->log_probability);
    hn_json_key(w, "top_logprobs");
    hn_json_begin_array(w);
    for (int32_t k = 0; k < t->n_likeliest; k++) {
        hn_json_begin_object(w);
        add_scored(w, lm, t->likeliest[k].id, t->likeliest[k].log_probability);
        hn_json_end_object(w);
    }
    hn_json_end_array(w);
    hn_json_end_object(w);
}

static void piece_text(const hn_lm *lm, int32_t id, hn_str *out)
{
    const piece own = piece_of(lm, id);
    size_t at = 0;
    for (size_t n; at < own.bytes && own.data[at] && (n = hn_utf8_length(own.data + at, own.bytes - at)); at += n)
        ;
    if (at == own.bytes) {
        hn_str_add_bytes(out, own.data, own.bytes);
        return;
    }
    hn_str_add(out, "bytes:");
    for (size_t i = 0; i < own.bytes; i++)
        hn_str_print(out, "\\x%02x", (unsigned char)own.data[i]);
}

void hn_score_add_piece(hn_json_writer *w, const hn_lm *lm, int32_t id)
{
    hn_str text = hn_str_on(w->to->heap);
    piece_text(lm, id, &text);
    hn_json_add_string(w, text.text);
    hn_str_end(&text, w->to);
}

static bool is_told(const hn_lm *lm, const hn_told_token *t, int32_t n, const char *text, hn_str *to)
{
    bool is_there = false;
    for (int32_t k = 0; k < n && !is_there; k++) {
        hn_str other = hn_str_on(to->heap);
        piece_text(lm, t->likeliest[k].id, &other);
        is_there = !strcmp(other.text, text);
        hn_str_end(&other, to);
    }
    return is_there;
}

/* A key stands once: of tokens with the same text the likeliest does. */
void hn_score_add_likeliest(hn_json_writer *w, const hn_lm *lm, const hn_told_token *t)
{
    hn_json_begin_object(w);
    for (int32_t k = 0; k <= t->n_likeliest; k++) {
        const bool is_own = k == t->n_likeliest;
        hn_str text = hn_str_on(w->to->heap);
        piece_text(lm, is_own ? t->id : t->likeliest[k].id, &text);
        if (!is_told(lm, t, k, text.text, w->to)) {
            hn_json_key(w, text.text);
            hn_json_add_double(w, is_own ? t->log_probability : t->likeliest[k].log_probability);
        }
        hn_str_end(&text, w->to);
    }
    hn_json_end_object(w);
}

/* ---- of a prompt ---- */

hn_status hn_score_say(hn_lm *lm, const int32_t *ids, size_t n, hn_str *said, size_t *begins)
{
    hn_lm_decoder *decoder = NULL;
    const char *text;
    size_t bytes;
    hn_status status = hn_lm_decoder_new(&decoder, lm, 0);
    for (size_t i = 0; i < n && status == HN_OK; i++) {
        begins[i] = said->length;
        status = hn_lm_decoder_add(decoder, ids[i], &text, &bytes);
        if (status == HN_OK)
            hn_str_add_bytes(said, text, bytes);
    }
    if (status == HN_OK)
        status = hn_lm_decoder_finish(decoder, &text, &bytes);
    if (status == HN_OK)
        hn_str_add_bytes(said, text, bytes);
    hn_lm_decoder_free(decoder);
    return status == HN_OK ? hn_str_status(said) : status;
}
