/* Keys as terminals send them, in one piece, byte by byte and as noise; and what they do to a
 * line. */
#include "cli/line_edit.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "tests/harness/check.h"

#include <string.h>

static hn_heap heap;

/* clang-format off */
static const struct {
    const char *bytes;
    hn_key key;
} keys[] = {
    { "a", HN_KEY_TEXT },          { "\t", HN_KEY_TEXT },        { "\xc3\xa9", HN_KEY_TEXT },
    { "\xe6\xbc\xa2", HN_KEY_TEXT }, { "\xf0\x9f\x98\x80", HN_KEY_TEXT },
    { "\r", HN_KEY_ENTER },        { "\n", HN_KEY_ENTER },       { "\x7f", HN_KEY_BACKSPACE },
    { "\b", HN_KEY_BACKSPACE },    { "\x01", HN_KEY_HOME },      { "\x05", HN_KEY_END },
    { "\x0b", HN_KEY_CUT_AFTER },  { "\x15", HN_KEY_CUT_BEFORE }, { "\x17", HN_KEY_CUT_WORD },
    { "\x03", HN_KEY_INTERRUPT },  { "\x04", HN_KEY_EXIT },      { "\x0c", HN_KEY_CLEAR },
    { "\x10", HN_KEY_UP },         { "\x0e", HN_KEY_DOWN },      { "\033[A", HN_KEY_UP },
    { "\033[B", HN_KEY_DOWN },     { "\033[C", HN_KEY_RIGHT },   { "\033[D", HN_KEY_LEFT },
    { "\033OA", HN_KEY_UP },       { "\033OH", HN_KEY_HOME },    { "\033OF", HN_KEY_END },
    { "\033[H", HN_KEY_HOME },     { "\033[F", HN_KEY_END },     { "\033[1~", HN_KEY_HOME },
    { "\033[7~", HN_KEY_HOME },    { "\033[4~", HN_KEY_END },    { "\033[8~", HN_KEY_END },
    { "\033[3~", HN_KEY_DELETE },  { "\033[3;5~", HN_KEY_DELETE }, { "\033[1;5C", HN_KEY_WORD_RIGHT },
    { "\033[1;5D", HN_KEY_WORD_LEFT }, { "\033b", HN_KEY_WORD_LEFT }, { "\033f", HN_KEY_WORD_RIGHT },
    { "\033\x7f", HN_KEY_CUT_WORD }, { "\033[15~", HN_KEY_NONE }, { "\033[200~", HN_KEY_PASTE },
    { "\033[201~", HN_KEY_PASTED }, { "\033[202~", HN_KEY_NONE },
    { "\033[?1;2c", HN_KEY_NONE }, { "\033x", HN_KEY_NONE },     { "\x80", HN_KEY_NONE },
    { "\xff", HN_KEY_NONE },       { "\x1a", HN_KEY_NONE },
};
/* clang-format on */

static void reads(const char *bytes, size_t n, size_t want, hn_key key)
{
    hn_key found;
    CHECK_INT((int64_t)want, (int64_t)hn_key_read(bytes, n, &found));
    CHECK_INT(key, found);
}

/* A key needs all of its bytes, and what follows does not change it. */
static void check_keys(void)
{
    check_group("keys");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t n = strlen(keys[i].bytes);
        char more[32];
        memcpy(more, keys[i].bytes, n);
        more[n] = 'z';
        reads(keys[i].bytes, n, n, keys[i].key);
        reads(more, n + 1, n, keys[i].key);
        for (size_t cut = 0; cut < n; cut++)
            reads(keys[i].bytes, cut, 0, HN_KEY_NONE);
    }
    reads("\xe6z", 2, 1, HN_KEY_NONE); /* malformed: the first byte alone */
    reads("\xe0\x80\x80", 3, 1, HN_KEY_NONE);
    reads("\033[1\r", 4, 3, HN_KEY_NONE); /* broken off: the key after it counts */
    reads("\033\033[A", 4, 1, HN_KEY_NONE);
}

