/* The lexer. What surprises: a '-' or '+' right after any opening is whitespace control, even
 * of
 * {{, and whether a line's indentation is cut depends on what the token before ended with. */
#include "text/template/tree.h"
#include "text/unicode/python.h"

#include "base/number.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BRACKETS = 512, NUMBER_BYTES = 400 };

typedef struct lexer {
    hn_template *t;
    const char *s;
    size_t bytes, at, counted; /* lines are counted up to here */
    int line;
    bool line_starting; /* the token before ended a line */
    char brackets[MAX_BRACKETS];
    int n_brackets;
    hn_tpl_tokens *out;
} lexer;

static int line_at(lexer *x, size_t at)
{
    for (; x->counted < at; x->counted++)
        x->line += x->s[x->counted] == '\n';
    return x->line;
}

static hn_status wrong(lexer *x, size_t at, const char *what)
{
    return hn_fail(HN_ERR_FORMAT, "%s:%d: %s", x->t->name, line_at(x, at), what);
}

static hn_status add(lexer *x, hn_tpl_token_kind kind, size_t begin, size_t end)
{
    hn_tpl_tokens *out = x->out;
    if (out->n == out->room) {
        const size_t room = out->room ? 2 * out->room : 256;
        hn_tpl_token *grown =
            hn_realloc_array(x->t->heap, HN_TAG_TEXT, out->at, room, sizeof *grown);
        if (!grown)
            return HN_ERR_MEMORY;
        out->at = grown;
        out->room = room;
    }
    out->at[out->n++] = (hn_tpl_token){ .kind = kind,
                                        .line = line_at(x, begin),
                                        .text = { x->s + begin, end - begin } };
    return HN_OK;
}

static bool starts(const lexer *x, size_t at, const char *word)
{
    const size_t n = strlen(word);
    return at <= x->bytes && n <= x->bytes - at && !memcmp(x->s + at, word, n);
}

static size_t skip_space(const lexer *x, size_t at)
{
    for (size_t n; at < x->bytes; at += n)
        if (!hn_tpl_is_in(HN_TPL_SPACE, hn_tpl_code_at(x->s + at, &n)))
            break;
    return at;
}

static size_t cut_space(const lexer *x, size_t begin, size_t end)
{
    for (size_t n; end > begin; end -= n)
        if (!hn_tpl_is_in(HN_TPL_SPACE, hn_tpl_code_before(x->s, end, &n)))
            break;
    return end;
}

/* The end of a closing `word` at `at`, with its '-' or '+' and the space it takes; 0 if none.
 */
static size_t closing(const lexer *x, size_t at, const char *word, bool trims)
{
    const bool dash = at < x->bytes && x->s[at] == '-', plus = at < x->bytes && x->s[at] == '+';
    if (!starts(x, at + (dash || plus), word) || (plus && !trims))
        return 0;
    at += (size_t)(dash || plus) + strlen(word);
    if (dash)
        return skip_space(x, at);
    return at + (trims && !plus && at < x->bytes && x->s[at] == '\n');
}

/* Data before a tag whose sign is given. */
static hn_status add_data(lexer *x, size_t begin, size_t end, char sign, bool is_print)
{
    if (sign == '-') {
        end = cut_space(x, begin, end);
    } else if (sign != '+' && !is_print) {
        size_t line = end;
        while (line > begin && x->s[line - 1] != '\n')
            line--;
        if ((line > begin || x->line_starting) && cut_space(x, line, end) == line)
            end = line;
    }
    return end > begin ? add(x, HN_TPL_DATA, begin, end) : HN_OK;
}

static char sign_at(const lexer *x, size_t at)
{
    return at < x->bytes && (x->s[at] == '-' || x->s[at] == '+') ? x->s[at] : '\0';
}

