/* run_told.h: what a run is told, whole: model, data and how it is read (data_choice.def), and the
 * configuration (config.def). It is written into the run's folder as run.toml and read back from there,
 * so that a run can go on with nothing told again. */
#ifndef HN_TRAIN_RUN_TOLD_H
#define HN_TRAIN_RUN_TOLD_H

#include "train/config.h"
#include "train/data_input.h"
#include "train/run_file.h"

#define HN_RUN_TOLD "run.toml"
/* How it begins where hone wrote it. */
#define HN_RUN_TOLD_FIRST "# What this run was told. "

typedef struct hn_run_told {
    const char *model; /* NULL: nothing said which */
    const char *files[HN_MAX_DATA_FILES];
    int n_files;
    hn_data_choice choice; /* its lists are hn_run_told_choice's */
    struct {
#define HN_TOLD_TEXT(field)
#define HN_TOLD_PATH(field)
#define HN_TOLD_INT(field)
#define HN_TOLD_REAL(field)
#define HN_TOLD_FLAG(field)
#define HN_TOLD_LIST(field)  const char *field[HN_MAX_DATA_FILES];
#define HN_TOLD_PATHS(field) HN_TOLD_LIST(field)
#define HN_DATA(kind, field, option, value, low, high, help) HN_TOLD_##kind(field)
#include "train/data_choice.def"
    } lists;
    hn_train_config config;
    int64_t samples; /* of the report that the program makes; -1: not told */
} hn_run_told;

hn_run_told hn_run_told_nothing(void);

/* Sets one option by its name, or adds to its list. `value` is kept, not copied; NULL: a flag is set.
 * An option that there is none of, or a value that it cannot have, is refused. */
hn_status hn_run_told_set(hn_run_told *told, const char *option, const char *value);
/* Points into `told`. */
hn_data_choice hn_run_told_choice(const hn_run_told *told);

/* run.toml of a run's folder. HN_ERR_IO if there is no run. Close the file also after a failure. */
hn_status hn_run_told_open(hn_run_file *file, hn_heap *heap, const char *dir);
/* And what it says; `file` holds the words and must outlive *told. */
hn_status hn_run_told_read(hn_run_told *told, hn_run_file *file, hn_heap *heap, const char *dir);

/* Lines `key = value`. Model, data and how it is read: file names become absolute, for a run goes on from
 * any folder. */
hn_status hn_run_told_write_data(const char *model, const hn_data_choice *choice,
                                 const char *const *files, int n_files, hn_str *out);
/* Every option of the configuration that is not the default. */
void hn_run_told_write_config(const hn_train_config *config, hn_str *out);

bool hn_run_told_has(const char *option);
/* Whether `n` bytes at `key`, of a line that tells what a run is of, are an option's name; of a list's
 * also with a value after it. */
bool hn_run_told_names(const char *key, size_t n);

#endif
