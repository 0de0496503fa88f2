/* One list, quant/types.def, for both formats of files. A type that can be listed and not computed with has a
 * number and a name here, and no more. */
#include "io/encoding.h"

#include "quant/gguf_type.h"

#include <string.h>

typedef struct encoding {
    hn_dtype dtype; /* HN_N_DTYPES: can be listed, not computed with */
    uint32_t gguf_id;
    const char *safetensors; /* or NULL */
    int bytes;               /* of an element, where safetensors has it */
} encoding;

static const encoding encodings[] = {
#define HN_SCALAR(upper, name, gguf, id, safetensors, bytes, kind, kernels, panel)             \
    { HN_##upper, id, safetensors, bytes },
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) { HN_TYPE_##name, id, NULL, 0 },
#define HN_LISTED(gguf, id, safetensors, elements, bytes) { HN_N_DTYPES, id, safetensors, bytes },
#include "quant/types.def"
};
enum { N_ENCODINGS = sizeof encodings / sizeof *encodings };

static const encoding *named(const char *name)
{
    for (int i = 0; i < N_ENCODINGS; i++)
        if (encodings[i].safetensors && !strcmp(encodings[i].safetensors, name))
            return &encodings[i];
    return NULL;
}

static const encoding *of(hn_dtype dtype)
{
    for (int i = 0; i < N_ENCODINGS; i++)
        if (encodings[i].dtype == dtype && dtype != HN_N_DTYPES)
            return &encodings[i];
    return NULL;
}

hn_dtype hn_dtype_of_gguf(uint32_t id)
{
    for (int i = 0; i < N_ENCODINGS; i++)
        if (encodings[i].gguf_id == id && id != HN_NO_GGUF_ID)
            return encodings[i].dtype;
    return HN_N_DTYPES;
}

hn_dtype hn_dtype_of_safetensors(const char *name)
{
    if (!strcmp(name, "BOOL")) /* bytes of 0 and 1 */
        return HN_U8;
    const encoding *e = named(name);
    return e ? e->dtype : HN_N_DTYPES;
}

hn_status hn_safetensors_type(const char *name, const char **encoding_name, int *bytes)
{
    const encoding *e = named(name);
    HN_REQUIRE(e, HN_ERR_UNSUPPORTED, "element type %.32s is not known", name);
    *encoding_name = e->safetensors;
    *bytes = e->bytes;
    return HN_OK;
}

uint32_t hn_gguf_id_of(hn_dtype dtype)
{
    const encoding *e = of(dtype);
    return e ? e->gguf_id : HN_NO_GGUF_ID;
}

const char *hn_safetensors_name_of(hn_dtype dtype)
{
    const encoding *e = of(dtype);
    return e ? e->safetensors : NULL;
}