static int64_t type(hn_line_edit *edit, const char *bytes, size_t n, hn_line_event *event)
{
    size_t at = 0;
    *event = HN_LINE_GOES_ON;
    while (at < n && *event == HN_LINE_GOES_ON) {
        hn_key key;
        const size_t used = hn_key_read(bytes + at, n - at, &key);
        if (!used)
            break;
        *event = hn_line_edit_press(edit, key, bytes + at, used);
        at += used;
    }
    return (int64_t)at;
}

static void shows(hn_line_edit *edit, const char *typed, const char *want)
{
    const char *text;
    size_t bytes, cursor;
    hn_line_event event;
    CHECK_INT((int64_t)strlen(typed), type(edit, typed, strlen(typed), &event));
    CHECK_OK(hn_line_edit_text(edit, &text, &bytes, &cursor));
    CHECK_TEXT(want, text);
    CHECK_INT((int64_t)strlen(want), (int64_t)bytes);
}

static void check_edits(void)
{
    static const struct {
        const char *typed, *want;
    } cases[] = {
        { "abc", "abc" },
        { "ac\033[Db", "abc" },
        { "bc\x01"
          "a",
          "abc" },
        { "bc\033[Ha\033[Fd", "abcd" },
        { "abc\x7f\x7f", "a" },
        { "abc\x01\033[3~", "bc" },
        { "abc\x01\x04", "bc" },
        { "one two\x17", "one " },
        { "one two  \x17", "one " },
        { "one two\033b\x0b", "one " },
        { "one two\033b\x15", "two" },
        { "one two\x01\033f!", "one! two" },
        { "\xe6\xbc\xa2\xe5\xad\x97\033[D\x7f", "\xe5\xad\x97" },
        { "e\xcc\x81x\033[D\x7f", "x" }, /* a mark goes with its letter */
        { "a\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\x7f", "a" }, /* joined */
        { "\x7f\033[3~\033[D\033[C\x17\x0b\x15", "" },
        { "a\033[200~b\rc\r\nd\te\033[201~f", "ab\nc\nd\tef" }, /* pasted: lines enter nothing */
        { "\033[200~\x04\x0c\033[A\033[201~\033[D", "" },
    };
    hn_line_edit *edit;
    check_group("edits");
    if (!CHECK_OK(hn_line_edit_new(&edit, &heap)))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_line_edit_begin(edit);
        shows(edit, cases[i].typed, cases[i].want);
    }
    hn_line_edit_free(edit);
}

static void check_history(void)
{
    hn_line_edit *edit;
    hn_line_event event;
    check_group("history");
    if (!CHECK_OK(hn_line_edit_new(&edit, &heap)))
        return;
    CHECK_OK(hn_line_edit_remember(edit, "first"));
    CHECK_OK(hn_line_edit_remember(edit, "second"));
    CHECK_OK(hn_line_edit_remember(edit, "second"));
    CHECK_OK(hn_line_edit_remember(edit, ""));
    hn_line_edit_begin(edit);
    shows(edit, "new\033[A", "second");
    shows(edit, "\033[A", "first");
    shows(edit, "\033[A", "first");
    shows(edit, "!\033[B", "second");
    shows(edit, "\033[B", "new");
    shows(edit, "\033[B?", "new?");
    hn_line_edit_begin(edit);
    shows(edit, "\033[A\033[A", "first"); /* what is shown is a copy */
    for (int i = 0; i < 1200; i++) {
        char line[16] = "line     ";
        line[5] = (char)('0' + i / 1000), line[6] = (char)('0' + i / 100 % 10);
        line[7] = (char)('0' + i / 10 % 10), line[8] = (char)('0' + i % 10);
        CHECK_OK(hn_line_edit_remember(edit, line));
    }
    hn_line_edit_begin(edit);
    shows(edit, "\033[A", "line 1199");
    hn_line_edit_begin(edit);
    CHECK_INT(1, type(edit, "\x04", 1, &event));
    CHECK_INT(HN_LINE_ENDED, event);
    CHECK_INT(1, type(edit, "\x03", 1, &event));
    CHECK_INT(HN_LINE_INTERRUPTED, event);
    CHECK_INT(2, type(edit, "a\rb", 3, &event));
    CHECK_INT(HN_LINE_ENTERED, event);
    hn_line_edit_free(edit);
}

