/* The same answer for everybody: requests that come and go, share beginnings, make room for each other, have adapters of their own,
 * are cut into pieces, guessed ahead and cancelled have the tokens and log-probabilities that each has alone, in a
 * session; so do the ids of prompts that are scored, each told once and in order. Mixed steps, beginnings, those who made room and
 * guesses of both kinds are counted: without them nothing was tried.
 * --quick: fewer requests. */
#include "hone/hone.h"
#include "infer/log_sum.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 60, MOST_PROMPT = 160, N_LIKELIEST = 3, MOST_REQUESTS = 200, N_ADAPTERS = 3, CONTEXT = 220, MOST_PADDING = 80 };
#define MODELS   HN_SOURCE_DIR "/tests/differential/models/"
#define ADAPTERS HN_SOURCE_DIR "/tests/differential/adapters/"

typedef struct said {
    int32_t id;
    double log_probability;
    hn_lm_likely likeliest[N_LIKELIEST];
} said;

typedef struct asked {
    int32_t prompt[MOST_PROMPT];
    int32_t n, most, adapter, cancelled_at; /* tokens; -1: never */
    uint64_t owner;
    hn_lm_sampling sampling;
    int32_t goes_on;
    bool is_scored, draws_none;

    said prompt_alone[MOST_PROMPT], prompt_got[MOST_PROMPT];
    int32_t n_scored;
    said alone[MOST], got[MOST];
    int32_t n_alone, n_got;
    hn_lm_end end_alone;
    hn_lm_ended ended;
    int64_t number;
    bool has_ended, is_asked;
} asked;

typedef struct setup {
    const char *name, *model, *adapter, *cache;
    int64_t sequences, tokens, rows, blocks, piece, apart;
    int n_requests;
    bool drafts, keeps_none;
    bool makes_room; /* `piece` is fixed then: else it hangs on the clock who comes when */
    const hn_lm_options *options;
} setup;

static hn_engine *engine;
static asked *all;
static hn_lm_scheduler *scheduler;
static int64_t vocab;
static hn_lm_bias padding[MOST_PADDING]; /* ids that are no tokens are not drawn */
static int32_t n_padding;

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* ---- what is asked ---- */

/* Two beginnings that requests share, each goes its own way somewhere. */
static void make_request(asked *a, uint64_t *state, int n_adapters, int64_t tokens)
{
    static const int lengths[] = { 1, 17, 63, 64, 65, 100, 127, 128, 129, 140, 150, 158 };
    memset(a, 0, sizeof *a);
    const uint32_t text = draw(state, 2);
    a->n = lengths[draw(state, sizeof lengths / sizeof *lengths)];
    const int32_t own = draw(state, 3) ? a->n - (int32_t)draw(state, a->n < 40 ? (uint32_t)a->n : 40) : a->n; /* from here on */
    for (int32_t i = 0; i < a->n; i++)
        a->prompt[i] = (int32_t)(((uint32_t)i % 29 * 7 + text * 31 + (i >= own ? draw(state, 50) : 0) + 1) % (uint32_t)tokens);
    a->most = 1 + (int32_t)draw(state, MOST - 1);
    a->adapter = (int32_t)draw(state, (uint32_t)n_adapters + 1) - 1;
    a->owner = draw(state, 3) == 0;
    a->cancelled_at = draw(state, 6) ? -1 : (int32_t)draw(state, 12);
    a->goes_on = draw(state, 2) != 0;
    a->is_scored = draw(state, 4) == 0;
    a->draws_none = draw(state, 10) == 0;
    a->sampling = (hn_lm_sampling){ .size = sizeof a->sampling, .seed = draw(state, 5), .bias = padding, .n_bias = n_padding };
    if (draw(state, 3)) {
        a->sampling.temperature = 0.5f + (float)draw(state, 3) * 0.4f;
        a->sampling.top_k = draw(state, 2) ? 20 : 0;
    }
    if (!draw(state, 3))
        a->sampling.repetition = 1.2f;
}

