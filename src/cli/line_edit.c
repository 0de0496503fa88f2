/* A key is as many bytes as it takes, and bytes that are not enough yet are no key: 0 asks for more. The text is
 * well-formed UTF-8 at every moment, and the cursor stands between whole characters. */
#include "cli/line_edit.h"

#include "base/utf8.h"
#include "cli/terminal.h"

#include <string.h>

enum { MOST_LINES = 500, MOST_SEQUENCE = 32 };

static hn_key control_key(unsigned char c)
{
    static const hn_key keys[32] = {
        [1] = HN_KEY_HOME,       [2] = HN_KEY_LEFT,   [3] = HN_KEY_INTERRUPT,
        [4] = HN_KEY_EXIT,       [5] = HN_KEY_END,    [6] = HN_KEY_RIGHT,
        [8] = HN_KEY_BACKSPACE,  [9] = HN_KEY_TEXT,   [10] = HN_KEY_ENTER,
        [11] = HN_KEY_CUT_AFTER, [12] = HN_KEY_CLEAR, [13] = HN_KEY_ENTER,
        [14] = HN_KEY_DOWN,      [16] = HN_KEY_UP,    [21] = HN_KEY_CUT_BEFORE,
        [23] = HN_KEY_CUT_WORD,
    };
    return keys[c];
}

/* ESC [ parameters final */
static hn_key sequence_key(const char *parameters, char final)
{
    const bool is_word = strchr(parameters, ';') != NULL; /* Ctrl or Alt is held */
    switch (final) {
    case 'A':
        return HN_KEY_UP;
    case 'B':
        return HN_KEY_DOWN;
    case 'C':
        return is_word ? HN_KEY_WORD_RIGHT : HN_KEY_RIGHT;
    case 'D':
        return is_word ? HN_KEY_WORD_LEFT : HN_KEY_LEFT;
    case 'H':
        return HN_KEY_HOME;
    case 'F':
        return HN_KEY_END;
    case '~':
        break;
    default:
        return HN_KEY_NONE;
    }
    if (!strcmp(parameters, "200") || !strcmp(parameters, "201"))
        return parameters[2] == '0' ? HN_KEY_PASTE : HN_KEY_PASTED;
    const bool is_one = parameters[0] && (!parameters[1] || parameters[1] == ';');
    return !is_one                                        ? HN_KEY_NONE
           : parameters[0] == '1' || parameters[0] == '7' ? HN_KEY_HOME
           : parameters[0] == '4' || parameters[0] == '8' ? HN_KEY_END
           : parameters[0] == '3'                         ? HN_KEY_DELETE
                                                          : HN_KEY_NONE;
}

static size_t read_sequence(const char *bytes, size_t n, hn_key *key)
{
    char parameters[MOST_SEQUENCE] = { 0 };
    for (size_t i = 2; i < n; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (c >= 0x40 && c < 0x7f) {
            *key = sequence_key(parameters, (char)c);
            return i + 1;
        }
        if (c < 0x20 || c >= 0x7f) /* it is broken off */
            return i;
        if (i - 2 == MOST_SEQUENCE - 1)
            return i + 1;
        parameters[i - 2] = (char)c;
    }
    return 0;
}

static size_t read_escape(const char *bytes, size_t n, hn_key *key)
{
    if (n < 2)
        return 0;
    switch (bytes[1]) {
    case '[':
        return read_sequence(bytes, n, key);
    case 'O':
        if (n > 2 && (unsigned char)bytes[2] >= 0x20)
            *key = sequence_key("", bytes[2]);
        return n < 3 ? 0 : (unsigned char)bytes[2] < 0x20 ? 2 : 3;
    case 'b':
        *key = HN_KEY_WORD_LEFT;
        return 2;
    case 'f':
        *key = HN_KEY_WORD_RIGHT;
        return 2;
    case 0x7f:
        *key = HN_KEY_CUT_WORD;
        return 2;
    default: /* Alt and a key; of an escape or a longer character, the escape alone */
        return (unsigned char)bytes[1] < 0x20 || (unsigned char)bytes[1] > 0x7f ? 1 : 2;
    }
}

size_t hn_key_read(const char *bytes, size_t n, hn_key *key)
{
    *key = HN_KEY_NONE;
    if (!n)
        return 0;
    const unsigned char c = (unsigned char)bytes[0];
    if (c == 0x1b)
        return read_escape(bytes, n, key);
    if (c < 0x20 || c == 0x7f) {
        *key = c == 0x7f ? HN_KEY_BACKSPACE : control_key(c);
        return 1;
    }
    const size_t length = hn_utf8_length(bytes, n);
    if (length) {
        *key = HN_KEY_TEXT;
        return length;
    }
    const size_t wants = c < 0xc2 || c > 0xf4 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    size_t i = 1;
    while (i < n && i < wants && ((unsigned char)bytes[i] & 0xc0) == 0x80)
        i++;
    return i == n && i < wants ? 0 : 1; /* cut off, or malformed */
}

