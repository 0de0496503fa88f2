/* run_file.h: run.toml as a file: options in lines. What they mean stands in train/run_told.h and in the
 * command line's tables.
 *
 * TOML, as far as options go: `key = value` with strings, numbers, booleans and arrays of these,
 * and comments. A key is an option's name; '_' stands for '-'; none comes twice. Relative file names are
 * the working folder's.
 *
 * `version = 2` says that `ignore` is of keys of the model. Without a version the file is of the first,
 * in which `ignore` was of keys of examples, now `ignore-field`: it is refused, and nothing else is. */
#ifndef HN_TRAIN_RUN_FILE_H
#define HN_TRAIN_RUN_FILE_H

#include "base/heap.h"

enum { HN_MAX_RUN_FILE_LINES = 256, HN_RUN_FILE_VERSION = 2 };

/* A value in text, as a command line would have it; or a boolean; or none, of an empty array. */
typedef enum hn_run_line_kind { HN_RUN_LINE_TEXT, HN_RUN_LINE_TRUE, HN_RUN_LINE_FALSE, HN_RUN_LINE_NONE } hn_run_line_kind;

typedef struct hn_run_line {
    const char *key, *text; /* text: HN_RUN_LINE_TEXT's; NULL of others */
    hn_run_line_kind kind;
    int at; /* line of the file */
} hn_run_line;

/* An array is a line for each of its values. */
typedef struct hn_run_file {
    hn_heap *heap;
    hn_run_line lines[HN_MAX_RUN_FILE_LINES];
    int n;
} hn_run_file;

/* HN_ERR_FORMAT names file and line. Close it also after a failure. */
hn_status hn_run_file_read(hn_run_file *out, hn_heap *heap, const char *path);
void hn_run_file_close(hn_run_file *file);

#endif
