/* run_file.h: run.toml: the options of a command in a file.
 *
 * TOML, as far as options go: `key = value` with strings, numbers, booleans and arrays of these,
 * and comments. A key is an option's name; '_' stands for '-'. Relative file names are the
 * working folder's. */
#ifndef HN_CLI_RUN_FILE_H
#define HN_CLI_RUN_FILE_H

#include "base/heap.h"

enum { HN_MAX_RUN_FILE_WORDS = 256 };

typedef struct hn_run_file {
    hn_heap *heap;
    char *words[HN_MAX_RUN_FILE_WORDS]; /* as a command line: operands, "--key", "value" */
    int n;
} hn_run_file;

/* `operand`: the key whose value is no option but the command's operand. HN_ERR_FORMAT names file
 * and line. Close it also after a failure. */
hn_status hn_run_file_read(hn_run_file *out, hn_heap *heap, const char *path, const char *operand);
void hn_run_file_close(hn_run_file *file);

#endif
