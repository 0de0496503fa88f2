/* Calls in notations of their own, read once they are whole: Gemma's pairs, call:NAME{key:<|"|>text<|"|>,other:1}, and Python's
 * calls, [NAME(key="text", other=True)]. What is neither is text. */
#include "infer/reader_parts.h"

#include <string.h>

typedef struct words {
    hn_reader *r;
    const char *at, *end;
    hn_str out;
    int depth;
} words;

static void skip_blanks(words *w)
{
    while (w->at < w->end && strchr(" \n\r\t", *w->at))
        w->at++;
}

static bool take(words *w, const char *text)
{
    const size_t n = strlen(text);
    skip_blanks(w);
    if ((size_t)(w->end - w->at) < n || memcmp(w->at, text, n))
        return false;
    w->at += n;
    return true;
}

/* A name, or a key without quotes: up to one of these. */
static bool take_word(words *w, const char *stops, const char **word, size_t *n)
{
    skip_blanks(w);
    *word = w->at;
    while (w->at < w->end && !strchr(stops, *w->at) && !strchr(" \n\r\t\"'", *w->at))
        w->at++;
    *n = (size_t)(w->at - *word);
    return *n > 0;
}

static void put_code(hn_str *to, unsigned code)
{
    if (code < 0x80)
        hn_str_add_char(to, (char)code);
    else if (code < 0x800)
        hn_str_print(to, "%c%c", (int)(0xc0 | code >> 6), (int)(0x80 | (code & 0x3f)));
    else if (code < 0x10000)
        hn_str_print(to, "%c%c%c", (int)(0xe0 | code >> 12), (int)(0x80 | (code >> 6 & 0x3f)), (int)(0x80 | (code & 0x3f)));
    else
        hn_str_print(to, "%c%c%c%c", (int)(0xf0 | code >> 18), (int)(0x80 | (code >> 12 & 0x3f)), (int)(0x80 | (code >> 6 & 0x3f)),
                     (int)(0x80 | (code & 0x3f)));
}

static bool take_digits(words *w, unsigned *code)
{
    static const char digits[] = "0123456789abcdef";
    if (w->end - w->at < 4)
        return false;
    *code = 0;
    for (int i = 0; i < 4; i++, w->at++) {
        const char *found = *w->at ? strchr(digits, *w->at | 0x20) : NULL;
        if (!found)
            return false;
        *code = *code * 16 + (unsigned)(found - digits);
    }
    return true;
}

/* After \u: four digits, or, as JSON has it, two halves of a character. */
static bool take_code(words *w, hn_str *text)
{
    unsigned code, low = 0;
    if (!take_digits(w, &code))
        return false;
    const bool is_high = code >= 0xd800 && code <= 0xdbff;
    if (is_high && (w->end - w->at < 2 || memcmp(w->at, "\\u", 2) != 0))
        return false;
    w->at += is_high ? 2 : 0;
    if (is_high && (!take_digits(w, &low) || low < 0xdc00 || low > 0xdfff))
        return false;
    if (code >= 0xdc00 && code <= 0xdfff)
        return false;
    put_code(text, is_high ? 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00)) : code);
    return true;
}

static bool take_escape(words *w, hn_str *text)
{
    static const char names[] = "nrtbf0\\'\"\n/", codes[] = "\n\r\t\b\f\0\\'\"\n/";
    if (w->at >= w->end)
        return false;
    const char c = *w->at++;
    if (c == 'u')
        return take_code(w, text);
    const char *found = c ? strchr(names, c) : NULL;
    if (!found)
        hn_str_add_char(text, '\\');
    hn_str_add_char(text, found ? codes[found - names] : c);
    return true;
}

/* A text up to `close`, as JSON. */
static bool take_text(words *w, const char *close, bool has_escapes)
{
    hn_str text = hn_str_on(w->r->heap);
    const size_t n = strlen(close);
    bool is_well = false;
    while (w->at < w->end && !is_well) {
        if ((size_t)(w->end - w->at) >= n && !memcmp(w->at, close, n)) {
            w->at += n;
            is_well = true;
        } else if (has_escapes && *w->at == '\\') {
            w->at++;
            if (!take_escape(w, &text))
                break;
        } else {
            hn_str_add_char(&text, *w->at++);
        }
    }
    hn_reader_quote(&w->out, text.text, text.length);
    hn_reader_drop(w->r, &text);
    return is_well;
}

static bool take_value(words *w);

