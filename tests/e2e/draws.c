/* A draw is a function of logits, options, seed and the token's number: the text that a session says token by token is
 * said by one that is cut back on the way, one that knew its beginning, one that skipped tokens, a fork, and a batch
 * that guesses ahead and checks; a chat says it again after a reset and after a question that was taken back. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <string.h>

enum { N_NEW = 24, MOST = 128, AHEAD = 5 };

static hn_engine *engine;
static hn_lm *lm;
static int32_t text[MOST]; /* prompt, and what is said */
static size_t n_prompt;

static hn_lm_sampler *sampler_of(uint64_t seed)
{
    hn_lm_sampling o;
    hn_lm_sampler *sampler = NULL;
    CHECK_OK(hn_lm_sampling_default(&o, sizeof o));
    o.seed = seed;
    o.temperature = 1.5f; /* of what the model says, nothing is so likely that every draw finds it */
    o.top_p = o.min_p = 0;
    o.top_k = 0;
    CHECK_OK(hn_lm_sampler_new(&sampler, lm, &o));
    return sampler;
}

static int32_t drawn(hn_lm_sampler *sampler, const hn_lm_session *session)
{
    int32_t id = -1;
    CHECK_OK(hn_lm_sampler_draw(sampler, session, &id));
    return id;
}

/* N_NEW tokens, each fed. */
static void say(hn_lm_sampler *sampler, hn_lm_session *session, int32_t *to)
{
    CHECK_OK(hn_lm_session_trim(session, 0));
    CHECK_OK(hn_lm_session_feed(session, text, n_prompt));
    for (int i = 0; i < N_NEW; i++) {
        to[i] = drawn(sampler, session);
        CHECK_OK(hn_lm_session_feed(session, &to[i], 1));
    }
}

static int same(const int32_t *ids, int n)
{
    int i = 0;
    while (i < n && ids[i] == text[n_prompt + (size_t)i])
        i++;
    return i;
}

static void check_sessions(hn_lm_session *session)
{
    static int32_t again[N_NEW];
    hn_lm_sampler *sampler = sampler_of(7), *other = sampler_of(8);
    check_group("a session");
    say(sampler, session, text + n_prompt);
    say(other, session, again);
    CHECK(same(again, N_NEW) < N_NEW); /* the seed counts */
    say(sampler, session, again);
    CHECK_INT(N_NEW, same(again, N_NEW));
    hn_lm_sampler_free(other);

    check_group("cut back");
    for (size_t back = 1; back < N_NEW; back += 5) {
        CHECK_OK(hn_lm_session_trim(session, n_prompt + N_NEW - back - 1));
        CHECK_OK(hn_lm_session_feed(session, &text[n_prompt + N_NEW - back - 1], 1));
        CHECK_INT(text[n_prompt + N_NEW - back], drawn(sampler, session));
        CHECK_INT(text[n_prompt + N_NEW - back], drawn(sampler, session)); /* asked twice */
        CHECK_OK(hn_lm_session_feed(session, &text[n_prompt + N_NEW - back], back));
    }
    hn_lm_sampler_free(sampler);

    check_group("known already");
    sampler = sampler_of(7);
    CHECK_OK(hn_lm_session_trim(session, 0));
    CHECK_OK(hn_lm_session_feed(session, text, n_prompt + 9));
    CHECK_OK(hn_lm_sampler_begin(sampler, n_prompt, 0));
    CHECK_INT(text[n_prompt + 9], drawn(sampler, session));
    CHECK_OK(hn_lm_session_feed(session, &text[n_prompt + 9], 4)); /* nobody asks for three of them */
    CHECK_INT(text[n_prompt + 13], drawn(sampler, session));
    CHECK_OK(hn_lm_sampler_begin(sampler, n_prompt + 13, 13));
    CHECK_INT(text[n_prompt + 13], drawn(sampler, session));
    CHECK_FAILS(hn_lm_sampler_begin(NULL, 0, 0), HN_ERR_ARGUMENT, "found NULL");
    hn_lm_sampler_free(sampler);
}

/* ---- a batch ---- */

static void step(hn_lm_batch *batch, int32_t sequence, const int32_t *ids, size_t n, int32_t wanted)
{
    CHECK_OK(hn_lm_batch_step(batch, &(hn_lm_batch_piece){ sizeof(hn_lm_batch_piece), sequence, wanted, ids, n }, 1));
}

static void check_fork(hn_lm_batch *batch, int32_t sequence)
{
    int32_t fork, id;
    hn_lm_sampler *sampler = sampler_of(7);
    check_group("a fork");
    CHECK_OK(hn_lm_batch_fork(batch, sequence, n_prompt + 3, &fork));
    CHECK_OK(hn_lm_sampler_begin(sampler, n_prompt, 0));
    for (size_t i = 4; i < N_NEW; i++) {
        step(batch, fork, &text[n_prompt + i - 1], 1, 1);
        CHECK_OK(hn_lm_sampler_next(sampler, hn_lm_batch_logits(batch, 0), text, n_prompt + i, &id));
        CHECK_INT(text[n_prompt + i], id);
    }
    hn_lm_sampler_free(sampler);
    CHECK_OK(hn_lm_batch_close(batch, fork));
}

