/* The tables of settings, which are those of src/train, and settings taken from hosts. */
#include "engine/settings.h"

#include "base/host.h"
#include "base/number.h"
#include "base/word_list.h"
#include "hone/examples.h"

#include <stdio.h>
#include <string.h>

/* ---- tables ---- */

#define HN_KIND_FLAG  HN_SETTING_FLAG
#define HN_KIND_TEXT  HN_SETTING_TEXT
#define HN_KIND_PATH  HN_SETTING_PATH
#define HN_KIND_INT   HN_SETTING_INT
#define HN_KIND_REAL  HN_SETTING_REAL
#define HN_KIND_LIST  HN_SETTING_TEXTS
#define HN_KIND_PATHS HN_SETTING_PATHS

/* Numbers as they are written there. */
#define HN_OTHERWISE_TEXT(x) x
#define HN_OTHERWISE_INT(x)  #x
#define HN_OTHERWISE_REAL(x) #x
#define HN_OTHERWISE_FLAG(x) NULL

static const hn_setting of_runs[] = {
#define HN_TRAIN_GROUP(title) { .kind = HN_SETTING_GROUP, .help = title },
#define HN_TRAIN(kind_, field, option, value_, otherwise_, low_, high_, counts_, help_)                             \
    { .kind = HN_KIND_##kind_, .name = option, .value = value_, .otherwise = HN_OTHERWISE_##kind_(otherwise_),      \
      .low = low_, .high = high_, .help = help_, .counts = (counts_) != 0 },
#include "train/config.def"
#undef HN_TRAIN
};

static const hn_setting of_data[] = {
#define HN_DATA(kind_, field, option, value_, low_, high_, help_)                                                   \
    { .kind = HN_KIND_##kind_, .name = option, .value = value_, .low = low_, .high = high_, .help = help_,          \
      .counts = 1 },
#include "train/data_choice.def"
};

const hn_setting *hn_finetune_setting(size_t i)
{
    HN_ENTER();
    return i < sizeof of_runs / sizeof *of_runs ? &of_runs[i] : NULL;
}

const hn_setting *hn_examples_setting(size_t i)
{
    HN_ENTER();
    return i < sizeof of_data / sizeof *of_data ? &of_data[i] : NULL;
}

#define HN_TAKES_HN_SINGLES  HN_EXAMPLES_SINGLE
#define HN_TAKES_HN_PAIRS    HN_EXAMPLES_PAIR
#define HN_TAKES_HN_LABELLED HN_EXAMPLES_LABELLED

static const hn_finetune_goal goals[] = {
#define HN_GOAL(name, NAME, examples, base, logits, anchor, counts, options, help) { #name, HN_TAKES_##examples, options, help },
#include "train/goals.def"
#undef HN_GOAL
};

const hn_finetune_goal *hn_finetune_goal_at(size_t i)
{
    HN_ENTER();
    return i < sizeof goals / sizeof *goals ? &goals[i] : NULL;
}

static bool is_of_goals(const hn_setting *s)
{
    bool is = false;
    for (size_t i = 0; i < sizeof goals / sizeof *goals && s->name; i++)
        is = is || hn_word_is_in(goals[i].settings, s->name);
    return is;
}

const hn_setting *hn_finetune_goal_setting(size_t i)
{
    HN_ENTER();
    for (size_t k = 0; k < sizeof of_runs / sizeof *of_runs; k++)
        if (is_of_goals(&of_runs[k]) && !i--)
            return &of_runs[k];
    return NULL;
}

/* ---- taken ---- */

hn_status hn_take_list(const char *name, const char *const *list, int32_t n, int32_t most)
{
    HN_REQUIRE(n >= 0 && n <= most && (list || !n), HN_ERR_ARGUMENT,
               "%s: expected a list of at most %d, found %d%s", name, most, n, list ? "" : " at NULL");
    for (int32_t i = 0; i < n; i++)
        HN_REQUIRE(list[i], HN_ERR_ARGUMENT, "%s[%d] is NULL", name, i);
    return HN_OK;
}

/* NAME=VALUE; *value is NULL of NAME alone. */
static hn_status cut(const char *text, char name[64], const char **value)
{
    const char *equals = strchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : strlen(text);
    HN_REQUIRE(n < 64, HN_ERR_ARGUMENT, "unknown option --%.60s", text);
    memcpy(name, text, n);
    name[n] = 0;
    *value = equals ? equals + 1 : NULL;
    return HN_OK;
}

static bool is_of_data(const char *name)
{
    for (size_t i = 0; i < sizeof of_data / sizeof *of_data; i++)
        if (!strcmp(of_data[i].name, name))
            return true;
    return false;
}

hn_status hn_take_data_settings(const char *name, const char *const *settings, int32_t n, hn_run_told *told)
{
    char key[64];
    const char *value;
    HN_TRY(hn_take_list(name, settings, n, HN_MAX_SETTINGS));
    for (int32_t i = 0; i < n; i++) {
        HN_TRY(cut(settings[i], key, &value));
        HN_REQUIRE(is_of_data(key), HN_ERR_ARGUMENT, "unknown option --%s", key);
        HN_TRY(hn_run_told_set(told, key, value));
    }
    return HN_OK;
}

