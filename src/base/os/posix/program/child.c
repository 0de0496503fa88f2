/* A child has a group of its own, so that keys pressed at the terminal do not come to it, and a line from its
 * parent as its input: when the parent ends, however that happens, the line does, and the child sees it. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "base/os/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0 /* there SO_NOSIGPIPE does it */
#endif

/* A pair of sockets, not a pipe: to write to one that nobody reads any more is an error, and no signal. */
static bool make_line(int line[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, line))
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(line[i], F_SETFD, FD_CLOEXEC);
#if defined(SO_NOSIGPIPE)
    const int on = 1;
    setsockopt(line[0], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return true;
}

/* No signal comes to the threads of this process: the child's are to hear them again. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigemptyset(&none);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error)
        error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    return error;
}

static int set_files(posix_spawn_file_actions_t *files, int input, const char *log)
{
    int error = posix_spawn_file_actions_adddup2(files, input, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, STDOUT_FILENO, STDERR_FILENO);
    return error;
}

static int spawn(pid_t *child, const char *path, const char *const *words, int input, const char *log)
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&files);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = set_signals(&attributes);
        if (!error)
            error = set_files(&files, input, log);
        if (!error)
            error = posix_spawn(child, path, &files, &attributes, (char *const *)(uintptr_t)words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool hn_os_child_start(hn_os_child *child, const char *path, const char *const *words, const char *log)
{
    int line[2];
    pid_t id;
    *child = (hn_os_child){ 0 };
    if (!make_line(line))
        return false;
    const int error = spawn(&id, path, words, line[1], log);
    close(line[1]);
    if (error) {
        close(line[0]);
        errno = error;
        return false;
    }
    *child = (hn_os_child){ id, line[0] };
    return true;
}

bool hn_os_child_tell(hn_os_child *child, char byte)
{
    return child->process && send((int)child->input, &byte, 1, MSG_NOSIGNAL) == 1;
}

static void forget(hn_os_child *child)
{
    close((int)child->input);
    *child = (hn_os_child){ 0 };
}

bool hn_os_child_has_ended(hn_os_child *child, int *status)
{
    int ended = 0;
    const pid_t found = child->process ? waitpid((pid_t)child->process, &ended, WNOHANG) : 0;
    if (!found || (found < 0 && errno == EINTR))
        return false;
    *status = found < 0 ? -1 : WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
    forget(child);
    return true;
}

void hn_os_child_end(hn_os_child *child)
{
    int ended;
    if (!child->process)
        return;
    kill((pid_t)child->process, SIGKILL);
    while (waitpid((pid_t)child->process, &ended, 0) < 0 && errno == EINTR)
        ;
    forget(child);
}

bool hn_os_input_byte(char *byte)
{
    ptrdiff_t n;
    do
        n = read(STDIN_FILENO, byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

void hn_os_give_way(void)
{
    enum { AWAY = 10 };
    setpriority(PRIO_PROCESS, 0, AWAY);
}
