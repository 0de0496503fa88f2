/* struct_sizes.h: the sizes of public structs that src/engine/structs.def lists. */
#ifndef TESTS_PROPERTY_STRUCT_SIZES_H
#define TESTS_PROPERTY_STRUCT_SIZES_H

#include "engine/structs.h"

#include <stdbool.h>
#include <string.h>

static inline bool is_listed(const char *name, size_t size)
{
    for (const hn_struct_size *s = hn_struct_sizes; s->name; s++)
        if (!strcmp(s->name, name) && s->size == size)
            return true;
    return false;
}

static inline size_t newest(const char *name)
{
    size_t size = 0;
    for (const hn_struct_size *s = hn_struct_sizes; s->name; s++)
        if (!strcmp(s->name, name))
            size = s->size;
    return size;
}

#endif
