/* json.h: JSON (RFC 8259) to and from memory.
 *
 * Reading builds a tree; the text may be hostile: depth, escapes, UTF-8 and numbers are
 * checked, and a message says at which byte. Integers that fit are exact. A key given twice in
 * one object is refused. Writing appends to a string; commas and escapes are its work. */
#ifndef HN_BASE_JSON_H
#define HN_BASE_JSON_H

#include "base/str.h"

enum { HN_JSON_MAX_DEPTH = 64 };

typedef enum hn_json_kind {
    HN_JSON_NULL,
    HN_JSON_BOOL,
    HN_JSON_INT,    /* written without fraction or exponent, and within int64 */
    HN_JSON_DOUBLE, /* every other number */
    HN_JSON_STRING,
    HN_JSON_ARRAY,
    HN_JSON_OBJECT
} hn_json_kind;

typedef struct hn_json_text hn_json_text; /* a whole text, read */

typedef struct hn_json {
    hn_json_kind kind;
    int32_t key_bytes;
    const char *key; /* of a member of an object, else NULL; ends in NUL */
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct {
            double number;      /* the same as above */
            const char *source; /* its text where that has more digits than a double holds, ends in NUL; else NULL */
        } real;
        struct {
            const char *text; /* UTF-8, ends in NUL */
            size_t bytes;     /* may hold further NULs */
        } string;
        struct {
            const struct hn_json *first; /* NULL if empty */
            size_t n;
        } children;
    } as;
    const struct hn_json *next; /* in the same array or object */
} hn_json;

/* The root, which lives as long as *out. `name` begins messages: a file's, usually. */
hn_status hn_json_read(hn_heap *heap, const char *name, const char *text, size_t bytes,
                       hn_json_text **out);
/* The same for a piece of a file: a message says "line 7, column 3", counted in bytes from
 * where the piece begins. */
typedef struct hn_json_place {
    size_t line, column; /* both from 1 */
} hn_json_place;
hn_status hn_json_read_at(hn_heap *heap, const char *name, const hn_json_place *from,
                          const char *text, size_t bytes, hn_json_text **out);
const hn_json *hn_json_root(const hn_json_text *text);
void hn_json_free(hn_json_text *text); /* takes NULL */

/* NULL if `value` is no object or has no such key; takes NULL. */
const hn_json *hn_json_get(const hn_json *value, const char *key);
/* NULL past the end, or if `value` is no array. */
const hn_json *hn_json_at(const hn_json *value, size_t index);
const char *hn_json_kind_text(hn_json_kind kind);

/* What a value holds, whatever it is: of another kind, or NULL, it has no members, is "", 0 or false. The union
 * is read by base/json* alone, so that nobody takes a number for an address. */
const hn_json *hn_json_first(const hn_json *value); /* of an array or object; NULL if empty */
size_t hn_json_count(const hn_json *value);         /* of an array or object */
const char *hn_json_string(const hn_json *value);
size_t hn_json_bytes(const hn_json *value); /* of a string */
int64_t hn_json_int(const hn_json *value);
double hn_json_number(const hn_json *value); /* of an int too */
bool hn_json_is_true(const hn_json *value);
/* What a number was written as, where its double may be another one: of more than 15 digits. Else NULL. */
const char *hn_json_source(const hn_json *value);
hn_json hn_json_of_string(const char *text, size_t bytes); /* a value of one's own, over that text */

/* Values of a kind, or HN_ERR_FORMAT with `what` in the message. A double may be written as
 * int. */
hn_status hn_json_want_int(const hn_json *value, const char *what, int64_t *out);
hn_status hn_json_want_double(const hn_json *value, const char *what, double *out);
hn_status hn_json_want_bool(const hn_json *value, const char *what, bool *out);
hn_status hn_json_want_string(const hn_json *value, const char *what, const char **out);

typedef struct hn_json_writer {
    hn_str *to;
    int depth;
    uint64_t has_items; /* bit `depth`: a comma is due before the next */
    bool after_key;
} hn_json_writer;

hn_json_writer hn_json_write_to(hn_str *to);
void hn_json_begin_object(hn_json_writer *w);
void hn_json_end_object(hn_json_writer *w);
void hn_json_begin_array(hn_json_writer *w);
void hn_json_end_array(hn_json_writer *w);
void hn_json_key(hn_json_writer *w, const char *key);
void hn_json_add_string(hn_json_writer *w, const char *text); /* invalid UTF-8 becomes U+FFFD */
void hn_json_add_int(hn_json_writer *w, int64_t value);
void hn_json_add_double(hn_json_writer *w, double value); /* reads back the same; else null */
void hn_json_add_bool(hn_json_writer *w, bool value);
void hn_json_add_null(hn_json_writer *w);
/* A member: its key and its value. */
void hn_json_put_text(hn_json_writer *w, const char *key, const char *text); /* NULL: null */
void hn_json_put_bytes(hn_json_writer *w, const char *key, const char *text, size_t bytes);
void hn_json_put_int(hn_json_writer *w, const char *key, int64_t value);
void hn_json_put_double(hn_json_writer *w, const char *key, double value);
void hn_json_put_bool(hn_json_writer *w, const char *key, bool value);
/* JSON that was written before, as it stands. */
void hn_json_add_json(hn_json_writer *w, const char *text, size_t bytes);
/* A value read; arrays and objects as null. */
void hn_json_add_scalar(hn_json_writer *w, const hn_json *value);
/* A value read, with all that is in it: as deep as it was read. */
void hn_json_add_value(hn_json_writer *w, const hn_json *value);

#endif
