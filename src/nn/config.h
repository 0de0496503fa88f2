/* config.h: config.json, read through a table of keys.
 *
 * Opening walks the file: a key without a row, a value of another kind or out of range, null where
 * the class has no None, is refused by name and value. After that a reader asks by name, and gets
 * the value, or the default that stands in the row. There is no other way to a value. */
#ifndef HN_NN_CONFIG_H
#define HN_NN_CONFIG_H

#include "base/json.h"
#include "nn/keys.h"

enum { HN_MAX_IGNORED = 64 };

/* Keys that the user wants passed over: "a", or "rope_parameters.a" within an object. */
typedef struct hn_ignored {
    int n;
    const char *at[HN_MAX_IGNORED];
} hn_ignored;

typedef struct hn_config {
    const hn_json *object;       /* whose keys are asked for; NULL: all are absent */
    const hn_key_row *const *tables;
    const char *class;           /* of the model */
    char path[80];               /* "" or "rope_parameters." */
    const hn_ignored *ignored;   /* or NULL */
} hn_config;

/* Holds every key of the object to its row. `object` and all else must outlive *out. */
hn_status hn_config_open(const hn_json *object, const hn_key_row *const *tables, const char *class,
                         const hn_ignored *ignored, hn_config *out);

/* What was asked to be passed over is taken down in what is made: hone.ignored, an array of names. */
hn_status hn_ignored_write(const hn_ignored *ignored, hn_meta *meta);
bool hn_ignored_has(const hn_meta *meta, const char *key);
bool hn_ignored_lists(const hn_ignored *ignored, const char *key); /* takes NULL */

/* What was asked to be passed over and is not there: refused. */
hn_status hn_config_check_ignored(const hn_json *root, const hn_ignored *ignored);

/* Whether the file has the key, even if it is null. */
bool hn_config_states(const hn_config *config, const char *name);

/* The file's value, NULL of null or of none; no default is looked at. */
hn_status hn_config_json(const hn_config *config, const char *name, const hn_json **out);

/* The value or its default. *is_there (may be NULL): neither is null; else *out is 0. */
hn_status hn_config_int(const hn_config *config, const char *name, int64_t *out, bool *is_there);
hn_status hn_config_num(const hn_config *config, const char *name, double *out, bool *is_there);
hn_status hn_config_flag(const hn_config *config, const char *name, bool *out);
/* NULL of null. */
hn_status hn_config_word(const hn_config *config, const char *name, const char **out);
/* An object within; all its keys are absent if it is. */
hn_status hn_config_within(const hn_config *config, const char *name, hn_config *out);

/* "config.json: rope_parameters.factor is "x"": begins what is refused. */
hn_status hn_config_refuse(const hn_config *config, const char *name, hn_status code,
                           const char *why);

#endif
