/* One pass, a character at a time, for text that a person may have changed. What it holds to:
 *
 * A key comes once, '_' and '-' are the same in it, and an array's values are lines beside each other, so that
 * whoever reads the lines needs no structure. An empty array is a line too, without text: its key was given, and a
 * second one is refused. A value in quotes is text whatever it says; without them only a number, true or false
 * stands, so a word whose quotes were forgotten is named and not guessed at.
 *
 * A line counts before its strings are made: whatever fails, hn_run_file_close finds all that was. The version is
 * taken out of the lines last, for it may stand anywhere among them, and what it decides is asked of all the
 * others. */
#include "train/run_file.h"

#include "base/file.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

typedef struct reader {
    hn_run_file *out;
    const char *path;
    const char *at, *end;
    int line;
} reader;

static hn_status refuse(const reader *r, const char *expected)
{
    const char found[2] = { r->at < r->end ? *r->at : 0, 0 };
    return hn_fail(HN_ERR_FORMAT, "%s: line %d: expected %s, found %s%s%s", r->path, r->line, expected,
                   r->at >= r->end ? "the end" : *r->at == '\n' ? "the end of the line" : "'",
                   r->at < r->end && *r->at != '\n' ? found : "",
                   r->at < r->end && *r->at != '\n' ? "'" : "");
}

static void skip_blanks(reader *r, bool lines)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#')
            while (r->at + 1 < r->end && r->at[1] != '\n')
                r->at++;
        else if (*r->at == '\n' && lines)
            r->line++;
        else if (*r->at != ' ' && *r->at != '\t' && *r->at != '\r')
            return;
    }
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '+';
}

static hn_status add_line(reader *r, const hn_str *key, const hn_str *text, hn_run_line_kind kind)
{
    HN_REQUIRE(r->out->n < HN_MAX_RUN_FILE_LINES, HN_ERR_FORMAT, "%s: line %d: more than %d options",
               r->path, r->line, HN_MAX_RUN_FILE_LINES);
    HN_TRY(hn_str_status(key));
    if (kind == HN_RUN_LINE_TEXT)
        HN_TRY(hn_str_status(text));
    hn_run_line *line = &r->out->lines[r->out->n++];
    *line = (hn_run_line){ .key = hn_strdup(r->out->heap, HN_TAG_TEXT, key->text), .kind = kind, .at = r->line };
    if (kind == HN_RUN_LINE_TEXT)
        line->text = hn_strdup(r->out->heap, HN_TAG_TEXT, text->text);
    return line->key && (line->text || kind != HN_RUN_LINE_TEXT) ? HN_OK : HN_ERR_MEMORY;
}

static hn_status read_escape(reader *r, hn_str *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    const char *which = ++r->at < r->end ? strchr(from, *r->at) : NULL;
    if (!which || !*r->at)
        return refuse(r, "one of \\b \\t \\n \\f \\r \\\" \\\\");
    hn_str_add_char(out, to[which - from]);
    return HN_OK;
}

static hn_status read_string(reader *r, hn_str *out)
{
    const char quote = *r->at;
    for (r->at++; r->at < r->end && *r->at != quote; r->at++) {
        if (*r->at == '\n' || !*r->at)
            return refuse(r, "the string's end");
        if (*r->at == '\\' && quote == '"')
            HN_TRY(read_escape(r, out));
        else
            hn_str_add_char(out, *r->at);
    }
    if (r->at >= r->end)
        return refuse(r, "the string's end");
    r->at++;
    return HN_OK;
}

/* A string is text whatever it says; bare words are numbers and booleans. */
static hn_status read_value(reader *r, hn_str *out, hn_run_line_kind *kind)
{
    *kind = HN_RUN_LINE_TEXT;
    hn_str_clear(out);
    if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
        return read_string(r, out);
    while (r->at < r->end && is_bare(*r->at)) {
        if (*r->at != '_') /* 1_000 */
            hn_str_add_char(out, *r->at);
        r->at++;
    }
    if (!out->length)
        return refuse(r, "a string, a number, true, false or an array");
    HN_TRY(hn_str_status(out));
    *kind = !strcmp(out->text, "true") ? HN_RUN_LINE_TRUE : !strcmp(out->text, "false") ? HN_RUN_LINE_FALSE : *kind;
    const char first = out->text[0];
    HN_REQUIRE(*kind != HN_RUN_LINE_TEXT || (first >= '0' && first <= '9') || first == '-' ||
                   first == '+' || first == '.', HN_ERR_FORMAT,
               "%s: line %d: '%s': expected a string in quotes, a number, true or false", r->path,
               r->line, out->text);
    return HN_OK;
}

