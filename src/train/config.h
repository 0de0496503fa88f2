/* config.h: what a run is told (config.def). Two configurations give the same adapter if their
 * texts are the same. */
#ifndef HN_TRAIN_CONFIG_H
#define HN_TRAIN_CONFIG_H

#include "base/str.h"
#include "train/learner.h"
#include "train/schedule.h"

typedef struct hn_train_config {
#define HN_FIELD_TEXT(field) const char *field;
#define HN_FIELD_INT(field)  int64_t field;
#define HN_FIELD_REAL(field) double field;
#define HN_FIELD_FLAG(field) bool field;
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help) HN_FIELD_##kind(field)
#include "train/config.def"
#undef HN_TRAIN
} hn_train_config;

/* What the routers' balance is over. */
typedef enum hn_balance_span {
    HN_BALANCE_SEQUENCE, /* each by itself */
    HN_BALANCE_BATCH,    /* all of a step, as Transformers does */
    HN_N_BALANCE_SPANS
} hn_balance_span;
const char *hn_balance_name(hn_balance_span span);
hn_status hn_balance_parse(const char *word, hn_balance_span *out);

hn_train_config hn_train_config_default(void);

/* Sets one option by its name in config.def; `value` is kept, not copied. A flag takes true, false or,
 * for true, NULL. An option that there is none of, or a value that it cannot have, is refused. */
hn_status hn_train_config_set(hn_train_config *config, const char *name, const char *value);

/* Refuses what no run can mean, by option. */
hn_status hn_train_config_check(const hn_train_config *config);

/* A line "option = value" for each that changes the result. */
void hn_train_config_text(const hn_train_config *config, hn_str *out);
/* The same of all of them, those that came later and are the default too. */
void hn_train_config_lines(const hn_train_config *config, hn_str *out);

/* What it says, for those who compute. max_tokens and recompute_every are left to the caller. */
/* "f32" or "mixed". */
hn_status hn_train_config_numerics(const hn_train_config *config, hn_numerics *out);
hn_status hn_train_config_learner(const hn_train_config *config, hn_learner_options *out);
hn_tune_settings hn_train_config_tuning(const hn_train_config *config);
/* `steps`: of the whole run. */
hn_status hn_train_config_schedule(const hn_train_config *config, int64_t steps, hn_schedule *out);

#endif
