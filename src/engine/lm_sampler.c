/* Public draws: the inner sampler's, with what it trusts checked. */
#include "engine/lm_grammar.h"

#include <math.h>
#include <string.h>

struct hn_lm_sampler {
    hn_lm *lm;
    hn_lm_matcher *matcher; /* of the tokens from `from` on; NULL: none */
    hn_sampler *inner;
    hn_logit_bias *bias;
    bool has_begun;
    size_t from;     /* generating begins after so many ids, */
    uint64_t number; /* with this one */
};

hn_status hn_lm_sampling_default(hn_lm_sampling *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_sampling, out, to, size);
    static const hn_sampler_options inner = HN_SAMPLER_DEFAULTS(float);
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "hn_lm_sampling_default: out is NULL");
    *out = (hn_lm_sampling){ .size = size, .temperature = inner.temperature, .top_k = inner.top_k,
                               .top_p = inner.top_p, .min_p = inner.min_p, .repetition = inner.repetition,
                               .last = inner.last_n };
    return HN_OK;
}

hn_status hn_lm_take_biases(hn_heap *heap, const hn_lm_sampling *o, hn_lm_bias **out)
{
    HN_REQUIRE(o->n_bias >= 0 && (o->bias || !o->n_bias), HN_ERR_ARGUMENT,
               "hn_lm_sampling.bias: expected a list, found %d%s", o->n_bias, o->bias ? "" : " at NULL");
    hn_lm_bias *list = hn_alloc_array(heap, HN_TAG_STATE, (size_t)o->n_bias + 1, sizeof *list);
    hn_status status = list ? HN_OK : HN_ERR_MEMORY;
    for (int32_t i = 0; status == HN_OK && i < o->n_bias; i++)
        status = hn_take_element("hn_lm_bias", o->bias, (size_t)i, sizeof *list, &list[i]);
    if (status != HN_OK) {
        hn_free(heap, list);
        return status;
    }
    *out = list;
    return HN_OK;
}

