/* The console in the mode in which it sends and obeys what terminals do, so that line_edit.c knows one kind. */
#include "base/os/terminal.h"

#include "base/os/windows/wide.h"

#include <io.h>

static volatile LONG is_known;
static DWORD as_before;

static HANDLE of(FILE *stream) { return (HANDLE)_get_osfhandle(_fileno(stream)); }

/* And one that obeys what terminals are told. */
bool hn_os_is_terminal(FILE *stream)
{
    DWORD mode;
    if (!GetConsoleMode(of(stream), &mode))
        return false;
    return stream == stdin || SetConsoleMode(of(stream), mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

int hn_os_terminal_columns(FILE *stream)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    return GetConsoleScreenBufferInfo(of(stream), &info) ? info.srWindow.Right - info.srWindow.Left + 1 : 0;
}

bool hn_os_keys_begin(void)
{
    if (!GetConsoleMode(of(stdin), &as_before))
        return false;
    is_known = 1;
    return SetConsoleMode(of(stdin), ENABLE_VIRTUAL_TERMINAL_INPUT);
}

void hn_os_keys_end(void) { SetConsoleMode(of(stdin), as_before); }

void hn_os_keys_put_back(void)
{
    if (is_known)
        hn_os_keys_end();
}

bool hn_os_keys_wait(int milliseconds) { return WaitForSingleObject(of(stdin), (DWORD)milliseconds) == WAIT_OBJECT_0; }
