/* Candidates shrink step by step and lie sorted by logit, equals by their number: so a draw walks the same odds on
 * every machine. The counts of what was said are set to zero again behind each call, token by token and not as a
 * whole. */
#include "infer/sampler.h"

#include "base/mathfn.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct choice {
    float logit;
    int32_t token;
} choice;

struct hn_sampler {
    hn_heap *heap;
    hn_sampler_options o;
    int32_t n_vocab;
    choice *choices, *others; /* a sort of all goes from one to the other */
    double *odds;    /* of the sorted choices, */
    double sum;      /* and of all of them */
    int32_t *counts; /* how often a token was said; zero between calls */
};

static hn_status check(const hn_sampler_options *o, int32_t n_vocab)
{
    HN_REQUIRE(o->temperature >= 0 && o->temperature <= 100, HN_ERR_ARGUMENT,
               "temperature %g: expected 0 to 100", (double)o->temperature);
    HN_REQUIRE(o->top_p >= 0 && o->top_p <= 1, HN_ERR_ARGUMENT, "top_p %g: expected 0 to 1",
               (double)o->top_p);
    HN_REQUIRE(o->min_p >= 0 && o->min_p <= 1, HN_ERR_ARGUMENT, "min_p %g: expected 0 to 1",
               (double)o->min_p);
    HN_REQUIRE(o->top_k >= 0 && o->last_n >= 0, HN_ERR_ARGUMENT, "top_k or last_n is negative");
    HN_REQUIRE(o->repetition >= 0 && o->repetition <= 100, HN_ERR_ARGUMENT,
               "repetition %g: expected 0 to 100", (double)o->repetition);
    for (int32_t i = 0; i < o->n_bias; i++)
        HN_REQUIRE(o->bias[i].token >= 0 && o->bias[i].token < n_vocab &&
                       !isnan(o->bias[i].bias),
                   HN_ERR_ARGUMENT, "logit bias of token %d: the vocabulary has %d",
                   o->bias[i].token, n_vocab);
    return HN_OK;
}

hn_status hn_sampler_new(hn_sampler **out, hn_heap *heap, int32_t n_vocab,
                         const hn_sampler_options *options)
{
    *out = NULL;
    HN_TRY(check(options, n_vocab));
    hn_sampler *s = hn_alloc(heap, HN_TAG_STATE, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    *s = (hn_sampler){ .heap = heap, .o = *options, .n_vocab = n_vocab };
    s->choices = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n_vocab, sizeof *s->choices);
    s->others = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n_vocab, sizeof *s->others);
    s->odds = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n_vocab, sizeof *s->odds);
    s->counts = hn_alloc_array(heap, HN_TAG_STATE, (size_t)n_vocab, sizeof *s->counts);
    if (!s->choices || !s->others || !s->odds || !s->counts) {
        hn_sampler_free(s);
        return HN_ERR_MEMORY;
    }
    *out = s;
    return HN_OK;
}

void hn_sampler_free(hn_sampler *s)
{
    if (!s)
        return;
    hn_free(s->heap, s->choices);
    hn_free(s->heap, s->others);
    hn_free(s->heap, s->odds);
    hn_free(s->heap, s->counts);
    hn_free(s->heap, s);
}

static float penalised(const hn_sampler_options *o, float logit, int32_t count)
{
    if (o->repetition > 0)
        logit = logit > 0 ? logit / o->repetition : logit * o->repetition;
    return logit - o->frequency * (float)count - o->presence;
}

/* Penalties fall on each token that was said, once, however often it was. */
static void penalise(hn_sampler *s, const int32_t *tokens, int64_t n)
{
    const hn_sampler_options *o = &s->o;
    const bool has_repetition = o->repetition > 0 && o->repetition != 1;
    if (!has_repetition && o->frequency == 0 && o->presence == 0)
        return;
    const int64_t from = o->last_n && n > o->last_n ? n - o->last_n : 0;
    for (int64_t i = from; i < n; i++)
        s->counts[tokens[i]]++;
    for (int64_t i = from; i < n; i++) {
        const int32_t t = tokens[i];
        if (s->counts[t])
            s->choices[t].logit = penalised(o, s->choices[t].logit, s->counts[t]);
        s->counts[t] = 0;
    }
}

