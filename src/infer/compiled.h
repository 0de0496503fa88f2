/* compiled.h: a model's graph, planned, with its weights where they are mapped and its program
 * ready to run: what a whole sequence and a session stand on. */
#ifndef HN_INFER_COMPILED_H
#define HN_INFER_COMPILED_H

#include "backend/executable.h"
#include "infer/run_spec.h"
#include "models/model.h"

typedef struct hn_compiled {
    hn_device *devices[HN_MAX_DEVICES]; /* layers lie on them in order */
    int n_devices;
    hn_run_spec run; /* of these devices, with the split that was found */
    const hn_model *model;
    hn_graph *g;
    nn_build build;
    hn_node *result; /* logits, or hidden states */
    hn_executable *x;
    hn_storage *storage; /* its; bind the inputs before hn_compiled_finish */
    hn_program *program; /* its, after that */
} hn_compiled;

/* Two steps, so that what else is wanted can be chosen from the graph between them. What failed
 * is left for hn_compiled_free. */
hn_status hn_compiled_build(hn_compiled *c, hn_heap *heap, const hn_model *model,
                            hn_run_spec run, const nn_build_options *options);
hn_status hn_compiled_plan(hn_compiled *c, int n_wanted, hn_node *const *wanted,
                           const char *mode_or_null);
/* Makes memory for what is not bound yet, and the program. */
hn_status hn_compiled_finish(hn_compiled *c);
void hn_compiled_free(hn_compiled *c); /* takes a zeroed one */

#endif
