/* numerics.h: the arithmetic of a run. It is printed and recorded with every result. */
#ifndef HN_NN_NUMERICS_H
#define HN_NN_NUMERICS_H

#include "base/status.h"
#include "base/word_list.h"

typedef enum hn_numerics {
    HN_NUMERICS_F32,  /* activations are f32: the one true answer */
    HN_NUMERICS_BF16, /* rounded to bf16 exactly where Transformers' eager bf16 models round */
    HN_NUMERICS_MIXED, /* f32, but both sides of every product by a matrix are bf16 */
    HN_NUMERICS_INT8, /* f32, but products by matrices in block formats are in whole numbers: nothing is trained in it */

    /* What older files record, and nothing is run in but their own tests. */
    HN_NUMERICS_MIXED_1 /* products by matrices stored in BF16 alone, and each one chain */
} hn_numerics;

const char *hn_numerics_name(hn_numerics numerics);

/* What a file records: the name and, where a mode was defined more than once or may be, which definition. */
const char *hn_numerics_definition(hn_numerics numerics);

/* Definitions of the modes that there are: "f32, bf16.2 or ...". */
const char *hn_numerics_definitions(hn_word_text *text);

/* The word of a definition that a file has; NULL is f32. HN_ERR_UNSUPPORTED names one that is not known, or no more. */
hn_status hn_numerics_recorded(const char *word, hn_numerics *out);

/* NULL is f32. HN_ERR_ARGUMENT names what is expected. */
hn_status hn_numerics_parse(const char *word, hn_numerics *out);

#endif