static hn_status add_option(reader *r, hn_str *key, hn_str *value)
{
    hn_run_line_kind kind;
    HN_TRY(read_value(r, value, &kind));
    return add_line(r, key, value, kind);
}

static hn_status read_array(reader *r, hn_str *key, hn_str *value)
{
    const int before = r->out->n;
    r->at++;
    for (;;) {
        skip_blanks(r, true);
        if (r->at < r->end && *r->at == ']') {
            r->at++;
            return r->out->n > before ? HN_OK : add_line(r, key, NULL, HN_RUN_LINE_NONE);
        }
        HN_TRY(add_option(r, key, value));
        skip_blanks(r, true);
        if (r->at < r->end && *r->at == ',')
            r->at++;
        else if (r->at >= r->end || *r->at != ']')
            return refuse(r, "',' or ']'");
    }
}

static hn_status check_new(const reader *r, const hn_str *key)
{
    HN_TRY(hn_str_status(key));
    for (int i = 0; i < r->out->n; i++)
        HN_REQUIRE(strcmp(r->out->lines[i].key, key->text) != 0, HN_ERR_FORMAT,
                   "%s: line %d: %s: expected a key once, found it in line %d too", r->path, r->line,
                   key->text, r->out->lines[i].at);
    return HN_OK;
}

static hn_status read_line(reader *r, hn_str *key, hn_str *value)
{
    hn_str_clear(key);
    if (*r->at == '[')
        return hn_fail(HN_ERR_FORMAT, "%s: line %d: tables: expected options alone", r->path, r->line);
    while (r->at < r->end && is_bare(*r->at) && *r->at != '.' && *r->at != '+') {
        hn_str_add_char(key, *r->at == '_' ? '-' : *r->at);
        r->at++;
    }
    if (!key->length)
        return refuse(r, "an option's name");
    HN_TRY(check_new(r, key));
    skip_blanks(r, false);
    if (r->at >= r->end || *r->at != '=')
        return refuse(r, "'='");
    r->at++;
    skip_blanks(r, false);
    HN_TRY(r->at < r->end && *r->at == '[' ? read_array(r, key, value) : add_option(r, key, value));
    skip_blanks(r, false);
    return r->at >= r->end || *r->at == '\n' ? HN_OK : refuse(r, "the end of the line");
}

/* Takes the version out of the lines: it is no option. */
static hn_status settle_version(reader *r)
{
    hn_run_file *f = r->out;
    int at = -1;
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->lines[i].key, "version"))
            at = i;
    if (at >= 0) {
        const hn_run_line v = f->lines[at];
        char now[16];
        snprintf(now, sizeof now, "%d", HN_RUN_FILE_VERSION);
        HN_REQUIRE(v.kind == HN_RUN_LINE_TEXT && !strcmp(v.text, now), HN_ERR_FORMAT,
                   "%s: line %d: version: expected %s, found %s", r->path, v.at, now,
                   v.kind == HN_RUN_LINE_TEXT ? v.text : "no number");
        hn_free(f->heap, (void *)(uintptr_t)v.key);
        hn_free(f->heap, (void *)(uintptr_t)v.text);
        f->n--;
        memmove(&f->lines[at], &f->lines[at + 1], (size_t)(f->n - at) * sizeof *f->lines);
        return HN_OK;
    }
    for (int i = 0; i < f->n; i++)
        HN_REQUIRE(strcmp(f->lines[i].key, "ignore") != 0, HN_ERR_FORMAT,
                   "%s: line %d: ignore: expected ignore-field for a key of examples, which it was once, or "
                   "a line version = %d for a key of the model, found neither", r->path, f->lines[i].at,
                   HN_RUN_FILE_VERSION);
    return HN_OK;
}

hn_status hn_run_file_read(hn_run_file *out, hn_heap *heap, const char *path)
{
    *out = (hn_run_file){ .heap = heap };
    void *text;
    size_t bytes;
    HN_TRY(hn_file_read(heap, path, 1 << 20, &text, &bytes));
    reader r = { out, path, text, (const char *)text + bytes, 1 };
    hn_str key = hn_str_on(heap), value = hn_str_on(heap);
    hn_status status = HN_OK;
    for (skip_blanks(&r, true); r.at < r.end && status == HN_OK; skip_blanks(&r, true))
        status = read_line(&r, &key, &value);
    if (status == HN_OK)
        status = settle_version(&r);
    hn_str_free(&key);
    hn_str_free(&value);
    hn_free(heap, text);
    return status;
}

void hn_run_file_close(hn_run_file *file)
{
    for (int i = 0; i < file->n; i++) {
        hn_free(file->heap, (void *)(uintptr_t)file->lines[i].key);
        hn_free(file->heap, (void *)(uintptr_t)file->lines[i].text);
    }
    *file = (hn_run_file){ 0 };
}
