/* Filters on single values and numbers, and the table of all. */
#include "text/template/fn.h"

#include "base/host.h"
#include "base/mathfn.h"
#include "base/number.h"
#include "text/template/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_status filter_default(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool boolean = false, holds = true;
    HN_TRY(hn_tpl_want_bool(r, c, 1, false, &boolean));
    if (boolean)
        HN_TRY(hn_tv_is_true(r, &c->self, &holds));
    if (holds && c->self.kind != HN_TV_UNDEFINED)
        *out = c->self;
    else
        *out = c->slots[0].kind == HN_TV_MISSING ? hn_tv_text("", 0) : c->slots[0];
    return HN_OK;
}

static hn_status filter_length(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int64_t n = 0;
    HN_TRY(hn_tv_length(r, &c->self, &n));
    *out = hn_tv_int(n);
    return HN_OK;
}

static hn_status filter_string(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return hn_tv_to_text(r, &c->self, out);
}

static hn_status filter_safe(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    HN_TRY(hn_tv_to_text(r, &c->self, out));
    out->is_markup = true;
    return HN_OK;
}

static hn_status escape(hn_tpl_run *r, hn_tpl_call *c, bool again, hn_tval *out)
{
    hn_tval text;
    HN_TRY(hn_tv_to_text(r, &c->self, &text));
    *out = text;
    if (text.is_markup && !again)
        return HN_OK;
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    hn_tv_escape(&to, text.as.text);
    const hn_status status = hn_tv_from_words(r, &to, out);
    hn_tpl_str_free(&to);
    out->is_markup = true;
    return status;
}

static hn_status filter_escape(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return escape(r, c, false, out);
}

static hn_status filter_forceescape(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return escape(r, c, true, out);
}

/* A text as Python's int() reads it: space around, signs, single underscores between digits. */
static bool read_int(hn_tpl_text text, int base, int64_t *out)
{
    char copy[80];
    size_t n = 0, i = 0, end = text.bytes;
    while (i < end && strchr(" \t\n\r\f\v", text.text[i]) && text.text[i])
        i++;
    while (end > i && strchr(" \t\n\r\f\v", text.text[end - 1]) && text.text[end - 1])
        end--;
    if (i < end && (text.text[i] == '+' || text.text[i] == '-'))
        copy[n++] = text.text[i++];
    bool was_digit = false;
    const char letter = i + 1 < end ? (char)(text.text[i + 1] | 0x20) : '\0';
    const int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : -1;
    if (i < end && text.text[i] == '0' && prefix > 0 && (base == prefix || base == 0)) {
        i += 2;
        base = prefix;
        was_digit = true;
    }
    if (base == 0 && i + 1 < end && text.text[i] == '0')
        return false;
    base = base ? base : 10;
    const size_t first = n;
    for (; i < end && n + 1 < sizeof copy; i++) {
        const char c = text.text[i];
        if (c == '_' && was_digit && i + 1 < end) {
            was_digit = false;
            continue;
        }
        const int digit = c >= '0' && c <= '9'                     ? c - '0'
                          : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10
                                                                   : 99;
        if (digit >= base)
            return false;
        was_digit = true;
        copy[n++] = c;
    }
    copy[n] = '\0';
    errno = 0;
    *out = strtoll(copy, NULL, base);
    return i == end && n > first && was_digit && !errno;
}

/* float()'s words too: nan, inf, in letters of any case. */
static bool read_float(const char *text, size_t n, double *out)
{
    static const char *const words[] = { "nan", "inf", "infinity" };
    const size_t sign = *text == '-' || *text == '+';
    for (int i = 0; i < 3; i++) {
        size_t k = 0;
        while (k < n - sign && words[i][k] && (text[sign + k] | 0x20) == words[i][k])
            k++;
        if (k != n - sign || words[i][k])
            continue;
        *out = i ? (double)INFINITY : (double)NAN;
        *out = *text == '-' ? -*out : *out;
        return true;
    }
    return hn_number_read(text, n, out) == n;
}

/* As Python's float() reads it. */
static bool read_double(hn_tpl_text text, double *out)
{
    char copy[400];
    size_t n = 0, i = 0, end = text.bytes;
    while (i < end && strchr(" \t\n\r\f\v", text.text[i]) && text.text[i])
        i++;
    while (end > i && strchr(" \t\n\r\f\v", text.text[end - 1]) && text.text[end - 1])
        end--;
    for (; i < end && n + 1 < sizeof copy; i++) {
        const char c = text.text[i];
        if (!c || (c | 0x20) == 'x' || c == '(')
            return false;
        if (c == '_') {
            if (!n || copy[n - 1] < '0' || copy[n - 1] > '9' || i + 1 >= end ||
                text.text[i + 1] < '0' || text.text[i + 1] > '9')
                return false;
            continue;
        }
        copy[n++] = c;
    }
    copy[n] = '\0';
    return n && i == end && read_float(copy, n, out);
}

