/* config.def and data_choice.def have every option once, and are included to set an option by its name, to know
 * whether there is one, to write it, and to point at lists. What is written and read again sets the same:
 *
 *     strings     escaped as run_file.c reads them        numbers    the fewest digits that read back the same
 *     defaults    left out, as what was not given         flags      none is true by default: false is not there
 *     files       absolute when written, as the run goes on from any folder; the built-in model has no folder
 *
 * hn_run_told is copied as a value. Its lists lie in it, so pointers to them are made when they are asked for
 * (hn_run_told_choice), and not kept. The words are not copied: they are the command line's, or the file's, and
 * outlive it. */
#include "train/run_told.h"

#include "base/embedded.h"
#include "base/number.h"
#include "base/option_value.h"
#include "base/os/files.h"
#include "base/os/folders.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- by name ---- */

hn_run_told hn_run_told_nothing(void)
{
    return (hn_run_told){ .config = hn_train_config_default(), .samples = -1 };
}

static hn_status set_text(const char *name, const char *value, const char **out)
{
    HN_REQUIRE(value, HN_ERR_ARGUMENT, "--%s: expected a value", name);
    *out = value;
    return HN_OK;
}

static hn_status set_int(const char *name, const char *value, int64_t low, int64_t high, int64_t *out)
{
    HN_REQUIRE(value, HN_ERR_ARGUMENT, "--%s: expected a value", name);
    return hn_option_int(name, value, low, high, out);
}

static hn_status set_real(const char *name, const char *value, double *out)
{
    HN_REQUIRE(value, HN_ERR_ARGUMENT, "--%s: expected a value", name);
    return hn_option_real(name, value, out);
}

static hn_status set_flag(const char *name, const char *value, bool *out)
{
    HN_REQUIRE(!value, HN_ERR_ARGUMENT, "--%s takes no value", name);
    *out = true;
    return HN_OK;
}

static hn_status add_value(const char *name, const char *value, const char **list, int *n)
{
    HN_REQUIRE(value, HN_ERR_ARGUMENT, "--%s: expected a value", name);
    HN_REQUIRE(*n < HN_MAX_DATA_FILES, HN_ERR_ARGUMENT, "--%s: given more than %d times", name,
               HN_MAX_DATA_FILES);
    list[(*n)++] = value;
    return HN_OK;
}

hn_status hn_run_told_set(hn_run_told *t, const char *name, const char *value)
{
    if (!strcmp(name, "model"))
        return set_text(name, value, &t->model);
    if (!strcmp(name, "data"))
        return add_value(name, value, t->files, &t->n_files);
    if (!strcmp(name, "samples"))
        return set_int(name, value, 0, 64, &t->samples);
#define HN_SET_TEXT(field, option, low, high)  set_text(option, value, &t->choice.field)
#define HN_SET_PATH(field, option, low, high)  set_text(option, value, &t->choice.field)
#define HN_SET_INT(field, option, low, high)   set_int(option, value, low, high, &t->choice.field)
#define HN_SET_REAL(field, option, low, high)  set_real(option, value, &t->choice.field)
#define HN_SET_FLAG(field, option, low, high)  set_flag(option, value, &t->choice.field)
#define HN_SET_LIST(field, option, low, high)  add_value(option, value, t->lists.field, &t->choice.n_##field)
#define HN_SET_PATHS(field, option, low, high) HN_SET_LIST(field, option, low, high)
#define HN_DATA(kind, field, option, word, low, high, help)                                    \
    if (!strcmp(name, option))                                                                 \
        return HN_SET_##kind(field, option, low, high);
#include "train/data_choice.def"
    return hn_train_config_set(&t->config, name, value);
}

hn_data_choice hn_run_told_choice(const hn_run_told *t)
{
    hn_data_choice choice = t->choice;
#define HN_POINT_TEXT(field)
#define HN_POINT_PATH(field)
#define HN_POINT_INT(field)
#define HN_POINT_REAL(field)
#define HN_POINT_FLAG(field)
#define HN_POINT_LIST(field)  choice.field = t->lists.field;
#define HN_POINT_PATHS(field) HN_POINT_LIST(field)
#define HN_DATA(kind, field, option, word, low, high, help) HN_POINT_##kind(field)
#include "train/data_choice.def"
    return choice;
}

static bool is_word(const char *text, const char *key, size_t n)
{
    return strlen(text) == n && !memcmp(text, key, n);
}

/* With its value behind it, as "set KEY=JSON". */
static bool begins(const char *text, const char *key, size_t n)
{
    const size_t length = strlen(text);
    return n > length && key[length] == ' ' && !memcmp(text, key, length);
}

