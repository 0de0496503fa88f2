/* number.h: numbers as text for % and format. Private to this folder. */
#ifndef HN_TEXT_TEMPLATE_NUMBER_H
#define HN_TEXT_TEMPLATE_NUMBER_H

#include "text/template/value.h"

typedef struct hn_tpl_spec {
    char fill[4];
    int fill_bytes; /* 0: none given */
    char align;     /* < > = ^ or 0 */
    char sign;      /* + - space */
    bool alternate, zero, dash;
    char group;               /* , _ or 0 */
    int64_t width, precision; /* -1: none */
    char type;                /* 0: none */
} hn_tpl_spec;

/* |v| without its sign, by type: d x X o b e E f F g G % and 0 for the shortest. */
void hn_tpl_digits_of_int(int64_t v, const hn_tpl_spec *spec, hn_str *to);
hn_status hn_tpl_digits_of_double(double v, const hn_tpl_spec *spec, hn_str *to);
/* Sign, prefix and body, padded to the width. */
void hn_tpl_pad_number(bool is_negative, const char *prefix, hn_tpl_text body,
                       const hn_tpl_spec *spec, hn_str *to);
/* The text's bytes stay whose they were; what fills is data. */
void hn_tpl_pad_text(hn_tpl_text text, const hn_tpl_spec *spec, char align, hn_tpl_str *to);

#endif
