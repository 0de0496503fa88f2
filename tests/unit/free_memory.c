/* What a process may still take, read from made-up /proc and /sys trees. */
#include "base/os/memory.h"
#include "tests/harness/check.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    if (CHECK(file)) {
        fputs(text, file);
        fclose(file);
    }
}

static size_t physical(void)
{
    return hn_memory_free_under(root).physical;
}

static void groups(void)
{
    check_group("groups");
    put("proc/meminfo", "MemTotal: 24000000 kB\nMemFree: 100 kB\nMemAvailable:   20000000 kB\n");
    CHECK_INT(INT64_C(20000000) * 1024, (int64_t)physical()); /* in no group */
    put("proc/self/cgroup", "0::/user/job\n");
    CHECK_INT(INT64_C(20000000) * 1024, (int64_t)physical()); /* of a group without limits */
    put("sys/fs/cgroup/user/job/memory.max", "max\n");
    put("sys/fs/cgroup/user/job/memory.current", "5000000\n");
    CHECK_INT(INT64_C(20000000) * 1024, (int64_t)physical());
    put("sys/fs/cgroup/user/job/memory.max", "9000000\n");
    CHECK_INT(4000000, (int64_t)physical());
    put("sys/fs/cgroup/user/job/memory.stat", "anon 1\nfile 4500000\ninactive_file 1000000\nactive_file 2000000\n");
    CHECK_INT(7000000, (int64_t)physical()); /* pages of files can go */
    put("sys/fs/cgroup/user/memory.max", "6000000\n"); /* the group around it is narrower */
    put("sys/fs/cgroup/user/memory.current", "5500000\n");
    CHECK_INT(500000, (int64_t)physical());
    put("sys/fs/cgroup/user/memory.current", "6500000\n"); /* and full */
    CHECK_INT(0, (int64_t)physical());
    put("proc/self/cgroup", "5:cpu:/a\n4:memory:/old\n0::/none\n");
    put("sys/fs/cgroup/memory/old/memory.limit_in_bytes", "3000000\n");
    put("sys/fs/cgroup/memory/old/memory.usage_in_bytes", "1000000\n");
    CHECK_INT(2000000, (int64_t)physical());
}

static void address_space(void)
{
    struct rlimit before, narrow;
    check_group("address space");
    getrlimit(RLIMIT_AS, &before);
    const size_t free_now = hn_memory_free().address;
    narrow = before;
    narrow.rlim_cur = (rlim_t)1 << 46; /* beyond what sanitizers set apart */
    if (before.rlim_cur == RLIM_INFINITY && CHECK(setrlimit(RLIMIT_AS, &narrow) == 0)) {
        const size_t left = hn_memory_free().address;
        CHECK_THAT(left < (size_t)narrow.rlim_cur && left > (size_t)narrow.rlim_cur / 4, "%zu left", left);
        setrlimit(RLIMIT_AS, &before);
    }
    CHECK_INT((int64_t)(free_now == SIZE_MAX), (int64_t)(before.rlim_cur == RLIM_INFINITY));
    CHECK(hn_memory_free().physical > 0);
}

int main(int argc, char **argv)
{
    const char *dir = getenv("TMPDIR");
    check_open(argc, argv);
    snprintf(root, sizeof root, "%.40s/hone-free-XXXXXX", dir ? dir : "/tmp");
    if (CHECK(mkdtemp(root))) {
        char clean[96];
        groups();
        snprintf(clean, sizeof clean, "rm -rf '%s'", root);
        CHECK(system(clean) == 0);
    }
    address_space();
    return check_close();
}
