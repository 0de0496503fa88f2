/* A program that is ended leaves no file in the making, whenever the end comes and in whatever thread: a process makes
 * file after file in two threads, and is ended by a signal or by one of its own threads after a time that is drawn. */
#include "base/os/folders.h"
#include "base/os/signals.h"
#include "base/os/threads.h"
#include "base/out_file.h"
#include "base/rng.h"
#include "tests/harness/check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_ENDS = 400, MOST_WAIT = 3000 /* us */ };

static char folder[4096], path[2][4200];
static int64_t wait_us;

static void end_by(int number)
{
    hn_out_files_remove();
    hn_os_signal_end(number);
}

static void on_signal(int number, bool is_wish)
{
    (void)is_wish;
    end_by(number);
}

/* One that cannot be made ends the process otherwise than by the signal: only because it ends anyway may that be. */
static void make_files(void *context)
{
    const char *of = context;
    for (;;) {
        hn_out_file out;
        if (hn_out_file_open(&out, hn_sink_own(of)) == HN_OK)
            hn_out_file_abandon(&out);
        else if (!strstr(hn_error_message(), strerror(EINTR)))
            _exit(1);
    }
}

static void rest(int64_t us)
{
    const struct timespec time = { 0, us * 1000 };
    nanosleep(&time, NULL);
}

static void end_itself(void *context)
{
    (void)context;
    rest(wait_us);
    end_by(SIGTERM);
}

/* Says when it begins to make files. */
static void be_ended(int say, bool by_itself)
{
    static hn_os_thread maker, ender;
    hn_os_signals_watch(on_signal);
    if (hn_os_thread_start(&maker, make_files, path[1]))
        _exit(2);
    if (by_itself && hn_os_thread_start(&ender, end_itself, NULL))
        _exit(2);
    if (write(say, "", 1) != 1)
        _exit(3);
    make_files(path[0]);
}

static bool count(void *context, const char *name)
{
    fprintf(stderr, "left: %s\n", name);
    ++*(int *)context;
    return true;
}

static void end_one(hn_rng_key key, int at, int number)
{
    int pipe_ends[2], status = 0, n_left = 0;
    char byte;
    wait_us = (int64_t)(hn_rng_below(key, (uint64_t)at, MOST_WAIT));
    CHECK(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    if (child == 0)
        be_ended(pipe_ends[1], number == 0);
    CHECK(child > 0 && read(pipe_ends[0], &byte, 1) == 1);
    if (number) {
        rest(wait_us);
        kill(child, number);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK_INT(number ? number : SIGTERM, WTERMSIG(status));
    hn_os_folder_each(folder, count, &n_left);
    CHECK_INT(0, n_left);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

int main(int argc, char **argv)
{
    static const int numbers[] = { SIGTERM, SIGPIPE, SIGHUP, 0 /* by itself */ };
    check_open(argc, argv);
    for (int i = 0; i < 3; i++) /* what a script in the background ignores would stay ignored */
        signal(numbers[i], SIG_DFL);
    snprintf(folder, sizeof folder, "%s/hone-ended-XXXXXX", hn_os_folder_for_temporary());
    CHECK(hn_os_folder_make_temporary(folder));
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s/%d", folder, i);
    for (int i = 0; i < N_ENDS; i++)
        end_one(hn_rng_seed(1), i, numbers[i % 4]);
    CHECK(hn_os_folder_remove(folder));
    return check_close();
}
