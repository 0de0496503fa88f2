/* yaml_scalar: plain, quoted and block texts. A single line break within one is a blank, n of
 * them are n - 1. */
#include "base/yaml_scan.h"

#include "base/utf8.h"

#include <string.h>

static void add_breaks(hn_str *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hn_str_add_char(text, '\n');
}

/* n >= 1 breaks, as they are folded. */
static void fold(hn_str *text, size_t n)
{
    if (n == 1)
        hn_str_add_char(text, ' ');
    else
        add_breaks(text, n - 1);
}

static bool ends_plain(const hn_yaml_scan *s)
{
    const char c = hn_yaml_peek(s, 0), next = hn_yaml_peek(s, 1);
    if (hn_yaml_is_blank(c))
        return true;
    if (c == ':' && (hn_yaml_is_blank(next) || (s->flow_level && strchr(",[]{}", next))))
        return true;
    return s->flow_level && strchr(",?[]{}", c);
}

/* What may join two parts of a plain text: blanks, or breaks. False: there is nothing, or a
 * mark of documents. */
static bool plain_gap(hn_yaml_scan *s, hn_str *gap)
{
    size_t n = 0;
    const char *begin = s->at;
    hn_yaml_skip_spaces(s);
    if (hn_yaml_peek(s, 0) != '\n') {
        hn_str_add_bytes(gap, begin, (size_t)(s->at - begin));
        return s->at > begin;
    }
    while (hn_yaml_peek(s, 0) == '\n') {
        hn_yaml_step(s);
        n++;
        s->may_start_key = true;
        if (hn_yaml_at_mark(s, "---") || hn_yaml_at_mark(s, "..."))
            return false;
        hn_yaml_skip_spaces(s);
    }
    fold(gap, n);
    return true;
}

hn_status hn_yaml_scan_plain(hn_yaml_scan *s, hn_str *text)
{
    const int least = s->indent + 1;
    hn_str gap = hn_str_on(s->heap);
    while (hn_yaml_peek(s, 0) != '#') {
        const char *begin = s->at;
        while (!ends_plain(s))
            hn_yaml_step(s);
        if (s->at == begin)
            break;
        s->may_start_key = false;
        hn_str_add_bytes(text, gap.text, gap.length);
        hn_str_add_bytes(text, begin, (size_t)(s->at - begin));
        hn_str_clear(&gap);
        if (!plain_gap(s, &gap) || (!s->flow_level && s->column < least))
            break;
    }
    const hn_status status = hn_str_status(&gap);
    hn_str_free(&gap);
    return status;
}

static hn_status put_code(hn_yaml_scan *s, size_t n_digits, hn_str *text)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    uint32_t code = 0;
    char bytes[4];
    for (size_t i = 0; i < n_digits; i++, hn_yaml_step(s)) {
        const char c = hn_yaml_peek(s, 0);
        const char *at = c ? strchr(digits, c) : NULL;
        if (!at)
            return hn_yaml_fail_here(s, "expected a hexadecimal digit in an escape");
        const ptrdiff_t digit = at - digits;
        code = code << 4 | (uint32_t)(digit > 15 ? digit - 6 : digit);
    }
    if (code > 0x10ffff)
        return hn_yaml_fail_here(s, "an escape that is no character");
    hn_str_add_bytes(text, bytes, hn_utf8_put(code, bytes)); /* halves of pairs too */
    return HN_OK;
}

/* The breaks from here on, and the blanks around them. */
static hn_status quoted_breaks(hn_yaml_scan *s, size_t *n)
{
    for (*n = 0;; ++*n) {
        if (hn_yaml_at_mark(s, "---") || hn_yaml_at_mark(s, "..."))
            return hn_yaml_fail_here(s, "a mark of documents in a quoted text");
        hn_yaml_skip_spaces(s);
        if (hn_yaml_peek(s, 0) != '\n')
            return HN_OK;
        hn_yaml_step(s);
    }
}

/* The place is behind a backslash. */
static hn_status escape(hn_yaml_scan *s, hn_str *text)
{
    static const char from[] = "abtnvfre \"\\/", to[] = "\a\b\t\n\v\f\r\x1b \"\\/";
    const char c = hn_yaml_peek(s, 0);
    const char *at = c ? strchr(from, c) : NULL;
    hn_yaml_step(s);
    if (c == '\n') { /* the break is none */
        size_t n = 0;
        HN_TRY(quoted_breaks(s, &n));
        add_breaks(text, n);
    } else if (at) {
        hn_str_add_char(text, to[at - from]);
    } else if (c == '0') {
        hn_str_add_bytes(text, "", 1);
    } else if (c == 'N' || c == '_') {
        hn_str_add(text, c == 'N' ? "\xc2\x85" : "\xc2\xa0");
    } else if (c == 'L' || c == 'P') {
        hn_str_add(text, c == 'L' ? "\xe2\x80\xa8" : "\xe2\x80\xa9");
    } else if (c == 'x' || c == 'u' || c == 'U') {
        return put_code(s, c == 'x' ? 2 : c == 'u' ? 4 : 8, text);
    } else {
        return hn_yaml_fail_here(s, "an escape that YAML does not have");
    }
    return HN_OK;
}

