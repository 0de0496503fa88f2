/* adapter_test.h: what an adapter says of itself: a few tokens and the logits that base and adapter
 * gave for the last of them, in the recorded numerics on the CPU. There they must be the same to the
 * bit; then, where the run's are others, their divergence there is measured against the adapter's
 * budget. hn_adapter_open tries it; this makes it. */
#ifndef HN_INFER_ADAPTER_TEST_H
#define HN_INFER_ADAPTER_TEST_H

#include "infer/adapter.h"

typedef struct hn_encoding_view {
    const int32_t *ids;
    size_t n;
} hn_encoding_view;

/* Runs what lies at `path`, which has no test yet, over the tokens and adds the test's keys. */
hn_status hn_adapter_test_make(hn_heap *heap, const hn_model *model, hn_run_spec run,
                               const char *path, const int32_t *tokens, int64_t n,
                               hn_meta *keys);

#endif
