/* Who stands where among all words, beside a sort of all of them and sums in that order, at every level: of every word the least and the
 * most that comes to it, so each border of each bin, with logits that are random, equal, few, far apart, forbidden, subnormal, zeros
 * of either sign, and heats from none to one that leaves the best alone. */
#include "base/rng.h"
#include "infer/crowd.h"
#include "kernels/families.h"
#include "tests/harness/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 262144 };

static hn_heap heap;
static hn_families ref, other;
static int32_t n, n_in;
static float logits[MOST];
static int32_t order[MOST];   /* of those that are in */
static uint64_t up_to[MOST];  /* their weights, added up in order */
static hn_candidate found[MOST];

static int by_logit(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    if (logits[x] != logits[y])
        return logits[x] < logits[y] ? 1 : -1;
    return x < y ? -1 : 1;
}

static void sort_all(void)
{
    n_in = 0;
    for (int32_t i = 0; i < n; i++)
        if (logits[i] > -INFINITY)
            order[n_in++] = i;
    qsort(order, (size_t)n_in, sizeof *order, by_logit);
}

/* The definition in plain C, but for exp. */
static uint64_t weight(float x, float best, float heat)
{
    const float below = x - best, z = below * heat;
    float e;
    if (heat == 0)
        return UINT64_C(1) << 40;
    if (z < -40)
        return 0;
    ref.elemwise.exp_f32(1, &z, &e, NULL);
    return (uint64_t)llrint((double)e * 0x1p40);
}

static const char *const kinds[] = { "bell", "equal", "few values", "one far above", "forbidden", "odd", "wide", "borders", "apart" };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* `heat`: of the tally, whose bins "borders" lies at the borders of. */
static float logit(int kind, hn_rng_key key, int32_t i, float heat)
{
    static const float odd[] = { 0.0f, -0.0f, 1e-40f, -1e-40f, -INFINITY, 3.0f, -3.0f, 1e-45f, -1e-45f, FLT_MIN };
    uint32_t word[4];
    hn_rng_words(key, (uint64_t)i, 0, word);
    float bell = -2;
    for (int k = 0; k < 4; k++)
        bell += (float)(word[k] >> 8) * 0x1p-24f;
    const float step = 29.0f / (heat > 0 ? heat : 1) / 1023;
    switch (kind) {
    case 0: return 5 * bell;
    case 1: return -1.25f;
    case 2: return (float)(word[0] % 5);
    case 3: return i == n / 2 ? 40 : bell;
    case 4: return word[0] % 3 || i == n - 1 ? 6 * bell : -INFINITY;
    case 5: return i ? odd[word[0] % 10] : 3.0f;
    case 6: return bell * powf(10, (float)(int)(word[0] % 70) - 35);
    case 7: return i ? -((float)(word[0] % 1024) + (word[1] % 2 ? 0.5f : 0.49999f)) * step : 0;
    default: return i % 4 ? bell * 1e-3f : (float)(word[0] % 3) * -1e3f;
    }
}

static void check_reached(hn_crowd *c, int32_t i, uint64_t need, const char *what)
{
    const hn_reached r = hn_crowd_reach(c, need);
    CHECK_THAT(r.at.token == order[i] && r.at.logit == logits[order[i]] && r.sum == up_to[i],
               "%s of word %d of %d: token %d and a sum of %llu, expected %d and %llu",
               what, i, n, r.at.token, (unsigned long long)r.sum, order[i], (unsigned long long)up_to[i]);
}

static uint64_t before(int32_t i) { return i ? up_to[i - 1] : 0; }

/* Every word of few, of many some: those around the borders of bins are among them, for these are where few are. */
static void check_reach(hn_crowd *c, hn_rng_key key)
{
    const int32_t tries = n_in <= 1000 ? n_in : 24;
    for (int32_t k = 0; k < tries; k++) {
        const int32_t i = n_in <= 1000 ? k : k % 2 ? k / 2 : (int32_t)hn_rng_below(key, (uint64_t)k, (uint32_t)n_in);
        if (up_to[i] == before(i))
            continue;
        check_reached(c, i, before(i) + 1, "the least");
        check_reached(c, i, up_to[i], "the most");
    }
}

