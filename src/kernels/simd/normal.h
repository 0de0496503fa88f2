/* normal.h: the normal distribution's cumulative function, by a table: what the exact gelu is made of.
 *
 * Of |x| up to where one half is reached, the nearest multiple of 3/16 and what is left; Phi - 1/2 there is a
 * polynomial of its own, whose coefficients f_look takes from five tables (tools/fit-math.py): within
 * 1.5e-8 before rounding, of seven products where the error function takes 29. */
#ifndef HN_KERNELS_SIMD_NORMAL_H
#define HN_KERNELS_SIMD_NORMAL_H

#include "kernels/simd/f32x16.h"

/* Row p: coefficients of u^p around 3/16 k, for k from 0. The last are one half, and nothing. */
static const float normal_table[5][32] __attribute__((aligned(64), unused)) = {
    {
        0x0p0f, 0x1.309a14p-4f, 0x1.2b5b0ep-3f, 0x1.b47438p-3f,
        0x1.17efp-2f, 0x1.4d9138p-2f, 0x1.7a9412p-2f, 0x1.9f0d52p-2f,
        0x1.bb96e4p-2f, 0x1.d125f6p-2f, 0x1.e0dfc6p-2f, 0x1.ebf334p-2f,
        0x1.f37b6ep-2f, 0x1.f86d8cp-2f, 0x1.fb9046p-2f, 0x1.fd7baep-2f,
        0x1.fe9e22p-2f, 0x1.ff43e6p-2f, 0x1.ff9f4p-2f, 0x1.ffcfdap-2f,
        0x1.ffe8d2p-2f, 0x1.fff536p-2f, 0x1.fffb24p-2f, 0x1.fffde2p-2f,
        0x1.ffff1cp-2f, 0x1.ffffa4p-2f, 0x1.ffffdcp-2f, 0x1.fffff2p-2f,
        0x1.fffffap-2f, 0x1.fffffep-2f, 0x1p-1f, 0x1p-1f,
    },
    {
        0x1.988444p-2f, 0x1.916602p-2f, 0x1.7cc78ap-2f, 0x1.5cbdbap-2f,
        0x1.345d6p-2f, 0x1.073e68p-2f, 0x1.b1ec74p-3f, 0x1.594776p-3f,
        0x1.094098p-3f, 0x1.8977e8p-4f, 0x1.19bfb8p-4f, 0x1.858fd4p-5f,
        0x1.0402e6p-5f, 0x1.4f18bp-6f, 0x1.a0f1fap-7f, 0x1.f4dd2ep-8f,
        0x1.2271a2p-8f, 0x1.45363p-9f, 0x1.5f8fccp-10f, 0x1.6eeae2p-11f,
        0x1.71b6f6p-12f, 0x1.67a9dap-13f, 0x1.51cc54p-14f, 0x1.324d3ep-15f,
        0x1.0c259cp-16f, 0x1.c5453p-18f, 0x1.71dd56p-19f, 0x1.236132p-20f,
        0x1.bb3cd6p-22f, 0x1.457912p-23f, 0x1.cd7b28p-25f, 0x0p0f,
    },
    {
        0x0p0f, -0x1.2d0e8ap-5f, -0x1.1d95a6p-4f, -0x1.8853aep-4f,
        -0x1.ce8d28p-4f, -0x1.ed9016p-4f, -0x1.e822fep-4f, -0x1.c52a92p-4f,
        -0x1.8ddc6ep-4f, -0x1.4bfba8p-4f, -0x1.081ecap-4f, -0x1.91c852p-5f,
        -0x1.248a08p-5f, -0x1.985d36p-6f, -0x1.119618p-6f, -0x1.60623ap-7f,
        -0x1.b3b918p-8f, -0x1.02e8ep-8f, -0x1.290542p-9f, -0x1.469494p-10f,
        -0x1.5921f6p-11f, -0x1.670adp-12f, -0x1.5c1214p-13f, -0x1.3fc572p-14f,
        -0x1.2e78e2p-15f, -0x1.648374p-16f, -0x1.557712p-17f, -0x1.07c89cp-19f,
        0x1.4f3c82p-18f, 0x1.cb6514p-21f, -0x1.256e1cp-18f, 0x0p0f,
    },
    {
        -0x1.0fe75ap-4f, -0x1.01c9fp-4f, -0x1.b3b416p-5f, -0x1.3d8acap-5f,
        -0x1.67cfap-6f, -0x1.5674c4p-8f, 0x1.316ee8p-7f, 0x1.4b9674p-6f,
        0x1.b909ccp-6f, 0x1.e3ccbap-6f, 0x1.d7edecp-6f, 0x1.a63708p-6f,
        0x1.6003aep-6f, 0x1.140e0ap-6f, 0x1.99b16ep-7f, 0x1.20d64ep-7f,
        0x1.840e6ep-8f, 0x1.f1da3p-9f, 0x1.3173f4p-9f, 0x1.66f75p-10f,
        0x1.946e78p-11f, 0x1.b533cep-12f, 0x1.c5cddep-13f, 0x1.c4899ap-14f,
        0x1.b1c3ap-15f, 0x1.8fce54p-16f, 0x1.627b86p-17f, 0x1.2e6edp-18f,
        0x1.f0b4e2p-20f, 0x1.88b11p-21f, 0x1.2af492p-22f, 0x0p0f,
    },
    {
        0x0p0f, 0x1.2be7ccp-7f, 0x1.0fbf52p-6f, 0x1.5bed26p-6f,
        0x1.78ed1cp-6f, 0x1.55ae82p-6f, 0x1.1027c6p-6f, 0x1.78f662p-7f,
        0x1.758696p-8f, 0x1.e11efep-11f, -0x1.a0ecap-9f, -0x1.2ca91p-8f,
        -0x1.7e4478p-8f, -0x1.9cbe1cp-8f, -0x1.6f3b0ap-8f, -0x1.f3029ap-9f,
        -0x1.a9dd3p-9f, -0x1.623928p-9f, -0x1.58eefp-10f, -0x1.1b917ap-10f,
        -0x1.c729dp-11f, 0x1.50a802p-14f, -0x1.b3206ap-13f, -0x1.5a12e4p-12f,
        -0x1.6b8f4p-15f, 0x1.eacac4p-12f, 0x1.3ddfacp-12f, -0x1.409d04p-14f,
        -0x1.234724p-11f, -0x1.e7de3ap-14f, 0x1.9284a4p-12f, 0x0p0f,
    },
};

/* Phi(x) = (1 + erf(x / sqrt 2)) / 2; a NaN stays one where x is multiplied by it. */
HN_INLINE f32x16 f_normal_cdf(f32x16 x)
{
    const f32x16 t = f_min(f_set1(5.75f), f_abs(x)), whole = f_set1(0x1.8p23f);
    const f32x16 near = f_fma(t, f_set1(0x1.555556p2f), whole); /* 16/3: the multiple's number below */
    const i32x16 k = f_bits(near);
    const f32x16 u = f_fma(f_sub(near, whole), f_set1(-0.1875f), t);
    f32x16 p = f_look(normal_table[4], k);
    for (int i = 3; i >= 0; i--)
        p = f_fma(p, u, f_look(normal_table[i], k));
    return f_add(f_set1(0.5f), f_copysign(p, x));
}

#endif
