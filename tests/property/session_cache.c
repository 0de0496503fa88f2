/* One answer, whatever holds the keys: caches of every type, blocks that keep a window, another
 * cut, other threads and levels, a file in between: the bits of the whole sequence in that
 * type; for every architecture. And what fills beside: sequences packed into one run. */
#include "base/isa.h"
#include "infer/compiled.h"
#include "infer/forward.h"
#include "infer/session.h"
#include "tests/harness/check.h"
#include "tests/harness/random_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 200, N_PLACES = 5 };
static const int64_t places[N_PLACES] = { 1, 30, 100, 151, N }; /* where logits are compared */

static hn_heap heap;
static char file[128];

/* A model's layers lie on all of these: one, unless this test runs on a list (tests/far). */
typedef struct opened {
    hn_device *at[HN_MAX_DEVICES];
    int n;
} opened;

typedef struct subject {
    hn_model *model;
    opened one, three, levels[HN_N_LEVELS + 1];
    int n_levels;
    int64_t vocab;
    int32_t tokens[N];
    float *want[N_PLACES]; /* of the whole sequence, in the cache's type */
    hn_dtype cache;
    hn_numerics numerics;
} subject;

static hn_run_spec on(const opened *devices, hn_numerics numerics)
{
    return (hn_run_spec){ .n_devices = devices->n, .devices = devices->at, .numerics = numerics };
}

static void check_same(const char *what, int64_t at, const float *want, const float *got,
                       int64_t n)
{
    CHECK_THAT(got && !memcmp(want, got, (size_t)n * sizeof *got), "%s: token %lld: other bits",
               what, (long long)at);
}

/* What every session is compared with; then the same in other memory. */
static bool run_whole(subject *s)
{
    static const char *const plans[] = { "inplace", "separate", "reuse", "poison" };
    bool fine = true;
    for (int k = 0; k < 4 && fine; k++) {
        hn_forward *forward;
        hn_tensor t;
        const hn_forward_options o = {
            .max_tokens = N, .cache = s->cache, .plan = plans[k]
        };
        if (!CHECK_OK(hn_forward_new(&forward, &heap, s->model, on(k % 2 ? &s->three : &s->one, s->numerics), &o)))
            return false;
        fine = CHECK_OK(hn_forward_run(forward, s->tokens, N, NULL)) &&
               CHECK_OK(hn_forward_logits(forward, &t));
        for (int i = 0; i < N_PLACES && fine; i++) {
            const float *got = (const float *)t.data + (places[i] - 1) * s->vocab;
            if (k)
                check_same(plans[k], places[i], s->want[i], got, s->vocab);
            else
                memcpy(s->want[i], got, (size_t)s->vocab * sizeof *got);
        }
        hn_forward_free(forward);
    }
    return fine;
}

static void check_place(const subject *s, const char *what, hn_session *session, int i)
{
    if (CHECK_OK(hn_session_sync(session, s->tokens, places[i], NULL)))
        check_same(what, places[i], s->want[i], hn_session_logits(session), s->vocab);
}

static void check_session(const subject *s, const char *what, const opened *devices,
                          const hn_session_options *o)
{
    hn_session *session;
    if (!CHECK_OK(hn_session_new(&session, &heap, s->model, on(devices, s->numerics), o)))
        return;
    const int64_t calls = heap.n_calls;
    for (int i = 0; i < N_PLACES; i++)
        check_place(s, what, session, i);
    int32_t other[N];
    memcpy(other, s->tokens, sizeof other);
    for (int64_t back = 3; back < N; back *= 4) { /* a little, and beyond any window */
        other[N - back] = s->tokens[N - back] == 5 ? 6 : 5;
        if (CHECK_OK(hn_session_sync(session, other, N, NULL)))
            check_place(s, "after going back", session, N_PLACES - 1);
    }
    for (int i = N_PLACES - 1; i >= 0; i--)
        check_place(s, "shorter again", session, i);
    CHECK_INT(calls, heap.n_calls);
    hn_session_free(session);
}

static void count(void *context, double done)
{
    (void)done;
    ++*(int64_t *)context;
}

/* Steps of the model that bring a session here. */
static int64_t steps_to(const subject *s, hn_session *session, int i)
{
    int64_t steps = 0;
    const hn_run_options run = { .progress = count, .progress_context = &steps };
    if (CHECK_OK(hn_session_sync(session, s->tokens, places[i], &run)))
        check_same("after a file", places[i], s->want[i], hn_session_logits(session), s->vocab);
    return steps;
}

