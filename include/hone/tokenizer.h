/* tokenizer.h: text to ids and ids to text, by the tokenizer that a model has. docs/tokenizers.md. */
#ifndef HONE_TOKENIZER_H
#define HONE_TOKENIZER_H

#include "hone/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hn_lm_text {
    HN_LM_PLAIN,    /* a text: the model's own BOS before it, nothing after it */
    HN_LM_MARKED,   /* the same, and <|special|> tokens written in it are meant as such */
    HN_LM_RENDERED, /* the same, and with one BOS, whoever wrote that. Of conversations, hn_lm_render_ids (chat.h) makes
                     * ids: in a text, whoever wrote <|special|> is not known, and all of it is taken as meant */
    HN_LM_BARE      /* a piece of a text: nothing before or after it */
} hn_lm_text;

/* *n is how many ids there are; `ids` gets them if there is room. With `room` 0 it only counts; with too
 * little it is HN_ERR_ARGUMENT. The text is UTF-8, and may hold anything else and NULs. A long one is ended by
 * hn_engine_cancel and told of by hn_engine_on_work. */
HN_API hn_status hn_lm_encode(const hn_lm *lm, const char *text, size_t bytes, hn_lm_text kind,
                              int32_t *ids, size_t room, size_t *n);

/* The same with each thing said apart; zero is what the model does around a whole text. */
typedef struct hn_lm_encode_options {
    size_t size;
    int32_t no_bos, no_eos; /* leaves out what the model puts before, and after */
    int32_t special;        /* <|special|> tokens written in the text are meant as such */
} hn_lm_encode_options;
HN_API hn_status hn_lm_encode_by(const hn_lm *lm, const char *text, size_t bytes,
                                 const hn_lm_encode_options *options_or_null, int32_t *ids, size_t room, size_t *n);

/* A token's own bytes, as the tokenizer has them; they live as long as the model, and end in no NUL. */
HN_API hn_status hn_lm_piece(const hn_lm *lm, int32_t id, const char **text, size_t *bytes);

/* The text of ids, as hn_lm_meta gives one; without special tokens unless `with_special`. Ended by hn_engine_cancel. */
HN_API hn_status hn_lm_decode(const hn_lm *lm, const int32_t *ids, size_t n, int32_t with_special,
                              char *to, size_t room, size_t *bytes);

/* The same id by id, as they come. The caller frees it; it holds its model. Used by one thread at a time. */
typedef struct hn_lm_decoder hn_lm_decoder;
/* `follows`: what is decoded goes on with a text, so that a space at its beginning stays. */
HN_API hn_status hn_lm_decoder_new(hn_lm_decoder **out, hn_lm *lm, int32_t follows);
HN_API void hn_lm_decoder_free(hn_lm_decoder *decoder); /* takes NULL */
/* *text, which ends in NUL and lives until the next call, is whole characters, and "" while one is not
 * whole. An id that the model has and the tokenizer has not (vocabularies are padded) has no text. */
HN_API hn_status hn_lm_decoder_add(hn_lm_decoder *decoder, int32_t id, const char **text, size_t *bytes);
/* What was held back; the decoder begins anew. */
HN_API hn_status hn_lm_decoder_finish(hn_lm_decoder *decoder, const char **text, size_t *bytes);

typedef enum hn_lm_role {
    HN_LM_BOS,
    HN_LM_EOS,
    HN_LM_EOT, /* end of turn */
    HN_LM_EOM, /* end of a message that a tool is to answer */
    HN_LM_UNK,
    HN_LM_SEP,
    HN_LM_PAD,
    HN_LM_CLS,
    HN_LM_MASK
} hn_lm_role;

HN_API int32_t hn_lm_special(const hn_lm *lm, hn_lm_role role); /* -1: it has none */
/* Whether a model that gives this id is done. */
HN_API int32_t hn_lm_ends(const hn_lm *lm, int32_t id);
HN_API int64_t hn_lm_tokens(const hn_lm *lm); /* that the tokenizer has */

#ifdef __cplusplus
}
#endif
#endif