static void score(const float *logits, said *to, int32_t id)
{
    int64_t best;
    const double sum = hn_log_sum(logits, vocab, &best);
    to->id = id;
    to->log_probability = (double)logits[id] - sum;
    for (int i = 0; i < N_LIKELIEST; i++) {
        int64_t next = -1;
        for (int64_t v = 0; v < vocab; v++) {
            bool is_taken = false;
            for (int j = 0; j < i; j++)
                is_taken |= to->likeliest[j].id == v;
            if (!is_taken && (next < 0 || logits[v] > logits[next]))
                next = v;
        }
        to->likeliest[i] = (hn_lm_likely){ (int32_t)next, (double)logits[next] - sum };
    }
}

/* In a session of its own, token by token. */
static void run_alone(hn_lm *lm, const char *cache, asked *a)
{
    hn_lm_session *session;
    hn_lm_sampler *sampler;
    const hn_lm_session_options o = { .size = sizeof o, .context = CONTEXT, .cache = cache };
    if (!CHECK_OK(hn_lm_session_new(&session, lm, &o)) || !CHECK_OK(hn_lm_sampler_new(&sampler, lm, &a->sampling)))
        return;
    for (int32_t i = 0; i < a->n; i++) {
        if (i)
            score(hn_lm_session_logits(session), &a->prompt_alone[i], a->prompt[i]);
        CHECK_OK(hn_lm_session_feed(session, &a->prompt[i], 1));
    }
    a->end_alone = HN_LM_COUNTED;
    while (a->n_alone < a->most && !a->draws_none) {
        int32_t id;
        CHECK_OK(hn_lm_sampler_draw(sampler, session, &id));
        if (!a->goes_on && hn_lm_ends(lm, id)) {
            a->end_alone = HN_LM_DONE;
            break;
        }
        score(hn_lm_session_logits(session), &a->alone[a->n_alone++], id);
        if (a->n_alone < a->most)
            CHECK_OK(hn_lm_session_feed(session, &id, 1));
    }
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
}

/* ---- what is said ---- */

static void on_token(void *context, const hn_lm_drawn *token)
{
    asked *a = context;
    if (!CHECK(!a->has_ended && token->number == a->n_got && a->n_got < MOST && token->request == a->number &&
               token->n_likeliest == N_LIKELIEST))
        return;
    said *s = &a->got[a->n_got++];
    s->id = token->id;
    s->log_probability = token->log_probability;
    memcpy(s->likeliest, token->likeliest, sizeof s->likeliest);
    if (a->n_got == a->cancelled_at)
        CHECK_OK(hn_lm_scheduler_cancel(scheduler, a->number));
    int64_t left;
    if (a->n_got == 1)
        CHECK_FAILS(hn_lm_scheduler_step(scheduler, &left), HN_ERR_BUSY, "in a step");
}

static void on_scored(void *context, const hn_lm_drawn *id)
{
    asked *a = context;
    if (!CHECK(!a->has_ended && !a->n_got && id->number == a->n_scored + 1 && id->number < a->n && id->request == a->number &&
               id->n_likeliest == N_LIKELIEST))
        return;
    said *s = &a->prompt_got[++a->n_scored];
    s->id = id->id;
    s->log_probability = id->log_probability;
    memcpy(s->likeliest, id->likeliest, sizeof s->likeliest);
    if (a->n_scored == 20 && a->cancelled_at == 1)
        CHECK_OK(hn_lm_scheduler_cancel(scheduler, a->number));
}

static void on_end(void *context, const hn_lm_ended *ended)
{
    asked *a = context;
    CHECK(!a->has_ended && ended->request == a->number);
    a->has_ended = true;
    a->ended = *ended;
    CHECK_FAILS(hn_lm_scheduler_cancel(scheduler, a->number), HN_ERR_ARGUMENT, "it has ended");
}

