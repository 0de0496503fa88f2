#include "tests/kernels/int8_blocks.h"

#include "base/half.h"

#include <string.h>

static float half(const uint8_t *x) { return hn_f16_to_f32((uint16_t)(x[0] | x[1] << 8)); }

/* Six bits of a scale and of a minimum of Q4_K and Q5_K. */
static void k_pair(const uint8_t *s, int j, int *scale, int *minimum)
{
    *scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
    *minimum = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | s[j] >> 6 << 4;
}

static int nibble_of(const uint8_t *q, int i) { return i < 16 ? q[i] & 15 : q[i - 16] >> 4; }

static const int iq4[16] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };
static const int fp4[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

static float e8m0(int e) { return e < 2 ? (e ? 0x1p-127f : 0x1p-128f) : hn_f32_from_bits((uint32_t)(e - 1) << 23); }

static float ue4m3(int code)
{
    const int e = code >> 3 & 15, m = code & 7;
    if (code == 0x7f)
        return 0;
    float x = e ? (float)(8 + m) * 0x1p-11f : (float)m * 0x1p-10f;
    for (int i = 0; i < e; i++)
        x *= 2;
    return x;
}

static int trit(const uint8_t *block, int at) /* of TQ1_0 */
{
    const int part = at < 160 ? 0 : at < 240 ? 1 : 2;
    const int first[3] = { 0, 160, 240 }, run[3] = { 32, 16, 4 }, bytes[3] = { 0, 32, 48 };
    const int in = at - first[part];
    int q = block[bytes[part] + in % run[part]];
    for (int t = 0; t < in / run[part]; t++)
        q = q * 3 & 255;
    return (q * 3 >> 8) - 1;
}

static void k_block(hn_elem type, const uint8_t *x, int g, int8_block *b)
{
    for (int half_of = 0; half_of < 2; half_of++) {
        const int run = 2 * g + half_of;
        switch ((int)type) {
        case HN_ELEM_q6_k:
            b->factor[half_of] = (int8_t)x[192 + run];
            break;
        case HN_ELEM_q3_k: {
            const uint8_t *s = x + 96;
            b->factor[half_of] = ((s[run % 8] >> (run < 8 ? 0 : 4) & 15) | (s[8 + run % 4] >> 2 * (run / 4) & 3) << 4) - 32;
            break;
        }
        case HN_ELEM_q2_k:
            b->factor[half_of] = x[run] & 15;
            b->less[half_of] = x[run] >> 4;
            break;
        }
    }
    for (int i = 0; i < 32; i++)
        switch ((int)type) {
        case HN_ELEM_q4_k:
            b->q[i] = x[16 + g / 2 * 32 + i] >> (g % 2 * 4) & 15;
            break;
        case HN_ELEM_q5_k:
            b->q[i] = (x[48 + g / 2 * 32 + i] >> (g % 2 * 4) & 15) | (x[16 + i] >> g & 1) << 4;
            break;
        case HN_ELEM_q6_k:
            b->q[i] = ((x[g / 4 * 64 + g % 2 * 32 + i] >> (g % 4 / 2 * 4) & 15) |
                       (x[128 + g / 4 * 32 + i] >> g % 4 * 2 & 3) << 4) - 32;
            break;
        case HN_ELEM_q3_k:
            b->q[i] = (x[32 + g / 4 * 32 + i] >> g % 4 * 2 & 3) - (x[i] >> g & 1 ? 0 : 4);
            break;
        case HN_ELEM_q2_k:
            b->q[i] = x[16 + g / 4 * 32 + i] >> g % 4 * 2 & 3;
            break;
        case HN_ELEM_iq4_xs:
            b->q[i] = iq4[nibble_of(x + 8 + 16 * g, i)];
            break;
        case HN_ELEM_tq1_0:
            b->q[i] = trit(x, 32 * g + i);
            break;
        case HN_ELEM_tq2_0:
            b->q[i] = (x[g / 4 * 32 + i] >> g % 4 * 2 & 3) - 1;
            break;
        }
    int scale = 0, minimum = 0;
    switch ((int)type) {
    case HN_ELEM_q4_k:
    case HN_ELEM_q5_k:
        k_pair(x + 4, g, &scale, &minimum);
        b->scale[0] = half(x) * (float)scale;
        b->minimum = half(x + 2) * (float)minimum;
        break;
    case HN_ELEM_q6_k:
        b->scale[0] = half(x + 208);
        break;
    case HN_ELEM_q3_k:
        b->scale[0] = half(x + 108);
        break;
    case HN_ELEM_q2_k:
        b->scale[0] = half(x + 80);
        b->minimum = half(x + 82);
        break;
    case HN_ELEM_iq4_xs:
        scale = (x[4 + g / 2] >> g % 2 * 4 & 15) | (x[2 + g / 4] >> g % 4 * 2 & 3) << 4;
        b->scale[0] = half(x) * (float)(scale - 32);
        break;
    case HN_ELEM_tq1_0:
        b->scale[0] = half(x + 52);
        break;
    case HN_ELEM_tq2_0:
        b->scale[0] = half(x + 64);
        break;
    }
}

static void short_block(hn_elem type, const uint8_t *x, int g, int8_block *b)
{
    uint32_t fifth = 0;
    b->scale[0] = half(x);
    if (type == HN_ELEM_mxfp4)
        b->scale[0] = e8m0(x[0]);
    if (type == HN_ELEM_q4_1 || type == HN_ELEM_q5_1)
        b->minimum = -half(x + 2);
    if (type == HN_ELEM_q5_0 || type == HN_ELEM_q5_1)
        memcpy(&fifth, x + (type == HN_ELEM_q5_0 ? 2 : 4), 4);
    for (int half_of = 0; type == HN_ELEM_nvfp4 && half_of < 2; half_of++)
        b->scale[half_of] = ue4m3(x[2 * g + half_of]);
    for (int i = 0; i < 32; i++)
        switch ((int)type) {
        case HN_ELEM_q8_0:
            b->q[i] = (int8_t)x[2 + i];
            break;
        case HN_ELEM_q4_0:
            b->q[i] = nibble_of(x + 2, i) - 8;
            break;
        case HN_ELEM_q4_1:
            b->q[i] = nibble_of(x + 4, i);
            break;
        case HN_ELEM_q5_0:
            b->q[i] = (nibble_of(x + 6, i) | (int)(fifth >> i & 1) << 4) - 16;
            break;
        case HN_ELEM_q5_1:
            b->q[i] = nibble_of(x + 8, i) | (int)(fifth >> i & 1) << 4;
            break;
        case HN_ELEM_iq4_nl:
            b->q[i] = iq4[nibble_of(x + 2, i)];
            break;
        case HN_ELEM_mxfp4:
            b->q[i] = fp4[nibble_of(x + 1, i)];
            break;
        case HN_ELEM_nvfp4: {
            const uint8_t both = x[4 + 8 * (2 * g + i / 16) + i % 8];
            b->q[i] = fp4[i % 16 < 8 ? both & 15 : both >> 4];
            break;
        }
        case HN_ELEM_q1_0:
            b->q[i] = x[2 + 4 * g + i / 8] >> i % 8 & 1 ? 1 : -1;
            break;
        case HN_ELEM_q2_0:
            b->q[i] = (x[2 + 8 * g + i / 4] >> i % 4 * 2 & 3) - 1;
            break;
        }
}

int8_block int8_block_of(hn_elem type, const uint8_t *row, int64_t at)
{
    int8_block b = { { 0 }, { 0, 0 }, 0, { 0, 0 }, { 0, 0 } };
    const int64_t each = hn_elem_block(type) / 32;
    const uint8_t *x = row + at / each * hn_elem_bytes(type);
    (hn_elem_block(type) == 256 ? k_block : short_block)(type, x, (int)(at % each), &b);
    return b;
}
