/* bench_model.h: how fast a model reads a prompt and goes on after it. */
#ifndef HN_CLI_BENCH_MODEL_H
#define HN_CLI_BENCH_MODEL_H

#include "base/json.h"
#include "cli/machine_options.h"
#include "infer/session.h"

typedef struct hn_bench_model_args {
    const char *prompt; /* "N,N": lengths; NULL: 512 */
    bool mapped;
    const char *cache;
    int64_t generate, repeat;
    hn_machine_args machine;
    hn_list ignore; /* keys of the model */
} hn_bench_model_args;

/* "N,N" of an option: up to HN_BENCH_LENGTHS numbers above zero. */
enum { HN_BENCH_LENGTHS = 16 };
hn_status hn_bench_lengths(const char *option, const char *text, int64_t *out, int *n);

/* One line a length, and one object a length into `json` if it is there. */
hn_status hn_bench_model(hn_heap *heap, const char *model, const hn_bench_model_args *args,
                         hn_json_writer *json, FILE *out);

#endif