/* Saved by one kind of session, taken over by another. */
static void check_file(const subject *s, const hn_session_options *writer,
                       const hn_session_options *reader)
{
    hn_session *first, *second;
    remove(file);
    if (!CHECK_OK(hn_session_new(&first, &heap, s->model, on(&s->one, s->numerics), writer)))
        return;
    check_place(s, "before a file", first, 3);
    CHECK_OK(hn_session_save(first, file));
    hn_session_free(first);
    if (!CHECK_OK(hn_session_new(&second, &heap, s->model, on(&s->three, s->numerics), reader)))
        return;
    const int64_t all = steps_to(s, second, N_PLACES - 1);
    if (CHECK_OK(hn_session_restore(second, file))) {
        CHECK_INT(places[3], hn_session_length(second));
        const int64_t rest = steps_to(s, second, N_PLACES - 1);
        CHECK_THAT(rest * 2 < all, "%lld steps after the file, %lld without", (long long)rest,
                   (long long)all);
    }
    hn_session_free(second);
}

static void check_damage(const subject *s, const hn_session_options *o)
{
    hn_session *session;
    FILE *f = fopen(file, "r+b");
    if (!CHECK(f != NULL) || !CHECK_OK(hn_session_new(&session, &heap, s->model, on(&s->one, s->numerics), o)))
        return;
    check_place(s, "before damage", session, 1);
    fseek(f, -9, SEEK_END);
    const int byte = fgetc(f);
    fseek(f, -9, SEEK_END);
    fputc(byte ^ 1, f);
    fclose(f);
    CHECK_FAILS(hn_session_restore(session, file), HN_ERR_FORMAT, "SHA-256");
    CHECK_INT(places[1], hn_session_length(session));
    check_place(s, "after damage", session, 2);
    hn_session_free(session);
    hn_session_options other = *o;
    other.cache = o->cache == HN_F16 ? HN_BF16 : HN_F16;
    if (CHECK_OK(hn_session_new(&session, &heap, s->model, on(&s->one, s->numerics), &other))) {
        CHECK_FAILS(hn_session_restore(session, file), HN_ERR_FORMAT, "cache");
        hn_session_free(session);
    }
    other = (hn_session_options){ .n_ctx = 100, .cache = o->cache };
    if (CHECK_OK(hn_session_new(&session, &heap, s->model, on(&s->one, s->numerics), &other))) {
        CHECK_FAILS(hn_session_restore(session, file), HN_ERR_ARGUMENT, "151 tokens");
        hn_session_free(session);
    }
}

static void check_cache(subject *s, hn_dtype cache)
{
    s->cache = cache;
    if (!run_whole(s))
        return;
    const hn_session_options whole = {
        .n_ctx = 256, .cache = cache, .keeps_all = true
    };
    const hn_session_options ring = {
        .n_ctx = 256, .max_batch = 9, .cache = cache
    };
    const hn_session_options single = {
        .n_ctx = 256, .max_batch = 1, .cache = cache
    };
    const hn_session_options wide = {
        .n_ctx = 256, .max_batch = 70, .cache = cache
    };
    check_session(s, "at once", &s->one, &whole);
    check_session(s, "pieces of 9", &s->three, &ring);
    check_session(s, "token by token", &s->one, &single);
    for (int i = 0; i < s->n_levels; i++)
        check_session(s, "another level", &s->levels[i], &wide);
    check_file(s, &ring, &wide);
    check_file(s, &wide, &single);
    check_file(s, &whole, &ring);
    const hn_session_options linear = { .n_ctx = 256,
                                        .max_batch = 30,
                                        .cache = cache,
                                        .keeps_all = true };
    check_file(s, &ring, &linear);
    check_damage(s, &ring);
}

/* Of layers with a window the cache holds as much for any context. */
static void check_sizes(const subject *s, bool all_slide)
{
    hn_session_sizes small, large, all;
    hn_session_options o = { .n_ctx = 128, .max_batch = 9 };
    CHECK_OK(hn_session_measure(&heap, s->model, on(&s->one, HN_NUMERICS_F32), &o, &small));
    o.n_ctx = 256;
    CHECK_OK(hn_session_measure(&heap, s->model, on(&s->one, HN_NUMERICS_F32), &o, &large));
    o.keeps_all = true;
    CHECK_OK(hn_session_measure(&heap, s->model, on(&s->one, HN_NUMERICS_F32), &o, &all));
    const bool slides = hn_model_hparams(s->model)->window > 0;
    CHECK_INT(slides, large.cache < all.cache);
    CHECK_INT(all_slide, small.cache == large.cache);
    hn_session *session;
    if (CHECK_OK(hn_session_new(&session, &heap, s->model, on(&s->one, HN_NUMERICS_F32), &o))) {
        CHECK_INT((int64_t)all.cache, (int64_t)hn_session_cache_bytes(session));
        CHECK_INT((int64_t)all.workspace, (int64_t)hn_session_workspace(session));
        hn_session_free(session);
    }
}

