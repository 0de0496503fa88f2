/* What a draw is among, and in what order: of every way to sort, beside a sort of the standard library, of logits that are equal, zeros
 * of either sign, subnormal, infinite, forbidden. */
#include "base/mathfn.h"
#include "base/rng.h"
#include "infer/sampler.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 5000 };

static hn_heap heap;
static float logits[MOST];
static uint64_t allowed[(MOST + 63) / 64];

static int by_logit(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    if (logits[x] != logits[y])
        return logits[x] < logits[y] ? 1 : -1;
    return x < y ? -1 : 1;
}

static bool is_allowed(int32_t token) { return allowed[token / 64] >> token % 64 & 1; }

static void make(uint64_t seed, int32_t n, bool is_odd)
{
    static const float odd[] = { 0.0f, -0.0f, 1e-40f, -1e-40f, -INFINITY, 3.0f, -3.0f, 30.0f, -30.0f, 0x1p-126f };
    const hn_rng_key key = hn_rng_seed(seed);
    for (int32_t i = 0; i < n; i++) {
        uint32_t word[4];
        hn_rng_words(key, (uint64_t)i, 0, word);
        logits[i] = is_odd ? odd[word[0] % 10] : (float)(word[0] >> 12) / 65536 - 8;
        allowed[i / 64] = i % 64 ? allowed[i / 64] : 0;
        allowed[i / 64] |= (uint64_t)(word[1] % 4 > 0 || i == 0) << i % 64;
    }
}

/* Those that stay are the first of all that are allowed, sorted; their odds are added up in that order. */
static void check_order(int32_t n, int32_t top_k, float temperature)
{
    int32_t order[MOST], kept = 0, found = 0;
    for (int32_t i = 0; i < n; i++)
        if (is_allowed(i) && logits[i] > -INFINITY)
            order[kept++] = i;
    qsort(order, (size_t)kept, sizeof *order, by_logit);
    kept = top_k && top_k < kept ? top_k : kept;
    double sum = 0;
    for (int32_t i = 0; i < kept; i++)
        sum += hn_math_exp(i ? ((double)logits[order[i]] - (double)logits[order[0]]) / (double)temperature : 0);
    hn_sampler *s;
    if (!kept || !CHECK_OK(hn_sampler_new(&s, &heap, n, &(hn_sampler_options){ .temperature = temperature, .top_k = top_k })))
        return;
    if (CHECK_OK(hn_sampler_spread(s, logits, allowed, NULL, 0, &found)) && CHECK(found <= kept && found > 0))
        for (int32_t i = 0; i < found; i++) {
            double log_probability;
            const int32_t token = hn_sampler_choice(s, i, &log_probability);
            const double heated = i ? ((double)logits[order[i]] - (double)logits[order[0]]) / (double)temperature : 0;
            if (!CHECK(token == order[i]) || !CHECK(log_probability == heated - hn_math_log(sum)))
                break;
        }
    hn_sampler_free(s);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    static const int32_t sizes[] = { 1, 2, 15, 16, 17, 64, 1000, MOST };
    for (uint64_t seed = 0; seed < 12; seed++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            make(seed, sizes[i], seed % 2);
            const int32_t ways[] = { 0, 1, sizes[i] / 20, sizes[i] / 16, sizes[i] / 2, sizes[i] };
            for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
                check_order(sizes[i], ways[k], seed % 3 ? 1.0f : 0.7f);
        }
    return check_close();
}
