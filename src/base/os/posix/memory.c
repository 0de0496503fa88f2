/* What may still be taken is the least of several: what the machine has, what each group of processes that this
 * one is in leaves (control groups of either version, up to the top one), and its own limits of address space.
 * Where /proc is not, it is the machine's whole memory. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1 /* _SC_PHYS_PAGES */
#endif
#include "base/os/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 4096, LINE = 512 };

/* The number after `name` in a file of "name number" lines; `name` NULL: the file's first. False if
 * there is none, or it is the word max. */
static bool read_number(const char *path, const char *name, size_t unit, size_t *out)
{
    char line[LINE];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        const size_t n = name ? strlen(name) : 0;
        unsigned long long value;
        if (name && (strncmp(line, name, n) || (line[n] != ' ' && line[n] != ':' && line[n] != '\t')))
            continue;
        found = sscanf(line + n + (name != NULL), "%llu", &value) == 1 && value <= SIZE_MAX / unit;
        *out = found ? (size_t)value * unit : 0;
        if (!name)
            break;
    }
    if (file)
        fclose(file);
    return found;
}

/* What the limit of one group leaves. */
static size_t left_in_group(const char *folder, const char *limit, const char *used)
{
    char path[PATH + 64];
    size_t most, now, kept;
    snprintf(path, sizeof path, "%s/%s", folder, limit);
    if (!read_number(path, NULL, 1, &most))
        return SIZE_MAX;
    snprintf(path, sizeof path, "%s/%s", folder, used);
    if (!read_number(path, NULL, 1, &now))
        now = 0;
    static const char *const of_files[] = { "inactive_file", "active_file" };
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    for (int i = 0; i < 2; i++)
        if (read_number(path, of_files[i], 1, &kept))
            now -= kept < now ? kept : now;
    return now < most ? most - now : 0;
}

/* The group and all that it lies in: the first of them without room decides. */
static size_t left_in_groups(const char *top, char *group, const char *limit, const char *used)
{
    char folder[PATH];
    size_t least = SIZE_MAX;
    for (;;) {
        snprintf(folder, sizeof folder, "%.2000s%.2000s", top, group);
        const size_t left = left_in_group(folder, limit, used);
        least = left < least ? left : least;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

static size_t left_by_groups(const char *root)
{
    char path[PATH], top[PATH], line[PATH];
    size_t least = SIZE_MAX;
    snprintf(path, sizeof path, "%.2000s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) { /* "0::/group" or "4:memory:/group" */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        size_t left = SIZE_MAX;
        if (!controllers[1]) {
            snprintf(top, sizeof top, "%.2000s/sys/fs/cgroup", root);
            left = left_in_groups(top, group, "memory.max", "memory.current");
        } else if (strstr(controllers, "memory")) {
            snprintf(top, sizeof top, "%.2000s/sys/fs/cgroup/memory", root);
            left = left_in_groups(top, group, "memory.limit_in_bytes", "memory.usage_in_bytes");
        }
        least = left < least ? left : least;
    }
    if (file)
        fclose(file);
    return least;
}

/* "size resident shared text lib data dt", in pages. */
static bool read_own(const char *root, size_t *size, size_t *data)
{
    char path[PATH], line[LINE];
    unsigned long long pages[2];
    const long page = sysconf(_SC_PAGESIZE);
    snprintf(path, sizeof path, "%.2000s/proc/self/statm", root);
    FILE *file = fopen(path, "re");
    const bool ok = file && fgets(line, sizeof line, file) &&
                    sscanf(line, "%llu %*u %*u %*u %*u %llu", &pages[0], &pages[1]) == 2 && page > 0;
    if (file)
        fclose(file);
    *size = ok ? (size_t)pages[0] * (size_t)page : 0;
    *data = ok ? (size_t)pages[1] * (size_t)page : 0;
    return ok;
}

static size_t left_of(int which, size_t used)
{
    struct rlimit limit;
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > SIZE_MAX)
        return SIZE_MAX;
    return (size_t)limit.rlim_cur > used ? (size_t)limit.rlim_cur - used : 0;
}

size_t hn_memory_total(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
}

hn_free_memory hn_memory_free_under(const char *root)
{
    char path[PATH];
    size_t available, size, data;
    snprintf(path, sizeof path, "%.2000s/proc/meminfo", root);
    if (!read_number(path, "MemAvailable", 1024, &available))
        available = hn_memory_total();
    const size_t groups = left_by_groups(root);
    hn_free_memory left = { groups < available ? groups : available, SIZE_MAX };
    if (read_own(root, &size, &data)) {
        const size_t by_size = left_of(RLIMIT_AS, size), by_data = left_of(RLIMIT_DATA, data);
        left.address = by_size < by_data ? by_size : by_data;
    }
    return left;
}

hn_free_memory hn_memory_free(void)
{
    return hn_memory_free_under("");
}
