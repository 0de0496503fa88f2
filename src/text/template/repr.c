/* str() and repr(), as Python writes them. */
#include "text/template/fn.h"
#include "text/unicode/python.h"

#include "base/host.h"
#include "base/number.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hn_tv_float_digits(double d, char digits[20], int *point)
{
    char text[40];
    for (int precision = 0; precision < 17; precision++) {
        double again = 0;
        hn_text_print(text, sizeof text, "%.*e", precision, fabs(d));
        if (hn_number_parse(text, &again) && again == fabs(d))
            break;
    }
    int n = 0;
    const char *e = strchr(text, 'e');
    for (const char *c = text; c < e; c++)
        if (*c >= '0' && *c <= '9')
            digits[n++] = *c;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    *point = (int)strtol(e + 1, NULL, 10) + 1;
    return n;
}

void hn_tv_write_float(double d, hn_str *to)
{
    if (!isfinite(d)) {
        hn_str_add(to, isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(d))
        hn_str_add_char(to, '-');
    if (d == 0) {
        hn_str_add(to, "0.0");
        return;
    }
    char digits[20];
    int point = 0;
    const int n = hn_tv_float_digits(d, digits, &point);
    if (point > 16 || point < -3) {
        hn_str_add_char(to, digits[0]);
        if (n > 1) {
            hn_str_add_char(to, '.');
            hn_str_add_bytes(to, digits + 1, (size_t)n - 1);
        }
        hn_str_print(to, "e%c%02d", point > 0 ? '+' : '-', abs(point - 1));
        return;
    }
    if (point <= 0)
        hn_str_add(to, "0.");
    for (int i = point; i < 0; i++)
        hn_str_add_char(to, '0');
    for (int i = 0; i < n || i < point; i++) {
        if (i == point && i)
            hn_str_add_char(to, '.');
        hn_str_add_char(to, i < n ? digits[i] : '0');
    }
    if (point >= n)
        hn_str_add(to, ".0");
}

static void write_text_repr(hn_tpl_text text, hn_str *to)
{
    const bool has_single = memchr(text.text, '\'', text.bytes) != NULL,
               has_double = memchr(text.text, '"', text.bytes) != NULL;
    const char quote = has_single && !has_double ? '"' : '\'';
    hn_str_add_char(to, quote);
    for (size_t i = 0, n = 0; i < text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.text + i, &n);
        if (code == (uint32_t)quote || code == '\\')
            hn_str_print(to, "\\%c", (char)code);
        else if (code == '\n' || code == '\r' || code == '\t')
            hn_str_add(to, code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t");
        else if (hn_tpl_is_in(HN_TPL_PRINTABLE, code))
            hn_str_add_bytes(to, text.text + i, n);
        else
            hn_str_print(to,
                         code < 0x100     ? "\\x%02" PRIx32
                         : code < 0x10000 ? "\\u%04" PRIx32
                                          : "\\U%08" PRIx32,
                         code);
    }
    hn_str_add_char(to, quote);
}

static hn_status write_items(hn_tpl_run *r, const hn_tval *v, const char *open,
                             const char *close, hn_str *to)
{
    hn_tpl_iter it;
    HN_TRY(hn_tpl_enter(r));
    HN_TRY(hn_tv_iter(r, v, &it));
    hn_str_add(to, open);
    for (size_t i = 0;; i++) {
        hn_tval item;
        bool done = false;
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            break;
        if (i)
            hn_str_add(to, ", ");
        HN_TRY(hn_tv_write_repr(r, &item, to));
        HN_TRY(hn_tpl_fits(r, to));
    }
    if (v->kind == HN_TV_TUPLE && v->as.list->n == 1)
        hn_str_add_char(to, ',');
    hn_str_add(to, close);
    hn_tpl_leave(r);
    return HN_OK;
}

static hn_status write_dict(hn_tpl_run *r, const hn_tpl_dict *d, hn_str *to)
{
    HN_TRY(hn_tpl_enter(r));
    hn_str_add_char(to, '{');
    for (size_t i = 0; i < d->n; i++) {
        if (i)
            hn_str_add(to, ", ");
        HN_TRY(hn_tv_write_repr(r, &d->keys[i], to));
        hn_str_add(to, ": ");
        HN_TRY(hn_tv_write_repr(r, &d->values[i], to));
        HN_TRY(hn_tpl_step(r, 1));
        HN_TRY(hn_tpl_fits(r, to));
    }
    hn_str_add_char(to, '}');
    hn_tpl_leave(r);
    return HN_OK;
}

static hn_status write_view(hn_tpl_run *r, const hn_tval *v, hn_str *to)
{
    hn_str_print(to, "%s(", hn_tv_type(v));
    HN_TRY(write_items(r, v, "[", "])", to));
    return HN_OK;
}

static hn_status write_loop(hn_tpl_run *r, const hn_tval *v, hn_str *to)
{
    int64_t n = 0;
    HN_TRY(hn_tv_length(r, v, &n));
    hn_str_print(to, "<LoopContext %" PRId64 "/%" PRId64 ">", v->as.loop->index0 + 1, n);
    return HN_OK;
}

static hn_status write_data(hn_tpl_run *r, const hn_tval *v, hn_str *to);

hn_status hn_tv_write_repr(hn_tpl_run *r, const hn_tval *v, hn_str *to)
{
    switch (v->kind) {
    case HN_TV_UNDEFINED:
        hn_str_add(to, "Undefined");
        return HN_OK;
    case HN_TV_TEXT:
        hn_str_add(to, v->is_markup ? "Markup(" : "");
        write_text_repr(v->as.text, to);
        hn_str_add(to, v->is_markup ? ")" : "");
        return hn_tpl_charge(r, v->as.text.bytes);
    default:
        return write_data(r, v, to);
    }
}

/* str(v) of all but texts. */
static hn_status write_data(hn_tpl_run *r, const hn_tval *v, hn_str *to)
{
    switch (v->kind) {
    case HN_TV_MISSING:
    case HN_TV_UNDEFINED:
        return HN_OK;
    case HN_TV_NONE:
        hn_str_add(to, "None");
        return HN_OK;
    case HN_TV_BOOL:
        hn_str_add(to, v->as.boolean ? "True" : "False");
        return HN_OK;
    case HN_TV_INT:
        hn_str_print(to, "%" PRId64, v->as.integer);
        return HN_OK;
    case HN_TV_FLOAT:
        hn_tv_write_float(v->as.number, to);
        return HN_OK;
    case HN_TV_LIST:
        return write_items(r, v, "[", "]", to);
    case HN_TV_TUPLE:
        return write_items(r, v, "(", ")", to);
    case HN_TV_DICT:
        return write_dict(r, v->as.dict, to);
    case HN_TV_RANGE:
        hn_str_print(to, "range(%" PRId64 ", %" PRId64, v->as.range->start, v->as.range->stop);
        if (v->as.range->step != 1)
            hn_str_print(to, ", %" PRId64, v->as.range->step);
        hn_str_add_char(to, ')');
        return HN_OK;
    case HN_TV_VIEW:
        return write_view(r, v, to);
    case HN_TV_NAMESPACE:
        hn_str_add(to, "<Namespace ");
        HN_TRY(write_dict(r, v->as.dict, to));
        hn_str_add_char(to, '>');
        return HN_OK;
    case HN_TV_MACRO:
        hn_str_print(to, v->as.macro->name ? "<Macro '%s'>" : "<Macro anonymous>",
                     v->as.macro->name);
        return HN_OK;
    case HN_TV_LOOP:
        return write_loop(r, v, to);
    default: /* Python would print an address */
        return hn_fail(HN_ERR_FORMAT, "a %s is printed, which has no text%s", hn_tv_type(v),
                       v->kind == HN_TV_GENERATOR ? ": add |list or |join" : "");
    }
}

hn_status hn_tv_write(hn_tpl_run *r, const hn_tval *v, hn_tpl_str *to)
{
    if (v->kind != HN_TV_TEXT)
        return write_data(r, v, &to->text);
    hn_tpl_put(to, v->as.text);
    return hn_tpl_charge(r, v->as.text.bytes);
}

hn_status hn_tv_to_text(hn_tpl_run *r, const hn_tval *v, hn_tval *out)
{
    if (v->kind == HN_TV_TEXT) {
        *out = *v;
        return HN_OK;
    }
    hn_str text = hn_str_on(&r->budget.heap);
    hn_status status = write_data(r, v, &text);
    if (status == HN_OK)
        status = hn_tv_from_str(r, &text, out);
    hn_str_free(&text);
    return status;
}

void hn_tv_escape(hn_tpl_str *to, hn_tpl_text text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        const char c = text.text[i];
        const char *entity = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '\'' ? "&#39;"
                             : c == '"'  ? "&#34;"
                                         : NULL;
        hn_tpl_put_as(to, entity ? entity : &c, entity ? strlen(entity) : 1, text, i);
    }
}
