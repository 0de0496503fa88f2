#include "cli/run_words.h"

#include <stdio.h>
#include <string.h>

static hn_status add_name(hn_run_words *w, const char *key)
{
    const size_t bytes = strlen(key) + 3;
    char *name = hn_alloc(w->file.heap, HN_TAG_TEXT, bytes);
    if (!name)
        return HN_ERR_MEMORY;
    snprintf(name, bytes, "--%s", key);
    w->names[w->n_names++] = name;
    w->at[w->n++] = name;
    return HN_OK;
}

static hn_status add_line(hn_run_words *w, const hn_command *command, const hn_run_line *line)
{
    const bool is_operand = !strcmp(line->key, command->run_file_operand);
    HN_REQUIRE(is_operand || hn_options_find(command, line->key), HN_ERR_ARGUMENT,
               "line %d: unknown option --%.60s", line->at, line->key);
    HN_REQUIRE(!is_operand || line->kind == HN_RUN_LINE_TEXT, HN_ERR_ARGUMENT,
               "line %d: %s: expected a name in quotes", line->at, line->key);
    if (line->kind == HN_RUN_LINE_FALSE || line->kind == HN_RUN_LINE_NONE)
        return HN_OK; /* as if it were not there */
    if (!is_operand)
        HN_TRY(add_name(w, line->key));
    if (line->kind == HN_RUN_LINE_TEXT)
        w->at[w->n++] = (char *)(uintptr_t)line->text;
    return HN_OK;
}

hn_status hn_run_words_make(hn_run_words *w, const hn_command *command)
{
    for (int i = 0; i < w->file.n; i++)
        HN_TRY(add_line(w, command, &w->file.lines[i]));
    return HN_OK;
}

void hn_run_words_close(hn_run_words *w)
{
    for (int i = 0; i < w->n_names; i++)
        hn_free(w->file.heap, w->names[i]);
    hn_run_file_close(&w->file);
    w->n = w->n_names = 0;
}
