/* What a run leaves: its files, and the contract that an adapter is.
 *
 *     lock             held from run_take_folder on: this process alone writes here. Looked at before anything is written or
 *                      removed by name: where the folder was moved, the same names may be another run's
 *     run.toml         what it was told; with it and metrics.jsonl alone a run has only begun, and nothing is lost by another
 *     metrics.jsonl    a line a step; the page and the verdict are made of it
 *     step-N.ckpt      all that a later step depends on: the newest is where --resume goes on. best.ckpt beside them
 *     adapter.gguf     the result, or model.gguf where whole tensors were trained; step-N.gguf are earlier ones
 *     untried.gguf, base.gguf    while the result is made
 *
 * A folder with more than a beginning is not written into without --overwrite or --resume, and only files of a run's names
 * (files_of_run, checkpoints) are removed from it: what else lies there is somebody's own.
 *
 * A file has its name only when it is whole, and an adapter only when it was tried: it is written as untried.gguf, opened as
 * anybody will open it, run over the first tokens of the first example, and written again with the logits that it gave. So the
 * self-test is of what the file says, not of what this process has in memory. Base and data are looked at before and after: where
 * they changed meanwhile there is no result, also if it was written.
 *
 * To make the adapter of a checkpoint its numbers are read into the run's own tuning. So the result is made first, r->state is put
 * back afterwards, and the tuning is the last checkpoint's from then on: whoever wants the result reads its file. */
#include "train/run_parts.h"

#include "base/file.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/sha256.h"
#include "convert/convert.h"
#include "infer/adapter_test.h"
#include "train/adapter_write.h"
#include "train/report_parts.h"
#include "train/run_told.h"
#include "train/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hn_run_path(const hn_train_run *r, const char *name, char path[HN_RUN_PATH])
{
    snprintf(path, HN_RUN_PATH, "%s/%s", r->on.dir, name);
}

static void path_of_step(const hn_train_run *r, int64_t step, const char *ending, char path[HN_RUN_PATH])
{
    char name[64];
    snprintf(name, sizeof name, "step-%08lld.%s", (long long)step, ending);
    hn_run_path(r, name, path);
}

void hn_run_checkpoint_path(const hn_train_run *r, int64_t step, char path[HN_RUN_PATH]) { path_of_step(r, step, "ckpt", path); }

/* What is made of it at the end. */
static void adapter_path(const hn_train_run *r, int64_t step, char path[HN_RUN_PATH]) { path_of_step(r, step, "gguf", path); }

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

typedef struct step_list {
    hn_heap *heap;
    const char *ending;
    int64_t *steps;
    size_t n, room;
    hn_status status;
} step_list;

static bool add_step(void *context, const char *name)
{
    step_list *list = context;
    long long step;
    int used = 0;
    if (sscanf(name, "step-%lld.%n", &step, &used) != 1 || !used || strcmp(name + used, list->ending) != 0)
        return true;
    if (list->n == list->room) {
        int64_t *more = hn_realloc_array(list->heap, HN_TAG_TEXT, list->steps, list->room + 16, sizeof *more);
        if (!more) {
            list->status = HN_ERR_MEMORY;
            return false;
        }
        list->steps = more;
        list->room += 16;
    }
    list->steps[list->n++] = step;
    return true;
}

static hn_status list_steps(const hn_train_run *r, const char *ending, int64_t **out, size_t *n)
{
    step_list list = { .heap = r->heap, .ending = ending };
    *out = NULL;
    *n = 0;
    hn_os_folder_each(r->on.dir, add_step, &list); /* no folder, no checkpoints */
    if (list.status != HN_OK) {
        hn_free(r->heap, list.steps);
        return list.status;
    }
    if (list.n)
        qsort(list.steps, list.n, sizeof *list.steps, ascending);
    *out = list.steps;
    *n = list.n;
    return HN_OK;
}

hn_status hn_run_checkpoints(const hn_train_run *r, int64_t **out, size_t *n) { return list_steps(r, "ckpt", out, n); }

hn_status hn_run_take_folder(hn_train_run *r)
{
    char path[HN_RUN_PATH];
    HN_REQUIRE(hn_os_folder_make(r->on.dir, false) || errno == EEXIST, HN_ERR_IO, "%s: %s", r->on.dir,
               strerror(errno));
    hn_run_path(r, "lock", path);
    return hn_lock_file_take(&r->lock, path);
}

