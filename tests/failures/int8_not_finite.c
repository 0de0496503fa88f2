/* NON-FINITE IN WHOLE NUMBERS: int8 has no code for nan and infinity, and what it made of them looked like numbers. A row of
 * what goes into a product that is not finite ends the step, by tensor and row, at every level, and nothing of it is handed out. */
#include "base/isa.h"
#include "convert/convert.h"
#include "convert/quantize.h"
#include "infer/perplexity.h"
#include "infer/session.h"
#include "io/gguf.h"
#include "io/weights_writer.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 32, VICTIM = 21 };

static hn_heap heap;
static hn_pool *pool;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static char whole[160], eighth[160], bad[160];
static int32_t ids[N];

static void path(char to[160], const char *name)
{
    const char *dir = getenv("TMPDIR");
    snprintf(to, 160, "%.90s/hone-int8-%d-%s.gguf", dir ? dir : "/tmp", (int)getpid(), name);
    remove(to);
}

/* In row `row`: an element of a float, the scale of a block (q8_0 begins with its f16). */
static void spoil(const hn_type *type, uint8_t *data, int64_t row, float value)
{
    const hn_tensor t = hn_tensor_at(type, data);
    const int64_t n = hn_last_dim(type);
    if (!hn_is_block(type->dtype)) {
        hn_set(&t, row * n + n / 2, (double)value);
        return;
    }
    const uint16_t half = isnan(value) ? 0x7e00 : value > 0 ? 0x7c00 : 0xfc00;
    memcpy(data + (size_t)(row * n / hn_dtype_block(type->dtype)) * hn_dtype_bytes(type->dtype), &half, sizeof half);
}

static bool plant(const char *name, int64_t row, float value)
{
    hn_gguf *file;
    hn_weights_writer *writer;
    if (!CHECK_OK(hn_gguf_open(&heap, eighth, &file)))
        return false;
    const hn_weights *all = hn_gguf_weights(file);
    remove(bad);
    if (!hn_weights_find(all, name)) { /* a mixture has its experts' instead */
        hn_gguf_close(file);
        return false;
    }
    bool ok = CHECK_OK(hn_gguf_create(&heap, hn_sink_new(bad), hn_gguf_meta(file), all->entries, all->n, &writer));
    for (size_t i = 0; ok && i < all->n; i++) {
        const hn_weight_entry *e = &all->entries[i];
        uint8_t *copy = hn_alloc(&heap, HN_TAG_FILE, (size_t)e->bytes);
        memcpy(copy, e->data, (size_t)e->bytes);
        if (!strcmp(e->name, name))
            spoil(&e->type, copy, row, value);
        ok = CHECK_OK(hn_weights_writer_put(writer, i, 0, copy, (size_t)e->bytes));
        hn_free(&heap, copy);
    }
    if (ok)
        ok = CHECK_OK(hn_weights_writer_finish(writer));
    hn_gguf_close(file);
    return ok;
}

static hn_run_spec on(void)
{
    hn_run_spec run = on_all_devices(n_devices, devices);
    run.numerics = HN_NUMERICS_INT8;
    return run;
}

typedef struct expected {
    const char *blamed; /* the weight, and its row */
    const char *met;    /* where: NULL: at the end, as in any mode */
} expected;

static void refused(const char *what, const expected *want, hn_status status)
{
    CHECK_THAT(status == HN_ERR_NUMERIC && strstr(hn_error_message(), want->blamed) &&
                   (!want->met || strstr(hn_error_message(), want->met)),
               "%s: expected '%s', '%s': status %d: %s", what, want->blamed, want->met ? want->met : "", (int)status,
               status == HN_OK ? "it worked" : hn_error_message());
}

static void in_session(const hn_model *m, bool packs, const expected *want)
{
    hn_session *s;
    const hn_session_options o = { .n_ctx = 64, .packs = packs };
    if (!CHECK_OK(hn_session_new(&s, &heap, m, on(), &o)))
        return;
    refused(packs ? "packed" : "as the file lies", want, hn_session_sync(s, ids, N, NULL));
    CHECK(!hn_session_logits(s));
    CHECK_INT(0, hn_session_length(s));
    hn_session_free(s);
}

static void in_perplexity(const hn_model *m, const expected *want)
{
    hn_perplexity p;
    const hn_perplexity_options o = { .chunk = N, .bos = -1 };
    refused("perplexity", want, hn_perplexity_run(&heap, m, on(), ids, N, &o, &p));
}

