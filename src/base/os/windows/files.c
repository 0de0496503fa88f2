/* Files are handles of the system that others may still name and remove, as elsewhere, under the small numbers
 * of the C library. */
#include "base/os/files.h"

#include "base/ascii.h"
#include "base/os/windows/rule.h"
#include "base/os/windows/wide.h"

#include <aclapi.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <string.h>
#include <wchar.h>

_Static_assert(sizeof(size_t) >= 8, "models are files of many gigabytes, and mapped whole");

/* ---- whose they are ---- */

typedef union user_room {
    TOKEN_USER is;
    unsigned char bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
} user_room;

/* Whom this process is of; `room` holds it. */
static PSID user_of_process(user_room *room)
{
    HANDLE token;
    DWORD bytes;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
        return NULL;
    const bool is_known = GetTokenInformation(token, TokenUser, room, sizeof *room, &bytes);
    CloseHandle(token);
    return is_known ? room->is.User.Sid : NULL;
}

/* The system and its administrators may do anything anyway. */
static bool is_trusted(PSID whom, PSID own)
{
    return EqualSid(whom, own) || IsWellKnownSid(whom, WinLocalSystemSid) || IsWellKnownSid(whom, WinBuiltinAdministratorsSid);
}

/* Whether an entry lets anyone else write. What forbids is passed over, and what is of another kind believed to allow it; an
 * entry for what is made in a folder says nothing of the folder; without a list everyone may do everything. */
static bool others_write(PACL list, PSID own)
{
    const DWORD writes = FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
    void *at;
    for (DWORD i = 0; list && i < list->AceCount; i++) {
        if (!GetAce(list, i, &at))
            return true;
        const ACE_HEADER *head = at;
        ACCESS_ALLOWED_ACE *allowed = at;
        if (head->AceType == ACCESS_DENIED_ACE_TYPE || (head->AceFlags & INHERIT_ONLY_ACE))
            continue;
        if (head->AceType != ACCESS_ALLOWED_ACE_TYPE || ((allowed->Mask & writes) && !is_trusted(&allowed->SidStart, own)))
            return true;
    }
    return !list;
}

static bool is_guarded(HANDLE file)
{
    user_room user;
    PSID owner;
    PACL list;
    PSECURITY_DESCRIPTOR all;
    const PSID own = user_of_process(&user);
    if (!own || GetSecurityInfo(file, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, NULL, &list, NULL,
                                &all) != ERROR_SUCCESS)
        return false;
    const bool is_ours = owner && is_trusted(owner, own) && !others_write(list, own);
    LocalFree(all);
    return is_ours;
}

/* ---- about them ---- */

static int64_t ns_of(uint64_t hundreds) /* since 1601 */
{
    return ((int64_t)hundreds - INT64_C(116444736000000000)) * 100;
}

