#include "io/encoding.h"

#include <string.h>

static const struct {
    hn_dtype dtype; /* HN_N_DTYPES: can be listed, not computed with */
    uint32_t gguf_id;
    const char *safetensors;
    int bytes;
} scalars[] = {
    { HN_F32, 0, "F32", 4 },
    { HN_F16, 1, "F16", 2 },
    { HN_BF16, 30, "BF16", 2 },
    { HN_F64, 28, "F64", 8 },
    { HN_I32, 26, "I32", 4 },
    { HN_I64, 27, "I64", 8 },
    { HN_U8, UINT32_MAX, "U8", 1 },
    { HN_U8, UINT32_MAX, "BOOL", 1 },
    { HN_N_DTYPES, 24, "I8", 1 },
    { HN_N_DTYPES, 25, "I16", 2 },
    { HN_N_DTYPES, UINT32_MAX, "U16", 2 },
    { HN_N_DTYPES, UINT32_MAX, "U32", 4 },
    { HN_N_DTYPES, UINT32_MAX, "U64", 8 },
    { HN_N_DTYPES, UINT32_MAX, "F8_E4M3", 1 },
    { HN_N_DTYPES, UINT32_MAX, "F8_E5M2", 1 },
    { HN_N_DTYPES, UINT32_MAX, "F8_E8M0", 1 },
};
enum { N_SCALARS = sizeof scalars / sizeof *scalars };

hn_dtype hn_dtype_of_gguf(uint32_t id)
{
    for (int i = 0; i < N_SCALARS; i++)
        if (scalars[i].gguf_id == id && id != UINT32_MAX)
            return scalars[i].dtype;
    for (int i = 0; i < HN_N_FORMATS; i++)
        if (hn_formats[i]->gguf_id == id)
            return (hn_dtype)(HN_FIRST_FORMAT + i);
    return HN_N_DTYPES;
}

hn_dtype hn_dtype_of_safetensors(const char *name)
{
    for (int i = 0; i < N_SCALARS; i++)
        if (!strcmp(scalars[i].safetensors, name))
            return scalars[i].dtype;
    return HN_N_DTYPES;
}

hn_status hn_safetensors_type(const char *name, const char **encoding, int *bytes)
{
    for (int i = 0; i < N_SCALARS; i++)
        if (!strcmp(scalars[i].safetensors, name)) {
            *encoding = scalars[i].safetensors;
            *bytes = scalars[i].bytes;
            return HN_OK;
        }
    return hn_fail(HN_ERR_UNSUPPORTED, "element type %.32s is not known", name);
}

uint32_t hn_gguf_id_of(hn_dtype dtype)
{
    if (hn_is_block(dtype))
        return hn_dtype_format(dtype)->gguf_id;
    for (int i = 0; i < N_SCALARS; i++)
        if (scalars[i].dtype == dtype)
            return scalars[i].gguf_id;
    return UINT32_MAX;
}

const char *hn_safetensors_name_of(hn_dtype dtype)
{
    for (int i = 0; i < N_SCALARS; i++)
        if (scalars[i].dtype == dtype && dtype != HN_N_DTYPES)
            return scalars[i].safetensors;
    return NULL;
}
