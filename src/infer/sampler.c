/* Two ways to draw, by how many words a draw may be among (sampler.h). Of few the candidates lie sorted, and their odds are doubles that
 * are added up in that order; of all, who is drawn is found without sorting (crowd.h). Both read the same logits, after bias,
 * penalties and mask. The counts of what was said are set to zero again behind each call, token by token and not as a whole. */
#include "infer/sampler.h"

#include "base/mathfn.h"
#include "base/rng.h"
#include "infer/crowd.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FEW = HN_SAMPLER_FEW };

struct hn_sampler {
    hn_heap *heap;
    hn_sampler_options o;
    int32_t n_vocab;
    hn_crowd crowd;
    int32_t *counts;       /* how often a token was said; zero between calls */
    hn_candidate *choices; /* the likeliest, in order: of few all that may be drawn */
    int32_t n_choices;
    double odds[FEW]; /* of few: what each weighs, */
    double sum;       /* and all of them */
    uint64_t weights; /* of all: what all of them weigh; 0: a draw among few */
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
    HN_REQUIRE(isfinite(o->frequency) && isfinite(o->presence), HN_ERR_ARGUMENT, "frequency %g, presence %g: expected finite numbers",
               (double)o->frequency, (double)o->presence);
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
    const size_t n = (size_t)n_vocab;
    hn_status status = hn_crowd_open(&s->crowd, heap, n_vocab);
    if (status == HN_OK) {
        s->counts = hn_alloc_array(heap, HN_TAG_STATE, n, sizeof *s->counts);
        s->choices = hn_alloc_array(heap, HN_TAG_STATE, n, sizeof *s->choices);
        status = s->counts && s->choices ? HN_OK : HN_ERR_MEMORY;
    }
    if (status != HN_OK) {
        hn_sampler_free(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

void hn_sampler_free(hn_sampler *s)
{
    if (!s)
        return;
    hn_crowd_close(&s->crowd);
    hn_free(s->heap, s->counts);
    hn_free(s->heap, s->choices);
    hn_free(s->heap, s);
}

static float penalised(const hn_sampler_options *o, float logit, int32_t count)
{
    if (o->repetition > 0)
        logit = logit > 0 ? logit / o->repetition : logit * o->repetition;
    return logit - o->frequency * (float)count - o->presence;
}

static bool has_penalties(const hn_sampler_options *o)
{
    return (o->repetition > 0 && o->repetition != 1) || o->frequency != 0 || o->presence != 0;
}

/* Penalties fall on each token that was said, once, however often it was. */
static void penalise(hn_sampler *s, const int32_t *tokens, int64_t n)
{
    const hn_sampler_options *o = &s->o;
    float *logits = s->crowd.logits;
    const int64_t from = o->last_n && n > o->last_n ? n - o->last_n : 0;
    for (int64_t i = from; i < n; i++)
        s->counts[tokens[i]]++;
    for (int64_t i = from; i < n; i++) {
        const int32_t t = tokens[i];
        if (s->counts[t])
            logits[t] = penalised(o, logits[t], s->counts[t]);
        s->counts[t] = 0;
    }
}

/* The mask comes after penalties, whose arithmetic takes no infinity. */
static hn_status look(hn_sampler *s, const float *logits, const uint64_t *allowed, const int32_t *tokens, int64_t n)
{
    const hn_sampler_options *o = &s->o;
    const bool is_penalised = has_penalties(o) && n > 0;
    if (!o->n_bias && !is_penalised)
        return hn_crowd_look(&s->crowd, logits, allowed);
    HN_TRY(hn_crowd_look(&s->crowd, logits, NULL));
    for (int32_t i = 0; i < o->n_bias; i++)
        s->crowd.logits[o->bias[i].token] += o->bias[i].bias;
    if (is_penalised)
        penalise(s, tokens, n);
    return hn_crowd_look(&s->crowd, s->crowd.logits, allowed);
}

/* ---- among few ---- */

static bool is_cut(float share) { return share > 0 && share < 1; }

/* How many of the sorted choices stay, by odds as the model has them. */
static int32_t narrow(hn_sampler *s, int32_t n)
{
    const hn_sampler_options *o = &s->o;
    const double best = (double)s->choices[0].logit;
    double sum = 0, so_far = 0;
    if (!is_cut(o->top_p) && !(o->min_p > 0))
        return n;
    for (int32_t i = 0; i < n; i++)
        sum += s->odds[i] = hn_math_exp((double)s->choices[i].logit - best);
    for (int32_t i = 0; i < n && is_cut(o->top_p); i++) {
        so_far += s->odds[i];
        if (so_far >= (double)o->top_p * sum)
            n = i + 1;
    }
    while (n > 1 && s->odds[n - 1] < (double)o->min_p)
        n--;
    return n;
}

/* Of the choice that stands first as of the others. */
static double heated(const hn_sampler *s, int32_t i)
{
    return i ? ((double)s->choices[i].logit - (double)s->choices[0].logit) / (double)s->o.temperature : 0;
}

static void weigh_few(hn_sampler *s)
{
    s->sum = 0;
    for (int32_t i = 0; i < s->n_choices; i++)
        s->sum += s->odds[i] = hn_math_exp(heated(s, i));
}

static int32_t draw_few(const hn_sampler *s, double part)
{
    const double at = s->sum * part;
    double so_far = 0;
    for (int32_t i = 0; i < s->n_choices; i++) {
        so_far += s->odds[i];
        if (at < so_far)
            return s->choices[i].token;
    }
    return s->choices[s->n_choices - 1].token;
}

/* ---- among all ---- */

/* 1 / temperature, of which no logit makes more than an infinity. */
static float heat_of(const hn_sampler *s)
{
    const double heat = 1 / (double)s->o.temperature;
    return heat < (double)FLT_MAX ? (float)heat : FLT_MAX;
}

/* Who may not be drawn is out behind it; the weights of the others, who are tallied. */
static uint64_t weigh_all(hn_sampler *s)
{
    const hn_sampler_options *o = &s->o;
    hn_crowd *c = &s->crowd;
    const float heat = heat_of(s);
    uint64_t sum = 0;
    if (o->top_k && o->top_k < s->n_vocab) {
        const uint64_t most = (uint64_t)o->top_k << HN_CROWD_ONE;
        if (hn_crowd_tally(c, 0) > most)
            hn_crowd_keep(c, hn_crowd_reach(c, most).at);
    }
    if (is_cut(o->top_p)) {
        const double share = ceil((double)o->top_p * (double)hn_crowd_tally(c, 1));
        const hn_reached last = hn_crowd_reach(c, (uint64_t)share);
        hn_crowd_keep(c, last.at);
        sum = last.sum;
    }
    if (o->min_p > 0) {
        const double least = (double)c->best + hn_math_log((double)o->min_p);
        hn_crowd_keep(c, (hn_candidate){ (float)least, INT32_MAX });
        sum = 0;
    }
    return sum && heat == 1 ? sum : hn_crowd_tally(c, heat);
}

/* The weights times a multiple of 2^-24, exactly, without its fraction. */
static uint64_t part_of(uint64_t sum, float part)
{
    const uint64_t k = (uint64_t)(part * 0x1p24f), low = sum & 0xffffff;
    return (sum >> 24) * k + (low * k >> 24);
}

/* ---- both ---- */

/* What a draw is among, and what it weighs. */
static hn_status weigh(hn_sampler *s, const float *logits, const uint64_t *allowed, const int32_t *tokens, int64_t n)
{
    const hn_sampler_options *o = &s->o;
    s->n_choices = 0;
    s->weights = 0;
    HN_TRY(look(s, logits, allowed, tokens, n));
    HN_REQUIRE(s->crowd.best > -INFINITY, HN_ERR_NUMERIC, "no token is left");
    if (o->temperature == 0) {
        s->choices[s->n_choices++] = hn_crowd_first(&s->crowd);
        weigh_few(s);
        return HN_OK;
    }
    HN_REQUIRE(s->crowd.best < INFINITY, HN_ERR_NUMERIC, "a token is infinitely likely");
    if (!o->top_k || o->top_k > FEW) {
        s->weights = weigh_all(s);
        return HN_OK;
    }
    s->n_choices = narrow(s, hn_crowd_likeliest(&s->crowd, o->top_k, s->choices));
    weigh_few(s);
    return HN_OK;
}

hn_status hn_sampler_next(hn_sampler *s, uint64_t number, const float *logits, const int32_t *tokens, int64_t n,
                          int32_t *out)
{
    return hn_sampler_next_of(s, number, logits, NULL, tokens, n, out);
}

hn_status hn_sampler_next_of(hn_sampler *s, uint64_t number, const float *logits, const uint64_t *allowed,
                             const int32_t *tokens, int64_t n, int32_t *out)
{
    const float part = hn_rng_uniform(hn_rng_seed(s->o.seed), number);
    HN_TRY(weigh(s, logits, allowed, tokens, n));
    *out = s->weights ? hn_crowd_reach(&s->crowd, part_of(s->weights, part) + 1).at.token : draw_few(s, (double)part);
    return HN_OK;
}

hn_status hn_sampler_spread(hn_sampler *s, const float *logits, const uint64_t *allowed, const int32_t *tokens, int64_t n,
                            int32_t most, int32_t *n_choices)
{
    HN_REQUIRE(most >= 0 && most <= s->n_vocab, HN_ERR_ARGUMENT, "%d of the likeliest: expected 0 to %d", most, s->n_vocab);
    HN_TRY(weigh(s, logits, allowed, tokens, n));
    if (s->weights && most)
        s->n_choices = hn_crowd_likeliest(&s->crowd, most, s->choices);
    *n_choices = s->n_choices < most ? s->n_choices : most;
    while (*n_choices && !isfinite(hn_sampler_chance(s, s->choices[*n_choices - 1].token))) /* so unlikely that a draw never comes there */
        --*n_choices;
    return HN_OK;
}

int32_t hn_sampler_choice(const hn_sampler *s, int32_t i, double *log_probability)
{
    *log_probability = hn_sampler_chance(s, s->choices[i].token);
    return s->choices[i].token;
}

double hn_sampler_chance(const hn_sampler *s, int32_t token)
{
    if (s->weights) {
        const uint64_t weight = hn_crowd_weight(&s->crowd, token);
        return weight ? hn_math_log((double)weight) - hn_math_log((double)s->weights) : -(double)INFINITY;
    }
    for (int32_t i = 0; i < s->n_choices; i++)
        if (s->choices[i].token == token && s->odds[i] > 0)
            return heated(s, i) - hn_math_log(s->sum);
    return -(double)INFINITY;
}

const char *hn_sampler_definition(const hn_sampler_options *o)
{
    return o->temperature == 0 || (o->top_k && o->top_k <= FEW) ? "draw.1" : "draw.2";
}
