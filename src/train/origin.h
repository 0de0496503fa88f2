/* origin.h: origin.json of a run: what it is of, and where and when it was made, for its report. Nothing
 * reads it to compute. */
#ifndef HN_TRAIN_ORIGIN_H
#define HN_TRAIN_ORIGIN_H

#include "data/dataset.h"

typedef struct hn_origin {
    const char *command, *version, *model;
    const hn_dataset *dataset;
} hn_origin;

/* Adds the machine and the date. */
hn_status hn_origin_write(hn_heap *heap, const char *dir, const hn_origin *origin);

#endif
