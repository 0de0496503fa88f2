/* Adapters that single rows of a product cannot have, in a batch: magnitudes, whole tensors, a changed embedding, a rank
 * that there is no room for. They are run apart; each row has the bits of a session with its adapter, in steps with
 * sequences of every kind, forked, cut back and from files; and a step that is stopped between them changed nothing. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_IDS = 90, MOST = 1024, N_KINDS = 6, PLAIN = 0, BANKED = 1, DORA = 2 };
#define MODEL HN_SOURCE_DIR "/tests/differential/models/llama"

/* What is trained, and why it is run apart: with words of the refusal where there is no room. */
static const struct {
    const char *targets, *words;
} kinds[N_KINDS] = {
    [PLAIN] = { NULL, NULL },
    [BANKED] = { "targets=attn,mlp", NULL },
    [DORA] = { "targets=attn:dora,mlp", "has magnitudes (DoRA)" },
    { "targets=norm:full,attn", "is replaced as a whole" },
    { "targets=embed,attn", "is changed: there is room for" },
    { "targets=mlp:r=8", "with rank 8: there is room for 4" },
};

static char dir[256];
static hn_engine *engine;
static int32_t ids[N_IDS];
static float alone[N_KINDS][2][MOST]; /* after N_IDS / 2, and after all */
static size_t vocab;

static const char *file_of(int kind)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/run%d/adapter.gguf", dir, kind);
    return path;
}

static const char *in_dir(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool train(int kind)
{
    static hn_finetune_result result;
    const char *const settings[] = { kinds[kind].targets, "steps=3", "batch=2", "rank=4", "rate=0.05" };
    char data[300], out[300];
    snprintf(data, sizeof data, "%s/data.jsonl", dir);
    snprintf(out, sizeof out, "%s/run%d", dir, kind);
    const char *const files[] = { data };
    const hn_finetune_spec spec = { .size = sizeof spec, .model = MODEL, .data = files, .n_data = 1, .out = out,
                                    .plain = 1, .settings = settings, .n_settings = 5 };
    FILE *f = fopen(data, "w");
    for (int i = 0; f && i < 8; i++)
        fprintf(f, "{\"prompt\":\"ab%dcd\",\"completion\":\" %d is what comes\"}\n", i, 7 * i);
    return CHECK(f && !fclose(f)) && CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result));
}

static bool say_alone(int kind)
{
    hn_lm *lm = NULL;
    hn_lm_session *session = NULL;
    bool fine = CHECK_OK(hn_lm_open(&lm, engine, MODEL, NULL)) &&
                (kind == PLAIN || CHECK_OK(hn_lm_add_adapter(lm, file_of(kind), NULL))) &&
                CHECK_OK(hn_lm_session_new(&session, lm, NULL));
    for (int i = 0; fine && i < 2; i++) {
        fine = CHECK_OK(hn_lm_session_feed(session, ids + i * N_IDS / 2, N_IDS / 2));
        memcpy(alone[kind][i], hn_lm_session_logits(session), vocab * sizeof(float));
    }
    if (kind == DORA)
        CHECK_OK(hn_lm_session_save(session, in_dir("dora.session")));
    hn_lm_session_free(session);
    hn_lm_close(lm);
    return fine;
}

static void check_row(const hn_lm_batch *batch, size_t row, int kind, int half, const char *what)
{
    const float *got = hn_lm_batch_logits(batch, row);
    CHECK_THAT(got && !memcmp(alone[kind][half], got, vocab * sizeof *got), "%s: kind %d: row %zu: other bits than alone",
               what, kind, row);
}

/* ---- sequences of every kind in every step ---- */