static int n_planted;

static void check_tensor(const char *tensor, int64_t row, const char *met, float value)
{
    char blamed[160];
    hn_model *m;
    if (!plant(tensor, row, value))
        return;
    n_planted++;
    snprintf(blamed, sizeof blamed, "tensor %s: row %lld, element ", tensor, (long long)row);
    const expected want = { blamed, met };
    if (CHECK_OK(hn_model_open(&heap, bad, NULL, &m))) {
        in_session(m, false, &want);
        in_session(m, true, &want);
        in_perplexity(m, &want);
        hn_model_close(m);
    }
}

/* What any mode hands out, int8 still does: a guess that cannot be computed costs nothing but itself. */
static void check_guess(void)
{
    static float want[1024];
    hn_model *m;
    hn_session *s;
    const hn_session_options o = { .n_ctx = 64, .max_ahead = 3 };
    const int32_t guess[3] = { 7, 330, 8 };
    if (!plant("token_embd.weight", guess[1], NAN) || !CHECK_OK(hn_model_open(&heap, bad, NULL, &m)))
        return;
    const int64_t vocab = hn_model_hparams(m)->n_vocab;
    if (CHECK(vocab <= 1024) && CHECK_OK(hn_session_new(&s, &heap, m, on(), &o))) {
        CHECK_OK(hn_session_sync(s, ids, N, NULL));
        memcpy(want, hn_session_logits(s), (size_t)vocab * sizeof *want);
        CHECK_OK(hn_session_sync(s, ids, N - 1, NULL));
        CHECK_OK(hn_session_sync_ahead(s, ids, N, guess, 3, NULL));
        CHECK(!memcmp(want, hn_session_logits(s), (size_t)vocab * sizeof *want));
        hn_session_free(s);
    }
    hn_model_close(m);
}

static void check_level(const char *name, const char *level)
{
    static const float values[] = { NAN, INFINITY, -INFINITY };
    char token[64];
    const hn_device_options o = { .n_threads = 2, .isa = level };
    check_group(level);
    if (!CHECK_OK(hn_devices_open(&heap, "cpu", &o, &n_devices, devices)))
        return;
    snprintf(token, sizeof token, ": row %d of x (", VICTIM);
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, "gemma2")) /* whose head it is, before a soft cap: looked at before anything runs */
            check_tensor("token_embd.weight", ids[VICTIM], token, values[i]);
        check_tensor("blk.1.ffn_norm.weight", 0, ": row 0 of x (", values[i]);
        check_tensor("blk.0.attn_v.weight", 3, " by blk.0.attn_output.weight: row 0 of x (", values[i]);
        check_tensor("blk.0.ffn_up_exps.weight", 2, NULL, values[i]);
        if (strcmp(name, "gemma2"))
            check_tensor("output.weight", 9, NULL, values[i]);
    }
    if (!strcmp(name, "llama"))
        check_guess();
    hn_devices_close(n_devices, devices);
}

static void check_model(const char *name)
{
    char dir[400];
    hn_watch watch = { 0 };
    hn_convert_options o = { 0 };
    hn_quantize_options to = { .n_keep = 1 };
    hn_keep keep;
    hn_isa host;
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    path(whole, "whole");
    path(eighth, "eighth");
    path(bad, "bad");
    CHECK_OK(hn_recipe_named("f32", &o.recipe));
    CHECK_OK(hn_recipe_named("q8_0", &to.recipe));
    CHECK_OK(hn_keep_parse("token_embd.weight=f32", &keep));
    to.keep = &keep;
    n_planted = 0;
    if (CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_new(whole), &o, &watch)) &&
        CHECK_OK(hn_quantize(&heap, pool, whole, hn_sink_new(eighth), &to, &watch)) && CHECK_OK(hn_isa_available(&host))) {
        check_level(name, "ref");
        for (int i = 0; i < HN_N_LEVELS; i++) {
            const hn_level level = hn_isa_level(i);
            if ((level.with_implied & host) == level.with_implied)
                check_level(name, level.name);
        }
    }
    CHECK(n_planted >= 6);
    remove(whole);
    remove(eighth);
    remove(bad);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (int i = 0; i < N; i++)
        ids[i] = (i * 29 + 3) % 200;
    if (CHECK_OK(hn_pool_new(&heap, 1, &pool))) {
        check_model("llama");
        check_model("gemma2");
        check_model("qwen3moe");
    }
    hn_pool_free(pool);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
