/* fread gives no bytes at the end and where it fails: ferror alone tells one from the other. */
#include "cli/input_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

hn_status hn_input_text(hn_str *to, size_t most)
{
    char part[4096];
    errno = 0;
    for (size_t n; (n = fread(part, 1, sizeof part, stdin)) > 0 && to->length <= most;)
        hn_str_add_bytes(to, part, n);
    const int why = errno;
    HN_TRY(hn_str_status(to));
    HN_REQUIRE(!ferror(stdin), HN_ERR_IO, "standard input: cannot be read: %s", strerror(why));
    HN_REQUIRE(to->length <= most, HN_ERR_FORMAT, "standard input: more than %zu bytes", most);
    return HN_OK;
}
