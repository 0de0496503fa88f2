/* story_check.h: judges a file of stories. */
#ifndef HN_CLI_STORY_CHECK_H
#define HN_CLI_STORY_CHECK_H

#include "base/heap.h"

#include <stdio.h>

typedef struct hn_story_check {
    const char *path, *against; /* against: training text, or NULL */
    int64_t need;               /* stories that must hold; -1: all */
} hn_story_check;

/* A line a story, then a summary. HN_ERR_FORMAT if fewer hold than are needed, or one copies. */
hn_status hn_story_check_run(hn_heap *heap, const hn_story_check *check, FILE *out);

#endif
