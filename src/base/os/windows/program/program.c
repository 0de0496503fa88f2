/* A command line is one text here: hn_os_join_words quotes words so that the runtime of the child takes the same
 * ones out of it. */
#include "base/os/program.h"

#include "base/os/windows/wide.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <shellapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The words as the system has them, in UTF-8; they live as long as the process. */
static char **words_of(int *n)
{
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), n);
    char **words = wide ? calloc((size_t)*n + 1, sizeof *words) : NULL;
    for (int i = 0; words && i < *n; i++) {
        const int bytes = WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, NULL, 0, NULL, NULL);
        words[i] = bytes > 0 ? malloc((size_t)bytes) : NULL;
        if (!words[i])
            return NULL;
        WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, words[i], bytes, NULL, NULL);
    }
    LocalFree(wide);
    return words;
}

bool hn_os_begin(int *argc, char ***argv)
{
    int n = 0;
    char **words = words_of(&n);
    for (int file = 0; file < 3; file++)
        _setmode(file, _O_BINARY);
    SetConsoleCP(CP_UTF8);
    SetConsoleOutputCP(CP_UTF8);
    if (!words) {
        fputs("hone: its words cannot be read\n", stderr);
        ExitProcess(2);
    }
    *argc = n;
    *argv = words;
    return true;
}

bool hn_os_folder_enter(const char *path)
{
    wchar_t wide[HN_OS_WIDE];
    return hn_os_widen(path, wide) && (SetCurrentDirectoryW(wide) || hn_os_fail());
}

void hn_os_default_variable(const char *name, const char *value)
{
    if (!getenv(name))
        _putenv_s(name, value);
}

bool hn_os_program_path(char *path, size_t room)
{
    wchar_t wide[HN_OS_WIDE];
    const DWORD n = GetModuleFileNameW(NULL, wide, HN_OS_WIDE);
    if (!n)
        return hn_os_fail();
    if (n < HN_OS_WIDE)
        return hn_os_narrow(wide, path, room);
    errno = ENAMETOOLONG;
    return false;
}

bool hn_os_join_words(const char *const *words, char *line, size_t room)
{
    size_t n = 0;
    for (; *words; words++) {
        size_t slashes = 0;
        for (const char *c = *words;; c++) {
            if (n + 2 * slashes + 8 > room)
                return false;
            if (c == *words)
                line[n++] = '"';
            slashes = *c == '\\' ? slashes + 1 : slashes;
            if (*c == '\\')
                continue;
            const size_t written = !*c ? 2 * slashes : *c == '"' ? 2 * slashes + 1 : slashes;
            memset(line + n, '\\', written);
            n += written;
            slashes = 0;
            if (!*c)
                break;
            line[n++] = *c;
        }
        line[n++] = '"';
        line[n++] = words[1] ? ' ' : 0;
    }
    return n > 0;
}

int hn_os_program_run(const char *path, const char *const *words)
{
    enum { ROOM = 32000 };
    static char line[ROOM];
    static wchar_t wide_line[ROOM];
    wchar_t wide[HN_OS_WIDE];
    SECURITY_ATTRIBUTES inherited = { .nLength = sizeof inherited, .bInheritHandle = TRUE };
    STARTUPINFOW start = { .cb = sizeof start, .dwFlags = STARTF_USESTDHANDLES };
    PROCESS_INFORMATION child;
    DWORD status = 0;
    if (!hn_os_widen(path, wide))
        return -1;
    if (!hn_os_join_words(words, line, ROOM) || MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, line, -1, wide_line, ROOM) <= 0) {
        errno = E2BIG;
        return -1;
    }
    start.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    start.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    start.hStdOutput = CreateFileW(L"NUL", GENERIC_WRITE, FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
    const bool is_begun = CreateProcessW(wide, wide_line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child);
    if (!is_begun)
        hn_os_fail();
    CloseHandle(start.hStdOutput);
    if (!is_begun)
        return -1;
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &status);
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    return status < 256 ? (int)status : 128; /* an exception, or Ctrl-C */
}

static char why[400];

void *hn_os_library_open(const char *path)
{
    wchar_t wide[HN_OS_WIDE];
    const HMODULE library = hn_os_widen(path, wide) ? LoadLibraryW(wide) : NULL;
    if (!library)
        snprintf(why, sizeof why, "%.200s: it cannot be loaded (error %lu)", path, GetLastError());
    return (void *)library;
}

const char *hn_os_library_error(void) { return why; }

bool hn_os_library_find(void *library, const char *name, void *function)
{
    const FARPROC found = GetProcAddress((HMODULE)library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}