static bool take_items(words *w, const char *close, bool has_keys, const char *colon)
{
    const char *word;
    size_t n;
    hn_str_add_char(&w->out, has_keys ? '{' : '[');
    for (bool first = true; !take(w, close); first = false) {
        if (!first && !take(w, ","))
            return false;
        if (!first && take(w, close))
            break;
        hn_str_add(&w->out, first ? "" : ", ");
        if (has_keys) {
            skip_blanks(w);
            const char quote[2] = { w->at < w->end ? *w->at : '\0', '\0' };
            if (take(w, "<|\"|>")) {
                if (!take_text(w, "<|\"|>", false))
                    return false;
            } else if (*quote == '"' || *quote == '\'') {
                w->at++;
                if (!take_text(w, quote, true))
                    return false;
            } else if (take_word(w, ":=,{}[]()", &word, &n)) {
                hn_reader_quote(&w->out, word, n);
            } else {
                return false;
            }
            if (!take(w, colon))
                return false;
            hn_str_add(&w->out, ": ");
        }
        if (!take_value(w))
            return false;
    }
    hn_str_add_char(&w->out, has_keys ? '}' : ']');
    return true;
}

static bool is_number(const char *word, size_t n)
{
    size_t digits = 0;
    for (size_t i = 0; i < n; i++) {
        digits += word[i] >= '0' && word[i] <= '9';
        if (!strchr("0123456789+-.eE", word[i]) || (word[0] == '+' && !i))
            return false;
    }
    return digits > 0;
}

static bool take_scalar(words *w)
{
    static const char *const known[][2] = { { "true", "true" }, { "True", "true" }, { "false", "false" }, { "False", "false" },
                                            { "null", "null" }, { "None", "null" } };
    const char *word;
    size_t n;
    if (!take_word(w, ",)]}", &word, &n))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i][0]) == n && !memcmp(known[i][0], word, n)) {
            hn_str_add(&w->out, known[i][1]);
            return true;
        }
    if (is_number(word, n))
        hn_str_add_bytes(&w->out, word, n);
    return is_number(word, n);
}

static bool take_value(words *w)
{
    bool is_well = false;
    if (++w->depth > 100)
        return false;
    if (take(w, "<|\"|>"))
        is_well = take_text(w, "<|\"|>", false);
    else if (take(w, "\""))
        is_well = take_text(w, "\"", true);
    else if (take(w, "'"))
        is_well = take_text(w, "'", true);
    else if (take(w, "{"))
        is_well = take_items(w, "}", true, ":");
    else if (take(w, "["))
        is_well = take_items(w, "]", false, "");
    else
        is_well = take_scalar(w);
    w->depth--;
    return is_well;
}

/* One call, told; false if it is none. */
static bool take_call(words *w, bool is_python)
{
    const char *name;
    size_t n;
    if (!take_word(w, is_python ? "(),[]{}=" : "{", &name, &n) || !take(w, is_python ? "(" : "{"))
        return false;
    hn_str_clear(&w->out);
    if (!take_items(w, is_python ? ")" : "}", true, is_python ? "=" : ":") || w->out.status != HN_OK)
        return false;
    hn_reader *r = w->r;
    hn_str_clear(&r->name);
    hn_str_clear(&r->id);
    hn_str_clear(&r->arguments);
    hn_str_add_bytes(&r->name, name, n);
    if (!hn_reader_is_name(&r->name))
        return false;
    hn_reader_tell(r);
    hn_reader_give(r, w->out.text, w->out.length);
    hn_reader_end_call(r);
    return true;
}

static bool read_all(words *w)
{
    const bool is_python = w->r->o.family->form == HN_CALLS_PYTHON;
    if (is_python && !take(w, "["))
        return false;
    do {
        if (!is_python && !take(w, "call:"))
            return false;
        if (!take_call(w, is_python))
            return false;
    } while (is_python && take(w, ","));
    return true;
}

/* Within quotes, of which r->quote is the one that ends them, what looks like the end of a call is none. */
static void follow_quotes(hn_reader *r, char c)
{
    static const char mark[] = "<|\"|>";
    const bool is_python = r->o.family->form == HN_CALLS_PYTHON;
    if (r->value.is_escaped)
        r->value.is_escaped = false;
    else if (r->quote == '<')
        r->quote = hn_reader_ends(&r->word, mark) ? '\0' : '<';
    else if (r->quote && c == '\\')
        r->value.is_escaped = true;
    else if (r->quote)
        r->quote = c == r->quote ? '\0' : r->quote;
    else if (!strchr(r->word.text, is_python ? '(' : '{'))
        return;
    else if (hn_reader_ends(&r->word, mark))
        r->quote = '<';
    else if ((c == '"' && !hn_reader_ends(&r->word, "<|\"")) || (c == '\'' && is_python))
        r->quote = c;
}

void hn_reader_words(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    const char *close = f->form == HN_CALLS_PYTHON ? f->close + 1 : f->close;
    hn_str_add_char(&r->raw, c);
    hn_str_add_char(&r->word, c);
    if (r->word.status == HN_OK)
        follow_quotes(r, c);
    if (r->quote || !hn_reader_ends(&r->word, close))
        return;
    words w = { .r = r, .at = r->word.text, .end = r->word.text + r->word.length - strlen(close), .out = hn_str_on(r->heap) };
    const bool is_well = read_all(&w);
    hn_reader_drop(r, &w.out);
    if (is_well || r->had_call)
        hn_reader_end_section(r);
    else
        hn_reader_abandon(r);
}