static void ask(asked *a, const int32_t *adapters)
{
    const hn_lm_request r = { .size = sizeof r, .ids = a->prompt, .n = (size_t)a->n, .sampling = &a->sampling,
                              .adapter = a->adapter < 0 ? NULL : &adapters[a->adapter], .owner = a->owner, .most = a->most,
                              .goes_on = a->goes_on, .scores = 1, .likeliest = N_LIKELIEST, .on_token = on_token,
                              .on_end = on_end, .context = a, .on_scored = a->is_scored ? on_scored : NULL,
                              .draws_none = a->draws_none };
    a->is_asked = CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &a->number));
    if (a->is_asked && a->cancelled_at == 0)
        CHECK_OK(hn_lm_scheduler_cancel(scheduler, a->number));
}

static bool same_bits(double a, double b) { return !memcmp(&a, &b, sizeof a); }

static bool is_same(const said *a, const said *b)
{
    bool same = a->id == b->id && same_bits(a->log_probability, b->log_probability);
    for (int i = 0; i < N_LIKELIEST; i++)
        same = same && a->likeliest[i].id == b->likeliest[i].id &&
               same_bits(a->likeliest[i].log_probability, b->likeliest[i].log_probability);
    return same;
}

static void compare_prompt(const setup *s, int i)
{
    const asked *a = &all[i];
    const bool is_cut = a->has_ended && a->ended.end == HN_LM_CANCELLED && !a->n_got;
    CHECK_THAT(a->is_scored ? is_cut || a->n_scored == a->n - 1 : !a->n_scored, "%s: request %d: %d of %d ids scored", s->name, i,
               a->n_scored, a->n);
    for (int32_t k = 1; k <= a->n_scored; k++)
        if (!CHECK_THAT(is_same(&a->prompt_got[k], &a->prompt_alone[k]), "%s: request %d: id %d of the prompt is scored %.17g, alone %.17g",
                        s->name, i, k, a->prompt_got[k].log_probability, a->prompt_alone[k].log_probability))
            return;
}

static void compare(const setup *s, int i)
{
    const asked *a = &all[i];
    int k = 0;
    compare_prompt(s, i);
    while (k < a->n_got && k < a->n_alone && is_same(&a->got[k], &a->alone[k]))
        k++;
    CHECK_THAT(k == a->n_got, "%s: request %d: token %d is %d, alone %d of %d, or its log-probabilities differ", s->name, i, k,
               a->got[k % MOST].id, a->alone[k % MOST].id, a->n_alone);
    CHECK_THAT(a->has_ended && a->ended.status == HN_OK && a->ended.n_drawn == a->n_got && a->ended.n_prompt == a->n &&
                   a->ended.n_returned <= 2 && a->ended.n_reused < a->n,
               "%s: request %d: status %d", s->name, i, (int)a->ended.status);
    const bool is_cut_before = a->is_scored && a->cancelled_at == 1 && a->n > 20; /* among its scores */
    const bool is_cut = a->cancelled_at >= 0 && (is_cut_before || a->cancelled_at <= a->n_alone) && a->ended.end == HN_LM_CANCELLED;
    CHECK_THAT(is_cut ? a->n_got == (is_cut_before ? 0 : a->cancelled_at) : a->n_got == a->n_alone && a->ended.end == a->end_alone,
               "%s: request %d: %d tokens and end %d, alone %d and %d", s->name, i, a->n_got, (int)a->ended.end, a->n_alone,
               (int)a->end_alone);
}

/* ---- a run ---- */

