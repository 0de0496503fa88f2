#include "tests/harness/check.h"

#include "base/os/files.h"
#include "base/os/folders.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED_ALL = 77, SHOWN_AT_MOST = 50 };

static struct {
    int argc;
    char **argv;
    uint64_t seed;
    long n_passed, n_failed, n_skipped;
    char group[128];
} run;

void check_open(int argc, char **argv)
{
    run.argc = argc;
    run.argv = argv;
    run.seed = 1;
    const char *seed = check_option("--seed");
    if (seed)
        run.seed = strtoull(seed, NULL, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("seed %" PRIu64 "\n", run.seed);
}

uint64_t check_seed(void) { return run.seed; }

bool check_flag(const char *word)
{
    for (int i = 1; i < run.argc; i++)
        if (!strcmp(run.argv[i], word))
            return true;
    return false;
}

const char *check_option(const char *word)
{
    for (int i = 1; i + 1 < run.argc; i++)
        if (!strcmp(run.argv[i], word))
            return run.argv[i + 1];
    return NULL;
}

void check_group(const char *name)
{
    snprintf(run.group, sizeof run.group, "%s", name ? name : "");
}

void check_skip(const char *name, const char *why)
{
    run.n_skipped++;
    printf("skipped %s: %s\n", name, why);
}

bool check_that(const char *file, int line, bool holds, const char *format, ...)
{
    if (holds) {
        run.n_passed++;
        return true;
    }
    if (run.n_failed++ >= SHOWN_AT_MOST)
        return false;
    printf("%s:%d: ", file, line);
    if (run.group[0])
        printf("%s: ", run.group);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    return false;
}

bool check_int(const char *file, int line, const char *text, int64_t want, int64_t got)
{
    return check_that(file, line, want == got, "%s: expected %" PRId64 ", found %" PRId64, text,
                      want, got);
}

bool check_text(const char *file, int line, const char *text, const char *want, const char *got)
{
    const bool same = want && got ? !strcmp(want, got) : want == got;
    return check_that(file, line, same, "%s: expected \"%s\", found \"%s\"", text,
                      want ? want : "(null)", got ? got : "(null)");
}

bool check_ok(const char *file, int line, const char *text, hn_status status)
{
    return check_that(file, line, status == HN_OK, "%s: %s: %s", text, hn_status_text(status),
                      hn_error_message());
}

bool check_fails(const char *file, int line, const char *text, hn_status status, hn_status code,
                 const char *words)
{
    if (status != code)
        return check_that(file, line, false, "%s: expected '%s', found '%s' (%s)", text,
                          hn_status_text(code), hn_status_text(status),
                          status == HN_OK ? "" : hn_error_message());
    return check_that(file, line, strstr(hn_error_message(), words) != NULL,
                      "%s: the message \"%s\" lacks \"%s\"", text, hn_error_message(), words);
}

int check_close(void)
{
    if (run.n_failed > SHOWN_AT_MOST)
        printf("and %ld more failures\n", run.n_failed - SHOWN_AT_MOST);
    printf("%ld passed, %ld failed, %ld skipped\n", run.n_passed, run.n_failed, run.n_skipped);
    fflush(stdout);
    if (run.n_failed)
        return 1;
    if (run.n_passed)
        return 0;
    return run.n_skipped ? SKIPPED_ALL : 1;
}

typedef struct partial_search {
    const char *begin;
    bool is_found;
} partial_search;

static bool see_partial(void *context, const char *name)
{
    partial_search *search = context;
    const size_t n = strlen(search->begin);
    search->is_found = !strncmp(name, search->begin, n) && !strncmp(name + n, ".partial-", 9);
    return !search->is_found;
}

bool partial_is_left(const char *path)
{
    char folder[4096];
    partial_search search = { .begin = hn_os_last_part(path) };
    const int n = (int)(search.begin - path);
    snprintf(folder, sizeof folder, "%.*s", n ? n : 1, n ? path : ".");
    hn_os_folder_each(folder, see_partial, &search);
    return search.is_found;
}
