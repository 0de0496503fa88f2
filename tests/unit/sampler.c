/* What is drawn, beside the definition written out: everything sorted by a sort of the standard library, weights added up in that order, of few
 * in doubles and of all in whole numbers, at every level; with every option, ties, zeros of either sign, subnormal and forbidden logits; how often each is
 * drawn; and what is told of a draw. */
#include "base/mathfn.h"
#include "base/rng.h"
#include "infer/sampler.h"
#include "kernels/families.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 262144, N_SAID = 200 };

typedef struct drawn_from { /* in order */
    int32_t n, token[MOST];
    double odds[MOST], sum;           /* of few */
    uint64_t weight[MOST], whole_sum; /* of all */
} drawn_from;

static hn_heap heap;
static hn_families ref;
static int32_t n;
static float given[MOST], logits[MOST]; /* logits: after what changes them */
static uint64_t allowed[MOST / 64 + 1];
static int32_t said[N_SAID];
static drawn_from d;

static int by_logit(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    if (logits[x] != logits[y])
        return logits[x] < logits[y] ? 1 : -1;
    return x < y ? -1 : 1;
}

static void make(uint64_t seed, bool is_odd)
{
    static const float odd[] = { 0.0f, -0.0f, 1e-40f, -1e-40f, -INFINITY, 3.0f, -3.0f, 12.0f, -30.0f, 0x1p-126f };
    const hn_rng_key key = hn_rng_seed(seed);
    memset(allowed, 0, sizeof allowed);
    for (int32_t i = 0; i < n; i++) {
        uint32_t word[4];
        hn_rng_words(key, (uint64_t)i, 0, word);
        given[i] = is_odd ? odd[word[0] % 10] : (float)(word[0] >> 12) / 65536 - 8;
        allowed[i / 64] |= (uint64_t)(word[1] % 4 > 0 || i == 0) << i % 64;
    }
    given[0] = 3;
    for (int i = 0; i < N_SAID; i++)
        said[i] = (int32_t)hn_rng_below(key, (uint64_t)i, (uint32_t)n);
}

/* Bias, penalties, mask. */
static void change(const hn_sampler_options *o, bool is_masked)
{
    memcpy(logits, given, sizeof *logits * (size_t)n);
    for (int32_t i = 0; i < o->n_bias; i++)
        logits[o->bias[i].token] += o->bias[i].bias;
    for (int32_t t = 0; t < n; t++) {
        int32_t count = 0;
        for (int i = o->last_n ? N_SAID - o->last_n : 0; i < N_SAID; i++)
            count += said[i] == t;
        if (count && o->repetition > 0)
            logits[t] = logits[t] > 0 ? logits[t] / o->repetition : logits[t] * o->repetition;
        if (count)
            logits[t] = logits[t] - o->frequency * (float)count - o->presence;
        if (is_masked && !(allowed[t / 64] >> t % 64 & 1))
            logits[t] = -INFINITY;
    }
}

static uint64_t whole(float x, float heat)
{
    const float below = x - logits[d.token[0]], z = below * heat;
    float e;
    if (z < -40)
        return 0;
    ref.elemwise.exp_f32(1, &z, &e, NULL);
    return (uint64_t)llrint((double)e * 0x1p40);
}

static double odds_of(float x, double temperature) { return hn_math_exp(((double)x - (double)logits[d.token[0]]) / temperature); }

/* What top_p and min_p leave of the first d.n. */
static void cut(const hn_sampler_options *o, bool is_few)
{
    double sum = 0, so_far = 0;
    uint64_t whole_sum = 0, whole_far = 0;
    for (int32_t i = 0; i < d.n; i++) {
        sum += odds_of(logits[d.token[i]], 1);
        whole_sum += whole(logits[d.token[i]], 1);
    }
    for (int32_t i = 0; i < d.n && o->top_p > 0 && o->top_p < 1; i++) {
        so_far += odds_of(logits[d.token[i]], 1);
        whole_far += whole(logits[d.token[i]], 1);
        if (is_few ? so_far >= (double)o->top_p * sum : (double)whole_far >= (double)o->top_p * (double)whole_sum)
            d.n = i + 1;
    }
    const float least = (float)((double)logits[d.token[0]] + hn_math_log((double)o->min_p));
    while (d.n > 1 && o->min_p > 0 &&
           (is_few ? odds_of(logits[d.token[d.n - 1]], 1) < (double)o->min_p : logits[d.token[d.n - 1]] < least))
        d.n--;
}

