/* Texts to vectors through the public functions alone: what the program gives; of a model that generates by the pooling that is
 * asked for, with the bits of a session's state; with adapters; and what is refused. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *hone;
static char tiny[512], sentence[512];

/* What a command writes, without its last line end. */
static void program(char *out, size_t room, const char *options)
{
    char line[2048];
    snprintf(line, sizeof line, "'%s' %s 2>/dev/null", hone, options);
    FILE *f = popen(line, "r");
    size_t n = f ? fread(out, 1, room - 1, f) : 0;
    CHECK_THAT(f && pclose(f) == 0, "%s", line);
    out[n - (n > 0)] = 0;
}

static void check_embed(hn_engine *engine)
{
    hn_lm *lm;
    hn_lm_embedder *embedder;
    hn_lm_session *session;
    float vector[512], by_ids[512];
    char want[8192], line[1024];
    check_group("embed");
    if (!CHECK_OK(hn_lm_open(&lm, engine, sentence, NULL)))
        return;
    CHECK_INT(1, hn_lm_embeds(lm));
    CHECK_OK(hn_lm_meta(lm, "model_type", want, sizeof want, NULL));
    CHECK_TEXT("bert", want);
    CHECK_FAILS(hn_lm_session_new(&session, lm, NULL), HN_ERR_UNSUPPORTED, "only embeds texts");
    const hn_lm_embed_options odd = { .size = sizeof odd, .pooling = "middle" };
    CHECK_FAILS(hn_lm_embedder_new(&embedder, lm, &odd), HN_ERR_ARGUMENT, "middle");
    if (CHECK_OK(hn_lm_embedder_new(&embedder, lm, NULL))) {
        const int64_t width = hn_lm_embedder_width(embedder);
        snprintf(line, sizeof line, "embed '%s' 'a text'", sentence);
        program(want, sizeof want, line);
        CHECK(width > 0 && width <= 512);
        CHECK_OK(hn_lm_embedder_run(embedder, "a text", 6, vector, NULL));
        const char *at = want;
        for (int64_t i = 0; i < width; i++) {
            char *end;
            const float number = strtof(at, &end);
            CHECK(end != at && !memcmp(&number, &vector[i], sizeof *vector));
            at = end;
        }
        static int32_t ids[1 << 16];
        size_t n = 0;
        CHECK(hn_lm_encode_by(lm, "a text", 6, NULL, ids, 64, &n) == HN_OK && hn_lm_embedder_run_ids(embedder, ids, n, by_ids) == HN_OK &&
              !memcmp(by_ids, vector, (size_t)width * sizeof *vector));
        CHECK_FAILS(hn_lm_embedder_run_ids(embedder, ids, 1 << 16, by_ids), HN_ERR_ARGUMENT, "expected at most");
        CHECK_FAILS(hn_lm_embedder_run_ids(embedder, (int32_t[]){ -1 }, 1, by_ids), HN_ERR_ARGUMENT, "vocabulary");
        hn_lm_close(lm); /* the embedder holds it */
        CHECK_OK(hn_lm_embedder_run(embedder, "another", 7, vector, NULL));
        hn_lm_embedder_free(embedder);
    } else {
        hn_lm_close(lm);
    }
}

