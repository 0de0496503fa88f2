/* strips.h: maps over elements, cut into strips of f32 that a kernel takes whole.
 *
 * Inputs broadcast against the output; narrow types are widened into scratch a strip at a time and
 * rounded once on the way out. The cut into strips changes no bit: every element is its own. */
#ifndef HN_BACKEND_CPU_STRIPS_H
#define HN_BACKEND_CPU_STRIPS_H

#include "backend/cpu/cpu.h"

enum { HN_STRIP = 1024, HN_STRIP_IN = 4, HN_STRIP_OUT = 2 };

typedef struct hn_strip {
    int64_t n;
    const void *in[HN_STRIP_IN]; /* f32, or bytes where the input is u8 */
    int64_t step[HN_STRIP_IN];   /* 1, or 0: one value for all */
    float *out[HN_STRIP_OUT];
} hn_strip;

typedef void hn_strip_fn(const hn_cpu_task *task, const hn_strip *strip);

/* f32, f16 and bf16 (and u8 inputs) have kernels; inputs must have a last stride of one element or
 * be broadcast along it. */
bool hn_strips_support(const hn_cpu *cpu, const hn_call *call, hn_support *out);
int64_t hn_strips_units(const hn_cpu_task *task, int phase);
void hn_strips_run(const hn_cpu_task *task, int64_t begin, int64_t end, int thread,
                   hn_strip_fn *fn);

/* Widens n elements (step in elements: 0 or 1) to f32; returns them, in `room` if need be. */
const float *hn_strip_widen(const hn_cpu *cpu, hn_dtype dtype, const void *from, int64_t n,
                            float *room);
/* Rounds n f32 to a narrow type. */
void hn_strip_narrow(const hn_cpu *cpu, hn_dtype dtype, const float *from, int64_t n, void *to);

#endif
