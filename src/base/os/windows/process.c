/* This process and its machine, by the system's calls. */
#define _CRT_RAND_S 1
#include "base/os/process.h"

#include "base/os/windows/wide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long hn_os_process_id(void) { return (long)GetCurrentProcessId(); }

int hn_os_processors(void)
{
    const DWORD n = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return n ? (int)n : 1;
}

/* The version that the system is, not the one that it shows to programs without a manifest. */
void hn_os_machine(char *out, size_t room)
{
    typedef LONG WINAPI get_version(OSVERSIONINFOW *);
    OSVERSIONINFOW v = { .dwOSVersionInfoSize = sizeof v };
    SYSTEM_INFO info;
    get_version *get = NULL;
    const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    const FARPROC found = ntdll ? GetProcAddress(ntdll, "RtlGetVersion") : NULL;
    memcpy(&get, &found, sizeof get);
    GetNativeSystemInfo(&info);
    const char *kind = info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64   ? "x86_64"
                       : info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64 ? "aarch64"
                                                                                      : "another processor";
    if (get && get(&v) == 0)
        snprintf(out, room, "Windows %lu.%lu.%lu, %s", v.dwMajorVersion, v.dwMinorVersion, v.dwBuildNumber, kind);
    else
        snprintf(out, room, "Windows, %s", kind);
}

void hn_os_host_name(char *out, size_t room)
{
    wchar_t name[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD n = MAX_COMPUTERNAME_LENGTH + 1;
    out[0] = 0;
    if (!GetComputerNameW(name, &n) || !hn_os_narrow(name, out, room))
        out[0] = 0;
}

bool hn_os_random(uint64_t *out)
{
    unsigned high, low;
    if (rand_s(&high) || rand_s(&low))
        return false;
    *out = (uint64_t)high << 32 | low;
    return true;
}

/* Windows 11 has a call for it, which nobody has tried. */
bool hn_os_matrix_unit(bool asks)
{
    (void)asks;
    return false;
}
