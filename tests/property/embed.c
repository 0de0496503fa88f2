/* A text's vector is one answer: whatever threads, instruction set, room and texts before, and in every numerics, the state of a
 * text's last token has the bits that a session has after the same tokens, however it was fed; and pooling is of those of all.
 * Adapters change it as the same changes in the weights do, of models that generate and of those that embed only. */
#include "infer/embed.h"

#include "convert/convert.h"
#include "infer/session.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/random_adapter.h"
#include "tests/harness/random_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_TOKENS = 40, MOST_WIDTH = 128 };

static hn_heap heap;

typedef struct subject {
    hn_model *model;
    int n_devices;
    hn_device *one[HN_MAX_DEVICES], *three[HN_MAX_DEVICES]; /* by their threads */
    int32_t tokens[N_TOKENS];
    int64_t width;
} subject;

static hn_run_spec run_on(const subject *s, hn_device *const *devices, hn_numerics numerics)
{
    hn_run_spec run = on_all_devices(s->n_devices, devices);
    run.numerics = numerics;
    return run;
}

/* After another text, which is nothing to it. */
static bool embed(const subject *s, hn_run_spec run, const hn_embedder_options *o, float *vector)
{
    hn_embedder *e;
    if (!CHECK_OK(hn_embedder_new(&e, &heap, s->model, NULL, run, o)))
        return false;
    const bool is_well = CHECK_OK(hn_embedder_run_ids(e, s->tokens + 3, 7, NULL, vector)) &&
                         CHECK_OK(hn_embedder_run_ids(e, s->tokens, N_TOKENS, NULL, vector));
    hn_embedder_free(e);
    return is_well;
}

static void check_same(const subject *s, const char *what, const float *want, const float *got)
{
    CHECK_THAT(got && !memcmp(want, got, (size_t)s->width * sizeof *got), "%s: other bits", what);
}

/* One token after the other: each state is what pooling takes. */
static void check_pooling(const subject *s, hn_session *session, hn_run_spec run)
{
    static double sums[MOST_WIDTH];
    float first[MOST_WIDTH], mean[MOST_WIDTH], got[MOST_WIDTH];
    memset(sums, 0, sizeof sums);
    for (int64_t n = 1; n <= N_TOKENS; n++) {
        if (!CHECK_OK(hn_session_sync(session, s->tokens, n, NULL)))
            return;
        const float *state = hn_session_state(session);
        for (int64_t i = 0; i < s->width; i++)
            sums[i] += (double)state[i];
        if (n == 1)
            memcpy(first, state, (size_t)s->width * sizeof *first);
    }
    for (int64_t i = 0; i < s->width; i++)
        mean[i] = (float)(sums[i] / N_TOKENS);
    if (embed(s, run, &(hn_embedder_options){ .pooling = "cls", .context = N_TOKENS }, got))
        check_same(s, "the first state", first, got);
    if (embed(s, run, &(hn_embedder_options){ .pooling = "mean", .context = N_TOKENS }, got))
        check_same(s, "the mean of all states", mean, got);
}

static void check_session(const subject *s, hn_run_spec run, const float *want)
{
    hn_session *session, *without;
    const hn_session_options o = { .n_ctx = 64, .max_batch = 16, .max_ahead = 2, .packs = true, .keeps_state = true };
    const hn_session_options plain = { .n_ctx = 64 };
    if (!CHECK_OK(hn_session_new(&session, &heap, s->model, run, &o)))
        return;
    CHECK(!hn_session_state(session));
    if (CHECK_OK(hn_session_sync(session, s->tokens, 9, NULL)) && CHECK_OK(hn_session_sync(session, s->tokens, N_TOKENS, NULL)))
        check_same(s, "a session's state", want, hn_session_state(session));
    if (CHECK_OK(hn_session_sync_ahead(session, s->tokens, N_TOKENS - 2, s->tokens + N_TOKENS - 2, 2, NULL)) &&
        CHECK_OK(hn_session_sync(session, s->tokens, N_TOKENS, NULL)))
        check_same(s, "a session's state that was guessed", want, hn_session_state(session));
    if (CHECK_OK(hn_session_new(&without, &heap, s->model, run, &plain))) {
        if (CHECK_OK(hn_session_sync(without, s->tokens, N_TOKENS, NULL)))
            CHECK_THAT(!memcmp(hn_session_logits(session), hn_session_logits(without),
                               (size_t)hn_model_hparams(s->model)->n_vocab * sizeof(float)),
                       "keeping the state changes logits");
        CHECK(!hn_session_state(without));
        hn_session_free(without);
    }
    check_pooling(s, session, run);
    hn_session_free(session);
}

