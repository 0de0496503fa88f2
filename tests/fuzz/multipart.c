/* Any bytes as a form, behind a first line that is its Content-Type: refused with a sentence, or parts that lie in it one
 * behind the other, with the boundary in none of them. */
#include "base/utf8.h"
#include "server/multipart.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static void check_part(const hn_multipart *m, const hn_part *part, const char *from)
{
    if (!part->name[0] || part->bytes < from || part->bytes + part->n > m->end || m->at < part->bytes + part->n)
        abort();
    for (size_t i = 0; i + m->mark_bytes <= part->n; i++)
        if (!memcmp(part->bytes + i, m->mark, m->mark_bytes))
            abort();
    for (size_t at = 0, n; at < strlen(part->name); at += n)
        if (!(n = hn_utf8_length(part->name + at, strlen(part->name) - at)))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const uint8_t *line = bytes ? memchr(data, '\n', bytes) : NULL;
    hn_multipart m;
    hn_part part;
    bool is_there = true;
    char type[512];
    if (!line || (size_t)(line - data) >= sizeof type)
        return 0;
    memcpy(type, data, (size_t)(line - data));
    type[line - data] = 0;
    const char *body = (const char *)line + 1, *from = body;
    hn_status status = hn_multipart_begin(&m, type, body, bytes - (size_t)(line + 1 - data));
    while (status == HN_OK && is_there) {
        status = hn_multipart_next(&m, &part, &is_there);
        if (status == HN_OK && is_there) {
            check_part(&m, &part, from);
            from = part.bytes + part.n;
        }
    }
    if (status != HN_OK && !*hn_error_message())
        abort();
    return 0;
}
