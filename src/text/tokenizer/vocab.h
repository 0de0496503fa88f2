/* vocab.h: pieces by id and ids by piece. One block of bytes, one table; no allocation a token.
 */
#ifndef HN_TEXT_TOKENIZER_VOCAB_H
#define HN_TEXT_TOKENIZER_VOCAB_H

#include "base/file.h"
#include "base/heap.h"

/* In GGUF's numbering. */
typedef enum hn_token_kind {
    HN_TOKEN_NORMAL = 1,
    HN_TOKEN_UNKNOWN,
    HN_TOKEN_CONTROL,
    HN_TOKEN_USER_DEFINED,
    HN_TOKEN_UNUSED,
    HN_TOKEN_BYTE
} hn_token_kind;

typedef struct hn_vocab {
    hn_heap *heap;
    int32_t n;
    uint8_t *bytes;  /* all pieces, one after the other */
    uint32_t *at;    /* n + 1 places in `bytes` */
    uint8_t *kind;   /* hn_token_kind */
    bool *is_plain;  /* the piece is text as it is, even where others stand for bytes */
    double *score;   /* NULL if there are none */
    uint64_t *slots; /* hash << 32 | id + 1; 0: free */
    uint32_t mask;
    uint32_t longest; /* bytes of the longest piece in the table */
} hn_vocab;

uint64_t hn_text_hash(const uint8_t *bytes, size_t n);

/* Room for n pieces of so many bytes together. The caller fills bytes, at and kind. */
hn_status hn_vocab_new(hn_heap *heap, int32_t n, uint64_t bytes, hn_vocab *out);
void hn_vocab_free(hn_vocab *vocab);

static inline const uint8_t *hn_vocab_piece(const hn_vocab *v, int32_t id, size_t *bytes)
{
    *bytes = v->at[id + 1] - v->at[id];
    return v->bytes + v->at[id];
}

/* Puts the token into the table; *twin is the id already there under the same bytes, or -1. */
void hn_vocab_index(hn_vocab *vocab, int32_t id, int32_t *twin);
/* -1 if it is not in the table. */
int32_t hn_vocab_find(const hn_vocab *vocab, const uint8_t *bytes, size_t n);
int32_t hn_vocab_find_hashed(const hn_vocab *vocab, const uint8_t *bytes, size_t n,
                             uint64_t hash);

/* The 256 characters that stand for bytes in byte-level vocabularies. */
uint32_t hn_byte_char(uint8_t byte);
int hn_byte_of_char(uint32_t code); /* -1 if it stands for none */
/* Characters that stand for bytes to bytes, which take no more room; false if some stand for
 * none. */
bool hn_text_to_bytes(const uint8_t *text, size_t n, uint8_t *out, size_t *n_out);

#endif
