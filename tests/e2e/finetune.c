/* Fine-tuning through the public functions alone: what hone train does, to the same bits, with
 * callbacks, cancelled from one and taken up again; and every refusal, of an allocation as of a
 * spec, is a status and a sentence. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_STEPS = 6 };

static char dir[256];
static const char *data[1];
static char model[300], data_path[300];
static bool is_chat; /* the examples are conversations, written by the model's template */
static const char *const settings[] = { "steps=6",      "batch=4",     "rank=4", "eval-every=3",
                                        "save-every=4", "rate=0.001" };
static const char options[] = "--steps 6 --batch 4 --rank 4 --eval-every 3 --save-every 4 "
                              "--rate 0.001 --held-fraction 0.3 --loss all "
                              "--max-length 400 --samples 0";

static const char *in_dir(const char *name)
{
    static char paths[4][300];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static bool sh(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool sh(const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return CHECK_THAT(system(text) == 0, "%s", text);
}

static bool exists(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

/* ---- what is heard ---- */

typedef struct heard {
    hn_engine *engine;
    int steps, evaluations, saved;
    int64_t cancels_at; /* the step; 0: never */
    int64_t last, n_steps;
    double loss, done;
} heard;

static void on_step(void *context, const hn_finetune_step *s)
{
    heard *h = context;
    h->steps++;
    CHECK_INT(h->last + 1, s->step);
    CHECK(s->loss > 0 && s->grad_norm > 0 && s->tokens > 0 && s->supervised > 0 && s->seconds > 0);
    h->last = s->step;
    h->n_steps = s->n_steps;
    h->loss = s->loss;
    if (s->step == h->cancels_at)
        hn_engine_cancel(h->engine);
}

static void on_evaluation(void *context, const hn_finetune_evaluation *e)
{
    heard *h = context;
    h->evaluations++;
    CHECK(e->loss > 0 && e->n > 0 && e->accuracy >= 0 && e->accuracy <= 1);
    CHECK_INT(h->last, e->step);
}

static void on_saved(void *context, const char *path)
{
    heard *h = context;
    h->saved++;
    CHECK(strstr(path, ".ckpt") && access(path, F_OK) == 0);
}

static void on_progress(void *context, double done)
{
    heard *h = context;
    CHECK(done > h->done && done <= 1);
    h->done = done;
}

static hn_finetune_spec spec_of(const char *out, heard *h)
{
    return (hn_finetune_spec){
        .size = sizeof(hn_finetune_spec), .model = model, .data = data, .n_data = 1, .out = out, .settings = settings,
        .n_settings = sizeof settings / sizeof *settings, .loss = "all", .plain = !is_chat,
        .max_length = 400, .held_fraction = 0.3, .context = h, .on_step = on_step,
        .on_evaluation = on_evaluation, .on_saved = on_saved,
    };
}

/* ---- the same bits as the program ---- */

static void read_digest(const char *name, char digest[65])
{
    FILE *file = fopen(in_dir(name), "r");
    digest[0] = 0;
    if (CHECK(file != NULL)) {
        CHECK(fscanf(file, "%64s", digest) == 1);
        fclose(file);
    }
}

static void check_whole(hn_engine *engine, const char *digest)
{
    heard h = { .engine = engine };
    hn_finetune_result result;
    const hn_finetune_spec spec = spec_of(in_dir("whole"), &h);
    check_group("whole");
    hn_engine_on_progress(engine, on_progress, &h);
    if (CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result))) {
        CHECK_TEXT(digest, result.sha256);
        CHECK(strstr(result.path, "whole/adapter.gguf") && exists("whole/adapter.gguf"));
        CHECK_INT(N_STEPS, result.n_steps);
        CHECK(result.last_loss >= h.loss && result.last_loss <= h.loss);
    }
    CHECK_INT(N_STEPS, h.steps);
    CHECK_INT(3, h.evaluations); /* before the first, and two */
    CHECK(result.verdict[0]);
    CHECK_INT(2, h.saved); /* after 4 and 6 */
    CHECK(h.done >= 1);
    hn_engine_on_progress(engine, NULL, NULL);
}

static void check_cancelled(hn_engine *engine, const char *digest)
{
    heard h = { .engine = engine, .cancels_at = 3 };
    hn_finetune_result result;
    hn_finetune_spec spec = spec_of(in_dir("parts"), &h);
    check_group("cancelled");
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_CANCELLED, "stopped after step 3 of 6");
    CHECK(!result.path[0] && !result.sha256[0]);
    CHECK_INT(3, h.steps);
    CHECK(exists("parts/step-00000003.ckpt") && !exists("parts/adapter.gguf"));
    h.cancels_at = 0;
    spec.resume = 1;
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_CANCELLED, "");
    CHECK_INT(3, h.steps); /* until it is told to go on */
    hn_engine_resume(engine);
    spec.resume = 0;
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_ARGUMENT, "a run is there already");
    spec.resume = 1;
    if (CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result)))
        CHECK_TEXT(digest, result.sha256);
    CHECK_INT(N_STEPS, h.steps); /* only those that were left */
}

