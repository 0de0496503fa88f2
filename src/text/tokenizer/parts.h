/* parts.h: what a tokenizer is made of. Private to this folder. */
#ifndef HN_TEXT_TOKENIZER_PARTS_H
#define HN_TEXT_TOKENIZER_PARTS_H

#include "text/tokenizer/merge.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/split.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/trie.h"

/* A token that is looked for in the text itself. */
typedef struct hn_added {
    int32_t id;
    bool is_special, is_normalized;
    bool strips_left, strips_right, single_word;
} hn_added;

typedef struct hn_decode_rules {
    bool marks_spaces;      /* U+2581 is a space */
    bool drops_first_space; /* one, at the very beginning */
    bool drops_first_marks; /* every mark of the first token */
    bool joins_words;       /* WordPiece: a space before what does not continue */
    bool cleans_up;         /* and none before punctuation */
} hn_decode_rules;

struct hn_tokenizer {
    hn_heap *heap;
    uint64_t serial; /* no two alike: encoders know by it whose words they remember */
    const char *kind_name;
    char *pre_name;
    const struct hn_family_calls *family; /* family.h */
    hn_vocab vocab;
    hn_normalizer normalizer;
    hn_splitter splitter;
    hn_merges merges;
    uint32_t *rank;                 /* SPM: by score */
    hn_trie trie;                   /* UNIGRAM: pieces */
    double unknown_score;           /* UNIGRAM */
    char *word_begin, *word_inside; /* WORDS: what pieces have before them */
    int64_t max_word_chars;
    bool ignores_merges, fuses_unknown, has_byte_fallback;
    bool keeps_newlines;  /* a run of newlines that is a piece is one token */
    const char *never_ends; /* a piece; NULL */
    int32_t unknown;      /* -1: what is unknown is left out */
    int32_t byte_id[256]; /* tokens of bytes; -1 */
    int32_t ascii_id[128];
    bool joins[256]; /* for HN_SPLIT_WORDS */

    hn_added *added;
    size_t n_added, added_room;
    hn_trie added_raw, added_normalized; /* values: places in `added` */
    int32_t *added_of;                   /* by id: place + 1 */
    hn_charset *white, *word_chars;

    hn_decode_rules decode;
    int32_t special[HN_N_SPECIALS];
    bool *ends;
    int32_t *prefix, *suffix; /* what a text gets around it */
    size_t n_prefix, n_suffix;
    bool adds_prefix, adds_suffix;

    /* for export */
    bool adds_space_prefix, removes_extra_spaces, has_scores;
    bool from_json;
    char *steps; /* UNIGRAM: of hone.tokenizer.steps; NULL: what GGUF says is all */
    int32_t n_scored; /* UNIGRAM from tokenizer.json: ids below are of the model */
};

/* One of many pieces that are the same; at most 64 bytes. */
typedef struct hn_remembered {
    uint64_t hash;
    uint32_t text_at, ids_at;
    uint16_t bytes, n_ids; /* bytes == 0: free */
} hn_remembered;

enum { HN_REMEMBERED_LEAST = 1 << 6, HN_REMEMBERED_MOST = 1 << 16, HN_REMEMBERED_BYTES = 64 };

struct hn_encoder {
    hn_heap *heap;
    uint64_t serial;
    hn_passage text, spare;
    hn_split_space split;
    hn_merger merger;
    double *score; /* UNIGRAM */
    uint32_t *start;
    int32_t *id;
    size_t path_room;
    hn_remembered *slots;
    uint8_t *texts;
    int32_t *ids;
    uint32_t size, n_slots, n_texts, n_ids; /* size: slots; 16 bytes of text and 4 ids for each */
    uint32_t at, end; /* of the fragment, in the caller's text */
    const hn_text_origins *origins; /* of the text that is being encoded; NULL: nothing is guarded */
    bool *guarded;                  /* by place in `added` (guard.h) */
};

/* Puts an id at the end; begin and end are places in the encoder's passage. */
hn_status hn_encoding_add(hn_encoding *out, int32_t id, size_t begin, size_t end,
                          bool wants_offsets);

/* Ids of one piece of out->encoder->text. */
hn_status hn_model_encode(const hn_tokenizer *tok, hn_piece piece, bool wants_offsets,
                          hn_encoding *out);

/* Making one. */
hn_status hn_tokenizer_new(hn_heap *heap, hn_tokenizer **out);
hn_status hn_tokenizer_add_added(hn_tokenizer *tok, hn_added added);
/* After the vocabulary and the steps are there: tables that follow from them. */
hn_status hn_tokenizer_settle(hn_tokenizer *tok);
/* The steps of a pre-tokeniser by the name it has in GGUF files. */
hn_status hn_pretokenizer_add(hn_tokenizer *tok, const char *file, const char *name,
                              size_t bytes);
/* The GGUF name of these steps; *out is NULL if there is none. */
hn_status hn_pretokenizer_name(const hn_splitter *splitter, const char **out);
/* The steps of a unigram as hone.tokenizer.steps has them, with the map of GGUF's own key. */
hn_status hn_unigram_steps_read(hn_tokenizer *tok, hn_span text, hn_span charsmap);
/* Marks the tokens that end a generation. */
void hn_tokenizer_find_ends(hn_tokenizer *tok);

#endif