static void check_levels(const subject *s, hn_numerics numerics, const float *want)
{
    hn_isa available;
    float got[MOST_WIDTH];
    if (!CHECK_OK(hn_isa_available(&available)))
        return;
    for (int i = -1; i < HN_N_LEVELS; i++) {
        const char *name = i < 0 ? "ref" : hn_isa_level(i).name;
        const hn_device_options open = { .n_threads = 2, .isa = name };
        subject at = *s;
        if ((i >= 0 && !(available & hn_isa_level(i).bit)) || !CHECK_OK(hn_devices_open(&heap, "cpu", &open, &at.n_devices, at.one)))
            continue;
        if (embed(&at, run_on(&at, at.one, numerics), &(hn_embedder_options){ .pooling = "lasttoken", .context = N_TOKENS }, got))
            check_same(s, name, want, got);
        hn_devices_close(at.n_devices, at.one);
    }
}

static void check_numerics(const subject *s, hn_numerics numerics)
{
    float want[MOST_WIDTH], got[MOST_WIDTH];
    const hn_run_spec one = run_on(s, s->one, numerics), three = run_on(s, s->three, numerics);
    if (!embed(s, one, &(hn_embedder_options){ .pooling = "lasttoken", .context = N_TOKENS }, want))
        return;
    if (embed(s, three, &(hn_embedder_options){ .pooling = "lasttoken", .context = 60 }, got))
        check_same(s, "three threads, and more room", want, got);
    check_session(s, three, want);
    check_levels(s, numerics, want);
}

static bool open_devices(subject *s)
{
    int n;
    const hn_device_options one = { .n_threads = 1 }, three = { .n_threads = 3 };
    s->width = hn_model_hparams(s->model)->width;
    const int64_t vocab = hn_model_hparams(s->model)->n_vocab;
    for (int64_t i = 0; i < N_TOKENS; i++)
        s->tokens[i] = (int32_t)(3 + (i * i * 11 + i * 5) % (vocab - 3));
    if (!CHECK(s->width <= MOST_WIDTH) || !CHECK_OK(hn_devices_open(&heap, "cpu", &one, &s->n_devices, s->one)))
        return false;
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &three, &n, s->three)))
        return true;
    hn_devices_close(s->n_devices, s->one);
    return false;
}

static void close_subject(subject *s)
{
    hn_devices_close(s->n_devices, s->one);
    hn_devices_close(s->n_devices, s->three);
    hn_model_close(s->model);
}

static bool open_named(subject *s, const char *name)
{
    char dir[512];
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    if (!CHECK_OK(hn_model_open(&heap, dir, NULL, &s->model)))
        return false;
    if (open_devices(s))
        return true;
    hn_model_close(s->model);
    return false;
}

static void check_model(const char *name)
{
    subject s = { 0 };
    if (!open_named(&s, name))
        return;
    check_numerics(&s, HN_NUMERICS_F32);
    if (hn_model_arch(s.model)->has_bf16)
        check_numerics(&s, HN_NUMERICS_BF16);
    check_numerics(&s, HN_NUMERICS_MIXED);
    close_subject(&s);
}

static void check_whole_numbers(const char *arch, const char *keys)
{
    subject s = { 0 };
    check_group(arch);
    if (!CHECK_OK(random_model_open(&heap, arch, keys, 7, &s.model)))
        return;
    if (open_devices(&s)) {
        check_numerics(&s, HN_NUMERICS_INT8);
        close_subject(&s);
    } else {
        hn_model_close(s.model);
    }
}

/* ---- adapters ---- */

/* Of one matrix: rows are changed by B A, or where that is an embedding's by A B. */
enum { RANK = 3 };

typedef struct change {
    const char *tensor;
    int64_t n, k;
    float *a, *b; /* [RANK, k] and [n, RANK]; of an embedding [n, RANK] and [k, RANK] */
} change;

