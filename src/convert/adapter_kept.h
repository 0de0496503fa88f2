/* adapter_kept.h: tensors of the base itself that PEFT saves beside an adapter of an embedding or a
 * head, as .base_layer.weight: nothing of the adapter, if they are the base's. */
#ifndef HN_CONVERT_ADAPTER_KEPT_H
#define HN_CONVERT_ADAPTER_KEPT_H

#include "convert/adapter_base.h"

/* Marks them used. Refuses those that differ from the base's, which was changed then (tokens were
 * added, or it was trained), and those that a base without weights cannot be compared with. */
hn_status hn_adapter_check_kept(const hn_adapter_base *base, const hn_weights *weights, bool *is_used);

#endif