hn_status hn_run_holds_folder(const hn_train_run *r)
{
    char path[HN_RUN_PATH];
    hn_run_path(r, "lock", path);
    return hn_lock_file_check(&r->lock, path);
}

/* Everything that a run leaves but its lock and what is numbered by steps; the first is what others take
 * for the result. */
static const struct {
    const char *name;
    bool is_begun; /* it is there before anything was saved */
} files_of_run[] = {
    { "adapter.gguf", false }, { "model.gguf", false },  { "best.ckpt", false },
    { "samples.json", false }, { "report.html", false }, { "origin.json", false },
    { "certificate.json", false }, { "untried.gguf", false }, { "base.gguf", false },   { "metrics.jsonl", true },
    { HN_RUN_TOLD, true },
};
enum { N_FILES = sizeof files_of_run / sizeof *files_of_run };

bool hn_run_is_told(const hn_train_run *r)
{
    char path[HN_RUN_PATH], first[sizeof HN_RUN_TOLD_FIRST];
    hn_run_path(r, HN_RUN_TOLD, path);
    hn_file_text(path, first, sizeof first);
    return !strcmp(first, HN_RUN_TOLD_FIRST);
}

static const char *const endings_of_steps[] = { "ckpt", "gguf" };
enum { N_ENDINGS = sizeof endings_of_steps / sizeof *endings_of_steps };

typedef struct leftovers {
    bool was_begun, is_there; /* what has only begun has nothing to lose */
    int64_t *steps[N_ENDINGS];
    size_t n[N_ENDINGS];
} leftovers;

typedef hn_status on_leftover(leftovers *all, const char *path, bool is_begun);

static hn_status look(leftovers *all, const char *path, bool is_begun)
{
    all->is_there = all->is_there || (hn_os_is_there(path) && !(all->was_begun && is_begun));
    return HN_OK;
}

static hn_status check(leftovers *all, const char *path, bool is_begun)
{
    (void)all, (void)is_begun;
    return hn_sink_check((hn_sink){ path, HN_OVER_OLD });
}

static hn_status discard(leftovers *all, const char *path, bool is_begun)
{
    (void)all, (void)is_begun;
    hn_os_remove(path);
    return HN_OK;
}

static hn_status each_leftover(hn_train_run *r, leftovers *all, on_leftover *what)
{
    char path[HN_RUN_PATH];
    for (int i = 0; i < N_FILES; i++) {
        hn_run_path(r, files_of_run[i].name, path);
        HN_TRY(what(all, path, files_of_run[i].is_begun));
    }
    for (int k = 0; k < N_ENDINGS; k++)
        for (size_t i = 0; i < all->n[k]; i++) {
            path_of_step(r, all->steps[k][i], endings_of_steps[k], path);
            HN_TRY(what(all, path, false));
        }
    return HN_OK;
}

/* All of it is looked at before the first file goes: what is refused loses nothing. */
static hn_status clear(hn_train_run *r, leftovers *all)
{
    for (int k = 0; k < N_ENDINGS; k++)
        HN_TRY(list_steps(r, endings_of_steps[k], &all->steps[k], &all->n[k]));
    HN_TRY(each_leftover(r, all, look));
    HN_REQUIRE(!all->is_there || r->on.over != HN_OVER_NOTHING, HN_ERR_ARGUMENT,
               "%s: a run is there already: --resume goes on with it, --overwrite or another folder begins anew",
               r->on.dir);
    HN_TRY(each_leftover(r, all, check));
    return each_leftover(r, all, discard);
}

hn_status hn_run_clear_folder(hn_train_run *r)
{
    leftovers all = { .was_begun = hn_run_is_told(r) };
    const hn_status status = clear(r, &all);
    for (int k = 0; k < N_ENDINGS; k++)
        hn_free(r->heap, all.steps[k]);
    return status;
}

