/* yaml_tag: what begins with & * ! or %. */
#include "base/yaml_scan.h"

#include "base/utf8.h"

#include <string.h>

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           c == '-' || c == '_';
}

static void take_word(hn_yaml_scan *s, hn_str *text)
{
    for (; is_word(hn_yaml_peek(s, 0)); hn_yaml_step(s))
        hn_str_add_char(text, hn_yaml_peek(s, 0));
}

hn_status hn_yaml_scan_anchor(hn_yaml_scan *s, hn_str *text)
{
    hn_yaml_step(s);
    if (!is_word(hn_yaml_peek(s, 0)))
        return hn_yaml_fail_here(s, "expected a name after & or *");
    take_word(s, text);
    const char c = hn_yaml_peek(s, 0);
    if (!hn_yaml_is_blank(c) && !strchr("?:,]}%@`", c))
        return hn_yaml_fail_here(s, "a name after & or * is of letters, digits, - and _");
    return HN_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A run of %XX, which is UTF-8. */
static hn_status unescape(hn_yaml_scan *s, hn_str *text)
{
    const size_t begin = text->length;
    while (hn_yaml_peek(s, 0) == '%') {
        const int high = hex_digit(hn_yaml_peek(s, 1)),
                  low = high < 0 ? -1 : hex_digit(hn_yaml_peek(s, 2));
        if (low < 0)
            return hn_yaml_fail_here(s, "expected two hexadecimal digits after % in a tag");
        const char byte = (char)(high << 4 | low);
        hn_str_add_bytes(text, &byte, 1);
        for (int i = 0; i < 3; i++)
            hn_yaml_step(s);
    }
    for (size_t at = begin, n; at < text->length; at += n) {
        n = hn_utf8_length(text->text + at, text->length - at);
        if (!n)
            return hn_yaml_fail_here(s, "bytes that are no UTF-8 in a tag");
    }
    return HN_OK;
}

static hn_status take_address(hn_yaml_scan *s, hn_str *text)
{
    bool is_empty = true;
    for (char c; (c = hn_yaml_peek(s, 0)); is_empty = false) {
        if (c == '%') {
            HN_TRY(unescape(s, text));
            continue;
        }
        if (!is_word(c) && !strchr(";/?:@&=+$,.!~*'()[]", c))
            break;
        hn_str_add_char(text, c);
        hn_yaml_step(s);
    }
    return is_empty ? hn_yaml_fail_here(s, "expected a tag's name") : HN_OK;
}

/* "!", "!!" or "!word!" */
static hn_status take_handle(hn_yaml_scan *s, hn_str *text)
{
    if (hn_yaml_peek(s, 0) != '!')
        return hn_yaml_fail_here(s, "expected a tag's handle, as !name!");
    hn_str_add_char(text, '!');
    hn_yaml_step(s);
    if (hn_yaml_peek(s, 0) == ' ')
        return HN_OK;
    take_word(s, text);
    if (hn_yaml_peek(s, 0) != '!')
        return hn_yaml_fail_here(s, "expected a tag's handle, as !name!");
    hn_str_add_char(text, '!');
    hn_yaml_step(s);
    return HN_OK;
}

hn_status hn_yaml_scan_tag(hn_yaml_scan *s, hn_str *handle, bool *has_handle, hn_str *text)
{
    const char c = hn_yaml_peek(s, 1);
    *has_handle = false;
    if (c == '<') {
        hn_yaml_step(s);
        hn_yaml_step(s);
        HN_TRY(take_address(s, text));
        if (hn_yaml_peek(s, 0) != '>')
            return hn_yaml_fail_here(s, "expected > after a tag");
        hn_yaml_step(s);
    } else if (hn_yaml_is_blank(c)) {
        hn_str_add_char(text, '!');
        hn_yaml_step(s);
    } else {
        size_t n = 1; /* a second ! on the way to the next blank ends a handle */
        while (!hn_yaml_is_blank(hn_yaml_peek(s, n)) && hn_yaml_peek(s, n) != '!')
            n++;
        *has_handle = true;
        if (hn_yaml_peek(s, n) == '!') {
            HN_TRY(take_handle(s, handle));
        } else {
            hn_str_add_char(handle, '!');
            hn_yaml_step(s);
        }
        HN_TRY(take_address(s, text));
    }
    if (!hn_yaml_is_blank(hn_yaml_peek(s, 0)))
        return hn_yaml_fail_here(s, "expected a blank after a tag");
    return HN_OK;
}

/* "1.", as whose number all else is read or refused */
static hn_status version(hn_yaml_scan *s)
{
    bool is_one = true, is_part = false;
    hn_yaml_skip_spaces(s);
    for (int part = 0; part < 2; part++) {
        is_part = false;
        for (char c; (c = hn_yaml_peek(s, 0)) >= '0' && c <= '9'; hn_yaml_step(s)) {
            const bool is_last = hn_yaml_peek(s, 1) < '0' || hn_yaml_peek(s, 1) > '9';
            is_one = is_one && (part || (c == '0' && !is_last) || (c == '1' && is_last));
            is_part = true;
        }
        if (!is_part)
            return hn_yaml_fail_here(s, "expected a version, as 1.1");
        if (!part && hn_yaml_peek(s, 0) != '.')
            return hn_yaml_fail_here(s, "expected a version, as 1.1");
        if (!part)
            hn_yaml_step(s);
    }
    if (!hn_yaml_is_blank(hn_yaml_peek(s, 0)))
        return hn_yaml_fail_here(s, "expected a version, as 1.1");
    return is_one ? HN_OK : hn_yaml_fail_here(s, "expected version 1 of YAML");
}

static char *copy(const hn_yaml_scan *s, const hn_str *text)
{
    return hn_str_status(text) == HN_OK ? hn_strdup(s->heap, HN_TAG_TEXT, text->text) : NULL;
}

/* "%TAG !e! tag:example.org,2026:" */
static hn_status handle_and_prefix(hn_yaml_scan *s, hn_yaml_token *token)
{
    hn_str handle = hn_str_on(s->heap), prefix = hn_str_on(s->heap);
    hn_yaml_skip_spaces(s);
    hn_status status = take_handle(s, &handle);
    if (status == HN_OK && hn_yaml_peek(s, 0) != ' ')
        status = hn_yaml_fail_here(s, "expected a blank after a tag's handle");
    hn_yaml_skip_spaces(s);
    if (status == HN_OK)
        status = take_address(s, &prefix);
    if (status == HN_OK && !hn_yaml_is_blank(hn_yaml_peek(s, 0)))
        status = hn_yaml_fail_here(s, "expected a blank after a tag's prefix");
    if (status == HN_OK) {
        token->handle = copy(s, &handle);
        token->text = token->handle ? copy(s, &prefix) : NULL;
        token->bytes = prefix.length;
        status = token->text ? HN_OK : HN_ERR_MEMORY;
    }
    hn_str_free(&handle);
    hn_str_free(&prefix);
    return status;
}

hn_status hn_yaml_scan_directive(hn_yaml_scan *s, hn_yaml_token *token)
{
    hn_yaml_step(s);
    const char *name = s->at;
    while (is_word(hn_yaml_peek(s, 0)))
        hn_yaml_step(s);
    const size_t n = (size_t)(s->at - name);
    if (!n || !hn_yaml_is_blank(hn_yaml_peek(s, 0)))
        return hn_yaml_fail_here(s, "expected a directive's name after %");
    if (n == 4 && !memcmp(name, "YAML", 4)) {
        token->has_version = true;
        HN_TRY(version(s));
    } else if (n == 3 && !memcmp(name, "TAG", 3)) {
        HN_TRY(handle_and_prefix(s, token));
    } else {
        hn_yaml_skip_line(s);
    }
    hn_yaml_skip_spaces(s);
    if (hn_yaml_peek(s, 0) == '#')
        hn_yaml_skip_line(s);
    if (hn_yaml_peek(s, 0) != '\n' && s->at != s->end)
        return hn_yaml_fail_here(s, "expected the end of the line after a directive");
    hn_yaml_step(s);
    return HN_OK;
}
