/* grapheme.h: what readers take for one character: a letter with its marks, a flag, "\r\n". */
#ifndef HN_TEXT_UNICODE_GRAPHEME_H
#define HN_TEXT_UNICODE_GRAPHEME_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the extended grapheme cluster that `at` begins; `at` < `end`, both between clusters. A
 * byte that is no UTF-8 is a cluster's beginning. Two flags' letters count as two clusters. */
size_t hn_grapheme_at(const uint8_t *at, const uint8_t *end);

#endif