static void check_counts(const setup *s, const hn_lm_scheduler_counts *c)
{
    printf("%s: %lld steps, %lld mixed, %lld computed, %lld reused of %lld beginnings, %lld drawn, %lld made room, guesses %lld "
           "right and %lld wrong\n", s->name, (long long)c->steps, (long long)c->mixed, (long long)c->computed,
           (long long)c->reused, (long long)c->begun_known, (long long)c->drawn, (long long)c->returned,
           (long long)c->accepted, (long long)c->rejected);
    CHECK(c->running == 0 && c->waiting == 0 && c->mixed > 0);
    CHECK_THAT(s->keeps_none ? !c->begun_known : c->begun_known > 0 && c->reused > 0, "%s: beginnings", s->name);
    CHECK_THAT(!s->makes_room || s->piece, "%s: who makes room by the clock is not known", s->name);
    CHECK_THAT(s->makes_room ? c->returned > 0 : true, "%s: nobody made room", s->name);
    CHECK_THAT(s->drafts ? c->accepted > 0 && c->rejected > 0 : !c->accepted && !c->rejected, "%s: guesses", s->name);
}

/* Each that runs is told of once, by what it was asked with, and how far it is. */
static void check_running(void)
{
    hn_lm_scheduler_counts counts;
    hn_lm_scheduler_place place, before = { .request = -1 };
    CHECK_OK(hn_lm_scheduler_count(scheduler, &counts, sizeof counts));
    for (int64_t i = 0; i < counts.running; i++, before = place) {
        if (!CHECK_OK(hn_lm_scheduler_running(scheduler, i, &place, sizeof place)))
            return;
        const asked *a = place.context;
        CHECK(a && !a->has_ended && place.request != before.request);
        CHECK_INT(a->n, place.n_prompt);
        CHECK_INT(a->n_got, place.n_drawn);
        CHECK(place.n_run <= place.n_prompt + place.n_drawn && place.n_drawn <= place.most && place.n_reused < place.n_prompt);
    }
    CHECK_INT(HN_ERR_ARGUMENT, hn_lm_scheduler_running(scheduler, counts.running, &place, sizeof place));
}

/* All come by and by, some at once. Nothing is left of them in the batch but what is kept. */
static void run_together(const setup *s, hn_lm_batch *batch, const int32_t *adapters, int n)
{
    const hn_lm_draft_options draft = { .size = sizeof draft, .ngram = 2, .ngram_least = 1, .most = 4, .fixed = 1 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .piece = s->piece, .keeps_none = s->keeps_none,
                                        .draft = s->drafts ? &draft : NULL };
    uint64_t state = 77;
    int64_t left = 0, of;
    int at = 0;
    hn_lm_scheduler_counts counts;
    if (!CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &o)))
        return;
    for (int steps = 0; (at < n || left) && steps < 100000; steps++) {
        for (uint32_t now = draw(&state, 4) ? draw(&state, 2) : 6; now > 0 && at < n; now--)
            ask(&all[at++], adapters);
        if (!CHECK_OK(hn_lm_scheduler_step(scheduler, &left)))
            break;
        check_running();
    }
    CHECK_OK(hn_lm_scheduler_count(scheduler, &counts, sizeof counts));
    check_counts(s, &counts);
    CHECK_OK(hn_lm_scheduler_forget(scheduler, &adapters[0]));
    CHECK_OK(hn_lm_scheduler_forget(scheduler, NULL));
    CHECK(hn_lm_batch_blocks(batch, &of) == of);
    hn_lm_scheduler_free(scheduler);
}

