/* Prompts go in the order in which they are due, beside one that generates all along: a short one passes a long one that has begun, a
 * long one is passed only by who comes in while as many ids as it has are run, and one that gave way is due as it was. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 128, CONTEXT = 250, PIECE = 16, LONG = 160, SHORT = 8 };
#define MODELS HN_SOURCE_DIR "/tests/differential/models/"

typedef struct asked {
    int64_t first, last, resumed; /* steps of tokens: the first, the last, and the first after a step without; -1: none yet */
    int64_t n_returned;
} asked;

static asked all[MOST];
static hn_lm_scheduler *scheduler;
static int64_t step;

static void on_token(void *context, const hn_lm_drawn *token)
{
    asked *a = context;
    if (!token->number)
        a->first = step;
    else if (step > a->last + 1)
        a->resumed = step;
    a->last = step;
}

static void on_end(void *context, const hn_lm_ended *ended)
{
    asked *a = context;
    CHECK_INT(HN_OK, ended->status);
    a->n_returned = ended->n_returned;
}

/* Each has a text of its own. */
static void ask(int i, size_t n, int64_t most)
{
    int32_t ids[CONTEXT];
    int64_t number;
    for (size_t k = 0; k < n; k++)
        ids[k] = (int32_t)((k * 7 + (size_t)i * 13) % 251 + 1);
    const hn_lm_request r = { .size = sizeof r, .ids = ids, .n = n, .most = most, .goes_on = 1, .on_token = on_token, .on_end = on_end,
                              .context = &all[i] };
    all[i] = (asked){ -1, -1, -1, 0 };
    CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &number));
}

static bool one_step(int64_t *left)
{
    step++;
    return CHECK_OK(hn_lm_scheduler_step(scheduler, left));
}

static void run_out(void)
{
    int64_t left = 1;
    while (left && one_step(&left))
        ;
}

/* `check` on a scheduler in which request 0 generates; 0 blocks, tokens of a step: enough. */
static void on_scheduler(hn_lm *lm, int64_t sequences, int64_t blocks, int64_t tokens, void (*check)(void))
{
    hn_lm_batch *batch;
    int64_t left;
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = sequences, .context = CONTEXT, .blocks = blocks, .tokens = tokens };
    const hn_lm_scheduler_options o = { .size = sizeof o, .piece = PIECE, .keeps_none = 1 };
    step = 0;
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &b)))
        return;
    if (CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &o))) {
        ask(0, SHORT, CONTEXT - SHORT - 1);
        one_step(&left);
        check();
        hn_lm_scheduler_free(scheduler);
    }
    hn_lm_batch_free(batch);
}

/* The short one, which comes when the long one has begun, goes at once, though it is the last to come in. */
static void check_passes(void)
{
    int64_t left;
    ask(1, LONG, 4);
    one_step(&left);
    one_step(&left);
    ask(2, SHORT, 4);
    const int64_t asked_at = step;
    run_out();
    CHECK_INT(asked_at + 1, all[2].first);
    CHECK_THAT(all[1].first >= LONG / PIECE && all[1].first <= 3 + LONG / PIECE, "after %lld steps", (long long)all[1].first);
}

/* A piece's worth of short ones in each step leave nothing to a long one; it goes on when as many as it has ids have passed. */
static void check_ages(void)
{
    ask(1, LONG, 4);
    for (int i = 2; i < 2 + 4 * LONG / PIECE; i++) {
        int64_t left;
        ask(i, PIECE, 1);
        one_step(&left);
    }
    run_out();
    CHECK_THAT(all[1].first > LONG / PIECE && all[1].first <= 3 + 2 * LONG / PIECE, "after %lld steps", (long long)all[1].first);
    CHECK_INT(2, all[2].first); /* beside the first piece that the long one could have had */
}

/* Five blocks: 0 comes to want a third, and four at its end, and 1 has three: it came in last, gives way, and waits for the end of 0.
 * Then 2, who has asked since, comes in with it, and is not before it, though it has fewer ids. */
static void check_returns(void)
{
    ask(1, 60, 180);
    for (int64_t left = 1; left && all[0].last < 200;)
        if (!one_step(&left))
            break;
    ask(2, 30, 4);
    run_out();
    CHECK_INT(1, all[1].n_returned);
    CHECK_THAT(all[1].resumed > all[0].last && all[2].first > all[1].resumed, "0 ended at %lld, 1 went on at %lld, 2 began at %lld",
               (long long)all[0].last, (long long)all[1].resumed, (long long)all[2].first);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    hn_lm *lm;
    check_open(argc, argv);
    if (!CHECK_OK(hn_engine_new(&engine, NULL)) || !CHECK_OK(hn_lm_open(&lm, engine, MODELS "llama", NULL)))
        return check_close();
    on_scheduler(lm, 4, 0, 0, check_passes);
    on_scheduler(lm, 8, 0, 0, check_ages);
    on_scheduler(lm, 3, 5, PIECE, check_returns);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return check_close();
}