/* The folder alone: what it was told stands there, and it goes on to the same bits; what is told on top
 * must give the same. */
static void check_folder(hn_engine *engine, const char *digest)
{
    static const char *const other[] = { "rate=0.5" }, *const smaller[] = { "micro-tokens=200", "save-every=1" };
    heard h = { .engine = engine, .cancels_at = 3 };
    hn_finetune_result result;
    hn_finetune_spec spec = spec_of(in_dir("alone"), &h);
    check_group("the folder alone");
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_CANCELLED, "stopped after step 3 of 6");
    hn_engine_resume(engine);
    h.cancels_at = 0;
    spec = (hn_finetune_spec){ .size = sizeof(hn_finetune_spec), .out = in_dir("alone"), .resume = 1, .context = &h, .on_step = on_step };
    spec.settings = other;
    spec.n_settings = 1;
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_ARGUMENT,
                "made with another --rate: it was 0.001");
    spec.settings = smaller;
    spec.n_settings = 2;
    if (CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result)))
        CHECK_TEXT(digest, result.sha256);
    CHECK_INT(N_STEPS, h.steps);
    /* Killed before anything was saved: it begins, of the same; or another begins there. */
    sh("cd %s && rm alone/adapter.gguf alone/*.ckpt && grep -q '^save-every = 1$' alone/run.toml", dir);
    h = (heard){ .engine = engine };
    spec.n_settings = 0;
    if (CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result)))
        CHECK_TEXT(digest, result.sha256);
    CHECK_INT(N_STEPS, h.steps);
    sh("cd %s && rm alone/adapter.gguf alone/*.ckpt", dir);
    h = (heard){ .engine = engine };
    spec = spec_of(in_dir("alone"), &h);
    if (CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result)))
        CHECK_TEXT(digest, result.sha256);
    /* No run, a file that is not ours, and lines that mean nothing. */
    spec = (hn_finetune_spec){ .size = sizeof(hn_finetune_spec), .out = in_dir("nobody"), .resume = 1 };
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_IO, "no run to go on with");
    CHECK(!exists("nobody"));
    sh("mkdir %s/odd && cd %s/odd && echo 'model = \"m.gguf\"' >run.toml", dir, dir);
    heard silent = { .engine = engine };
    spec = spec_of(in_dir("odd"), &silent);
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_ARGUMENT, "a run is there already");
    spec = (hn_finetune_spec){ .size = sizeof(hn_finetune_spec), .out = in_dir("odd"), .resume = 1 };
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_ARGUMENT, "expected --data FILE");
    sh("echo 'rnak = false' >>%s/odd/run.toml", dir);
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_FORMAT, "line 2: unknown option --rnak");
    sh("cd %s/odd && printf 'model = \"m\"\nrank = 1\nrank = 2\n' >run.toml", dir);
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_FORMAT, "line 3: rank: expected a key once");
    static const char *const odd[][2] = {
        { "rank = false", "line 2: --rank: expected a value, found false" },
        { "rank = [1, 2]", "line 2: --rank: expected a value, found several" },
        { "held = false", "line 2: --held: expected texts in quotes, found false" },
        { "plain = []", "line 2: --plain: expected true or false, found an empty array" },
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        sh("cd %s/odd && printf 'model = \"m\"\n%s\n' >run.toml", dir, odd[i][0]);
        CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_FORMAT, odd[i][1]);
    }
}

/* What patience has counted outlives an interruption: a run whose evaluations get worse stops at the
 * same step, with the same best. */
