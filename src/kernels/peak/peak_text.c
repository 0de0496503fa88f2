/* Loops that do nothing but compute, load or copy. */
#include "kernels/peak/peak.h"

#include "kernels/simd/f32x16.h"

/* As many chains as registers hold beside two operands, and more than hide an fma's latency. */
#if defined(HN_LEVEL_avx512)
enum { CHAINS = 12 };
#else
enum { CHAINS = 6 };
#endif

HN_KERNEL_FN(peak_fma)
{
    const f32x16 a = f_load(x), b = f_mul(a, a);
    f32x16 sum = a;
    for (int from = 0; from < HN_PEAK_CHAINS; from += CHAINS) {
        f32x16 acc[CHAINS]; /* start apart, so that no two are known to be equal */
        _Pragma("GCC unroll 16") for (int c = 0; c < CHAINS; c++) acc[c] =
            f_mul(sum, f_set1((float)(c + 1)));
        for (int64_t i = 0; i < n; i++) {
            _Pragma("GCC unroll 16") for (int c = 0; c < CHAINS; c++) acc[c] =
                f_fma(a, b, acc[c]);
        }
        _Pragma("GCC unroll 16") for (int c = 0; c < CHAINS; c++) sum = f_add(sum, acc[c]);
    }
    f_store(x, sum);
}

/* Several streams at once: one alone waits at the end of every page. */
HN_KERNEL_FN(peak_read)
{
    enum { CHAINS_OF_MAX = 4 };
    const int64_t part = n / HN_PEAK_READ_STREAMS;
    f32x16 most[CHAINS_OF_MAX];
    for (int c = 0; c < CHAINS_OF_MAX; c++)
        most[c] = f_load(x);
    for (int64_t i = 0; i < part; i += 16)
        _Pragma("GCC unroll 16") for (int s = 0; s < HN_PEAK_READ_STREAMS; s++)
            most[s % CHAINS_OF_MAX] = f_max(f_load(x + s * part + i), most[s % CHAINS_OF_MAX]);
    for (int c = 1; c < CHAINS_OF_MAX; c++)
        most[0] = f_max(most[c], most[0]);
    f_store(y, most[0]);
}

HN_KERNEL_FN(peak_copy)
{
    const int64_t part = n / HN_PEAK_STREAMS;
    for (int64_t i = 0; i < part; i += 16)
        _Pragma("GCC unroll 8") for (int s = 0; s < HN_PEAK_STREAMS; s++)
            f_store(y + s * part + i, f_load(x + s * part + i));
}

HN_KERNEL_TABLE(peak) = {
#define HN_KERNEL(slot) HN_KERNEL_ENTRY(slot)
#include "kernels/peak/peak.def"
#undef HN_KERNEL
};