/* What going back costs is known before. */
static void check_known(const subject *s)
{
    hn_session *session;
    int32_t other[N];
    const bool slides = hn_model_hparams(s->model)->window > 0;
    if (!CHECK_OK(hn_session_new(&session, &heap, s->model, on(&s->one, HN_NUMERICS_F32),
                                 &(hn_session_options){ .n_ctx = 256, .max_batch = 9 })))
        return;
    CHECK_INT(0, hn_session_known(session, s->tokens, N));
    if (CHECK_OK(hn_session_sync(session, s->tokens, N, NULL))) {
        CHECK_INT(N - 1, hn_session_known(session, s->tokens, N));
        CHECK_INT(N - 6, hn_session_known(session, s->tokens, N - 5));
        memcpy(other, s->tokens, sizeof other);
        other[20] = s->tokens[20] == 5 ? 6 : 5;
        CHECK_INT(slides ? 0 : 20, hn_session_known(session, other, N));
        CHECK_INT(0, hn_session_known(session, other, 0));
    }
    hn_session_free(session);
}

/* Two sequences in one run: neither sees the other. */
static void check_neighbours(const subject *s)
{
    enum { A = 37, B = 60 };
    hn_compiled c = { 0 };
    hn_forward *alone;
    hn_tensor t;
    static int32_t tokens[A + B], positions[A + B], segments[A + B];
    const nn_build_options o = { .max_tokens = A + B, .numerics = s->numerics };
    for (int i = 0; i < A + B; i++) {
        tokens[i] = s->tokens[i < A ? i + 70 : i - A];
        positions[i] = i < A ? i : i - A;
        segments[i] = i < A ? 4 : 9;
    }
    bool fine = CHECK_OK(hn_compiled_build(&c, &heap, s->model, on(&s->three, HN_NUMERICS_F32), &o)) &&
                CHECK_OK(hn_compiled_plan(&c, 1, &c.result, NULL)) &&
                CHECK_OK(hn_storage_bind(c.storage, c.build.tokens->leaf, tokens, hn_type_bytes(&c.build.tokens->leaf->type))) &&
                CHECK_OK(hn_storage_bind(c.storage, c.build.positions->leaf, positions, hn_type_bytes(&c.build.positions->leaf->type))) &&
                CHECK_OK(hn_storage_bind(c.storage, c.build.segments->leaf, segments, hn_type_bytes(&c.build.segments->leaf->type))) &&
                CHECK_OK(hn_compiled_finish(&c)) && CHECK_OK(hn_program_run(c.program, NULL)) &&
                CHECK_OK(hn_program_result(c.program, 0, &t));
    const hn_forward_options f = { .max_tokens = B };
    if (fine && CHECK_OK(hn_forward_new(&alone, &heap, s->model, on(&s->one, s->numerics), &f))) {
        hn_tensor own;
        for (int part = 0; part < 2; part++)
            if (CHECK_OK(
                    hn_forward_run(alone, part ? tokens + A : tokens, part ? B : A, NULL)) &&
                CHECK_OK(hn_forward_logits(alone, &own)))
                check_same(part ? "second of two" : "first of two", 0, own.data,
                           (const float *)t.data + (part ? A * s->vocab : 0),
                           (part ? B : A) * s->vocab);
        hn_forward_free(alone);
    }
    hn_compiled_free(&c);
}

static bool open_devices(opened *devices, int n_threads, const char *isa)
{
    const hn_device_options o = { .n_threads = n_threads, .isa = isa };
    *devices = (opened){ 0 };
    return hn_devices_open(&heap, "cpu", &o, &devices->n, devices->at) == HN_OK;
}

static void close_devices(opened *devices) { hn_devices_close(devices->n, devices->at); }

