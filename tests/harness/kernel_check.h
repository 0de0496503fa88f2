/* kernel_check.h: a kernel family against its reference, at each level that this host can run.
 *
 *     static void check_scale(const hn_x_kernels *ref, const hn_x_kernels *opt)
 *     {
 *         if (!KC_BEGIN(ref, opt, scale_f32))
 *             return;                          this level adds no kernel of its own
 *         for (size_t n; kc_next_length(&n);) {
 *             float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
 *             ref->scale_f32(n, x, want);
 *             opt->scale_f32(n, x, got);
 *             kc_same_bits(want, got, n);
 *             KC_BENCH(opt->scale_f32(n, x, got));
 *         }
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         kc_open(argc, argv);
 *         ref = at_level(HN_ISA(ref))->x;
 *         for (hn_isa isa = 0; kc_next_isa(&isa);) {
 *             opt = at_level(isa)->x;
 *             check_scale(&ref, &opt);
 *         }
 *         return kc_close();
 *     }
 *
 * The first level is `ref` itself, which meets guard pages and gives the digests. Each further
 * one adds a level that has kernels of its own. A slot at a level is one check. Buffers end at unreadable pages, live until
 * the next kc_next_*, and have the same contents at every level. Every length comes in four
 * flavours: plain numbers, all magnitudes, extremes that are finite, and infinities and NaN
 * among them.
 *
 * A fault is reported under the kernel's name and ends the run.
 *
 * Digests: what kc_same_* was given as `want` is hashed per slot and compared with
 * tests/kernels/digests/<runner>.txt; `--bless` writes that file. They must be the same on
 * every architecture, so a `want` may depend on nothing but what kc_* gave.
 *
 * Arguments: --seed N (digests are then not compared), --only SLOT, --isa LEVEL, --bench,
 * --bless. */
#ifndef TESTS_HARNESS_KERNEL_CHECK_H
#define TESTS_HARNESS_KERNEL_CHECK_H

#include "base/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*kc_function)(void);

typedef enum kc_flavour {
    KC_PLAIN,     /* in [-2, 2] */
    KC_WIDE,      /* any sign, 2^-30 to 2^30 */
    KC_EXTREME,   /* KC_PLAIN with 0, -0, denormals, the largest, one large among small */
    KC_NONFINITE, /* KC_EXTREME with infinities and NaN */
    KC_N_FLAVOURS
} kc_flavour;

void kc_open(int argc, char **argv);
int kc_close(void);
bool kc_next_isa(hn_isa *isa);

/* False where there is nothing to check: the slot's function is the one of the level before. */
#define KC_BEGIN(ref, opt, slot)                                                               \
    kc_begin(#slot, (kc_function)(ref)->slot, (kc_function)(opt)->slot)
bool kc_begin(const char *slot, kc_function ref, kc_function opt);

/* 1, 2, 3, around each vector width, tails, 4095 .. 4097, each in every flavour. */
bool kc_next_length(size_t *n);
/* For loops over shapes of your own: `while (kc_next_flavour())` inside them. The first, once a
 * loop, is KC_PLAIN. */
bool kc_next_flavour(void);
kc_flavour kc_current_flavour(void);
/* Words for reports, such as the shape: "m 3 n 17 k 64". Cleared by kc_begin. */
void kc_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Inputs. Ends at a guard page. */
float *kc_floats(size_t n);
float *kc_floats_in(size_t n, float low, float high); /* plain in every flavour */
double *kc_doubles(size_t n);
uint16_t *kc_halves(size_t n);                /* f16 of kc_floats */
uint16_t *kc_brains(size_t n);                /* bf16 of kc_floats */
uint8_t *kc_bytes(size_t n);                  /* any byte */
int32_t *kc_indices(size_t n, int32_t bound); /* in [0, bound) */
void *kc_copy(const void *source, size_t bytes);
uint32_t kc_random(void);

/* Outputs: a pattern that is no NaN and that no kernel writes. */
float *kc_blank(size_t n);
float *kc_lines(size_t n); /* whole lines: aligned to 64 bytes; what stands behind is not guarded to the byte */
void *kc_blank_bytes(size_t bytes);

/* Equal bits, where one NaN equals any other. A failure names kernel, level, length, flavour,
 * index and both values. */
#define kc_same_bits(want, got, n)      kc_same_floats(__FILE__, __LINE__, want, got, n)
#define kc_same_bits64(want, got, n)    kc_same_doubles(__FILE__, __LINE__, want, got, n)
#define kc_same_halves(want, got, n)    kc_same_16(__FILE__, __LINE__, want, got, n, 0x7c00)
#define kc_same_brains(want, got, n)    kc_same_16(__FILE__, __LINE__, want, got, n, 0x7f80)
#define kc_same_bytes(want, got, bytes) kc_same_memory(__FILE__, __LINE__, want, got, bytes)
void kc_same_floats(const char *file, int line, const float *want, const float *got, size_t n);
void kc_same_doubles(const char *file, int line, const double *want, const double *got,
                     size_t n);
void kc_same_16(const char *file, int line, const uint16_t *want, const uint16_t *got, size_t n,
                uint16_t infinity);
void kc_same_memory(const char *file, int line, const void *want, const void *got,
                    size_t bytes);
/* A claim of your own about the present slot. */
#define KC_CHECK(condition) kc_that(__FILE__, __LINE__, condition, #condition)
void kc_that(const char *file, int line, bool holds, const char *text);

/* With --bench, on plain data of few lengths: nanoseconds and instructions a call, best of
 * several batches. The call may be run any number of times. */
#define KC_BENCH(call)                                                                         \
    do {                                                                                       \
        if (kc_bench_begin())                                                                  \
            while (kc_bench_again())                                                           \
                for (int64_t kc_i = kc_bench_batch(); kc_i > 0; kc_i--) {                      \
                    call;                                                                      \
                }                                                                              \
    } while (0)
bool kc_bench_begin(void);
bool kc_bench_again(void);
int64_t kc_bench_batch(void);

/* Between kernel_check.c and kernel_bench.c. */
bool kc_wants_bench(void);
void kc_place(char *out, size_t bytes); /* "rms_norm_f32 at avx2, length 17, plain" */

#endif
