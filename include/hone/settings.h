/* settings.h: what a run and its data may be told, by name: "rank=8", "max-length=2048", "in-order".
 *
 * Every setting stands in a table, with its kind, its range and what it is unless it is given. hone's command line is made
 * of the same tables: a setting is an option of it, and a key of run.toml. Where settings are taken, each is a text,
 * NAME=VALUE, or NAME alone of a flag. Given again, one that may be has both values, and of others the last counts. A name
 * that is in no table, and a value that it cannot have, are refused.
 *
 * Tables are the library's: they need not be freed, and any thread may read them. */
#ifndef HONE_SETTINGS_H
#define HONE_SETTINGS_H

#include "hone/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hn_setting_kind {
    HN_SETTING_GROUP, /* none: those that follow belong together, and `help` is what they have in common */
    HN_SETTING_FLAG,
    HN_SETTING_TEXT,
    HN_SETTING_PATH,
    HN_SETTING_INT,   /* `low` to `high` */
    HN_SETTING_REAL,  /* not negative */
    HN_SETTING_TEXTS, /* may be given again */
    HN_SETTING_PATHS  /* may be given again */
} hn_setting_kind;

typedef struct hn_setting {
    hn_setting_kind kind;
    const char *name;      /* "max-length" */
    const char *value;     /* what a value is called: "N"; NULL of a flag */
    const char *otherwise; /* the value where none is given; NULL: none, or what `help` says */
    int64_t low, high;
    const char *help;
    int32_t counts;        /* 1: it changes what comes of a run; 0: where and how fast it is computed */
} hn_setting;

/* Of a run: what is trained, what is minimised, and how. NULL: past the last. */
HN_API const hn_setting *hn_finetune_setting(size_t i);
/* Of data: how examples become tokens, and which are held out. NULL: past the last. */
HN_API const hn_setting *hn_examples_setting(size_t i);

/* Refuses settings of a run that no run can mean, as a run would, before anything is opened. */
HN_API hn_status hn_finetune_check_settings(const char *const *settings, int32_t n_settings);

#ifdef __cplusplus
}
#endif
#endif