static void check_steps(hn_lm_batch *batch, const int32_t *adapters)
{
    hn_lm_batch_piece pieces[N_KINDS];
    int32_t sequences[N_KINDS], fork;
    size_t n;
    check_group("steps");
    for (int k = 0; k < N_KINDS; k++)
        CHECK_OK(hn_lm_batch_open(batch, adapters[k], &sequences[k]));
    /* The first half in two pieces, the kinds in another order each time. */
    const size_t cut[N_KINDS] = { 7, 30, 1, 12, 44, 20 };
    for (int i = 0; i < N_KINDS; i++) {
        const int k = (i * 5 + 2) % N_KINDS;
        pieces[i] = (hn_lm_batch_piece){ sizeof *pieces, sequences[k], i % 2, ids, cut[k] };
    }
    CHECK_OK(hn_lm_batch_step(batch, pieces, N_KINDS));
    CHECK(hn_lm_batch_logits(batch, 2) && !hn_lm_batch_logits(batch, 3));
    for (int i = 0; i < N_KINDS; i++) {
        const int k = (i + 3) % N_KINDS;
        pieces[i] = (hn_lm_batch_piece){ sizeof *pieces, sequences[k], 1, ids + cut[k], N_IDS / 2 - cut[k] };
    }
    CHECK_OK(hn_lm_batch_step(batch, pieces, N_KINDS));
    for (int i = 0; i < N_KINDS; i++)
        check_row(batch, (size_t)i, (i + 3) % N_KINDS, 0, "half");

    CHECK_OK(hn_lm_batch_fork(batch, sequences[DORA], N_IDS / 2, &fork));
    enum { SIZE = sizeof(hn_lm_batch_piece) };
    const hn_lm_batch_piece last[3] = { { SIZE, fork, 1, ids + N_IDS / 2, N_IDS / 2 },
                                        { SIZE, sequences[BANKED], 1, ids + N_IDS / 2, N_IDS / 2 },
                                        { SIZE, sequences[DORA], 1, ids + N_IDS / 2, N_IDS / 2 } };
    CHECK_OK(hn_lm_batch_step(batch, last, 3));
    check_row(batch, 0, DORA, 1, "a fork");
    check_row(batch, 1, BANKED, 1, "whole");
    check_row(batch, 2, DORA, 1, "its origin");
    /* Rows that are chosen, of sequences in the batch and of one apart. */
    enum { FROM = N_IDS / 2 - 1, REST = N_IDS - FROM };
    static const int32_t rows[4] = { 0, 0, REST - 1, REST - 1 };
    const hn_lm_batch_piece again[3] = { { SIZE, fork, 1, ids + FROM, REST }, { SIZE, sequences[BANKED], 2, ids + FROM, REST },
                                         { SIZE, sequences[DORA], 1, ids + FROM, REST } };
    for (int i = 0; i < 3; i++)
        CHECK_OK(hn_lm_batch_trim(batch, again[i].sequence, FROM));
    CHECK_OK(hn_lm_batch_step_rows(batch, again, 3, rows));
    check_row(batch, 0, DORA, 0, "a chosen row");
    check_row(batch, 1, BANKED, 0, "a chosen row");
    check_row(batch, 2, BANKED, 1, "a chosen row");
    check_row(batch, 3, DORA, 1, "a chosen row");
    CHECK(!hn_lm_batch_logits(batch, 4));
    CHECK_FAILS(hn_lm_batch_step_rows(batch, again, 3, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK(hn_lm_batch_ids(batch, fork, &n) && n == N_IDS && !memcmp(hn_lm_batch_ids(batch, fork, &n), ids, sizeof ids));
    CHECK_INT(0, hn_lm_batch_needs(batch, last, 1)); /* blocks of its own */

    CHECK_FAILS(hn_lm_batch_open(batch, adapters[DORA], &sequences[0]), HN_ERR_BUSY, "all of 2 sequences are open");
    CHECK_FAILS(hn_lm_batch_remove_adapter(batch, adapters[DORA]), HN_ERR_BUSY, "which is open");
    CHECK_OK(hn_lm_batch_save(batch, fork, in_dir("fork.session")));
    CHECK_FAILS(hn_lm_batch_load(batch, sequences[PLAIN], in_dir("fork.session")), HN_ERR_FORMAT, "other adapters");
    CHECK_OK(hn_lm_batch_trim(batch, sequences[DORA], 3));
    CHECK_OK(hn_lm_batch_load(batch, sequences[DORA], in_dir("dora.session")));
    CHECK_OK(hn_lm_batch_trim(batch, sequences[DORA], N_IDS - 1));
    CHECK_OK(hn_lm_batch_step(batch, &(hn_lm_batch_piece){ sizeof(hn_lm_batch_piece), sequences[DORA], 1, ids + N_IDS - 1, 1 }, 1));
    check_row(batch, 0, DORA, 1, "from a session's file");
    CHECK_OK(hn_lm_batch_close(batch, fork));
    CHECK_FAILS(hn_lm_batch_close(batch, fork), HN_ERR_ARGUMENT, "is not open");
    for (int k = 0; k < N_KINDS; k++)
        CHECK_OK(hn_lm_batch_close(batch, sequences[k]));
}

/* ---- all of a step, or none ---- */

static double stop_at;
static int n_stopped;

static void stop(void *context, double done)
{
    (void)context;
    if (done >= stop_at && stop_at < 1) {
        hn_engine_cancel(engine);
        n_stopped++;
    }
}

static void check_stopped(hn_lm_batch *batch, const int32_t *adapters)
{
    int32_t sequences[N_KINDS];
    hn_lm_batch_piece pieces[N_KINDS];
    int n_tried = 0;
    check_group("stopped on the way");
    for (int k = 0; k < N_KINDS; k++) {
        CHECK_OK(hn_lm_batch_open(batch, adapters[k], &sequences[k]));
        pieces[k] = (hn_lm_batch_piece){ sizeof *pieces, sequences[k], 1, ids, N_IDS / 2 };
    }
    hn_engine_on_progress(engine, stop, NULL);
    for (stop_at = 0; stop_at < 1; stop_at += 0.06) {
        const hn_status status = hn_lm_batch_step(batch, pieces, N_KINDS);
        hn_engine_resume(engine);
        if (status == HN_OK) /* the last op was done */
            break;
        n_tried++;
        CHECK_INT(HN_ERR_CANCELLED, status);
        CHECK(!hn_lm_batch_logits(batch, 0));
        for (int k = 0; k < N_KINDS; k++) {
            size_t n;
            CHECK_THAT(hn_lm_batch_ids(batch, sequences[k], &n) && n == 0, "stopped at %g: kind %d has %zu ids", stop_at,
                       k, n);
        }
    }
    CHECK_THAT(n_tried > 10 && n_stopped >= n_tried, "%d stopped", n_tried);
    stop_at = 1;
    for (int k = 0; k < N_KINDS; k++) {
        size_t n;
        if (hn_lm_batch_ids(batch, sequences[k], &n) && n)
            CHECK_OK(hn_lm_batch_trim(batch, sequences[k], 0));
    }
    CHECK_OK(hn_lm_batch_step(batch, pieces, N_KINDS));
    hn_engine_on_progress(engine, NULL, NULL);
    for (int k = 0; k < N_KINDS; k++)
        check_row(batch, (size_t)k, k, 0, "after all");

    /* Beyond what a step takes in all, though each group could. */
    for (int k = 0; k < N_KINDS; k++)
        pieces[k] = (hn_lm_batch_piece){ sizeof *pieces, sequences[k], 1 + 4 * (k == DORA), ids, N_IDS / 2 };
    CHECK_FAILS(hn_lm_batch_step(batch, pieces, N_KINDS), HN_ERR_ARGUMENT, "10 rows of logits: it takes 400 and 8");
    pieces[3].sequence = pieces[DORA].sequence;
    CHECK_FAILS(hn_lm_batch_step(batch, pieces, 4), HN_ERR_ARGUMENT, "pieces 2 and 3 are both of sequence");
    for (int k = 0; k < N_KINDS; k++)
        CHECK_OK(hn_lm_batch_close(batch, sequences[k]));
}

/* ---- adapters come and go ---- */

static void check_room(hn_lm *lm)
{
    const hn_lm_batch_options none = { .size = sizeof none, .sequences = 2, .context = 128, .adapters = 1, .max_rank = 4 };
    hn_lm_batch *batch;
    int32_t adapter;
    check_group("without room");
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &none)))
        return;
    for (int k = DORA; k < N_KINDS; k++)
        CHECK_FAILS(hn_lm_batch_add_adapter(batch, file_of(k), NULL, &adapter), HN_ERR_UNSUPPORTED, kinds[k].words);
    hn_lm_batch_free(batch);
    CHECK_FAILS(hn_lm_batch_new(&batch, lm, &(hn_lm_batch_options){ .size = sizeof none, .apart = -1 }), HN_ERR_ARGUMENT,
                "apart -1");
}

