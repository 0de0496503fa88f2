/* yaml_scan: scalars. A single line break within one is a blank, n of them are n - 1. */
#include "base/yaml_scan.h"

#include "base/utf8.h"

#include <string.h>

hn_status hn_yaml_fail(const hn_yaml_scan *s, const char *what)
{
    return hn_fail(HN_ERR_FORMAT, "%s:%d: %s", s->name, s->line, what);
}

void hn_yaml_next_line(hn_yaml_scan *s)
{
    s->line_begin = ++s->at;
    s->line++;
}

void hn_yaml_skip_spaces(hn_yaml_scan *s)
{
    while (hn_yaml_peek(s, 0) == ' ')
        s->at++;
}

bool hn_yaml_skip_blank(hn_yaml_scan *s)
{
    bool crossed = false;
    for (;;) {
        hn_yaml_skip_spaces(s);
        if (hn_yaml_peek(s, 0) == '#')
            while (s->at < s->end && *s->at != '\n')
                s->at++;
        if (hn_yaml_peek(s, 0) != '\n')
            return crossed;
        hn_yaml_next_line(s);
        crossed = true;
    }
}

static bool is_flow_mark(char c) { return c && strchr(",[]{}", c); }

bool hn_yaml_starts_plain(const hn_yaml_scan *s)
{
    const char c = hn_yaml_peek(s, 0);
    if (hn_yaml_is_blank(c))
        return false;
    if (!strchr("-?:,[]{}#&*!|>'\"%@`", c))
        return true;
    return !hn_yaml_is_blank(hn_yaml_peek(s, 1)) &&
           (c == '-' || (!s->in_flow && (c == '?' || c == ':')));
}

static bool ends_plain(const hn_yaml_scan *s, size_t ahead)
{
    const char c = hn_yaml_peek(s, ahead), next = hn_yaml_peek(s, ahead + 1);
    if (!c || c == '\n')
        return true;
    if (c == ':' && (hn_yaml_is_blank(next) || (s->in_flow && is_flow_mark(next))))
        return true;
    if (c == '#' && ahead && hn_yaml_peek(s, ahead - 1) == ' ')
        return true;
    return s->in_flow && (is_flow_mark(c) || c == '?');
}

/* Past a quoted text on one line; 0 if it does not end there. */
static size_t quoted_length(const hn_yaml_scan *s)
{
    const char quote = hn_yaml_peek(s, 0);
    for (size_t i = 1; hn_yaml_peek(s, i) && hn_yaml_peek(s, i) != '\n'; i++) {
        if (quote == '"' && hn_yaml_peek(s, i) == '\\' && hn_yaml_peek(s, i + 1) != '\n')
            i++;
        else if (hn_yaml_peek(s, i) == quote && quote == '\'' &&
                 hn_yaml_peek(s, i + 1) == quote)
            i++;
        else if (hn_yaml_peek(s, i) == quote)
            return i + 1;
    }
    return 0;
}

bool hn_yaml_starts_key(const hn_yaml_scan *s)
{
    size_t n = 0;
    const char c = hn_yaml_peek(s, 0);
    if (c == '"' || c == '\'') {
        n = quoted_length(s);
        if (!n)
            return false;
    } else if (hn_yaml_starts_plain(s)) {
        while (!ends_plain(s, n))
            n++;
    } else {
        return false;
    }
    while (hn_yaml_peek(s, n) == ' ')
        n++;
    return hn_yaml_peek(s, n) == ':' && hn_yaml_is_blank(hn_yaml_peek(s, n + 1));
}

/* The breaks from here to the next line with something on it, as they are folded. */
static void fold(hn_yaml_scan *s, hn_str *text)
{
    size_t n = 0;
    for (; hn_yaml_peek(s, 0) == '\n'; n++) {
        hn_yaml_next_line(s);
        hn_yaml_skip_spaces(s);
    }
    for (size_t i = 1; i < n; i++)
        hn_str_add_char(text, '\n');
    if (n == 1)
        hn_str_add_char(text, ' ');
}

hn_status hn_yaml_plain(hn_yaml_scan *s, int parent, bool is_key, hn_str *text)
{
    for (;;) {
        size_t n = 0, kept = 0;
        for (; !ends_plain(s, n); n++)
            if (hn_yaml_peek(s, n) != ' ')
                kept = n + 1;
        hn_str_add_bytes(text, s->at, kept);
        s->at += n;
        if (is_key || hn_yaml_peek(s, 0) != '\n')
            return HN_OK;
        hn_yaml_scan ahead = *s;
        while (hn_yaml_peek(&ahead, 0) == '\n') {
            hn_yaml_next_line(&ahead);
            hn_yaml_skip_spaces(&ahead);
        }
        if (ends_plain(&ahead, 0) || hn_yaml_peek(&ahead, 0) == '#' ||
            (!s->in_flow && hn_yaml_column(&ahead) <= parent))
            return HN_OK;
        fold(s, text);
    }
}

static hn_status put_code(hn_yaml_scan *s, size_t n_digits, hn_str *text)
{
    uint32_t code = 0;
    char bytes[4];
    for (size_t i = 0; i < n_digits; i++, s->at++) {
        const char c = hn_yaml_peek(s, 0);
        const char *at = c ? strchr("0123456789abcdefABCDEF", c) : NULL;
        if (!at)
            return hn_yaml_fail(s, "expected a hexadecimal digit in an escape");
        const long digit = at - "0123456789abcdefABCDEF";
        code = code << 4 | (uint32_t)(digit > 15 ? digit - 6 : digit);
    }
    if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return hn_yaml_fail(s, "an escape that is no character");
    hn_str_add_bytes(text, bytes, hn_utf8_put(code, bytes));
    return HN_OK;
}

