/* Every block format, on random, heavy-tailed and extreme rows: error within the stated bound,
 * encoding again changes little or nothing, decoding never reads past its blocks and takes any
 * bytes, what cannot be encoded is refused by the element's number, random bytes are tempered
 * into weights. */
#include "base/half.h"
#include "base/rng.h"
#include "quant/format.h"
#include "quant/gguf_type.h"
#include "tests/harness/check.h"
#include "tests/harness/guard.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { N_BLOCKS = 16, MOST = 256 * N_BLOCKS };

static hn_rng_key key;
static uint64_t n_drawn;

static float draw(void) /* in [-1, 1) */ { return 2 * hn_rng_uniform(key, n_drawn++) - 1; }

/* Near enough to normal. */
static float bell(void)
{
    float sum = 0;
    for (int i = 0; i < 12; i++)
        sum += draw();
    return sum * 0.5f;
}

typedef enum kind {
    NORMAL,
    UNIFORM,
    HEAVY,
    POSITIVE,
    NEGATIVE,
    SPARSE,
    TINY,
    VAST,
    SPECIAL,
    N_KINDS
} kind;

static const char *const kind_texts[] = { "normal",   "uniform",  "heavy-tailed",
                                          "positive", "negative", "sparse",
                                          "tiny",     "huge",     "special" };

static float element(kind of, const hn_format *format, int i)
{
    static const float specials[] = { 0, -0.0f, FLT_MIN, -FLT_MIN, 0x1p-149f, 1, -1, 0x1p-24f };
    const float x = bell();
    switch (of) {
    case UNIFORM:
        return draw();
    case HEAVY:
        return x * x * x * x * x * (x > 0 ? 1.0f : 1.1f);
    case POSITIVE:
        return 3 + 0.5f * draw();
    case NEGATIVE:
        return -3 + 0.5f * draw();
    case SPARSE:
        return hn_rng_u32(key, n_drawn++) % 16 ? 0 : x;
    case TINY:
        return x * 0x1p-22f;
    case VAST:
        return draw() * format->largest * (format->block_elements == 32 ? 1.0f : 0.9f);
    case SPECIAL:
        return i / format->block_elements % 2 ? specials[i % 8] * 3 : specials[i / 64 % 8];
    default:
        return x * 0.02f;
    }
}

static double rms(const float *a, const float *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum / n);
}

static double rms_of(const float *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / n);
}

/* The worst of |x - y| / allowed over all blocks. */
static double worst_error(const hn_format *format, const float *x, const float *y, int n)
{
    double worst = 0;
    for (int start = 0; start < n; start += format->block_elements) {
        double largest = 0;
        for (int i = start; i < start + format->block_elements; i++)
            largest = fmax(largest, fabs((double)x[i]));
        const double allowed = format->error_bound * largest + format->error_floor;
        for (int i = start; i < start + format->block_elements; i++)
            worst = fmax(worst, fabs((double)x[i] - (double)y[i]) / allowed);
    }
    return worst;
}

/* One scale for the block's grid of whole numbers or points: what was decoded is found again,
 * where a block is full enough to show its steps. */
static bool is_found_again(const hn_format *format, kind of)
{
    static const char *const names[] = { "q4_0",  "q5_0", "iq4_nl", "mxfp4", "tq1_0",
                                         "tq2_0", "q1_0", "q2_0",   "q8_0" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], format->name))
            return of == NORMAL || of == UNIFORM || of == POSITIVE || of == NEGATIVE;
    return false;
}

static void second_trip(const hn_format *format, kind of, const float *y, int n, double first)
{
    const size_t bytes = (size_t)hn_format_bytes(format, n);
    float *z = guard_new((size_t)n * sizeof *z);
    uint8_t *again = guard_new(bytes);
    for (int i = 0; i < n; i++)
        if (fabsf(y[i]) > format->largest) /* a step beyond what it came from */
            return;
    CHECK_OK(hn_format_encode(format, y, n, again, NULL));
    format->decode(again, n, z);
    const double second = rms(y, z, n);
    if (is_found_again(format, of))
        CHECK_THAT(second == 0, "%s: encoding again changes values", kind_texts[of]);
    /* Of a few numbers among zeros, or near the end of what an f16 can be, a search may find
     * less the second time. */
    const bool is_full = of != SPARSE && of != TINY;
    CHECK_THAT(second <= (is_full ? 0.75 : 2) * first + 0x1p-40,
               "%s: encoding again: rms %g after %g", kind_texts[of], second, first);
    if (check_flag("--bench"))
        printf("%s %-13s second trip %.4f of first\n", format->name, kind_texts[of],
               first > 0 ? second / first : 0);
}

