/* family.h: what a family of tokenizers is: families.def as a table, and what its files share. Private to this folder.
 *
 * A family makes the ids of one piece of text. What it stands on is everybody's: a vocabulary, added tokens that are
 * looked for first, steps that normalise and cut the text, rules by which ids become text again. It says where those come
 * from in either format, and what of them GGUF can hold. */
#ifndef HN_TEXT_TOKENIZER_FAMILY_H
#define HN_TEXT_TOKENIZER_FAMILY_H

#include "text/tokenizer/json_parts.h"

typedef struct hn_family_special {
    hn_special role;
    int32_t id; /* -1: the end of the list */
} hn_family_special;

/* What is NULL is not done. `file` begins messages. */
typedef struct hn_family_calls {
    bool of_bytes;    /* pieces are bytes: in files characters stand for them */
    bool joins_words; /* without a decoder in tokenizer.json, words are joined by spaces */

    /* Ids of one piece of out->encoder->text. */
    hn_status (*encode)(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out);
    /* Tables that follow from the vocabulary and the steps. */
    hn_status (*settle)(hn_tokenizer *tok);

    /* tokenizer.json */
    bool (*is_untyped)(const hn_json *model); /* whether a model without a type is of this one */
    hn_status (*read_json)(hn_json_loader *l, const hn_json *model);
    hn_status (*end_json)(hn_json_loader *l, const char **pre); /* after the steps: names it has in GGUF */

    /* GGUF: what is so where the file does not say */
    const hn_family_special *specials;
    bool needs_scores;
    bool adds_bos, adds_eos;
    bool always_adds_bos; /* whatever the file says */
    bool of_sentences;    /* a text stands between CLS and SEP */
    bool adds_space;      /* before the text */
    bool falls_back_to_bytes;
    hn_status (*read_pre)(hn_tokenizer *tok, const char *file, hn_span *pre); /* before the vocabulary */
    hn_status (*read_gguf)(hn_tokenizer *tok, const hn_meta *meta, const char *file); /* steps, merges */
    hn_status (*write_gguf)(const hn_tokenizer *tok, hn_meta *meta);
    void (*put_piece)(const hn_tokenizer *tok, const uint8_t *piece, size_t bytes, hn_str *out);
} hn_family_calls;

typedef struct hn_family {
    const char *name, *gguf, *json;
    const hn_family_calls *calls;
} hn_family;

#define HN_FAMILY(name, gguf, json) extern const hn_family_calls hn_family_##name;
#include "text/tokenizer/families.def"
#undef HN_FAMILY

extern const hn_family hn_families[];
extern const size_t hn_n_families;
const hn_family *hn_family_of_gguf(hn_span model);                      /* NULL: no such */
const hn_family *hn_family_of_json(const char *type, bool has_byte_level); /* NULL: no such */

/* ---- shared: ids ---- */

/* Bytes that no token holds: each its own, or one unknown for all. */
hn_status hn_model_add_unknown(const hn_tokenizer *tok, size_t begin, size_t end, bool offsets, hn_encoding *out);
/* Whether text may turn into the token by the model, other than by being looked for. */
bool hn_model_makes(const hn_tokenizer *tok, int32_t id);

/* Byte-pair encoding: what the symbols of a piece are before neighbours become one. */
typedef enum hn_pairs_of {
    HN_PAIRS_OF_BYTES,
    HN_PAIRS_OF_CHARS,    /* others as bytes or unknown */
    HN_PAIRS_OF_ALL_CHARS /* others may yet become part of a token */
} hn_pairs_of;
hn_status hn_pairs_encode(const hn_tokenizer *tok, hn_pairs_of of, hn_piece piece, bool offsets, hn_encoding *out);
/* Notes after which bytes a piece has the mark of a space, and cuts words where that never is. */
hn_status hn_pairs_cut_at_marks(hn_tokenizer *tok);
hn_status hn_pairs_read_json(hn_json_loader *l, const hn_json *model);
bool hn_pairs_are_untyped(const hn_json *model);
hn_status hn_pairs_read_gguf(hn_tokenizer *tok, const hn_meta *meta, const char *file);
/* By rank; a rank that a later twin replaced has key 0. The caller frees them. */
hn_status hn_pairs_sorted(const hn_tokenizer *tok, hn_pair **out);
hn_status hn_pairs_write_gguf(const hn_tokenizer *tok, hn_meta *meta, const hn_pair *pairs);

/* ---- shared: reading and writing ---- */

const hn_json *hn_json_items_of(const hn_json *list, const char *key);
hn_status hn_json_read_vocab(hn_json_loader *l);
hn_status hn_json_read_unknown(hn_json_loader *l, const hn_json *model);
/* A piece as merges and options write it. -1 if it is none. */
int32_t hn_json_find_piece(const hn_json_loader *l, const char *text, size_t bytes, uint8_t *room);

/* The piece as GGUF writes it. */
void hn_tokenizer_put_piece(const hn_tokenizer *tok, int32_t id, hn_str *out);
hn_status hn_tokenizer_set_strings(hn_meta *meta, const char *key, const hn_str *all, const size_t *ends, size_t n);
hn_status hn_tokenizer_write_scores(const hn_tokenizer *tok, hn_meta *meta, const double *scores);
bool hn_tokenizer_norm_is(const hn_tokenizer *tok, const hn_norm_kind *kinds, size_t n);
hn_status hn_tokenizer_no_normalizer(void);

#endif
