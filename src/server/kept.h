/* kept.h: what is kept of a thing: an object of JSON in a file of its own, which is there whole and on the disk, or not there.
 * Others than this user read none of it. */
#ifndef HN_SERVER_KEPT_H
#define HN_SERVER_KEPT_H

#include "base/json.h"

enum { HN_KEPT_PATH = 4096 };

/* A field of a struct that a record keeps. */
typedef struct hn_kept_field {
    const char *name;
    size_t at, room; /* room 0: an int64_t; else a text of so many bytes, with its NUL */
} hn_kept_field;

/* The fields of `of` are the whole object, but for `more`, which adds to it; NULL: nothing. */
hn_status hn_kept_write(hn_heap *heap, const char *path, const hn_kept_field *fields, size_t n, const void *of,
                          void (*more)(hn_json_writer *w, const void *of));
/* Every field must be there; what else is there is *out's to say. */
hn_status hn_kept_read(hn_heap *heap, const char *path, const hn_kept_field *fields, size_t n, void *of, hn_json_text **out);

/* A new name that nobody foretells: `prefix` and 24 digits. */
hn_status hn_kept_name(const char *prefix, char *to, size_t room);

/* A folder of this user's alone; one that is there is taken. */
hn_status hn_kept_folder(const char *path);
/* With all that is in it, as far as it goes; takes what is not there. */
void hn_kept_remove(const char *path);

#endif
