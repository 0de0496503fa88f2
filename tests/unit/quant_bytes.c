/* Encoders give the same bytes on every machine, by every compiler: digests of some rows,
 * normal and heavy-tailed, without importance and with it. Who changes an encoder writes them
 * anew: the program prints the table with --print. */
#include "base/rng.h"
#include "quant/format.h"
#include "tests/harness/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { N = 4096 };

/* clang-format off */
static const struct {
    const char *format;
    uint64_t plain, weighted;
} known[HN_N_FORMATS] = {
    { "q8_0", 0x611b5852186e4d03, 0xec2e8ffa9b931d81 },
    { "q4_0", 0xe344832fb1b05756, 0xe644056672cfdab4 },
    { "q4_k", 0x36564b440dbaa8bb, 0x6fad3c430e9c8d56 },
    { "q6_k", 0x9ddd04784c8e4b24, 0x4b0ab0712961e37f },
    { "q4_1", 0x407fc339fdd94229, 0x971042f8ee9cb240 },
    { "q5_0", 0x3b26fc5a2d0f182e, 0x6eaaabf65e3bf645 },
    { "q5_1", 0x0c9a64fb5a36986c, 0x97c21e14db48c49c },
    { "q2_k", 0xb46bec0faaf2cb6d, 0x8e7a49e18a419274 },
    { "q3_k", 0x4fefba666d6a7e9b, 0x7c6400e443644528 },
    { "q5_k", 0xa8efc812038112fa, 0x1727ff30eb0db146 },
    { "iq4_nl", 0x9ddfcc2ea80eae07, 0xe22ffa8757f2752a },
    { "iq4_xs", 0xfcd718406ce89c8c, 0xef740bdeefcba0be },
    { "mxfp4", 0x262ba92e4286d987, 0x042d10dc30f63f39 },
    { "nvfp4", 0xbc708d53c1b13202, 0xc4a7e755c828b222 },
    { "tq1_0", 0x3f9a10312ff2cc68, 0x1cb010cd64bcbfe1 },
    { "tq2_0", 0xc175440a991053fe, 0x870ef2b26b65f2a7 },
    { "q1_0", 0x8976b7e27c6cf7b4, 0xcfc3b5b39523fd7a },
    { "q2_0", 0xae997fb0039bc620, 0xecfa72f28af2ea99 },
};
/* clang-format on */

static float bell(hn_rng_key key, uint64_t i)
{
    float sum = 0;
    for (uint64_t k = 0; k < 12; k++)
        sum += hn_rng_uniform(key, 12 * i + k);
    return sum - 6;
}

static uint64_t digest(const uint8_t *bytes, int64_t n)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (int64_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

int main(int argc, char **argv)
{
    static float x[N], weight[N];
    static uint8_t blocks[4 * N];
    check_open(argc, argv);
    for (int i = 0; i < N; i++) {
        const float z = bell(hn_rng_seed(1), (uint64_t)i);
        x[i] = i < N / 2 ? z * 0.02f : z * z * z * 0.02f;
        weight[i] = hn_rng_uniform(hn_rng_seed(2), (uint64_t)i) + 0.01f;
    }
    for (int f = 0; f < HN_N_FORMATS; f++) {
        const hn_format *format = hn_formats[f];
        uint64_t found[2];
        if (!format->encode)
            continue;
        for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
            CHECK_OK(hn_format_encode(format, x, N, blocks, is_weighted ? weight : NULL));
            found[is_weighted] = digest(blocks, hn_format_bytes(format, N));
        }
        if (check_flag("--print"))
            printf("    { \"%s\", 0x%016" PRIx64 ", 0x%016" PRIx64 " },\n", format->name,
                   found[0], found[1]);
        check_group(format->name);
        CHECK_TEXT(format->name, known[f].format ? known[f].format : "");
        CHECK_THAT(known[f].plain == found[0], "plain: %016" PRIx64, found[0]);
        CHECK_THAT(known[f].weighted == found[1], "weighted: %016" PRIx64, found[1]);
    }
    return check_close();
}