static void check_setup(const setup *s)
{
    const int n = check_flag("--quick") && s->n_requests > 40 ? 40 : s->n_requests;
    hn_lm *lms[1 + N_ADAPTERS] = { NULL }; /* without, and with each */
    static const double scales[N_ADAPTERS] = { 1, 0.5, -2 };
    int32_t adapters[N_ADAPTERS] = { -1, -1, -1 };
    hn_lm_batch *batch = NULL;
    uint64_t state = 5;
    check_group(s->name);
    const int n_adapters = s->adapter ? N_ADAPTERS : 0;
    for (int i = 0; i <= n_adapters; i++) {
        const hn_lm_adapter_options a = { .size = sizeof a, .scale = i ? scales[i - 1] : 0 };
        if (!CHECK_OK(hn_lm_open(&lms[i], engine, s->model, s->options)) ||
            (i && !CHECK_OK(hn_lm_add_adapter(lms[i], s->adapter, &a))))
            return;
    }
    vocab = hn_lm_vocabulary(lms[0]);
    n_padding = 0;
    for (int64_t id = hn_lm_tokens(lms[0]); id < vocab && n_padding < MOST_PADDING; id++)
        padding[n_padding++] = (hn_lm_bias){ sizeof *padding, (int32_t)id, -INFINITY };
    for (int i = 0; i < n; i++) {
        make_request(&all[i], &state, n_adapters, hn_lm_tokens(lms[0]));
        run_alone(lms[1 + all[i].adapter], s->cache, &all[i]);
    }
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = s->sequences, .context = CONTEXT, .tokens = s->tokens,
                                    .rows = s->rows, .blocks = s->blocks, .cache = s->cache, .adapters = s->apart ? 0 : n_adapters, .adapts_head = 1,
                                    .apart = s->apart };
    if (CHECK_OK(hn_lm_batch_new(&batch, lms[0], &b))) {
        for (int i = 0; i < n_adapters; i++) {
            const hn_lm_adapter_options a = { .size = sizeof a, .scale = scales[i] };
            CHECK_OK(hn_lm_batch_add_adapter(batch, s->adapter, &a, &adapters[i]));
        }
        run_together(s, batch, adapters, n);
        for (int i = 0; i < n; i++)
            compare(s, i);
    }
    hn_lm_batch_free(batch);
    for (int i = 0; i <= n_adapters; i++)
        hn_lm_close(lms[i]);
}

/* ---- who makes room ---- */

static int64_t ended_order[MOST_REQUESTS];
static int n_ended;

static void note_end(void *context, const hn_lm_ended *ended)
{
    asked *a = context;
    a->ended = *ended;
    ended_order[n_ended++] = ended->request;
}

static void ask_for(int i, const int32_t *ids, size_t n, int64_t most, uint64_t owner)
{
    const hn_lm_request r = { .size = sizeof r, .ids = ids, .n = n, .owner = owner, .most = most, .goes_on = 1, .on_end = note_end,
                              .context = &all[i] };
    memset(&all[i], 0, sizeof all[i]);
    CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &all[i].number));
}

static void run_out(void)
{
    int64_t left = 1;
    while (left && CHECK_OK(hn_lm_scheduler_step(scheduler, &left)))
        ;
}

/* Five blocks. A and B are of one owner, C of another, D waits; each grows from one block to three.
 *     at 64 ids     all want a second: two are free. B goes, the last of the owner who has two
 *     at 128        A and C want a third: one is free. C goes, who came after A
 *     A ends        C, B and then D, which goes once: who made room goes first, the last to go before the others */
static void check_order(hn_lm *lm, const int32_t *ids)
{
    static const int returned[] = { 0, 1, 1, 1 }, order[] = { 0, 2, 1, 3 };
    hn_lm_batch *batch;
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 3, .context = 200, .blocks = 5 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .keeps_none = 1 };
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &b)) || !CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &o)))
        return;
    n_ended = 0;
    for (int i = 0; i < 4; i++)
        ask_for(i, ids + i, 50, 100, i == 2 ? 2 : 1);
    run_out();
    for (int i = 0; i < 4; i++) {
        CHECK_INT(returned[i], all[i].ended.n_returned);
        CHECK_INT(all[order[i]].number, ended_order[i]);
    }
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
}

/* One at a time, and four may wait of each. A has one that runs and asks for four more; a fifth may not wait, but B's may, and has
 * its turn with the second of A's. */
