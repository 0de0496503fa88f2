/* NON-FINITE WEIGHTS: a weight that is nan or inf, and logits, eval and convert ended with 0. Whatever
 * computes or writes ends with the tensor's name, also where a soft cap makes a number of infinity. */
#include "convert/convert.h"
#include "convert/quantize.h"
#include "infer/compiled.h"
#include "infer/imatrix.h"
#include "infer/perplexity.h"
#include "infer/session.h"
#include "io/gguf.h"
#include "io/weights_writer.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "train/evaluator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 32 };

static hn_heap heap;
static hn_pool *pool;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static char whole[160], bad[160], out[160];
static int32_t ids[N];

static void path(char to[160], const char *name)
{
    const char *dir = getenv("TMPDIR");
    snprintf(to, 160, "%.90s/hone-nonfinite-%d-%s.gguf", dir ? dir : "/tmp", (int)getpid(), name);
    remove(to);
}

/* The file with element `at` of the tensor replaced. */
static bool plant(const char *name, float value)
{
    hn_gguf *file;
    hn_weights_writer *writer;
    if (!CHECK_OK(hn_gguf_open(&heap, whole, &file)))
        return false;
    const hn_weights *all = hn_gguf_weights(file);
    remove(bad);
    if (!hn_weights_find(all, name)) { /* a mixture has its experts' instead */
        hn_gguf_close(file);
        return false;
    }
    bool ok = CHECK_OK(hn_gguf_create(&heap, hn_sink_new(bad), hn_gguf_meta(file), all->entries, all->n,
                                      &writer));
    for (size_t i = 0; ok && i < all->n; i++) {
        const hn_weight_entry *e = &all->entries[i];
        uint8_t *copy = hn_alloc(&heap, HN_TAG_FILE, (size_t)e->bytes);
        memcpy(copy, e->data, (size_t)e->bytes);
        const hn_tensor t = hn_tensor_at(&e->type, copy);
        if (!strcmp(e->name, name))
            hn_set(&t, hn_count(&e->type) / 2, (double)value);
        ok = CHECK_OK(hn_weights_writer_put(writer, i, 0, copy, (size_t)e->bytes));
        hn_free(&heap, copy);
    }
    if (ok)
        ok = CHECK_OK(hn_weights_writer_finish(writer));
    hn_gguf_close(file);
    return ok;
}

static hn_status whole_sequence(const hn_model *m)
{
    hn_forward *f;
    const hn_forward_options o = { .max_tokens = N };
    HN_TRY(hn_forward_new(&f, &heap, m, on_all_devices(n_devices, devices), &o));
    const hn_status status = hn_forward_run(f, ids, N, NULL);
    hn_forward_free(f);
    return status;
}

static hn_status generate(const hn_model *m)
{
    hn_session *s;
    const hn_session_options o = { .n_ctx = 64, .packs = true };
    HN_TRY(hn_session_new(&s, &heap, m, on_all_devices(n_devices, devices), &o));
    const hn_status status = hn_session_sync(s, ids, N, NULL);
    hn_session_free(s);
    return status;
}

/* Who stands on a model's graph by himself and asks for nothing: no path leads to a result past its guard. */
typedef struct forgetful {
    hn_compiled c;
    int32_t positions[N], segments[3 * N];
} forgetful;

static hn_status begin(forgetful *f, const hn_model *m)
{
    const nn_build_options o = { .max_tokens = N };
    *f = (forgetful){ 0 };
    for (int i = 0; i < N; i++)
        f->positions[i] = i;
    HN_TRY(hn_compiled_build(&f->c, &heap, m, on_all_devices(n_devices, devices), &o));
    HN_TRY(hn_compiled_plan(&f->c, 1, &f->c.result, NULL));
    HN_TRY(hn_storage_bind(f->c.storage, f->c.build.tokens->leaf, ids, hn_type_bytes(&f->c.build.tokens->leaf->type)));
    HN_TRY(hn_storage_bind(f->c.storage, f->c.build.positions->leaf, f->positions, hn_type_bytes(&f->c.build.positions->leaf->type)));
    HN_TRY(hn_storage_bind(f->c.storage, f->c.build.segments->leaf, f->segments, hn_type_bytes(&f->c.build.segments->leaf->type)));
    return hn_compiled_finish(&f->c);
}

