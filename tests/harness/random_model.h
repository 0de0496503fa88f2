/* random_model.h: small random models of shapes that no committed one has, for tests. */
#ifndef TESTS_HARNESS_RANDOM_MODEL_H
#define TESTS_HARNESS_RANDOM_MODEL_H

#include "models/model.h"

/* `keys`: "block_count=2 embedding_length=64 ...", over two layers of width 64, two heads of 32 and
 * a context of 512; and "weights=q8_0", a recipe (f32). The file is gone when this returns: the model stays mapped. */
hn_status random_model_open(hn_heap *heap, const char *arch, const char *keys, uint64_t seed,
                            hn_model **out);

#endif
