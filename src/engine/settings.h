/* settings.h: settings of runs and of data, as public structs list them: NAME=VALUE. */
#ifndef HN_ENGINE_SETTINGS_H
#define HN_ENGINE_SETTINGS_H

#include "hone/settings.h"
#include "train/run_told.h"

enum { HN_MAX_SETTINGS = 512 };

/* A list of texts of the struct and field called so: HN_ERR_ARGUMENT if there are more than `most`, or one is NULL. */
hn_status hn_take_list(const char *name, const char *const *list, int32_t n, int32_t most);

/* Those of hn_examples_setting; `told` points into them. */
hn_status hn_take_data_settings(const char *name, const char *const *settings, int32_t n, hn_run_told *told);
/* What settings of a run are for; those of other things are refused, for they would change nothing. */
typedef enum hn_settings_of {
    HN_SETTINGS_OF_RUN,      /* all but threads, which are the engine's */
    HN_SETTINGS_OF_GOAL,     /* what is minimised; they are checked when the goal is known */
    HN_SETTINGS_OF_GRADIENTS /* that, what is trained, and how gradients are computed */
} hn_settings_of;
/* Those of hn_finetune_setting, checked together; `config` points into them. */
hn_status hn_take_run_settings(const char *name, const char *const *settings, int32_t n, hn_settings_of of,
                               hn_train_config *config);

/* Texts of others, kept: copies that go together. Zeroed with a heap it is empty. */
typedef struct hn_kept {
    hn_heap *heap;
    char **at;
    size_t n, room;
} hn_kept;
/* *out is a list of copies, which lives as long as these; NULL stays NULL. */
hn_status hn_kept_list(hn_kept *kept, const char *const *list, int32_t n, const char *const **out);
hn_status hn_kept_text(hn_kept *kept, const char *text_or_null, const char **out);
void hn_kept_free(hn_kept *kept);

#endif