static void check_turns(hn_lm *lm, const int32_t *ids)
{
    static const int order[] = { 0, 1, 5, 2, 3, 4 };
    hn_lm_batch *batch;
    int64_t left;
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 1, .context = 200 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .waiting = 4 };
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &b)) || !CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &o)))
        return;
    n_ended = 0;
    ask_for(0, ids, 10, 4, 1);
    CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
    for (int i = 1; i < 5; i++)
        ask_for(i, ids + i, 10, 4, 1);
    const hn_lm_request more = { .size = sizeof more, .ids = ids, .n = 10, .owner = 2, .asker = 1 };
    CHECK_FAILS(hn_lm_scheduler_ask(scheduler, &more, &left), HN_ERR_BUSY, "4 requests wait");
    ask_for(5, ids + 5, 10, 4, 2);
    run_out();
    CHECK_INT(6, n_ended);
    for (int i = 0; i < n_ended; i++)
        CHECK_INT(all[order[i]].number, ended_order[i]);
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
}

/* Where room is always short, some make it twice, and nobody more often. */
static int64_t check_settled(hn_lm *lm, const int32_t *ids, int64_t blocks)
{
    hn_lm_batch *batch;
    uint64_t state = 3;
    int64_t twice = 0;
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 8, .context = 250, .blocks = blocks };
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &b)) || !CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, NULL)))
        return 0;
    n_ended = 0;
    for (int i = 0; i < 60; i++)
        ask_for(i, ids + i % 40, i % 3 ? 5 + draw(&state, 90) : 20, i % 2 ? 30 + draw(&state, 90) : 150, 0);
    run_out();
    CHECK_INT(60, n_ended);
    for (int i = 0; i < 60; i++) {
        CHECK(all[i].ended.status == HN_OK && all[i].ended.n_returned <= 2);
        twice += all[i].ended.n_returned == 2;
    }
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
    return twice;
}

/* A model that guesses itself is right, to the end of the context. */
static void check_itself(hn_lm *lm, const int32_t *ids)
{
    hn_lm_batch *batch;
    hn_lm_scheduler_counts counts;
    hn_lm_sampling warm = { .size = sizeof warm, .temperature = 1.2f, .seed = 4, .bias = padding };
    for (int64_t id = hn_lm_tokens(lm); id < hn_lm_vocabulary(lm) && warm.n_bias < MOST_PADDING; id++)
        padding[warm.n_bias++] = (hn_lm_bias){ sizeof *padding, (int32_t)id, -INFINITY };
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 2, .context = 120, .rows = 12 };
    const hn_lm_draft_options itself = { .size = sizeof itself, .model = lm, .sampling = &warm, .fixed = 1, .most = 5 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .draft = &itself };
    hn_lm_request r = { .size = sizeof r, .ids = ids, .n = 30, .sampling = &warm, .goes_on = 1, .on_end = note_end,
                        .context = &all[0] };
    int64_t number;
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &b)) || !CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &o)))
        return;
    CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &number));
    run_out();
    CHECK_OK(hn_lm_scheduler_count(scheduler, &counts, sizeof counts));
    CHECK(all[0].ended.status == HN_OK && all[0].ended.end == HN_LM_FULL && all[0].ended.n_drawn == 90);
    CHECK_THAT(counts.accepted > 60 && counts.rejected <= 10, "%lld right, %lld wrong", (long long)counts.accepted,
               (long long)counts.rejected);
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
}

static void check_room(void)
{
    hn_lm *lm;
    int32_t ids[200];
    check_group("room");
    for (int i = 0; i < 200; i++)
        ids[i] = i * i % 251 + 1;
    if (CHECK_OK(hn_lm_open(&lm, engine, MODELS "llama", NULL))) {
        check_turns(lm, ids);
        check_order(lm, ids);
        int64_t twice = 0;
        for (int64_t blocks = 7; blocks < 19; blocks += 2)
            twice += check_settled(lm, ids, blocks);
        CHECK(twice > 0);
        check_itself(lm, ids);
        hn_lm_close(lm);
    }
}

