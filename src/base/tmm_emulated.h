/* tmm_emulated.h: the registers of tmm.h in C, for checks on processors that have none. What the instructions refuse is
 * counted and not done. */
#ifndef HN_BASE_TMM_EMULATED_H
#define HN_BASE_TMM_EMULATED_H

#if !defined(TMM_EMULATED)
#define TMM_EMULATED 1
#endif
#include "base/half.h"
#include "base/tmm.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct tmm_registers {
    uint8_t row[8][16][64];
    int rows[8], row_bytes[8];
    bool is_open;
    int n_refused;
} tmm_registers;
static _Thread_local tmm_registers tmm;

static inline bool tmm_refuse(bool is_bad)
{
    tmm.n_refused += is_bad;
    return is_bad;
}

static inline void tmm_close(void)
{
    const int n_refused = tmm.n_refused;
    tmm = (tmm_registers){ .n_refused = n_refused };
}

static inline void tmm_open(const tmm_shapes *shapes)
{
    bool is_bad = shapes->palette != 1 || shapes->from_row != 0;
    for (int i = 0; i < 14; i++)
        is_bad = is_bad || shapes->none[i];
    for (int t = 0; t < 16; t++)
        is_bad = is_bad || shapes->rows[t] > (t < 8 ? 16 : 0) || shapes->row_bytes[t] > (t < 8 ? 64 : 0) ||
                 !shapes->rows[t] != !shapes->row_bytes[t];
    tmm_close();
    if (tmm_refuse(is_bad))
        return;
    tmm.is_open = true;
    for (int t = 0; t < 8; t++) {
        tmm.rows[t] = shapes->rows[t];
        tmm.row_bytes[t] = shapes->row_bytes[t];
    }
}

static inline void tmm_zero(int t)
{
    if (!tmm_refuse(!tmm.is_open || !tmm.rows[t]))
        memset(tmm.row[t], 0, sizeof tmm.row[t]);
}

static inline void tmm_load(int t, const void *from, int64_t stride)
{
    if (tmm_refuse(!tmm.is_open || !tmm.rows[t]))
        return;
    memset(tmm.row[t], 0, sizeof tmm.row[t]);
    for (int i = 0; i < tmm.rows[t]; i++)
        memcpy(tmm.row[t][i], (const char *)from + i * stride, (size_t)tmm.row_bytes[t]);
}

static inline void tmm_store(int t, void *to, int64_t stride)
{
    if (tmm_refuse(!tmm.is_open || !tmm.rows[t]))
        return;
    for (int i = 0; i < tmm.rows[t]; i++)
        memcpy((char *)to + i * stride, tmm.row[t][i], (size_t)tmm.row_bytes[t]);
}

static inline bool tmm_may_dot(int c, int a, int b)
{
    return !tmm_refuse(!tmm.is_open || !tmm.rows[c] || !tmm.rows[a] || !tmm.rows[b] || c == a || c == b || a == b ||
                       tmm.row_bytes[c] != tmm.row_bytes[b] || tmm.rows[c] != tmm.rows[a] ||
                       tmm.row_bytes[a] != 4 * tmm.rows[b] || tmm.row_bytes[c] % 4);
}

/* Which numbers just below 2^-126 are rounded up to it is the processor's secret: kernels let none near. */
static inline float tmm_normal(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static inline float tmm_half(const uint8_t *word, int half)
{
    return tmm_normal(hn_bf16_to_f32((uint16_t)(word[2 * half] | word[2 * half + 1] << 8)));
}

static inline void tmm_dot_bf16(int c, int a, int b)
{
    for (int i = 0; tmm_may_dot(c, a, b) && i < tmm.rows[c]; i++)
        for (int j = 0; j < tmm.row_bytes[c] / 4; j++) {
            float sum[2] = { 0, 0 }, to;
            for (int p = 0; p < tmm.rows[b]; p++)
                for (int half = 0; half < 2; half++)
                    sum[half] = tmm_normal(fmaf(tmm_half(&tmm.row[a][i][4 * p], half),
                                                tmm_half(&tmm.row[b][p][4 * j], half), sum[half]));
            memcpy(&to, &tmm.row[c][i][4 * j], sizeof to);
            to = tmm_normal(tmm_normal(to) + tmm_normal(sum[0] + sum[1]));
            memcpy(&tmm.row[c][i][4 * j], &to, sizeof to);
        }
}

static inline void tmm_dot_bytes(int c, int a, int b)
{
    for (int i = 0; tmm_may_dot(c, a, b) && i < tmm.rows[c]; i++)
        for (int j = 0; j < tmm.row_bytes[c] / 4; j++) {
            uint32_t to;
            memcpy(&to, &tmm.row[c][i][4 * j], sizeof to);
            for (int at = 0; at < tmm.row_bytes[a]; at++)
                to += (uint32_t)((int8_t)tmm.row[a][i][at] * (int8_t)tmm.row[b][at / 4][4 * j + at % 4]);
            memcpy(&tmm.row[c][i][4 * j], &to, sizeof to);
        }
}

static inline void tmm_narrow(void *to, const void *from)
{
    for (int i = 0; i < 32; i++) {
        float x;
        memcpy(&x, (const char *)from + i * (int)sizeof x, sizeof x);
        const uint16_t half = hn_f32_to_bf16(tmm_normal(x));
        memcpy((char *)to + i * (int)sizeof half, &half, sizeof half);
    }
}

#define TMM_OPEN(shapes)          tmm_open(shapes)
#define TMM_CLOSE()               tmm_close()
#define TMM_ZERO(t)               tmm_zero(t)
#define TMM_LOAD(t, from, stride) tmm_load(t, from, stride)
#define TMM_STORE(t, to, stride)  tmm_store(t, to, stride)
#if !defined(TMM_DOT_BF16)
#define TMM_DOT_BF16(c, a, b) tmm_dot_bf16(c, a, b)
#endif
#define TMM_LEAVE()               ((void)0)
#if !defined(TMM_NARROW)
#define TMM_NARROW(to, from) tmm_narrow(to, from)
#endif
#if !defined(TMM_DOT_BYTES)
#define TMM_DOT_BYTES(c, a, b) tmm_dot_bytes(c, a, b)
#endif

#endif
