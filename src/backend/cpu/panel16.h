/* panel16.h: the layout of the CPU's kernels: sixteen rows interleaved (kernels/decode/decode.h). The panels of every
 * matrix start anew, and its last one is filled up with zeros. */
#ifndef HN_BACKEND_CPU_PANEL16_H
#define HN_BACKEND_CPU_PANEL16_H

#include "graph/layout.h"

extern const hn_layout hn_layout_panel16;

#endif