/* After "{%" and its sign: where `word` and "%}" end, or 0. */
static size_t tag_end(const lexer *x, size_t at, const char *word, bool trims)
{
    at = skip_space(x, at);
    if (!starts(x, at, word))
        return 0;
    return closing(x, skip_space(x, at + strlen(word)), "%}", trims);
}

static hn_status skip_comment(lexer *x, size_t at)
{
    const size_t start = at;
    for (; at < x->bytes; at++) {
        const size_t end = starts(x, at, "#}") || starts(x, at, "-#}") || starts(x, at, "+#}")
                               ? closing(x, at, "#}", true)
                               : 0;
        if (end) {
            x->at = end;
            return HN_OK;
        }
    }
    return wrong(x, start, "Missing end of comment tag");
}

static hn_status read_raw(lexer *x, size_t begin)
{
    x->line_starting = x->s[begin - 1] == '\n';
    for (size_t at = begin; at < x->bytes; at++) {
        if (!starts(x, at, "{%"))
            continue;
        const char sign = sign_at(x, at + 2);
        const size_t end = tag_end(x, at + 2 + (sign != '\0'), "endraw", true);
        if (!end)
            continue;
        HN_TRY(add_data(x, begin, at, sign, false));
        x->at = end;
        return HN_OK;
    }
    return wrong(x, begin, "Missing end of raw directive");
}

static size_t digits(const lexer *x, size_t at, const char *set)
{
    size_t end = at;
    while (at < x->bytes && x->s[at] && (strchr(set, x->s[at]) || x->s[at] == '_')) {
        if (x->s[at] == '_' &&
            (at + 1 >= x->bytes || !x->s[at + 1] || !strchr(set, x->s[at + 1])))
            break;
        end = ++at;
    }
    return end;
}

static const char DECIMAL[] = "0123456789";

/* The end of a float at `at`, or 0. */
static size_t float_end(const lexer *x, size_t at)
{
    if (at && x->s[at - 1] == '.')
        return 0;
    size_t end = digits(x, at, DECIMAL), fraction = end;
    if (end == at || x->s[at] == '_')
        return 0;
    if (end + 1 < x->bytes && x->s[end] == '.' && x->s[end + 1] != '_')
        fraction = digits(x, end + 1, DECIMAL);
    if (fraction == end + 1)
        fraction = end;
    size_t power = fraction;
    if (power < x->bytes && (x->s[power] == 'e' || x->s[power] == 'E')) {
        power++;
        power += power < x->bytes && (x->s[power] == '+' || x->s[power] == '-');
        if (power < x->bytes && x->s[power] != '_' && digits(x, power, DECIMAL) > power)
            return digits(x, power, DECIMAL);
    }
    return fraction > end ? fraction : 0;
}

static hn_status read_number(lexer *x, size_t end, int base, bool is_float)
{
    char copy[NUMBER_BYTES + 1];
    size_t n = 0;
    for (size_t i = x->at; i < end; i++) {
        if (x->s[i] == '_')
            continue;
        if (n == NUMBER_BYTES)
            return wrong(x, x->at, "a number of more than 400 digits");
        copy[n++] = x->s[i];
    }
    copy[n] = '\0';
    HN_TRY(add(x, is_float ? HN_TPL_FLOAT : HN_TPL_INT, x->at, end));
    hn_tpl_token *token = &x->out->at[x->out->n - 1];
    errno = 0;
    if (is_float)
        hn_number_read(copy, n, &token->number);
    else
        token->integer = strtoll(base == 10 ? copy : copy + 2, NULL, base);
    if (!is_float && errno)
        return wrong(x, x->at, "an integer beyond 64 bits");
    x->at = end;
    return HN_OK;
}

