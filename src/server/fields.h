/* fields.h: what a request's body may say. Every API has a table, one row for each field that its clients can send:
 *
 *     HN_FIELD(name, kinds, low, high, note)      it is done; numbers lie in [low, high]
 *     HN_FIELD_NAMED(name, values, note)          it is done, and is one of these values, written as JSON
 *     HN_FIELD_NAMED_BY(name, names, note)        the same, of texts that `names` tells: NULL past the last
 *     HN_FIELD_EACH(names, kinds, low, high, note) each that `names` tells is a field, done; a '-' is written '_'
 *     HN_FIELD_HARMLESS(name, kinds, note)        it is read past: it could change nothing of an answer
 *     HN_FIELD_LABELS(name, note)                 it is read past, and told again: at most 16 texts by names of the client's own
 *     HN_FIELD_REFUSED(name, note)                it is refused by name, unless null
 *
 * What has no row is refused by name, so a client never gets an answer to something else than it asked. null is as if it were
 * not there. The rows of docs/http.md are these; unit/http_fields holds one to the other, and tries each. */
#ifndef HN_SERVER_FIELDS_H
#define HN_SERVER_FIELDS_H

#include "base/json.h"
#include "server/failure.h"

typedef enum hn_kinds { /* of JSON; may be or-ed */
    HN_IS_BOOL = 1,
    HN_IS_INT = 2,
    HN_IS_NUMBER = 4,
    HN_IS_TEXT = 8,
    HN_IS_ARRAY = 16,
    HN_IS_OBJECT = 32,
    HN_IS_ANY = 63
} hn_kinds;

typedef enum hn_use { HN_USE_DONE, HN_USE_NAMED, HN_USE_HARMLESS, HN_USE_LABELS, HN_USE_REFUSED } hn_use;

typedef const char *hn_field_names(size_t i);

typedef struct hn_field {
    const char *name; /* NULL: each of `names` */
    hn_use use;
    hn_kinds kinds;
    double low, high;   /* both 0: any */
    const char *values; /* of HN_USE_NAMED: parted by blanks */
    const char *note;
    hn_field_names *names; /* or NULL */
} hn_field;

typedef struct hn_fields {
    const char *api; /* "POST /v1/chat/completions" */
    const hn_field *of;
    size_t n;
} hn_fields;

#define HN_FIELD(name, kinds, low, high, note)  { #name, HN_USE_DONE, (hn_kinds)(kinds), low, high, NULL, note },
#define HN_FIELD_NAMED(name, values, note)      { #name, HN_USE_NAMED, HN_IS_ANY, 0, 0, values, note },
#define HN_FIELD_NAMED_BY(name, names, note)    { #name, HN_USE_NAMED, HN_IS_ANY, 0, 0, NULL, note, names },
#define HN_FIELD_EACH(names, kinds, low, high, note) { NULL, HN_USE_DONE, (hn_kinds)(kinds), low, high, NULL, note, names },
#define HN_FIELD_HARMLESS(name, kinds, note)    { #name, HN_USE_HARMLESS, (hn_kinds)(kinds), 0, 0, NULL, note },
#define HN_FIELD_LABELS(name, note)             { #name, HN_USE_LABELS, HN_IS_OBJECT, 0, 0, NULL, note },
#define HN_FIELD_REFUSED(name, note)            { #name, HN_USE_REFUSED, HN_IS_ANY, 0, 0, NULL, note },

/* Whether `body` is an object of these fields, each as its row has it, without a NUL in a name or text of it, however deep. */
bool hn_fields_check(const hn_fields *fields, const hn_json *body, hn_failure *why);
/* The same of an object within a body: `within` goes before its fields' names ("stream_options."). */
bool hn_fields_check_within(const hn_fields *fields, const char *within, const hn_json *object, hn_failure *why);

/* The way to an object within another, which goes before its fields' names: "messages[3].function." */
typedef struct hn_field_way {
    char text[64];
} hn_field_way;
hn_field_way hn_field_way_to(const char *way, const char *name);
hn_field_way hn_field_way_at(const char *way, const char *name, size_t index);
/* Whether it has a row by which it is read: it is not there, or harmless, otherwise. */
bool hn_field_is_read(const hn_fields *fields, const hn_json *v);

/* "kl_weight" of "kl-weight": what a field is called in JSON. */
typedef struct hn_field_key {
    char text[64];
} hn_field_key;
hn_field_key hn_field_key_of(const char *name);

/* A field that is one type's alone, which its row says: it is not there, or the object has that type. The table has no way to say so. */
bool hn_field_is_of(const hn_json *object, const char *within, const char *name, const char *type, hn_failure *why);

/* A field of a body that was checked; NULL: it is not there, or null. */
const hn_json *hn_field_of(const hn_json *body, const char *name);
double hn_field_number(const hn_json *body, const char *name, double otherwise);
int64_t hn_field_int(const hn_json *body, const char *name, int64_t otherwise);
bool hn_field_bool(const hn_json *body, const char *name, bool otherwise);
const char *hn_field_text(const hn_json *body, const char *name, const char *otherwise);

/* The tables, hn_fields_chat and so on: each is fields/NAME.def. */
#define HN_FIELD_TABLE(name, api) extern const hn_fields hn_fields_##name;
#include "server/field_tables.def"
#undef HN_FIELD_TABLE
/* All of them, for the page and its test; NULL past the last. */
const hn_fields *hn_fields_at(size_t i);
/* "string or array": of `kinds`, as the page has it. */
void hn_kinds_text(hn_kinds kinds, char *to, size_t room);

#endif