static void check_patience(hn_engine *engine)
{
    static const char *const settings_of[] = { "steps=60", "batch=4", "rank=4", "eval-every=1",
                                               "rate=0.5", "patience=4", "save-every=1" };
    heard whole = { .engine = engine }, parts = { .engine = engine };
    hn_finetune_result a, b;
    check_group("patience");
    hn_finetune_spec spec = spec_of(in_dir("patient"), &whole);
    spec.settings = settings_of;
    spec.n_settings = sizeof settings_of / sizeof *settings_of;
    spec.on_saved = NULL;
    if (!CHECK_OK(hn_finetune(engine, &spec, &a, sizeof a)) ||
        !CHECK_THAT(whole.steps > 4 && whole.steps < 60, "%d steps", whole.steps))
        return;
    spec.out = in_dir("impatient");
    spec.context = &parts;
    parts.cancels_at = whole.steps - 1; /* three of four worse ones have been counted */
    CHECK_FAILS(hn_finetune(engine, &spec, &b, sizeof b), HN_ERR_CANCELLED, "stopped after step");
    hn_engine_resume(engine);
    parts.cancels_at = 0;
    spec.resume = 1;
    if (CHECK_OK(hn_finetune(engine, &spec, &b, sizeof b)))
        CHECK_TEXT(a.sha256, b.sha256);
    CHECK_INT(whole.steps, parts.steps);
}

/* ---- what is refused ---- */

static void refuse_setting(hn_engine *engine, const char *setting, const char *words)
{
    hn_finetune_estimate e;
    heard h = { .engine = engine };
    hn_finetune_spec spec = spec_of(NULL, &h);
    spec.settings = &setting;
    spec.n_settings = 1;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, words);
}

/* Each may be given, and one beside the other is of no effect. */
static void refuse_both(hn_engine *engine, const char *one, const char *two, const char *words)
{
    const char *const both[] = { one, two };
    hn_finetune_estimate e;
    heard h = { .engine = engine };
    hn_finetune_spec spec = spec_of(NULL, &h);
    for (int i = 0; i < 2; i++) {
        spec.settings = &both[i];
        spec.n_settings = 1;
        CHECK_OK(hn_finetune_plan(engine, &spec, &e, sizeof e));
    }
    spec.settings = both;
    spec.n_settings = 2;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, words);
}

static void check_refusals(hn_engine *engine)
{
    heard h = { .engine = engine };
    hn_finetune_result result;
    hn_finetune_estimate e;
    hn_finetune_spec spec = spec_of(NULL, &h);
    check_group("refusals");
    CHECK_FAILS(hn_finetune(engine, &spec, &result, sizeof result), HN_ERR_ARGUMENT, "hn_finetune_spec.out");
    CHECK_FAILS(hn_finetune(engine, NULL, &result, sizeof result), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_finetune(engine, &spec, NULL, 0), HN_ERR_ARGUMENT, "found NULL");
    refuse_setting(engine, "rnak=8", "unknown option --rnak");
    refuse_setting(engine, "rank=8x", "--rank 8x: expected a whole number from 1 to 65536");
    refuse_setting(engine, "rank=0", "--rank 0: expected a whole number");
    refuse_setting(engine, "rank", "--rank: expected a value");
    refuse_setting(engine, "rate=-1", "--rate -1: expected a number, not negative");
    refuse_setting(engine, "rslora=maybe", "--rslora maybe: expected true or false");
    refuse_setting(engine, "goal=sgt", "--goal sgt: expected sft, ");
    for (size_t i = 0; hn_finetune_goal_at(i); i++)
        refuse_setting(engine, "goal=sgt", hn_finetune_goal_at(i)->name);
    refuse_setting(engine, "threads=4", "n_threads");
    refuse_both(engine, "epochs=2", "steps=3", "--epochs beside --steps 3: they say how long the run is");
    refuse_both(engine, "batch-tokens=100", "batch=3", "--batch beside --batch-tokens 100: its tokens say");
    refuse_both(engine, "rank=4", "rank=8", "--rank: given twice: expected it once");
    spec.n_data = 0;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, "hn_finetune_spec.data");
    spec = spec_of(NULL, &h);
    spec.loss = "some";
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, "some");
    spec = spec_of(NULL, &h);
    spec.held_fraction = 2;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, "held");
    spec = spec_of(NULL, &h);
    spec.model = in_dir("nothing.gguf");
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_IO, "nothing.gguf");
    CHECK_INT(0, h.steps);
}