static hn_status forget(const hn_model *m)
{
    forgetful f;
    hn_tensor y;
    hn_status status = begin(&f, m);
    if (status == HN_OK)
        status = hn_program_run(f.c.program, NULL);
    char said[300];
    snprintf(said, sizeof said, "%s", status == HN_OK ? "" : hn_error_message());
    if (status != HN_OK && f.c.program)
        CHECK_FAILS(hn_program_result(f.c.program, 0, &y), HN_ERR_ARGUMENT, "before a run");
    hn_compiled_free(&f.c);
    return status == HN_OK ? HN_OK : hn_fail(status, "%s", said);
}

/* The same of a file that ends sooner between two runs: what lies behind its end reads as zeros. */
static void check_cut(void)
{
    forgetful f;
    hn_model *m;
    hn_tensor y;
    if (!CHECK_OK(hn_model_open(&heap, whole, NULL, &m)))
        return;
    if (CHECK_OK(begin(&f, m)) && CHECK_OK(hn_program_run(f.c.program, NULL))) {
        CHECK_OK(hn_program_result(f.c.program, 0, &y));
        struct stat about;
        CHECK(stat(whole, &about) == 0 && truncate(whole, about.st_size - 8) == 0);
        CHECK_FAILS(hn_program_run(f.c.program, NULL), HN_ERR_IO, "was cut short while it was read");
        CHECK_FAILS(hn_program_result(f.c.program, 0, &y), HN_ERR_ARGUMENT, "before a run");
    }
    hn_compiled_free(&f.c);
    hn_model_close(m);
}

static hn_status evaluate(const hn_model *m)
{
    hn_evaluator *e;
    hn_evaluation sums = { 0 };
    float weights[N];
    for (int i = 0; i < N; i++)
        weights[i] = i > 0;
    const hn_sample sample = { .ids = ids, .weights = weights, .n = N, .n_supervised = N - 1 };
    const hn_objective_options o = { .max_tokens = N };
    hn_batch batch = hn_batch_on(&heap);
    hn_status status = hn_batch_add_sample(&batch, &sample);
    if (status == HN_OK)
        status = hn_evaluator_new(&e, &heap, m, NULL, NULL, on_all_devices(n_devices, devices), &o);
    if (status == HN_OK) {
        status = hn_evaluator_add(e, &batch, NULL, &sums);
        hn_evaluator_free(e);
    }
    hn_batch_free(&batch);
    return status;
}

static hn_status judge(const hn_model *m)
{
    hn_perplexity p;
    const hn_perplexity_options o = { .chunk = 16, .bos = -1 };
    return hn_perplexity_run(&heap, m, on_all_devices(n_devices, devices), ids, N, &o, &p);
}

static hn_status weigh(const hn_model *m)
{
    const hn_imatrix_options o = { .chunk = 16, .bos = -1, .dataset = "x" };
    return hn_imatrix_write(&heap, m, on_all_devices(n_devices, devices), ids, N, hn_sink_new(out), &o);
}

static hn_status encode(const char *type)
{
    hn_quantize_options o = { 0 };
    hn_watch watch = { 0 };
    HN_TRY(hn_recipe_named(type, &o.recipe));
    return hn_quantize(&heap, pool, bad, hn_sink_new(out), &o, &watch);
}

static void refused(const char *what, const char *tensor, hn_status status)
{
    CHECK_THAT(status == HN_ERR_NUMERIC && strstr(hn_error_message(), tensor), "%s: status %d: %s", what,
               (int)status, status == HN_OK ? "it worked" : hn_error_message());
    CHECK_THAT(access(out, F_OK) != 0, "%s left a file", what);
}

static int n_planted;

