/* A file that is mapped cannot be cut here: who tries is refused (ERROR_USER_MAPPED_FILE). */
#include "base/os/maps.h"

#include "base/os/windows/wide.h"

#include <io.h>

size_t hn_os_page(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void *hn_os_map(int file, size_t bytes)
{
    const HANDLE map = CreateFileMappingW((HANDLE)_get_osfhandle(file), NULL, PAGE_READONLY, 0, 0, NULL);
    void *data = map ? MapViewOfFile(map, FILE_MAP_READ, 0, 0, bytes) : NULL;
    if (!data)
        hn_os_fail();
    if (map)
        CloseHandle(map); /* the view keeps it */
    return data;
}

void hn_os_unmap(void *data, size_t bytes)
{
    (void)bytes;
    UnmapViewOfFile(data);
}

/* Pages that are unlocked without having been locked leave the working set. */
void hn_os_map_drop(void *data, size_t bytes) { VirtualUnlock(data, bytes); }

bool hn_os_map_zeros(uintptr_t from, size_t bytes)
{
    (void)from, (void)bytes;
    return false;
}

void hn_os_cuts_watch(bool (*cover)(uintptr_t at)) { (void)cover; }

void hn_os_cuts_unwatch(void) {}

/* They take a privilege here. */
void hn_os_want_huge_pages(void *block, size_t bytes) { (void)block, (void)bytes; }

void hn_os_want_small_pages(void *block, size_t bytes) { (void)block, (void)bytes; }