/* What is passed over: of examples and of the model, each by its own list. */
static void check_passed_over(hn_engine *engine)
{
    static const char *const field[] = { "mood" }, *const key[] = { "llama.rope.freq_bass" };
    static const char bass[] = "s/llama.rope.freq_base/llama.rope.freq_bass/";
    hn_finetune_estimate e;
    heard h = { .engine = engine };
    hn_finetune_spec spec = spec_of(NULL, &h);
    check_group("passed over");
    sh("cd %s && LC_ALL=C sed %s m.gguf >bad.gguf && sed 's/^{/{\"mood\":\"sad\",/' d.jsonl >mood.jsonl", dir, bass);
    const char *mood = in_dir("mood.jsonl");
    spec.data = &mood;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_FORMAT, "--ignore-field mood leaves them");
    spec.ignored_keys = field;
    spec.n_ignored_keys = 1;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, "--ignore mood: ");
    spec.n_ignored_keys = 0;
    spec.ignored_fields = field;
    spec.n_ignored_fields = 1;
    CHECK_OK(hn_finetune_plan(engine, &spec, &e, sizeof e));
    spec.model = in_dir("bad.gguf");
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_UNSUPPORTED, "--ignore llama.rope.freq_bass passes over it");
    spec.ignored_keys = key;
    spec.n_ignored_keys = 1;
    CHECK_OK(hn_finetune_plan(engine, &spec, &e, sizeof e));
    spec.ignored_keys = NULL;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, "ignored_keys: expected a list");
    spec.n_ignored_keys = 0;
    spec.ignored_fields = NULL;
    CHECK_FAILS(hn_finetune_plan(engine, &spec, &e, sizeof e), HN_ERR_ARGUMENT, "ignored_fields: expected a list");
}

static void check_plan(hn_engine *engine)
{
    hn_finetune_estimate e;
    heard h = { .engine = engine };
    const hn_finetune_spec spec = spec_of(in_dir("dry"), &h);
    check_group("plan");
    if (!CHECK_OK(hn_finetune_plan(engine, &spec, &e, sizeof e)))
        return;
    CHECK_INT(N_STEPS, e.n_steps);
    CHECK(e.n_examples > 0 && e.n_examples < 20);
    CHECK_INT(28, e.n_tensors);
    CHECK(e.n_trained > 0 && e.micro_tokens > 0 && e.evaluation_bytes > 0);
    CHECK(e.total_bytes > e.weights_bytes + e.workspace_bytes + e.trained_bytes);
    CHECK(!exists("dry"));
}

static double operations(hn_engine *engine, const char *one, const char *two)
{
    hn_finetune_estimate e = { 0 };
    heard h = { .engine = engine };
    const char *const said[] = { "rank=4", "in-order", one, two };
    hn_finetune_spec spec = spec_of(NULL, &h);
    spec.settings = said;
    spec.n_settings = 4;
    CHECK_OK(hn_finetune_plan(engine, &spec, &e, sizeof e));
    return e.step_operations;
}

/* What a step computes depends on what is learned of, not on how it is cut. */
static void check_operations(hn_engine *engine)
{
    check_group("operations");
    const double two = operations(engine, "batch=2", "steps=6"), four = operations(engine, "batch=4", "steps=3");
    CHECK_THAT(two > 1e5 && four > 1.8 * two && four < 2 * two, "%g operations of two examples, %g of four", two, four);
    CHECK_THAT(operations(engine, "batch=4", "micro-tokens=400") == operations(engine, "batch=4", "micro-tokens=800"), "%g and %g",
               operations(engine, "batch=4", "micro-tokens=400"), operations(engine, "batch=4", "micro-tokens=800"));
    CHECK(operations(engine, "batch=2", "recompute=1") > operations(engine, "batch=2", "recompute=0"));
}

/* ---- what a step computes, counted beside ---- */

typedef struct counted {
    int64_t tokens, supervised;
} counted;

static void on_counted(void *context, const hn_finetune_step *s)
{
    *(counted *)context = (counted){ s->tokens, s->supervised };
}

/* A model whose products of matrices are nearly all that a step computes: of what each token goes through, and of a head. */
enum { WORK_LAYERS = 3, WORK_WIDTH = 256, WORK_HEADS = 4, WORK_FFN = 512 };

static double products(int64_t tokens, int64_t rows, int64_t vocabulary)
{
    const double layer = 4.0 * WORK_WIDTH * WORK_WIDTH + 3.0 * WORK_WIDTH * WORK_FFN;
    return 2 * (WORK_LAYERS * layer * (double)tokens + (double)WORK_WIDTH * (double)vocabulary * (double)rows);
}

