/* Mapping, and the handler that stands for SIGBUS while something is mapped. It passes on what is no cut of ours
 * to who stood there before it, and is taken down only if it still stands on top. */
#define _DEFAULT_SOURCE 1 /* madvise: posix_madvise's DONTNEED does nothing in glibc */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/maps.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

size_t hn_os_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }

void *hn_os_map(int file, size_t bytes)
{
    void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    return data == MAP_FAILED ? NULL : data;
}

void hn_os_unmap(void *data, size_t bytes) { munmap(data, bytes); }

void hn_os_map_drop(void *data, size_t bytes) { madvise(data, bytes, MADV_DONTNEED); }

bool hn_os_map_zeros(uintptr_t from, size_t bytes)
{
    return mmap((void *)from, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* ---- cuts ---- */

static struct sigaction before;
static bool is_installed;
static bool (*cover_by)(uintptr_t at);

static void on_bus(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    if (cover_by((uintptr_t)info->si_addr)) {
        errno = error;
        return;
    }
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else { /* the fault comes again, and ends the process as it would have */
        struct sigaction as_ever = { .sa_handler = SIG_DFL };
        sigemptyset(&as_ever.sa_mask);
        sigaction(SIGBUS, &as_ever, NULL);
    }
}

/* A host that took our place keeps it: then `before` is its to call. */
void hn_os_cuts_watch(bool (*cover)(uintptr_t at))
{
    struct sigaction own = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    if (is_installed)
        return;
    cover_by = cover;
    sigemptyset(&own.sa_mask);
    is_installed = sigaction(SIGBUS, &own, &before) == 0;
}

void hn_os_cuts_unwatch(void)
{
    struct sigaction now;
    if (!is_installed || sigaction(SIGBUS, NULL, &now) != 0 || !(now.sa_flags & SA_SIGINFO) ||
        now.sa_sigaction != on_bus)
        return;
    sigaction(SIGBUS, &before, NULL);
    is_installed = false;
}

#if defined(MADV_HUGEPAGE)
/* Whole pages of this size alone: what lies beside them may be anybody's. */
static void advise(void *block, size_t bytes, uintptr_t page, int advice)
{
    const uintptr_t at = (uintptr_t)block;
    const uintptr_t begin = (at + page - 1) / page * page, end = (at + bytes) / page * page;
    if (end > begin)
        madvise((void *)begin, end - begin, advice);
}

/* Who reads all of a large block then waits less for addresses. */
void hn_os_want_huge_pages(void *block, size_t bytes) { advise(block, bytes, (uintptr_t)1 << 21, MADV_HUGEPAGE); }

/* Who writes to it by and by then waits for what he writes. To its first and last small page: where a system gives huge ones to whoever
 * does not ask, one would lie over its end and its neighbour's. */
void hn_os_want_small_pages(void *block, size_t bytes) { advise(block, bytes, hn_os_page(), MADV_NOHUGEPAGE); }
#else
void hn_os_want_huge_pages(void *block, size_t bytes) { (void)block, (void)bytes; }

void hn_os_want_small_pages(void *block, size_t bytes) { (void)block, (void)bytes; }
#endif
