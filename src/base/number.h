/* number.h: numbers to and from text, exactly, in no locale and in no rounding mode but nearest:
 * what one machine writes, every other reads back as the same bits. The C library's printf and
 * strtod follow the host's locale; tools/check-banned.sh keeps them out of what is read again. */
#ifndef HN_BASE_NUMBER_H
#define HN_BASE_NUMBER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { HN_NUMBER_TEXT = 32 }; /* room for any number and its NUL */

/* Bytes of the number that `text` begins with, 0 if it begins with none: [+-] digits [. digits]
 * [e [+-] digits], 0x1.8p+3 as "%a" writes, or inf. Correctly rounded; beyond double it is infinite. */
size_t hn_number_read(const char *text, size_t bytes, double *out);
/* A text that is one number, and nothing else. */
bool hn_number_parse(const char *text, double *out);

/* "8G", "512M", "1.5g": bytes. */
hn_status hn_memory_parse(const char *text, size_t *out);

/* As printf's "%.*g" in the C locale; `digits` from 1 to 17, or 0: 6, or of 15 to 17 as few
 * as read back the same.
 * Returns its length. */
size_t hn_number_write(double value, int digits, char out[HN_NUMBER_TEXT]);

#endif
