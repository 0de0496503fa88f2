/* encoding.h: what the file formats call hone's element types. */
#ifndef HN_IO_ENCODING_H
#define HN_IO_ENCODING_H

#include "graph/type.h"

/* HN_N_DTYPES of what hone cannot compute with. */
hn_dtype hn_dtype_of_gguf(uint32_t id);
hn_dtype hn_dtype_of_safetensors(const char *name);

/* Name and bytes an element of any type of safetensors, also those hone has not. */
hn_status hn_safetensors_type(const char *name, const char **encoding, int *bytes);

/* The number or name a file gives to a dtype; UINT32_MAX or NULL if the format has none. */
uint32_t hn_gguf_id_of(hn_dtype dtype);
const char *hn_safetensors_name_of(hn_dtype dtype);

#endif
