/* printf writes the digits in the plain locale; groups, fill and sign are put around them as Python does. */
#include "text/template/number.h"

#include "base/host.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DOUBLE_TEXT = 1400 };

void hn_tpl_digits_of_int(int64_t v, const hn_tpl_spec *spec, hn_str *to)
{
    const uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    char digits[72];
    int at = (int)sizeof digits;
    const unsigned base = spec->type == 'x' || spec->type == 'X' ? 16
                          : spec->type == 'o'                    ? 8
                          : spec->type == 'b'                    ? 2
                                                                 : 10;
    uint64_t rest = u;
    do {
        const unsigned digit = (unsigned)(rest % base);
        digits[--at] = (char)(digit < 10 ? '0' + (int)digit
                                         : (spec->type == 'X' ? 'A' : 'a') + (int)digit - 10);
        rest /= base;
    } while (rest);
    const int n = (int)sizeof digits - at, every = base == 10 ? 3 : 4;
    for (int i = 0; i < n; i++) {
        if (spec->group && i && (n - i) % every == 0)
            hn_str_add_char(to, spec->group);
        hn_str_add_char(to, digits[at + i]);
    }
}

/* What printf wrote, with groups in the whole part. */
static void add_printed(const char *text, char group, hn_str *to)
{
    const size_t whole = strspn(text, "0123456789");
    for (size_t i = 0; i < whole; i++) {
        if (group && i && (whole - i) % 3 == 0)
            hn_str_add_char(to, group);
        hn_str_add_char(to, text[i]);
    }
    hn_str_add(to, text + whole);
}

hn_status hn_tpl_digits_of_double(double v, const hn_tpl_spec *spec, hn_str *to)
{
    char text[MAX_DOUBLE_TEXT];
    const bool upper = spec->type == 'E' || spec->type == 'F' || spec->type == 'G';
    double d = fabs(v);
    HN_REQUIRE(spec->precision <= 300, HN_ERR_UNSUPPORTED,
               "a precision of more than 300 digits");
    if (!isfinite(d)) {
        hn_str_add(to, isnan(d) ? (upper ? "NAN" : "nan") : upper ? "INF" : "inf");
        if (spec->type == '%')
            hn_str_add_char(to, '%');
        return HN_OK;
    }
    if (!spec->type && spec->precision < 0) {
        hn_str shortest = hn_str_on(to->heap);
        hn_tv_write_float(d, &shortest);
        add_printed(shortest.text, 0, to);
        hn_str_free(&shortest);
        return HN_OK;
    }
    const int precision = spec->precision < 0 ? 6 : (int)spec->precision;
    if (spec->type == '%')
        d *= 100;
    switch (spec->type) {
    case 'e':
    case 'E':
        hn_text_print(text, sizeof text, upper ? "%.*E" : "%.*e", precision, d);
        break;
    case 'f':
    case 'F':
    case '%':
        hn_text_print(text, sizeof text, spec->alternate ? "%#.*f" : "%.*f", precision, d);
        break;
    default:
        if (spec->alternate)
            hn_text_print(text, sizeof text, upper ? "%#.*G" : "%#.*g", precision, d);
        else
            hn_text_print(text, sizeof text, upper ? "%.*G" : "%.*g", precision, d);
    }
    add_printed(text, spec->group, to);
    /* without a type a float looks like one */
    if (!spec->type && !strpbrk(to->text, ".e"))
        hn_str_add(to, ".0");
    if (spec->type == '%')
        hn_str_add_char(to, '%');
    return HN_OK;
}

static void fill(const hn_tpl_spec *spec, int64_t n, const char *otherwise, hn_str *to)
{
    for (; n > 0; n--)
        if (spec->fill_bytes)
            hn_str_add_bytes(to, spec->fill, (size_t)spec->fill_bytes);
        else
            hn_str_add(to, otherwise);
}

void hn_tpl_pad_number(bool is_negative, const char *prefix, hn_tpl_text body,
                       const hn_tpl_spec *spec, hn_str *to)
{
    const char *sign = is_negative         ? "-"
                       : spec->sign == '+' ? "+"
                       : spec->sign == ' ' ? " "
                                           : "";
    const int64_t pad = spec->width - (int64_t)(strlen(sign) + strlen(prefix) + body.bytes);
    const char align = spec->align ? spec->align : spec->zero ? '=' : '>';
    const char *with = spec->zero && !spec->fill_bytes ? "0" : " ";
    const int64_t before = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    fill(spec, before, with, to);
    hn_str_add(to, sign);
    hn_str_add(to, prefix);
    if (align == '=')
        fill(spec, pad, with, to);
    hn_str_add_bytes(to, body.text, body.bytes);
    if (align == '<' || align == '^')
        fill(spec, pad - before, with, to);
}

void hn_tpl_pad_text(hn_tpl_text text, const hn_tpl_spec *spec, char align, hn_tpl_str *to)
{
    if (spec->precision >= 0)
        text.bytes = hn_tv_text_offset(text, spec->precision);
    const int64_t pad = spec->width - hn_tv_text_length(text);
    const int64_t before = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    const char *with = spec->zero ? "0" : " ";
    fill(spec, before, with, &to->text);
    hn_tpl_put(to, text);
    fill(spec, pad - (before > 0 ? before : 0), with, &to->text);
}