struct hn_line_edit {
    hn_heap *heap;
    hn_str text, draft; /* draft: the line that was left for an older one */
    size_t at;
    char *lines[MOST_LINES];
    int n_lines, shown; /* shown == n_lines: the new line */
    bool pastes, is_after_return;
};

hn_status hn_line_edit_new(hn_line_edit **out, hn_heap *heap)
{
    hn_line_edit *e = *out = hn_alloc(heap, HN_TAG_TEXT, sizeof *e);
    if (!e)
        return HN_ERR_MEMORY;
    e->heap = heap;
    e->text = e->draft = hn_str_on(heap);
    return HN_OK;
}

void hn_line_edit_free(hn_line_edit *e)
{
    if (!e)
        return;
    for (int i = 0; i < e->n_lines; i++)
        hn_free(e->heap, e->lines[i]);
    hn_str_free(&e->text);
    hn_str_free(&e->draft);
    hn_free(e->heap, e);
}

void hn_line_edit_begin(hn_line_edit *e)
{
    hn_str_clear(&e->text);
    hn_str_clear(&e->draft);
    e->at = 0;
    e->pastes = e->is_after_return = false;
    e->shown = e->n_lines;
}

hn_status hn_line_edit_text(const hn_line_edit *e, const char **text, size_t *bytes,
                            size_t *cursor)
{
    *text = e->text.text;
    *bytes = e->text.length;
    *cursor = e->at;
    return hn_str_status(&e->text);
}

hn_status hn_line_edit_remember(hn_line_edit *e, const char *line)
{
    if (!*line || (e->n_lines && !strcmp(e->lines[e->n_lines - 1], line)))
        return HN_OK;
    char *copy = hn_strdup(e->heap, HN_TAG_TEXT, line);
    if (!copy)
        return HN_ERR_MEMORY;
    if (e->n_lines == MOST_LINES) {
        hn_free(e->heap, e->lines[0]);
        memmove(e->lines, e->lines + 1, (MOST_LINES - 1) * sizeof *e->lines);
        e->n_lines--;
    }
    e->lines[e->n_lines++] = copy;
    return HN_OK;
}

/* The text is well formed: only whole characters come in. */
static uint32_t code_at(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3f);
    return code;
}

/* The end of what stands in one place: a character and those that are drawn over it, or are
 * joined to it (U+200D). */
static size_t next(const hn_str *text, size_t at)
{
    bool joins = true;
    while (at < text->length) {
        const size_t n = hn_utf8_length(text->text + at, text->length - at);
        const uint32_t code = n ? code_at(text->text + at, n) : 0xfffd;
        if (!joins && hn_terminal_columns(code))
            break;
        joins = code == 0x200d;
        at += n ? n : 1;
    }
    return at;
}

static size_t previous(const hn_str *text, size_t at)
{
    size_t before = 0;
    for (size_t i = 0; i < at; i = next(text, i))
        before = i;
    return before;
}

static int columns_of(const hn_str *text, size_t begin, size_t end)
{
    int columns = 0;
    for (size_t i = begin; i < end; i = next(text, i)) {
        const size_t n = hn_utf8_length(text->text + i, text->length - i);
        columns += n ? hn_terminal_columns(code_at(text->text + i, n)) : 1;
    }
    return columns;
}

static size_t word_left(const hn_line_edit *e)
{
    size_t at = e->at;
    while (at && e->text.text[at - 1] == ' ')
        at--;
    while (at && e->text.text[at - 1] != ' ')
        at--;
    return at;
}

static size_t word_right(const hn_line_edit *e)
{
    size_t at = e->at;
    while (at < e->text.length && e->text.text[at] == ' ')
        at++;
    while (at < e->text.length && e->text.text[at] != ' ')
        at++;
    return at;
}

static void cut(hn_line_edit *e, size_t begin, size_t end)
{
    hn_str *t = &e->text;
    if (begin == end)
        return;
    memmove(t->text + begin, t->text + end, t->length - end);
    t->length -= end - begin;
    t->text[t->length] = 0;
    e->at = begin;
}

