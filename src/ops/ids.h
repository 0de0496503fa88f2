/* ids.h: row numbers in integer inputs, refused by position and value before a kernel sees
 * them. */
#ifndef HN_OPS_IDS_H
#define HN_OPS_IDS_H

#include "graph/op.h"

/* Every element of input `input` lies in [low, end). */
static inline hn_status hn_check_ids(const hn_call *call, int input, int64_t low, int64_t end)
{
    const hn_tensor *ids = call->in[input];
    for (int64_t i = 0; i < hn_count(&ids->type); i++) {
        const int64_t id = hn_get_int(ids, i);
        if (id >= low && id < end)
            continue;
        hn_input_info info[HN_MAX_IN];
        hn_op_inputs(call->op, info);
        return hn_fail(HN_ERR_ARGUMENT, "%s: element %lld of %s is %lld: expected %lld to %lld",
                       call->op->name, (long long)i, info[input].name, (long long)id,
                       (long long)low, (long long)end - 1);
    }
    return HN_OK;
}

#endif