hn_status hn_run_write_told(hn_train_run *r)
{
    char path[HN_RUN_PATH];
    hn_run_path(r, HN_RUN_TOLD, path);
    if (hn_os_is_there(path) && !hn_run_is_told(r))
        return HN_OK; /* somebody's own */
    hn_str text = hn_str_on(r->heap);
    hn_str_add(&text, HN_RUN_TOLD_FIRST "hone train --out THIS_FOLDER --resume goes on with it.\n");
    hn_str_print(&text, "version = %d\n", HN_RUN_FILE_VERSION);
    hn_str_add(&text, r->on.told ? r->on.told : "");
    hn_run_told_write_config(r->on.config, &text);
    hn_str_add(&text, r->on.more_told ? r->on.more_told : "");
    hn_status status = hn_str_status(&text);
    const hn_span span = { text.text, text.length };
    if (status == HN_OK)
        status = hn_file_write(hn_sink_own(path), &span, 1);
    hn_str_free(&text);
    return status;
}

/* ---- what learned ---- */

static bool is_zero(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] > 0 || x[i] < 0)
            return false;
    return true;
}

/* Whether tokens reached any expert of the layer that the tensor belongs to; true of others. */
static hn_status was_reached(hn_train_run *r, const hn_tunable *t, bool *out)
{
    int layer, of = -1;
    int64_t n;
    const float *load;
    *out = true;
    if (t->weight.type.rank != 3 || sscanf(t->name, "blk.%d.", &of) != 1)
        return HN_OK;
    for (int i = 0;; i++) {
        HN_TRY(hn_learner_load(r->learner, i, &layer, &n, &load));
        if (!load)
            return HN_OK;
        if (layer != of)
            continue;
        *out = !is_zero(load, n);
        return HN_OK;
    }
}

/* B is zero at first, and of an embedding A: it stands between the other one and the loss until
 * a step with a rate has moved it. */
static bool may_wait(const hn_train_run *r, const hn_tunable *t)
{
    const bool is_embedding = r->tuning->tuned[t->of].is_embedding;
    const int64_t moved = r->schedule.warm > 0 ? 2 : 1; /* a warm-up begins with a rate of zero */
    return t->part == (is_embedding ? HN_TUNE_B : HN_TUNE_A) && r->state.step < moved;
}

/* Looked at in the first step, and until what waits has had its turn. */
hn_status hn_run_check_moved(hn_train_run *r)
{
    hn_str silent = hn_str_on(r->heap);
    int n = 0;
    bool any_waits = false;
    if (r->has_moved)
        return HN_OK;
    hn_status status = HN_OK;
    for (int i = 0; i < r->tuning->n_tensors && status == HN_OK; i++) {
        hn_tensor g;
        const hn_tunable *t = &r->tuning->tensors[i];
        status = hn_learner_gradient(r->learner, i, &g);
        if (status != HN_OK || !is_zero(g.data, hn_count(&g.type)))
            continue;
        if (may_wait(r, t)) {
            any_waits = true;
        } else {
            bool reached = false;
            status = was_reached(r, t, &reached);
            if (reached && n++ < 4)
                hn_str_print(&silent, "%s%s", n > 1 ? ", " : "", t->name);
        }
    }
    r->has_moved = !any_waits;
    if (status == HN_OK)
        status = hn_str_status(&silent);
    if (status == HN_OK && n)
        status = hn_fail(HN_ERR_NUMERIC,
                         "step %lld: the gradient of %d of %d trained tensors is exactly zero (%s%s): "
                         "they learn nothing", (long long)r->state.step + 1, n,
                         r->tuning->n_tensors, silent.text, n > 4 ? ", ..." : "");
    hn_str_free(&silent);
    return status;
}

/* ---- the verdict ---- */

static hn_status judge(hn_train_run *r, const hn_run_report *report)
{
    const hn_objective_options *o = &hn_learner_objective(r->learner)->o;
    const hn_verdict_input in = {
        .losses = report->steps[HN_REPORT_LOSS], .n = report->n,
        .held = report->held[HN_HELD_LOSS], .held_steps = report->held[HN_HELD_STEP],
        .n_held = report->n_held,
        .keeps_best = r->config.patience > 0,
        .blind = hn_goal_spec_of(o->goal)->blind((double)hn_model_hparams(r->on.model)->n_vocab,
                                                 o),
    };
    hn_str_clear(&r->verdict);
    hn_verdict_write(&in, &r->verdict);
    HN_TRY(hn_str_status(&r->verdict));
    return hn_metrics_verdict(&r->metrics, r->state.step, r->verdict.text);
}