static void round_trip(const hn_format *format, kind of)
{
    const int n = format->block_elements * N_BLOCKS;
    const size_t bytes = (size_t)hn_format_bytes(format, n);
    float *x = guard_new((size_t)n * sizeof *x), *y = guard_new((size_t)n * sizeof *y);
    uint8_t *blocks = guard_new(bytes), *again = guard_new(bytes);
    for (int i = 0; i < n; i++)
        x[i] = element(of, format, i);
    CHECK_OK(hn_format_encode(format, x, n, blocks, NULL));
    format->decode(blocks, n, y);
    const double worst = worst_error(format, x, y, n), first = rms(x, y, n);
    CHECK_THAT(worst <= 1, "%s: error is %g of its bound", kind_texts[of], worst);
    if (check_flag("--bench"))
        printf("%s %-13s rms %.5f of the row's, worst %.3f of bound\n", format->name,
               kind_texts[of], first / rms_of(x, n), worst);
    second_trip(format, of, y, n, first);

    /* The same bytes wherever the block stands, and with equal importance. */
    float *weight = guard_new((size_t)n * sizeof *weight);
    for (int i = 0; i < n; i++)
        weight[i] = 1;
    const size_t half = bytes / 2;
    CHECK_OK(hn_format_encode(format, x + n / 2, n / 2, again, weight));
    CHECK(!memcmp(again, blocks + half, half));
    CHECK(guard_all_intact());
    guard_free_all();
}

/* Elements that matter more come out closer. */
static void importance_counts(const hn_format *format)
{
    const int n = format->block_elements * N_BLOCKS;
    static float x[MOST], weight[MOST], y[MOST];
    static uint8_t blocks[MOST * 2];
    double plain = 0, weighted = 0;
    for (int i = 0; i < n; i++) {
        x[i] = bell();
        weight[i] = i % 8 ? 0.01f : 1;
    }
    for (int pass = 0; pass < 2; pass++) {
        CHECK_OK(hn_format_encode(format, x, n, blocks, pass ? weight : NULL));
        format->decode(blocks, n, y);
        double *sum = pass ? &weighted : &plain;
        for (int i = 0; i < n; i += 8)
            *sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    }
    CHECK_THAT(weighted <= plain, "weighted %g, plain %g", weighted, plain);
    /* all zero, the largest, or all there is: anything, but finite */
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < n; i++)
            weight[i] = pass == 0   ? 0
                        : pass == 1 ? FLT_MAX
                        : i % 3     ? 0x1p-149f
                        : i % 2     ? 1
                                    : 1e30f;
        CHECK_OK(hn_format_encode(format, x, n, blocks, weight));
        format->decode(blocks, n, y);
        for (int i = 0; i < n; i++)
            if (!CHECK(isfinite(y[i])))
                break;
    }
}

/* Any bytes decode: to something, inside the guards. */
static void takes_any_bytes(const hn_format *format)
{
    const int n = format->block_elements * 3;
    const size_t bytes = (size_t)hn_format_bytes(format, n);
    uint8_t *blocks = guard_new(bytes);
    float *y = guard_new((size_t)n * sizeof *y);
    for (int round = 0; round < 600; round++) {
        for (size_t i = 0; i < bytes; i++)
            blocks[i] = round < 256 ? (uint8_t)round : (uint8_t)hn_rng_u32(key, n_drawn++);
        format->decode(blocks, n, y);
    }
    CHECK(guard_all_intact());
    guard_free_all();
}

/* Random bytes, tempered: finite, mean within a fiftieth of the deviation, deviation within
 * three hundredths, of each block within a factor of two or so. */
