/* run_words.h: a run file's options as words of the command line. */
#ifndef HN_CLI_RUN_WORDS_H
#define HN_CLI_RUN_WORDS_H

#include "cli/command.h"
#include "train/run_file.h"

typedef struct hn_run_words {
    hn_run_file file;
    int n;
    char *at[2 * HN_MAX_RUN_FILE_LINES];
    char *names[HN_MAX_RUN_FILE_LINES]; /* "--key"s among them */
    int n_names;
} hn_run_words;

/* `words->file` was read. What the command has no option for is refused, also where it is false. */
hn_status hn_run_words_make(hn_run_words *words, const hn_command *command);
void hn_run_words_close(hn_run_words *words); /* and the file */

#endif
