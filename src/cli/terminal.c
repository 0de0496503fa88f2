/* What a model writes is not to be trusted with a terminal: of what would move it or set it only a picture is
 * shown. Widths are of the characters that people write lines with; what is not in the table is one column. */
#include "cli/terminal.h"

#include "base/os/terminal.h"
#include "base/utf8.h"

#include <stdlib.h>

hn_terminal hn_terminal_on(FILE *out)
{
    return (hn_terminal){ .out = out, .is_terminal = hn_os_is_terminal(out), .ends_line = true };
}

/* Bytes of a control character at `text`, 0 if it is none: C0 but for tab and line end, DEL,
 * and C1, which some terminals obey in UTF-8 too. */
static size_t control(const char *text, size_t bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    if ((s[0] < 0x20 && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7f)
        return 1;
    return bytes > 1 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 ? 2 : 0;
}

/* U+2400 and on are pictures of control characters. */
static void write_picture(FILE *out, unsigned char first, size_t bytes)
{
    char picture[4];
    const uint32_t code = bytes == 2 ? 0xfffd : first == 0x7f ? 0x2421 : 0x2400u + first;
    fwrite(picture, 1, hn_utf8_put(code, picture), out);
}

void hn_terminal_write(hn_terminal *t, const char *text, size_t bytes)
{
    if (bytes)
        t->ends_line = text[bytes - 1] == '\n';
    for (size_t i = 0, begin = 0; i < bytes;) {
        const size_t n = t->is_terminal ? control(text + i, bytes - i) : 0;
        i += n ? n : 1;
        if (n || i == bytes)
            fwrite(text + begin, 1, i - n - begin, t->out);
        if (n)
            write_picture(t->out, (unsigned char)text[i - n], n);
        if (n)
            begin = i;
    }
    fflush(t->out);
}

void hn_terminal_show(FILE *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        const bool is_white = text[i] == '\n' || text[i] == '\t';
        const size_t n = is_white ? 1 : control(text + i, bytes - i);
        if (n)
            write_picture(out, (unsigned char)text[i], n);
        else
            fputc(text[i], out);
        i += n ? n : 1;
    }
}

void hn_terminal_dim(hn_terminal *t, bool is_dim)
{
    if (t->is_terminal && t->is_dim != is_dim)
        fputs(is_dim ? "\033[2m" : "\033[0m", t->out);
    t->is_dim = is_dim;
}

void hn_terminal_finish(hn_terminal *t)
{
    hn_terminal_dim(t, false);
    if (!t->ends_line)
        fputc('\n', t->out);
    t->ends_line = true;
    fflush(t->out);
}

int hn_terminal_width(FILE *stream)
{
    const int known = hn_os_terminal_columns(stream);
    if (known)
        return known;
    const char *said = getenv("COLUMNS");
    const long columns = said ? strtol(said, NULL, 10) : 0;
    return columns > 0 && columns < 10000 ? (int)columns : 80;
}

int hn_terminal_columns(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        int columns;
    } ranges[] = {
        { 0x300, 0x36f, 0 },     { 0x483, 0x489, 0 },     { 0x591, 0x5bd, 0 },
        { 0x610, 0x61a, 0 },     { 0x64b, 0x65f, 0 },     { 0x900, 0x902, 0 },
        { 0x93c, 0x93c, 0 },     { 0x941, 0x948, 0 },     { 0x94d, 0x94d, 0 },
        { 0xe31, 0xe31, 0 },     { 0xe34, 0xe3a, 0 },     { 0xe47, 0xe4e, 0 },
        { 0x1100, 0x115f, 2 },   { 0x1160, 0x11ff, 0 },   { 0x1ab0, 0x1aff, 0 },
        { 0x1dc0, 0x1dff, 0 },   { 0x200b, 0x200f, 0 },   { 0x202a, 0x202e, 0 },
        { 0x2060, 0x2064, 0 },   { 0x20d0, 0x20f0, 0 },   { 0x231a, 0x231b, 2 },
        { 0x23e9, 0x23ec, 2 },   { 0x2614, 0x2615, 2 },   { 0x26a1, 0x26a1, 2 },
        { 0x2705, 0x2705, 2 },   { 0x274c, 0x274c, 2 },   { 0x2753, 0x2755, 2 },
        { 0x2b50, 0x2b50, 2 },   { 0x2e80, 0x303e, 2 },   { 0x3041, 0x3098, 2 },
        { 0x3099, 0x309a, 0 },   { 0x309b, 0x4dbf, 2 },   { 0x4e00, 0xa4cf, 2 },
        { 0xa960, 0xa97c, 2 },   { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
        { 0xfe00, 0xfe0f, 0 },   { 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6b, 2 },
        { 0xfeff, 0xfeff, 0 },   { 0xff01, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
        { 0x16fe0, 0x18cd5, 2 }, { 0x1aff0, 0x1b2fb, 2 }, { 0x1f004, 0x1f004, 2 },
        { 0x1f0cf, 0x1f0cf, 2 }, { 0x1f18e, 0x1f19a, 2 }, { 0x1f200, 0x1f320, 2 },
        { 0x1f32d, 0x1f3fa, 2 }, { 0x1f3fb, 0x1f3ff, 0 }, { 0x1f400, 0x1f64f, 2 },
        { 0x1f680, 0x1f6fc, 2 }, { 0x1f7e0, 0x1f7f0, 2 }, { 0x1f90c, 0x1faff, 2 },
        { 0x20000, 0x3fffd, 2 }, { 0xe0001, 0xe01ef, 0 },
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return ranges[i].columns;
    return 1;
}