static void check_likeliest(hn_crowd *c, int32_t in)
{
    const int32_t ks[] = { 1, 2, 40, 300, 1000, n / 2, n };
    for (size_t w = 0; w < sizeof ks / sizeof *ks; w++) {
        const int32_t k = ks[w], want = k < in ? k : in;
        if (!k || (k > 1000 && n > 1000))
            continue;
        const int32_t got = hn_crowd_likeliest(c, k, found);
        int32_t i = 0;
        while (i < got && i < want && found[i].token == order[i] && found[i].logit == logits[order[i]])
            i++;
        CHECK_THAT(got == want && i == want, "the %d likeliest of %d: %d, and %d of them right", k, in, got, i);
    }
}

/* Behind the i-th nobody is left, and who is left stands where it stood. */
static void check_keep(hn_crowd *c, int32_t i, hn_rng_key key)
{
    hn_crowd_keep(c, (hn_candidate){ logits[order[i]], order[i] });
    int32_t in = 0;
    for (int32_t k = 0; k < n; k++)
        in += c->logits[k] > -INFINITY;
    CHECK_INT(i + 1, in);
    CHECK(i + 1 == n_in || hn_crowd_weight(c, order[i + 1]) == 0);
    CHECK(hn_crowd_weight(c, order[i]) == up_to[i] - before(i));
    const int32_t all = n_in;
    n_in = i + 1;
    check_reach(c, key);
    check_likeliest(c, n_in);
    CHECK(hn_crowd_tally(c, c->heat) == up_to[i]);
    check_reach(c, key);
    n_in = all;
}

static void check_at(hn_crowd *c, float heat, hn_rng_key key)
{
    CHECK_OK(hn_crowd_look(c, logits, NULL));
    CHECK(c->best == logits[order[0]] && c->least == logits[order[n_in - 1]]);
    CHECK(hn_crowd_first(c).token == order[0]);
    for (int32_t i = 0; i < n_in; i++)
        up_to[i] = before(i) + weight(logits[order[i]], c->best, heat);
    const uint64_t sum = hn_crowd_tally(c, heat);
    CHECK_THAT(sum == up_to[n_in - 1], "%d words, heat %g: a sum of %llu, expected %llu", n, (double)heat, (unsigned long long)sum,
               (unsigned long long)up_to[n_in - 1]);
    check_reach(c, key);
    check_likeliest(c, n_in);
    check_keep(c, n_in / 3, key);
}

/* The weights of all levels and heats. */
static void check_size(int32_t size, bool is_long)
{
    static const float heats[] = { 1, 0, 1000, 0.01f, 10, FLT_MAX };
    hn_crowd c;
    n = size;
    if (!CHECK_OK(hn_crowd_open(&c, &heap, n)))
        return;
    for (int kind = 0; kind < N_KINDS; kind++)
        for (size_t h = 0; h < (is_long ? 2 : sizeof heats / sizeof *heats); h++) {
            const hn_rng_key key = hn_rng_fold(hn_rng_seed(check_seed()), (uint64_t)kind);
            check_group(kinds[kind]);
            for (int32_t i = 0; i < n; i++)
                logits[i] = logit(kind, key, i, heats[h]);
            sort_all();
            c.kernels = ref.draw;
            if (!is_long || kind == 0)
                check_at(&c, heats[h], key);
            hn_isa isa, allowed = 0;
            CHECK_OK(hn_isa_available(&isa));
            for (int l = 0; l < HN_N_LEVELS; l++) {
                if (!(isa & hn_isa_level(l).bit))
                    continue;
                const hn_draw_kernels last = c.kernels;
                allowed |= hn_isa_level(l).with_implied;
                hn_families_init(&other, allowed);
                c.kernels = other.draw;
                if (memcmp(&last, &c.kernels, sizeof last) != 0)
                    check_at(&c, heats[h], key);
            }
        }
    hn_crowd_close(&c);
}

static void check_refused(void)
{
    hn_crowd c;
    const float two[] = { 1, NAN };
    check_group("refused");
    CHECK_FAILS(hn_crowd_open(&c, &heap, HN_CROWD_MOST + 1), HN_ERR_ARGUMENT, "a vocabulary of 8388609");
    CHECK_FAILS(hn_crowd_open(&c, &heap, 0), HN_ERR_ARGUMENT, "a vocabulary of 0");
    if (CHECK_OK(hn_crowd_open(&c, &heap, 2))) {
        CHECK_FAILS(hn_crowd_look(&c, two, &(uint64_t){ 1 }), HN_ERR_NUMERIC, "the logit of token 1 is not a number");
        hn_crowd_close(&c);
    }
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    hn_families_init(&ref, HN_ISA(ref));
    static const int32_t sizes[] = { 1, 2, 15, 63, 64, 65, 257, 1000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_size(sizes[i], false);
    check_size(MOST, true);
    check_refused();
    return check_close();
}
