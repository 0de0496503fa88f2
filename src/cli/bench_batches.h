/* bench_batches.h: tokens a second that many sequences get together. */
#ifndef HN_CLI_BENCH_BATCHES_H
#define HN_CLI_BENCH_BATCHES_H

#include "cli/bench_model.h"

/* `counts`: "1,2,4": sequences of a step; each has a prompt of its own, of --prompt tokens. */
hn_status hn_bench_batches(hn_heap *heap, const char *model, const char *counts, const hn_bench_model_args *args,
                           hn_json_writer *json, FILE *out);

#endif
