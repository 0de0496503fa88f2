/* Many sequences through the public functions alone: each row of logits has the bits of a session with the same
 * adapter, whose files a batch takes and gives; and every misuse is a status and a sentence. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_IDS = 90, MOST = 1024 };
#define MODEL    HN_SOURCE_DIR "/tests/differential/models/llama"
#define PEFT     HN_SOURCE_DIR "/tests/differential/adapters/llama"

static char dir[256], adapter_file[300];
static int32_t ids[N_IDS];

static const char *in_dir(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* What a session alone says after the first n ids. */
static bool alone(hn_engine *engine, bool with_adapter, size_t n, float *want, size_t vocab)
{
    hn_lm *lm = NULL;
    hn_lm_session *session = NULL;
    const hn_lm_session_options small = { .size = sizeof small, .context = 128, .batch = 7 };
    const bool fine = CHECK_OK(hn_lm_open(&lm, engine, MODEL, NULL)) &&
                      (!with_adapter || CHECK_OK(hn_lm_add_adapter(lm, adapter_file, NULL))) &&
                      CHECK_OK(hn_lm_session_new(&session, lm, &small)) && CHECK_OK(hn_lm_session_feed(session, ids, n)) &&
                      (!with_adapter || CHECK_OK(hn_lm_session_save(session, in_dir("adapted.session")))) &&
                      (with_adapter || CHECK_OK(hn_lm_session_save(session, in_dir("plain.session"))));
    hn_lm_session *second = NULL;
    if (fine)
        memcpy(want, hn_lm_session_logits(session), vocab * sizeof *want);
    /* What the first one made of weights and adapters is not taken from the next. */
    if (fine && CHECK_OK(hn_lm_session_new(&second, lm, NULL)) && CHECK_OK(hn_lm_session_feed(second, ids, n)))
        CHECK(!memcmp(want, hn_lm_session_logits(second), vocab * sizeof *want));
    hn_lm_session_free(second);
    hn_lm_session_free(session);
    hn_lm_close(lm);
    return fine;
}

static void check_row(const char *what, const hn_lm_batch *batch, size_t row, const float *want, size_t vocab)
{
    const float *got = hn_lm_batch_logits(batch, row);
    CHECK_THAT(got && !memcmp(want, got, vocab * sizeof *want), "%s: row %zu: other bits than alone", what, row);
}

static void check_answers(hn_engine *engine, hn_lm *lm, hn_lm_batch *batch)
{
    static float plain[MOST], adapted[MOST], shorter[MOST];
    const size_t vocab = (size_t)hn_lm_vocabulary(lm);
    int32_t adapter, a, b, c;
    size_t n;
    check_group("answers");
    if (!CHECK(vocab <= MOST) || !alone(engine, true, N_IDS, adapted, vocab) || !alone(engine, false, 70, shorter, vocab) ||
        !alone(engine, false, N_IDS, plain, vocab))
        return;
    CHECK(memcmp(plain, adapted, vocab * sizeof *plain) != 0);
    if (!CHECK_OK(hn_lm_batch_add_adapter(batch, adapter_file, NULL, &adapter)) ||
        !CHECK_OK(hn_lm_batch_open(batch, -1, &a)) || !CHECK_OK(hn_lm_batch_open(batch, adapter, &b)))
        return;
    enum { SIZE = sizeof(hn_lm_batch_piece) };
    const hn_lm_batch_piece first[2] = { { SIZE, a, 1, ids, 70 }, { SIZE, b, 0, ids, 20 } };
    CHECK_OK(hn_lm_batch_step(batch, first, 2));
    check_row("a prompt", batch, 0, shorter, vocab);
    CHECK(!hn_lm_batch_logits(batch, 1));
    CHECK_INT(70, (int64_t)hn_lm_batch_usable(batch, a, 70));
    CHECK_OK(hn_lm_batch_fork(batch, a, 70, &c));
    const hn_lm_batch_piece second[3] = { { SIZE, c, 2, ids + 70, N_IDS - 70 }, { SIZE, b, 1, ids + 20, N_IDS - 20 },
                                          { SIZE, a, 1, ids + 70, N_IDS - 70 } };
    CHECK(hn_lm_batch_needs(batch, second, 3) >= 2);
    CHECK_OK(hn_lm_batch_step(batch, second, 3));
    check_row("a fork", batch, 1, plain, vocab);
    check_row("an adapter", batch, 2, adapted, vocab);
    check_row("its origin", batch, 3, plain, vocab);
    CHECK(!memcmp(ids, hn_lm_batch_ids(batch, b, &n), sizeof ids) && n == N_IDS);

    /* Files of sessions and of batches are one. */
    CHECK_OK(hn_lm_batch_save(batch, b, in_dir("b.session")));
    CHECK_FAILS(hn_lm_batch_load(batch, c, in_dir("b.session")), HN_ERR_FORMAT, "other adapters");
    CHECK_FAILS(hn_lm_batch_load(batch, c, in_dir("adapted.session")), HN_ERR_FORMAT, "other adapters");
    CHECK_OK(hn_lm_batch_load(batch, b, in_dir("adapted.session")));
    CHECK_OK(hn_lm_batch_load(batch, c, in_dir("plain.session")));
    CHECK_OK(hn_lm_batch_trim(batch, b, N_IDS - 1));
    CHECK_OK(hn_lm_batch_trim(batch, c, N_IDS - 1));
    const hn_lm_batch_piece last[2] = { { SIZE, b, 1, ids + N_IDS - 1, 1 }, { SIZE, c, 1, ids + N_IDS - 1, 1 } };
    CHECK_OK(hn_lm_batch_step(batch, last, 2));
    check_row("from a session's file, with an adapter", batch, 0, adapted, vocab);
    check_row("from a session's file", batch, 1, plain, vocab);

    CHECK_FAILS(hn_lm_batch_remove_adapter(batch, adapter), HN_ERR_BUSY, "has it");
    CHECK_OK(hn_lm_batch_close(batch, b));
    CHECK_OK(hn_lm_batch_remove_adapter(batch, adapter));
    CHECK_FAILS(hn_lm_batch_open(batch, adapter, &b), HN_ERR_ARGUMENT, "there is none");
    CHECK_OK(hn_lm_batch_close(batch, a));
    CHECK_OK(hn_lm_batch_close(batch, c));
}