static void check_batch(hn_lm *lm)
{
    const hn_lm_batch_options o = { .size = sizeof o, .sequences = 8, .context = 128, .tokens = 400, .adapters = 1,
                                    .max_rank = 4, .apart = 2 };
    hn_lm_batch *batch;
    int32_t adapters[N_KINDS] = { -1 }, again;
    int64_t before, after, most;
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &o)))
        return;
    hn_engine_memory(engine, &before, NULL, NULL);
    for (int k = 1; k < N_KINDS; k++)
        CHECK_OK(hn_lm_batch_add_adapter(batch, file_of(k), NULL, &adapters[k]));
    hn_engine_memory(engine, &most, NULL, NULL);
    CHECK(most > before);
    check_steps(batch, adapters);
    check_stopped(batch, adapters);
    check_group("removed");
    for (int k = 1; k < N_KINDS; k++)
        CHECK_OK(hn_lm_batch_remove_adapter(batch, adapters[k]));
    hn_engine_memory(engine, &after, NULL, NULL);
    CHECK_INT(before, after);
    CHECK_FAILS(hn_lm_batch_open(batch, adapters[DORA], &again), HN_ERR_ARGUMENT, "there is none");
    CHECK_FAILS(hn_lm_batch_remove_adapter(batch, adapters[DORA]), HN_ERR_ARGUMENT, "there is none");
    for (int i = 0; i < 32; i++)
        CHECK_OK(hn_lm_batch_add_adapter(batch, file_of(DORA), NULL, &adapters[DORA]));
    CHECK_FAILS(hn_lm_batch_add_adapter(batch, file_of(DORA), NULL, &again), HN_ERR_BUSY, "32 adapters are run apart");
    hn_lm_batch_free(batch);
}