/* Tokens are guessed, right ones and a wrong one, and all are checked in one step; what follows the wrong one is drawn
 * for nothing, and taken back. */
static void check_guesses(hn_lm_batch *batch, int32_t sequence)
{
    static int32_t said[MOST];
    hn_lm_sampler *sampler = sampler_of(7);
    size_t n = n_prompt;
    int32_t id;
    check_group("guessed ahead");
    memcpy(said, text, sizeof *said * n_prompt);
    CHECK_OK(hn_lm_batch_trim(batch, sequence, n_prompt - 1));
    while (n < n_prompt + N_NEW - AHEAD) {
        int32_t guess[AHEAD + 1] = { said[n - 1] };
        size_t row = 0;
        for (size_t i = 0; i < AHEAD; i++)
            guess[i + 1] = text[n + i] ^ (i == n % AHEAD);
        step(batch, sequence, guess, AHEAD + 1, AHEAD + 1);
        do {
            CHECK_OK(hn_lm_sampler_next(sampler, hn_lm_batch_logits(batch, row), said, n + row, &id));
            said[n + row] = id;
        } while (row < AHEAD && id == guess[row + 1] && ++row);
        /* As who draws for all rows at once would: for nothing behind the wrong one. */
        for (size_t i = row + 1; i <= AHEAD; i++)
            CHECK_OK(hn_lm_sampler_next(sampler, hn_lm_batch_logits(batch, i), said, n + row, &id));
        n += row + 1;
        CHECK_OK(hn_lm_batch_trim(batch, sequence, n - 1));
    }
    CHECK_INT((int)(n - n_prompt), same(said + n_prompt, (int)(n - n_prompt)));
    hn_lm_sampler_free(sampler);
}

/* ---- a chat ---- */

static void ask(hn_lm_chat *chat, const char *question, char *to, size_t room)
{
    size_t n;
    hn_lm_turn turn;
    CHECK_OK(hn_lm_chat_ask(chat, question, &turn, sizeof turn));
    CHECK_INT(10, turn.n_answer);
    CHECK_OK(hn_lm_chat_messages(chat, to, room, &n));
}

static void check_chat(void)
{
    static char first[4096], second[4096], again[4096];
    const hn_lm_sampling sampling = { .size = sizeof sampling, .temperature = 1.5f, .seed = 7 };
    const hn_lm_chat_options o = { .size = sizeof o, .max_answer = 10, .sampling = &sampling };
    hn_lm_chat *chat;
    hn_lm_turn turn;
    check_group("a chat");
    if (!CHECK_OK(hn_lm_chat_new(&chat, lm, &o)))
        return;
    ask(chat, "Who was there?", first, sizeof first);
    ask(chat, "Why?", second, sizeof second);
    CHECK_OK(hn_lm_chat_reset(chat));
    ask(chat, "Who was there?", again, sizeof again);
    CHECK_TEXT(first, again);
    hn_engine_cancel(engine);
    CHECK_FAILS(hn_lm_chat_ask(chat, "Why?", &turn, sizeof turn), HN_ERR_CANCELLED, "");
    hn_engine_resume(engine);
    ask(chat, "Why?", again, sizeof again);
    CHECK_TEXT(second, again);
    hn_lm_chat_free(chat);
}

int main(int argc, char **argv)
{
    static const char prompt[] = "Once upon a time";
    hn_lm_session *session;
    hn_lm_batch *batch;
    int32_t sequence;
    check_open(argc, argv);
    if (!CHECK_OK(hn_engine_new(&engine, NULL)) || !CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)))
        return check_close();
    CHECK_OK(hn_lm_encode(lm, prompt, strlen(prompt), HN_LM_PLAIN, text, MOST, &n_prompt));
    if (CHECK_OK(hn_lm_session_new(&session, lm, NULL)))
        check_sessions(session);
    hn_lm_session_free(session);
    const hn_lm_batch_options o = { .size = sizeof o, .sequences = 2, .context = MOST, .rows = AHEAD + 1 };
    if (CHECK_OK(hn_lm_batch_new(&batch, lm, &o)) && CHECK_OK(hn_lm_batch_open(batch, -1, &sequence))) {
        step(batch, sequence, text, n_prompt + N_NEW, 0);
        check_fork(batch, sequence);
        check_guesses(batch, sequence);
    }
    hn_lm_batch_free(batch);
    check_chat();
    hn_lm_close(lm);
    hn_engine_free(engine);
    return check_close();
}