static void define(const hn_sampler_options *o, bool is_few)
{
    d.n = 0;
    for (int32_t i = 0; i < n; i++)
        if (logits[i] > -INFINITY)
            d.token[d.n++] = i;
    qsort(d.token, (size_t)d.n, sizeof *d.token, by_logit);
    d.n = o->top_k && o->top_k < d.n ? o->top_k : d.n;
    if (o->temperature == 0)
        d.n = 1;
    cut(o, is_few);
    d.sum = 0;
    d.whole_sum = 0;
    const double heat = 1 / (double)o->temperature;
    for (int32_t i = 0; i < d.n; i++) {
        const float x = logits[d.token[i]];
        d.sum += d.odds[i] = i ? odds_of(x, (double)o->temperature) : 1;
        d.whole_sum += d.weight[i] = is_few ? 0 : whole(x, heat < 3e38 ? (float)heat : 0x1.fffffep127f);
    }
}

static int32_t expected(const hn_sampler_options *o, uint64_t number, bool is_few)
{
    const float u = hn_rng_uniform(hn_rng_seed(o->seed), number);
    double so_far = 0;
    uint64_t whole_far = 0, k = (uint64_t)(u * 0x1p24f);
    const uint64_t at = (d.whole_sum >> 24) * k + ((d.whole_sum & 0xffffff) * k >> 24);
    for (int32_t i = 0; i < d.n; i++) {
        so_far += d.odds[i];
        whole_far += d.weight[i];
        if (is_few ? d.sum * (double)u < so_far : at < whole_far)
            return d.token[i];
    }
    return d.token[d.n - 1];
}

/* All that is told: which may be drawn, in order, and how likely each is; and of each token by its number. */
static void check_told(hn_sampler *s, const hn_sampler_options *o, bool is_masked, bool is_few)
{
    int32_t found = 0, wrong = 0, most = n <= 5000 ? n : 20;
    if (!CHECK_OK(hn_sampler_spread(s, given, is_masked ? allowed : NULL, said, N_SAID, most, &found)))
        return;
    const int32_t left = d.n < most ? d.n : most;
    CHECK_THAT(found > 0 && found <= left, "%d of %d", found, left);
    for (int32_t i = 0; i < left; i++) {
        const double heated = i ? ((double)logits[d.token[i]] - (double)logits[d.token[0]]) / (double)o->temperature : 0;
        const bool is_drawn = is_few ? d.odds[i] > 0 : d.weight[i] > 0;
        const double few = heated - hn_math_log(d.sum), all = hn_math_log((double)d.weight[i]) - hn_math_log((double)d.whole_sum);
        const double want = !is_drawn ? -(double)INFINITY : is_few ? few : all;
        double got = want;
        const int32_t token = i < found ? hn_sampler_choice(s, i, &got) : d.token[i];
        wrong += token != d.token[i] || got != want || hn_sampler_chance(s, token) != want || (i < found) != is_drawn;
    }
    for (int32_t i = 0; i < n && d.n < n; i += n / 40 + 1)
        if (logits[i] < logits[d.token[d.n - 1]])
            wrong += hn_sampler_chance(s, i) > -(double)INFINITY;
    CHECK_THAT(!wrong, "of %d that may be drawn %d are told otherwise", d.n, wrong);
}

static void set_level(const char *name)
{
#if defined(_WIN32)
    _putenv_s("HN_ISA_MASK", name);
#else
    setenv("HN_ISA_MASK", name, 1);
#endif
}