static hn_status read_integer(lexer *x)
{
    static const struct {
        char letter;
        int base;
        const char *set;
    } bases[] = { { 'b', 2, "01" },
                  { 'o', 8, "01234567" },
                  { 'x', 16, "0123456789abcdefABCDEF" } };
    if (x->s[x->at] == '0' && x->at + 2 < x->bytes)
        for (int i = 0; i < 3; i++) {
            const size_t end = digits(x, x->at + 2, bases[i].set);
            if ((x->s[x->at + 1] | 0x20) == bases[i].letter && end > x->at + 2)
                return read_number(x, end, bases[i].base, false);
        }
    const size_t end = digits(x, x->at, x->s[x->at] == '0' ? "0" : DECIMAL);
    return read_number(x, end, 10, false);
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* An escape after its backslash, at s[*i]; what it writes is never longer than it is. */
static hn_status unescape(lexer *x, size_t *i, char *to, size_t *n)
{
    static const char codes[] = "\\'\"abfnrtv", meanings[] = "\\'\"\a\b\f\n\r\t\v";
    const char c = x->s[(*i)++];
    const char *found = c ? strchr(codes, c) : NULL;
    uint32_t code = 0;
    if (found) {
        to[(*n)++] = meanings[found - codes];
        return HN_OK;
    }
    if (c == '\n')
        return HN_OK;
    if (c == 'x' || c == 'u' || c == 'U') {
        const int want = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        for (int k = 0; k < want; k++, (*i)++) {
            const int digit = hex_value(x->s[*i]);
            if (digit < 0)
                return wrong(x, *i, "an escape in a string is cut off");
            code = code << 4 | (uint32_t)digit;
        }
    } else if (c >= '0' && c <= '7') {
        code = (uint32_t)(c - '0');
        for (int k = 0; k < 2 && x->s[*i] >= '0' && x->s[*i] <= '7'; k++)
            code = code * 8 + (uint32_t)(x->s[(*i)++] - '0');
    } else if (c == 'N') {
        return hn_fail(HN_ERR_UNSUPPORTED, "%s:%d: \\N{...} in a string", x->t->name,
                       line_at(x, *i));
    } else {
        to[(*n)++] = '\\'; /* Python keeps escapes that it does not know */
        to[(*n)++] = c;
        return HN_OK;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return wrong(x, *i, "an escape in a string is no character");
    *n += hn_utf8_put(code, to + *n);
    return HN_OK;
}

static hn_status read_string(lexer *x)
{
    const char quote = x->s[x->at];
    size_t end = x->at + 1;
    bool escapes = false;
    for (; end < x->bytes && x->s[end] != quote; end++)
        if (x->s[end] == '\\') {
            escapes = true;
            end++;
        }
    if (end >= x->bytes)
        return hn_fail(HN_ERR_FORMAT, "%s:%d: unexpected char '%c': a string that does not end",
                       x->t->name, line_at(x, x->at), quote);
    HN_TRY(add(x, HN_TPL_STRING, x->at + 1, end));
    if (escapes) {
        hn_tpl_text *text = &x->out->at[x->out->n - 1].text;
        char *to = hn_tpl_arena_new(&x->t->arena, 2 * text->bytes + 1);
        if (!to)
            return HN_ERR_MEMORY;
        size_t n = 0;
        for (size_t i = x->at + 1; i < end;) {
            if (x->s[i] == '\\') {
                i++;
                HN_TRY(unescape(x, &i, to, &n));
            } else {
                to[n++] = x->s[i++];
            }
        }
        *text = (hn_tpl_text){ to, n };
    }
    x->at = end + 1;
    return HN_OK;
}

static hn_status read_operator(lexer *x)
{
    static const char *const operators[] = { "//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                             "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                             ">",  "<",  "=",  ".",  ":",  "|",  ",", ";" };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!starts(x, x->at, operators[i]))
            continue;
        const char c = operators[i][0];
        if (strchr("([{", c)) {
            if (x->n_brackets == MAX_BRACKETS)
                return wrong(x, x->at, "more than 512 brackets open");
            x->brackets[x->n_brackets++] = c == '(' ? ')' : (char)(c + 2);
        } else if (strchr(")]}", c)) {
            if (!x->n_brackets || x->brackets[--x->n_brackets] != c)
                return hn_fail(HN_ERR_FORMAT, "%s:%d: unexpected '%c'", x->t->name,
                               line_at(x, x->at), c);
        }
        HN_TRY(add(x, HN_TPL_OP, x->at, x->at + strlen(operators[i])));
        x->at += strlen(operators[i]);
        return HN_OK;
    }
    size_t n = 0;
    hn_tpl_code_at(x->s + x->at, &n);
    return hn_fail(HN_ERR_FORMAT, "%s:%d: unexpected char '%.*s'", x->t->name,
                   line_at(x, x->at), (int)n, x->s + x->at);
}

