/* feed.h: all that an objective's graph reads, bound to a storage: weights where they lie, the
 * columns of a micro-batch, the numbers of a step. None of it may move while the storage lives. */
#ifndef HN_TRAIN_FEED_H
#define HN_TRAIN_FEED_H

#include "backend/storage.h"
#include "train/batch.h"
#include "train/objective.h"

typedef struct hn_step_numbers {
    float count, n_sequences, n_tokens; /* what the losses are divided by */
    float anchor;                       /* what gains are measured from, where a goal needs it */
    int32_t step;                       /* which random numbers drop out */
} hn_step_numbers;

/* Every leaf that it reads, and where its value lies. */
typedef hn_status hn_feed_visitor(void *context, const hn_leaf *leaf, const void *data,
                                  size_t bytes);
hn_status hn_feed_visit(const hn_objective *objective, hn_micro *micro, hn_step_numbers *numbers,
                        hn_feed_visitor *visit, void *context);

hn_status hn_feed_bind(hn_storage *storage, const hn_objective *objective, hn_micro *micro,
                       hn_step_numbers *numbers);

/* Its weights alone: before anything is made, what they take is counted then. */
hn_status hn_feed_bind_weights(hn_storage *storage, const hn_objective *objective);

/* The columns of rows again, from row `from` on: where a graph takes fewer rows at a time than a
 * micro-batch has. */
hn_status hn_feed_bind_rows(hn_storage *storage, const hn_objective *objective, hn_micro *micro,
                            int64_t from);

#endif