/* ---- refusals ---- */

static void check_refusals(void)
{
    hn_lm *lm;
    hn_lm_batch *batch;
    int64_t number, left;
    const int32_t ids[] = { 1, 2, 3, 4000000 };
    const int32_t far = 9;
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 2, .context = 128, .blocks = 1 };
    hn_lm_request r = { .size = sizeof r, .ids = ids, .n = 3, .most = 2 };
    check_group("refusals");
    if (!CHECK_OK(hn_lm_open(&lm, engine, MODELS "llama", NULL)) || !CHECK_OK(hn_lm_batch_new(&batch, lm, &b)))
        return;
    const hn_lm_scheduler_options many = { .size = sizeof many, .running = 3 }, one = { .size = sizeof one, .waiting = 1 };
    CHECK_FAILS(hn_lm_scheduler_new(&scheduler, batch, &many), HN_ERR_ARGUMENT, "running of at most 2 and kept of at most 1,");
    const hn_lm_scheduler_options kept = { .size = sizeof kept, .kept = 3 },
                                  both = { .size = sizeof both, .kept = 1, .keeps_none = 1 };
    CHECK_FAILS(hn_lm_scheduler_new(&scheduler, batch, &kept), HN_ERR_ARGUMENT, "kept of at most 1, found running 0, waiting 0, kept 3");
    CHECK_FAILS(hn_lm_scheduler_new(&scheduler, batch, &both), HN_ERR_ARGUMENT, "kept 1, and keeps_none");
    CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &one));
    r.n = 4;
    CHECK_FAILS(hn_lm_scheduler_ask(scheduler, &r, &number), HN_ERR_ARGUMENT, "id 3 is 4000000");
    r.n = 0;
    CHECK_FAILS(hn_lm_scheduler_ask(scheduler, &r, &number), HN_ERR_ARGUMENT, "expected ids");
    r.n = 3, r.most = 0;
    CHECK_FAILS(hn_lm_scheduler_ask(scheduler, &r, &number), HN_ERR_MEMORY, "128 tokens take 2 blocks");
    r.most = 2, r.likeliest = 21;
    CHECK_FAILS(hn_lm_scheduler_ask(scheduler, &r, &number), HN_ERR_ARGUMENT, "likeliest");
    r.likeliest = 0, r.n = 128;
    CHECK_FAILS(hn_lm_scheduler_ask(scheduler, &r, &number), HN_ERR_ARGUMENT, "no room for an answer");
    r.n = 3;
    CHECK_FAILS(hn_lm_scheduler_cancel(scheduler, 0), HN_ERR_ARGUMENT, "none of this number");
    CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &number));
    CHECK_FAILS(hn_lm_scheduler_ask(scheduler, &r, &number), HN_ERR_BUSY, "1 requests wait");
    CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
    /* One that fails ends with its status, and the others go on. */
    asked *a = &all[0];
    memset(a, 0, sizeof *a);
    r.adapter = &far, r.on_end = on_end, r.context = a;
    CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &a->number));
    while (left)
        CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
    CHECK(a->has_ended && a->ended.status == HN_ERR_ARGUMENT && a->ended.n_drawn == 0);
    hn_lm_scheduler_free(scheduler);
    /* Freed while they run and wait. */
    r.adapter = NULL, r.on_end = NULL;
    CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, NULL));
    for (int i = 0; i < 4; i++)
        CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &number));
    CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
    hn_lm_close(lm);
}

