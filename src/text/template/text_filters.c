/* Filters that make texts. */
#include "text/template/fn.h"
#include "text/unicode/python.h"

#include <string.h>

/* A method of str on str(value). */
static hn_status method(hn_tpl_run *r, hn_tpl_call *c, const char *name, hn_tval *out)
{
    hn_tpl_call call = *c;
    HN_TRY(hn_tv_to_text(r, &c->self, &call.self));
    const hn_tpl_fn *fn = hn_tpl_method_find(&call.self, name);
    return fn->call(r, &call, out);
}

static hn_status filter_upper(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return method(r, c, "upper", out);
}

static hn_status filter_lower(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return method(r, c, "lower", out);
}

static hn_status filter_capitalize(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return method(r, c, "capitalize", out);
}

static hn_status filter_center(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return method(r, c, "center", out);
}

static hn_status filter_trim(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return method(r, c, "strip", out);
}

/* Words begin after space, '-', and opening brackets; unlike str.title, not after "'". */
static hn_status filter_title(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval text, one;
    HN_TRY(hn_tv_to_text(r, &c->self, &text));
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    hn_status status = HN_OK;
    const hn_tpl_text t = text.as.text;
    bool starts = true;
    for (size_t begin = 0, end = 0; status == HN_OK && begin < t.bytes; begin = end) {
        size_t n = 0;
        const uint32_t code = hn_tpl_code_at(t.text + begin, &n);
        const bool divides = hn_tpl_is_in(HN_TPL_SPACE, code) ||
                             (code < 128 && code && strchr("-({[<", (int)code));
        end = begin + n;
        while (!divides && !starts &&
               end < t.bytes) { /* the rest of a word at once: final sigma */
            const uint32_t next = hn_tpl_code_at(t.text + end, &n);
            if (hn_tpl_is_in(HN_TPL_SPACE, next) ||
                (next < 128 && next && strchr("-({[<", (int)next)))
                break;
            end += n;
        }
        hn_tpl_call call = { .self = hn_tv_part(t, begin, end) };
        status = method(r, &call,
                        starts && !divides ? "upper"
                        : divides          ? "strip"
                                           : "lower",
                        &one);
        if (divides)
            one = call.self;
        if (status == HN_OK)
            hn_tpl_put(&to, one.as.text);
        starts = divides;
    }
    if (status == HN_OK)
        status = hn_tv_from_words(r, &to, out);
    hn_tpl_str_free(&to);
    return status;
}

static hn_status filter_replace(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_call call = *c;
    HN_TRY(hn_tv_to_text(r, &c->self, &call.self));
    call.self.is_markup = false;
    HN_TRY(hn_tv_to_text(r, &c->slots[0], &call.slots[0]));
    HN_TRY(hn_tv_to_text(r, &c->slots[1], &call.slots[1]));
    if (c->slots[2].kind == HN_TV_NONE)
        call.slots[2] = (hn_tval){ 0 };
    return hn_tpl_method_find(&call.self, "replace")->call(r, &call, out);
}

static hn_status filter_format(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval text, values;
    HN_TRY(hn_tv_to_text(r, &c->self, &text));
    HN_REQUIRE(!c->n_args || !c->n_keywords, HN_ERR_FORMAT,
               "can't handle positional and keyword arguments at the same time");
    if (c->n_keywords) {
        HN_TRY(hn_tv_dict_new(r, &values));
        for (size_t i = 0; i < c->n_keywords; i++) {
            const hn_tval key = hn_tv_text(c->keywords[i].name, strlen(c->keywords[i].name));
            HN_TRY(hn_tv_dict_set(r, values.as.dict, &key, &c->keywords[i].value));
        }
    } else {
        HN_TRY(hn_tv_list_new(r, HN_TV_TUPLE, &values));
        for (size_t i = 0; i < c->n_args; i++)
            HN_TRY(hn_tv_list_add(r, values.as.list, &c->args[i]));
    }
    return hn_tpl_percent(r, &text, &values, out);
}

static hn_status lines_of(hn_tpl_run *r, const hn_tval *text, hn_tval *out)
{
    hn_tpl_call call = { .self = *text };
    return hn_tpl_method_find(text, "splitlines")->call(r, &call, out);
}

