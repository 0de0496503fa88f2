/* GBNF cannot say "any text without this mark", so it is spelled out: a state for each beginning of a mark that
 * has been written so far, and from each the characters that go on with it or fall back. */
#include "infer/answer_texts.h"

#include <string.h>

enum { MOST_MARKS = 3, LONGEST_MARK = 120 };

static size_t char_bytes(const char *at)
{
    const unsigned char c = (unsigned char)*at;
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static void add_char(hn_str *to, const char *at)
{
    static const char escaped[] = "\"\\[]-^";
    const size_t bytes = char_bytes(at);
    if (*at == '\n') {
        hn_str_add(to, "\\n");
        return;
    }
    if (bytes == 1 && strchr(escaped, *at))
        hn_str_add_char(to, '\\');
    hn_str_add_bytes(to, at, bytes);
}

static void add_quoted(hn_str *to, const char *at, const char *end)
{
    if (at == end)
        return;
    hn_str_add_char(to, '"');
    for (; at < end; at += char_bytes(at))
        add_char(to, at);
    hn_str_add(to, "\" ");
}

void hn_rule_text(hn_str *to, const char *text) { add_quoted(to, text, text + strlen(text)); }

void hn_rule_mark(const hn_rule_writer *w, hn_str *to, const char *text)
{
    const char *from = text;
    while (*text) {
        size_t bytes = 0;
        const int32_t id = w->of->control(w->of->context, text, &bytes);
        if (id >= 0) {
            add_quoted(to, from, text);
            hn_str_print(to, "<[%d]> ", id);
            from = text + bytes;
        }
        text += id >= 0 ? bytes : char_bytes(text);
    }
    add_quoted(to, from, text);
}

/* ---- texts up to a mark ---- */

typedef struct marks {
    const char *at[MOST_MARKS]; /* of characters; none is another's beginning */
    int n;
    const char *found; /* what ends the text: one of them, or a token; NULL: it may end anywhere */
} marks;

typedef struct held { /* the beginning of a mark, the first that begins so */
    int mark;
    size_t bytes;
} held;

static held held_as(const marks *m, const char *text, size_t bytes)
{
    int i = 0;
    while (i < m->n && (strlen(m->at[i]) < bytes || memcmp(m->at[i], text, bytes) != 0))
        i++;
    return i < m->n ? (held){ i, bytes } : (held){ 0, 0 };
}

/* The longest beginning of a mark that a text ends in. */
static held held_in(const marks *m, const char *text, size_t n)
{
    for (size_t from = 0; from < n; from++) {
        const held h = held_as(m, text + from, n - from);
        if (h.bytes)
            return h;
    }
    return (held){ 0, 0 };
}

static void add_name(hn_rule_writer *w, held h)
{
    hn_str_print(&w->rules, "t%d-%d-%d ", w->n_texts, h.bytes ? h.mark : 0, (int)h.bytes);
}

/* One character more than `before`, which goes on with a mark. */
static void add_step(hn_rule_writer *w, const marks *m, const char *before, size_t n, const char *c)
{
    char text[LONGEST_MARK + 4];
    memcpy(text, before, n);
    memcpy(text + n, c, char_bytes(c));
    const held h = held_in(m, text, n + char_bytes(c));
    const bool is_whole = h.bytes == strlen(m->at[h.mark]);
    if (is_whole && m->at[h.mark] != m->found)
        return;
    hn_str_add(&w->rules, "| \"");
    add_char(&w->rules, c);
    hn_str_add(&w->rules, "\" ");
    if (!is_whole)
        add_name(w, h);
}

/* A rule: what comes after a beginning of a mark. */
static void add_state(hn_rule_writer *w, const marks *m, held h)
{
    const char *before = m->at[h.mark];
    hn_str seen = hn_str_on(w->rules.heap);
    add_name(w, h);
    hn_str_add(&w->rules, "::= [^");
    for (size_t from = 0; from <= h.bytes; from++)
        for (int i = 0; i < m->n; i++) {
            const size_t k = h.bytes - from;
            if (k >= strlen(m->at[i]) || memcmp(m->at[i], before + from, k) != 0)
                continue;
            char c[8] = { 0 };
            memcpy(c, m->at[i] + k, char_bytes(m->at[i] + k));
            if (strstr(seen.text, c))
                continue;
            hn_str_add(&seen, c);
            add_char(&w->rules, c);
        }
    hn_str_add(&w->rules, "] ");
    add_name(w, (held){ 0, 0 });
    for (const char *c = seen.text; *c; c += char_bytes(c))
        add_step(w, m, before, h.bytes, c);
    hn_str_free(&seen);
}

static void add_ending(hn_rule_writer *w, const marks *m)
{
    size_t bytes;
    if (!m->found)
        hn_str_add(&w->rules, "| \"\" ");
    else if (w->of->control(w->of->context, m->found, &bytes) >= 0) {
        hn_str_add(&w->rules, "| ");
        hn_rule_mark(w, &w->rules, m->found);
    }
    hn_str_add_char(&w->rules, '\n');
}

void hn_rule_until(hn_rule_writer *w, hn_str *to, const char *found, const char *without, const char *nor)
{
    const char *const given[] = { found, without, nor };
    marks m = { .found = found };
    for (int i = 0; i < MOST_MARKS; i++) {
        size_t bytes;
        if (given[i] && given[i][0] && strlen(given[i]) <= LONGEST_MARK && w->of->control(w->of->context, given[i], &bytes) < 0)
            m.at[m.n++] = given[i];
    }
    w->n_texts++;
    if (!m.n) {
        add_name(w, (held){ 0, 0 });
        hn_str_print(&w->rules, "::= . t%d-0-0 ", w->n_texts);
        add_ending(w, &m);
    }
    for (int i = 0; i < m.n; i++)
        for (size_t k = 0; k < strlen(m.at[i]); k += char_bytes(m.at[i] + k)) {
            const held h = held_as(&m, m.at[i], k);
            if (k ? h.mark != i : i > 0)
                continue;
            add_state(w, &m, h);
            add_ending(w, &m);
        }
    hn_str_print(to, "t%d-0-0 ", w->n_texts);
}
