/* small_run.h: a small model and a few examples in a folder, and trainings of it through the public
 * functions, for tests of what a host may do to them. */
#ifndef TESTS_HARNESS_SMALL_RUN_H
#define TESTS_HARNESS_SMALL_RUN_H

#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct small_run {
    char dir[256], model[300], data[300], out[300];
    int n;
    hn_engine_options engine; /* two threads unless it says otherwise */
} small_run;

/* Made by the program, outside of this process. */
static inline bool small_run_open(small_run *r)
{
    const char *hone = check_option("--hone"), *temp = getenv("TMPDIR");
    char command[2048];
    snprintf(r->dir, sizeof r->dir, "%.180s/hone-small-%d", temp ? temp : "/tmp", (int)getpid());
    snprintf(r->model, sizeof r->model, "%.250s/m.gguf", r->dir);
    snprintf(r->data, sizeof r->data, "%.250s/d.jsonl", r->dir);
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return false;
    snprintf(command, sizeof command,
             "mkdir %s && '%s' new llama %s layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 "
             ">/dev/null && for i in 1 2 3 4 5 6 7 8; do echo '{\"prompt\": \"question '$i'\", "
             "\"completion\": \" answer '$i$i'\", \"weight\": 0.5}'; done >%s",
             r->dir, hone, r->model, r->data);
    return CHECK_THAT(system(command) == 0, "%s", command);
}

static inline void small_run_close(const small_run *r)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf %s", r->dir);
    CHECK_INT(0, system(command));
}

/* A run of its own folder; the digest is "" if it failed. */
static inline hn_status small_run_train(small_run *r, void (*on_step)(void *, const hn_finetune_step *),
                                        void *context, hn_finetune_result *result)
{
    static const char *const settings[] = { "steps=4", "batch=4", "rank=4", "rate=0.0123", "clip=0.7",
                                            "weight-decay=0.01", "dropout=0.1", "eval-every=2" };
    const char *const files[] = { r->data };
    hn_engine *engine;
    memset(result, 0, sizeof *result);
    snprintf(r->out, sizeof r->out, "%.250s/run%d", r->dir, r->n++);
    const hn_finetune_spec spec = {
        .size = sizeof spec, .model = r->model, .data = files, .n_data = 1, .out = r->out, .plain = 1,
        .settings = settings, .n_settings = sizeof settings / sizeof *settings, .held_fraction = 0.3,
        .context = context, .on_step = on_step,
    };
    hn_engine_options options = r->engine;
    options.size = sizeof options;
    options.n_threads = options.n_threads ? options.n_threads : 2;
    hn_status status = hn_engine_new(&engine, &options);
    if (status == HN_OK) {
        status = hn_finetune(engine, &spec, result, sizeof *result);
        hn_engine_free(engine);
    }
    return status;
}

#endif