static hn_status filter_indent(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool first = false, blank = false;
    int64_t width = 4;
    hn_tval lines, text;
    HN_TRY(hn_tpl_want_bool(r, c, 1, false, &first));
    HN_TRY(hn_tpl_want_bool(r, c, 2, false, &blank));
    if (c->slots[0].kind != HN_TV_TEXT)
        HN_TRY(hn_tpl_want_int(c, 0, 4, &width));
    HN_REQUIRE(width <= 100000, HN_ERR_UNSUPPORTED, "an indent of more than 100000");
    if (c->self.kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(&c->self);
    HN_REQUIRE(c->self.kind == HN_TV_TEXT, HN_ERR_FORMAT, "indent: expected a str, not %s",
               hn_tv_type(&c->self));
    const hn_tval newline = hn_tv_text("\n", 1);
    HN_TRY(hn_tpl_binary(r, '+', &c->self, &newline, &text)); /* so that a last "\n" counts */
    HN_TRY(lines_of(r, &text, &lines));
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    hn_status status = HN_OK;
    for (size_t i = 0; i < lines.as.list->n && status == HN_OK; i++) {
        const hn_tpl_text line = lines.as.list->at[i].as.text;
        if (i)
            hn_str_add_char(&to.text, '\n');
        const bool indents = i == 0 ? first : blank || line.bytes;
        if (indents && c->slots[0].kind == HN_TV_TEXT)
            hn_tpl_put(&to, c->slots[0].as.text);
        for (int64_t k = 0; indents && c->slots[0].kind != HN_TV_TEXT && k < width; k++)
            hn_str_add_char(&to.text, ' ');
        hn_tpl_put(&to, line);
        status = hn_tpl_fits(r, &to.text);
        if (status == HN_OK)
            status = hn_tpl_charge(r, indents ? (size_t)(width > 0 ? width : 0) : 0);
    }
    if (status == HN_OK)
        status = hn_tv_from_words(r, &to, out);
    hn_tpl_str_free(&to);
    out->is_markup = c->self.is_markup;
    return status;
}

static hn_status filter_truncate(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int64_t length = 255, leeway = 5, n = 0;
    bool kill = false;
    hn_tpl_text end;
    HN_TRY(hn_tpl_want_int(c, 0, 255, &length));
    HN_TRY(hn_tpl_want_bool(r, c, 1, false, &kill));
    HN_TRY(hn_tpl_want_text(c, 2, "...", &end));
    if (c->slots[3].kind != HN_TV_NONE)
        HN_TRY(hn_tpl_want_int(c, 3, 5, &leeway));
    const int64_t n_end = hn_tv_text_length(end);
    HN_REQUIRE(length >= n_end, HN_ERR_FORMAT, "expected length >= %lld, got %lld",
               (long long)n_end, (long long)length);
    HN_REQUIRE(leeway >= 0, HN_ERR_FORMAT, "expected leeway >= 0, got %lld", (long long)leeway);
    HN_TRY(hn_tv_length(r, &c->self, &n));
    *out = c->self;
    if (n - leeway <= length)
        return HN_OK;
    HN_REQUIRE(c->self.kind == HN_TV_TEXT, HN_ERR_FORMAT, "truncate: expected a str, not %s",
               hn_tv_type(&c->self));
    hn_tpl_text text = c->self.as.text;
    text.bytes = hn_tv_text_offset(text, length - n_end);
    for (size_t i = text.bytes; !kill && i; i--)
        if (text.text[i - 1] == ' ') {
            text.bytes = i - 1;
            break;
        }
    const hn_tval kept = hn_tv_part(text, 0, text.bytes), tail = hn_tv_part(end, 0, end.bytes);
    return hn_tpl_binary(r, '+', &kept, &tail, out);
}

static hn_status filter_wordcount(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval text;
    int64_t words = 0;
    bool in_word = false;
    HN_TRY(hn_tv_to_text(r, &c->self, &text));
    for (size_t i = 0, n = 0; i < text.as.text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.as.text.text + i, &n);
        const bool is_word = code == '_' || hn_tpl_is_in(HN_TPL_ALNUM, code);
        words += is_word && !in_word;
        in_word = is_word;
    }
    *out = hn_tv_int(words);
    return hn_tpl_charge(r, text.as.text.bytes);
}

static hn_status quote(hn_tpl_run *r, const hn_tval *v, bool in_query, hn_str *to)
{
    hn_tval text;
    HN_TRY(hn_tv_to_text(r, v, &text));
    for (size_t i = 0; i < text.as.text.bytes; i++) {
        const char c = text.as.text.text[i];
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || (c && strchr("_.-~", c)) ||
                           (c == '/' && !in_query);
        if (plain)
            hn_str_add_char(to, c);
        else if (c == ' ' && in_query)
            hn_str_add_char(to, '+');
        else
            hn_str_print(to, "%%%02X", (unsigned char)c);
    }
    return HN_OK;
}