bool hn_run_told_names(const char *key, size_t n)
{
#define HN_BEGINS_TEXT(option)  false
#define HN_BEGINS_PATH(option)  false
#define HN_BEGINS_INT(option)   false
#define HN_BEGINS_REAL(option)  false
#define HN_BEGINS_FLAG(option)  false
#define HN_BEGINS_LIST(option)  begins(option, key, n)
#define HN_BEGINS_PATHS(option) begins(option, key, n)
#define HN_DATA(kind, field, option, word, low, high, help)                                    \
    if (is_word(option, key, n) || HN_BEGINS_##kind(option))                                   \
        return true;
#include "train/data_choice.def"
#define HN_TRAIN(kind, field, option, word, otherwise, low, high, counts, help)                 \
    if (is_word(option, key, n))                                                               \
        return true;
#include "train/config.def"
#undef HN_TRAIN
    return is_word("model", key, n) || is_word("data", key, n) || begins("data", key, n) ||
           is_word("samples", key, n);
}

bool hn_run_told_has(const char *option)
{
    return !strchr(option, ' ') && hn_run_told_names(option, strlen(option));
}

typedef enum option_kind { ONE_VALUE, FLAG, MANY_VALUES } option_kind;

static option_kind kind_of(const char *name)
{
#define HN_KIND_TEXT  ONE_VALUE
#define HN_KIND_PATH  ONE_VALUE
#define HN_KIND_INT   ONE_VALUE
#define HN_KIND_REAL  ONE_VALUE
#define HN_KIND_FLAG  FLAG
#define HN_KIND_LIST  MANY_VALUES
#define HN_KIND_PATHS MANY_VALUES
#define HN_DATA(kind, field, option, word, low, high, help)                                    \
    if (!strcmp(name, option))                                                                 \
        return HN_KIND_##kind;
#include "train/data_choice.def"
#define HN_TRAIN(kind, field, option, word, otherwise, low, high, counts, help)                 \
    if (!strcmp(name, option))                                                                 \
        return HN_KIND_##kind;
#include "train/config.def"
#undef HN_TRAIN
    return !strcmp(name, "data") ? MANY_VALUES : ONE_VALUE;
}

/* ---- from a folder ---- */

/* Only a flag is false, only a list is empty, and only of a list is there a second value: elsewhere a line that says
 * nothing would pass for one that is kept. */
static hn_status check_line(const hn_run_line *line, bool is_repeated)
{
    const option_kind kind = kind_of(line->key);
    HN_REQUIRE((line->kind != HN_RUN_LINE_FALSE || kind == FLAG) && (line->kind != HN_RUN_LINE_NONE || kind == MANY_VALUES) &&
                   (!is_repeated || kind == MANY_VALUES),
               HN_ERR_FORMAT, "--%s: expected %s, found %s", line->key,
               kind == FLAG ? "true or false" : kind == ONE_VALUE ? "a value" : "texts in quotes",
               is_repeated ? "several" : line->kind == HN_RUN_LINE_FALSE ? "false" : "an empty array");
    return HN_OK;
}

static hn_status set_line(hn_run_told *t, const hn_run_line *line, bool is_repeated, const char *dir)
{
    HN_REQUIRE(hn_run_told_has(line->key), HN_ERR_FORMAT,
               "%s/" HN_RUN_TOLD ": line %d: unknown option --%.60s", dir, line->at, line->key);
    const hn_status fits = check_line(line, is_repeated);
    if (fits != HN_OK)
        return hn_fail_within(fits, "%s/" HN_RUN_TOLD ": line %d: ", dir, line->at);
    if (line->kind == HN_RUN_LINE_FALSE || line->kind == HN_RUN_LINE_NONE)
        return HN_OK; /* as if it were not there */
    const hn_status status = hn_run_told_set(t, line->key, line->text);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s/" HN_RUN_TOLD ": line %d: ", dir, line->at);
}

hn_status hn_run_told_open(hn_run_file *file, hn_heap *heap, const char *dir)
{
    char path[4096];
    *file = (hn_run_file){ .heap = heap };
    HN_REQUIRE(snprintf(path, sizeof path, "%s/" HN_RUN_TOLD, dir) < (int)sizeof path, HN_ERR_ARGUMENT,
               "%.60s...: too long a name", dir);
    HN_REQUIRE(hn_os_is_there(path), HN_ERR_IO, "%s: no run to go on with: expected what it was told in %s",
               dir, path);
    return hn_run_file_read(file, heap, path);
}

hn_status hn_run_told_read(hn_run_told *t, hn_run_file *file, hn_heap *heap, const char *dir)
{
    *t = hn_run_told_nothing();
    HN_TRY(hn_run_told_open(file, heap, dir));
    for (int i = 0; i < file->n; i++)
        HN_TRY(set_line(t, &file->lines[i], i > 0 && !strcmp(file->lines[i].key, file->lines[i - 1].key), dir));
    HN_REQUIRE(t->model, HN_ERR_FORMAT, "%s/" HN_RUN_TOLD ": key model is missing", dir);
    return HN_OK;
}

/* ---- as lines ---- */

static void add_string(hn_str *out, const char *text)
{
    static const char from[] = "\b\t\n\f\r\"\\", to[] = "btnfr\"\\";
    hn_str_add_char(out, '"');
    for (; *text; text++) {
        const char *which = strchr(from, *text);
        if (which)
            hn_str_add_char(out, '\\');
        hn_str_add_char(out, which ? to[which - from] : *text);
    }
    hn_str_add_char(out, '"');
}

static hn_status add_path(hn_str *out, const char *path)
{
    char full[8192], folder[4096];
    if (hn_os_is_absolute(path) || hn_is_embedded(path)) {
        add_string(out, path);
        return HN_OK;
    }
    HN_REQUIRE(hn_os_folder_here(folder, sizeof folder), HN_ERR_IO, "the working folder: %s", strerror(errno));
    const size_t n = strlen(folder), m = strlen(path);
    HN_REQUIRE(n + m + 2 < sizeof full, HN_ERR_ARGUMENT, "%s: too long a name", path);
    memcpy(full, folder, n);
    full[n] = '/';
    memcpy(full + n + 1, path, m + 1);
    add_string(out, full);
    return HN_OK;
}

static hn_status add_list(hn_str *out, const char *key, const char *const *list, int n, bool of_paths)
{
    if (n)
        hn_str_print(out, "%s = [", key);
    for (int i = 0; i < n; i++) {
        hn_str_add(out, i ? ", " : "");
        if (of_paths)
            HN_TRY(add_path(out, list[i]));
        else
            add_string(out, list[i]);
    }
    hn_str_add(out, n ? "]\n" : "");
    return HN_OK;
}

static void add_text(hn_str *out, const char *key, const char *value)
{
    if (!value)
        return;
    hn_str_print(out, "%s = ", key);
    add_string(out, value);
    hn_str_add_char(out, '\n');
}

/* As few digits as read back the same. */
static void add_real(hn_str *out, const char *key, double value)
{
    char text[HN_NUMBER_TEXT];
    hn_number_write(value, 0, text);
    hn_str_print(out, "%s = %s\n", key, text);
}

static void add_int(hn_str *out, const char *key, int64_t value)
{
    hn_str_print(out, "%s = %lld\n", key, (long long)value);
}

static hn_status add_path_line(hn_str *out, const char *key, const char *path)
{
    if (!path)
        return HN_OK;
    hn_str_print(out, "%s = ", key);
    HN_TRY(add_path(out, path));
    hn_str_add_char(out, '\n');
    return HN_OK;
}

static void add_flag(hn_str *out, const char *key)
{
    hn_str_print(out, "%s = true\n", key);
}

hn_status hn_run_told_write_data(const char *model, const hn_data_choice *c,
                                 const char *const *files, int n_files, hn_str *out)
{
    HN_TRY(add_path_line(out, "model", model));
    HN_TRY(add_list(out, "data", files, n_files, true));
#define HN_WRITE_TEXT(field, option)  add_text(out, option, c->field);
#define HN_WRITE_PATH(field, option)  HN_TRY(add_path_line(out, option, c->field));
#define HN_WRITE_INT(field, option)   if (c->field) add_int(out, option, c->field);
#define HN_WRITE_REAL(field, option)  if (c->field > 0) add_real(out, option, c->field);
#define HN_WRITE_FLAG(field, option)  if (c->field) add_flag(out, option);
#define HN_WRITE_LIST(field, option)  HN_TRY(add_list(out, option, c->field, c->n_##field, false));
#define HN_WRITE_PATHS(field, option) HN_TRY(add_list(out, option, c->field, c->n_##field, true));
#define HN_DATA(kind, field, option, word, low, high, help) HN_WRITE_##kind(field, option)
#include "train/data_choice.def"
    return hn_str_status(out);
}

void hn_run_told_write_config(const hn_train_config *c, hn_str *out)
{
    const hn_train_config usual = hn_train_config_default();
#define HN_TELL_TEXT(option, x, y)                                                             \
    if ((x) && (!(y) || strcmp((x), (y)) != 0))                                                \
        add_text(out, option, (x));
#define HN_TELL_INT(option, x, y)                                                              \
    if ((x) != (y))                                                                            \
        hn_str_print(out, "%s = %lld\n", option, (long long)(x));
#define HN_TELL_REAL(option, x, y)                                                             \
    if ((x) < (y) || (x) > (y))                                                                \
        add_real(out, option, (x));
#define HN_TELL_FLAG(option, x, y)                                                             \
    if ((x) != (y))                                                                            \
        hn_str_print(out, "%s = %s\n", option, (x) ? "true" : "false");
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help)                \
    HN_TELL_##kind(option, c->field, usual.field)
#include "train/config.def"
#undef HN_TRAIN
}
