/* The decoders of decode.h: of each type row_NAME and panel_NAME in one table. */
#include "kernels/decode/decode.h"
#include "kernels/decode/panel.h"
#include "kernels/decode/turn.h"
#include "kernels/formats.h"

HN_KERNEL_TABLE(decode) = {
    .turn = turn,
#define HN_ELEM(name, elements, bytes, kernels, ...)                                         \
    .row[HN_ELEM_##name] = row_##name, .panel[HN_ELEM_##name] = panel_##name,
#include "quant/types.def"
};
