/* gguf_type.h: every tensor type that GGUF has numbered, also those hone cannot compute with:
 * a file that holds them can be listed, and they are refused by name. */
#ifndef HN_QUANT_GGUF_TYPE_H
#define HN_QUANT_GGUF_TYPE_H

#include <stdint.h>

#define HN_NO_GGUF_ID UINT32_MAX /* of types that GGUF has not numbered */

typedef struct hn_gguf_type {
    uint32_t id;
    const char *name; /* as ggml writes it: "Q4_K" */
    int block_elements;
    int block_bytes; /* 0: a type that was removed from the format */
} hn_gguf_type;

/* NULL of a number that nothing has. */
const hn_gguf_type *hn_gguf_type_of(uint32_t id);

/* "Q4_K"; "unknown type" of a number that nothing has. */
const char *hn_gguf_type_name(uint32_t id);

/* By ggml's name, in any case; NULL if there is none. */
const hn_gguf_type *hn_gguf_type_named(const char *name);

#endif