/* The place is behind a backslash. */
static hn_status escape(hn_yaml_scan *s, hn_str *text)
{
    static const char from[] = "abtnvfre \"\\/", to[] = "\a\b\t\n\v\f\r\x1b \"\\/";
    const char c = hn_yaml_peek(s, 0);
    const char *at = c ? strchr(from, c) : NULL;
    if (c == '\n') { /* the break is none */
        hn_yaml_next_line(s);
        hn_yaml_skip_spaces(s);
        while (hn_yaml_peek(s, 0) == '\n') {
            hn_str_add_char(text, '\n');
            hn_yaml_next_line(s);
            hn_yaml_skip_spaces(s);
        }
        return HN_OK;
    }
    s->at += c != '\0';
    if (at)
        hn_str_add_char(text, to[at - from]);
    else if (c == 'N' || c == '_')
        hn_str_add(text, c == 'N' ? "\xc2\x85" : "\xc2\xa0");
    else if (c == 'L' || c == 'P')
        hn_str_add(text, c == 'L' ? "\xe2\x80\xa8" : "\xe2\x80\xa9");
    else if (c == 'x' || c == 'u' || c == 'U')
        return put_code(s, c == 'x' ? 2 : c == 'u' ? 4 : 8, text);
    else
        return hn_yaml_fail(s, "an escape that YAML does not have");
    return HN_OK;
}

hn_status hn_yaml_quoted(hn_yaml_scan *s, hn_str *text)
{
    const char quote = *s->at++;
    const int begin = s->line;
    for (;;) {
        const char c = hn_yaml_peek(s, 0);
        if (!c) {
            s->line = begin;
            return hn_yaml_fail(s, "a quoted text that does not end");
        }
        if (c == ' ' || c == '\n') { /* blanks before a break are none */
            const char *blanks = s->at;
            hn_yaml_skip_spaces(s);
            if (hn_yaml_peek(s, 0) == '\n')
                fold(s, text);
            else
                hn_str_add_bytes(text, blanks, (size_t)(s->at - blanks));
            continue;
        }
        s->at++;
        if (c == quote && (quote == '"' || hn_yaml_peek(s, 0) != quote))
            return HN_OK;
        if (c == quote)
            s->at++;
        if (c == '\\' && quote == '"')
            HN_TRY(escape(s, text));
        else
            hn_str_add_char(text, c);
    }
}

/* Spaces up to column `indent`, and the lines that have no more than these; how many lines. */
static size_t skip_breaks(hn_yaml_scan *s, int indent)
{
    size_t n = 0;
    for (;; n++) {
        while (hn_yaml_column(s) < indent && hn_yaml_peek(s, 0) == ' ')
            s->at++;
        if (hn_yaml_peek(s, 0) != '\n')
            return n;
        hn_yaml_next_line(s);
    }
}

/* The column of the first line, or the most blanks of an empty one before it. */
static int find_indent(hn_yaml_scan s, int least)
{
    for (;;) {
        hn_yaml_skip_spaces(&s);
        if (hn_yaml_column(&s) > least)
            least = hn_yaml_column(&s);
        if (hn_yaml_peek(&s, 0) != '\n')
            return least;
        hn_yaml_next_line(&s);
    }
}

static void add_breaks(hn_str *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hn_str_add_char(text, '\n');
}

static hn_status block_head(hn_yaml_scan *s, int parent, char *chomp, int *indent)
{
    const int least = parent + 1 > 1 ? parent + 1 : 1;
    int more = 0;
    *chomp = ' ';
    for (;; s->at++) {
        const char c = hn_yaml_peek(s, 0);
        if ((c == '+' || c == '-') && *chomp == ' ')
            *chomp = c;
        else if (c >= '1' && c <= '9' && !more)
            more = c - '0';
        else
            break;
    }
    hn_yaml_skip_spaces(s);
    if (hn_yaml_peek(s, 0) == '#')
        while (s->at < s->end && *s->at != '\n')
            s->at++;
    if (hn_yaml_peek(s, 0) != '\n' && s->at != s->end)
        return hn_yaml_fail(s, "expected the end of the line after | or >");
    if (s->at != s->end)
        hn_yaml_next_line(s);
    *indent = more ? least + more - 1 : find_indent(*s, least);
    return HN_OK;
}

hn_status hn_yaml_block(hn_yaml_scan *s, int parent, hn_str *text)
{
    const bool folds = *s->at++ == '>';
    char chomp;
    int indent = 0;
    HN_TRY(block_head(s, parent, &chomp, &indent));
    size_t breaks = skip_breaks(s, indent), line_break = 0;
    while (hn_yaml_column(s) == indent && s->at < s->end) {
        const bool is_flush = *s->at != ' ';
        const char *begin = s->at;
        add_breaks(text, breaks);
        while (s->at < s->end && *s->at != '\n')
            s->at++;
        hn_str_add_bytes(text, begin, (size_t)(s->at - begin));
        line_break = s->at < s->end;
        if (line_break)
            hn_yaml_next_line(s);
        breaks = skip_breaks(s, indent);
        if (hn_yaml_column(s) != indent || s->at == s->end)
            break;
        if (!folds || !is_flush || *s->at == ' ')
            hn_str_add_char(text, '\n');
        else if (!breaks)
            hn_str_add_char(text, ' ');
    }
    if (chomp != '-')
        add_breaks(text, line_break);
    if (chomp == '+')
        add_breaks(text, breaks);
    return HN_OK;
}