static hn_status shorten(double d, hn_tval *out, bool *ok)
{
    *ok = isfinite(d);
    if (!*ok)
        return HN_OK;
    HN_REQUIRE(fabs(d) < 9.2e18, HN_ERR_FORMAT, "an integer beyond 64 bits");
    *out = hn_tv_int((int64_t)d);
    return HN_OK;
}

static hn_status filter_int(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    int64_t base = 10, i = 0;
    double d = 0;
    bool ok = false;
    const hn_tval *v = &c->self;
    HN_TRY(hn_tpl_want_int(c, 1, 10, &base));
    HN_REQUIRE(base == 0 || (base >= 2 && base <= 36), HN_ERR_FORMAT,
               "int() base must be >= 2 and <= 36, or 0");
    if (v->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(v);
    if (hn_tv_is_integer(v)) {
        *out = hn_tv_int(hn_tv_integer(v));
        return HN_OK;
    }
    if (v->kind == HN_TV_TEXT && read_int(v->as.text, (int)base, &i)) {
        *out = hn_tv_int(i);
        return HN_OK;
    }
    if (v->kind == HN_TV_FLOAT && isinf(v->as.number))
        return hn_fail(HN_ERR_FORMAT, "cannot convert float infinity to integer");
    if (v->kind == HN_TV_FLOAT)
        HN_TRY(shorten(v->as.number, out, &ok));
    if (v->kind == HN_TV_TEXT && read_double(v->as.text, &d))
        HN_TRY(shorten(d, out, &ok));
    if (!ok)
        *out = c->slots[0].kind == HN_TV_MISSING ? hn_tv_int(0) : c->slots[0];
    return HN_OK;
}

static hn_status filter_float(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    double d = 0;
    const hn_tval *v = &c->self;
    if (v->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(v);
    if (hn_tv_is_integer(v))
        *out = hn_tv_float((double)hn_tv_integer(v));
    else if (v->kind == HN_TV_FLOAT)
        *out = *v;
    else if (v->kind == HN_TV_TEXT && read_double(v->as.text, &d))
        *out = hn_tv_float(d);
    else
        *out = c->slots[0].kind == HN_TV_MISSING ? hn_tv_float(0) : c->slots[0];
    return HN_OK;
}

static hn_status filter_abs(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    const hn_tval *v = &c->self;
    if (v->kind == HN_TV_FLOAT) {
        *out = hn_tv_float(fabs(v->as.number));
        return HN_OK;
    }
    HN_REQUIRE(hn_tv_is_integer(v), HN_ERR_FORMAT, "bad operand type for abs(): '%s'",
               hn_tv_type(v));
    *out = hn_tv_int(hn_tv_integer(v));
    return hn_tv_integer(v) < 0 ? hn_tpl_negate(r, v, out) : HN_OK;
}

/* Half to even, on the decimal digits that the double has, as round() does. */
static hn_status round_common(double d, int64_t digits, hn_tval *out)
{
    char text[400];
    if (!isfinite(d) || digits > 323) {
        *out = hn_tv_float(d);
        return HN_OK;
    }
    if (digits >= 0) {
        double rounded = d;
        hn_text_print(text, sizeof text, "%.*f", (int)(digits < 60 ? digits : 60), d);
        if (digits < 60)
            hn_number_parse(text, &rounded);
        *out = hn_tv_float(rounded);
        return HN_OK;
    }
    if (digits < -308) {
        *out = hn_tv_float(copysign(0, d));
        return HN_OK;
    }
    const double scale = hn_math_pow(10, (double)-digits), scaled = d / scale;
    *out = hn_tv_float(nearbyint(scaled) * scale);
    return HN_OK;
}

static hn_status round_int(int64_t i, int64_t digits, hn_tval *out)
{
    *out = hn_tv_int(i);
    if (digits >= 0)
        return HN_OK;
    if (digits < -18) {
        *out = hn_tv_int(0);
        return HN_OK;
    }
    int64_t scale = 1;
    for (; digits < 0; digits++)
        scale *= 10;
    int64_t rest = i % scale;
    rest += rest < 0 ? scale : 0;
    int64_t down = 0;
    if (__builtin_sub_overflow(i, rest, &down))
        return hn_fail(HN_ERR_FORMAT, "an integer beyond 64 bits");
    const bool up = rest > scale - rest || (rest == scale - rest && (down / scale) % 2 != 0);
    if (up && __builtin_add_overflow(down, scale, &down))
        return hn_fail(HN_ERR_FORMAT, "an integer beyond 64 bits");
    *out = hn_tv_int(down);
    return HN_OK;
}

static hn_status filter_round(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int64_t digits = 0;
    hn_tpl_text method;
    const hn_tval *v = &c->self;
    HN_TRY(hn_tpl_want_int(c, 0, 0, &digits));
    HN_TRY(hn_tpl_want_text(c, 1, "common", &method));
    const hn_tval name = hn_tv_text(method.text, method.bytes);
    const bool common = hn_tv_is(&name, "common"), up = hn_tv_is(&name, "ceil");
    HN_REQUIRE(common || up || hn_tv_is(&name, "floor"), HN_ERR_FORMAT,
               "method must be common, ceil or floor");
    if (v->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(v);
    HN_REQUIRE(hn_tv_is_integer(v) || v->kind == HN_TV_FLOAT, HN_ERR_FORMAT,
               "type %s doesn't define __round__ method", hn_tv_type(v));
    if (common)
        return v->kind == HN_TV_FLOAT ? round_common(v->as.number, digits, out)
                                      : round_int(hn_tv_integer(v), digits, out);
    hn_tval scale, scaled;
    const hn_tval ten = hn_tv_int(10), power = hn_tv_int(digits);
    HN_TRY(hn_tpl_binary(r, 'p', &ten, &power, &scale));
    HN_TRY(hn_tpl_binary(r, '*', v, &scale, &scaled));
    if (scaled.kind == HN_TV_FLOAT) {
        const double whole = up ? ceil(scaled.as.number) : floor(scaled.as.number);
        HN_REQUIRE(isfinite(whole), HN_ERR_FORMAT, "cannot convert float infinity to integer");
        scaled = hn_tv_float(whole + 0.0 == 0 ? 0.0 : whole); /* an int has no -0 */
    }
    return hn_tpl_binary(r, '/', &scaled, &scale, out);
}

static hn_status filter_filesizeformat(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    static const char *const units[2][8] = { { "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB" },
                                             { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB",
                                               "YiB" } };
    bool binary = false;
    hn_tpl_call number = { .self = c->self };
    hn_tval bytes;
    HN_TRY(hn_tpl_want_bool(r, c, 0, false, &binary));
    const hn_tval none = hn_tv_none();
    number.slots[0] = none;
    HN_TRY(filter_float(r, &number, &bytes));
    HN_REQUIRE(bytes.kind == HN_TV_FLOAT, HN_ERR_FORMAT, "could not convert %s to float",
               hn_tv_type(&c->self));
    const double base = binary ? 1024 : 1000;
    double d = bytes.as.number, unit = base;
    hn_str to = hn_str_on(&r->budget.heap);
    const hn_tpl_spec spec = { .precision = 1, .type = 'f' };
    hn_status status = HN_OK;
    if (d == 1) {
        hn_str_add(&to, "1 Byte");
    } else if (d < base) {
        hn_str_print(&to, "%lld Bytes", (long long)(d > -9e18 ? d : 0));
    } else {
        int i = 0;
        for (; i < 7 && d >= unit * base; i++)
            unit *= base;
        status = hn_tpl_digits_of_double(base * d / (unit * base), &spec, &to);
        hn_str_print(&to, " %s", units[binary][i]);
    }
    if (status == HN_OK)
        status = hn_tv_from_str(r, &to, out);
    hn_str_free(&to);
    return status;
}

static hn_status filter_attr(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_text name;
    hn_tval copy;
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &name));
    HN_TRY(hn_tv_copy_text(r, name.text, name.bytes, &copy));
    /* unlike a.b, it does not look at items */
    hn_tval of = c->self;
    if (of.kind == HN_TV_DICT)
        HN_TRY(hn_tv_dict_new(r, &of));
    return hn_tpl_get_attr(r, &of, copy.as.text.text, out);
}

static hn_status filter_pprint(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r, (void)out;
    return hn_fail(HN_ERR_UNSUPPORTED, "the filter %s is not for chat templates", c->name);
}

const hn_tpl_fn hn_tpl_value_filters[] = {
    { "default", "default_value= boolean=", filter_default },
    { "d", "default_value= boolean=", filter_default },
    { "length", "/", filter_length },
    { "count", "/", filter_length },
    { "string", "/", filter_string },
    { "tojson", "ensure_ascii= indent= separators= sort_keys=", hn_tpl_tojson },
    { "safe", "", filter_safe },
    { "e", "/", filter_escape },
    { "escape", "/", filter_escape },
    { "forceescape", "", filter_forceescape },
    { "int", "default= base=", filter_int },
    { "float", "default=", filter_float },
    { "abs", "/", filter_abs },
    { "round", "precision= method=", filter_round },
    { "filesizeformat", "binary=", filter_filesizeformat },
    { "attr", "name", filter_attr },
    { "pprint", "*", filter_pprint },
    { "random", "*", filter_pprint },
    { "striptags", "*", filter_pprint },
    { "urlize", "*", filter_pprint },
    { "wordwrap", "*", filter_pprint },
    { NULL, NULL, NULL },
};

const hn_tpl_fn *hn_tpl_filter_find(const char *name)
{
    const hn_tpl_fn *const tables[] = { hn_tpl_value_filters, hn_tpl_text_filters,
                                        hn_tpl_list_filters };
    for (int i = 0; i < 3; i++) {
        const hn_tpl_fn *found = hn_tpl_fn_find(tables[i], name);
        if (found)
            return found;
    }
    return NULL;
}
