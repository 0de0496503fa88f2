/* refuse.c: loaded before a program (LD_PRELOAD), lets one of its calls of the system fail: the N-th of a
 * kind, as HN_REFUSE=KIND:N says. At the end it writes to HN_REFUSE_REPORT how often each kind was called,
 * how many of the program's blocks and files were still there, and whether the call was reached. */
#define _GNU_SOURCE 1
#include "tests/fault/preload/refuse.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern void *__libc_calloc(size_t n, size_t bytes); /* dlsym itself wants memory */
extern void __libc_free(void *block);

static const char *const kinds[REFUSE_N_KINDS] = { REFUSE_KINDS };
enum { N_KINDS = REFUSE_N_KINDS, MOST_BLOCKS = 1 << 18 };

static atomic_llong n_calls[N_KINDS];
static long long fail_at;
static int fail_kind = -1;
static atomic_bool was_reached;
static uintptr_t program_begin, program_end;

/* Blocks of the program, found by their address. */
static _Atomic(void *) blocks[MOST_BLOCKS];

static int is_program(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        if (!program_begin || begin < program_begin)
            program_begin = begin;
        if (begin + info->dlpi_phdr[i].p_memsz > program_end)
            program_end = begin + info->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the first is the program */
}

__attribute__((constructor)) static void begin(void)
{
    const char *said = getenv("HN_REFUSE");
    dl_iterate_phdr(is_program, NULL);
    for (int i = 0; said && i < N_KINDS; i++) {
        const size_t n = strlen(kinds[i]);
        if (!strncmp(said, kinds[i], n) && said[n] == ':') {
            fail_kind = i;
            fail_at = strtoll(said + n + 1, NULL, 10);
        }
    }
}

static bool asks(const void *from) { return (uintptr_t)from >= program_begin && (uintptr_t)from < program_end; }

/* Whether this call is the one; only what the program itself calls counts. */
static bool is_refused(const void *from, const char *kind, int error)
{
    for (int i = 0; asks(from) && i < N_KINDS; i++) {
        if (strcmp(kinds[i], kind) != 0)
            continue;
        const bool is_it = atomic_fetch_add(&n_calls[i], 1) + 1 == fail_at && i == fail_kind;
        if (is_it) {
            atomic_store(&was_reached, true);
            errno = error;
        }
        return is_it;
    }
    return false;
}

#define CALLER __builtin_return_address(0)
#define NEXT(type, name, ...)             \
    static type (*real)(__VA_ARGS__);     \
    if (!real)                            \
    *(void **)&real = dlsym(RTLD_NEXT, name) /* as POSIX has it */

void *calloc(size_t n, size_t bytes)
{
    if (is_refused(CALLER, "memory", ENOMEM))
        return NULL;
    void *block = __libc_calloc(n, bytes);
    for (size_t i = (uintptr_t)block / 16; block && asks(CALLER); i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&blocks[i % MOST_BLOCKS], &none, block))
            break;
    }
    return block;
}

void free(void *block)
{
    if (block && asks(CALLER))
        for (size_t i = (uintptr_t)block / 16, n = 0; n < 4096; i++, n++) {
            void *own = block;
            if (atomic_compare_exchange_strong(&blocks[i % MOST_BLOCKS], &own, NULL))
                break;
        }
    __libc_free(block);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    NEXT(void *, "mmap64", void *, size_t, int, int, int, off_t);
    return is_refused(CALLER, "map", ENOMEM) ? MAP_FAILED : real(at, bytes, protection, flags, file, offset);
}

/* Reading and writing: a disk that is full, a disk that is broken, names that cannot be had. */
int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    NEXT(int, "open64", const char *, int, ...);
    return is_refused(CALLER, "open", EMFILE) ? -1 : real(path, flags, mode);
}

DIR *opendir(const char *path)
{
    NEXT(DIR *, "opendir", const char *);
    return is_refused(CALLER, "open", EMFILE) ? NULL : real(path);
}

