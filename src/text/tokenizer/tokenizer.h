/* tokenizer.h: text to ids and ids to text, exactly as the model was trained with.
 *
 * A tokenizer is made once and then only read: any number of threads may encode and decode with
 * it, each with its own hn_encoding. What its files ask for and hone does not have is refused
 * by name when it is made. Bytes that are no UTF-8 survive where the vocabulary has tokens for
 * bytes. docs/tokenizers.md has the rules and their sources. */
#ifndef HN_TEXT_TOKENIZER_TOKENIZER_H
#define HN_TEXT_TOKENIZER_TOKENIZER_H

#include "base/json.h"
#include "base/meta.h"
#include "text/unicode/origins.h"
#include "text/tokenizer/vocab.h"

typedef struct hn_tokenizer hn_tokenizer;

/* From the keys tokenizer.ggml.*; nothing of `meta` is kept. */
hn_status hn_tokenizer_from_meta(hn_heap *heap, const hn_meta *meta, hn_tokenizer **out);
/* From tokenizer.json; the others may be NULL: tokenizer_config.json says which tokens begin
 * and end a text, generation_config.json which end a generation. `name` begins messages. */
hn_status hn_tokenizer_from_json(hn_heap *heap, const char *name, const hn_json *tokenizer,
                                 const hn_json *config, const hn_json *generation,
                                 hn_tokenizer **out);
void hn_tokenizer_free(hn_tokenizer *tok); /* takes NULL */

/* Writes the keys tokenizer.ggml.* as llama.cpp's converter would; HN_ERR_UNSUPPORTED names
 * what they cannot say. */
hn_status hn_tokenizer_to_meta(const hn_tokenizer *tok, hn_meta *meta);

typedef enum hn_choice { HN_BY_MODEL, HN_YES, HN_NO } hn_choice;

typedef struct hn_encode_options {
    hn_choice add_bos, add_eos; /* what the model puts before and after a text */
    bool parse_special;         /* control tokens written out in the text are meant */
    bool wants_offsets;
    /* Whose words they are; NULL: nobody asked. What is data becomes no special token, nor a part of one, and no mark
     * that the template writes itself; ordinary tokens form across the edge as everywhere. */
    const hn_text_origins *origins;
} hn_encode_options;

/* The ids of a text, and what encoding needs on the way: keep one a thread, zeroed at first,
 * and use it again, since it remembers words. */
typedef struct hn_encoding {
    int32_t *ids;
    size_t n;
    uint32_t *begin,
        *end; /* with wants_offsets: bytes of the text that each token covers; where
               * normalising moved text, those of the characters it came from */
    size_t room;
    struct hn_encoder *encoder;
} hn_encoding;

/* Adds nothing to what `out` held before: it holds this text's ids. At most 2 GiB. On failure
 * it is empty. */
hn_status hn_tokenizer_encode(const hn_tokenizer *tok, const char *text, size_t bytes,
                              const hn_encode_options *options, hn_encoding *out);
void hn_encoding_free(hn_encoding *encoding);

/* Adds the text of the ids to `out`. HN_ERR_ARGUMENT if there is no such id. */
hn_status hn_tokenizer_decode(const hn_tokenizer *tok, const int32_t *ids, size_t n,
                              bool skip_special, hn_str *out);

/* The text of a token within a text, special or not. */
hn_status hn_tokenizer_inner_text(const hn_tokenizer *tok, int32_t id, hn_str *out);

/* The same id by id. `hold` keeps what may be the first half of a character, so that each text
 * given out is whole characters, unless the bytes are no UTF-8 at all. */
typedef struct hn_decoder {
    const hn_tokenizer *tok;
    bool skip_special, has_begun;
    uint8_t held[4];
    int n_held;
} hn_decoder;
hn_decoder hn_decoder_on(const hn_tokenizer *tok, bool skip_special);
hn_status hn_decoder_add(hn_decoder *decoder, int32_t id, hn_str *out);
hn_status hn_decoder_finish(hn_decoder *decoder, hn_str *out);

int32_t hn_tokenizer_size(const hn_tokenizer *tok);
const char *
hn_tokenizer_kind(const hn_tokenizer *tok); /* "gpt2", "llama", "t5", "bert", "gemma4" */
const char *hn_tokenizer_pre(const hn_tokenizer *tok); /* "qwen2"; "" if it has no name */

/* The piece in the vocabulary: bytes, with marks for spaces as stored; {NULL, 0}: no such id.
 */
hn_span hn_tokenizer_piece(const hn_tokenizer *tok, int32_t id);
hn_token_kind hn_tokenizer_token_kind(const hn_tokenizer *tok, int32_t id);
/* Of a piece as hn_tokenizer_piece gives it; -1 if there is none. */
int32_t hn_tokenizer_find(const hn_tokenizer *tok, const char *piece, size_t bytes);

typedef enum hn_special {
    HN_SPECIAL_BOS,
    HN_SPECIAL_EOS,
    HN_SPECIAL_EOT,
    HN_SPECIAL_EOM,
    HN_SPECIAL_UNK,
    HN_SPECIAL_SEP,
    HN_SPECIAL_PAD,
    HN_SPECIAL_CLS,
    HN_SPECIAL_MASK,
    HN_SPECIAL_FIM_PRE,
    HN_SPECIAL_FIM_SUF,
    HN_SPECIAL_FIM_MID,
    HN_SPECIAL_FIM_PAD,
    HN_SPECIAL_FIM_REP,
    HN_SPECIAL_FIM_SEP,
    HN_N_SPECIALS
} hn_special;
int32_t hn_tokenizer_special(const hn_tokenizer *tok,
                             hn_special which); /* -1 if there is none */

/* SHA-256 of its pieces, their kinds and its special tokens, and of the ids of a text that tries
 * its rules: the same for equal tokenizers, whatever files they come from. */
hn_status hn_tokenizer_digest(const hn_tokenizer *tok, char text[65]);
/* The same of its other form: as GGUF has it for a model of so many rows, whose ids without a token are named [PADi],
 * or with 0 as a directory has it. */
hn_status hn_tokenizer_digest_padded(const hn_tokenizer *tok, int64_t rows, char text[65]);

/* Whether a model that gives this id is done. */
bool hn_tokenizer_ends(const hn_tokenizer *tok, int32_t id);
/* Whether a text gets something before it, or after it, unless told otherwise. */
bool hn_tokenizer_adds_bos(const hn_tokenizer *tok);
bool hn_tokenizer_adds_eos(const hn_tokenizer *tok);

#endif
