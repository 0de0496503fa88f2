/* python.h: code points as Python's str methods see them. For text/template, and for names of
 * models, which llama.cpp's converter reads with these. */
#ifndef HN_TEXT_UNICODE_PYTHON_H
#define HN_TEXT_UNICODE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hn_tpl_class {
    HN_TPL_ALPHA,
    HN_TPL_ALNUM,
    HN_TPL_DIGIT,
    HN_TPL_DECIMAL,
    HN_TPL_NUMERIC,
    HN_TPL_SPACE,
    HN_TPL_PRINTABLE,
    HN_TPL_LOWER,
    HN_TPL_UPPER,
    HN_TPL_TITLE,
    HN_TPL_CASE_IGNORABLE,
    HN_TPL_N_CLASSES
} hn_tpl_class;

typedef enum hn_tpl_case {
    HN_TPL_TO_LOWER,
    HN_TPL_TO_UPPER,
    HN_TPL_TO_TITLE,
    HN_TPL_TO_FOLD
} hn_tpl_case;

bool hn_tpl_is_in(hn_tpl_class set, uint32_t code);
/* Up to three code points; returns how many. */
int hn_tpl_change_case(hn_tpl_case to, uint32_t code, uint32_t out[3]);

/* The code point at `text`, which is valid UTF-8; *bytes is how many it takes. */
uint32_t hn_tpl_code_at(const char *text, size_t *bytes);
/* The code point that ends before `text + at`, at > 0. */
uint32_t hn_tpl_code_before(const char *text, size_t at, size_t *bytes);

#endif
