/* The decoders of decode.h: those of row.h and panel.h in one table. */
#include "kernels/decode/decode.h"
#include "kernels/decode/panel.h"
#include "kernels/decode/turn.h"

HN_KERNEL_TABLE(decode) = {
    .turn = turn,
#define HN_ELEM(name, elements, bytes, kernels, ...)                                         \
    .row[HN_ELEM_##name] = row_##name, .panel[HN_ELEM_##name] = panel_##name,
#include "quant/types.def"
};
