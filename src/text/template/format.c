/* "..." % values and "...".format(values). */
#include "text/template/fn.h"
#include "text/template/number.h"

#include "base/utf8.h"
#include "text/unicode/python.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct formatter {
    hn_tpl_run *r;
    hn_tpl_str to;
    const hn_tval *args; /* one value, or a tuple's */
    size_t n_args, next;
    const hn_tval *mapping; /* NULL if the values are no dict */
    bool is_markup;
} formatter;

static bool eat_number(hn_tpl_text text, size_t *i, int64_t *out)
{
    const size_t begin = *i;
    for (*out = 0; *i < text.bytes && text.text[*i] >= '0' && text.text[*i] <= '9'; ++*i)
        *out = *out < 100000000 ? *out * 10 + (text.text[*i] - '0') : *out;
    return *i > begin;
}

static hn_status next_argument(formatter *f, const hn_tval **out)
{
    HN_REQUIRE(f->next < f->n_args, HN_ERR_FORMAT, "not enough arguments for format string");
    *out = &f->args[f->next++];
    return HN_OK;
}

static hn_status star_or_number(formatter *f, hn_tpl_text text, size_t *i, int64_t *out)
{
    if (*i < text.bytes && text.text[*i] == '*') {
        const hn_tval *v = NULL;
        HN_TRY(next_argument(f, &v));
        HN_REQUIRE(hn_tv_is_integer(v), HN_ERR_FORMAT, "* wants int");
        *out = hn_tv_integer(v);
        ++*i;
        return HN_OK;
    }
    eat_number(text, i, out);
    return HN_OK;
}

/* %s and its like take any value; the escaping of markup is theirs. */
static hn_status percent_text(formatter *f, const hn_tval *v, hn_tpl_spec *spec)
{
    hn_tpl_str one = hn_tpl_str_on(&f->r->budget.heap), escaped = hn_tpl_str_on(&f->r->budget.heap);
    hn_status status =
        spec->type == 's' ? hn_tv_write(f->r, v, &one) : hn_tv_write_repr(f->r, v, &one.text);
    hn_tpl_str *text = &one;
    if (status == HN_OK && f->is_markup && !v->is_markup) {
        hn_tv_escape(&escaped, hn_tpl_str_text(&one));
        text = &escaped;
    }
    spec->zero = false;
    if (status == HN_OK)
        hn_tpl_pad_text(hn_tpl_str_text(text), spec, spec->dash ? '<' : '>', &f->to);
    hn_tpl_str_free(&one);
    hn_tpl_str_free(&escaped);
    return status;
}

