#define _DEFAULT_SOURCE 1 /* madvise: posix_madvise's DONTNEED does nothing in glibc */
#include "base/map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static hn_status map_open(hn_map_file *out, int file, const char *path)
{
    struct stat about;
    HN_REQUIRE(fstat(file, &about) == 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    HN_REQUIRE(S_ISREG(about.st_mode), HN_ERR_IO, "%s: not a regular file", path);
    HN_REQUIRE(about.st_size >= 0 && (uintmax_t)about.st_size <= PTRDIFF_MAX, HN_ERR_IO,
               "%s: %jd bytes do not fit the address space", path, (intmax_t)about.st_size);
    if (about.st_size == 0)
        return HN_OK;
    const size_t bytes = (size_t)about.st_size;
    void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    HN_REQUIRE(data != MAP_FAILED, HN_ERR_IO, "%s: mapping %zu bytes: %s", path, bytes,
               strerror(errno));
    *out = (hn_map_file){ data, bytes };
    return HN_OK;
}

hn_status hn_map_file_open(hn_map_file *out, const char *path)
{
    *out = (hn_map_file){ NULL, 0 };
    /* A FIFO must not hold us up before it can be refused. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    const hn_status status = map_open(out, file, path);
    close(file);
    return status;
}

/* Systems map several pages around one that is touched: a window of that size goes. */
void hn_map_file_release(const hn_map_file *map, size_t at, size_t bytes)
{
    enum { WINDOW = 1 << 16 };
    if (at >= map->bytes || bytes > map->bytes - at)
        return;
    const size_t begin = at / WINDOW * WINDOW;
    const size_t end = at + bytes + WINDOW - 1 - (at + bytes + WINDOW - 1) % WINDOW;
    const size_t last = end < map->bytes ? end : map->bytes;
    madvise((void *)(uintptr_t)(map->data + begin), last - begin, MADV_DONTNEED);
}

void hn_map_release(const void *data, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)data;
    const uintptr_t begin = (at + page - 1) / page * page, end = (at + bytes) / page * page;
    if (end > begin)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void hn_map_file_close(hn_map_file *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->bytes);
    *map = (hn_map_file){ NULL, 0 };
}
