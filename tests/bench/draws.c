/* What a draw costs among so many words, setting by setting: the median of some draws, in microseconds.
 *
 *     build/tests/bench/draws [WORDS [DRAWS]]
 *
 * Logits are a bell's, of a deviation of 2.5, and thirty words stand out of it by up to 12, as where a model knows what to say. Before each
 * draw 4 MB of other numbers are read, as a model reads its weights. */
#include "base/os/clock.h"
#include "base/rng.h"
#include "infer/sampler.h"

#include <stdio.h>
#include <stdlib.h>

enum { N_SAID = 512, OTHER = 1 << 20 };

static float other[OTHER];

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double read_other(void)
{
    double sum = 0;
    for (int i = 0; i < OTHER; i += 16)
        sum += (double)(other[i] += 1);
    return sum;
}

static void make(int32_t n, float *logits, uint64_t *allowed, int32_t *said)
{
    const hn_rng_key key = hn_rng_seed(1);
    for (int32_t i = 0; i < n; i++) {
        float sum = -6;
        for (uint64_t k = 0; k < 12; k++)
            sum += hn_rng_uniform(key, 12 * (uint64_t)i + k);
        logits[i] = 2.5f * sum;
        allowed[i / 64] |= (uint64_t)(i % 8 < 3) << i % 64;
    }
    for (int i = 0; i < 30; i++)
        logits[hn_rng_below(key, (uint64_t)i, (uint32_t)n)] = 10 + 0.4f * (float)i;
    for (int i = 0; i < N_SAID; i++)
        said[i] = (int32_t)hn_rng_below(key, 1000 + (uint64_t)i, (uint32_t)n);
}

int main(int argc, char **argv)
{
    const int32_t n = argc > 1 ? atoi(argv[1]) : 262144, draws = argc > 2 ? atoi(argv[2]) : 101;
    static const struct {
        const char *name;
        hn_sampler_options o;
        bool is_masked;
    } ways[] = {
        { "the likeliest", { .temperature = 0 } },
        { "what is the default: top_k 40, top_p, min_p", HN_SAMPLER_DEFAULTS(float) },
        { "top_k 40", { .temperature = 1, .top_k = 40 } },
        { "top_k 1000", { .temperature = 1, .top_k = 1000 } },
        { "all, temperature 1", { .temperature = 1 } },
        { "all, temperature 0.1", { .temperature = 0.1f } },
        { "all, temperature 2", { .temperature = 2 } },
        { "all, temperature 100", { .temperature = 100 } },
        { "top_p 0.95", { .temperature = 1, .top_p = 0.95f } },
        { "top_p 0.95, temperature 0.7", { .temperature = 0.7f, .top_p = 0.95f } },
        { "top_p 0.95, temperature 100", { .temperature = 100, .top_p = 0.95f } },
        { "min_p 0.05", { .temperature = 1, .min_p = 0.05f } },
        { "min_p 0.05, temperature 1.5", { .temperature = 1.5f, .min_p = 0.05f } },
        { "top_k a twelfth", { .temperature = 1, .top_k = -12 } },
        { "top_k half", { .temperature = 1, .top_k = -2 } },
        { "all, penalties", { .temperature = 1, .repetition = 1.1f, .frequency = 0.2f, .presence = 0.1f } },
        { "all, a mask", { .temperature = 1 }, true },
        { "all, a mask, penalties, top_p, min_p",
          { .temperature = 0.9f, .top_p = 0.9f, .min_p = 0.01f, .repetition = 1.1f }, true },
    };
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    float *logits = calloc((size_t)n, sizeof *logits);
    uint64_t *allowed = calloc((size_t)n / 64 + 1, sizeof *allowed);
    double *took = calloc((size_t)draws, sizeof *took), none = 0;
    int32_t said[N_SAID];
    if (n < 64 || draws < 1 || !logits || !allowed || !took)
        return 1;
    make(n, logits, allowed, said);
    printf("%d words, %d draws each, microseconds: median, fastest\n", n, draws);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        hn_sampler_options o = ways[w].o;
        hn_sampler *s;
        o.top_k = o.top_k < 0 ? n / -o.top_k : o.top_k;
        if (hn_sampler_new(&s, &heap, n, &o) != HN_OK)
            return 1;
        uint64_t digest = 0;
        for (int32_t d = 0; d < draws; d++) {
            int32_t token = -1;
            none += read_other();
            const int64_t begin = hn_clock_ns();
            if (hn_sampler_next_of(s, (uint64_t)d, logits, ways[w].is_masked ? allowed : NULL, said, N_SAID, &token) != HN_OK)
                return 1;
            took[d] = 1e-3 * (double)(hn_clock_ns() - begin);
            digest = digest * 31 + (uint64_t)token;
        }
        qsort(took, (size_t)draws, sizeof *took, by_time);
        printf("%8.1f %8.1f  %-44s %08x\n", took[draws / 2], took[0], ways[w].name, (unsigned)digest);
        hn_sampler_free(s);
    }
    free(logits);
    free(allowed);
    free(took);
    return none < 0;
}