static void with_devices(subject *s, void (*check)(subject *s, bool flag), bool flag)
{
    s->vocab = hn_model_hparams(s->model)->n_vocab;
    for (int64_t i = 0; i < N; i++)
        s->tokens[i] = (int32_t)(3 + (i * i * 11 + i * 5) % (s->vocab - 3));
    for (int i = 0; i < N_PLACES; i++)
        s->want[i] = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)s->vocab, sizeof(float));
    const bool is_open = open_devices(&s->one, 1, NULL) && open_devices(&s->three, 3, NULL);
    for (int i = -1; i < HN_N_LEVELS; i++) /* those that this processor has */
        if (open_devices(&s->levels[s->n_levels], 1, i < 0 ? "ref" : hn_isa_level(i).name))
            s->n_levels++;
    if (CHECK(is_open && s->n_levels >= 1))
        check(s, flag);
    close_devices(&s->one);
    close_devices(&s->three);
    for (int i = 0; i < s->n_levels; i++)
        close_devices(&s->levels[i]);
    for (int i = 0; i < N_PLACES; i++)
        hn_free(&heap, s->want[i]);
    hn_model_close(s->model);
}

static void check_plain(subject *s, bool all_slide)
{
    check_sizes(s, all_slide);
    check_known(s);
    check_neighbours(s);
    check_cache(s, HN_F32);
    check_cache(s, HN_F16);
    check_cache(s, HN_BF16);
    if (!hn_model_arch(s->model)->has_bf16)
        return;
    s->numerics = HN_NUMERICS_BF16;
    check_neighbours(s);
    check_cache(s, HN_BF16);
}

static void check_blocks(subject *s, bool flag)
{
    (void)flag;
    check_cache(s, HN_TYPE_q8_0);
    check_cache(s, HN_TYPE_q4_0);
}

static void check_committed(const char *name)
{
    subject s = { 0 };
    char dir[512];
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    if (CHECK_OK(hn_model_open(&heap, dir, NULL, &s.model)))
        with_devices(&s, check_plain, !strcmp(name, "mistral"));
}

static void check_random_by(const char *arch, const char *keys, void (*check)(subject *s, bool flag), bool flag)
{
    subject s = { 0 };
    check_group(arch);
    if (CHECK_OK(random_model_open(&heap, arch, keys, 5, &s.model)))
        with_devices(&s, check, flag);
}

/* Heads of the committed models are narrower than a block. */
static void check_random(const char *arch, const char *keys)
{
    check_random_by(arch, keys, check_blocks, false);
}

static void check_refusals(void)
{
    hn_model *model;
    hn_session *session;
    opened devices;
    char dir[512];
    snprintf(dir, sizeof dir, "%s/tests/differential/models/llama", HN_SOURCE_DIR);
    check_group("refusals");
    if (CHECK(open_devices(&devices, 1, NULL)) && CHECK_OK(hn_model_open(&heap, dir, NULL, &model))) {
        CHECK_FAILS(hn_session_new(&session, &heap, model, on(&devices, HN_NUMERICS_F32),
                                   &(hn_session_options){ .cache = HN_TYPE_q4_k }),
                    HN_ERR_UNSUPPORTED, "a cache of q4_k");
        CHECK_FAILS(hn_session_new(&session, &heap, model, on(&devices, HN_NUMERICS_F32),
                                   &(hn_session_options){ .cache = HN_TYPE_q8_0 }),
                    HN_ERR_SHAPE, "cache_k");
        hn_model_close(model);
    }
    close_devices(&devices);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "llama",    "mistral",    "mixtral-top4", "qwen2",
                                         "qwen3",    "qwen3moe",   "gemma2",       "gemma3",
                                         "gemma4-e", "gemma4-moe", "gemma4-dense", "gpt-oss",
                                         "smollm3",  "granite", "gemma3n",
                                         "olmoe",    "granitemoe-shared", "deepseek-v2" };
    const char *dir = getenv("TMPDIR");
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    snprintf(file, sizeof file, "%.80s/hone-session-%d.gguf", dir ? dir : "/tmp",
             (int)getpid());
    const bool is_quick = check_flag("--quick"); /* every third: mistral, qwen3, gemma3, gemma4-dense, granite */
    for (size_t i = is_quick; i < sizeof names / sizeof *names; i += is_quick ? 3 : 1)
        check_committed(names[i]);
    if (!is_quick) {
        check_random_by("phi3", "embedding_length=128 attention.sliding_window=20", check_plain, true); /* the committed ones are longrope: 64 tokens */
        check_random_by("phi3", "embedding_length=128", check_plain, false);
        check_random("llama", "");
        check_random("qwen3", "attention.head_count_kv=4");
    }
    check_random("gemma3", "attention.sliding_window=20 block_count=6");
    check_random("gemma4",
                 "attention.sliding_window=20 block_count=6 attention.key_length_swa=32 "
                 "attention.key_length=64 attention.value_length=64");
    check_random("gpt-oss", "attention.sliding_window=20 expert_count=4 expert_used_count=2 "
                            "expert_feed_forward_length=64");
    check_random("gpt2", "embedding_length=128");
    check_refusals();
    remove(file);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
