/* What a program does to its process, its folder and its variables, and libraries that it loads while it runs. */
#include "base/os/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whoever starts a program may have closed a stream: the next file that is opened would have its number, be read as what was
 * typed, or have results printed into it. What is opened in its place can be neither read nor written, and says so. */
static bool keep_streams(void)
{
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i ? O_RDONLY : O_WRONLY) != i)
            return false;
    return true;
}

bool hn_os_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return keep_streams();
}

bool hn_os_folder_enter(const char *path) { return chdir(path) == 0; }

void hn_os_default_variable(const char *name, const char *value) { setenv(name, value, 0); }

#if defined(__APPLE__)
#include <mach-o/dyld.h>

bool hn_os_program_path(char *path, size_t room)
{
    uint32_t most = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
    const bool fits = _NSGetExecutablePath(path, &most) == 0;
    if (!fits)
        errno = ENAMETOOLONG;
    return fits;
}
#else
bool hn_os_program_path(char *path, size_t room)
{
    const ssize_t n = readlink("/proc/self/exe", path, room);
    if (n >= 0 && (size_t)n < room)
        path[n] = 0;
    if (n >= 0 && (size_t)n >= room)
        errno = ENAMETOOLONG;
    return n >= 0 && (size_t)n < room;
}
#endif

int hn_os_program_run(const char *path, const char *const *words)
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    pid_t child;
    int ended = 0, error = posix_spawn_file_actions_init(&files);
    if (!error) {
        error = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        if (!error)
            error = posix_spawn(&child, path, &files, NULL, (char *const *)(uintptr_t)words, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    while (!error && waitpid(child, &ended, 0) < 0)
        error = errno == EINTR ? 0 : errno;
    errno = error;
    return error ? -1 : WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

void *hn_os_library_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

const char *hn_os_library_error(void) { return dlerror(); }

/* An object pointer of dlsym as a function pointer, as POSIX asks for it. */
bool hn_os_library_find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}