/* A model that generates, by the pooling that is asked for: its last token's vector is the state of a session there. */
static void check_states(hn_engine *engine)
{
    static const int32_t ids[] = { 5, 9, 4, 11, 7, 30, 2, 8 };
    enum { N = sizeof ids / sizeof *ids };
    hn_lm *lm;
    hn_lm_embedder *embedder;
    hn_lm_session *session;
    float vector[512], of_text[512];
    int64_t n = 0;
    check_group("states");
    if (!CHECK_OK(hn_lm_open(&lm, engine, tiny, NULL)))
        return;
    const int64_t width = hn_lm_width(lm);
    hn_lm_embed_options eo = { .size = sizeof eo, .pooling = hn_lm_pooling_name(HN_LM_POOLING_LAST), .context = N };
    hn_lm_session_options so = { .size = sizeof so, .context = 64 };
    CHECK(width > 0 && width <= 512 && !hn_lm_embeds(lm));
    if (CHECK_OK(hn_lm_embedder_new(&embedder, lm, &eo))) {
        CHECK_INT(width, hn_lm_embedder_width(embedder));
        CHECK_INT(N, hn_lm_embedder_longest(embedder));
        CHECK_OK(hn_lm_embedder_run_ids(embedder, ids, N, vector));
        CHECK_OK(hn_lm_embedder_run(embedder, "a text of more than eight tokens, which is cut", 46, of_text, &n));
        CHECK(n > N && memcmp(vector, of_text, (size_t)width * sizeof *vector));
        hn_lm_embedder_free(embedder);
    }
    if (CHECK_OK(hn_lm_session_new(&session, lm, &so))) {
        CHECK_OK(hn_lm_session_feed(session, ids, N));
        CHECK(hn_lm_session_logits(session) && !hn_lm_session_state(session));
        hn_lm_session_free(session);
    }
    so.keeps_state = 1;
    if (CHECK_OK(hn_lm_session_new(&session, lm, &so))) {
        CHECK(!hn_lm_session_state(session));
        CHECK_OK(hn_lm_session_feed(session, ids, 3));
        CHECK_OK(hn_lm_session_feed(session, ids + 3, N - 3));
        const float *state = hn_lm_session_state(session);
        CHECK(state && !memcmp(state, vector, (size_t)width * sizeof *vector));
        CHECK_OK(hn_lm_session_trim(session, 3));
        CHECK(!hn_lm_session_state(session));
        hn_lm_session_free(session);
    }
    eo.context = hn_lm_context(lm) + 1;
    CHECK_FAILS(hn_lm_embedder_new(&embedder, lm, &eo), HN_ERR_ARGUMENT, "the model was made for");
    hn_lm_close(lm);
    eo.context = 0;
    if (!CHECK_OK(hn_lm_open_weights(&lm, engine, tiny, NULL)))
        return;
    if (CHECK_OK(hn_lm_embedder_new(&embedder, lm, &eo))) {
        CHECK_OK(hn_lm_embedder_run_ids(embedder, ids, N, of_text));
        CHECK(!memcmp(vector, of_text, (size_t)width * sizeof *vector));
        CHECK_FAILS(hn_lm_embedder_run(embedder, "a text", 6, of_text, NULL), HN_ERR_UNSUPPORTED, "");
        hn_lm_embedder_free(embedder);
    }
    hn_lm_close(lm);
}

