/* tmm_trial.h: whether a matrix unit gives the bits of tmm.h: products of 32 x 32 x 32 whose sums come out otherwise in
 * another order, if a pair is added first, or if anything is rounded less often or elsewhere. Nothing in it is subnormal. */
#ifndef HN_BASE_TMM_TRIAL_H
#define HN_BASE_TMM_TRIAL_H

#include "base/half.h"
#include "base/tmm.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct tmm_case {
    uint16_t a[32][32], b[32][32]; /* [row][k], [column][k] */
    float c[32][32];
} tmm_case;

static inline uint32_t tmm_draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Near one and far, of either sign, some of them zero. */
static inline void tmm_fill(tmm_case *t, uint32_t seed)
{
    uint32_t s = seed;
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < 32; k++) {
            const uint32_t x = tmm_draw(&s), y = tmm_draw(&s), z = tmm_draw(&s);
            t->a[i][k] = (uint16_t)(x % 31 ? (x & 1) << 15 | (120 + x / 2 % 14) << 7 | (x >> 16 & 127) : 0);
            t->b[i][k] = (uint16_t)(y % 29 ? (y & 1) << 15 | (120 + y / 2 % 14) << 7 | (y >> 16 & 127) : 0);
            t->c[i][k] = hn_f32_from_bits((z & 1) << 31 | (118 + z / 2 % 18) << 23 | (z * 2654435761u) >> 9);
        }
}

static inline float tmm_define(const tmm_case *t, int i, int j)
{
    float sum[2] = { 0, 0 };
    for (int k = 0; k < 32; k++)
        sum[k % 2] = fmaf(hn_bf16_to_f32(t->a[i][k]), hn_bf16_to_f32(t->b[j][k]), sum[k % 2]);
    const float both = sum[0] + sum[1];
    return t->c[i][j] + both;
}

static inline bool tmm_try_bf16(uint32_t seed)
{
    static const tmm_shapes shapes = { .palette = 1, .row_bytes = { 64, 64, 64, 64, 64, 64, 64, 64 },
                                       .rows = { 16, 16, 16, 16, 16, 16, 16, 16 } };
    tmm_case t;
    uint16_t b[16][64];
    float c[32][32];
    tmm_fill(&t, seed);
    for (int k = 0; k < 32; k++)
        for (int j = 0; j < 32; j++)
            b[k / 2][2 * j + k % 2] = t.b[j][k];
    TMM_OPEN(&shapes);
    TMM_LOAD(0, t.c[0], sizeof t.c[0]);
    TMM_LOAD(1, &t.c[0][16], sizeof t.c[0]);
    TMM_LOAD(2, t.c[16], sizeof t.c[0]);
    TMM_LOAD(3, &t.c[16][16], sizeof t.c[0]);
    TMM_LOAD(4, t.a[0], sizeof t.a[0]);
    TMM_LOAD(5, t.a[16], sizeof t.a[0]);
    TMM_LOAD(6, b[0], sizeof b[0]);
    TMM_LOAD(7, &b[0][32], sizeof b[0]);
    TMM_DOT_BF16(0, 4, 6);
    TMM_DOT_BF16(1, 4, 7);
    TMM_DOT_BF16(2, 5, 6);
    TMM_DOT_BF16(3, 5, 7);
    TMM_STORE(0, c[0], sizeof c[0]);
    TMM_STORE(1, &c[0][16], sizeof c[0]);
    TMM_STORE(2, c[16], sizeof c[0]);
    TMM_STORE(3, &c[16][16], sizeof c[0]);
    TMM_CLOSE();
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++) {
            const float want = tmm_define(&t, i, j);
            if (memcmp(&want, &c[i][j], sizeof want) != 0)
                return false;
        }
    return true;
}

/* Registers of other shapes, all that bytes can say, and sums that go on. */
static inline bool tmm_try_bytes(uint32_t seed)
{
    static const tmm_shapes shapes = { .palette = 1, .row_bytes = { 64, 64, 0, 0, 32, 16, 64, 64 },
                                       .rows = { 16, 16, 0, 0, 16, 16, 8, 4 } };
    int8_t a[16][32];
    int8_t b[8][64];
    int32_t c[2][16][16];
    uint32_t s = seed;
    for (int i = 0; i < 16 * 32; i++) {
        a[i / 32][i % 32] = (int8_t)(tmm_draw(&s) % 256 - 128);
        b[i / 64][i % 64] = (int8_t)(tmm_draw(&s) % 256 - 128);
    }
    TMM_OPEN(&shapes);
    TMM_ZERO(0);
    TMM_ZERO(1);
    TMM_LOAD(4, a[0], sizeof a[0]);
    TMM_LOAD(5, &a[0][16], sizeof a[0]);
    TMM_LOAD(6, b[0], sizeof b[0]);
    TMM_LOAD(7, b[4], sizeof b[0]);
    TMM_DOT_BYTES(0, 4, 6);
    TMM_DOT_BYTES(1, 5, 7);
    TMM_DOT_BYTES(1, 5, 7);
    TMM_STORE(0, c[0][0], sizeof c[0][0]);
    TMM_STORE(1, c[1][0], sizeof c[1][0]);
    TMM_CLOSE();
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int32_t want[2] = { 0, 0 };
            for (int k = 0; k < 32; k++) {
                const int32_t product = a[i][k] * b[k / 4][4 * j + k % 4];
                want[0] += product;
                want[1] += k < 16 ? 0 : 2 * product;
            }
            if (want[0] != c[0][i][j] || want[1] != c[1][i][j])
                return false;
        }
    return true;
}

/* Halves between two bf16 and what is next to them, infinities and what becomes one, NaNs, and what is subnormal. */
static inline bool tmm_try_narrow(void)
{
    static const uint32_t hard[] = { 0x3f808000, 0x3f818000, 0x3f808001, 0x3f817fff, 0x3f80ffff, 0x7f7f7fff, 0x7f7f8000, 0x7f800000,
                                     0x7f800001, 0x7fc12345, 0x7fffffff, 0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x00ffffff };
    float from[32];
    uint16_t to[32];
    for (int i = 0; i < 32; i++)
        from[i] = hn_f32_from_bits(hard[i / 2] | (uint32_t)(i % 2) << 31);
    TMM_NARROW(to, from);
    TMM_LEAVE();
    for (int i = 0; i < 32; i++) {
        const uint32_t bits = hard[i / 2] & 0x7f800000 ? hard[i / 2] : 0;
        if (to[i] != hn_f32_to_bf16(hn_f32_from_bits(bits | (uint32_t)(i % 2) << 31)))
            return false;
    }
    return true;
}

static inline bool tmm_trial(void)
{
    bool is_right = tmm_try_narrow();
    for (uint32_t seed = 1; seed <= 4; seed++)
        is_right = is_right && tmm_try_bf16(seed) && tmm_try_bytes(seed);
    return is_right;
}

#endif
