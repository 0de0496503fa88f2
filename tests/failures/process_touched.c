/* PROCESS-TOUCHED: what of a process an engine touches. One that leaves it alone sets no handler of signals and asks nothing of the
 * system, whatever it opens and runs; one whose levels leave AMX out does not ask for it; an ordinary one does both, and puts
 * the handler back. All of them say the same. In this order, because what a system has given it does not take back. */
#include "base/os/process.h"
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IDS = 24, DRAWN = 16 };

static char folder[] = "/tmp/hone-touched-XXXXXX";
static char model[64], adapter[4200];

static const char *in(char *path, const char *name)
{
    snprintf(path, sizeof model, "%s/%s", folder, name);
    return path;
}

static void on_bus(int number) { (void)number; }

/* Whether a handler of SIGBUS stands that is not ours. */
static bool is_watched(void)
{
    struct sigaction now;
    sigaction(SIGBUS, NULL, &now);
    return (now.sa_flags & SA_SIGINFO) || now.sa_handler != on_bus;
}

/* What is drawn from a file's model, and logits behind it. */
typedef struct said {
    int32_t ids[DRAWN];
    float logits[8];
} said;

static hn_status speak(hn_lm *lm, said *out)
{
    hn_lm_session *session = NULL;
    hn_lm_sampler *sampler = NULL;
    const hn_lm_sampling sampling = { .size = sizeof sampling, .temperature = 0.9f, .seed = 5 };
    int32_t ids[IDS];
    size_t n = 0;
    for (int i = 0; i < IDS; i++)
        ids[i] = 5 + 11 * i % 200;
    hn_status status = hn_lm_session_new(&session, lm, NULL);
    if (status == HN_OK)
        status = hn_lm_sampler_new(&sampler, lm, &sampling);
    if (status == HN_OK)
        status = hn_lm_session_feed(session, ids, IDS);
    for (; status == HN_OK && n < DRAWN; n++) {
        status = hn_lm_sampler_draw(sampler, session, &out->ids[n]);
        if (status == HN_OK)
            status = hn_lm_session_feed(session, &out->ids[n], 1);
    }
    if (status == HN_OK)
        memcpy(out->logits, hn_lm_session_logits(session), sizeof out->logits);
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
    return status;
}

/* What tries an adapter on devices of its own. */
static void export_adapter(hn_engine *engine)
{
    char path[64];
    const hn_lm_export_options o = { .size = sizeof o, .base = model, .overwrite = 1 };
    CHECK_OK(hn_lm_export_gguf(engine, adapter, in(path, "plain.gguf"), &o));
}

/* While its files are open, and after. */
static void check_engine(const char *what, const hn_engine_options *o, bool watches, bool asks, said *found)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    const bool had = hn_os_matrix_unit(false);
    check_group(what);
    if (!CHECK_OK(hn_engine_new(&engine, o)))
        return;
    if (CHECK_OK(hn_lm_open(&lm, engine, model, NULL)) && CHECK_OK(hn_lm_add_adapter(lm, adapter, NULL))) {
        CHECK_INT(watches, is_watched());
        CHECK_OK(speak(lm, found));
        CHECK_INT(watches, is_watched());
        export_adapter(engine);
        CHECK_INT(watches, is_watched());
        if (!asks)
            CHECK_INT(had, hn_os_matrix_unit(false));
    }
    hn_lm_close(lm);
    hn_engine_free(engine);
    CHECK(!is_watched());
}

/* One that was read is whole, whatever becomes of it. */
static void check_cut(void)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    const hn_engine_options o = { .size = sizeof o, .n_threads = 1, .leaves_process = 1 };
    said found = { .ids = { 0 } }, again = { .ids = { 0 } };
    check_group("a file that is cut behind it");
    if (CHECK_OK(hn_engine_new(&engine, &o)) && CHECK_OK(hn_lm_open(&lm, engine, model, NULL))) {
        CHECK_OK(speak(lm, &found));
        CHECK_INT(0, truncate(model, 1000));
        CHECK_OK(speak(lm, &again));
        CHECK(!memcmp(&found, &again, sizeof found));
    }
    hn_lm_close(lm);
    hn_engine_free(engine);
}

