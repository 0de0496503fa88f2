/* As posix/program/child.c, with a pipe for the line. The child inherits its end of it and its log, and nothing
 * that was not marked so. */
#include "base/os/child.h"

#include "base/os/windows/wide.h"

#include <errno.h>
#include <io.h>
#include <string.h>

static HANDLE handle_of(intptr_t number) { return (HANDLE)(uintptr_t)number; }

static HANDLE open_log(const wchar_t *log, SECURITY_ATTRIBUTES *inherited)
{
    return CreateFileW(log, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, inherited, OPEN_ALWAYS, 0, NULL);
}

static bool spawn(hn_os_child *child, const wchar_t *path, wchar_t *line, HANDLE input, const wchar_t *log)
{
    SECURITY_ATTRIBUTES inherited = { .nLength = sizeof inherited, .bInheritHandle = TRUE };
    STARTUPINFOW start = { .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES, .hStdInput = input };
    PROCESS_INFORMATION made;
    start.hStdOutput = start.hStdError = open_log(log, &inherited);
    if (start.hStdOutput == INVALID_HANDLE_VALUE)
        return hn_os_fail();
    const bool is_begun =
        CreateProcessW(path, line, NULL, NULL, TRUE, CREATE_NEW_PROCESS_GROUP, NULL, NULL, &start, &made) || hn_os_fail();
    CloseHandle(start.hStdOutput);
    if (!is_begun)
        return false;
    CloseHandle(made.hThread);
    child->process = (intptr_t)(uintptr_t)made.hProcess;
    return true;
}

bool hn_os_child_start(hn_os_child *child, const char *path, const char *const *words, const char *log)
{
    enum { ROOM = 32000 };
    static char line[ROOM];
    static wchar_t wide_line[ROOM], wide[HN_OS_WIDE], wide_log[HN_OS_WIDE];
    HANDLE ends[2];
    *child = (hn_os_child){ 0 };
    if (!hn_os_widen(path, wide) || !hn_os_widen(log, wide_log))
        return false;
    if (!hn_os_join_words(words, line, ROOM) ||
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, line, -1, wide_line, ROOM) <= 0) {
        errno = E2BIG;
        return false;
    }
    if (!CreatePipe(&ends[0], &ends[1], NULL, 0))
        return hn_os_fail();
    const bool is_well = (SetHandleInformation(ends[0], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) || hn_os_fail()) &&
                         spawn(child, wide, wide_line, ends[0], wide_log);
    CloseHandle(ends[0]);
    if (is_well)
        child->input = (intptr_t)(uintptr_t)ends[1];
    else
        CloseHandle(ends[1]);
    return is_well;
}

bool hn_os_child_tell(hn_os_child *child, char byte)
{
    DWORD n = 0;
    return child->process && WriteFile(handle_of(child->input), &byte, 1, &n, NULL) && n == 1;
}

static void forget(hn_os_child *child)
{
    CloseHandle(handle_of(child->input));
    CloseHandle(handle_of(child->process));
    *child = (hn_os_child){ 0 };
}

bool hn_os_child_has_ended(hn_os_child *child, int *status)
{
    DWORD ended = 0;
    if (!child->process || WaitForSingleObject(handle_of(child->process), 0) != WAIT_OBJECT_0)
        return false;
    GetExitCodeProcess(handle_of(child->process), &ended);
    *status = ended < 256 ? (int)ended : 128; /* an exception, or Ctrl-C */
    forget(child);
    return true;
}

void hn_os_child_end(hn_os_child *child)
{
    if (!child->process)
        return;
    TerminateProcess(handle_of(child->process), 137);
    WaitForSingleObject(handle_of(child->process), INFINITE);
    forget(child);
}

bool hn_os_input_byte(char *byte) { return _read(0, byte, 1) == 1; }

void hn_os_give_way(void) { SetPriorityClass(GetCurrentProcess(), BELOW_NORMAL_PRIORITY_CLASS); }
