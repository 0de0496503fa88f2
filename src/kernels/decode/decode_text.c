/* The decoders of decode.h: those of row.h and panel.h in one table. */
#include "kernels/decode/decode.h"
#include "kernels/decode/panel.h"

HN_KERNEL_TABLE(decode) = {
#define HN_ELEM(name, elements, bytes, kernels, ...)                                         \
    .row[HN_ELEM_##name] = row_##name, .panel[HN_ELEM_##name] = panel_##name,
#include "quant/types.def"
};