hn_status hn_yaml_scan_quoted(hn_yaml_scan *s, hn_str *text)
{
    const char quote = hn_yaml_peek(s, 0);
    const int first_line = s->line;
    hn_yaml_step(s);
    for (;;) {
        const char *begin = s->at;
        const char c = hn_yaml_peek(s, 0);
        if (!c)
            return hn_yaml_fail(s, first_line, "a quoted text that does not end");
        if (hn_yaml_is_blank(c)) { /* blanks before a break are none */
            hn_yaml_skip_spaces(s);
            if (hn_yaml_peek(s, 0) != '\n') {
                hn_str_add_bytes(text, begin, (size_t)(s->at - begin));
                continue;
            }
            size_t n = 0;
            hn_yaml_step(s);
            HN_TRY(quoted_breaks(s, &n));
            fold(text, n + 1);
            continue;
        }
        hn_yaml_step(s);
        if (c == quote && (quote == '"' || hn_yaml_peek(s, 0) != quote))
            return HN_OK;
        if (c == quote)
            hn_yaml_step(s); /* '' is one */
        if (c == '\\' && quote == '"')
            HN_TRY(escape(s, text));
        else if (c == quote)
            hn_str_add_char(text, c);
        else
            hn_str_add_bytes(text, begin, (size_t)(s->at - begin));
    }
}

/* Spaces up to column `indent`, and the lines that have no more than these; how many lines. */
static size_t block_breaks(hn_yaml_scan *s, int indent)
{
    for (size_t n = 0;; n++) {
        while (s->column < indent && hn_yaml_peek(s, 0) == ' ')
            hn_yaml_step(s);
        if (hn_yaml_peek(s, 0) != '\n')
            return n;
        hn_yaml_step(s);
    }
}

/* Empty lines before the first; *indent is its column, or the most blanks of one of them. */
static size_t first_breaks(hn_yaml_scan *s, int *indent)
{
    for (size_t n = 0;; n++) {
        hn_yaml_skip_spaces(s);
        if (s->column > *indent)
            *indent = s->column;
        if (hn_yaml_peek(s, 0) != '\n')
            return n;
        hn_yaml_step(s);
    }
}

/* "|-", ">2+" and their like, up to the next line; *more is 0 if no column is said. */
static hn_status block_head(hn_yaml_scan *s, char *chomp, int *more)
{
    *chomp = ' ';
    *more = 0;
    for (int i = 0; i < 2; i++) {
        const char c = hn_yaml_peek(s, 0);
        if ((c == '+' || c == '-') && *chomp == ' ')
            *chomp = c;
        else if (c >= '1' && c <= '9' && !*more)
            *more = c - '0';
        else
            break;
        hn_yaml_step(s);
    }
    if (!hn_yaml_is_blank(hn_yaml_peek(s, 0)))
        return hn_yaml_fail_here(s, "expected the end of the line after | or >");
    hn_yaml_skip_spaces(s);
    if (hn_yaml_peek(s, 0) == '#')
        hn_yaml_skip_line(s);
    if (hn_yaml_peek(s, 0) != '\n' && s->at != s->end)
        return hn_yaml_fail_here(s, "expected the end of the line after | or >");
    hn_yaml_step(s);
    return HN_OK;
}

hn_status hn_yaml_scan_block(hn_yaml_scan *s, hn_str *text)
{
    const bool folds = hn_yaml_peek(s, 0) == '>';
    int indent = s->indent + 1 > 1 ? s->indent + 1 : 1, more;
    size_t breaks, line_break = 0;
    char chomp;
    hn_yaml_step(s);
    HN_TRY(block_head(s, &chomp, &more));
    indent += more ? more - 1 : 0;
    breaks = more ? block_breaks(s, indent) : first_breaks(s, &indent);
    while (s->column == indent && s->at < s->end) {
        const char *begin = s->at;
        const bool is_flush = *begin != ' ';
        add_breaks(text, breaks);
        hn_yaml_skip_line(s);
        hn_str_add_bytes(text, begin, (size_t)(s->at - begin));
        line_break = s->at < s->end;
        hn_yaml_step(s);
        breaks = block_breaks(s, indent);
        if (s->column != indent || s->at == s->end)
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
