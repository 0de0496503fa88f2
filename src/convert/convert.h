/* convert.h: a Hugging Face directory as a GGUF file, with the names, orders and keys that
 * llama.cpp's own converter would write. */
#ifndef HN_CONVERT_CONVERT_H
#define HN_CONVERT_CONVERT_H

#include "convert/encode_rows.h"
#include "convert/recipe.h"
#include "io/hf_dir.h"

typedef struct hn_convert_options {
    const hn_recipe *recipe; /* NULL: the type that the directory's weights have */
    const char *name; /* general.name; NULL: the directory's */
    const struct hn_ignored *ignored; /* keys of config.json to pass over, recorded in the file; or NULL */
} hn_convert_options;

hn_status hn_convert(hn_heap *heap, hn_pool *pool, const char *dir, hn_sink out,
                     const hn_convert_options *options, hn_watch *watch);

#endif
