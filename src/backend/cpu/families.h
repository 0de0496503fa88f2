/* families.h: the kernel tables of one device, filled for its level. */
#ifndef HN_BACKEND_CPU_FAMILIES_H
#define HN_BACKEND_CPU_FAMILIES_H

#include "kernels/attn/attn.h"
#include "kernels/convert/convert.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/gemm/gemm.h"
#include "kernels/norm/norm.h"
#include "kernels/optim/optim.h"
#include "kernels/quantize/decode.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rope/rope.h"
#include "kernels/softmax/softmax.h"
#include "kernels/xent/xent.h"

typedef struct hn_cpu_families {
    hn_elemwise_kernels elemwise;
    hn_convert_kernels convert;
    hn_norm_kernels norm;
    hn_softmax_kernels softmax;
    hn_rope_kernels rope;
    hn_reduce_kernels reduce;
    hn_optim_kernels optim;
    const hn_decode_kernels *decode;
    const hn_gemm_kernels *gemm;
    const hn_attn_kernels *attn;
    const hn_xent_kernels *xent;
} hn_cpu_families;

static inline void hn_cpu_families_init(hn_cpu_families *k, hn_isa isa)
{
    hn_elemwise_kernels_init(&k->elemwise, isa);
    hn_convert_kernels_init(&k->convert, isa);
    hn_norm_kernels_init(&k->norm, isa);
    hn_softmax_kernels_init(&k->softmax, isa);
    hn_rope_kernels_init(&k->rope, isa);
    hn_reduce_kernels_init(&k->reduce, isa);
    hn_optim_kernels_init(&k->optim, isa);
    k->decode = hn_decode_kernels_for(isa);
    k->gemm = hn_gemm_kernels_for(isa);
    k->attn = hn_attn_kernels_for(isa);
    k->xent = hn_xent_kernels_for(isa);
}

#endif