static void insert(hn_line_edit *e, const char *text, size_t bytes)
{
    hn_str *t = &e->text;
    const size_t before = t->length;
    hn_str_add_bytes(t, text, bytes); /* makes room */
    if (t->length != before + bytes)
        return;
    memmove(t->text + e->at + bytes, t->text + e->at, before - e->at);
    memcpy(t->text + e->at, text, bytes);
    e->at += bytes;
}

/* To an older or a newer line; what was typed is kept as the newest. */
static void show(hn_line_edit *e, int which)
{
    if (which < 0 || which > e->n_lines || which == e->shown)
        return;
    if (e->shown == e->n_lines) {
        hn_str_clear(&e->draft);
        hn_str_add_bytes(&e->draft, e->text.text, e->text.length);
    }
    hn_str_clear(&e->text);
    hn_str_add(&e->text, which == e->n_lines ? e->draft.text : e->lines[which]);
    e->shown = which;
    e->at = e->text.length;
}

static void edit(hn_line_edit *e, hn_key key)
{
    switch (key) {
    case HN_KEY_LEFT:
        e->at = previous(&e->text, e->at);
        break;
    case HN_KEY_RIGHT:
        e->at = next(&e->text, e->at);
        break;
    case HN_KEY_WORD_LEFT:
        e->at = word_left(e);
        break;
    case HN_KEY_WORD_RIGHT:
        e->at = word_right(e);
        break;
    case HN_KEY_HOME:
        e->at = 0;
        break;
    case HN_KEY_END:
        e->at = e->text.length;
        break;
    case HN_KEY_UP:
    case HN_KEY_DOWN:
        show(e, e->shown + (key == HN_KEY_UP ? -1 : 1));
        break;
    case HN_KEY_BACKSPACE:
        cut(e, previous(&e->text, e->at), e->at);
        break;
    case HN_KEY_DELETE:
        cut(e, e->at, next(&e->text, e->at));
        break;
    case HN_KEY_CUT_WORD:
        cut(e, word_left(e), e->at);
        break;
    case HN_KEY_CUT_BEFORE:
        cut(e, 0, e->at);
        break;
    case HN_KEY_CUT_AFTER:
        cut(e, e->at, e->text.length);
        break;
    default:
        break;
    }
}

/* Text as it comes; a line end, of which terminals make a carriage return, is one of the text. */
static void paste(hn_line_edit *e, hn_key key, const char *text, size_t bytes)
{
    const bool is_end = key == HN_KEY_ENTER;
    if (is_end && !(e->is_after_return && *text == '\n'))
        insert(e, "\n", 1);
    else if (key == HN_KEY_TEXT)
        insert(e, text, bytes);
    e->is_after_return = is_end && *text == '\r';
}

hn_line_event hn_line_edit_press(hn_line_edit *e, hn_key key, const char *text, size_t bytes)
{
    if (key == HN_KEY_PASTE || key == HN_KEY_PASTED) {
        e->pastes = key == HN_KEY_PASTE;
        e->is_after_return = false;
        return HN_LINE_GOES_ON;
    }
    if (e->pastes && key != HN_KEY_INTERRUPT) {
        paste(e, key, text, bytes);
        return HN_LINE_GOES_ON;
    }
    if (key == HN_KEY_ENTER)
        return HN_LINE_ENTERED;
    if (key == HN_KEY_INTERRUPT)
        return HN_LINE_INTERRUPTED;
    if (key == HN_KEY_CLEAR)
        return HN_LINE_CLEARS;
    if (key == HN_KEY_EXIT && !e->text.length)
        return HN_LINE_ENDED;
    if (key == HN_KEY_TEXT)
        insert(e, text, bytes);
    else
        edit(e, key == HN_KEY_EXIT ? HN_KEY_DELETE : key);
    return HN_LINE_GOES_ON;
}

void hn_line_edit_draw(const hn_line_edit *e, const char *prompt, int columns, hn_str *out)
{
    const hn_str *t = &e->text;
    const int used = (int)strlen(prompt), room = columns > used + 2 ? columns - used - 1 : 1;
    size_t from = 0, to;
    while (from < e->at && columns_of(t, from, e->at) > room)
        from = next(t, from);
    for (to = from; to < t->length && columns_of(t, from, next(t, to)) <= room;)
        to = next(t, to);
    hn_str_print(out, "\r%s", prompt);
    for (size_t i = from; i < to; i++)
        if (t->text[i] == '\n')
            hn_str_add(out, "\xe2\x86\xb5"); /* an arrow down and left */
        else
            hn_str_add_char(out, t->text[i] == '\t' ? ' ' : t->text[i]);
    hn_str_print(out, "\033[K\r\033[%dC", used + columns_of(t, from, e->at));
}
