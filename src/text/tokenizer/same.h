/* same.h: whether the keys written of a tokenizer make the same tokenizer again.
 *
 * What GGUF has no key for goes under hone's own: hone.tokenizer.ends (ids that end a generation),
 * .added (how tokens that stand in a text are found in it), .prefix and .suffix (what a text gets
 * around it), .decode (how ids become text), each only where reading the other keys would give
 * something else. What still differs is refused. */
#ifndef HN_TEXT_TOKENIZER_SAME_H
#define HN_TEXT_TOKENIZER_SAME_H

#include "text/tokenizer/parts.h"

/* Reads the keys back; HN_ERR_UNSUPPORTED names what would be lost. */
hn_status hn_tokenizer_check_written(const hn_tokenizer *tok, hn_meta *meta);

/* Take those keys, each once what it replaces has been read. */
hn_status hn_tokenizer_read_around(hn_tokenizer *tok, const hn_meta *meta);
hn_status hn_tokenizer_read_ends(hn_tokenizer *tok, const hn_meta *meta);
hn_status hn_tokenizer_read_flags(const hn_tokenizer *tok, const hn_meta *meta, hn_added *added);

#endif