int main(int argc, char **argv)
{
    const char *temp = getenv("TMPDIR");
    hn_lm *lm = NULL;
    bool fine;
    check_open(argc, argv);
    snprintf(dir, sizeof dir, "%.180s/hone-apart-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    fine = CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 })) &&
           CHECK_OK(hn_lm_open(&lm, engine, MODEL, NULL)) && CHECK((vocab = (size_t)hn_lm_vocabulary(lm)) <= MOST);
    for (int i = 0; i < N_IDS; i++)
        ids[i] = (int32_t)((i * i * 11 + i * 5) % (int)vocab);
    for (int k = 0; fine && k < N_KINDS; k++)
        fine = (k == PLAIN || train(k)) && say_alone(k);
    for (int k = 0; fine && k < N_KINDS; k++)
        for (int j = 0; j < k; j++)
            CHECK_THAT(memcmp(alone[k][1], alone[j][1], vocab * sizeof(float)) != 0, "kinds %d and %d say the same", j, k);
    if (fine) {
        check_room(lm);
        check_batch(lm);
    }
    hn_lm_close(lm);
    if (engine) {
        int64_t live, own;
        hn_engine *other;
        hn_engine_memory(engine, &live, NULL, NULL);
        if (CHECK_OK(hn_engine_new(&other, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
            hn_engine_memory(other, &own, NULL, NULL);
            CHECK_INT(own, live);
            hn_engine_free(other);
        }
        hn_engine_free(engine);
    }
    check_group(NULL);
    char line[400];
    snprintf(line, sizeof line, "rm -rf %s", dir);
    CHECK_INT(0, system(line));
    return check_close();
}