/* It is memory of the engine's, which its limit counts. */
static void check_memory(void)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    struct stat about;
    int64_t live = 0;
    check_group("memory");
    CHECK_INT(0, stat(model, &about));
    for (int leaves = 0; leaves < 2; leaves++) {
        const hn_engine_options o = { .size = sizeof o, .n_threads = 1, .leaves_process = leaves };
        int64_t with;
        if (CHECK_OK(hn_engine_new(&engine, &o)) && CHECK_OK(hn_lm_open(&lm, engine, model, NULL))) {
            hn_engine_memory(engine, &with, NULL, NULL);
            CHECK(leaves ? with - live >= about.st_size : with > 0);
            live = with;
        }
        hn_lm_close(lm);
        hn_engine_free(engine);
    }
    const hn_engine_options o = { .size = sizeof o, .n_threads = 1, .leaves_process = 1, .memory_limit = (size_t)about.st_size / 2 };
    if (CHECK_OK(hn_engine_new(&engine, &o)))
        CHECK_FAILS(hn_lm_open(&lm, engine, model, NULL), HN_ERR_MEMORY, model);
    hn_engine_free(engine);
}

static bool make_files(void)
{
    char line[64], run[64];
    enum { LINES = 8 };
    hn_engine *engine = NULL;
    const hn_engine_options o = { .size = sizeof o, .n_threads = 1, .leaves_process = 1 };
    const hn_lm_quantize_options q = { .size = sizeof q, .requantize = 1 };
    const char *settings[] = { "steps=2", "rank=2", "batch=1" }, *data[] = { line };
    hn_finetune_result result;
    FILE *f;
    if (!CHECK(mkdtemp(folder)) || !CHECK((f = fopen(in(line, "d.jsonl"), "w")) != NULL))
        return false;
    in(model, "m.gguf");
    for (int i = 0; i < LINES; i++)
        fputs("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}\n", f);
    fclose(f);
    bool ok = CHECK_OK(hn_engine_new(&engine, &o)) &&
              CHECK_OK(hn_lm_quantize(engine, hn_lm_builtin(), model, "bf16", &q));
    const hn_finetune_spec spec = { .size = sizeof spec, .model = model, .data = data, .n_data = 1, .settings = settings,
                                    .n_settings = 3, .out = in(run, "run") };
    ok = ok && CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result));
    if (ok)
        snprintf(adapter, sizeof adapter, "%s", result.path);
    hn_engine_free(engine);
    CHECK(!is_watched());
    CHECK(!hn_os_matrix_unit(false));
    return ok;
}

int main(int argc, char **argv)
{
    const hn_engine_options leaves = { .size = sizeof leaves, .n_threads = 2, .leaves_process = 1 };
    const hn_engine_options without = { .size = sizeof without, .n_threads = 2, .isa = "ref" };
    const hn_engine_options ordinary = { .size = sizeof ordinary, .n_threads = 2 };
    said a = { .ids = { 0 } }, b = { .ids = { 0 } }, c = { .ids = { 0 } }, d = { .ids = { 0 } };
    char line[96];
    check_open(argc, argv);
    signal(SIGBUS, on_bus);
    if (make_files()) {
        check_engine("one that leaves the process alone", &leaves, false, false, &a);
        check_engine("one without AMX", &without, true, false, &b);
        CHECK(!hn_os_matrix_unit(false));
        check_engine("an ordinary one", &ordinary, true, true, &c);
        check_engine("one that leaves it alone, after that", &leaves, false, false, &d);
        CHECK(!memcmp(&a, &b, sizeof a) && !memcmp(&a, &c, sizeof a) && !memcmp(&a, &d, sizeof a));
        check_memory();
        check_cut();
    }
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK_INT(0, system(line));
    return check_close();
}
