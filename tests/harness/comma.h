/* comma.h: a locale with a decimal comma, made on the spot: no machine that builds hone need have one
 * installed. glibc's format of LC_NUMERIC: a magic word, a count, offsets, and the fields. */
#ifndef TESTS_HARNESS_COMMA_H
#define TESTS_HARNESS_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Sets it for the process; false: this C library knows no such locales. `dir` is a folder of the
 * test's own. */
static inline bool comma_set(const char *dir)
{
    enum { N = 6 };
    static const struct {
        const char *data;
        uint32_t bytes;
    } fields[N] = { { ",", 2 },   { ".", 2 },   { "\003\003", 3 },
                    { ",\0\0\0", 4 }, { ".\0\0\0", 4 }, { "UTF-8", 6 } };
    uint8_t file[256] = { 0 };
    uint32_t head[2 + N] = { 0x20031115u ^ 1u, N }, at = sizeof head;
    for (int i = 0; i < N; i++) {
        at = (at + 3) / 4 * 4;
        head[2 + i] = at;
        memcpy(file + at, fields[i].data, fields[i].bytes);
        at += fields[i].bytes;
    }
    memcpy(file, head, sizeof head);
    char path[512];
    snprintf(path, sizeof path, "%s/comma", dir);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", dir);
    FILE *out = fopen(path, "wb");
    const bool is_written = out && fwrite(file, 1, at, out) == at;
    if (out)
        fclose(out);
    setenv("LOCPATH", dir, 1);
    return is_written && setlocale(LC_NUMERIC, "comma") &&
           !strcmp(localeconv()->decimal_point, ",");
}

#endif
