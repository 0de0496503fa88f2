/* adapter_test.h: what an adapter says of itself, tried: a few tokens and the logits that base and
 * adapter gave for the last of them, in the recorded numerics on the CPU. There they must be the
 * same to the bit; then, where the run's are others, their divergence there is measured against the
 * adapter's budget. */
#ifndef HN_INFER_ADAPTER_TEST_H
#define HN_INFER_ADAPTER_TEST_H

#include "infer/forward.h"

typedef struct hn_encoding_view {
    const int32_t *ids;
    size_t n;
} hn_encoding_view;

/* Opens the adapter at `path`, runs it over the tokens and adds the test's keys. */
hn_status hn_adapter_test_make(hn_heap *heap, const hn_model *model, hn_device *device,
                               const char *path, const int32_t *tokens, int64_t n,
                               hn_numerics numerics, hn_meta *keys);

/* What it was trained in. */
hn_status hn_adapter_numerics(const hn_adapter *adapter, hn_numerics *out);

typedef struct hn_adapter_test {
    bool has_run; /* an adapter of others has no test */
    hn_numerics recorded;
    double kl; /* of the recorded logits from those of the run; 0 where bits are asked and hold */
    double budget; /* at most that */
} hn_adapter_test;

/* HN_ERR_FORMAT if the outcome is another one, beyond the budget. */
hn_status hn_adapter_test_run(hn_heap *heap, const hn_model *model, hn_device *device,
                              hn_adapter *adapter, hn_numerics numerics, hn_adapter_test *out);

#endif
