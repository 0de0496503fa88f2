/* made.h: what a command made, said in a line: a file that nobody opened is not taken at its word. */
#ifndef HN_CLI_MADE_H
#define HN_CLI_MADE_H

#include "hone/files.h"

#include <stdio.h>

/* Opens the GGUF file: architecture, numbers, types and size. */
hn_status hn_made_gguf(hn_engine *engine, const char *path, FILE *out);
/* The same if `status` is HN_OK, else that. */
hn_status hn_made(hn_status status, hn_engine *engine, const char *path, FILE *out);
/* The files of a folder and their sizes. */
hn_status hn_made_folder(const char *path, FILE *out);

#endif