static hn_status quote_pairs(hn_tpl_run *r, const hn_tval *of, hn_str *to)
{
    hn_tpl_iter it;
    hn_tval all = *of, pair, item;
    if (of->kind == HN_TV_DICT) {
        hn_tpl_view *view = hn_tpl_new(r, sizeof *view);
        if (!view)
            return HN_ERR_MEMORY;
        *view = (hn_tpl_view){ of->as.dict, 'i' };
        all = (hn_tval){ .kind = HN_TV_VIEW, .as.view = view };
    }
    HN_TRY(hn_tv_iter(r, &all, &it));
    for (bool first = true, done = false;; first = false) {
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            return HN_OK;
        HN_TRY(hn_tv_collect(r, &item, &pair));
        HN_REQUIRE(pair.as.list->n == 2, HN_ERR_FORMAT, "urlencode: expected pairs");
        if (!first)
            hn_str_add_char(to, '&');
        HN_TRY(quote(r, &pair.as.list->at[0], true, to));
        hn_str_add_char(to, '=');
        HN_TRY(quote(r, &pair.as.list->at[1], true, to));
    }
}

static hn_status filter_urlencode(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_str to = hn_str_on(&r->budget.heap);
    hn_tpl_iter it;
    const bool is_single = c->self.kind == HN_TV_TEXT || hn_tv_iter(r, &c->self, &it) != HN_OK;
    hn_status status =
        is_single ? quote(r, &c->self, false, &to) : quote_pairs(r, &c->self, &to);
    if (status == HN_OK)
        status = hn_tv_from_str(r, &to, out);
    hn_str_free(&to);
    return status;
}

static hn_status put_attribute(hn_tpl_run *r, const hn_tval *key, const hn_tval *value,
                               hn_tpl_str *to)
{
    hn_tval text;
    HN_REQUIRE(key->kind == HN_TV_TEXT, HN_ERR_FORMAT, "xmlattr: expected str keys, not %s",
               hn_tv_type(key));
    for (size_t i = 0; i < key->as.text.bytes; i++)
        HN_REQUIRE(!key->as.text.text[i] || !strchr(" \t\n\r\f\v/>=", key->as.text.text[i]),
                   HN_ERR_FORMAT, "Invalid character in attribute name");
    HN_TRY(hn_tv_to_text(r, value, &text));
    if (to->text.length)
        hn_str_add_char(&to->text, ' ');
    hn_tv_escape(to, key->as.text);
    hn_str_add(&to->text, "=\"");
    if (text.is_markup)
        hn_tpl_put(to, text.as.text);
    else
        hn_tv_escape(to, text.as.text);
    hn_str_add_char(&to->text, '"');
    return HN_OK;
}

static hn_status filter_xmlattr(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool autospace = true;
    HN_TRY(hn_tpl_want_bool(r, c, 0, true, &autospace));
    HN_REQUIRE(c->self.kind == HN_TV_DICT, HN_ERR_FORMAT,
               "'%s' object has no attribute 'items'", hn_tv_type(&c->self));
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    hn_status status = HN_OK;
    const hn_tpl_dict *d = c->self.as.dict;
    for (size_t i = 0; i < d->n && status == HN_OK; i++)
        if (d->values[i].kind != HN_TV_NONE && d->values[i].kind != HN_TV_UNDEFINED)
            status = put_attribute(r, &d->keys[i], &d->values[i], &to);
    hn_tval text;
    const hn_tval space = hn_tv_text(" ", 1);
    if (status == HN_OK)
        status = hn_tv_from_words(r, &to, &text);
    const bool spaced = autospace && to.text.length;
    hn_tpl_str_free(&to);
    HN_TRY(status);
    *out = text;
    return spaced ? hn_tpl_binary(r, '+', &space, &text, out) : HN_OK;
}

const hn_tpl_fn hn_tpl_text_filters[] = {
    { "upper", "", filter_upper },
    { "lower", "", filter_lower },
    { "capitalize", "", filter_capitalize },
    { "title", "", filter_title },
    { "center", "width=", filter_center },
    { "trim", "chars=", filter_trim },
    { "replace", "old new count=", filter_replace },
    { "format", "*", filter_format },
    { "indent", "width= first= blank=", filter_indent },
    { "truncate", "length= killwords= end= leeway=", filter_truncate },
    { "wordcount", "", filter_wordcount },
    { "urlencode", "", filter_urlencode },
    { "xmlattr", "autospace=", filter_xmlattr },
    { NULL, NULL, NULL },
};
