/* guard.h: tokens that the words of a conversation may not become. Private to this folder.
 *
 * Guarded are the special tokens, all that end a generation, marks of thoughts and tools (marks.def), and every other token
 * that is looked for in texts if the template writes it itself or if it is written like a mark, <|so|> or [SO]. What a template
 * writes is a mark if it is letters between signs: runs of blanks and words are tokens of many vocabularies. */
#ifndef HN_TEXT_TOKENIZER_GUARD_H
#define HN_TEXT_TOKENIZER_GUARD_H

#include "text/tokenizer/parts.h"

/* Fills the encoder's guards for these origins; NULL: nothing is guarded. */
hn_status hn_guard_set(const hn_tokenizer *tok, const hn_text_origins *origins_or_null, struct hn_encoder *e);
/* Whether bytes [begin, end) of the caller's text, or of a normalised passage, are the template's alone. */
bool hn_guard_owns(const struct hn_encoder *e, const hn_passage *passage_or_null, size_t begin, size_t end);
static inline bool hn_guard_is_set(const struct hn_encoder *e) { return e->origins != NULL; }
static inline bool hn_guard_has(const struct hn_encoder *e, int32_t place) { return e->origins && e->guarded[place]; }
/* Whether the token may not come of a text other than by being looked for. */
bool hn_guard_forbids(const hn_tokenizer *tok, const struct hn_encoder *e, int32_t id);

#endif
