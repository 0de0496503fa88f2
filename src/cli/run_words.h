/* run_words.h: a run file's options as words of the command line. */
#ifndef HN_CLI_RUN_WORDS_H
#define HN_CLI_RUN_WORDS_H

#include "cli/command.h"
#include "hone/finetune.h"

enum { HN_MOST_RUN_LINES = 256 };

typedef struct hn_run_words {
    hn_heap *heap;
    hn_engine *engine;
    hn_finetune_file *file;
    int n;
    char *at[2 * HN_MOST_RUN_LINES];
    char *names[HN_MOST_RUN_LINES]; /* "--key"s among them */
    int n_names;
} hn_run_words;

/* A run file, or that of a run's folder. Zeroed, with a heap, it has no words; close it also after a failure. */
hn_status hn_run_words_open(hn_run_words *words, const char *path, bool is_folder);
/* Its lines as words. What the command has no option for is refused, also where it is false. */
hn_status hn_run_words_make(hn_run_words *words, const hn_command *command);
void hn_run_words_close(hn_run_words *words); /* and the file */

#endif