/* The group of a setting of runs, counted from 1. */
static int group_of(const char *name)
{
    int group = 0;
    for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs; i++) {
        group += of_runs[i].kind == HN_SETTING_GROUP;
        if (of_runs[i].name && !strcmp(of_runs[i].name, name))
            return group;
    }
    return 0;
}

/* Names that are none are refused by what sets them. */
static hn_status check_meant(const char *name, hn_settings_of of)
{
    enum { TRAINED = 1, MINIMISED };
    static const char computing[] = "seed micro-tokens recompute plan";
    const int group = group_of(name);
    HN_REQUIRE(strcmp(name, "threads"), HN_ERR_ARGUMENT, "--threads: the engine has them: hn_engine_options.n_threads");
    if (of == HN_SETTINGS_OF_RUN || !group || group == MINIMISED)
        return HN_OK;
    HN_REQUIRE(of == HN_SETTINGS_OF_GRADIENTS, HN_ERR_ARGUMENT, "--%s: expected a setting of what is minimised", name);
    HN_REQUIRE(group == TRAINED || hn_word_is_in(computing, name), HN_ERR_ARGUMENT,
               "--%s: gradients of one batch do not depend on it", name);
    return HN_OK;
}

/* What the last of its name says; NULL: none has it. */
static const char *value_of(const char *const *settings, int32_t n, const char *name)
{
    const size_t bytes = strlen(name);
    while (n-- > 0)
        if (!strncmp(settings[n], name, bytes) && settings[n][bytes] == '=')
            return settings[n] + bytes + 1;
    return NULL;
}

/* Of a list by itself: what was told before it, by a run's folder, may be told anew. */
static hn_status check_beside(const char *const *settings, int32_t n)
{
    static const struct {
        const char *name, *instead, *why;
    } replaced[] = { { "epochs", "steps", "they say how long the run is" },
                     { "batch", "batch-tokens", "its tokens say how many examples a step has" } };
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        const char *instead = value_of(settings, n, replaced[i].instead);
        double number;
        HN_REQUIRE(!value_of(settings, n, replaced[i].name) || !instead || !hn_number_parse(instead, &number) || !(number > 0),
                   HN_ERR_ARGUMENT, "--%s beside --%s %s: %s", replaced[i].name, replaced[i].instead, instead, replaced[i].why);
    }
    return HN_OK;
}

static hn_status check_once(const char *const *settings, int32_t i, const char *name)
{
    const size_t bytes = strlen(name);
    while (i-- > 0)
        HN_REQUIRE(strncmp(settings[i], name, bytes) != 0 || (settings[i][bytes] && settings[i][bytes] != '='), HN_ERR_ARGUMENT,
                   "--%s: given twice: expected it once", name);
    return HN_OK;
}

hn_status hn_take_run_settings(const char *name, const char *const *settings, int32_t n, hn_settings_of of,
                               hn_train_config *config)
{
    char key[64];
    const char *value;
    HN_TRY(hn_take_list(name, settings, n, HN_MAX_SETTINGS));
    for (int32_t i = 0; i < n; i++) {
        HN_TRY(cut(settings[i], key, &value));
        HN_TRY(check_meant(key, of));
        HN_TRY(check_once(settings, i, key));
        HN_TRY(hn_train_config_set(config, key, value));
    }
    HN_TRY(check_beside(settings, n));
    return of == HN_SETTINGS_OF_GOAL ? HN_OK : hn_train_config_check(config);
}

hn_status hn_finetune_check_settings(const char *const *settings, int32_t n)
{
    HN_ENTER();
    hn_train_config config = hn_train_config_default();
    return hn_take_run_settings("hn_finetune_check_settings: settings", settings, n, HN_SETTINGS_OF_RUN, &config);
}

/* ---- kept ---- */

static hn_status keep(hn_kept *k, void *block)
{
    if (block && k->n == k->room) {
        const size_t room = 2 * k->room + 16;
        char **more = hn_alloc_array(k->heap, HN_TAG_TEXT, room, sizeof *more);
        if (!more) {
            hn_free(k->heap, block);
            return HN_ERR_MEMORY;
        }
        if (k->n)
            memcpy(more, k->at, k->n * sizeof *more);
        hn_free(k->heap, k->at);
        k->at = more;
        k->room = room;
    }
    if (!block)
        return HN_ERR_MEMORY;
    k->at[k->n++] = block;
    return HN_OK;
}

hn_status hn_kept_text(hn_kept *k, const char *text, const char **out)
{
    *out = NULL;
    if (!text)
        return HN_OK;
    char *copy = hn_strdup(k->heap, HN_TAG_TEXT, text);
    HN_TRY(keep(k, copy));
    *out = copy;
    return HN_OK;
}

hn_status hn_kept_list(hn_kept *k, const char *const *list, int32_t n, const char *const **out)
{
    const char **copies = hn_alloc_array(k->heap, HN_TAG_TEXT, (size_t)n + 1, sizeof *copies);
    *out = NULL;
    HN_TRY(keep(k, copies));
    for (int32_t i = 0; i < n; i++)
        HN_TRY(hn_kept_text(k, list[i], &copies[i]));
    *out = copies;
    return HN_OK;
}

void hn_kept_free(hn_kept *k)
{
    for (size_t i = 0; i < k->n; i++)
        hn_free(k->heap, k->at[i]);
    hn_free(k->heap, k->at);
    *k = (hn_kept){ .heap = k->heap };
}
