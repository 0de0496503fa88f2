/* normal_form.h: Unicode's normalisation forms, over text that may hold bytes that are no
 * UTF-8. */
#ifndef HN_TEXT_UNICODE_NORMAL_FORM_H
#define HN_TEXT_UNICODE_NORMAL_FORM_H

#include "text/unicode/charset.h"
#include "text/unicode/passage.h"

typedef enum hn_form { HN_NFC, HN_NFD, HN_NFKC, HN_NFKD } hn_form;

/* The characters that a form may change, move or compose; text without them stays. */
hn_charset *hn_form_touches(hn_heap *heap, hn_form form);

void hn_form_apply(hn_form form, const hn_charset *touches, const hn_passage *in,
                   hn_passage *out);

#endif
