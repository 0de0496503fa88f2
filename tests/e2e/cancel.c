/* Some of an engine's calls are stopped, and the others have the bits that they have alone: sessions on two
 * threads, a chat and a training run beside a session. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8192, N_IDS = 200, N_FEEDS = 6, MOST_FEEDS = 300 };

static int32_t ids[N_IDS];

/* ---- a session that feeds all the time ---- */

typedef struct feeder {
    hn_lm *lm;
    const hn_cancel *heeds;
    atomic_int n_fed;  /* how often */
    atomic_bool ends;  /* now */
    _Atomic hn_status status; /* of the first that failed */
    float logits[MOST]; /* of the last that did not */
} feeder;

static void *feeds(void *context)
{
    feeder *f = context;
    hn_lm_session *session;
    hn_cancel_heed(f->heeds);
    f->status = hn_lm_session_new(&session, f->lm, NULL);
    while (f->status == HN_OK && !atomic_load(&f->ends) && atomic_load(&f->n_fed) < MOST_FEEDS) {
        f->status = hn_lm_session_trim(session, 0);
        if (f->status == HN_OK)
            f->status = hn_lm_session_feed(session, ids, N_IDS);
        if (f->status == HN_OK) {
            memcpy(f->logits, hn_lm_session_logits(session), (size_t)hn_lm_vocabulary(f->lm) * sizeof *f->logits);
            atomic_fetch_add(&f->n_fed, 1);
        }
    }
    hn_lm_session_free(session);
    hn_cancel_heed(NULL);
    return NULL;
}

