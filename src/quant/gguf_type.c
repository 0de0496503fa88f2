/* types.def again, in its columns for files. */
#include "quant/gguf_type.h"

#include "base/ascii.h"

#include <stddef.h>

static const hn_gguf_type types[] = {
#define HN_SCALAR(upper, name, gguf, id, safetensors, bytes, kind, kernels, panel) { id, gguf, 1, bytes },
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) { id, gguf, elements, bytes },
#define HN_LISTED(gguf, id, safetensors, elements, bytes) { id, gguf, elements, bytes },
#include "quant/types.def"
};
enum { N_TYPES = sizeof types / sizeof *types };

const hn_gguf_type *hn_gguf_type_of(uint32_t id)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].name && types[i].id == id)
            return &types[i];
    return NULL;
}

const char *hn_gguf_type_name(uint32_t id)
{
    const hn_gguf_type *type = hn_gguf_type_of(id);
    return type ? type->name : "unknown type";
}

const hn_gguf_type *hn_gguf_type_named(const char *name)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].name && hn_ascii_same(types[i].name, name))
            return &types[i];
    return NULL;
}
