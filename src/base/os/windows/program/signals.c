/* The console's events in the place of signals. They come in a thread of the system's, and there is none to raise
 * again: the end is ExitProcess. */
#include "base/os/signals.h"

#include "base/os/windows/wide.h"

#include <signal.h>

static void (*call)(int number, bool is_wish);

/* In a thread of the system's. Of a console that closes and a user who leaves, the process ends when this returns:
 * so it waits, and whoever works has the time that the system gives. */
static BOOL WINAPI on_event(DWORD event)
{
    const bool is_key = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
    call(event == CTRL_C_EVENT ? SIGINT : SIGTERM, true);
    if (!is_key)
        Sleep(INFINITE);
    return TRUE;
}

void hn_os_signals_watch(void (*on)(int number, bool is_wish))
{
    call = on;
    SetConsoleCtrlHandler(on_event, TRUE);
}

void hn_os_signal_end(int number)
{
    (void)number;
    ExitProcess(STATUS_CONTROL_C_EXIT);
}

bool hn_os_signal_is_hangup(int number)
{
    (void)number;
    return false;
}

bool hn_os_signal_is_interrupt(int number) { return number == SIGINT; }

void hn_os_signals_spare_large_files(void) {}
