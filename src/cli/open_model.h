/* open_model.h: a model on an engine of its own, as commands open one: by its options, which are their args'. */
#ifndef HN_CLI_OPEN_MODEL_H
#define HN_CLI_OPEN_MODEL_H

#include "cli/machine_options.h"
#include "cli/template_options.h"
#include "hone/tokenizer.h"

/* What of it: hn_lm_open and its kin. */
typedef enum hn_open_kind {
    HN_OPEN_ALL,
    HN_OPEN_WEIGHTS,
    HN_OPEN_WORDS
} hn_open_kind;

typedef struct hn_opened {
    hn_engine *engine;
    hn_lm *lm;
} hn_opened;

/* `ignored` and `template` may be NULL. Both parts are NULL after a failure. */
hn_status hn_opened_open(hn_opened *out, hn_open_kind kind, const char *path, const hn_machine_args *machine,
                         const hn_list *ignored, const hn_template_args *template);
void hn_opened_close(hn_opened *opened); /* takes a zeroed one */

/* A text's ids, on the heap. */
typedef struct hn_ids {
    int32_t *at;
    size_t n;
} hn_ids;
hn_status hn_ids_of(const hn_lm *lm, hn_heap *heap, const char *text, size_t bytes, const hn_lm_encode_options *options,
                    hn_ids *out);
/* The same of a file, without what the model puts around a text. */
hn_status hn_ids_of_file(const hn_lm *lm, hn_heap *heap, const char *path, hn_ids *out);

#endif