/* `passes`: how often a token, and a row that is learned of, goes through the model, there or back. What is told of the tokens of a
 * step that was done is not the estimate's. The rest is attention, twice as much of pairs, which are estimated as one text. */
static void check_passes(hn_engine *engine, const char *form, const char *goal, double passes, double row_passes)
{
    const char *const said[] = { "steps=1", "batch=4", "rank=1", "recompute=0", "in-order", "targets=attn,mlp", goal };
    hn_finetune_estimate e = { 0 };
    hn_finetune_result result;
    counted c = { 0 };
    hn_lm *lm;
    sh("i=0; while [ $i -lt 4 ]; do i=$((i+1)); echo \"%s\"; done >%s/work.jsonl", form, dir);
    const char *const file = in_dir("work.jsonl");
    const hn_finetune_spec spec = { .size = sizeof spec, .model = in_dir("work.gguf"), .data = &file, .n_data = 1, .out = in_dir("work"),
                                    .settings = said, .n_settings = sizeof said / sizeof *said, .plain = 1, .overwrite = 1,
                                    .context = &c, .on_step = on_counted };
    if (!CHECK_OK(hn_finetune_plan(engine, &spec, &e, sizeof e)) || !CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result)) ||
        !CHECK_OK(hn_lm_open(&lm, engine, spec.model, NULL)))
        return;
    const int64_t vocabulary = hn_lm_vocabulary(lm);
    const double wanted = passes * products(c.tokens, 0, vocabulary) + row_passes * products(0, c.supervised, vocabulary);
    CHECK_THAT(c.supervised > 20 && c.tokens > 4 * c.supervised, "%lld of %lld tokens", (long long)c.supervised, (long long)c.tokens);
    CHECK_THAT(e.step_operations > wanted && e.step_operations < 1.15 * wanted, "%s: %g operations, and %g are products", goal,
               e.step_operations, wanted);
    hn_lm_close(lm);
}

static void check_work(hn_engine *engine, const char *hone)
{
#define LONG "a long question that nobody answers, and that is asked at length, again and again, for it is not learned of at all $i"
    static const char single[] = "{\\\"prompt\\\":\\\"" LONG "\\\",\\\"completion\\\":\\\" answers $i\\\"}",
                      pair[] = "{\\\"prompt\\\":\\\"" LONG "\\\",\\\"chosen\\\":\\\" answers $i\\\",\\\"rejected\\\":\\\" none of it\\\"}",
                      label[] = "{\\\"prompt\\\":\\\"" LONG "\\\",\\\"completion\\\":\\\" answers $i\\\",\\\"label\\\":true}";
    check_group("work");
    sh("'%s' new llama %s/work.gguf layers=%d width=%d heads=%d kv_heads=%d head_dim=%d ffn=%d >/dev/null", hone, dir, WORK_LAYERS,
       WORK_WIDTH, WORK_HEADS, WORK_HEADS, WORK_WIDTH / WORK_HEADS, WORK_FFN);
    check_passes(engine, single, "goal=sft", 2, 2);
    check_passes(engine, single, "goal=kl", 3, 3);
    check_passes(engine, pair, "goal=dpo", 3, 3);
    check_passes(engine, label, "goal=kto", 5, 5);
}

/* Planning takes next to nothing, and what is chosen under an engine's limit fits it. */
static void check_limit(const char *digest)
{
    hn_engine *engine;
    hn_finetune_estimate whole, e;
    hn_finetune_result result;
    heard h = { 0 };
    int64_t peak;
    check_group("limit");
    hn_finetune_spec spec = spec_of(in_dir("limit"), &h);
    if (!CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 })))
        return;
    h.engine = engine;
    CHECK_OK(hn_finetune_plan(engine, &spec, &whole, sizeof whole));
    hn_engine_memory(engine, NULL, &peak, NULL);
    hn_engine_free(engine);
    bool is_found = false;
    for (size_t k = 80; k > 0 && !is_found; k--) { /* the first that asks for a smaller plan */
        const hn_engine_options narrow = { .size = sizeof narrow, .n_threads = 1,
                                           .memory_limit = (size_t)peak + whole.total_bytes * k / 80 };
        if (!CHECK_OK(hn_engine_new(&engine, &narrow)))
            return;
        h = (heard){ .engine = engine };
        is_found = hn_finetune_plan(engine, &spec, &e, sizeof e) == HN_OK &&
                   (e.micro_tokens < whole.micro_tokens || e.recompute > 0);
        if (is_found && CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result)))
            CHECK_TEXT(digest, result.sha256);
        hn_engine_free(engine);
    }
    CHECK(is_found);
}

