/* The terminal is put into its raw mode for a line and back after it, and the handler of signals knows how, so no
 * end of the program leaves it raw. What is pasted comes marked, so its line ends do not enter the line. */
#include "cli/line_input.h"

#include "base/os/files.h"
#include "base/os/terminal.h"
#include "cli/terminal.h"

#include "cli/interrupt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ESCAPE_MS = 50, MOST_LINE = 1 << 26 };

static void put(const char *text, size_t bytes)
{
    while (bytes) {
        const ptrdiff_t n = hn_os_write(HN_OS_STDOUT, text, bytes);
        if (n < 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
}

/* Whatever ends the program, the terminal is left as it was found. */
static bool begin_raw(void)
{
    hn_interrupt_restore_by(hn_os_keys_put_back);
    if (hn_os_keys_begin())
        return true;
    hn_interrupt_restore_by(NULL);
    return false;
}

static void end_raw(void)
{
    hn_os_keys_end();
    hn_interrupt_restore_by(NULL);
}

hn_status hn_line_input_open(hn_line_input *in, hn_heap *heap)
{
    const char *kind = getenv("TERM");
    *in = (hn_line_input){ 0 };
    in->is_terminal = hn_os_is_terminal(stdin) && hn_os_is_terminal(stdout) &&
                      !(kind && !strcmp(kind, "dumb"));
    return hn_line_edit_new(&in->edit, heap);
}

void hn_line_input_close(hn_line_input *in)
{
    hn_line_edit_free(in->edit);
    in->edit = NULL;
}

/* Waits for more bytes; false at the end. An escape that nothing follows is the key of that
 * name, which means nothing here. */
static bool wait_for_bytes(hn_line_input *in)
{
    if (in->n_bytes && in->bytes[0] == 0x1b && !hn_os_keys_wait(ESCAPE_MS)) {
        in->n_bytes = 0;
        return true;
    }
    const ptrdiff_t n =
        hn_os_read(HN_OS_STDIN, in->bytes + in->n_bytes, sizeof in->bytes - in->n_bytes);
    if (n > 0)
        in->n_bytes += (size_t)n;
    return n > 0 || (n < 0 && errno == EINTR);
}

static hn_line_event press(hn_line_input *in)
{
    hn_key key;
    const size_t n = hn_key_read(in->bytes, in->n_bytes, &key);
    if (!n)
        return wait_for_bytes(in) ? HN_LINE_GOES_ON : HN_LINE_ENDED;
    const hn_line_event event = hn_line_edit_press(in->edit, key, in->bytes, n);
    in->n_bytes -= n;
    memmove(in->bytes, in->bytes + n, in->n_bytes);
    return event;
}

static void draw(hn_line_input *in, const char *prompt, hn_str *scratch)
{
    hn_key key;
    if (hn_key_read(in->bytes, in->n_bytes, &key)) /* pasted: once, at the end */
        return;
    hn_str_clear(scratch);
    hn_line_edit_draw(in->edit, prompt, hn_terminal_width(stdout), scratch);
    put(scratch->text, scratch->length);
}

static hn_status read_keys(hn_line_input *in, const char *prompt, hn_str *out,
                           hn_line_event *event)
{
    const char *text;
    size_t bytes, cursor;
    hn_line_edit_begin(in->edit);
    *event = HN_LINE_GOES_ON;
    while (*event == HN_LINE_GOES_ON || *event == HN_LINE_CLEARS) {
        if (*event == HN_LINE_CLEARS)
            put("\033[H\033[2J", 7);
        draw(in, prompt, out);
        *event = press(in);
    }
    put(*event == HN_LINE_INTERRUPTED ? "^C\r\n" : "\r\n",
        *event == HN_LINE_INTERRUPTED ? 4 : 2);
    hn_str_clear(out);
    HN_TRY(hn_line_edit_text(in->edit, &text, &bytes, &cursor));
    hn_str_add_bytes(out, text, bytes);
    HN_TRY(hn_str_status(out));
    return *event == HN_LINE_ENTERED ? hn_line_edit_remember(in->edit, text) : HN_OK;
}

static hn_status read_plain(hn_line_input *in, hn_str *out, hn_line_event *event)
{
    *event = HN_LINE_ENDED;
    for (;;) {
        while (!in->n_bytes) {
            const ptrdiff_t n = hn_os_read(HN_OS_STDIN, in->bytes, sizeof in->bytes);
            if (n < 0 && errno == EINTR)
                *event = HN_LINE_INTERRUPTED;
            HN_REQUIRE(n >= 0 || errno == EINTR, HN_ERR_IO, "standard input: %s",
                       strerror(errno));
            if (n <= 0)
                return HN_OK;
            in->n_bytes = (size_t)n;
        }
        const char *end = memchr(in->bytes, '\n', in->n_bytes);
        const size_t n = end ? (size_t)(end - in->bytes) : in->n_bytes;
        HN_REQUIRE(!memchr(in->bytes, 0, n), HN_ERR_ARGUMENT, "a line with a NUL in it");
        hn_str_add_bytes(out, in->bytes, n);
        HN_TRY(hn_str_status(out));
        HN_REQUIRE(out->length <= MOST_LINE, HN_ERR_ARGUMENT, "a line of more than %d bytes",
                   MOST_LINE);
        in->n_bytes -= n + (end ? 1 : 0);
        memmove(in->bytes, in->bytes + n + (end ? 1 : 0), in->n_bytes);
        *event = HN_LINE_ENTERED; /* so is a last line without an end */
        if (end)
            return HN_OK;
    }
}

hn_status hn_line_input_read(hn_line_input *in, const char *prompt, hn_str *out,
                             hn_line_event *event)
{
    hn_str_clear(out);
    if (!in->is_terminal || !begin_raw())
        return read_plain(in, out, event);
    put("\033[?2004h", 8); /* says where what is pasted begins and ends */
    const hn_status status = read_keys(in, prompt, out, event);
    put("\033[?2004l", 8);
    end_raw();
    return status;
}

static bool ends_with(const hn_str *s, const char *word)
{
    const size_t n = strlen(word);
    return s->length >= n && !memcmp(s->text + s->length - n, word, n);
}

static void drop(hn_str *s, size_t n)
{
    s->length -= n;
    s->text[s->length] = 0;
}

static const char quotes[] = "\"\"\"";

/* Lines that follow the first, until one does not end in a backslash, or ends the block. */
static hn_status read_more(hn_line_input *in, bool is_block, hn_str *out, hn_line_event *event)
{
    hn_str line = hn_str_on(out->heap);
    hn_status status = HN_OK;
    const char *mark = is_block ? quotes : "\\";
    bool begins = is_block && !out->length; /* the line of the quotes is none of the text */
    while (status == HN_OK && ends_with(out, mark) != is_block) {
        if (!is_block)
            drop(out, 1);
        status = hn_line_input_read(in, ". ", &line, event);
        if (status != HN_OK || *event != HN_LINE_ENTERED)
            break;
        if (!begins)
            hn_str_add_char(out, '\n');
        begins = false;
        hn_str_add(out, line.text);
    }
    if (status == HN_OK && *event == HN_LINE_ENDED && !in->is_terminal) /* a file that was cut is none that was typed */
        status = is_block ? hn_fail(HN_ERR_FORMAT, "standard input: ends within a block: expected %s", quotes)
                          : hn_fail(HN_ERR_FORMAT, "standard input: ends in a backslash: expected another line");
    if (*event == HN_LINE_ENDED) /* what there is */
        *event = HN_LINE_ENTERED;
    if (is_block && ends_with(out, quotes))
        drop(out, 3);
    if (is_block && ends_with(out, "\n"))
        drop(out, 1);
    hn_str_free(&line);
    return status == HN_OK ? hn_str_status(out) : status;
}

hn_status hn_line_input_message(hn_line_input *in, hn_str *out, bool *is_block,
                                hn_line_event *event)
{
    *is_block = false;
    HN_TRY(hn_line_input_read(in, "> ", out, event));
    if (*event != HN_LINE_ENTERED)
        return HN_OK;
    if (strchr(out->text, '\n')) { /* pasted: as it is */
        *is_block = true;
        return HN_OK;
    }
    *is_block = !strncmp(out->text, quotes, 3);
    if (*is_block) {
        memmove(out->text, out->text + 3, out->length - 3);
        drop(out, 3);
    }
    return read_more(in, *is_block, out, event);
}
