/* lora_open.h: the same options' adapters, opened for an inner model. */
#ifndef HN_CLI_LORA_OPEN_H
#define HN_CLI_LORA_OPEN_H

#include "cli/lora_options.h"
#include "infer/adapter.h"

/* Opens and tries them all; `out` may be empty. Close it also after a failure. */
hn_status hn_lora_open(const hn_lora_args *args, hn_heap *heap, const hn_adapter_use *use, hn_adapters *out);

#endif
