/* seal.h: a SHA-256 that a file has of itself: of all its bytes, header and padding too, with the 64
 * digits of the digest taken for zeros. Whoever writes a file of tensors puts HN_SEAL_BLANK in some
 * key's value, and the writer fills it in. */
#ifndef HN_IO_SEAL_H
#define HN_IO_SEAL_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define HN_SEAL_BLANK "0000000000000000000000000000000000000000000000000000000000000000"

/* HN_ERR_FORMAT if the file is not what was sealed. `digits`: what it says, 64 of them. */
hn_status hn_seal_check(const void *file, size_t bytes, const char *digits);

/* Where 64 bytes lie in a file; SIZE_MAX: nowhere, or in more than one place. */
size_t hn_seal_find(const void *file, size_t bytes, const char *digits);

#endif
