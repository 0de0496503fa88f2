/* random_numbers.h: the numbers of a model that is made up: few are given, the rest follow from them and
 * from the architecture. */
#ifndef HN_CONVERT_RANDOM_NUMBERS_H
#define HN_CONVERT_RANDOM_NUMBERS_H

#include "nn/arch.h"

/* A small llama-like shape, which settings then change. `hp` is zeroed. */
void hn_random_begin(hn_hparams *hp);

/* "layers=4", "tied=true", or a GGUF key without the architecture's name and its value. */
hn_status hn_random_set(hn_hparams *hp, const char *setting);

/* Once all is set: what follows. Refuses what no model can have. */
hn_status hn_random_complete(const hn_arch *arch, hn_hparams *hp);

/* What was set is what the model has: set again, it changes nothing. Settings of keys that the architecture
 * derives from others, or has no place for, and keys that are given twice, are refused so. */
hn_status hn_random_check(const hn_arch *arch, const hn_hparams *hp, int n, const char *const *settings);

#endif