hn_status hn_run_judge(hn_train_run *r)
{
    hn_run_report *report = hn_alloc(r->heap, HN_TAG_TEXT, sizeof *report);
    if (!report)
        return HN_ERR_MEMORY;
    hn_status status = hn_run_report_read(report, r->heap, r->on.dir);
    if (status == HN_OK)
        status = judge(r, report);
    hn_run_report_free(report);
    hn_free(r->heap, report);
    return status;
}

/* ---- the contract ---- */

/* What was passed over of the base, when it was made and now. */
static hn_status note_ignored(const hn_train_run *r, hn_meta *keys)
{
    const hn_gguf *file = hn_model_gguf(r->on.model);
    const hn_meta_value *before = file ? hn_meta_find(hn_gguf_meta(file), "hone.ignored") : NULL;
    if (before)
        HN_TRY(hn_meta_set_copy(keys, before));
    return hn_ignored_write(hn_model_ignored(r->on.model), keys);
}

static hn_status describe(const hn_train_run *r, hn_meta *keys)
{
    hn_str text = hn_str_on(r->heap);
    hn_numerics numerics;
    hn_train_config_text(&r->config, &text);
    hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        status = hn_meta_set_text(keys, "hone.train.config", text.text);
    hn_str_free(&text);
    HN_TRY(status);
    HN_TRY(note_ignored(r, keys));
    HN_TRY(hn_adapter_set_version(keys));
    HN_TRY(hn_meta_set_text(keys, HN_ADAPTER_BASE, r->basis.base));
    HN_TRY(hn_train_config_numerics(&r->config, &numerics));
    HN_TRY(hn_meta_set_text(keys, HN_ADAPTER_NUMERICS, hn_numerics_definition(numerics)));
    HN_TRY(hn_meta_set_text(keys, HN_ADAPTER_TOKENIZER, r->on.tokenizer));
    if (r->on.template[0])
        HN_TRY(hn_meta_set_text(keys, HN_ADAPTER_TEMPLATE, r->on.template));
    if (r->on.template_text.data)
        HN_TRY(hn_meta_set_string(keys, HN_ADAPTER_TEMPLATE_TEXT, r->on.template_text));
    HN_TRY(hn_meta_set_text(keys, "hone.train.data.sha256", r->basis.data_sha));
    HN_TRY(hn_meta_set_text(keys, "hone.train.data.policy", r->on.data_text));
    HN_TRY(hn_meta_set_int(keys, "hone.train.steps", HN_META_U64, r->state.step));
    HN_TRY(hn_meta_set_int(keys, "hone.train.examples", HN_META_U64, r->state.examples));
    HN_TRY(hn_meta_set_int(keys, "hone.train.tokens", HN_META_U64, r->state.tokens));
    HN_TRY(hn_meta_set_int(keys, "hone.train.supervised_tokens", HN_META_U64, r->state.supervised));
    HN_TRY(hn_meta_set_double(keys, "hone.train.last_loss", HN_META_F64, r->state.last_loss));
    if (r->state.best_step >= 0)
        HN_TRY(hn_meta_set_double(keys, "hone.train.held_loss", HN_META_F64, r->state.best_loss));
    return HN_OK;
}

/* Tokens that the self-test runs: how the first trained example begins. */
static hn_status test_tokens(hn_train_run *r, hn_encoding_view *out)
{
    HN_TRY(hn_steps_at(&r->steps, 0, &r->data_step));
    HN_TRY(hn_batch_read(&r->batch, r->on.dataset, &r->data_step, &r->example));
    const hn_sample s = hn_batch_sequence(&r->batch, 0);
    *out = (hn_encoding_view){ s.ids, s.n < HN_RUN_TEST_TOKENS ? s.n : HN_RUN_TEST_TOKENS };
    return HN_OK;
}