static void await(const feeder *f, int n)
{
    while (atomic_load(&f->n_fed) < n && n < MOST_FEEDS && f->status == HN_OK)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void begin(feeder *f, hn_lm *lm, const hn_cancel *cancel, pthread_t *thread)
{
    *f = (feeder){ .lm = lm, .heeds = cancel };
    CHECK_INT(0, pthread_create(thread, NULL, feeds, f));
}

static bool is_same(const feeder *f, const float *want)
{
    return !memcmp(f->logits, want, (size_t)hn_lm_vocabulary(f->lm) * sizeof *want);
}

/* ---- beside each other ---- */

static void check_sessions(hn_engine *engine, hn_lm *lm, const float *want)
{
    static feeder one, other;
    pthread_t threads[2];
    hn_cancel *cancel;
    check_group("sessions");
    if (!CHECK_OK(hn_cancel_new(&cancel, engine)))
        return;
    begin(&one, lm, cancel, &threads[0]);
    begin(&other, lm, NULL, &threads[1]);
    await(&one, 1);
    hn_cancel_set(cancel);
    CHECK_INT(0, pthread_join(threads[0], NULL));
    CHECK_INT(HN_ERR_CANCELLED, one.status);
    const int n = atomic_load(&other.n_fed);
    await(&other, n + N_FEEDS); /* though the cancel stays set */
    atomic_store(&other.ends, true);
    CHECK_INT(0, pthread_join(threads[1], NULL));
    CHECK_INT(HN_OK, other.status);
    CHECK(is_same(&other, want));
    CHECK(is_same(&one, want));

    hn_cancel_clear(cancel);
    begin(&one, lm, cancel, &threads[0]);
    await(&one, 1);
    hn_engine_cancel(engine); /* which counts for all, whatever they heed */
    CHECK_INT(0, pthread_join(threads[0], NULL));
    CHECK_INT(HN_ERR_CANCELLED, one.status);
    hn_engine_resume(engine);
    hn_cancel_free(cancel);
}

static void check_heeding(hn_engine *engine, hn_lm *lm)
{
    hn_engine *other;
    hn_cancel *own = NULL, *strange = NULL;
    hn_lm_session *session;
    check_group("heeding");
    CHECK_FAILS(hn_cancel_new(NULL, engine), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_cancel_new(&own, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK(own == NULL);
    hn_cancel_free(NULL);
    hn_cancel_set(NULL);
    hn_cancel_clear(NULL);
    if (!CHECK_OK(hn_engine_new(&other, NULL)) || !CHECK_OK(hn_cancel_new(&own, engine)) ||
        !CHECK_OK(hn_cancel_new(&strange, other)) || !CHECK_OK(hn_lm_session_new(&session, lm, NULL)))
        return;
    hn_cancel_set(strange);
    hn_cancel_heed(strange);
    CHECK_OK(hn_lm_session_feed(session, ids, 3)); /* it is another engine's */
    hn_cancel_set(own);
    CHECK_OK(hn_lm_session_feed(session, ids, 3));
    hn_cancel_heed(own);
    CHECK_FAILS(hn_lm_session_feed(session, ids, 3), HN_ERR_CANCELLED, "cancelled");
    CHECK_INT(6, hn_lm_session_length(session));
    hn_cancel_heed(NULL);
    CHECK_OK(hn_lm_session_feed(session, ids, 3));
    hn_lm_session_free(session);
    hn_cancel_free(own);
    hn_cancel_free(strange);
    hn_engine_free(other);
}

/* ---- a chat and a run, each stopped from within ---- */

typedef struct stopper {
    hn_cancel *cancel;
    int n, at;
} stopper;

static void hears(void *context, const char *text, size_t bytes)
{
    stopper *s = context;
    (void)text, (void)bytes;
    if (++s->n == s->at)
        hn_cancel_set(s->cancel);
}

static void steps(void *context, const hn_finetune_step *step)
{
    stopper *s = context;
    s->n = (int)step->step;
    if (s->n == s->at)
        hn_cancel_set(s->cancel);
}

static void check_chat(hn_lm *lm, stopper *s)
{
    hn_lm_chat *chat;
    hn_lm_turn turn;
    const hn_lm_chat_options o = { .size = sizeof o, .max_answer = 60, .on_text = hears, .context = s };
    *s = (stopper){ .cancel = s->cancel, .at = 3 };
    if (!CHECK_OK(hn_lm_chat_new(&chat, lm, &o)))
        return;
    CHECK_FAILS(hn_lm_chat_ask(chat, "Tell me a story.", &turn, sizeof turn), HN_ERR_CANCELLED, "stopped after");
    CHECK(turn.n_answer >= 3 && turn.n_answer < 20);
    hn_cancel_clear(s->cancel);
    CHECK_OK(hn_lm_chat_ask(chat, "Another one.", &turn, sizeof turn));
    hn_lm_chat_free(chat);
}

static void check_run(hn_engine *engine, stopper *s)
{
    static const char data[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}\n";
    const char *settings[] = { "steps=6", "rank=2", "batch=1" }, *files[1];
    char folder[] = "/tmp/hone-cancel-XXXXXX", path[64], run[2][64], line[64];
    hn_finetune_result result[2];
    *s = (stopper){ .cancel = s->cancel, .at = 2 };
    if (!CHECK(mkdtemp(folder)))
        return;
    snprintf(path, sizeof path, "%s/d.jsonl", folder);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(data, f) >= 0 && !fclose(f));
    files[0] = path;
    hn_finetune_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = files, .n_data = 1, .settings = settings,
                              .n_settings = 3, .on_step = steps, .context = s };
    for (int i = 0; i < 2; i++) {
        snprintf(run[i], sizeof run[i], "%s/%d", folder, i);
        spec.out = run[i];
        if (!i)
            CHECK_FAILS(hn_finetune(engine, &spec, &result[i], sizeof result[i]), HN_ERR_CANCELLED, "");
        if (!i)
            CHECK_INT(2, s->n);
        hn_cancel_clear(s->cancel);
        spec.resume = !i;
        s->at = 0;
        CHECK_OK(hn_finetune(engine, &spec, &result[i], sizeof result[i]));
    }
    CHECK_TEXT(result[1].sha256, result[0].sha256);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK_INT(0, system(line));
}

int main(int argc, char **argv)
{
    static float want[MOST];
    static feeder beside;
    hn_engine *engine;
    hn_lm *lm;
    hn_lm_session *alone;
    pthread_t thread;
    stopper s = { .cancel = NULL };
    check_open(argc, argv);
    for (int i = 0; i < N_IDS; i++)
        ids[i] = 5 + i * 7 % 900;
    if (!CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 })) ||
        !CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)) || !CHECK(hn_lm_vocabulary(lm) <= MOST) ||
        !CHECK_OK(hn_lm_session_new(&alone, lm, NULL)) || !CHECK_OK(hn_lm_session_feed(alone, ids, N_IDS)))
        return check_close();
    memcpy(want, hn_lm_session_logits(alone), (size_t)hn_lm_vocabulary(lm) * sizeof *want);
    hn_lm_session_free(alone);
    check_heeding(engine, lm);
    check_sessions(engine, lm, want);

    check_group("a chat and a run beside a session");
    begin(&beside, lm, NULL, &thread);
    if (CHECK_OK(hn_cancel_new(&s.cancel, engine))) {
        hn_cancel_heed(s.cancel);
        check_chat(lm, &s);
        check_run(engine, &s);
        hn_cancel_heed(NULL);
    }
    await(&beside, 1);
    atomic_store(&beside.ends, true);
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_INT(HN_OK, beside.status);
    CHECK(is_same(&beside, want));
    hn_cancel_free(s.cancel);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return check_close();
}