/* ---- every allocation refused ---- */

/* `thins`: of the later ones ever fewer. */
static void check_allocations(const char *digest, int64_t thins)
{
    int64_t n_refused = 0;
    bool is_through = false;
    check_group("allocations");
    for (int64_t nth = 1; !is_through; nth += 1 + nth / thins) {
        hn_engine *engine;
        hn_finetune_result result;
        int64_t before, live, first, calls;
        if (!CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 })))
            return;
        hn_engine_memory(engine, &before, NULL, &first);
        heard h = { .engine = engine };
        const hn_finetune_spec spec = spec_of(in_dir("refused"), &h);
        sh("rm -rf %s", spec.out);
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = hn_finetune(engine, &spec, &result, sizeof result);
        hn_engine_memory(engine, &live, NULL, &calls);
        CHECK_THAT(live == before, "allocation %lld refused: %lld bytes left", (long long)nth,
                   (long long)(live - before));
        is_through = calls < first + nth; /* all was given */
        if (is_through)
            CHECK(CHECK_OK(status) && CHECK_TEXT(digest, result.sha256));
        else
            CHECK_THAT(status == HN_ERR_MEMORY && strstr(hn_error_message(), "out of memory"),
                       "allocation %lld refused: status %d: %s", (long long)nth, (int)status,
                       hn_error_message());
        n_refused += !is_through;
        char command[400];
        snprintf(command, sizeof command, "! ls %.250s/*.partial-* 2>/dev/null", spec.out);
        CHECK_INT(0, system(command));
        hn_engine_free(engine);
    }
    CHECK(n_refused > 40);
    printf("%lld allocations refused\n", (long long)n_refused);
}

/* Writes the examples, and trains on them with the program. */
static void train_by_program(const char *hone, char digest[65])
{
    const char *form = is_chat ? "{\\\"messages\\\":[{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"question $i\\\"},"
                                 "{\\\"role\\\":\\\"assistant\\\",\\\"content\\\":\\\"answer $((i * 7 % 23))\\\"}]}"
                               : "{\\\"prompt\\\":\\\"question $i\\\",\\\"completion\\\":"
                                 "\\\" answer $i is $((i * 7 % 23))\\\"}";
    sh("i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo \"%s\"; done >%s", form, data_path);
    sh("cd %s && rm -rf cli && '%s' train m.gguf --data d.jsonl --out cli %s %s >out 2>err || "
       "{ cat err; exit 1; }; sed -n 's/^sha256 //p' out >digest", dir, hone, options,
       is_chat ? "" : "--plain");
    read_digest("digest", digest);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    char digest[65];
    check_open(argc, argv);
    const char *hone = check_option("--hone"), *temp = getenv("TMPDIR");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(dir, sizeof dir, "%.180s/hone-finetune-%d", temp ? temp : "/tmp", (int)getpid());
    snprintf(model, sizeof model, "%s/m.gguf", dir);
    snprintf(data_path, sizeof data_path, "%s/d.jsonl", dir);
    data[0] = data_path;
    sh("mkdir %s && '%s' new llama %s --first spread layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 >/dev/null",
       dir, hone, model);
    train_by_program(hone, digest);
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        int64_t before, live;
        hn_engine_memory(engine, &before, NULL, NULL);
        check_plan(engine);
        check_operations(engine);
        check_work(engine, hone);
        check_refusals(engine);
        check_passed_over(engine);
        check_whole(engine, digest);
        check_cancelled(engine, digest);
        check_folder(engine, digest);
        check_patience(engine);
        hn_engine_memory(engine, &live, NULL, NULL);
        CHECK_INT(before, live);
        hn_engine_free(engine);
        check_limit(digest);
        const bool is_quick = check_flag("--quick"); /* of the refusals, a part */
        check_allocations(digest, is_quick ? 20 : INT64_MAX);
        is_chat = true;
        train_by_program(hone, digest);
        check_allocations(digest, is_quick ? 10 : 100);
    }
    check_group(NULL);
    sh("rm -rf %s", dir);
    return check_close();
}
