/* multipart.h: a body of multipart/form-data, part by part. Nothing is copied but names: a part's bytes lie in the body.
 *
 * It is RFC 7578's form and nothing beside it: nothing before the first part, nothing but a line's end after the last, a name
 * for each part. A file's name is told and never opened. */
#ifndef HN_SERVER_MULTIPART_H
#define HN_SERVER_MULTIPART_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { HN_PART_NAME = 256, HN_PART_HEAD = 4096, HN_MULTIPART_BOUNDARY = 70 };

typedef struct hn_part {
    char name[HN_PART_NAME];
    char file[HN_PART_NAME]; /* as the sender calls it, "" if it does not; UTF-8 */
    char type[HN_PART_NAME]; /* its Content-Type, or "" */
    bool is_file;
    const char *bytes;
    size_t n;
} hn_part;

typedef struct hn_multipart {
    const char *at, *end;
    char mark[HN_MULTIPART_BOUNDARY + 5]; /* what parts lie between: CR LF - - boundary */
    size_t mark_bytes;
    int n_parts;
} hn_multipart;

/* `body` outlives it; type: the request's Content-Type. HN_ERR_FORMAT says what is wrong. */
hn_status hn_multipart_begin(hn_multipart *m, const char *type, const char *body, size_t n);
/* *is_there: false after the last. */
hn_status hn_multipart_next(hn_multipart *m, hn_part *out, bool *is_there);

#endif
