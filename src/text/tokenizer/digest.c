/* Of every token its text and kind, then the special ids, then the ids of one probe: what is made of any other
 * text it cannot say. */
#include "base/sha256.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>

/* Blanks, digits, contractions, scripts, emoji, half-written marks: where tokenizers differ. */
static const char probe[] =
    "Hello, world!  It's 2026-01-01; don't   we'll THEY'RE 1234567 3.14 x=y+z;\n\n\tfoo_bar(42) "
    "caf\xc3\xa9 na\xc3\xafve \xe4\xbd\xa0\xe5\xa5\xbd \xe3\x81\x93\xe3\x82\x93 "
    "\xd0\x9f\xd1\x80\xd0\xb8 \xd7\xa9\xd7\x9c \xe0\xa4\xa8 \xf0\x9f\x98\x80\xf0\x9f\x91\x8d"
    "\xf0\x9f\x8f\xbd ... --- <|end|> <s> </s> [INST] \xe2\x96\x81 \xc2\xa0 \r\n end ";

enum { PAD_TEXT = 24 };

static void add_token(hn_sha256 *sha, const void *text, size_t bytes, int kind)
{
    const int32_t head[2] = { (int32_t)bytes, kind };
    hn_sha256_add(sha, head, sizeof head);
    hn_sha256_add(sha, text, bytes);
}

static size_t pad_text(int32_t id, char out[PAD_TEXT])
{
    return (size_t)snprintf(out, PAD_TEXT, "[PAD%d]", (int)id);
}

/* An id of no token: without a text in tokenizer.json, with one made up in GGUF. */
static bool is_hole(const hn_tokenizer *tok, int32_t id)
{
    char text[PAD_TEXT];
    const size_t n = pad_text(id, text);
    if (id >= hn_tokenizer_size(tok))
        return true;
    const hn_span piece = hn_tokenizer_piece(tok, id);
    return hn_tokenizer_token_kind(tok, id) == HN_TOKEN_UNUSED &&
           (!piece.bytes || (piece.bytes == n && !memcmp(piece.data, text, n)));
}

static void add_as_stored(const hn_tokenizer *tok, hn_sha256 *sha)
{
    for (int32_t id = 0; id < hn_tokenizer_size(tok); id++) {
        const hn_span piece = hn_tokenizer_piece(tok, id);
        add_token(sha, piece.data, piece.bytes, (int)hn_tokenizer_token_kind(tok, id));
    }
}

/* The first `rows` ids with their holes named, or up to the last token with none named. */
static void add_as_padded(const hn_tokenizer *tok, int32_t rows, hn_sha256 *sha)
{
    int32_t n = rows ? rows : hn_tokenizer_size(tok);
    while (!rows && n > 0 && is_hole(tok, n - 1))
        n--;
    for (int32_t id = 0; id < n; id++) {
        char text[PAD_TEXT];
        if (is_hole(tok, id)) {
            add_token(sha, text, rows ? pad_text(id, text) : 0, HN_TOKEN_UNUSED);
        } else {
            const hn_span piece = hn_tokenizer_piece(tok, id);
            add_token(sha, piece.data, piece.bytes, (int)hn_tokenizer_token_kind(tok, id));
        }
    }
}

static hn_status finish(const hn_tokenizer *tok, hn_sha256 *whole, char text[65])
{
    hn_sha256 sha = *whole;
    uint8_t digest[32];
    hn_encoding encoding = { 0 };
    const hn_encode_options o = { .parse_special = true };
    for (int i = 0; i < HN_N_SPECIALS; i++) {
        const int32_t id = hn_tokenizer_special(tok, (hn_special)i);
        hn_sha256_add(&sha, &id, sizeof id);
    }
    const hn_status status = hn_tokenizer_encode(tok, probe, strlen(probe), &o, &encoding);
    if (status == HN_OK)
        hn_sha256_add(&sha, encoding.ids, encoding.n * sizeof *encoding.ids);
    hn_encoding_free(&encoding);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return status;
}

hn_status hn_tokenizer_digest(const hn_tokenizer *tok, char text[65])
{
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    add_as_stored(tok, &sha);
    return finish(tok, &sha, text);
}

hn_status hn_tokenizer_digest_padded(const hn_tokenizer *tok, int64_t rows, char text[65])
{
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    add_as_padded(tok, (int32_t)rows, &sha);
    return finish(tok, &sha, text);
}