static hn_status write_adapter(hn_train_run *r, hn_meta *keys, const char *path)
{
    hn_encoding_view tokens;
    char untried[HN_RUN_PATH];
    /* The test is of what a file says, not of what we hold; without one it is no adapter. */
    hn_run_path(r, "untried.gguf", untried);
    HN_TRY(hn_adapter_write(r->tuning, untried, keys));
    hn_status status = test_tokens(r, &tokens);
    if (status == HN_OK)
        status = hn_adapter_test_make(r->heap, r->on.model, r->on.run, untried, tokens.ids,
                                      (int64_t)tokens.n, keys);
    hn_os_remove(untried);
    HN_TRY(status);
    return hn_adapter_write(r->tuning, path, keys);
}

/* A directory's keys and names in GGUF are those of the file that it converts to, which is made beside
 * the result and goes again. */
static hn_status write_model_of_dir(hn_train_run *r, const hn_meta *keys, const char *path)
{
    const hn_convert_options as_it_is = { .ignored = hn_model_ignored(r->on.model) };
    char base[HN_RUN_PATH];
    hn_watch watch = { 0 };
    hn_pool *pool;
    hn_gguf *file = NULL;
    hn_run_path(r, "base.gguf", base);
    HN_TRY(hn_pool_new(r->heap, 0, &pool));
    hn_status status = hn_convert(r->heap, pool, hn_model_path(r->on.model), hn_sink_own(base), &as_it_is, &watch);
    hn_pool_free(pool);
    HN_TRY(status);
    status = hn_gguf_open(r->heap, base, &file);
    if (status == HN_OK)
        status = hn_tuned_model_write(r->tuning, file, path, keys);
    hn_gguf_close(file);
    hn_os_remove(base);
    return status;
}

static hn_status write_model(hn_train_run *r, const hn_meta *keys, char path[HN_RUN_PATH])
{
    const hn_gguf *file = hn_model_gguf(r->on.model);
    hn_run_path(r, "model.gguf", path);
    return file ? hn_tuned_model_write(r->tuning, file, path, keys) : write_model_of_dir(r, keys, path);
}

/* A checkpoint as it would be had the run ended there. */
static hn_status write_checkpoint(hn_train_run *r, int64_t step)
{
    char path[HN_RUN_PATH];
    hn_meta keys = hn_meta_on(r->heap, "a checkpoint");
    hn_run_checkpoint_path(r, step, path);
    hn_status status = hn_checkpoint_read_trained(r->tuning, path, &r->basis, &r->state);
    if (status == HN_OK)
        status = describe(r, &keys);
    adapter_path(r, step, path);
    if (status == HN_OK)
        status = write_adapter(r, &keys, path);
    hn_meta_free(&keys);
    return status;
}

/* The result is the one of its own step. */
static hn_status write_checkpoints(hn_train_run *r)
{
    const hn_run_state result = r->state;
    int64_t *steps = NULL;
    size_t n = 0;
    hn_status status = r->config.keep_adapters ? hn_run_checkpoints(r, &steps, &n) : HN_OK;
    for (size_t i = 0; i < n && status == HN_OK; i++)
        if (steps[i] != result.step)
            status = write_checkpoint(r, steps[i]);
    hn_free(r->heap, steps);
    r->state = result;
    return status;
}

static hn_status write_result(hn_train_run *r, char path[HN_RUN_PATH])
{
    hn_meta keys = hn_meta_on(r->heap, "the result");
    hn_status status = describe(r, &keys);
    hn_run_path(r, "adapter.gguf", path);
    if (status == HN_OK)
        status = hn_tuning_is_full(r->tuning) ? write_model(r, &keys, path) : write_adapter(r, &keys, path);
    hn_meta_free(&keys);
    return status;
}

hn_status hn_train_run_finish(hn_train_run *r, char path[HN_RUN_PATH], char digest[65])
{
    hn_run_release(r); /* what follows needs its place */
    HN_TRY(hn_run_holds_folder(r));
    HN_TRY(hn_run_basis_unchanged(&r->basis, r->on.dataset));
    HN_TRY(write_result(r, path));
    hn_status status = write_checkpoints(r);
    HN_TRY(hn_run_holds_folder(r));
    if (status == HN_OK)
        status = hn_run_basis_unchanged(&r->basis, r->on.dataset); /* its self-test was made of the base too */
    if (status != HN_OK) {
        hn_os_remove(path);
        return status;
    }
    return hn_sha256_file(path, digest);
}
