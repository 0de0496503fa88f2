/* meta_keys.h: the metadata of a GGUF file, held to an architecture's table of keys.
 *
 * Every key must have a row; a value of another kind, out of range, an array of another length, or
 * the number of a token that there is none of, is refused by name and value; so is what must be
 * there and is not. Only after that the rows' fields are read (hparams.h). */
#ifndef HN_NN_META_KEYS_H
#define HN_NN_META_KEYS_H

#include "base/meta.h"
#include "nn/keys.h"

struct hn_ignored;

/* `ignored` (or NULL): keys that are passed over; one that is not in the file, or that is used, is
 * HN_ERR_ARGUMENT. */
hn_status hn_meta_check_keys(const hn_meta *meta, const char *arch,
                             const hn_key_row *const *tables, const struct hn_ignored *ignored);

/* The field's row, or NULL: another row of the same key is none. */
const hn_key_row *hn_key_of_field(const hn_key_row *const *tables, hn_hp which);

/* What the field may be and, if its key is missing, is (NULL: its file decides; or HN_MUST). `row`
 * may be NULL. */
typedef struct hn_field_range {
    double low, high;
    const char *absent;
} hn_field_range;
hn_field_range hn_field_range_of(hn_hp which, const hn_key_row *row);

/* Whether a number may be written or read as the field. */
hn_status hn_field_check(const char *name, const char *key, double value, hn_field_range range);

#endif