int main(int argc, char **argv)
{
    static const hn_lm_options int8 = { .size = sizeof int8, .numerics = HN_LM_INT8 };
    char dir[] = "/tmp/hone-scheduler-XXXXXX", llama[300], gemma[300], wide[300], q8_0[300];
    check_open(argc, argv);
    all = calloc(MOST_REQUESTS, sizeof *all);
    if (!CHECK(all && mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    snprintf(llama, sizeof llama, "%s/llama.gguf", dir);
    snprintf(gemma, sizeof gemma, "%s/gemma.gguf", dir);
    snprintf(wide, sizeof wide, "%s/wide.gguf", dir);
    snprintf(q8_0, sizeof q8_0, "%s/q8_0.gguf", dir);
    static const char *const shape[] = { "layers=2", "width=64", "heads=2", "kv_heads=1", "head_dim=32", "context=256" };
    const hn_lm_make_options made = { .size = sizeof made, .settings = shape, .n_settings = 6 };
    int64_t before, live;
    hn_engine_memory(engine, &before, NULL, NULL);
    CHECK_OK(hn_lm_import_adapter(engine, ADAPTERS "llama", MODELS "llama", llama, NULL));
    CHECK_OK(hn_lm_import_adapter(engine, ADAPTERS "gemma3", MODELS "gemma3", gemma, NULL));
    CHECK_OK(hn_lm_make(engine, "llama", wide, &made));
    CHECK_OK(hn_lm_quantize(engine, wide, q8_0, "q8_0", NULL));
    const setup setups[] = {
        { .name = "adapters, little room", .model = MODELS "llama", .adapter = llama, .sequences = 8, .tokens = 96, .blocks = 9,
          .piece = 32, .n_requests = 200, .makes_room = true },
        { .name = "guesses", .model = MODELS "llama", .adapter = llama, .sequences = 5, .rows = 24, .tokens = 64, .n_requests = 80,
          .piece = 7, .drafts = true },
        { .name = "adapters that are run apart", .model = MODELS "llama", .adapter = llama, .sequences = 6, .tokens = 50, .apart = 2,
          .rows = 12, .n_requests = 60, .drafts = true },
        { .name = "guesses, little room", .model = MODELS "llama", .sequences = 6, .rows = 16, .tokens = 40, .blocks = 7,
          .piece = 16, .n_requests = 80, .drafts = true, .makes_room = true },
        { .name = "guesses, little room, by the clock", .model = MODELS "llama", .sequences = 6, .rows = 16, .tokens = 40, .blocks = 7,
          .n_requests = 60, .drafts = true },
        { .name = "steps too short for all", .model = MODELS "llama", .sequences = 8, .rows = 3, .tokens = 4, .n_requests = 40 },
        { .name = "nothing kept", .model = MODELS "llama", .sequences = 4, .n_requests = 40, .keeps_none = true },
        { .name = "windows", .model = MODELS "gemma3", .adapter = gemma, .sequences = 6, .tokens = 70, .blocks = 8,
          .piece = 24, .n_requests = 80, .makes_room = true },
        { .name = "windows, short steps", .model = MODELS "gemma3", .sequences = 5, .tokens = 9, .piece = 4, .n_requests = 60 },
        { .name = "experts", .model = MODELS "qwen3moe", .sequences = 6, .tokens = 66, .blocks = 8, .cache = "f16",
          .piece = 32, .n_requests = 60, .makes_room = true },
        { .name = "experts, windows, sinks", .model = MODELS "gpt-oss", .sequences = 4, .tokens = 65, .n_requests = 40 },
        { .name = "whole numbers, q8_0 keys", .model = q8_0, .sequences = 6, .tokens = 64, .rows = 12, .blocks = 8, .cache = "q8_0",
          .piece = 32, .n_requests = 60, .options = &int8, .drafts = true, .makes_room = true },
    };
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++)
        check_setup(&setups[i]);
    check_room();
    check_refusals();
    check_group(NULL);
    hn_engine_memory(engine, &live, NULL, NULL);
    CHECK_INT(before, live);
    hn_engine_free(engine);
    free(all);
    const char *const files[] = { llama, gemma, wide, q8_0 };
    for (int i = 0; i < 4; i++)
        unlink(files[i]);
    rmdir(dir);
    return check_close();
}