static size_t name_end(const lexer *x, size_t at)
{
    for (size_t n; at < x->bytes; at += n) {
        const uint32_t code = hn_tpl_code_at(x->s + at, &n);
        if (code != '_' && !hn_tpl_is_in(HN_TPL_ALNUM, code))
            break;
    }
    return at;
}

/* One token within a tag. */
static hn_status read_inside(lexer *x)
{
    const size_t space = skip_space(x, x->at);
    if (space > x->at) {
        x->at = space;
        return HN_OK;
    }
    const char c = x->s[x->at];
    if (c >= '0' && c <= '9') {
        const size_t end = float_end(x, x->at);
        return end ? read_number(x, end, 10, true) : read_integer(x);
    }
    const size_t end = name_end(x, x->at);
    if (end > x->at) {
        HN_TRY(add(x, HN_TPL_NAME, x->at, end));
        x->at = end;
        return HN_OK;
    }
    return c == '"' || c == '\'' ? read_string(x) : read_operator(x);
}

/* From after "{{" or "{%" to after its end. */
static hn_status read_tag(lexer *x, bool is_print)
{
    x->n_brackets = 0;
    while (x->at < x->bytes) {
        const size_t end =
            x->n_brackets ? 0 : closing(x, x->at, is_print ? "}}" : "%}", !is_print);
        if (end) {
            HN_TRY(add(x, is_print ? HN_TPL_PRINT_END : HN_TPL_BLOCK_END, x->at, end));
            x->at = end;
            return HN_OK;
        }
        HN_TRY(read_inside(x));
    }
    return HN_OK;
}

hn_status hn_tpl_lex(hn_template *t, hn_tpl_text source, hn_tpl_tokens *out)
{
    lexer x = { .t = t,
                .s = source.text,
                .bytes = source.bytes,
                .line = 1,
                .out = out,
                .line_starting = true };
    while (x.at < x.bytes) {
        size_t at = x.at;
        while (at < x.bytes &&
               !(x.s[at] == '{' &&
                 (starts(&x, at, "{{") || starts(&x, at, "{%") || starts(&x, at, "{#"))))
            at++;
        if (at == x.bytes) {
            HN_TRY(add(&x, HN_TPL_DATA, x.at, at));
            break;
        }
        const bool is_print = x.s[at + 1] == '{';
        const char sign = sign_at(&x, at + 2), kind = x.s[at + 1];
        HN_TRY(add_data(&x, x.at, at, sign, is_print));
        const size_t inside = at + 2 + (sign != '\0');
        const size_t raw = kind == '%' ? tag_end(&x, inside, "raw", false) : 0;
        x.at = inside;
        if (kind == '#') {
            HN_TRY(skip_comment(&x, inside));
        } else if (raw) {
            HN_TRY(read_raw(&x, raw));
        } else {
            HN_TRY(add(&x, is_print ? HN_TPL_PRINT_BEGIN : HN_TPL_BLOCK_BEGIN, at, inside));
            HN_TRY(read_tag(&x, is_print));
        }
        x.line_starting = x.s[x.at - 1] == '\n';
    }
    return add(&x, HN_TPL_END, x.bytes, x.bytes);
}