int mkdir(const char *path, mode_t mode)
{
    NEXT(int, "mkdir", const char *, mode_t);
    return is_refused(CALLER, "open", ENOSPC) ? -1 : real(path, mode);
}

char *mkdtemp(char *path)
{
    NEXT(char *, "mkdtemp", char *);
    return is_refused(CALLER, "open", ENOSPC) ? NULL : real(path);
}

ssize_t write(int file, const void *data, size_t bytes)
{
    NEXT(ssize_t, "write", int, const void *, size_t);
    return is_refused(CALLER, "write", ENOSPC) ? -1 : real(file, data, bytes);
}

ssize_t pwrite64(int file, const void *data, size_t bytes, off_t at)
{
    NEXT(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    return is_refused(CALLER, "write", ENOSPC) ? -1 : real(file, data, bytes, at);
}

int ftruncate64(int file, off_t bytes)
{
    NEXT(int, "ftruncate64", int, off_t);
    return is_refused(CALLER, "write", ENOSPC) ? -1 : real(file, bytes);
}

int fsync(int file)
{
    NEXT(int, "fsync", int);
    return is_refused(CALLER, "write", EIO) ? -1 : real(file);
}

ssize_t read(int file, void *data, size_t bytes)
{
    NEXT(ssize_t, "read", int, void *, size_t);
    return is_refused(CALLER, "read", EIO) ? -1 : real(file, data, bytes);
}

ssize_t pread64(int file, void *data, size_t bytes, off_t at)
{
    NEXT(ssize_t, "pread64", int, void *, size_t, off_t);
    return is_refused(CALLER, "read", EIO) ? -1 : real(file, data, bytes, at);
}

int fstat64(int file, struct stat64 *about)
{
    NEXT(int, "fstat64", int, struct stat64 *);
    return is_refused(CALLER, "read", EIO) ? -1 : real(file, about);
}

int stat64(const char *path, struct stat64 *about)
{
    NEXT(int, "stat64", const char *, struct stat64 *);
    return is_refused(CALLER, "read", EIO) ? -1 : real(path, about);
}

int lstat64(const char *path, struct stat64 *about)
{
    NEXT(int, "lstat64", const char *, struct stat64 *);
    return is_refused(CALLER, "read", EIO) ? -1 : real(path, about);
}

int rename(const char *from, const char *to)
{
    NEXT(int, "rename", const char *, const char *);
    return is_refused(CALLER, "rename", EIO) ? -1 : real(from, to);
}

int link(const char *from, const char *to)
{
    NEXT(int, "link", const char *, const char *);
    return is_refused(CALLER, "rename", EIO) ? -1 : real(from, to);
}

long syscall(long number, ...) /* renameat2 */
{
    long a[5];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 5; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    NEXT(long, "syscall", long, ...);
    return is_refused(CALLER, "rename", EIO) ? -1 : real(number, a[0], a[1], a[2], a[3], a[4]);
}

/* What the system may refuse besides. */
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context)
{
    NEXT(int, "pthread_create", pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return is_refused(CALLER, "thread", EAGAIN) ? EAGAIN : real(thread, how, run, context);
}

int close(int file) /* closed all the same, as the system does it */
{
    NEXT(int, "close", int);
    const bool fails = is_refused(CALLER, "close", EIO);
    const int got = real(file);
    if (fails)
        errno = EIO;
    return fails ? -1 : got;
}

/* The program's own calls have ended: what follows is not counted. */
__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("HN_REFUSE_REPORT");
    int n_blocks = 0, n_files = 0;
    for (int i = 0; i < MOST_BLOCKS; i++)
        n_blocks += atomic_load(&blocks[i]) != NULL;
    for (int i = 3; i < 256; i++)
        n_files += fcntl(i, F_GETFD) >= 0;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "reached %d blocks %d files %d", (int)atomic_load(&was_reached), n_blocks, n_files);
    for (int i = 0; i < N_KINDS; i++)
        fprintf(file, " %lld", atomic_load(&n_calls[i]));
    fputc('\n', file);
    fclose(file);
}
