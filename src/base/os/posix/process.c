/* This process and its machine. Random numbers and the matrix unit are asked of the system, each in its own way,
 * and where there is none the answer is no: nothing is put in its place. */
#define _GNU_SOURCE 1 /* gethostname, syscall */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__linux__)
#include <errno.h>
#include <sys/random.h>
#include <sys/syscall.h>
#endif

long hn_os_process_id(void) { return (long)getpid(); }

int hn_os_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

void hn_os_machine(char *out, size_t room)
{
    struct utsname name;
    if (uname(&name))
        snprintf(out, room, "a system not known");
    else
        snprintf(out, room, "%s %s, %s", name.sysname, name.release, name.machine);
}

void hn_os_host_name(char *out, size_t room)
{
    memset(out, 0, room);
    if (gethostname(out, room - 1) != 0)
        out[0] = 0;
}

bool hn_os_random(uint64_t *out)
{
#if defined(__linux__)
    return getrandom(out, sizeof *out, GRND_NONBLOCK) == (ssize_t)sizeof *out;
#elif defined(__APPLE__)
    arc4random_buf(out, sizeof *out);
    return true;
#else
    (void)out;
    return false;
#endif
}

#if defined(__linux__) && defined(__x86_64__)
bool hn_os_matrix_unit(bool asks)
{
    enum { ARCH_GET_XCOMP_PERM = 0x1022, ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 }; /* asm/prctl.h of Linux 5.16 */
    const int before = errno;
    uint64_t given = 0;
    bool is_given = syscall(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &given) == 0 && given >> XTILEDATA & 1;
    if (!is_given && asks)
        is_given = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
    errno = before;
    return is_given;
}
#else
bool hn_os_matrix_unit(bool asks)
{
    (void)asks;
    return false;
}
#endif
