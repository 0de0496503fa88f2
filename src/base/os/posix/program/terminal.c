/* Keys come one by one, unseen and unread by the terminal, between hn_os_keys_begin and _end. A handler of signals
 * may put the terminal back, so how it was lies in a static variable. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios as_before;
static volatile sig_atomic_t is_known;

bool hn_os_is_terminal(FILE *stream) { return isatty(fileno(stream)) == 1; }

int hn_os_terminal_columns(FILE *stream)
{
    struct winsize size;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

bool hn_os_keys_begin(void)
{
    if (tcgetattr(STDIN_FILENO, &as_before))
        return false;
    is_known = 1;
    struct termios raw = as_before;
    raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void hn_os_keys_end(void) { tcsetattr(STDIN_FILENO, TCSADRAIN, &as_before); }

void hn_os_keys_put_back(void)
{
    if (is_known)
        tcsetattr(STDIN_FILENO, TCSANOW, &as_before);
}

bool hn_os_keys_wait(int milliseconds)
{
    struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };
    return poll(&keys, 1, milliseconds) != 0;
}