/* As the inner sampler has them. */
static hn_status inner_biases(hn_heap *heap, const hn_lm_sampling *o, hn_logit_bias **out)
{
    hn_lm_bias *list;
    HN_TRY(hn_lm_take_biases(heap, o, &list));
    *out = hn_alloc_array(heap, HN_TAG_STATE, (size_t)o->n_bias + 1, sizeof **out);
    for (int32_t i = 0; *out && i < o->n_bias; i++)
        (*out)[i] = (hn_logit_bias){ list[i].id, list[i].bias };
    hn_free(heap, list);
    return *out ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_lm_inner_sampler(hn_lm *lm, const hn_lm_sampling *sampling, hn_logit_bias **bias,
                              hn_sampler **out)
{
    hn_lm_sampling o;
    if (sampling)
        HN_TRY(hn_take_struct("hn_lm_sampling", sampling, sizeof o, &o));
    else
        HN_TRY(hn_lm_sampling_default(&o, sizeof o));
    HN_TRY(inner_biases(&lm->engine->heap, &o, bias));
    const hn_sampler_options inner = { .temperature = o.temperature, .top_k = o.top_k, .top_p = o.top_p,
                                       .min_p = o.min_p, .repetition = o.repetition,
                                       .frequency = o.frequency, .presence = o.presence, .last_n = o.last,
                                       .seed = o.seed, .n_bias = o.n_bias, .bias = *bias };
    return hn_sampler_new(out, &lm->engine->heap, (int32_t)hn_lm_vocabulary(lm), &inner);
}

const char *hn_lm_sampling_definition(const hn_lm_sampling *sampling)
{
    HN_ENTER();
    hn_lm_sampling o;
    if (!sampling || hn_take_struct("hn_lm_sampling", sampling, sizeof o, &o) != HN_OK)
        return "";
    return hn_sampler_definition(&(hn_sampler_options){ .temperature = o.temperature, .top_k = o.top_k });
}

static hn_status take_grammar(hn_lm_sampler *s, const hn_lm_sampling *sampling)
{
    hn_lm_sampling o;
    HN_TRY(hn_take_struct("hn_lm_sampling", sampling, sizeof o, &o));
    return o.grammar ? hn_lm_matcher_new(&s->matcher, s->lm, o.grammar) : HN_OK;
}

hn_status hn_lm_sampler_new(hn_lm_sampler **out, hn_lm *lm, const hn_lm_sampling *sampling)
{
    HN_ENTER();
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_sampler_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_hold(lm));
    hn_lm_sampler *s = hn_alloc(&lm->engine->heap, HN_TAG_STATE, sizeof *s);
    if (!s) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    s->lm = lm;
    hn_status status = hn_lm_inner_sampler(lm, sampling, &s->bias, &s->inner);
    if (status == HN_OK)
        status = take_grammar(s, sampling);
    if (status != HN_OK) {
        hn_lm_sampler_free(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

void hn_lm_sampler_free(hn_lm_sampler *s)
{
    HN_ENTER();
    if (!s)
        return;
    hn_lm *lm = s->lm;
    hn_lm_matcher_free(s->matcher);
    hn_sampler_free(s->inner);
    hn_free(&lm->engine->heap, s->bias);
    hn_free(&lm->engine->heap, s);
    hn_lm_let_go(lm);
}

hn_status hn_lm_sampler_begin(hn_lm_sampler *s, size_t n, uint64_t number)
{
    HN_ENTER();
    HN_REQUIRE(s, HN_ERR_ARGUMENT, "hn_lm_sampler_begin: expected a sampler, found NULL");
    s->has_begun = true;
    s->from = n;
    s->number = number;
    return HN_OK;
}

/* What may come after these ids, by the grammar, in *bits (NULL: anything), and the number of the token that does. */
static hn_status look(hn_lm_sampler *s, const int32_t *ids, size_t n, const uint64_t **bits, uint64_t *number)
{
    hn_lm_mask mask;
    HN_REQUIRE(n <= INT32_MAX, HN_ERR_ARGUMENT, "hn_lm_sampler_next: %zu ids: expected at most %d", n, INT32_MAX);
    const int64_t vocab = hn_lm_vocabulary(s->lm);
    for (size_t i = 0; i < n; i++)
        HN_REQUIRE(ids[i] >= 0 && ids[i] < vocab, HN_ERR_ARGUMENT, "id %zu is %d: the vocabulary has %lld", i,
                   ids[i], (long long)vocab);
    if (!s->has_begun || n < s->from)
        HN_TRY(hn_lm_sampler_begin(s, n, 0));
    *number = s->number + (n - s->from);
    *bits = NULL;
    if (!s->matcher)
        return HN_OK;
    HN_TRY(hn_lm_matcher_set(s->matcher, ids + s->from, n - s->from));
    HN_TRY(hn_lm_matcher_mask(s->matcher, &mask, sizeof mask));
    *bits = mask.bits;
    return HN_OK;
}

hn_status hn_lm_sampler_next(hn_lm_sampler *s, const float *logits, const int32_t *ids, size_t n, int32_t *out)
{
    HN_ENTER();
    const uint64_t *bits;
    uint64_t number;
    HN_REQUIRE(s && logits && (ids || !n) && out, HN_ERR_ARGUMENT,
               "hn_lm_sampler_next: expected a sampler, logits, ids and out, found NULL");
    HN_TRY(look(s, ids, n, &bits, &number));
    return hn_sampler_next_of(s->inner, number, logits, bits, ids, (int64_t)n, out);
}

hn_status hn_lm_sampler_foretell(hn_lm_sampler *s, const float *logits, const int32_t *ids, size_t n, int32_t id, double *log_probability,
                                 hn_lm_likely *likeliest, int32_t *n_likeliest)
{
    HN_ENTER();
    const uint64_t *bits;
    uint64_t number;
    HN_REQUIRE(s && logits && (ids || !n) && log_probability && n_likeliest && (likeliest || *n_likeliest <= 0), HN_ERR_ARGUMENT,
               "hn_lm_sampler_foretell: expected a sampler, logits, ids and room, found NULL");
    HN_REQUIRE(*n_likeliest >= 0, HN_ERR_ARGUMENT, "hn_lm_sampler_foretell: %d of the likeliest: expected 0 or more", *n_likeliest);
    const int32_t most = *n_likeliest;
    HN_TRY(look(s, ids, n, &bits, &number));
    const int64_t vocab = hn_lm_vocabulary(s->lm);
    HN_TRY(hn_sampler_spread(s->inner, logits, bits, ids, (int64_t)n, most < vocab ? most : (int32_t)vocab, n_likeliest));
    for (int32_t i = 0; i < *n_likeliest; i++) {
        double here;
        const int32_t token = hn_sampler_choice(s->inner, i, &here);
        likeliest[i] = (hn_lm_likely){ token, here };
    }
    *log_probability = id >= 0 && id < vocab ? hn_sampler_chance(s->inner, id) : -(double)INFINITY;
    return HN_OK;
}

hn_status hn_lm_sampler_fit(hn_lm_sampler *s, const int32_t *ids, size_t n, int32_t *guesses, size_t room, size_t *n_guesses)
{
    if (!s->matcher || !s->has_begun || n < s->from)
        return HN_OK;
    HN_TRY(hn_lm_matcher_set(s->matcher, ids + s->from, n - s->from));
    const size_t n_guessed = *n_guesses;
    *n_guesses = 0;
    for (bool goes_on = true; goes_on && *n_guesses < room;) {
        hn_lm_mask mask;
        size_t taken = 0;
        HN_TRY(hn_lm_matcher_mask(s->matcher, &mask, sizeof mask));
        if (mask.only >= 0)
            guesses[*n_guesses] = mask.only;
        else if (*n_guesses >= n_guessed)
            break;
        goes_on = !hn_lm_ends(s->lm, guesses[*n_guesses]);
        if (goes_on)
            HN_TRY(hn_lm_matcher_advance(s->matcher, &guesses[*n_guesses], 1, &taken));
        goes_on = taken == 1;
        *n_guesses += taken;
    }
    return HN_OK;
}

hn_status hn_lm_sampler_draw(hn_lm_sampler *s, const hn_lm_session *session, int32_t *out)
{
    HN_ENTER();
    size_t n;
    HN_REQUIRE(s && session && out, HN_ERR_ARGUMENT,
               "hn_lm_sampler_draw: expected a sampler, a session and out, found NULL");
    const float *logits = hn_lm_session_logits(session);
    const int32_t *ids = hn_lm_session_ids(session, &n);
    HN_REQUIRE(logits, HN_ERR_ARGUMENT, "hn_lm_sampler_draw: the session has no logits: feed it first");
    HN_TRY(hn_lm_sampler_next(s, logits, ids, n, out));
    hn_lm_session_drawn(session, n, s->number + (n - s->from));
    return HN_OK;
}
