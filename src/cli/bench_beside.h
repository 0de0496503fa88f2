/* bench_beside.h: this build of hone and another, in turn, because a shared machine is a different one a minute
 * later: medians of both and their ratio, for prompts, generating and a training step. */
#ifndef HN_CLI_BENCH_BESIDE_H
#define HN_CLI_BENCH_BESIDE_H

#include "cli/bench_model.h"

/* Both are run as `PROGRAM bench ...`, which prints what it measured as JSON. */
hn_status hn_bench_beside(hn_heap *heap, const char *model, const char *program,
                          const hn_bench_model_args *args, hn_json_writer *json, FILE *out);

#endif