static hn_status write_change(const hn_model *model, const change *c, const char *path)
{
    char names[2][96];
    const bool is_embedding = !strcmp(c->tensor, "token_embd.weight");
    hn_weight_entry entries[2] = { { .name = names[0] }, { .name = names[1] } };
    const int64_t a[2] = { is_embedding ? c->n : RANK, is_embedding ? RANK : c->k };
    const int64_t b[2] = { is_embedding ? c->k : c->n, RANK };
    for (int i = 0; i < 2; i++)
        snprintf(names[i], sizeof names[i], "%s.lora_%c", c->tensor, i ? 'b' : 'a');
    HN_TRY(hn_type_make(&entries[0].type, HN_F32, 2, a));
    HN_TRY(hn_type_make(&entries[1].type, HN_F32, 2, b));
    hn_weights_writer *writer;
    HN_TRY(adapter_file_begin(&writer, &heap, model, path, entries, 2));
    hn_status status = hn_weights_writer_put(writer, 0, 0, c->a, hn_type_bytes(&entries[0].type));
    if (status == HN_OK)
        status = hn_weights_writer_put(writer, 1, 0, c->b, hn_type_bytes(&entries[1].type));
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

/* The matrix, where its bytes lie in the model's file, with the change in it. */
static bool merge_by_hand(const hn_model *model, const change *c, const char *path)
{
    const nn_weight *w = hn_model_find(model, c->tensor);
    const size_t n = (size_t)(c->n * c->k) * sizeof(float);
    const bool is_embedding = !strcmp(c->tensor, "token_embd.weight");
    float *to = hn_alloc(&heap, HN_TAG_FILE, n);
    FILE *f = fopen(path, "r+b");
    bool is_well = CHECK(to && f && w->type.dtype == HN_F32);
    memcpy(to, w->data, n);
    long at = 0; /* tensors lie at multiples of 32 */
    for (unsigned char here[64]; is_well && fseek(f, at, SEEK_SET) == 0 && fread(here, 1, sizeof here, f) == sizeof here; at += 32)
        if (!memcmp(here, to, sizeof here))
            break;
    for (int64_t i = 0; is_well && i < c->n; i++)
        for (int64_t j = 0; j < c->k; j++) {
            double sum = (double)to[i * c->k + j];
            for (int64_t r = 0; r < RANK; r++)
                sum += is_embedding ? (double)c->a[i * RANK + r] * (double)c->b[j * RANK + r]
                                    : (double)c->b[i * RANK + r] * (double)c->a[r * c->k + j];
            to[i * c->k + j] = (float)sum;
        }
    is_well = is_well && CHECK(fseek(f, at, SEEK_SET) == 0 && fwrite(to, 1, n, f) == n);
    if (f)
        is_well = CHECK_INT(0, fclose(f)) && is_well;
    hn_free(&heap, to);
    return is_well;
}

static double distance(const float *a, const float *b, int64_t n)
{
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        error += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        size += (double)a[i] * (double)a[i];
    }
    return sqrt(error / size);
}

static void compare_adapted(subject *s, const char *adapter_path, const char *merged_path)
{
    hn_adapter *adapter;
    hn_adapters all = { 0 };
    float plain[MOST_WIDTH], adapted[MOST_WIDTH], merged[MOST_WIDTH];
    const hn_run_spec run = run_on(s, s->three, HN_NUMERICS_F32);
    const hn_adapter_use use = { .model = s->model, .run = run };
    const hn_embedder_options o = { .pooling = "mean", .context = N_TOKENS };
    hn_embedder_options with = o;
    with.adapters = &all;
    if (!CHECK_OK(hn_adapter_open(&adapter, &heap, adapter_path, &use, NULL)))
        return;
    if (!CHECK_OK(hn_adapters_add(&all, adapter))) {
        hn_adapter_close(adapter);
        return;
    }
    subject other = *s;
    if (embed(s, run, &o, plain) && embed(s, run, &with, adapted) && CHECK_OK(hn_model_open(&heap, merged_path, NULL, &other.model))) {
        if (embed(&other, run, &o, merged)) {
            CHECK_THAT(distance(merged, adapted, s->width) < 1e-5, "at %.3g from the merged model", distance(merged, adapted, s->width));
            CHECK_THAT(distance(plain, adapted, s->width) > 1e-3, "at %.3g from no adapter", distance(plain, adapted, s->width));
        }
        hn_model_close(other.model);
    }
    hn_adapters_close(&all);
}

static void check_adapter(const char *arch, const char *tensor)
{
    subject s = { 0 };
    char name[96], path[] = "/tmp/hone-embed-adapter-XXXXXX", merged[] = "/tmp/hone-embed-merged-XXXXXX";
    const int files[2] = { mkstemp(path), mkstemp(merged) };
    close(files[0]), close(files[1]); /* what is open cannot be replaced everywhere */
    snprintf(name, sizeof name, "%s, %s", arch, tensor);
    check_group(name);
    char dir[512];
    hn_pool *pool = NULL;
    hn_convert_options options = { 0 };
    hn_watch watch = { 0 };
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, arch);
    if (CHECK(files[0] >= 0 && files[1] >= 0) && CHECK_OK(hn_pool_new(&heap, 1, &pool)) &&
        CHECK_OK(hn_recipe_named("f32", &options.recipe)) &&
        CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_own(merged), &options, &watch)) &&
        CHECK_OK(hn_model_open(&heap, merged, NULL, &s.model)) && open_devices(&s)) {
        const hn_type *type = &hn_model_find(s.model, tensor)->type;
        change c = { tensor, type->dim[0], type->dim[1], NULL, NULL };
        const int64_t n = (c.n + c.k) * RANK;
        c.a = hn_alloc_array(&heap, HN_TAG_FILE, (size_t)n, sizeof *c.a);
        for (int64_t i = 0; c.a && i < n; i++)
            c.a[i] = (float)((i * i * 37 + i * 11) % 101 - 50) / 100;
        c.b = c.a + (strcmp(tensor, "token_embd.weight") ? RANK * c.k : c.n * RANK);
        if (CHECK(c.a) && CHECK_OK(write_change(s.model, &c, path))) {
            /* the model that the adapter is for stays as it was */
            hn_model *base;
            char base_path[] = "/tmp/hone-embed-base-XXXXXX";
            const int base_file = mkstemp(base_path);
            if (CHECK(base_file >= 0) && CHECK_INT(0, close(base_file)) &&
                CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_own(base_path), &options, &watch)) &&
                CHECK_OK(hn_model_open(&heap, base_path, NULL, &base))) {
                hn_model_close(s.model); /* which is of the file that is written to */
                s.model = base;
                if (merge_by_hand(base, &c, merged))
                    compare_adapted(&s, path, merged);
            }
            unlink(base_path);
        }
        hn_free(&heap, c.a);
        close_subject(&s);
    }
    hn_pool_free(pool);
    unlink(path);
    unlink(merged);
}