/* The likelier first; of equals the lower number. */
static int by_logit(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

/* Choices [0, n) are a heap with the least likely on top, but perhaps for the one at i. */
static void sift(choice *heap, int32_t n, int32_t i)
{
    for (int32_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && by_logit(&heap[child], &heap[child + 1]) < 0)
            child++;
        if (by_logit(&heap[i], &heap[child]) >= 0)
            return;
        const choice swapped = heap[i];
        heap[i] = heap[child];
        heap[child] = swapped;
    }
}

enum { DIGIT = 11, DIGITS = 3, BINS = 1 << DIGIT };

/* Ascending where by_logit is; either zero is one. */
static uint32_t rank(float logit)
{
    const float x = logit + 0.0f;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

/* As by_logit has it, digit by digit of the rank; choices that lie in the order of their tokens, as equals stay. */
static void sort_all(hn_sampler *s)
{
    int32_t begin[DIGITS][BINS] = { { 0 } };
    for (int32_t i = 0; i < s->n_vocab; i++)
        for (int d = 0; d < DIGITS; d++)
            begin[d][rank(s->choices[i].logit) >> d * DIGIT & (BINS - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        int32_t at = 0;
        for (int b = 0; b < BINS; b++) {
            const int32_t n = begin[d][b];
            begin[d][b] = at;
            at += n;
        }
        for (int32_t i = 0; i < s->n_vocab; i++)
            s->others[begin[d][rank(s->choices[i].logit) >> d * DIGIT & (BINS - 1)]++] = s->choices[i];
        choice *const sorted = s->others;
        s->others = s->choices;
        s->choices = sorted;
    }
}

/* The k likeliest to the front, sorted: as a sort of all would, in a fraction of its time. */
static void sort(choice *choices, int32_t n, int32_t k)
{
    for (int32_t i = k / 2; i-- > 0;)
        sift(choices, k, i);
    for (int32_t i = k; i < n; i++)
        if (by_logit(&choices[i], &choices[0]) < 0) {
            choices[0] = choices[i];
            sift(choices, k, 0);
        }
    qsort(choices, (size_t)k, sizeof *choices, by_logit);
}

/* How many of the sorted choices stay, and in `odds` what each weighs. */
static int32_t narrow(hn_sampler *s, int32_t k)
{
    const hn_sampler_options *o = &s->o;
    const double best = (double)s->choices[0].logit;
    int32_t n = 0;
    double sum = 0, so_far = 0;
    const bool is_all = !(o->top_p > 0 && o->top_p < 1) && !(o->min_p > 0); /* no odds are looked at */
    for (; n < k && s->choices[n].logit > -INFINITY; n++)
        if (!is_all)
            sum += s->odds[n] = hn_math_exp((double)s->choices[n].logit - best);
    if (is_all)
        return n;
    for (int32_t i = 0; i < n && o->top_p > 0 && o->top_p < 1; i++) {
        so_far += s->odds[i];
        if (so_far >= (double)o->top_p * sum)
            n = i + 1;
    }
    while (n > 1 && s->odds[n - 1] < (double)o->min_p)
        n--;
    return n;
}

/* After penalties, whose arithmetic takes no infinity. */
static void forbid(hn_sampler *s, const uint64_t *allowed)
{
    for (int32_t i = 0; i < s->n_vocab; i++)
        if (!(allowed[i / 64] >> i % 64 & 1))
            s->choices[i].logit = -INFINITY;
}

/* Of the choice that stands first as of the others. */
static double heated(const hn_sampler *s, int32_t i)
{
    return i ? ((double)s->choices[i].logit - (double)s->choices[0].logit) / (double)s->o.temperature : 0;
}

/* The likeliest alone, of equals the lower number. */
static hn_status take_likeliest(hn_sampler *s, int32_t *n_choices)
{
    int32_t best = 0;
    for (int32_t i = 1; i < s->n_vocab; i++)
        if (s->choices[i].logit > s->choices[best].logit)
            best = i;
    HN_REQUIRE(s->choices[best].logit > -INFINITY, HN_ERR_NUMERIC, "no token is left");
    s->choices[0] = s->choices[best];
    *n_choices = 1;
    return HN_OK;
}

static hn_status take_likely(hn_sampler *s, int32_t *n_choices)
{
    const int32_t k = s->o.top_k && s->o.top_k < s->n_vocab ? s->o.top_k : s->n_vocab;
    if (k < s->n_vocab / 16)
        sort(s->choices, s->n_vocab, k);
    else
        sort_all(s);
    HN_REQUIRE(s->choices[0].logit > -INFINITY && s->choices[0].logit < INFINITY,
               HN_ERR_NUMERIC, "no token is left, or one is infinitely likely");
    *n_choices = narrow(s, k);
    return HN_OK;
}

/* The sorted choices that a draw is among, and in `odds` what each weighs. */
static hn_status weigh(hn_sampler *s, const float *logits, const uint64_t *allowed, const int32_t *tokens, int64_t n, int32_t *n_choices)
{
    for (int32_t i = 0; i < s->n_vocab; i++) {
        HN_REQUIRE(!isnan(logits[i]), HN_ERR_NUMERIC, "the logit of token %d is not a number", i);
        s->choices[i] = (choice){ logits[i], i };
    }
    for (int32_t i = 0; i < s->o.n_bias; i++)
        s->choices[s->o.bias[i].token].logit += s->o.bias[i].bias;
    penalise(s, tokens, n);
    if (allowed)
        forbid(s, allowed);
    HN_TRY(s->o.temperature == 0 ? take_likeliest(s, n_choices) : take_likely(s, n_choices));
    s->sum = 0;
    for (int32_t i = 0; i < *n_choices; i++)
        s->sum += s->odds[i] = hn_math_exp(heated(s, i));
    return HN_OK;
}

static int32_t draw(const hn_sampler *s, uint64_t number, int32_t n)
{
    const double at = s->sum * (double)hn_rng_uniform(hn_rng_seed(s->o.seed), number);
    double so_far = 0;
    for (int32_t i = 0; i < n; i++) {
        so_far += s->odds[i];
        if (at < so_far)
            return s->choices[i].token;
    }
    return s->choices[n - 1].token;
}

hn_status hn_sampler_next(hn_sampler *s, uint64_t number, const float *logits, const int32_t *tokens, int64_t n,
                          int32_t *out)
{
    return hn_sampler_next_of(s, number, logits, NULL, tokens, n, out);
}

hn_status hn_sampler_next_of(hn_sampler *s, uint64_t number, const float *logits, const uint64_t *allowed,
                             const int32_t *tokens, int64_t n, int32_t *out)
{
    int32_t n_choices;
    HN_TRY(weigh(s, logits, allowed, tokens, n, &n_choices));
    *out = draw(s, number, n_choices);
    return HN_OK;
}

hn_status hn_sampler_spread(hn_sampler *s, const float *logits, const uint64_t *allowed, const int32_t *tokens, int64_t n,
                            int32_t *n_choices)
{
    HN_TRY(weigh(s, logits, allowed, tokens, n, n_choices));
    while (!(s->odds[*n_choices - 1] > 0)) /* so unlikely that a draw never comes there */
        --*n_choices;
    return HN_OK;
}

int32_t hn_sampler_choice(const hn_sampler *s, int32_t i, double *log_probability)
{
    *log_probability = heated(s, i) - hn_math_log(s->sum);
    return s->choices[i].token;
}
