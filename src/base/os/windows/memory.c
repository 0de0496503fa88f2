/* What the system says is free; address space is also bounded by the page file, for memory is promised when it is
 * asked for. */
#include "base/os/memory.h"

#include "base/os/windows/wide.h"

#include <stdint.h>

size_t hn_memory_total(void)
{
    MEMORYSTATUSEX m = { .dwLength = sizeof m };
    return GlobalMemoryStatusEx(&m) ? (size_t)m.ullTotalPhys : SIZE_MAX;
}

hn_free_memory hn_memory_free(void)
{
    MEMORYSTATUSEX m = { .dwLength = sizeof m };
    if (!GlobalMemoryStatusEx(&m))
        return (hn_free_memory){ SIZE_MAX, SIZE_MAX };
    const uint64_t least = m.ullAvailPageFile < m.ullAvailVirtual ? m.ullAvailPageFile : m.ullAvailVirtual;
    return (hn_free_memory){ (size_t)m.ullAvailPhys, (size_t)least };
}