/* Adapters of all matrices: the session has them too. */
static void check_adapted_session(const char *name, bool experts)
{
    subject s = { 0 };
    hn_adapter *adapter;
    hn_adapters all = { 0 };
    hn_session *session;
    float want[MOST_WIDTH];
    if (!open_named(&s, name))
        return;
    const hn_run_spec run = run_on(&s, s.three, HN_NUMERICS_F32);
    if (CHECK_OK(random_adapter_open(&heap, s.model, run, 4, experts, NULL, 5, &adapter)) && CHECK_OK(hn_adapters_add(&all, adapter))) {
        const hn_embedder_options o = { .pooling = "lasttoken", .context = N_TOKENS, .adapters = &all };
        const hn_session_options so = { .n_ctx = 64, .keeps_state = true, .adapters = &all };
        if (embed(&s, run, &o, want) && CHECK_OK(hn_session_new(&session, &heap, s.model, run, &so))) {
            if (CHECK_OK(hn_session_sync(session, s.tokens, N_TOKENS, NULL)))
                check_same(&s, "a session with the adapter", want, hn_session_state(session));
            hn_session_free(session);
        }
    }
    hn_adapters_close(&all);
    close_subject(&s);
}

/* What would pass for applied, and is not. */
static void check_refused(void)
{
    subject s = { 0 };
    hn_adapter *adapter;
    hn_adapters all = { 0 };
    hn_embedder *e;
    if (open_named(&s, "bert")) {
        const hn_run_spec run = run_on(&s, s.one, HN_NUMERICS_F32);
        if (CHECK_OK(random_adapter_open(&heap, s.model, run, 2, false, "position_embd.weight", 5, &adapter)) &&
            CHECK_OK(hn_adapters_add(&all, adapter)))
            CHECK_FAILS(hn_embedder_new(&e, &heap, s.model, NULL, run, &(hn_embedder_options){ .adapters = &all }), HN_ERR_UNSUPPORTED,
                        "an adapter of position_embd.weight");
        hn_adapters_close(&all);
        close_subject(&s);
    }
    if (open_named(&s, "qwen3")) {
        const hn_run_spec run = run_on(&s, s.one, HN_NUMERICS_F32);
        CHECK_FAILS(hn_embedder_new(&e, &heap, s.model, NULL, run, &(hn_embedder_options){ 0 }), HN_ERR_ARGUMENT,
                    "says no pooling: expected one of cls, max, mean");
        CHECK_FAILS(hn_embedder_new(&e, &heap, s.model, NULL, run, &(hn_embedder_options){ .pooling = "last", .context = 9 }),
                    HN_ERR_ARGUMENT, "pooling last: expected");
        CHECK_FAILS(hn_embedder_new(&e, &heap, s.model, NULL, run, &(hn_embedder_options){ .pooling = "mean", .context = 257 }),
                    HN_ERR_ARGUMENT, "a context of 257 tokens: the model was made for 256");
        close_subject(&s);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "llama", "llama-tied", "mistral", "mixtral", "qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3",
                                         "gemma4-e", "gemma4-moe", "gpt-oss", "smollm3", "granite", "gpt2", "gemma3n",
                                         "olmoe", "granitemoe-shared", "phi3", "phi4-mini", "deepseek-v3" };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_model(names[i]);
    check_whole_numbers("llama", "weights=q8_0");
    check_whole_numbers("qwen3", "weights=q4_0");
    check_adapter("llama", "blk.1.ffn_down.weight");
    check_adapter("llama-tied", "token_embd.weight");
    check_adapter("bert", "blk.0.attn_v.weight");
    check_adapter("bert", "token_embd.weight");
    check_adapted_session("llama", false);
    check_adapted_session("qwen3moe", true);
    check_refused();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
