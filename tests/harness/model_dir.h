/* model_dir.h: a model's directory whose config.json may be changed: a folder of links to the files
 * of one under tests/differential/models, in memory where that can be. */
#ifndef TESTS_HARNESS_MODEL_DIR_H
#define TESTS_HARNESS_MODEL_DIR_H

#include "base/json.h"

typedef struct model_dir {
    hn_heap *heap;
    char source[512], path[64], config[96], gguf[96];
    hn_json_text *base; /* config.json of the source */
} model_dir;

bool model_dir_make(model_dir *d, hn_heap *heap, const char *name);
void model_dir_remove(model_dir *d);

/* config.json with the members of `put` in place of its own, and without those that the array
 * `take` names; either may be NULL. */
bool model_dir_write(const model_dir *d, const hn_json *put, const hn_json *take);

/* Another file of it: its text; NULL: it is not there. */
bool model_dir_put(const model_dir *d, const char *file, const char *text);

/* Members of an object, or what an array has, into one that is open. */
void json_add_members(hn_json_writer *w, const hn_json *first);

/* The file, read; NULL and a failed check if it cannot be. */
hn_json_text *json_read_file(hn_heap *heap, const char *path);

#endif