static bool about(HANDLE file, hn_os_file *out)
{
    BY_HANDLE_FILE_INFORMATION i;
    FILE_BASIC_INFO times;
    if (GetFileType(file) != FILE_TYPE_DISK) { /* a console or a pipe has nothing but its kind */
        *out = (hn_os_file){ .n_links = 1 };
        return true;
    }
    if (!GetFileInformationByHandle(file, &i) || !GetFileInformationByHandleEx(file, FileBasicInfo, &times, sizeof times))
        return hn_os_fail();
    const bool is_folder = (i.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    const bool is_link = (i.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
    *out = (hn_os_file){
        .is_file = !is_folder && !is_link, .is_folder = is_folder && !is_link, .is_link = is_link,
        .is_guarded = is_guarded(file),
        .device = i.dwVolumeSerialNumber, .inode = (uint64_t)i.nFileIndexHigh << 32 | i.nFileIndexLow,
        .bytes = (uint64_t)i.nFileSizeHigh << 32 | i.nFileSizeLow, .n_links = i.nNumberOfLinks,
        .modified_ns = ns_of((uint64_t)times.LastWriteTime.QuadPart),
        .changed_ns = ns_of((uint64_t)times.ChangeTime.QuadPart),
    };
    return true;
}

enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static bool about_named(const char *path, DWORD how, hn_os_file *out)
{
    wchar_t wide[HN_OS_WIDE];
    if (!hn_os_widen(path, wide))
        return false;
    const HANDLE file = CreateFileW(wide, FILE_READ_ATTRIBUTES | READ_CONTROL, SHARED, NULL, OPEN_EXISTING,
                                    FILE_FLAG_BACKUP_SEMANTICS | how, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return hn_os_fail();
    const bool is_known = about(file, out);
    CloseHandle(file);
    return is_known;
}

bool hn_os_about(const char *path, hn_os_file *out) { return about_named(path, 0, out); }

bool hn_os_about_link(const char *path, hn_os_file *out)
{
    return about_named(path, FILE_FLAG_OPEN_REPARSE_POINT, out);
}

static HANDLE handle_of(int file) { return (HANDLE)_get_osfhandle(file); }

bool hn_os_about_open(int file, hn_os_file *out) { return about(handle_of(file), out); }

bool hn_os_is_there(const char *path)
{
    hn_os_file found;
    return hn_os_about(path, &found);
}

/* ---- opened ---- */

static int open_as(const char *path, DWORD access, DWORD when, DWORD how, int flags)
{
    wchar_t wide[HN_OS_WIDE];
    if (!hn_os_widen(path, wide))
        return -1;
    const HANDLE handle = CreateFileW(wide, access, SHARED, NULL, when, FILE_FLAG_BACKUP_SEMANTICS | how, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        hn_os_fail();
        return -1;
    }
    const int file = _open_osfhandle((intptr_t)handle, flags | _O_BINARY | _O_NOINHERIT);
    if (file < 0) {
        CloseHandle(handle);
        errno = EMFILE;
    }
    return file;
}

int hn_os_open_reader(const char *path) { return open_as(path, GENERIC_READ, OPEN_EXISTING, 0, _O_RDONLY); }

int hn_os_open_reader_itself(const char *path)
{
    return open_as(path, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, _O_RDONLY);
}

int hn_os_open_new(const char *path)
{
    return open_as(path, GENERIC_READ | GENERIC_WRITE, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, _O_RDWR);
}

int hn_os_open_log(const char *path)
{
    return open_as(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS,
                   FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, _O_RDWR | _O_APPEND);
}

int hn_os_open_lock(const char *path)
{
    return open_as(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS,
                   FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, _O_RDWR);
}

bool hn_os_close(int file) { return _close(file) == 0; }

/* ---- their bytes ---- */

static unsigned piece_of(size_t bytes) { return bytes < (1u << 30) ? (unsigned)bytes : 1u << 30; }

/* A console gives letters of two bytes; those that take a pair of them are kept together. */
static ptrdiff_t read_console(HANDLE console, char *to, size_t bytes)
{
    wchar_t wide[256];
    DWORD n = 0, more = 0;
    const DWORD most = bytes / 3 < 255 ? (DWORD)(bytes / 3) : 255;
    if (!most || !ReadConsoleW(console, wide, most, &n, NULL)) {
        hn_os_fail();
        return -1;
    }
    if (n && wide[n - 1] >= 0xd800 && wide[n - 1] < 0xdc00 && ReadConsoleW(console, wide + n, 1, &more, NULL))
        n += more;
    if (n && wide[0] == 26) /* Ctrl-Z: the end, as typed here */
        return 0;
    return n ? WideCharToMultiByte(CP_UTF8, 0, wide, (int)n, to, (int)piece_of(bytes), NULL, NULL) : 0;
}

ptrdiff_t hn_os_read(int file, void *to, size_t bytes)
{
    DWORD mode;
    if (file == 0 && GetConsoleMode(handle_of(0), &mode))
        return read_console(handle_of(0), to, bytes);
    return _read(file, to, piece_of(bytes));
}

ptrdiff_t hn_os_write(int file, const void *from, size_t bytes) { return _write(file, from, piece_of(bytes)); }

static OVERLAPPED place(uint64_t at)
{
    OVERLAPPED p = { 0 };
    p.Offset = (DWORD)at;
    p.OffsetHigh = (DWORD)(at >> 32);
    return p;
}

ptrdiff_t hn_os_read_at(int file, uint64_t at, void *to, size_t bytes)
{
    OVERLAPPED p = place(at);
    DWORD n = 0;
    if (ReadFile(handle_of(file), to, piece_of(bytes), &n, &p) || GetLastError() == ERROR_HANDLE_EOF)
        return (ptrdiff_t)n;
    hn_os_fail();
    return -1;
}

ptrdiff_t hn_os_write_at(int file, uint64_t at, const void *from, size_t bytes)
{
    OVERLAPPED p = place(at);
    DWORD n = 0;
    if (WriteFile(handle_of(file), from, piece_of(bytes), &n, &p))
        return (ptrdiff_t)n;
    hn_os_fail();
    return -1;
}

bool hn_os_resize(int file, uint64_t bytes)
{
    FILE_END_OF_FILE_INFO end;
    end.EndOfFile.QuadPart = (LONGLONG)bytes;
    return SetFileInformationByHandle(handle_of(file), FileEndOfFileInfo, &end, sizeof end) || hn_os_fail();
}

bool hn_os_sync(int file) { return FlushFileBuffers(handle_of(file)) || hn_os_fail(); }

bool hn_os_room(int file, uint64_t *bytes)
{
    wchar_t path[HN_OS_WIDE];
    ULARGE_INTEGER left;
    const DWORD n = GetFinalPathNameByHandleW(handle_of(file), path, HN_OS_WIDE, 0);
    if (!n || n >= HN_OS_WIDE)
        return false;
    wchar_t *slash = wcsrchr(path, L'\\');
    if (slash)
        slash[1] = 0;
    if (!GetDiskFreeSpaceExW(path, &left, NULL, NULL))
        return false;
    *bytes = left.QuadPart;
    return true;
}

/* Locks keep others from the bytes themselves here: so it is of one far behind any. */
bool hn_os_lock(int file)
{
    OVERLAPPED p = place(UINT64_C(1) << 62);
    return LockFileEx(handle_of(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &p) || hn_os_fail();
}

/* ---- named ---- */

static bool rename_by(const char *from, const char *to, DWORD how)
{
    wchar_t a[HN_OS_WIDE], b[HN_OS_WIDE];
    return hn_os_widen(from, a) && hn_os_widen(to, b) && (MoveFileExW(a, b, how) || hn_os_fail());
}

bool hn_os_rename(const char *from, const char *to) { return rename_by(from, to, MOVEFILE_REPLACE_EXISTING); }

bool hn_os_rename_new(const char *from, const char *to) { return rename_by(from, to, 0); }

/* ---- removed: the name is free at once, whoever reads the file still ---- */

static HANDLE open_to_remove(const wchar_t *path, DWORD how)
{
    return CreateFileW(path, DELETE, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT | how, NULL);
}

/* Where the system can. */
static bool remove_as_posix(const wchar_t *path)
{
    const HANDLE file = open_to_remove(path, 0);
    FILE_DISPOSITION_INFO_EX gone = { FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS };
    if (file == INVALID_HANDLE_VALUE)
        return false;
    const bool is_gone = SetFileInformationByHandle(file, FileDispositionInfoEx, &gone, sizeof gone);
    CloseHandle(file);
    return is_gone;
}

typedef union new_name {
    FILE_RENAME_INFO is;
    unsigned char bytes[sizeof(FILE_RENAME_INFO) + sizeof(wchar_t[HN_OS_WIDE])];
} new_name;

/* By a name beside it that is free. */
static bool rename_aside(HANDLE file, const wchar_t *path)
{
    enum { MOST = 1000 }; /* as many are read at a time */
    new_name to = { .is = { .ReplaceIfExists = FALSE } };
    for (int i = 0; i < MOST; i++) {
        const int n = swprintf(to.is.FileName, HN_OS_WIDE, L"%ls.gone%d", path, i);
        if (n < 0 || n >= HN_OS_WIDE)
            return false;
        to.is.FileNameLength = (DWORD)n * sizeof(wchar_t);
        if (SetFileInformationByHandle(file, FileRenameInfo, &to, sizeof to))
            return true;
        if (GetLastError() != ERROR_ALREADY_EXISTS && GetLastError() != ERROR_FILE_EXISTS)
            return false;
    }
    return false;
}

/* Elsewhere the last who closes it removes it, and its name is taken until then: it gets another meanwhile. Where even that is
 * refused it keeps its own. */
static bool remove_when_closed(const wchar_t *path)
{
    const HANDLE file = open_to_remove(path, FILE_FLAG_DELETE_ON_CLOSE);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    rename_aside(file, path);
    CloseHandle(file);
    return true;
}

bool hn_os_remove(const char *path)
{
    wchar_t wide[HN_OS_WIDE];
    return hn_os_widen(path, wide) && (remove_as_posix(wide) || remove_when_closed(wide) || hn_os_fail());
}

/* One entry says who may do what. */
bool hn_os_own_rule(hn_os_rule *rule, DWORD inherited)
{
    user_room user;
    const PSID own = user_of_process(&user);
    return own && InitializeAcl(&rule->list.is, sizeof rule->list, ACL_REVISION) &&
           AddAccessAllowedAceEx(&rule->list.is, ACL_REVISION, inherited, FILE_ALL_ACCESS, own) &&
           InitializeSecurityDescriptor(&rule->is, SECURITY_DESCRIPTOR_REVISION) &&
           SetSecurityDescriptorDacl(&rule->is, TRUE, &rule->list.is, FALSE) &&
           SetSecurityDescriptorControl(&rule->is, SE_DACL_PROTECTED, SE_DACL_PROTECTED);
}

bool hn_os_guard(const char *path)
{
    hn_os_rule rule;
    wchar_t wide[HN_OS_WIDE];
    return hn_os_widen(path, wide) &&
           ((hn_os_own_rule(&rule, 0) &&
             SetFileSecurityW(wide, DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION, &rule.is)) ||
            hn_os_fail());
}

const char *hn_os_last_part(const char *path)
{
    const char *last = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\' || *c == ':')
            last = c + 1;
    return last;
}

bool hn_os_is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

/* Devices have names in every folder, with any ending; blanks and points at the end are dropped. */
bool hn_os_is_plain_name(const char *name)
{
    static const char *const devices[] = { "con", "prn", "aux", "nul", "conin$", "conout$" };
    const size_t n = strlen(name), stem = strcspn(name, ".");
    if (!n || strpbrk(name, "/\\:*?\"<>|") || name[n - 1] == '.' || name[n - 1] == ' ')
        return false;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (stem == strlen(devices[i]) && hn_ascii_same_n(name, devices[i], stem))
            return false;
    return !(stem == 4 && (hn_ascii_same_n(name, "com", 3) || hn_ascii_same_n(name, "lpt", 3)) && name[3] >= '0' &&
             name[3] <= '9');
}
