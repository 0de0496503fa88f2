/* random_adapter.h: low-rank adapters of any rank for any model, for tests. */
#ifndef TESTS_HARNESS_RANDOM_ADAPTER_H
#define TESTS_HARNESS_RANDOM_ADAPTER_H

#include "infer/adapter.h"
#include "io/weights_writer.h"

/* A file of low-rank changes of this model's tensors, named NAME.lora_a and NAME.lora_b, whose numbers are to be put. */
hn_status adapter_file_begin(hn_weights_writer **writer, hn_heap *heap, const hn_model *model, const char *path,
                             const hn_weight_entry *entries, size_t n);

/* Of `rank` (in every third tensor one less, if there is one), for about three of four matrices of the
 * layers; of experts if asked; of those whose name ends in `also`, if that is not NULL. The file is gone when
 * this returns. */
hn_status random_adapter_open(hn_heap *heap, const hn_model *model, hn_run_spec run, int64_t rank, bool experts,
                              const char *also_or_null, uint64_t seed, hn_adapter **out);

#endif
