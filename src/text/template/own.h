/* own.h: text in the making, and whose each byte is: the template's own, or of what it was given. Private to this folder.
 *
 * Nothing can lose a mark that says "data": what is not put by hn_tpl_put or hn_tpl_put_own is data, also what is written
 * to `text` directly, as functions do that know a hn_str alone. */
#ifndef HN_TEXT_TEMPLATE_OWN_H
#define HN_TEXT_TEMPLATE_OWN_H

#include "text/template/tree.h"

typedef struct hn_tpl_str {
    hn_str text;
    hn_str own; /* a byte for each of the text's as hn_tpl_text has it; all beyond its end are data */
} hn_tpl_str;

hn_tpl_str hn_tpl_str_on(hn_heap *heap);
void hn_tpl_str_free(hn_tpl_str *str);
hn_status hn_tpl_str_status(const hn_tpl_str *str);

/* Each byte stays whose it was. */
void hn_tpl_put(hn_tpl_str *to, hn_tpl_text text);
/* Bytes that are whose the text's byte `at` is: what it became. */
void hn_tpl_put_as(hn_tpl_str *to, const char *bytes, size_t n, hn_tpl_text text, size_t at);
/* What was written so far; lives as long as nothing is added. */
hn_tpl_text hn_tpl_str_text(hn_tpl_str *str);

/* A literal of the template's source. */
hn_tpl_text hn_tpl_owned(const hn_template *t, hn_tpl_text literal);
/* The stretches of [0, bytes) that are the template's own, with `base` before them; adds to *out. */
hn_status hn_tpl_spans_of(hn_heap *heap, const hn_tpl_str *str, size_t base, hn_template_spans *out);

#endif
