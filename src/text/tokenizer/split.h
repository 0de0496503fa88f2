/* split.h: how a text is cut into the pieces that tokens never cross: a list of steps, each
 * cuts what the steps before left. Some also rewrite what they cut. */
#ifndef HN_TEXT_TOKENIZER_SPLIT_H
#define HN_TEXT_TOKENIZER_SPLIT_H

#include "text/pattern/regex.h"
#include "text/unicode/charset.h"
#include "text/unicode/passage.h"
#include "text/unicode/unicode.h"

/* What becomes of the matches, in the words of `tokenizers`. */
typedef enum hn_split_behavior {
    HN_SPLIT_ISOLATED,
    HN_SPLIT_REMOVED,
    HN_SPLIT_MERGED_WITH_PREVIOUS,
    HN_SPLIT_MERGED_WITH_NEXT,
    HN_SPLIT_CONTIGUOUS
} hn_split_behavior;

typedef enum hn_split_kind {
    HN_SPLIT_REGEX,
    HN_SPLIT_METASPACE, /* spaces become `mark`; `mark` goes before each piece, or the first */
    HN_SPLIT_PREFIX_SPACE, /* a space goes before each piece that has none */
    HN_SPLIT_BYTE_CHARS,   /* bytes become the characters that stand for them */
    HN_SPLIT_WORDS         /* before a mark that no token joins to what precedes it */
} hn_split_kind;

typedef struct hn_split_step {
    hn_split_kind kind;
    hn_regex *regex;
    hn_split_behavior behavior;
    bool inverts;
    bool prepends, only_first; /* METASPACE */
    char mark[5];
    const bool *joins; /* WORDS: by byte: some token has `mark` after it; borrowed */
} hn_split_step;

typedef struct hn_splitter {
    hn_heap *heap;
    hn_split_step *steps;
    size_t n, room;
    bool has_byte_chars; /* then the result must go back to bytes */
} hn_splitter;

void hn_splitter_free(hn_splitter *splitter);
/* Takes the step's regex over, whatever happens. */
hn_status hn_splitter_add(hn_splitter *splitter, hn_split_step step);
hn_status hn_splitter_add_pattern(hn_splitter *splitter, const char *pattern,
                                  hn_split_behavior behavior);
hn_status hn_splitter_add_set(hn_splitter *splitter, hn_unicode_set set,
                              hn_split_behavior behavior);

/* Cuts *text, which some steps rewrite. `is_start`: it begins where the caller's text does. */
typedef struct hn_split_space {
    hn_passage spare;
    hn_pieces pieces, spare_pieces; /* the result is in `pieces` */
    hn_regex_stack stack;
} hn_split_space;
hn_status hn_splitter_run(const hn_splitter *splitter, hn_split_space *space, hn_passage *text,
                          bool is_start);
void hn_split_space_free(hn_heap *heap, hn_split_space *space);

/* Characters that stand for bytes become these bytes again, and pieces keep their bounds. */
hn_status hn_split_to_bytes(hn_split_space *space, hn_passage *text);

#endif