/* The model's adapters are the program's --lora, in a vector as in a session. */
static void check_adapters(hn_engine *engine)
{
    static const int32_t ids[] = { 5, 9, 4, 11, 7 };
    hn_lm *lm;
    hn_lm_embedder *embedder;
    hn_lm_session *session;
    char line[1024], want[8192], text[8192], model[512], adapter[64];
    float plain[64], vector[64];
    size_t used = 0;
    const hn_lm_embed_options eo = { .size = sizeof eo, .pooling = "lasttoken" };
    const hn_lm_session_options so = { .size = sizeof so, .context = 64, .keeps_state = 1 };
    check_group("adapters");
    snprintf(model, sizeof model, "%s/tests/differential/models/llama", HN_SOURCE_DIR);
    snprintf(adapter, sizeof adapter, "/tmp/hone-library-embed-%d.gguf", (int)getpid());
    snprintf(line, sizeof line, "import '%s/tests/differential/adapters/llama' '%s' --base '%s'", HN_SOURCE_DIR, adapter, model);
    program(want, sizeof want, line);
    snprintf(line, sizeof line, "embed '%s' 'a text' --pooling lasttoken --lora '%s'", model, adapter);
    program(want, sizeof want, line);
    if (!CHECK_OK(hn_lm_open(&lm, engine, model, NULL)))
        return;
    if (CHECK_OK(hn_lm_embedder_new(&embedder, lm, &eo))) {
        CHECK_OK(hn_lm_embedder_run_ids(embedder, ids, 5, plain));
        CHECK_FAILS(hn_lm_add_adapter(lm, adapter, NULL), HN_ERR_BUSY, "found 1");
        hn_lm_embedder_free(embedder);
    }
    CHECK_OK(hn_lm_add_adapter(lm, adapter, NULL));
    if (CHECK_OK(hn_lm_embedder_new(&embedder, lm, &eo))) {
        const int64_t width = hn_lm_embedder_width(embedder);
        CHECK_OK(hn_lm_embedder_run(embedder, "a text", 6, vector, NULL));
        for (int64_t i = 0; i < width; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.9g", i ? " " : "", (double)vector[i]);
        CHECK_TEXT(want, text);
        CHECK_OK(hn_lm_embedder_run_ids(embedder, ids, 5, vector));
        CHECK(memcmp(vector, plain, (size_t)width * sizeof *vector));
        if (CHECK_OK(hn_lm_session_new(&session, lm, &so))) {
            CHECK_OK(hn_lm_session_feed(session, ids, 5));
            CHECK(!memcmp(vector, hn_lm_session_state(session), (size_t)width * sizeof *vector));
            hn_lm_session_free(session);
        }
        hn_lm_embedder_free(embedder);
    }
    hn_lm_close(lm);
    remove(adapter);
}

/* ---- every allocation refused ---- */

static hn_status uses_all(hn_engine *engine, float *vector)
{
    static const int32_t ids[] = { 5, 9, 4 };
    const hn_lm_embed_options eo = { .size = sizeof eo, .pooling = "lasttoken", .context = 64 };
    const hn_lm_session_options so = { .size = sizeof so, .context = 64, .keeps_state = 1 };
    hn_lm *lm;
    hn_lm_embedder *embedder = NULL;
    hn_lm_session *session = NULL;
    hn_status status = hn_lm_open(&lm, engine, tiny, NULL);
    if (status != HN_OK)
        return status;
    status = hn_lm_embedder_new(&embedder, lm, &eo);
    if (status == HN_OK)
        status = hn_lm_embedder_run(embedder, "a text", 6, vector, NULL);
    if (status == HN_OK)
        status = hn_lm_embedder_run_ids(embedder, ids, 3, vector);
    if (status == HN_OK)
        status = hn_lm_session_new(&session, lm, &so);
    if (status == HN_OK)
        status = hn_lm_session_feed(session, ids, 3);
    if (status == HN_OK)
        CHECK(!memcmp(vector, hn_lm_session_state(session), (size_t)hn_lm_width(lm) * sizeof *vector));
    hn_lm_session_free(session);
    hn_lm_embedder_free(embedder);
    hn_lm_close(lm);
    return status;
}

static void check_allocations(hn_engine *engine)
{
    float want[512], vector[512];
    int n_refused = 0;
    check_group("allocations");
    memset(want, 0, sizeof want);
    memset(vector, 0, sizeof vector);
    if (!CHECK_OK(uses_all(engine, want)))
        return;
    for (int64_t nth = 1;; nth += 1 + nth / 20) {
        int64_t before, live, first, calls;
        hn_engine_memory(engine, &before, NULL, &first);
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = uses_all(engine, vector);
        hn_engine_fail_allocation(engine, 0);
        hn_engine_memory(engine, &live, NULL, &calls);
        CHECK_THAT(live == before, "allocation %lld refused: %lld bytes left", (long long)nth, (long long)(live - before));
        if (calls < first + nth) {
            CHECK(CHECK_OK(status) && !memcmp(want, vector, sizeof want));
            break;
        }
        n_refused++;
        CHECK_THAT(status == HN_ERR_MEMORY, "allocation %lld refused: status %d: %s", (long long)nth, (int)status, hn_error_message());
    }
    CHECK_THAT(n_refused > 40, "%d allocations refused", n_refused);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(tiny, sizeof tiny, "%s/assets/hone-tiny.gguf", HN_SOURCE_DIR);
    snprintf(sentence, sizeof sentence, "%s/tests/differential/sentence/model", HN_SOURCE_DIR);
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        int64_t before, live;
        hn_engine_memory(engine, &before, NULL, NULL);
        check_embed(engine);
        check_states(engine);
        check_adapters(engine);
        check_allocations(engine);
        hn_engine_memory(engine, &live, NULL, NULL);
        CHECK_INT(before, live);
        hn_engine_free(engine);
    }
    return check_close();
}
