/* Every allocation that guessing makes, refused in turn: a status, nothing left behind, and the model as it was. Feeding, guessing and
 * drawing allocate nothing. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <string.h>

enum { MOST_IDS = 64, N_NEW = 24 };

static hn_engine *engine;
static hn_lm *lm;
static int32_t ids[MOST_IDS];
static size_t n_ids;

static int64_t allocations(int64_t *live)
{
    int64_t calls;
    hn_engine_memory(engine, live, NULL, &calls);
    return calls;
}

/* A session that guesses by all means, and what it says. */
static hn_status say(int32_t *to)
{
    const hn_lm_bias bias = { sizeof bias, 300, 1 };
    const hn_lm_sampling s = { .size = sizeof s, .temperature = 0.8f, .seed = 5, .bias = &bias, .n_bias = 1 };
    const hn_lm_draft_options draft = { .size = sizeof draft, .ngram = 3, .most = 4, .model = lm, .sampling = &s };
    const hn_lm_session_options small = { .size = sizeof small, .context = 128, .batch = 32 };
    hn_lm_session *session = NULL;
    hn_lm_sampler *sampler = NULL;
    int64_t live, before, calls = 0;
    hn_status status = hn_lm_session_new_drafting(&session, lm, &small, &draft);
    if (status == HN_OK)
        status = hn_lm_sampler_new(&sampler, lm, &s);
    if (status == HN_OK)
        status = hn_lm_session_feed(session, ids, n_ids); /* and what a first step makes */
    before = allocations(&live);
    for (int i = 0; i < N_NEW && status == HN_OK; i++) {
        status = hn_lm_sampler_draw(sampler, session, &to[i]);
        if (status == HN_OK)
            status = hn_lm_session_feed(session, &to[i], 1);
    }
    calls = allocations(&live) - before;
    CHECK_THAT(status != HN_OK || !calls, "guessing allocated %lld times", (long long)calls);
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
    return status;
}

static hn_status talk(int32_t *to)
{
    const hn_lm_session_options small = { .size = sizeof small, .context = 128 };
    const hn_lm_chat_options o = { .size = sizeof o, .session = &small };
    const hn_lm_draft_options draft = { .size = sizeof draft, .model = lm };
    hn_lm_chat *chat = NULL;
    hn_lm_drafter *drafter = NULL;
    size_t n;
    hn_status status = hn_lm_chat_new_drafting(&chat, lm, &o, &draft);
    if (status == HN_OK)
        status = hn_lm_drafter_new(&drafter, lm, &draft, 100);
    if (status == HN_OK)
        status = hn_lm_drafter_guess(drafter, ids, n_ids, 0, to, 4, &n);
    hn_lm_drafter_free(drafter);
    hn_lm_chat_free(chat);
    return status;
}

static void refuse(const char *what, hn_status (*run)(int32_t *))
{
    static int32_t want[N_NEW], got[N_NEW];
    int n_refused = 0;
    check_group(what);
    if (!CHECK_OK(run(want)))
        return;
    for (int64_t nth = 1;; nth += 1 + nth / 40) {
        int64_t before, live;
        const int64_t first = allocations(&before);
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = run(got);
        hn_engine_fail_allocation(engine, 0);
        const int64_t calls = allocations(&live);
        CHECK_THAT(live == before, "allocation %lld refused: %lld bytes left", (long long)nth, (long long)(live - before));
        if (calls < first + nth) {
            CHECK(CHECK_OK(status) && !memcmp(want, got, sizeof want));
            break;
        }
        n_refused++;
        CHECK_THAT(status == HN_ERR_MEMORY, "allocation %lld refused: status %d: %s", (long long)nth, (int)status,
                   hn_error_message());
    }
    CHECK_THAT(n_refused > 30, "%d allocations refused", n_refused);
}

int main(int argc, char **argv)
{
    static const char prompt[] = "Gordon had a pleated pram. Gordon had a pleated";
    int64_t before, live;
    check_open(argc, argv);
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 }))) {
        allocations(&before);
        if (CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)) &&
            CHECK_OK(hn_lm_encode(lm, prompt, strlen(prompt), HN_LM_PLAIN, ids, MOST_IDS, &n_ids))) {
            refuse("a session", say);
            refuse("a chat and a drafter", talk);
        }
        hn_lm_close(lm);
        allocations(&live);
        CHECK_INT(before, live);
        hn_engine_free(engine);
    }
    return check_close();
}