static void draws(const char *typed, int columns, const char *want)
{
    hn_line_edit *edit;
    hn_line_event event;
    hn_str out = hn_str_on(&heap);
    if (!CHECK_OK(hn_line_edit_new(&edit, &heap)))
        return;
    type(edit, typed, strlen(typed), &event);
    hn_line_edit_draw(edit, "> ", columns, &out);
    CHECK_TEXT(want, out.text);
    hn_str_free(&out);
    hn_line_edit_free(edit);
}

static void check_drawing(void)
{
    check_group("drawing");
    draws("", 80, "\r> \033[K\r\033[2C");
    draws("abc\033[D", 80, "\r> abc\033[K\r\033[4C");
    draws("\xe6\xbc\xa2x", 80, "\r> \xe6\xbc\xa2x\033[K\r\033[5C"); /* two columns and one */
    draws("e\xcc\x81", 80, "\r> e\xcc\x81\033[K\r\033[3C");
    draws("abcdefghij", 8, "\r> fghij\033[K\r\033[7C"); /* the end of it */
    draws("abcdefghij\x01", 8, "\r> abcde\033[K\r\033[2C");
    draws("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 8,
          "\r> \xe6\xbc\xa2\xe6\xbc\xa2\033[K\r\033[6C");
    draws("a\tb", 80, "\r> a b\033[K\r\033[5C");
}

/* Whatever is typed, the line is whole characters and the cursor stands at one. */
static void check_noise(void)
{
    static const char pool[] =
        "ab \t\x01\x02\x05\x06\x08\x0b\x0e\x10\x15\x17\x7f\033[[ABCDHF~;135O"
        "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80\xcc\x81\xe2\x80\x8d\xff\x80";
    const hn_rng_key seed = hn_rng_seed(check_seed());
    hn_line_edit *edit;
    uint64_t n_drawn = 0;
    check_group("noise");
    if (!CHECK_OK(hn_line_edit_new(&edit, &heap)))
        return;
    CHECK_OK(hn_line_edit_remember(edit, "an older line"));
    for (int round = 0; round < 3000; round++) {
        char noise[64];
        const size_t n = 1 + hn_rng_below(seed, n_drawn++, sizeof noise - 1);
        for (size_t i = 0; i < n; i++)
            noise[i] = pool[hn_rng_below(seed, n_drawn++, sizeof pool - 1)];
        hn_line_edit_begin(edit);
        hn_line_event event = HN_LINE_GOES_ON;
        type(edit, noise, n, &event);
        const char *text;
        size_t bytes, cursor, at = 0;
        bool is_at_character = false;
        CHECK_OK(hn_line_edit_text(edit, &text, &bytes, &cursor));
        for (size_t length = 1; length && at <= bytes; at += length) {
            is_at_character |= at == cursor;
            length = hn_utf8_length(text + at, bytes - at);
        }
        CHECK_THAT(at == bytes && is_at_character && strlen(text) == bytes,
                   "round %d: %zu of %zu bytes are characters, the cursor is at %zu", round, at,
                   bytes, cursor);
        hn_str out = hn_str_on(&heap);
        hn_line_edit_draw(edit, "> ", 1 + (int)(n % 40), &out);
        CHECK_OK(hn_str_status(&out));
        hn_str_free(&out);
    }
    hn_line_edit_free(edit);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    check_keys();
    check_edits();
    check_history();
    check_drawing();
    check_noise();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