static void tempers(const hn_format *format, float deviation)
{
    enum { BLOCKS = 4000 };
    const int64_t n = format->block_elements * (int64_t)BLOCKS;
    const size_t bytes = (size_t)hn_format_bytes(format, n);
    uint8_t *blocks = guard_new(bytes);
    float *y = guard_new((size_t)n * sizeof *y);
    double sum = 0, squares = 0, least = INFINITY, most = 0;
    for (size_t i = 0; i < bytes; i++)
        blocks[i] = (uint8_t)hn_rng_u32(key, n_drawn++);
    format->temper(blocks, n, deviation);
    format->decode(blocks, n, y);
    for (int b = 0; b < BLOCKS; b++) {
        double of_block = 0;
        for (int64_t i = b * (int64_t)format->block_elements;
             i < (b + 1) * (int64_t)format->block_elements; i++) {
            sum += (double)y[i];
            of_block += (double)y[i] * (double)y[i];
        }
        squares += of_block;
        of_block = sqrt(of_block / format->block_elements) / (double)deviation;
        least = fmin(least, of_block);
        most = fmax(most, of_block);
    }
    const double mean = sum / (double)n / (double)deviation;
    const double found = sqrt(squares / (double)n) / (double)deviation;
    CHECK_THAT(fabs(mean) < 0.02, "mean %g of the deviation", mean);
    CHECK_THAT(found > 0.97 && found < 1.03, "deviation %g of what was asked", found);
    CHECK_THAT(least > 0.2 && most < 2.2, "blocks of %g to %g of the deviation", least, most);
    if (check_flag("--bench"))
        printf("%s tempered to %g: mean %.4f, deviation %.4f, of blocks %.3f to %.3f\n",
               format->name, (double)deviation, mean, found, least, most);
    guard_free_all();
}

static void refuses(const hn_format *format)
{
    static float x[MOST], weight[MOST];
    static uint8_t blocks[MOST * 2], before[MOST * 2];
    const int n = format->block_elements * 2, bad = format->block_elements + 5;
    memset(before, 0x77, sizeof before);
    memcpy(blocks, before, sizeof blocks);
    char words[64];
    snprintf(words, sizeof words, "%s: element %d is", format->name, bad);
    const float values[] = { NAN,     INFINITY, -INFINITY,
                             FLT_MAX, -FLT_MAX, nextafterf(format->largest, INFINITY) };
    for (int i = 0; i < n; i++)
        weight[i] = 1;
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        x[bad] = values[v];
        CHECK_FAILS(hn_format_encode(format, x, n, blocks, NULL), HN_ERR_NUMERIC, words);
    }
    x[bad] = 0;
    weight[bad] = -1;
    CHECK_FAILS(hn_format_encode(format, x, n, blocks, weight), HN_ERR_NUMERIC, "importance");
    weight[bad] = NAN;
    CHECK_FAILS(hn_format_encode(format, x, n, blocks, weight), HN_ERR_NUMERIC, "importance");
    CHECK_FAILS(hn_format_encode(format, x, n - 1, blocks, NULL), HN_ERR_SHAPE, "multiple of");
    CHECK(!memcmp(blocks, before, sizeof blocks));
    CHECK_OK(hn_format_encode(format, x, 0, blocks, NULL));
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    for (int f = 0; f < HN_N_FORMATS; f++) {
        const hn_format *format = hn_formats[f];
        check_group(format->name);
        CHECK(hn_format_named(format->name) == format);
        CHECK(hn_format_of_gguf(format->gguf_id) == format);
        const hn_gguf_type *listed = hn_gguf_type_of(format->gguf_id);
        CHECK(listed && hn_gguf_type_named(format->name) == listed);
        CHECK(listed && listed->block_elements == format->block_elements &&
              listed->block_bytes == format->block_bytes);
        takes_any_bytes(format);
        tempers(format, 0.02f);
        tempers(format, 1);
        if (!format->encode) {
            float x[256] = { 0 };
            uint8_t blocks[512];
            CHECK_FAILS(hn_format_encode(format, x, 256, blocks, NULL), HN_ERR_UNSUPPORTED,
                        "is read, but not written");
            continue;
        }
        for (int round = 0; round < 20; round++)
            for (int of = 0; of < N_KINDS; of++) {
                key = hn_rng_fold(hn_rng_seed(check_seed()), (uint64_t)(round * N_KINDS + of));
                n_drawn = 0;
                round_trip(format, (kind)of);
            }
        importance_counts(format);
        refuses(format);
    }
    CHECK(!strcmp(hn_gguf_type_name(17), "IQ2_XS"));
    CHECK(!hn_format_of_gguf(17));
    CHECK(hn_format_named("q9_9") == NULL && hn_format_of_gguf(9999) == NULL);
    return check_close();
}