static void check_way(const hn_sampler_options *o, bool is_masked, int draws, bool at_all_levels)
{
    const bool is_few = o->temperature == 0 || (o->top_k > 0 && o->top_k <= HN_SAMPLER_FEW);
    hn_isa isa;
    set_level("");
    CHECK_OK(hn_isa_available(&isa));
    change(o, is_masked);
    define(o, is_few);
    CHECK_TEXT(is_few ? "draw.1" : "draw.2", hn_sampler_definition(o));
    for (int l = -1; l < HN_N_LEVELS; l++) {
        hn_sampler *s;
        if (l >= 0 && (!(isa & hn_isa_level(l).bit) || (!at_all_levels && hn_isa_level(l).bit != isa)))
            continue;
        set_level(l < 0 ? at_all_levels ? "ref" : "" : hn_isa_level(l).name);
        if (!CHECK_OK(hn_sampler_new(&s, &heap, n, o)))
            return;
        for (int i = 0; i < draws; i++) {
            int32_t token = -1;
            CHECK_OK(hn_sampler_next_of(s, (uint64_t)i, given, is_masked ? allowed : NULL, said, N_SAID, &token));
            const int32_t want = expected(o, (uint64_t)i, is_few);
            CHECK_THAT(token == want, "%d words, temperature %g, top_k %d, top_p %g, min_p %g%s, draw %d at %s: %d, expected %d", n,
                       (double)o->temperature, o->top_k, (double)o->top_p, (double)o->min_p, is_masked ? ", a mask" : "", i,
                       l < 0 ? "ref" : hn_isa_level(l).name, token, want);
        }
        check_told(s, o, is_masked, is_few);
        hn_sampler_free(s);
    }
    set_level("");
}

/* Ways to draw, each with and without a mask. */
static void check_size(int32_t size, uint64_t seeds, int draws)
{
    const hn_logit_bias bias[] = { { 0, -4 }, { size - 1, 5 }, { size / 2, -INFINITY } };
    const hn_sampler_options ways[] = {
        { .temperature = 1 }, { .temperature = 0.7f }, { .temperature = 1e-3f }, { .temperature = 100 }, { .temperature = 1e-44f },
        { .temperature = 0 }, { .temperature = 1, .top_p = 0.9f }, { .temperature = 1.5f, .top_p = 0.5f },
        { .temperature = 1, .top_p = 1e-9f }, { .temperature = 1, .min_p = 0.1f },
        { .temperature = 2, .top_p = 0.95f, .min_p = 0.05f }, { .temperature = 1, .min_p = 1 },
        { .temperature = 1, .top_k = size > 2000 ? size / 12 : 40 }, { .temperature = 0.9f, .top_k = 1500, .top_p = 0.8f, .min_p = 0.001f },
        { .temperature = 1, .top_k = 1 }, { .temperature = 1, .top_k = 1024 }, { .temperature = 1, .top_k = 1025 }, { .temperature = 1, .top_k = size },
        HN_SAMPLER_DEFAULTS(float),
        { .temperature = 0.8f, .repetition = 1.3f, .last_n = 50 }, { .temperature = 1, .frequency = 0.3f, .presence = 0.2f },
        { .temperature = 1, .n_bias = size > 2 ? 3 : 2, .bias = bias },
        { .temperature = 1, .top_p = 0.9f, .n_bias = 1, .bias = bias, .repetition = 0.7f, .presence = -1 },
    };
    n = size;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        make(seed, seed % 2);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (int masked = 0; masked < 2; masked++) {
                hn_sampler_options o = ways[w];
                o.seed = seed;
                if (n <= 5000 || (w + (size_t)masked + seed) % 4 == 0)
                    check_way(&o, masked, draws, n <= 1000 || w < 2);
            }
    }
}

/* Of equal weights, 2^k of them, every multiple of 2^-k begins a word. */
static void check_borders(void)
{
    const hn_sampler_options o = { .temperature = 1 };
    hn_sampler *s;
    n = 1024;
    for (int32_t i = 0; i < n; i++)
        given[i] = 2.5f;
    if (!CHECK_OK(hn_sampler_new(&s, &heap, n, &o)))
        return;
    int borders = 0;
    for (uint64_t number = 0; number < 200000; number++) {
        const uint32_t k = (uint32_t)(hn_rng_uniform(hn_rng_seed(0), number) * 0x1p24f);
        int32_t token = -1;
        if (k % 16384 && k % 16384 != 16383)
            continue;
        CHECK_OK(hn_sampler_next(s, number, given, NULL, 0, &token));
        CHECK_INT((int32_t)(k / 16384), token);
        borders++;
    }
    CHECK_THAT(borders > 10, "%d draws on a border", borders);
    hn_sampler_free(s);
}

