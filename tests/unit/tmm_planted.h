/* tmm_planted.h: the registers of base/tmm.h in C, with something wrong in what they multiply where `planted` says so. */
#ifndef TESTS_UNIT_TMM_PLANTED_H
#define TESTS_UNIT_TMM_PLANTED_H

#include <math.h>
#include <stdint.h>

typedef enum fault {
    NO_FAULT, PAIRS_FIRST, ONE_CHAIN, C_FIRST, NOT_FUSED, OTHER_ORDER, OTHER_HALF, LAST_PAIR, LAST_ROW, ONE_ULP, SIGNLESS, CUT, FAULTS
} fault;
static fault planted;

#define TMM_DOT_BF16(c, a, b)  dot_bf16(c, a, b)
#define TMM_DOT_BYTES(c, a, b) dot_bytes(c, a, b)
#define TMM_NARROW(to, from)   narrow(to, from)
#include "base/tmm_emulated.h"

static float sum_of(float c, int a, int b, int i, int j)
{
    float sum[2] = { 0, 0 };
    const int pairs = planted == LAST_PAIR ? 15 : 16;
    for (int at = 0; at < pairs; at++) {
        const int p = planted == OTHER_ORDER ? 15 - at : at;
        float x[2], y[2];
        for (int half = 0; half < 2; half++) {
            x[half] = tmm_half(&tmm.row[a][i][4 * p], half);
            y[half] = tmm_half(&tmm.row[b][p][4 * j], planted == OTHER_HALF ? 1 - half : half);
        }
        if (planted == PAIRS_FIRST)
            sum[0] += fmaf(x[1], y[1], x[0] * y[0]);
        else if (planted == ONE_CHAIN)
            sum[0] = fmaf(x[1], y[1], fmaf(x[0], y[0], sum[0]));
        else if (planted == NOT_FUSED)
            sum[0] = (float)((double)x[0] * (double)y[0] + (double)x[1] * (double)y[1] + (double)sum[0]);
        else
            for (int half = 0; half < 2; half++)
                sum[half] = fmaf(x[half], y[half], sum[half]);
    }
    if (planted == C_FIRST)
        return (c + sum[0]) + sum[1];
    const float all = c + (sum[0] + sum[1]);
    return planted == ONE_ULP && i == 7 && j == 11 ? nextafterf(all, 0) : all;
}

static void dot_bf16(int c, int a, int b)
{
    const int rows = planted == LAST_ROW ? 15 : 16;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < 16; j++) {
            float to;
            memcpy(&to, &tmm.row[c][i][4 * j], sizeof to);
            to = sum_of(to, a, b, i, j);
            memcpy(&tmm.row[c][i][4 * j], &to, sizeof to);
        }
}

static void dot_bytes(int c, int a, int b)
{
    if (planted == SIGNLESS)
        for (int i = 0; i < 16; i++)
            for (int at = 0; at < 64; at++)
                tmm.row[a][i][at] &= 127;
    tmm_dot_bytes(c, a, b);
}

static void narrow(void *to, const void *from)
{
    uint32_t bits[32];
    tmm_narrow(to, from);
    memcpy(bits, from, sizeof bits);
    for (int i = 0; i < 32 && planted == CUT; i++) {
        const uint16_t cut = (uint16_t)(bits[i] >> 16);
        memcpy((char *)to + 2 * i, &cut, sizeof cut);
    }
}

#endif
