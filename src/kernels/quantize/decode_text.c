/* The decoders of decode.h: those of row.h and panel.h in one table. */
#include "kernels/quantize/decode.h"
#include "kernels/quantize/panel.h"

const hn_decode_kernels HN_KERNEL_NAME(decode_kernels) = {
#define HN_ELEM_SLOTS(name, elems, bytes, unit)                                                \
    .row[HN_ELEM_##name] = row_##name, .panel[HN_ELEM_##name] = panel_##name,
    HN_ELEM_LIST(HN_ELEM_SLOTS)
#undef HN_ELEM_SLOTS
};