static void check_tensor(const char *tensor, float value)
{
    hn_model *m;
    if (!plant(tensor, value))
        return;
    n_planted++;
    if (CHECK_OK(hn_model_open(&heap, bad, NULL, &m))) {
        refused("a sequence", tensor, whole_sequence(m));
        refused("a session", tensor, generate(m));
        refused("who forgets", tensor, forget(m));
        refused("an evaluation", tensor, evaluate(m));
        refused("perplexity", tensor, judge(m));
        refused("imatrix", tensor, weigh(m));
        hn_model_close(m);
    }
    refused("q8_0", tensor, encode("q8_0"));
    refused("f32", tensor, encode("f32"));
}

/* Inputs that are finite, and whose squares come to more than the file's f32: it was written, and no quantiser took it. */
static void check_sums(void)
{
    hn_model *m;
    if (!plant("output_norm.weight", 1e25F) || !CHECK_OK(hn_model_open(&heap, bad, NULL, &m)))
        return;
    CHECK_OK(whole_sequence(m));
    refused("imatrix", "f32 cannot hold it", weigh(m));
    hn_model_close(m);
}

/* A token that nothing can follow, guessed and not drawn: a sequence without it goes on as if nothing was guessed. */
static void check_guess(void)
{
    static float want[1024];
    hn_model *m;
    hn_session *s;
    const hn_session_options o = { .n_ctx = 64, .max_ahead = 3 };
    if (!plant("token_embd.weight", NAN) || !CHECK_OK(hn_model_open(&heap, bad, NULL, &m)))
        return;
    const int64_t vocab = hn_model_hparams(m)->n_vocab;
    const int32_t guess[3] = { 7, (int32_t)(vocab / 2), 8 }, *fine = ids;
    const size_t bytes = (size_t)vocab * sizeof *want;
    if (CHECK(vocab <= 1024) && CHECK_OK(hn_session_new(&s, &heap, m, on_all_devices(n_devices, devices), &o))) {
        for (int i = 0; i < N; i++)
            CHECK(ids[i] != guess[1]);
        CHECK_OK(hn_session_sync(s, fine, N - 1, NULL));
        CHECK_OK(hn_session_sync(s, fine, N, NULL));
        memcpy(want, hn_session_logits(s), bytes);
        CHECK_OK(hn_session_sync(s, fine, N - 1, NULL));
        CHECK_OK(hn_session_sync_ahead(s, fine, N, guess, 3, NULL));
        CHECK(!memcmp(want, hn_session_logits(s), bytes));
        CHECK_INT(N, hn_session_length(s));
        refused("a guess that is drawn", "token_embd.weight", hn_session_sync(s, guess, 2, NULL));
        hn_session_free(s);
    }
    hn_model_close(m);
}

static void check_model(const char *name)
{
    static const char *const tensors[] = { "blk.0.attn_q.weight", "blk.1.attn_k.weight",
                                           "blk.1.ffn_down.weight", "blk.0.ffn_norm.weight",
                                           "blk.0.ffn_gate_inp.weight",
                                           "output_norm.weight" };
    char dir[400];
    hn_watch watch = { 0 };
    hn_convert_options o = { 0 };
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    path(whole, "whole");
    path(bad, "bad");
    path(out, "out");
    CHECK_OK(hn_recipe_named("f32", &o.recipe));
    if (CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_new(whole), &o, &watch)))
        for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
            check_tensor(tensors[i], NAN);
            check_tensor(tensors[i], INFINITY);
        }
    if (!strcmp(name, "llama")) {
        check_guess();
        check_sums();
    }
    check_cut();
    remove(whole);
    remove(bad);
    CHECK(n_planted >= 10);
}

int main(int argc, char **argv)
{
    const hn_device_options one = { .n_threads = 1 };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (int i = 0; i < N; i++)
        ids[i] = (i * 29 + 3) % 200;
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &one, &n_devices, devices)) && CHECK_OK(hn_pool_new(&heap, 1, &pool))) {
        check_model("llama");
        check_model("gemma2"); /* two soft caps */
        check_model("qwen3moe");
    }
    hn_pool_free(pool);
    hn_devices_close(n_devices, devices);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