static hn_status percent_number(formatter *f, const hn_tval *v, hn_tpl_spec *spec)
{
    hn_str body = hn_str_on(&f->r->budget.heap);
    hn_status status = HN_OK;
    bool is_negative = false;
    const char *prefix = "";
    if (spec->dash) {
        spec->align = '<';
        spec->zero = false;
    }
    if (v->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(v);
    if (strchr("eEfFgG", spec->type)) {
        HN_REQUIRE(hn_tv_is_integer(v) || v->kind == HN_TV_FLOAT, HN_ERR_FORMAT,
                   "must be real number, not %s", hn_tv_type(v));
        const double d = v->kind == HN_TV_FLOAT ? v->as.number : (double)hn_tv_integer(v);
        is_negative = signbit(d) && !isnan(d);
        status = hn_tpl_digits_of_double(d, spec, &body);
    } else {
        const bool truncates = spec->type == 'd' && v->kind == HN_TV_FLOAT;
        HN_REQUIRE(hn_tv_is_integer(v) || truncates, HN_ERR_FORMAT,
                   "%%%c format: a%s is required, not %s", spec->type,
                   spec->type == 'd' ? " real number" : "n integer", hn_tv_type(v));
        HN_REQUIRE(!truncates || fabs(v->as.number) < 9e18, HN_ERR_FORMAT,
                   "cannot convert this float to an integer of 64 bits");
        const int64_t i = truncates ? (int64_t)v->as.number : hn_tv_integer(v);
        is_negative = i < 0;
        hn_tpl_digits_of_int(i, spec, &body);
        if (spec->alternate)
            prefix = spec->type == 'x'   ? "0x"
                     : spec->type == 'X' ? "0X"
                     : spec->type == 'o' ? "0o"
                                         : "";
        if (spec->precision > (int64_t)body.length && spec->precision < 1000) {
            hn_str longer = hn_str_on(&f->r->budget.heap);
            for (int64_t k = (int64_t)body.length; k < spec->precision; k++)
                hn_str_add_char(&longer, '0');
            hn_str_add_bytes(&longer, body.text, body.length);
            hn_str_free(&body);
            body = longer;
        }
    }
    if (status == HN_OK)
        hn_tpl_pad_number(is_negative, prefix, (hn_tpl_text){ body.text, body.length }, spec,
                          &f->to.text);
    hn_str_free(&body);
    return status;
}

static hn_status percent_char(formatter *f, const hn_tval *v, hn_tpl_spec *spec)
{
    char bytes[4];
    hn_tpl_text text = { bytes, 0 };
    if (hn_tv_is_integer(v)) {
        const int64_t code = hn_tv_integer(v);
        HN_REQUIRE(code >= 0 && code < 0x110000 && (code < 0xd800 || code > 0xdfff),
                   HN_ERR_FORMAT, "%%c arg not in range(0x110000)");
        text.bytes = hn_utf8_put((uint32_t)code, bytes);
    } else {
        HN_REQUIRE(v->kind == HN_TV_TEXT && hn_tv_text_length(v->as.text) == 1, HN_ERR_FORMAT,
                   "%%c requires int or char");
        text = v->as.text;
    }
    spec->precision = -1;
    spec->zero = false;
    hn_tpl_pad_text(text, spec, spec->dash ? '<' : '>', &f->to);
    return HN_OK;
}

/* One conversion, from after its '%'. */
static hn_status convert(formatter *f, hn_tpl_text text, size_t *i)
{
    hn_tpl_spec spec = { .width = 0, .precision = -1 };
    const hn_tval *v = NULL;
    if (*i < text.bytes && text.text[*i] == '(') {
        const size_t begin = ++*i;
        for (int depth = 1; *i < text.bytes && depth; ++*i)
            depth += text.text[*i] == '(' ? 1 : text.text[*i] == ')' ? -1 : 0;
        HN_REQUIRE(f->mapping, HN_ERR_FORMAT, "format requires a mapping");
        const hn_tval key = hn_tv_text(text.text + begin, *i - 1 - begin);
        hn_tval *found = NULL;
        HN_TRY(hn_tv_dict_get(f->r, f->mapping->as.dict, &key, &found));
        HN_REQUIRE(found, HN_ERR_FORMAT, "KeyError: '%.*s'",
                   (int)(key.as.text.bytes < 100 ? key.as.text.bytes : 100), key.as.text.text);
        v = found;
    }
    for (; *i < text.bytes && text.text[*i] && strchr("#0- +", text.text[*i]); ++*i) {
        spec.alternate |= text.text[*i] == '#';
        spec.zero |= text.text[*i] == '0';
        spec.dash |= text.text[*i] == '-';
        if (text.text[*i] == '+' || (text.text[*i] == ' ' && !spec.sign))
            spec.sign = text.text[*i];
    }
    HN_TRY(star_or_number(f, text, i, &spec.width));
    if (spec.width < 0) {
        spec.width = -spec.width;
        spec.dash = true;
    }
    if (*i < text.bytes && text.text[*i] == '.') {
        ++*i;
        HN_TRY(star_or_number(f, text, i, &spec.precision));
        spec.precision = spec.precision < 0 ? 0 : spec.precision;
    }
    HN_REQUIRE(spec.width <= 1000000, HN_ERR_UNSUPPORTED, "a width of more than 1000000");
    while (*i < text.bytes && text.text[*i] && strchr("hlL", text.text[*i]))
        ++*i;
    HN_REQUIRE(*i < text.bytes, HN_ERR_FORMAT, "incomplete format");
    spec.type = text.text[(*i)++];
    if (spec.type == '%') {
        hn_tpl_put(&f->to, hn_tpl_part(text, *i - 1, *i));
        return HN_OK;
    }
    HN_REQUIRE(spec.type && strchr("sradiuxXoeEfFgGc", spec.type), HN_ERR_FORMAT,
               "unsupported format character '%c'", spec.type);
    if (!v)
        HN_TRY(next_argument(f, &v));
    if (strchr("sra", spec.type))
        return percent_text(f, v, &spec);
    if (spec.type == 'c')
        return percent_char(f, v, &spec);
    if (spec.type == 'i' || spec.type == 'u')
        spec.type = 'd';
    return percent_number(f, v, &spec);
}

static hn_status percent_all(formatter *f, hn_tpl_text text, const hn_tval *args)
{
    for (size_t i = 0; i < text.bytes;) {
        const char *percent = memchr(text.text + i, '%', text.bytes - i);
        const size_t end = percent ? (size_t)(percent - text.text) : text.bytes;
        hn_tpl_put(&f->to, hn_tpl_part(text, i, end));
        i = end + 1;
        HN_TRY(hn_tpl_step(f->r, 1));
        if (percent)
            HN_TRY(convert(f, text, &i));
        HN_TRY(hn_tpl_fits(f->r, &f->to.text));
    }
    const bool may_be_left = args->kind != HN_TV_TUPLE &&
                             (args->kind == HN_TV_DICT || args->kind == HN_TV_LIST ||
                              args->kind == HN_TV_RANGE || args->kind == HN_TV_UNDEFINED);
    HN_REQUIRE(f->next == f->n_args || may_be_left, HN_ERR_FORMAT,
               "not all arguments converted during string formatting");
    return HN_OK;
}

hn_status hn_tpl_percent(hn_tpl_run *r, const hn_tval *format, const hn_tval *args,
                         hn_tval *out)
{
    formatter f = { .r = r,
                    .to = hn_tpl_str_on(&r->budget.heap),
                    .args = args,
                    .n_args = 1,
                    .is_markup = format->is_markup };
    if (args->kind == HN_TV_TUPLE) {
        f.args = args->as.list->at;
        f.n_args = args->as.list->n;
    }
    if (args->kind == HN_TV_DICT)
        f.mapping = args;
    hn_status status = percent_all(&f, format->as.text, args);
    if (status == HN_OK)
        status = hn_tv_from_words(r, &f.to, out);
    hn_tpl_str_free(&f.to);
    if (status == HN_OK)
        out->is_markup = format->is_markup;
    return status;
}

static hn_status read_spec(hn_tpl_text text, hn_tpl_spec *s)
{
    size_t i = 0, n = 0;
    *s = (hn_tpl_spec){ .precision = -1 };
    if (text.bytes)
        hn_tpl_code_at(text.text, &n);
    if (n && n < text.bytes && strchr("<>=^", text.text[n])) {
        memcpy(s->fill, text.text, n);
        s->fill_bytes = (int)n;
        s->align = text.text[n];
        i = n + 1;
    } else if (n && strchr("<>=^", text.text[0])) {
        s->align = text.text[0];
        i = 1;
    }
#define AT(c) (i < text.bytes && text.text[i] == (c))
    if (AT('+') || AT('-') || AT(' '))
        s->sign = text.text[i++];
    if (AT('z'))
        return hn_fail(HN_ERR_UNSUPPORTED, "the option z of format");
    if (AT('#')) {
        s->alternate = true;
        i++;
    }
    if (AT('0') && !s->fill_bytes) {
        s->zero = true;
        i++;
    }
    eat_number(text, &i, &s->width);
    if (AT(',') || AT('_'))
        s->group = text.text[i++];
    if (AT('.')) {
        i++;
        HN_REQUIRE(eat_number(text, &i, &s->precision), HN_ERR_FORMAT,
                   "Format specifier missing precision");
    }
#undef AT
    if (i < text.bytes)
        s->type = text.text[i++];
    HN_REQUIRE(i == text.bytes, HN_ERR_FORMAT, "Invalid format specifier");
    HN_REQUIRE(s->width <= 1000000, HN_ERR_UNSUPPORTED, "a width of more than 1000000");
    return HN_OK;
}

static hn_status format_number(hn_tpl_run *r, const hn_tval *v, const hn_tpl_spec *spec,
                               hn_str *to)
{
    hn_str body = hn_str_on(&r->budget.heap);
    hn_status status = HN_OK;
    bool is_negative = false;
    const char *prefix = "";
    const bool is_float =
        v->kind == HN_TV_FLOAT || (spec->type && strchr("eEfFgG%", spec->type));
    if (spec->type && !strchr(is_float ? "eEfFgG%n" : "bcdoxXn", spec->type))
        return hn_fail(HN_ERR_FORMAT, "Unknown format code '%c' for object of type '%s'",
                       spec->type, hn_tv_type(v));
    HN_REQUIRE(spec->type != 'n' && spec->type != 'c', HN_ERR_UNSUPPORTED, "the format code %c",
               spec->type);
    HN_REQUIRE(!spec->group || !spec->zero, HN_ERR_UNSUPPORTED, "groups with leading zeros");
    if (is_float) {
        const double d = v->kind == HN_TV_FLOAT ? v->as.number : (double)hn_tv_integer(v);
        is_negative = signbit(d) && !isnan(d);
        status = hn_tpl_digits_of_double(d, spec, &body);
    } else {
        HN_REQUIRE(spec->precision < 0, HN_ERR_FORMAT,
                   "Precision not allowed in integer format specifier");
        is_negative = hn_tv_integer(v) < 0;
        hn_tpl_digits_of_int(hn_tv_integer(v), spec, &body);
        if (spec->alternate)
            prefix = spec->type == 'x'   ? "0x"
                     : spec->type == 'X' ? "0X"
                     : spec->type == 'o' ? "0o"
                     : spec->type == 'b' ? "0b"
                                         : "";
    }
    if (status == HN_OK)
        hn_tpl_pad_number(is_negative, prefix, (hn_tpl_text){ body.text, body.length }, spec,
                          to);
    hn_str_free(&body);
    return status;
}

hn_status hn_tpl_format_spec(hn_tpl_run *r, const hn_tval *v, hn_tpl_text text, hn_tpl_str *to)
{
    hn_tpl_spec spec;
    if (!text.bytes)
        return hn_tv_write(r, v, to);
    HN_TRY(read_spec(text, &spec));
    if ((v->kind == HN_TV_BOOL && spec.type) || v->kind == HN_TV_INT || v->kind == HN_TV_FLOAT)
        return format_number(r, v, &spec, &to->text);
    if (v->kind == HN_TV_BOOL) {
        const hn_tval as_int = hn_tv_int(v->as.boolean);
        return format_number(r, &as_int, &spec, &to->text);
    }
    HN_REQUIRE(v->kind == HN_TV_TEXT, HN_ERR_FORMAT,
               "unsupported format string passed to %s.__format__", hn_tv_type(v));
    HN_REQUIRE(!spec.type || spec.type == 's', HN_ERR_FORMAT,
               "Unknown format code '%c' for object of type 'str'", spec.type);
    HN_REQUIRE(!spec.group, HN_ERR_FORMAT, "Cannot specify '%c' with 's'.", spec.group);
    HN_REQUIRE(!spec.sign, HN_ERR_FORMAT, "Sign not allowed in string format specifier");
    HN_REQUIRE(spec.align != '=', HN_ERR_FORMAT,
               "'=' alignment not allowed in string format specifier");
    hn_tpl_pad_text(v->as.text, &spec, spec.align ? spec.align : '<', to);
    return HN_OK;
}

typedef struct fields {
    formatter *f;
    const hn_tpl_call *c;
    int numbering; /* 0: none yet, 1: automatic, 2: by number */
    int depth;
} fields;

/* name.attr[item]: through the sandbox, as jinja2's formatter does it. */
static hn_status field_value(fields *s, hn_tpl_text name, hn_tval *out)
{
    hn_tpl_run *r = s->f->r;
    size_t i = 0, end = 0;
    int64_t index = 0;
    while (end < name.bytes && name.text[end] != '.' && name.text[end] != '[')
        end++;
    const hn_tpl_text first = { name.text, end };
    const bool is_number = eat_number(first, &i, &index) && i == end;
    if (end == 0 || is_number) {
        const int numbering = end == 0 ? 1 : 2;
        HN_REQUIRE(!s->numbering || s->numbering == numbering, HN_ERR_FORMAT,
                   "cannot switch between manual and automatic field numbering");
        s->numbering = numbering;
        if (end == 0)
            index = (int64_t)s->f->next++;
        HN_REQUIRE(index < (int64_t)s->c->n_args, HN_ERR_FORMAT,
                   "Replacement index %" PRId64 " out of range for positional args tuple",
                   index);
        *out = s->c->args[index];
    } else {
        const hn_tpl_keyword *found = NULL;
        for (size_t k = 0; k < s->c->n_keywords; k++)
            if (strlen(s->c->keywords[k].name) == end &&
                !memcmp(s->c->keywords[k].name, first.text, end))
                found = &s->c->keywords[k];
        HN_REQUIRE(found, HN_ERR_FORMAT, "KeyError: '%.*s'", (int)(end < 100 ? end : 100),
                   first.text);
        *out = found->value;
    }
    for (i = end; i < name.bytes; i = end) {
        const bool is_item = name.text[i] == '[';
        for (end = ++i;
             end < name.bytes && (is_item ? name.text[end] != ']'
                                          : name.text[end] != '.' && name.text[end] != '[');)
            end++;
        size_t k = i;
        const bool by_index =
            is_item && eat_number((hn_tpl_text){ name.text, end }, &k, &index) && k == end;
        hn_tval key, of = *out;
        HN_TRY(hn_tv_copy_text(r, name.text + i, end - i, &key));
        if (by_index)
            key = hn_tv_int(index);
        HN_TRY(is_item ? hn_tpl_get_item(r, &of, &key, out)
                       : hn_tpl_get_attr(r, &of, key.as.text.text, out));
        end += is_item;
    }
    return HN_OK;
}

static hn_status fill_fields(fields *s, hn_tpl_text text, hn_tpl_str *to);

static hn_status put_field(fields *s, hn_tpl_text field, hn_tpl_str *to)
{
    hn_tpl_run *r = s->f->r;
    size_t end = 0, colon;
    int depth = 0;
    for (; end < field.bytes; end++) {
        depth += field.text[end] == '[' ? 1 : field.text[end] == ']' ? -1 : 0;
        if (!depth && (field.text[end] == ':' || field.text[end] == '!'))
            break;
    }
    hn_tval value, as_text;
    HN_TRY(field_value(s, (hn_tpl_text){ field.text, end }, &value));
    colon = end;
    if (end < field.bytes && field.text[end] == '!') {
        const char conversion = end + 1 < field.bytes ? field.text[end + 1] : '\0';
        HN_REQUIRE(conversion == 'r' || conversion == 's', HN_ERR_FORMAT,
                   "Unknown conversion specifier");
        hn_tpl_str one = hn_tpl_str_on(&r->budget.heap);
        hn_status status = conversion == 'r' ? hn_tv_write_repr(r, &value, &one.text)
                                             : hn_tv_write(r, &value, &one);
        if (status == HN_OK)
            status = hn_tv_from_words(r, &one, &as_text);
        hn_tpl_str_free(&one);
        HN_TRY(status);
        value = as_text;
        colon = end + 2;
        HN_REQUIRE(colon >= field.bytes || field.text[colon] == ':', HN_ERR_FORMAT,
                   "expected ':' after conversion specifier");
    }
    hn_tpl_str spec = hn_tpl_str_on(&r->budget.heap);
    hn_status status = HN_OK;
    if (colon < field.bytes)
        status = fill_fields(s, hn_tpl_part(field, colon + 1, field.bytes), &spec);
    if (status == HN_OK)
        status = hn_tpl_format_spec(r, &value, hn_tpl_str_text(&spec), to);
    hn_tpl_str_free(&spec);
    return status;
}

static hn_status fill_fields(fields *s, hn_tpl_text text, hn_tpl_str *to)
{
    HN_REQUIRE(s->depth < 2, HN_ERR_FORMAT, "Max string recursion exceeded");
    s->depth++;
    for (size_t i = 0; i < text.bytes; i++) {
        const char c = text.text[i];
        HN_TRY(hn_tpl_step(s->f->r, 1));
        if (c != '{' && c != '}') {
            hn_tpl_put(to, hn_tpl_part(text, i, i + 1));
            continue;
        }
        if (i + 1 < text.bytes && text.text[i + 1] == c) {
            hn_tpl_put(to, hn_tpl_part(text, i, i + 1));
            i++;
            continue;
        }
        HN_REQUIRE(c == '{', HN_ERR_FORMAT, "Single '}' encountered in format string");
        size_t end = i + 1;
        for (int depth = 1; end < text.bytes; end++) {
            depth += text.text[end] == '{' ? 1 : text.text[end] == '}' ? -1 : 0;
            if (!depth)
                break;
        }
        HN_REQUIRE(end < text.bytes, HN_ERR_FORMAT,
                   i + 1 < text.bytes ? "expected '}' before end of string"
                                      : "Single '{' encountered in format string");
        HN_TRY(put_field(s, hn_tpl_part(text, i + 1, end), to));
        i = end;
        HN_TRY(hn_tpl_fits(s->f->r, &to->text));
    }
    s->depth--;
    return HN_OK;
}

hn_status hn_tpl_str_format(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    formatter f = { .r = r, .to = hn_tpl_str_on(&r->budget.heap) };
    fields s = { .f = &f, .c = c };
    hn_status status = fill_fields(&s, c->self.as.text, &f.to);
    if (status == HN_OK)
        status = hn_tv_from_words(r, &f.to, out);
    hn_tpl_str_free(&f.to);
    return status;
}
