/* unicode.h: what characters are, as the tokenizers that models were trained with see it. */
#ifndef HN_TEXT_UNICODE_UNICODE_H
#define HN_TEXT_UNICODE_UNICODE_H

#include "text/unicode/charset.h"

/* Adds the characters of a general category ("L", "Lu") or of a script ("Han"); false if the
 * name is unknown. HN_BAD_CHAR is of category Cn. */
bool hn_unicode_add_property(hn_ranges *set, const char *name, size_t bytes);

/* Sets that are no category. Parts of one tokenizer differ on them, hence their number. */
typedef enum hn_unicode_set {
    HN_SET_SPACE,       /* \s of regexes */
    HN_SET_WORD,        /* \w of regexes */
    HN_SET_DIGIT,       /* \d */
    HN_SET_WHITE,       /* WhitespaceSplit, BertPreTokenizer, Strip */
    HN_SET_PUNCTUATION, /* Punctuation, BertPreTokenizer */
    HN_SET_NUMERIC,     /* Digits */
    HN_SET_RUST_WORD,   /* Whitespace, and the words of single_word */
    HN_SET_RUST_SPACE,
    HN_SET_BERT_REMOVED, /* clean_text */
    HN_SET_BERT_MARK,    /* strip_accents of BertNormalizer */
    HN_SET_ACCENT,       /* StripAccents */
    HN_SET_NFC_TOUCHES,  /* text without these is its own NFC */
    HN_N_UNICODE_SETS
} hn_unicode_set;
void hn_unicode_add_set(hn_ranges *set, hn_unicode_set which);

/* Characters besides the two cases that (?i) takes for an ASCII letter (lower case). */
void hn_unicode_add_case_partners(hn_ranges *set, uint32_t letter);

typedef enum hn_unicode_map { HN_MAP_NFD, HN_MAP_NFKD, HN_MAP_LOWER } hn_unicode_map;
/* What the character becomes, and of how many; NULL if it stays. Not for Hangul syllables. */
const uint32_t *hn_unicode_map_of(hn_unicode_map map, uint32_t code, size_t *n);
/* All characters that the map changes, or whose combining class is not 0. */
void hn_unicode_add_mapped(hn_ranges *set, hn_unicode_map map);
void hn_unicode_add_combining(hn_ranges *set);
uint32_t hn_unicode_combining_class(uint32_t code);
/* 0 if the two do not compose. With Hangul. */
uint32_t hn_unicode_compose(uint32_t first, uint32_t second);

#endif
