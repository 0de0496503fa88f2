/* What is told of tokens after sampling is what they were drawn from: with others in a batch, and guessed ahead, as alone in a session,
 * to the bit; probabilities of all that may be drawn are 1 together; and with a temperature of 1 and nothing else they are the model's own,
 * as near as weights are. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <math.h>
#include <string.h>

enum { MOST = 40, N_PROMPT = 24, N_LIKELIEST = 20, EACH = 4, CONTEXT = 128 };

typedef struct said {
    int32_t id, n;
    double log_probability;
    hn_lm_likely likeliest[N_LIKELIEST];
} said;

/* How a draw is made. */
typedef struct way {
    const char *name, *grammar;
    hn_lm_sampling sampling;
    bool is_own; /* the model's own distribution */
} way;

static const hn_lm_bias bias[] = { { sizeof *bias, 70, 4 }, { sizeof *bias, 71, -INFINITY }, { sizeof *bias, 72, 4 } };
static const way ways[] = {
    { .name = "as the model has it", .sampling = { .temperature = 1 }, .is_own = true },
    { .name = "the likeliest alone", .sampling = { .temperature = 0 } },
    { .name = "hot and cut", .sampling = { .temperature = 1.5f, .top_k = 12, .repetition = 1.3f } },
    { .name = "by what it makes up", .sampling = { .temperature = 0.7f, .top_p = 0.6f, .min_p = 0.02f, .frequency = 0.5f } },
    { .name = "biased", .sampling = { .temperature = 1, .top_k = 8, .bias = bias, .n_bias = 3 } },
    { .name = "by rules", .grammar = "root ::= [a-e ]+ \".\"", .sampling = { .temperature = 1.2f } },
};
enum { N_WAYS = sizeof ways / sizeof *ways };

typedef struct asked {
    int32_t prompt[N_PROMPT];
    said alone[MOST], got[MOST];
    int32_t n_alone, n_got;
} asked;

static hn_engine *engine;
static hn_lm *lm;
static asked all[N_WAYS][EACH];
static int64_t n_complete, n_other; /* tokens of which all that may be drawn was told; and that the model itself rates otherwise */

static hn_lm_grammar *grammar_of(const way *w)
{
    hn_lm_grammar *grammar = NULL;
    if (w->grammar)
        CHECK_OK(hn_lm_grammar_new(&grammar, engine, HN_LM_GBNF, w->grammar, strlen(w->grammar), NULL));
    return grammar;
}

static hn_lm_sampling sampling_of(const way *w, int i, hn_lm_grammar *grammar)
{
    hn_lm_sampling s = w->sampling;
    s.size = sizeof s;
    s.seed = (uint64_t)(11 + i);
    s.grammar = grammar;
    return s;
}

/* Of one token: what was drawn is among what may be, in order, and all of that makes 1. */
static void check_spread(const way *w, const said *s, double own)
{
    double sum = 0;
    bool has_it = s->n == N_LIKELIEST;
    for (int32_t i = 0; i < s->n; i++) {
        sum += exp(s->likeliest[i].log_probability);
        has_it |= s->likeliest[i].id == s->id && s->likeliest[i].log_probability == s->log_probability;
        CHECK(isfinite(s->likeliest[i].log_probability) && (!i || s->likeliest[i].log_probability <= s->likeliest[i - 1].log_probability));
    }
    CHECK_THAT(has_it && s->n > 0 && isfinite(s->log_probability), "%s: token %d is not among those that may be drawn", w->name, s->id);
    CHECK_THAT(s->n == N_LIKELIEST ? sum < 1 + 1e-12 : fabs(sum - 1) < 1e-12, "%s: %d choices make %.17g", w->name, s->n, sum);
    /* Weights are whole numbers, of which the best has 2^40, and exponentials of differences in f32. */
    CHECK_THAT(!w->is_own || fabs(s->log_probability - own) < 4e-6 + 0x1p-41 / exp(own), "%s: %.17g, the model says %.17g", w->name, s->log_probability, own);
    CHECK(w->sampling.temperature > 0 || (s->n == 1 && s->log_probability == 0));
    n_complete += s->n < N_LIKELIEST && s->n > 1;
    n_other += fabs(s->log_probability - own) > 1e-3;
}

static void run_alone(const way *w, int i, asked *a)
{
    hn_lm_session *session;
    hn_lm_sampler *sampler;
    hn_lm_grammar *grammar = grammar_of(w);
    const hn_lm_sampling sampling = sampling_of(w, i, grammar);
    const hn_lm_session_options o = { .size = sizeof o, .context = CONTEXT };
    if (!CHECK_OK(hn_lm_session_new(&session, lm, &o)) || !CHECK_OK(hn_lm_sampler_new(&sampler, lm, &sampling)))
        return;
    CHECK_OK(hn_lm_session_feed(session, a->prompt, N_PROMPT));
    while (a->n_alone < MOST) {
        said *s = &a->alone[a->n_alone];
        size_t n;
        double own = 0;
        CHECK_OK(hn_lm_sampler_draw(sampler, session, &s->id));
        if (hn_lm_ends(lm, s->id))
            break;
        const int32_t *ids = hn_lm_session_ids(session, &n);
        s->n = N_LIKELIEST;
        CHECK_OK(hn_lm_sampler_foretell(sampler, hn_lm_session_logits(session), ids, n, s->id, &s->log_probability, s->likeliest, &s->n));
        CHECK_OK(hn_lm_session_foretell(session, s->id, &own));
        check_spread(w, s, own);
        a->n_alone++;
        CHECK_OK(hn_lm_session_feed(session, &s->id, 1));
    }
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
    hn_lm_grammar_free(grammar);
}

