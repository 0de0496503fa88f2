/* split.h: on which of a run's devices the weights of a layer lie, and with them its cache and its work. Zeroed, all on
 * the first; with n alone, in equal shares.
 *
 *     layers   0  1  2  3  4 | 5  6  7          end = 5, 8
 *     device   far           | cpu              what comes before the layers lies with the first, what follows
 *     experts  cpu .............................  with the last; experts may lie on one device, all layers' */
#ifndef HN_NN_SPLIT_H
#define HN_NN_SPLIT_H

#include "graph/plan.h"

typedef struct nn_split {
    int n;                       /* devices that take layers: the first so many of the run's; 0: all of them */
    int64_t end[HN_MAX_DEVICES]; /* the layers before it that no device before has; all 0: equal shares */
    int experts;                 /* 1 + the device of the experts' weights; 0: with their layer */
    int64_t streamed[HN_MAX_DEVICES]; /* of each device's layers, the last so many have their weights with the host, and
                                       * they are sent there ahead of their work in each run */
} nn_split;

/* Whether leaves are placed at all. */
bool nn_split_is_any(const nn_split *split);
/* `layer`: below 0 before the layers, n_layer or more after them. `name`: of the tensor. */
int nn_split_device(const nn_split *split, int64_t layer, int64_t n_layer, const char *name);
/* Whether a layer's weights are sent to its device. */
bool nn_split_streams(const nn_split *split, int64_t layer, int64_t n_layer, const char *name);
/* The layers [*from, *end) of a device. */
void nn_split_layers(const nn_split *split, int64_t n_layer, int device, int64_t *from, int64_t *end);

#endif
