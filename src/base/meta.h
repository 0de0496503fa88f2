/* meta.h: what a model file says about itself: typed values by name.
 *
 * Values lie as GGUF stores them (little endian; a string is a u64 length and its bytes), either
 * in the mapped file, where they cost nothing, or on the heap. So a tokenizer, a template or a
 * model reads the same table whatever the file's format was, and a writer copies it. */
#ifndef HN_BASE_META_H
#define HN_BASE_META_H

#include "base/file.h"

/*        enum   name   bytes (0: it varies), in GGUF's numbering */
#define HN_META_LIST(X)                                                                        \
    X(U8, u8, 1)                                                                               \
    X(I8, i8, 1)                                                                               \
    X(U16, u16, 2)                                                                             \
    X(I16, i16, 2)                                                                             \
    X(U32, u32, 4)                                                                             \
    X(I32, i32, 4)                                                                             \
    X(F32, f32, 4)                                                                             \
    X(BOOL, bool, 1)                                                                           \
    X(STRING, string, 0)                                                                       \
    X(ARRAY, array, 0)                                                                         \
    X(U64, u64, 8)                                                                             \
    X(I64, i64, 8)                                                                             \
    X(F64, f64, 8)

typedef enum hn_meta_type {
#define HN_META_ENUM(upper, lower, bytes) HN_META_##upper,
    HN_META_LIST(HN_META_ENUM)
#undef HN_META_ENUM
        HN_N_META_TYPES
} hn_meta_type;

typedef struct hn_meta_value {
    const char *key;    /* ends in NUL */
    hn_meta_type type;  /* of the value, or of each item of an array; never ARRAY */
    bool is_array;
    bool is_owned;      /* data is on the table's heap */
    uint64_t n;         /* items; 1 if no array */
    const uint8_t *data;
    size_t bytes;
    uint64_t hash; /* of the key */
} hn_meta_value;

typedef struct hn_meta {
    hn_heap *heap;
    const char *name; /* begins messages: the file's; borrowed */
    hn_meta_value *values;
    size_t n, room;
} hn_meta;

hn_meta hn_meta_on(hn_heap *heap, const char *name); /* allocates nothing */
void hn_meta_free(hn_meta *meta);                    /* and makes it empty */

const char *hn_meta_type_name(hn_meta_type type);
size_t hn_meta_type_bytes(hn_meta_type type); /* 0 of strings */

/* NULL if there is none; sets no message. */
const hn_meta_value *hn_meta_find(const hn_meta *meta, const char *key);

/* Single values. A missing key gives `otherwise` and HN_OK; another kind of value, or a number
 * out of range, is HN_ERR_FORMAT that names the key. Any integer type serves as an integer (a
 * bool does not), and any number as a double. */
hn_status hn_meta_int(const hn_meta *meta, const char *key, int64_t otherwise, int64_t *out);
hn_status hn_meta_double(const hn_meta *meta, const char *key, double otherwise, double *out);
hn_status hn_meta_bool(const hn_meta *meta, const char *key, bool otherwise, bool *out);
/* {NULL, 0} if missing. Not ended by a NUL. */
hn_status hn_meta_string(const hn_meta *meta, const char *key, hn_span *out);
/* The same, copied and ended by a NUL; NULL if missing. Free with hn_free. */
hn_status hn_meta_text(const hn_meta *meta, const char *key, char **out);

/* A missing key is HN_ERR_FORMAT too. */
hn_status hn_meta_want_int(const hn_meta *meta, const char *key, int64_t *out);
hn_status hn_meta_want_double(const hn_meta *meta, const char *key, double *out);
hn_status hn_meta_want_string(const hn_meta *meta, const char *key, hn_span *out);

/* An array whose items are of `type`; *out is NULL if the key is missing. */
hn_status hn_meta_array(const hn_meta *meta, const char *key, hn_meta_type type,
                        const hn_meta_value **out);

/* Item i < n of numbers, converted; 0 where it does not fit or is no number. */
int64_t hn_meta_item_int(const hn_meta_value *value, uint64_t i);
double hn_meta_item_double(const hn_meta_value *value, uint64_t i);

/* Strings one after the other: start with *cursor = 0, n times. Lengths were checked when the
 * table was made. */
hn_span hn_meta_next_string(const hn_meta_value *value, size_t *cursor);

/* Adds a value or replaces the one of this key. Data is copied. */
hn_status hn_meta_set_int(hn_meta *meta, const char *key, hn_meta_type type, int64_t value);
hn_status hn_meta_set_double(hn_meta *meta, const char *key, hn_meta_type type, double value);
hn_status hn_meta_set_bool(hn_meta *meta, const char *key, bool value);
hn_status hn_meta_set_text(hn_meta *meta, const char *key, const char *text);
hn_status hn_meta_set_string(hn_meta *meta, const char *key, hn_span text);
hn_status hn_meta_set_ints(hn_meta *meta, const char *key, hn_meta_type type,
                           const int64_t *items, size_t n);
hn_status hn_meta_set_doubles(hn_meta *meta, const char *key, hn_meta_type type,
                              const double *items, size_t n);
hn_status hn_meta_set_strings(hn_meta *meta, const char *key, const hn_span *items, size_t n);
hn_status hn_meta_set_copy(hn_meta *meta, const hn_meta_value *value); /* under its key */
void hn_meta_remove(hn_meta *meta, const char *key);

/* For readers. `value->data` begins the value, `room` bytes lie before the end of the file, and
 * nothing is trusted: *used is what key, type and n say it takes, if that is there. */
hn_status hn_meta_measure(const hn_meta *meta, const hn_meta_value *value, size_t room,
                          size_t *used);
/* Measures, and adds the value where it lies; HN_ERR_FORMAT if the table has the key. */
hn_status hn_meta_add_borrowed(hn_meta *meta, const hn_meta_value *value, size_t room,
                               size_t *used);

#endif
