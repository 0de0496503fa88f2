/* decode: each token's text depends on nothing but itself and whether it is the first, so a
 * stream of ids and a list of them give the same bytes. */
#include "text/tokenizer/parts.h"

#include "base/str.h"
#include "base/work.h"

#include <string.h>

static const char mark[] = "\xe2\x96\x81"; /* U+2581 */

static void add_marked(const uint8_t *piece, size_t bytes, const hn_decode_rules *rules,
                       bool is_first, hn_str *out)
{
    bool drops = rules->drops_first_space && is_first;
    for (size_t i = 0; i < bytes;) {
        const bool is_mark = bytes - i >= 3 && memcmp(piece + i, mark, 3) == 0;
        if (is_mark && is_first && rules->drops_first_marks) {
            i += 3;
            continue;
        }
        const char c = is_mark ? ' ' : (char)piece[i];
        i += is_mark ? 3 : 1;
        if (!drops || c != ' ')
            hn_str_add_char(out, c);
        drops = false;
    }
}

/* What `tokenizers` cleans up, within one token. */
static void add_clean(const char *text, size_t bytes, hn_str *out)
{
    static const char *const pairs[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },    { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },  { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" }
    };
    for (size_t at = 0; at < bytes;) {
        size_t i = 0, n = 0;
        for (; i < HN_COUNT(pairs); i++) {
            n = strlen(pairs[i][0]);
            if (bytes - at >= n && memcmp(text + at, pairs[i][0], n) == 0)
                break;
        }
        if (i < HN_COUNT(pairs)) {
            hn_str_add(out, pairs[i][1]);
            at += n;
        } else {
            hn_str_add_char(out, text[at++]);
        }
    }
}

static hn_status add_word(const hn_tokenizer *tok, const uint8_t *piece, size_t bytes,
                          bool is_first, hn_str *out)
{
    hn_str word = hn_str_on(tok->heap);
    const size_t n_inside = strlen(tok->word_inside), n_begin = strlen(tok->word_begin);
    const bool continues =
        n_inside ? bytes >= n_inside && !memcmp(piece, tok->word_inside, n_inside)
                 : bytes < n_begin || memcmp(piece, tok->word_begin, n_begin) != 0;
    const size_t skipped = n_inside    ? (continues && !is_first ? n_inside : 0)
                           : continues ? 0
                                       : n_begin;
    if (!continues && !is_first)
        hn_str_add_char(&word, ' ');
    hn_str_add_bytes(&word, (const char *)piece + skipped, bytes - skipped);
    const hn_status status = hn_str_status(&word);
    if (tok->decode.cleans_up)
        add_clean(word.text, word.length, out);
    else
        hn_str_add_bytes(out, word.text, word.length);
    hn_str_free(&word);
    return status;
}

/* Adds the text of one token; *has_begun turns true with the first that is not left out. */
static hn_status add_token(const hn_tokenizer *tok, int32_t id, bool skip_special,
                           bool *has_begun, hn_str *out)
{
    HN_REQUIRE(id >= 0 && id < tok->vocab.n, HN_ERR_ARGUMENT, "token %d: expected 0 to %d",
               (int)id, (int)tok->vocab.n - 1);
    size_t bytes;
    const uint8_t *piece = hn_vocab_piece(&tok->vocab, id, &bytes);
    const uint8_t kind = tok->vocab.kind[id];
    const bool is_special = kind == HN_TOKEN_CONTROL || kind == HN_TOKEN_UNKNOWN;
    if (is_special && skip_special)
        return HN_OK;
    const bool is_first = !*has_begun;
    *has_begun = true;
    if (kind == HN_TOKEN_BYTE) {
        static const char digits[] = "0123456789ABCDEF";
        const char *high = bytes == 6 ? memchr(digits, piece[3], 16) : NULL;
        const char *low = bytes == 6 ? memchr(digits, piece[4], 16) : NULL;
        if (high && low)
            hn_str_add_char(out, (char)((high - digits) << 4 | (low - digits)));
    } else if (tok->decode.joins_words) {
        return add_word(tok, piece, bytes, is_first, out);
    } else if (tok->decode.marks_spaces && !is_special && !tok->vocab.is_plain[id]) {
        add_marked(piece, bytes, &tok->decode, is_first, out);
    } else {
        hn_str_add_bytes(out, (const char *)piece, bytes);
    }
    return out->status;
}

hn_status hn_tokenizer_decode(const hn_tokenizer *tok, const int32_t *ids, size_t n,
                              bool skip_special, hn_str *out)
{
    bool has_begun = false;
    for (size_t i = 0; i < n; i++) {
        if (hn_work_every(i + 1))
            HN_TRY(hn_work_look("decoding"));
        HN_TRY(add_token(tok, ids[i], skip_special, &has_begun, out));
    }
    return hn_str_status(out);
}

hn_decoder hn_decoder_on(const hn_tokenizer *tok, bool skip_special)
{
    return (hn_decoder){ .tok = tok, .skip_special = skip_special };
}

/* Bytes at the end that more bytes could make a character: 0 to 3. */
static int unfinished(const char *text, size_t bytes)
{
    const uint8_t *s = (const uint8_t *)text + bytes;
    for (int n = 1; n <= 3 && (size_t)n <= bytes; n++) {
        const uint8_t c = s[-n];
        if ((c & 0xc0) == 0x80)
            continue;
        const int wants = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
        return c < 0xf5 && wants > n ? n : 0;
    }
    return 0;
}

hn_status hn_decoder_add(hn_decoder *d, int32_t id, hn_str *out)
{
    hn_str text = hn_str_on(d->tok->heap);
    hn_str_add_bytes(&text, (const char *)d->held, (size_t)d->n_held);
    bool has_begun = d->has_begun;
    hn_status status = add_token(d->tok, id, d->skip_special, &has_begun, &text);
    if (status == HN_OK)
        status = hn_str_status(&text);
    if (status == HN_OK) {
        const int held = unfinished(text.text, text.length);
        hn_str_add_bytes(out, text.text, text.length - (size_t)held);
        status = hn_str_status(out);
        if (status == HN_OK) {
            memcpy(d->held, text.text + text.length - held, (size_t)held);
            d->n_held = held;
            d->has_begun = has_begun;
        }
    }
    hn_str_free(&text);
    return status;
}

hn_status hn_decoder_finish(hn_decoder *d, hn_str *out)
{
    hn_str_add_bytes(out, (const char *)d->held, (size_t)d->n_held);
    d->n_held = 0;
    d->has_begun = false;
    return hn_str_status(out);
}

hn_status hn_tokenizer_inner_text(const hn_tokenizer *tok, int32_t id, hn_str *out)
{
    bool has_begun = true;
    HN_TRY(add_token(tok, id, false, &has_begun, out));
    return hn_str_status(out);
}
