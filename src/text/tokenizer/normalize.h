/* normalize.h: what is done to a text before it is cut: a list of steps. */
#ifndef HN_TEXT_TOKENIZER_NORMALIZE_H
#define HN_TEXT_TOKENIZER_NORMALIZE_H

#include "text/pattern/regex.h"
#include "text/unicode/normal_form.h"

typedef enum hn_norm_kind {
    HN_NORM_FORM,
    HN_NORM_LOWER,
    HN_NORM_REMOVE,          /* the characters of `set` */
    HN_NORM_BLANK,           /* the characters of `set` become spaces */
    HN_NORM_ISOLATE,         /* spaces around the characters of `set` */
    HN_NORM_REPLACE,         /* what `regex` matches becomes `text` */
    HN_NORM_PREPEND,         /* `text`, unless there is nothing */
    HN_NORM_PREPEND_MISSING, /* `text`, unless it begins so */
    HN_NORM_STRIP,           /* the characters of `set`, at the ends */
    HN_NORM_CHARSMAP,        /* sentencepiece's precompiled map: `text` */
    HN_NORM_COLLAPSE,        /* runs of spaces become one, and those at the ends go */
    HN_NORM_BYTE_CHARS       /* each byte becomes the character that stands for it */
} hn_norm_kind;

typedef struct hn_norm_step {
    hn_norm_kind kind;
    hn_form form;
    hn_charset *set;
    hn_regex *regex;
    char *text;
    size_t bytes;
    bool left, right;
} hn_norm_step;

typedef struct hn_normalizer {
    hn_heap *heap;
    hn_norm_step *steps;
    size_t n, room;
} hn_normalizer;

void hn_normalizer_free(hn_normalizer *norm);
/* Takes the step's set, regex and text over, whatever happens. */
hn_status hn_normalizer_add(hn_normalizer *norm, hn_norm_step step);
/* A step whose set is `which`, or whose text is a copy. */
hn_status hn_normalizer_add_set(hn_normalizer *norm, hn_norm_kind kind, hn_ranges *set);
hn_status hn_normalizer_add_text(hn_normalizer *norm, hn_norm_kind kind, const char *text,
                                 size_t bytes);
hn_status hn_normalizer_add_form(hn_normalizer *norm, hn_form form);
/* Replaces a string by another. */
hn_status hn_normalizer_add_replace(hn_normalizer *norm, const char *from, size_t from_bytes,
                                    const char *to, size_t to_bytes);
hn_status hn_normalizer_add_marks(hn_normalizer *norm); /* spaces become U+2581 */
/* BertNormalizer. */
hn_status hn_normalizer_add_bert(hn_normalizer *norm, bool clean, bool chinese, bool accents,
                                 bool lower);

/* Changes *text, with `spare` for the way. */
hn_status hn_normalizer_run(const hn_normalizer *norm, hn_regex_stack *stack, hn_passage *text,
                            hn_passage *spare);

/* Checks a precompiled map, so that applying it stays within. */
hn_status hn_charsmap_check(const char *map, size_t bytes);
void hn_charsmap_apply(const char *map, size_t bytes, const hn_passage *in, hn_passage *out);

#endif
