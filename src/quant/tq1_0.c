/* tq1_0: y = d * (t - 1), t 0, 1 or 2. 256 elements, five to a byte, and one f16 scale: 1.6875
 * bits a weight. A byte is the fraction 0.t0 t1 t2 t3 t4 in base three, of 256, rounded up: the
 * carry out of 3 times it is t0, and the rest goes on. Bytes 0 .. 31 hold elements m, m + 32 ..
 * m + 128; 32 .. 47 hold 160 + m, m + 16 .. m + 64; the last four hold 240 + m .. m + 12, four
 * each. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_tq1_0 };

typedef struct block {
    uint8_t q[52];
    uint8_t d[2]; /* f16 */
} block;

_Static_assert(sizeof(block) == HN_BYTES_tq1_0, "as in GGUF");

/* Exact for what is ternary already; the rest for bells and for long tails. */
static const float spans[] = { 1, 1.5f, 2, 2.5f, 3.2f, 4.5f, 7, 12 };
static const hn_grid grid = { -1, 1, NULL, sizeof spans / sizeof *spans, spans };

/* Bytes [first, end) hold `each` elements, `end - first` apart, from element `start` on. */
static const struct {
    int first, end, each, start;
} runs[] = { { 0, 32, 5, 0 }, { 32, 48, 5, 160 }, { 48, 52, 4, 240 } };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int r = 0; r < 3; r++)
            for (int at = runs[r].first; at < runs[r].end; at++) {
                unsigned rest = b[i].q[at];
                int j = runs[r].start + at - runs[r].first;
                for (int t = 0; t < runs[r].each; t++, j += runs[r].end - runs[r].first) {
                    out[j] = d * (float)((int)(rest * 3 >> 8) - 1);
                    rest = rest * 3 & 255;
                }
            }
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_samples samples;
    float q[BLOCK];
    hn_samples_take(&samples, BLOCK, x, weight);
    hn_store_16(out->d, hn_grid_fit_f16(&grid, &samples, BLOCK, q));
    for (int r = 0; r < 3; r++)
        for (int at = runs[r].first; at < runs[r].end; at++) {
            int digits = 0, j = runs[r].start + at - runs[r].first;
            for (int t = 0; t < 5; t++, j += runs[r].end - runs[r].first)
                digits = digits * 3 + (t < runs[r].each ? (int)q[j] + 1 : 0);
            out->q[at] = (uint8_t)((digits * 256 + 242) / 243);
        }
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        hn_temper_f16(b[i].d, deviation / 0.8165f);
}

const hn_format hn_format_tq1_0 = {
    HN_FORMAT_HEAD(tq1_0),
    .largest = 65504,
    .error_bound = 1,
    .error_floor = 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
