/* Names are UTF-8 outside and UTF-16 here. A private folder, and what is made in it, is this user's by its access list. */
#include "base/os/folders.h"

#include "base/os/process.h"
#include "base/os/windows/rule.h"
#include "base/os/windows/wide.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

bool hn_os_folder_each(const char *path, hn_os_visit *visit, void *context)
{
    char pattern[HN_OS_WIDE], name[3 * MAX_PATH + 1];
    wchar_t wide[HN_OS_WIDE];
    WIN32_FIND_DATAW found;
    if (snprintf(pattern, sizeof pattern, "%s/*", path) >= (int)sizeof pattern) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (!hn_os_widen(pattern, wide))
        return false;
    const HANDLE search = FindFirstFileW(wide, &found);
    if (search == INVALID_HANDLE_VALUE)
        return hn_os_fail();
    bool goes_on = true;
    do {
        if (hn_os_narrow(found.cFileName, name, sizeof name) && strcmp(name, ".") && strcmp(name, ".."))
            goes_on = visit(context, name);
    } while (goes_on && FindNextFileW(search, &found));
    FindClose(search);
    return true;
}

bool hn_os_folder_make(const char *path, bool is_private)
{
    hn_os_rule rule;
    SECURITY_ATTRIBUTES own = { .nLength = sizeof own, .lpSecurityDescriptor = &rule.is };
    wchar_t wide[HN_OS_WIDE];
    return hn_os_widen(path, wide) && (((!is_private || hn_os_own_rule(&rule, OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE)) &&
                                        CreateDirectoryW(wide, is_private ? &own : NULL)) || hn_os_fail());
}

bool hn_os_folder_make_temporary(char *path)
{
    enum { LETTERS = 6, TRIES = 100 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    const size_t n = strlen(path);
    uint64_t drawn;
    for (int i = 0; i < TRIES && n >= LETTERS && hn_os_random(&drawn); i++) {
        for (size_t j = 0; j < LETTERS; j++, drawn >>= 5)
            path[n - LETTERS + j] = letters[drawn & 31];
        if (hn_os_folder_make(path, true))
            return true;
        if (errno != EEXIST)
            return false;
    }
    errno = n < LETTERS ? EINVAL : EEXIST;
    return false;
}

bool hn_os_folder_remove(const char *path)
{
    wchar_t wide[HN_OS_WIDE];
    return hn_os_widen(path, wide) && (RemoveDirectoryW(wide) || hn_os_fail());
}

void hn_os_folder_sync(const char *path) { (void)path; } /* names are durable with their files */

bool hn_os_folder_here(char *path, size_t room)
{
    wchar_t wide[HN_OS_WIDE];
    const DWORD n = GetCurrentDirectoryW(HN_OS_WIDE, wide);
    if (n && n < HN_OS_WIDE)
        return hn_os_narrow(wide, path, room);
    errno = ENAMETOOLONG;
    return false;
}

const char *hn_os_folder_for_temporary(void)
{
    static char path[HN_OS_WIDE];
    wchar_t wide[HN_OS_WIDE];
    const DWORD n = GetTempPathW(HN_OS_WIDE, wide);
    if (!n || n >= HN_OS_WIDE || !hn_os_narrow(wide, path, sizeof path))
        return ".";
    const size_t end = strlen(path);
    if (end && (path[end - 1] == '\\' || path[end - 1] == '/'))
        path[end - 1] = 0;
    return path;
}

/* Nothing is kept that can be made again. */
bool hn_os_folder_for_caches(char *path, size_t room)
{
    (void)path, (void)room;
    return false;
}