static void check_misuse(hn_lm *lm, hn_lm_batch *batch)
{
    hn_lm_batch *other;
    int32_t s, t, adapter;
    int64_t of;
    check_group("misuse");
    CHECK_FAILS(hn_lm_batch_new(NULL, lm, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_batch_new(&other, lm, &(hn_lm_batch_options){ .size = 3 }), HN_ERR_ARGUMENT, "hn_lm_batch_options");
    CHECK_FAILS(hn_lm_batch_new(&other, lm, &(hn_lm_batch_options){ .size = sizeof(hn_lm_batch_options), .rows = -1 }),
                HN_ERR_ARGUMENT, "rows -1");
    CHECK_FAILS(hn_lm_batch_new(&other, lm, &(hn_lm_batch_options){ .size = sizeof(hn_lm_batch_options), .cache = "q9" }),
                HN_ERR_ARGUMENT, "a cache of q9");
    CHECK_FAILS(hn_lm_batch_open(batch, 5, &s), HN_ERR_ARGUMENT, "adapter 5");
    CHECK_OK(hn_lm_batch_open(batch, -1, &s));
    const hn_lm_batch_piece piece = { sizeof piece, s, 1, ids, 1 }, twice[2] = { piece, piece }, without = { sizeof piece, s, 1, NULL, 1 };
    CHECK_FAILS(hn_lm_batch_step(batch, NULL, 1), HN_ERR_ARGUMENT, "a step of 0 pieces");
    CHECK_FAILS(hn_lm_batch_step(batch, twice, 99), HN_ERR_ARGUMENT, "a step of 99 pieces");
    CHECK_FAILS(hn_lm_batch_step(batch, twice, 2), HN_ERR_ARGUMENT, "both of sequence");
    CHECK_FAILS(hn_lm_batch_step(batch, &without, 1), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_batch_step(batch, &(hn_lm_batch_piece){ sizeof piece, s, 0, ids, 1000 }, 1), HN_ERR_ARGUMENT, "the context takes");
    CHECK_FAILS(hn_lm_batch_trim(batch, s, 1), HN_ERR_ARGUMENT, "it has 0");
    CHECK_FAILS(hn_lm_batch_save(batch, s, in_dir("x")), HN_ERR_ARGUMENT, "no tokens");
    CHECK_FAILS(hn_lm_batch_add_adapter(batch, in_dir("none"), NULL, &adapter), HN_ERR_IO, "none");
    CHECK_OK(hn_lm_batch_close(batch, s));
    CHECK_FAILS(hn_lm_batch_close(batch, s), HN_ERR_ARGUMENT, "is not open");
    CHECK_FAILS(hn_lm_batch_step(batch, &piece, 1), HN_ERR_ARGUMENT, "is not open");
    CHECK_FAILS(hn_lm_batch_fork(batch, s, 0, &t), HN_ERR_ARGUMENT, "is not open");
    CHECK(!hn_lm_batch_ids(batch, s, NULL) && !hn_lm_batch_usable(batch, s, 0));
    for (int i = 0; i < 4; i++)
        CHECK_OK(hn_lm_batch_open(batch, -1, &s));
    CHECK_FAILS(hn_lm_batch_open(batch, -1, &s), HN_ERR_BUSY, "4 sequences are open");
    CHECK_INT(8, hn_lm_batch_blocks(batch, &of));
    CHECK_INT(8, of);
    CHECK_FAILS(hn_lm_add_adapter(lm, adapter_file, NULL), HN_ERR_BUSY, "what is made on the model");
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    hn_lm *lm;
    hn_lm_batch *batch;
    const char *temp = getenv("TMPDIR");
    const hn_lm_batch_options options = { .size = sizeof options, .sequences = 4, .context = 128, .tokens = 130,
                                          .adapters = 1, .adapts_head = 1 };
    check_open(argc, argv);
    snprintf(dir, sizeof dir, "%.180s/hone-batch-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    snprintf(adapter_file, sizeof adapter_file, "%s/adapter.gguf", dir);
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        int64_t before, live;
        hn_engine_memory(engine, &before, NULL, NULL);
        if (CHECK_OK(hn_lm_import_adapter(engine, PEFT, MODEL, adapter_file, NULL)) &&
            CHECK_OK(hn_lm_open(&lm, engine, MODEL, NULL))) {
            for (int i = 0; i < N_IDS; i++)
                ids[i] = (int32_t)((i * i * 11 + i * 5) % hn_lm_vocabulary(lm));
            if (CHECK_OK(hn_lm_batch_new(&batch, lm, &options))) {
                check_answers(engine, lm, batch);
                check_misuse(lm, batch);
            }
            hn_lm_close(lm); /* the batch holds it */
            hn_lm_batch_free(batch);
        }
        hn_engine_memory(engine, &live, NULL, NULL);
        CHECK_INT(before, live);
        hn_engine_free(engine);
    }
    check_group(NULL);
    char line[400];
    snprintf(line, sizeof line, "rm -rf %s", dir);
    CHECK_INT(0, system(line));
    return check_close();
}