static void on_token(void *context, const hn_lm_drawn *token)
{
    asked *a = context;
    if (!CHECK(a->n_got < MOST && token->number == a->n_got))
        return;
    said *s = &a->got[a->n_got++];
    s->id = token->id;
    s->n = token->n_likeliest;
    s->log_probability = token->log_probability;
    memcpy(s->likeliest, token->likeliest, (size_t)s->n * sizeof *s->likeliest);
}

static void run_together(void)
{
    hn_lm_batch *batch;
    hn_lm_scheduler *scheduler;
    hn_lm_scheduler_counts counts;
    int64_t number, left = 1;
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 5, .context = CONTEXT, .rows = 24, .tokens = 40 };
    const hn_lm_draft_options draft = { .size = sizeof draft, .ngram = 2, .ngram_least = 1, .most = 4, .fixed = 1 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .draft = &draft };
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &b)) || !CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &o)))
        return;
    for (int w = 0; w < N_WAYS; w++)
        for (int i = 0; i < EACH; i++) {
            hn_lm_grammar *grammar = grammar_of(&ways[w]);
            const hn_lm_sampling sampling = sampling_of(&ways[w], i, grammar);
            const hn_lm_request r = { .size = sizeof r, .ids = all[w][i].prompt, .n = N_PROMPT, .sampling = &sampling, .most = MOST,
                                      .scores = 1, .likeliest = N_LIKELIEST, .scores_drawn = 1, .on_token = on_token, .context = &all[w][i] };
            CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &number));
            hn_lm_grammar_free(grammar);
        }
    while (left && CHECK_OK(hn_lm_scheduler_step(scheduler, &left)))
        ;
    CHECK_OK(hn_lm_scheduler_count(scheduler, &counts, sizeof counts));
    CHECK_THAT(counts.mixed && counts.accepted && counts.rejected, "%lld mixed steps, %lld guesses right and %lld wrong",
               (long long)counts.mixed, (long long)counts.accepted, (long long)counts.rejected);
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
}

static bool is_same(const said *a, const said *b)
{
    bool same = a->id == b->id && a->n == b->n && !memcmp(&a->log_probability, &b->log_probability, sizeof a->log_probability);
    for (int32_t i = 0; same && i < a->n; i++)
        same = a->likeliest[i].id == b->likeliest[i].id &&
               !memcmp(&a->likeliest[i].log_probability, &b->likeliest[i].log_probability, sizeof a->log_probability);
    return same;
}

static void compare(const way *w, const asked *a)
{
    int k = 0;
    while (k < a->n_got && k < a->n_alone && is_same(&a->got[k], &a->alone[k]))
        k++;
    CHECK_THAT(k == a->n_got && k == a->n_alone && k > 0, "%s: token %d of %d is %d (%.17g), alone %d (%.17g)", w->name, k, a->n_alone,
               a->got[k % MOST].id, a->got[k % MOST].log_probability, a->alone[k % MOST].id, a->alone[k % MOST].log_probability);
}

/* What is never drawn, and what is no question. */
static void check_refusals(void)
{
    hn_lm_session *session;
    hn_lm_sampler *sampler;
    const hn_lm_sampling sampling = { .size = sizeof sampling, .temperature = 1, .bias = bias, .n_bias = 3 };
    double value = 0;
    int32_t none = 0, less = -1;
    const int32_t id = 5;
    if (!CHECK_OK(hn_lm_session_new(&session, lm, NULL)) || !CHECK_OK(hn_lm_sampler_new(&sampler, lm, &sampling)) ||
        !CHECK_OK(hn_lm_session_feed(session, &id, 1)))
        return;
    const float *logits = hn_lm_session_logits(session);
    CHECK_OK(hn_lm_sampler_foretell(sampler, logits, &id, 1, 71, &value, NULL, &none));
    CHECK(isinf(value) && value < 0 && !none);
    CHECK_FAILS(hn_lm_sampler_foretell(sampler, logits, &id, 1, 5, &value, NULL, &less), HN_ERR_ARGUMENT, "-1 of the likeliest");
    CHECK_FAILS(hn_lm_sampler_foretell(sampler, NULL, &id, 1, 5, &value, NULL, &none), HN_ERR_ARGUMENT, "found NULL");
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    if (!CHECK_OK(hn_engine_new(&engine, NULL)) || !CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)))
        return check_close();
    for (int w = 0; w < N_WAYS; w++)
        for (int i = 0; i < EACH; i++) {
            for (int k = 0; k < N_PROMPT; k++) /* something that comes again, to be guessed */
                all[w][i].prompt[k] = 60 + (k * (3 + i) + w) % 7;
            run_alone(&ways[w], i, &all[w][i]);
        }
    run_together();
    for (int w = 0; w < N_WAYS; w++)
        for (int i = 0; i < EACH; i++)
            compare(&ways[w], &all[w][i]);
    CHECK_THAT(n_complete > 50 && n_other > 50, "%lld tokens with all choices told, %lld that the model rates otherwise", (long long)n_complete,
               (long long)n_other);
    check_refusals();
    hn_lm_close(lm);
    hn_engine_free(engine);
    return check_close();
}
