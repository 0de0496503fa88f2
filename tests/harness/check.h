/* check.h: what every test runner is made of. It counts, it never stops at the first failure.
 *
 *     int main(int argc, char **argv)
 *     {
 *         check_open(argc, argv);          prints the seed; --seed N sets it
 *         CHECK(1 + 1 == 2);
 *         return check_close();            prints "N passed, N failed, N skipped"
 *     }
 *
 * Failures show file and line of the test. No check passed means failure, unless everything was
 * skipped by name. Not for use from several threads at a time. */
#ifndef TESTS_HARNESS_CHECK_H
#define TESTS_HARNESS_CHECK_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

void check_open(int argc, char **argv);
int check_close(void); /* the exit code: 0, 1, or 77 when all was skipped */

uint64_t check_seed(void);

/* Whether `--word` was given, and the argument after `--word` or NULL. */
bool check_flag(const char *word);
const char *check_option(const char *word);

void check_skip(const char *name, const char *why);

/* The group that failures are reported under; NULL for none. Copied. */
void check_group(const char *name);

bool check_that(const char *file, int line, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool check_int(const char *file, int line, const char *text, int64_t want, int64_t got);
bool check_text(const char *file, int line, const char *text, const char *want,
                const char *got);
bool check_ok(const char *file, int line, const char *text, hn_status status);
/* `status` must be `code`, and the message must contain `words`. */
bool check_fails(const char *file, int line, const char *text, hn_status status, hn_status code,
                 const char *words);

#define CHECK(condition)           check_that(__FILE__, __LINE__, (condition), "%s", #condition)
#define CHECK_THAT(condition, ...) check_that(__FILE__, __LINE__, (condition), __VA_ARGS__)
#define CHECK_INT(want, got)       check_int(__FILE__, __LINE__, #got, (want), (got))
#define CHECK_TEXT(want, got)      check_text(__FILE__, __LINE__, #got, (want), (got))
#define CHECK_OK(expr)             check_ok(__FILE__, __LINE__, #expr, (expr))
#define CHECK_FAILS(expr, code, words)                                                         \
    check_fails(__FILE__, __LINE__, #expr, (expr), (code), (words))

/* Whether a file in the making of `path` lies beside it. */
bool partial_is_left(const char *path);

#endif
