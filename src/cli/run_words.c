/* A run's file goes through the same parser as the command line: its lines become words, and what it says is
 * checked once, by the option's table. `false` and an empty array are no word at all. */
#include "cli/run_words.h"

#include "cli/machine_options.h"

#include <stdio.h>
#include <string.h>

static hn_status add_name(hn_run_words *w, const char *key)
{
    const size_t bytes = strlen(key) + 3;
    char *name = hn_alloc(w->heap, HN_TAG_TEXT, bytes);
    if (!name)
        return HN_ERR_MEMORY;
    snprintf(name, bytes, "--%s", key);
    w->names[w->n_names++] = name;
    w->at[w->n++] = name;
    return HN_OK;
}

/* A word in the place of a flag would be an operand, a flag in the place of a word would take the next one, and `false`
 * would be as if the line were not there. */
static hn_status check_value(const hn_finetune_line *line, hn_option_kind kind, bool is_repeated)
{
    const bool is_truth = line->value == HN_FINETUNE_TRUE || line->value == HN_FINETUNE_FALSE;
    const bool is_flag = kind == HN_OPTION_KIND_FLAG, is_list = kind == HN_OPTION_KIND_LIST;
    HN_REQUIRE(!is_repeated || is_list, HN_ERR_ARGUMENT, "line %d: %s: expected one value, found several", line->line,
               line->key);
    HN_REQUIRE(line->value != HN_FINETUNE_NONE || is_list, HN_ERR_ARGUMENT,
               "line %d: %s: expected a value, found an empty array", line->line, line->key);
    HN_REQUIRE(!is_flag || is_truth, HN_ERR_ARGUMENT, "line %d: %s: expected true or false, found '%.60s'", line->line,
               line->key, line->text);
    HN_REQUIRE(is_flag || !is_truth, HN_ERR_ARGUMENT, "line %d: %s: expected a number or a text in quotes, found %s",
               line->line, line->key, line->value == HN_FINETUNE_TRUE ? "true" : "false");
    return HN_OK;
}

static hn_status add_line(hn_run_words *w, const hn_command *command, const hn_finetune_line *line, bool is_repeated)
{
    hn_option option = { .kind = HN_OPTION_KIND_TEXT };
    const bool is_operand = !strcmp(line->key, command->run_file_operand);
    HN_REQUIRE(is_operand || hn_options_find(command, line->key, &option), HN_ERR_ARGUMENT,
               "line %d: unknown option --%.60s", line->line, line->key);
    HN_TRY(check_value(line, option.kind, is_repeated));
    if (line->value == HN_FINETUNE_FALSE || line->value == HN_FINETUNE_NONE)
        return HN_OK; /* as if it were not there */
    if (!is_operand)
        HN_TRY(add_name(w, line->key));
    if (line->value == HN_FINETUNE_TEXT)
        w->at[w->n++] = (char *)(uintptr_t)line->text;
    return HN_OK;
}

hn_status hn_run_words_open(hn_run_words *w, const char *path, bool is_folder)
{
    HN_TRY(hn_machine_engine(&(hn_machine_args){ .threads = 1 }, &w->engine));
    return is_folder ? hn_finetune_file_of_run(&w->file, w->engine, path)
                     : hn_finetune_file_open(&w->file, w->engine, path);
}

hn_status hn_run_words_make(hn_run_words *w, const hn_command *command)
{
    const hn_finetune_line *line, *before = NULL;
    for (size_t i = 0; (line = hn_finetune_file_line(w->file, i)); i++, before = line) {
        HN_REQUIRE(i < HN_MOST_RUN_LINES, HN_ERR_FORMAT, "line %d: expected at most %d values", line->line,
                   HN_MOST_RUN_LINES);
        HN_TRY(add_line(w, command, line, before && !strcmp(before->key, line->key)));
    }
    return HN_OK;
}

void hn_run_words_close(hn_run_words *w)
{
    for (int i = 0; i < w->n_names; i++)
        hn_free(w->heap, w->names[i]);
    hn_finetune_file_close(w->file);
    hn_engine_free(w->engine);
    *w = (hn_run_words){ .heap = w->heap };
}
