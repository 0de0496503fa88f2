/* The model that is part of the library, by its name in the place of a path: the file of the tree, byte for
 * byte and bit for bit, whatever lies in the folder that the process is in. */
#include "base/embedded.h"
#include "base/heap.h"
#include "hone/hone.h"
#include "models/identity.h"
#include "models/model.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 8192 };

static bool logits_of(hn_engine *engine, const char *path, float *out, int64_t *n)
{
    static const int32_t ids[] = { 1, 5, 9, 300, 2 };
    hn_lm *lm = NULL;
    hn_lm_session *session = NULL;
    const bool is_fed = CHECK_OK(hn_lm_open(&lm, engine, path, NULL)) &&
                        CHECK_OK(hn_lm_session_new(&session, lm, NULL)) &&
                        CHECK_OK(hn_lm_session_feed(session, ids, sizeof ids / sizeof *ids));
    *n = is_fed ? hn_lm_vocabulary(lm) : 0;
    if (CHECK_THAT(*n <= MOST, "a vocabulary of %lld", (long long)*n) && *n)
        memcpy(out, hn_lm_session_logits(session), (size_t)*n * sizeof *out);
    hn_lm_session_free(session);
    hn_lm_close(lm);
    return is_fed;
}

/* What it is: a record of it in a folder would be taken for the next library's model, which has no other stamp. */
static void check_identity(const char *file, const char *folder)
{
    char text[2][65], line[600];
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    for (int i = 0; i < 2; i++) {
        hn_model *m;
        if (!CHECK_OK(hn_model_open(&heap, i ? file : hn_lm_builtin(), NULL, &m)))
            return;
        if (!i)
            hn_model_keep_identity(m, folder);
        CHECK_OK(hn_model_identity(m, text[i]));
        CHECK_OK(hn_model_unchanged(m));
        hn_model_close(m);
    }
    CHECK_TEXT(text[1], text[0]);
    snprintf(line, sizeof line, "test -z \"$(ls -A '%s' | grep -v '^hone:tiny$')\"", folder);
    CHECK_THAT(system(line) == 0, "%s: something was recorded of a model that has no file", folder);
}

/* The folder holds what it was told: by its name, wherever it goes on. */
static void check_resume(hn_engine *engine, hn_finetune_spec spec)
{
    static const char *const settings[] = { "steps=2", "rank=2", "batch=1" };
    char sha256[65];
    hn_finetune_result result;
    spec.out = "run";
    spec.settings = settings;
    spec.n_settings = 3;
    if (!CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result)))
        return;
    memcpy(sha256, result.sha256, sizeof sha256);
    if (CHECK_OK(hn_finetune(engine, &(hn_finetune_spec){ .size = sizeof(hn_finetune_spec), .out = "run", .resume = 1 }, &result, sizeof result)))
        CHECK_TEXT(sha256, result.sha256);
}

int main(int argc, char **argv)
{
    static float own[MOST], of_file[MOST];
    char file[600], dir[] = "/tmp/hone-builtin-XXXXXX";
    const char *one = "{\"text\":\"a text\"}\n";
    hn_engine *engine;
    int64_t n, n_file;
    check_open(argc, argv);
    snprintf(file, sizeof file, "%s/assets/hone-tiny.gguf", HN_SOURCE_DIR);
    if (!CHECK(mkdtemp(dir)) || !CHECK(chdir(dir) == 0) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    for (int i = 0; i < 2; i++) { /* a folder of its name changes nothing */
        check_group(i ? "beside a folder of its name" : "in an empty folder");
        if (logits_of(engine, hn_lm_builtin(), own, &n) && logits_of(engine, file, of_file, &n_file))
            CHECK(n == n_file && !memcmp(own, of_file, (size_t)n * sizeof *own));
        CHECK(mkdir(hn_lm_builtin(), 0700) == 0 || i);
    }
    check_group("identity");
    check_identity(file, dir);
    check_group("training");
    FILE *f = fopen("d.jsonl", "w");
    CHECK(f && fputs(one, f) >= 0 && fclose(f) == 0);
    const char *data = "d.jsonl";
    hn_finetune_estimate plan;
    const hn_finetune_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = &data, .n_data = 1, .plain = 1,
                                    .allow_unended = 1, .loss = "all" };
    if (CHECK_OK(hn_finetune_plan(engine, &spec, &plan, sizeof plan)))
        CHECK_INT(1, plan.n_examples);
    check_resume(engine, spec);
    hn_engine_free(engine);
    check_group(NULL);
    CHECK(system("rm -rf run") == 0 && unlink("d.jsonl") == 0 && rmdir(hn_lm_builtin()) == 0 && chdir("/") == 0 && rmdir(dir) == 0);
    return check_close();
}