/* chi^2 of the counts beside odds in doubles: of so many degrees of freedom it has that mean and twice that variance. */
static void check_spread_of_draws(const hn_sampler_options *o)
{
    enum { DRAWS = 40000, WORDS = 200 };
    static int counts[WORDS];
    hn_sampler *s;
    double sum = 0, far = 0;
    n = WORDS;
    memset(counts, 0, sizeof counts);
    for (int32_t i = 0; i < n; i++) {
        given[i] = -3 * hn_rng_uniform(hn_rng_seed(5), (uint64_t)i);
        sum += hn_math_exp((double)given[i] / (double)o->temperature);
    }
    if (!CHECK_OK(hn_sampler_new(&s, &heap, n, o)))
        return;
    for (uint64_t i = 0; i < DRAWS; i++) {
        int32_t token = 0;
        CHECK_OK(hn_sampler_next(s, i, given, NULL, 0, &token));
        counts[token]++;
    }
    for (int32_t i = 0; i < n; i++) {
        const double want = DRAWS * hn_math_exp((double)given[i] / (double)o->temperature) / sum;
        far += ((double)counts[i] - want) * ((double)counts[i] - want) / want;
    }
    CHECK_THAT(fabs(far - (WORDS - 1)) < 4 * sqrt(2.0 * (WORDS - 1)), "temperature %g: chi^2 is %g, of %d words", (double)o->temperature, far, WORDS);
    hn_sampler_free(s);
}

static void check_refused(void)
{
    hn_sampler *s;
    int32_t token, found;
    static const float nobody[] = { -INFINITY, -INFINITY }, everybody[] = { INFINITY, 1 }, none[] = { 1, NAN };
    for (int few = 0; few < 2; few++) {
        if (!CHECK_OK(hn_sampler_new(&s, &heap, 2, &(hn_sampler_options){ .temperature = 1, .top_k = few })))
            return;
        CHECK_FAILS(hn_sampler_next(s, 0, nobody, NULL, 0, &token), HN_ERR_NUMERIC, "no token is left");
        CHECK_FAILS(hn_sampler_next(s, 0, everybody, NULL, 0, &token), HN_ERR_NUMERIC, "infinitely likely");
        CHECK_FAILS(hn_sampler_next(s, 0, none, NULL, 0, &token), HN_ERR_NUMERIC, "the logit of token 1");
        CHECK_FAILS(hn_sampler_spread(s, none + 1, NULL, NULL, 0, 3, &found), HN_ERR_ARGUMENT, "expected 0 to 2");
        hn_sampler_free(s);
    }
    CHECK_FAILS(hn_sampler_new(&s, &heap, 4, &(hn_sampler_options){ .frequency = INFINITY }), HN_ERR_ARGUMENT, "expected finite");
    CHECK_FAILS(hn_sampler_new(&s, &heap, 4, &(hn_sampler_options){ .presence = NAN }), HN_ERR_ARGUMENT, "expected finite");
    CHECK_FAILS(hn_sampler_new(&s, &heap, 1 << 24, &(hn_sampler_options){ .temperature = 1 }), HN_ERR_ARGUMENT, "a vocabulary of 16777216");
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    hn_families_init(&ref, HN_ISA(ref));
    static const int32_t sizes[] = { 1, 2, 15, 63, 64, 65, 1000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(sizes[i], 4, 24);
    check_size(5000, 2, 24);
    check_size(MOST, 2, 8);
    check_borders();
    check_spread_of_draws(&(hn_sampler_options){ .temperature = 1 });
    check_spread_of_draws(&(hn_sampler_options){ .temperature = 100 });
    check_spread_of_draws(&(hn_sampler_options){ .temperature = 0.5f, .top_k = 1024 });
    check_refused();
    return check_close();
}
