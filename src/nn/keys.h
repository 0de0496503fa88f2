/* keys.h: what a key of a model's files means: a row of an architecture's table.
 *
 * config.json and the metadata of GGUF are closed worlds. Every key that a reader knows stands in a
 * row: it is used, or known to change nothing (and why), or may have but some values. A key that
 * stands in none is refused by name and value; a reader cannot look at a key without its row,
 * because the row is how it asks (config.h). Defaults of absent keys are those of Transformers'
 * class, and stand in the row. */
#ifndef HN_NN_KEYS_H
#define HN_NN_KEYS_H

#include "nn/hparams.h"

/* Kinds of value that a key may have. GGUF's arrays: HN_IS_LIST and what their items are. */
enum {
    HN_IS_INT = 1 << 0,
    HN_IS_REAL = 1 << 1, /* written with a fraction or an exponent */
    HN_IS_FLAG = 1 << 2,
    HN_IS_WORD = 1 << 3,
    HN_IS_LIST = 1 << 4,
    HN_IS_OBJECT = 1 << 5,
    HN_IS_NULL = 1 << 6,
    HN_IS_NUM = HN_IS_INT | HN_IS_REAL,
    HN_IS_ANY = 127
};
#define HN_ITEMS(kinds) (HN_IS_LIST | (unsigned)(kinds) << 8)

#define HN_MUST "!" /* as `otherwise`: the key must be there */

typedef struct hn_key_row {
    const char *name;      /* in config.json, "a|b": two names for one thing; NULL: none */
    unsigned is;           /* HN_IS_... */
    int to;                /* hn_hp: the field that it goes into; 0: a reader asks for it */
    const char *otherwise; /* JSON, the value of an absent key; NULL: as null; or HN_MUST */
    double low, high;      /* of numbers, both allowed; both 0: any finite one */
    const char *only;      /* JSON, "a|b": every other value is refused */
    const char *note;      /* of a key that is not used: why; of `only`: why no other */
    const char *of;        /* how the classes begin that the row is for, "A|B"; NULL: all */
    const struct hn_key_row *const *within; /* of an object: the tables of its keys, ended by NULL */
    const char *gguf;      /* after "<arch>.", or whole where hn_key_is_whole: "a|b"; a '*' at the
                              end: all that begin so; NULL: that of the field, if any */
    const char *absent;    /* of a row without a `name`: GGUF's value of an absent key, a number,
                              or HN_MUST; NULL: as hparams.def says */
    bool is_apart;         /* of config.json alone: GGUF's key of the field has another row */
    bool is_token;         /* GGUF: the number of a token; 2^32 - 1 and -1: none */
} hn_key_row;

/* For every row of the tables, in order: nothing else knows where a table ends. */
#define HN_EACH_KEY_ROW(row, tables)                                            \
    for (const hn_key_row *const *row##_of = (tables); *row##_of; row##_of++) \
        for (const hn_key_row *row = *row##_of; row->name || row->gguf || row->to; row++)

/* What the row's key is in GGUF, or NULL. */
const char *hn_key_gguf(const hn_key_row *row);
/* Whether a key of GGUF is no architecture's: "general.", "tokenizer.", "hone." and the like. */
bool hn_key_is_whole(const char *key);

/* The row of a key; NULL: none. `tables`: ended by NULL, each ended by a row of zeros; the first
 * row that fits serves, so an architecture's own come before what it shares. `class`: the class of
 * config.json. */
const hn_key_row *hn_key_named(const hn_key_row *const *tables, const char *class, const char *name);
const hn_key_row *hn_key_of_gguf(const hn_key_row *const *tables, const char *name);

#define HN_ABOVE_0 .low = 0x1p-126, .high = 0x1p127
#define HN_FROM_1  .low = 1, .high = 0x1p127
#define HN_FROM_0  .low = 0, .high = 0x1p127

/* clang-format off */
#define HN_USED(key, kinds, field, absent, ...) \
    { .name = key, .is = (kinds), .to = HN_HP_##field, .otherwise = absent, __VA_ARGS__ }
#define HN_ASKED(key, kinds, absent, ...) \
    { .name = key, .is = (kinds), .otherwise = absent, __VA_ARGS__ }
#define HN_NEEDLESS(key, kinds, why, ...) \
    { .name = key, .is = (kinds), .note = why, __VA_ARGS__ }
#define HN_ONLY(key, kinds, values, why, ...) \
    { .name = key, .is = (kinds), .only = values, .note = why, __VA_ARGS__ }
/* clang-format on */

#endif
