/* The likeliest of logits: the first of them all in order, of equals the lower id, however many are asked for. */
#include "engine/likeliest.h"
#include "base/rng.h"
#include "tests/harness/check.h"

#include <math.h>

enum { VOCAB = 300, MOST = 20 };

/* How many come before `v`. */
static int32_t rank_of(const float *logits, int64_t v)
{
    int32_t rank = 0;
    for (int64_t k = 0; k < VOCAB; k++)
        rank += logits[k] > logits[v] || (!(logits[k] < logits[v]) && k < v);
    return rank;
}

static void check(const float *logits, double sum, int32_t most)
{
    hn_lm_likely found[MOST + 1] = { { -1, 17 } };
    found[most].id = -1;
    CHECK(hn_likeliest(logits, VOCAB, sum, most, found) == most && found[most].id == -1);
    for (int32_t i = 0; i < most; i++) {
        CHECK(found[i].id >= 0 && found[i].id < VOCAB && rank_of(logits, found[i].id) == i);
        CHECK(!(found[i].log_probability != (double)logits[found[i].id] - sum));
    }
}

int main(void)
{
    float logits[VOCAB];
    hn_lm_likely few[8];
    for (uint64_t seed = 0; seed < 50; seed++) {
        const hn_rng_key key = hn_rng_seed(seed);
        const uint32_t kinds = seed % 3 ? 7 : 1000; /* with many equals, and with few */
        for (int v = 0; v < VOCAB; v++)
            logits[v] = (float)(int)((hn_rng_uniform(key, (uint64_t)v) * (float)kinds)) / 8 - 3;
        logits[seed % VOCAB] = -INFINITY;
        for (int32_t most = 0; most <= MOST; most++)
            check(logits, 1.25, most);
    }
    CHECK(hn_likeliest(logits, 5, 0, 8, few) == 5); /* no more than there are */
    return check_close();
}
