/* Ends, and not lists: a layer lies on the first device whose end it is before, and layers that are beyond all
 * ends lie with the last. */
#include "nn/split.h"

#include <string.h>

bool nn_split_is_any(const nn_split *s)
{
    return s->n > 1 || s->experts || s->streamed[0];
}

static int64_t end_of(const nn_split *s, int64_t n_layer, int device)
{
    if (s->n < 2)
        return n_layer;
    return s->end[s->n - 1] ? s->end[device] : ((device + 1) * n_layer + s->n - 1) / s->n;
}

void nn_split_layers(const nn_split *s, int64_t n_layer, int device, int64_t *from, int64_t *end)
{
    const bool takes = device < (s->n > 1 ? s->n : 1);
    *end = takes ? end_of(s, n_layer, device) : n_layer;
    *from = !takes ? n_layer : device ? end_of(s, n_layer, device - 1) : 0;
}

static bool is_experts(const char *name)
{
    return strstr(name, "_exps.") != NULL;
}

int nn_split_device(const nn_split *s, int64_t layer, int64_t n_layer, const char *name)
{
    if (s->experts && is_experts(name))
        return s->experts - 1;
    int device = 0;
    layer = layer < 0 ? 0 : layer < n_layer ? layer : n_layer - 1;
    while (device + 1 < s->n && layer >= end_of(s, n_layer, device))
        device++;
    return device;
}

bool nn_split_streams(const nn_split *s, int64_t layer, int64_t n_layer, const char *name)
{
    int64_t from, end;
    if (layer < 0 || layer >= n_layer || (s->experts && is_experts(name)))
        return false;
    const int device = nn_split_device(s, layer, n_layer, name);
    nn_split_layers(s, n_layer, device, &from, &end);
    return layer >= end - s->streamed[device];
}
