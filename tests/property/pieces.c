/* How prompts enter beside those who read, step by step: by counts of rows, whatever the clock says. A reader has a token in every step;
 * before anybody reads beside a prompt, what a step of so many readers takes is measured without, twice; the first piece
 * is a row, and none is over twice the longest before it. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROMPT = 400, TOKENS = 40, MOST_STEPS = 4000 };

static hn_engine *engine;
static hn_lm_scheduler *scheduler;
static int64_t numbers[4];
static int32_t ids[4][PROMPT];
static int64_t n_without[5]; /* steps without a piece, by the number of those who had a token in them */

static void ask(int which, size_t n, int64_t most)
{
    const hn_lm_request r = { .size = sizeof r, .ids = ids[which], .n = n, .owner = (uint64_t)which + 1, .most = most, .goes_on = 1 };
    CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &numbers[which]));
}

/* False: it does not run. */
static bool look(int which, hn_lm_scheduler_place *to)
{
    hn_lm_scheduler_counts counts;
    if (!CHECK_OK(hn_lm_scheduler_count(scheduler, &counts, sizeof counts)))
        return false;
    for (int64_t i = 0; i < counts.running; i++)
        if (CHECK_OK(hn_lm_scheduler_running(scheduler, i, to, sizeof *to)) && to->request == numbers[which])
            return true;
    return false;
}

/* A step in which the first `n_readers` have a token each; how far the prompt behind them is further. -1: it does not run. */
static int64_t step(int n_readers)
{
    hn_lm_scheduler_place before[4], after;
    int64_t left;
    for (int i = 0; i <= n_readers; i++)
        if (!look(i, &before[i]))
            return -1;
    if (!CHECK_OK(hn_lm_scheduler_step(scheduler, &left)))
        return -1;
    for (int i = 0; i < n_readers; i++)
        CHECK_THAT(look(i, &after) && after.n_drawn == before[i].n_drawn + 1, "reader %d: %lld tokens after %lld", i, (long long)after.n_drawn,
                   (long long)before[i].n_drawn);
    return look(n_readers, &after) ? after.n_run - before[n_readers].n_run : -1;
}

/* The prompt behind so many readers enters, to its end. What is left of it is a token like the readers' if it is one row. */
static void enter(int n_readers, int64_t fixed)
{
    hn_lm_scheduler_place place;
    int64_t longest = look(n_readers, &place) ? place.n_run : 0, n = 0;
    for (int i = 0; look(n_readers, &place) && place.n_run < place.n_prompt && i < MOST_STEPS; i++) {
        const int64_t rest = place.n_prompt - place.n_run, n_measured = n_without[n_readers], piece = step(n_readers);
        n_without[n_readers] += !piece;
        n_without[n_readers + 1] += rest == 1;
        if (rest == 1)
            CHECK_INT(1, piece);
        else if (fixed)
            CHECK_INT(fixed < rest ? fixed : rest, piece);
        else if (!longest)
            CHECK_INT(n_measured < 2 ? 0 : 1, piece); /* a step without is measured twice, and then comes a row */
        else
            CHECK_THAT(piece <= 2 * longest, "beside %d readers a piece of %lld after %lld at most", n_readers, (long long)piece, (long long)longest);
        longest = piece > longest ? piece : longest;
        n++;
    }
    CHECK_THAT(place.n_run == place.n_prompt && n > PROMPT / TOKENS, "beside %d readers: %lld of %lld in %lld steps", n_readers, (long long)place.n_run,
               (long long)place.n_prompt, (long long)n);
}

static void try_with(hn_lm *lm, int64_t fixed)
{
    hn_lm_batch *batch;
    hn_lm_scheduler_place place;
    int64_t left;
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 4, .tokens = TOKENS, .context = 4096 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .piece = fixed };
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &b)) || !CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &o)))
        return;
    memset(n_without, 0, sizeof n_without);
    ask(0, TOKENS, 0); /* nobody reads beside it: all of it at once */
    CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
    CHECK(look(0, &place) && place.n_run == TOKENS && place.n_drawn == 1);
    for (int n_readers = 1; n_readers < 4; n_readers++) {
        ask(n_readers, PROMPT, 0);
        CHECK_OK(hn_lm_scheduler_step(scheduler, &left)); /* it is let in, and as the others read, before what they take is known */
        CHECK(look(n_readers, &place) && place.n_run == (fixed ? fixed : n_without[n_readers] < 2 ? 0 : 1));
        n_without[n_readers] += !fixed && !place.n_run;
        enter(n_readers, fixed);
    }
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
}

int main(int argc, char **argv)
{
    hn_lm *lm;
    char dir[] = "/tmp/hone-pieces-XXXXXX", path[100];
    static const char *const small[] = { "layers=2", "width=32", "heads=2", "head_dim=16", "context=4096" };
    const hn_engine_options one = { .size = sizeof one, .n_threads = 1 };
    const hn_lm_make_options made = { .size = sizeof made, .settings = small, .n_settings = sizeof small / sizeof *small };
    check_open(argc, argv);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, &one)))
        return check_close();
    snprintf(path, sizeof path, "%s/small.gguf", dir);
    if (CHECK_OK(hn_lm_make(engine, "llama", path, &made)) && CHECK_OK(hn_lm_open(&lm, engine, path, NULL))) {
        for (int which = 0; which < 4; which++)
            for (int i = 0; i < PROMPT; i++)
                ids[which][i] = (i * i + which) % 251 + 1;
        check_group("by measure");
        try_with(lm, 0);
        check_group("as it is said");
        try_with(lm, 7);
        hn_lm_close(lm);
    }
    unlink(path);
    rmdir(dir);
    hn_engine_free(engine);
    return check_close();
}
