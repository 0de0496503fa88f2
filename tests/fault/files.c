/* What goes wrong around a file: every allocation refused in turn, a disk that is full, a place
 * that cannot be written, and work that is interrupted. Each is a status and a sentence, and
 * neither the file nor its .partial is left. */
#include "convert/adapter_export.h"
#include "convert/adapter_import.h"
#include "convert/convert.h"
#include "convert/quantize.h"
#include "convert/random_model.h"
#include "io/gguf.h"
#include "models/models.h"
#include "tests/harness/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char llama[] = HN_SOURCE_DIR "/tests/differential/models/llama";
static char dir[] = "/tmp/hone-fault-XXXXXX";
static char out[300], model[300], adapter[300], peft[300];
static hn_heap pool_heap;
static hn_pool *pool;

typedef hn_status action(hn_heap *heap, const char *to, hn_watch *watch);

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static hn_status open_gguf(hn_heap *heap, const char *to, hn_watch *watch)
{
    hn_gguf *gguf;
    (void)to, (void)watch;
    HN_TRY(hn_gguf_open(heap, model, &gguf));
    hn_gguf_close(gguf);
    return HN_OK;
}

static hn_status open_dir(hn_heap *heap, const char *to, hn_watch *watch)
{
    hn_hf_dir *hf;
    (void)to, (void)watch;
    HN_TRY(hn_hf_dir_open(heap, llama, HN_HF_TEXT | HN_HF_WEIGHTS, &hf));
    hn_hf_dir_close(hf);
    return HN_OK;
}

static hn_status convert(hn_heap *heap, const char *to, hn_watch *watch)
{
    const hn_convert_options options = { 0 };
    return hn_convert(heap, pool, llama, hn_sink_own(to), &options, watch);
}

static hn_status quantize(hn_heap *heap, const char *to, hn_watch *watch)
{
    hn_quantize_options options = { 0 };
    HN_TRY(hn_recipe_named("q4_0", &options.recipe));
    return hn_quantize(heap, pool, model, hn_sink_own(to), &options, watch);
}

static hn_status make_random(hn_heap *heap, const char *to, hn_watch *watch)
{
    static hn_hparams hp;
    hn_random_options o = { .arch = &hn_arch_llama, .hp = &hp, .name = "random" };
    memset(&hp, 0, sizeof hp);
    HN_HP_SET(&hp, n_layer, 2);
    HN_HP_SET(&hp, width, 64);
    HN_HP_SET(&hp, n_ctx, 64);
    HN_HP_SET(&hp, head_dim, 16);
    HN_HP_SET(&hp, value_dim, 16);
    hn_hparams_fill(&hp, HN_HP_n_head, 4);
    hn_hparams_fill(&hp, HN_HP_n_kv_head, 2);
    hn_hparams_fill(&hp, HN_HP_ffn, 128);
    hp.n_vocab = 300;
    hp.rope_dim = 16;
    HN_TRY(hn_arch_llama.defaults(&hp));
    HN_TRY(hn_recipe_named("f32", &o.recipe));
    return hn_random_model(heap, pool, hn_sink_own(to), &o, watch);
}

static hn_status import_adapter(hn_heap *heap, const char *to, hn_watch *watch)
{
    const hn_adapter_import_options options = { .base = llama, .dtype = HN_F32 };
    return hn_adapter_import(heap, pool, HN_SOURCE_DIR "/tests/differential/adapters/llama", hn_sink_own(to),
                             &options, watch);
}

static hn_status export_adapter(hn_heap *heap, const char *to, hn_watch *watch)
{
    char config[340], weights[340];
    snprintf(config, sizeof config, "%s/peft/adapter_config.json", dir);
    snprintf(weights, sizeof weights, "%s/peft/adapter_model.safetensors", dir);
    (void)to;
    const hn_status status = hn_adapter_export(heap, pool, adapter, NULL, llama, NULL, hn_sink_own(peft), false, watch);
    CHECK_THAT(exists(config) == (status == HN_OK) && exists(weights) == (status == HN_OK),
               "half an adapter is left");
    unlink(config);
    unlink(weights);
    return status;
}

static const struct {
    const char *name;
    action *run;
    bool writes;
} actions[] = { { "open gguf", open_gguf, false },     { "open directory", open_dir, false },
                { "convert", convert, true },          { "quantize", quantize, true },
                { "random model", make_random, true }, { "import", import_adapter, true },
                { "export", export_adapter, false } };
enum { N_ACTIONS = sizeof actions / sizeof *actions };

static void nothing_left(void)
{
    CHECK_THAT(!exists(out) && !partial_is_left(out), "a file is left");
}

static void check_memory(action *run)
{
    int64_t n = 1;
    for (;; n++) {
        hn_heap heap;
        hn_watch watch = { 0 };
        hn_heap_init(&heap, NULL);
        heap.fail_at = n;
        const hn_status status = run(&heap, out, &watch);
        CHECK_INT(0, heap.live_blocks);
        CHECK_INT(0, heap.live_bytes);
        if (heap.n_calls < n) { /* all was given */
            CHECK_INT(HN_OK, status);
            break;
        }
        CHECK_THAT(status == HN_ERR_MEMORY, "allocation %lld of heap refused: status %d: %s",
                   (long long)n, (int)status, hn_error_message());
        CHECK(strstr(hn_error_message(), "out of memory") != NULL);
        nothing_left();
        unlink(out);
    }
    printf("%lld allocations refused\n", (long long)n - 1);
    unlink(out);
}

static int n_told, stop_at;

static bool stop(void *context, double done, const char *what)
{
    (void)context, (void)done, (void)what;
    return ++n_told != stop_at;
}

static void check_interrupted(action *run)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    for (stop_at = 1;; stop_at++) {
        hn_watch watch = { .progress = stop };
        n_told = 0;
        const hn_status status = run(&heap, out, &watch);
        if (n_told < stop_at) {
            CHECK_INT(HN_OK, status);
            break;
        }
        CHECK_FAILS(status, HN_ERR_CANCELLED, "interrupted");
        nothing_left();
    }
    CHECK(stop_at > 5);
    unlink(out);
    CHECK_INT(0, heap.live_blocks);
}

/* From the first progress on, no file may grow beyond, or be written beyond, a kilobyte. */
static bool fill_disk(void *context, double done, const char *what)
{
    const struct rlimit limit = { 1024, RLIM_INFINITY };
    (void)context, (void)done, (void)what;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

static void check_full_disk(action *run)
{
    const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_watch watch = { .progress = fill_disk };
    CHECK_FAILS(run(&heap, out, &watch), HN_ERR_IO, out); /* while it is written */
    nothing_left();
    watch = (hn_watch){ 0 };
    CHECK_FAILS(run(&heap, out, &watch), HN_ERR_IO, out); /* before anything is */
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    nothing_left();
    CHECK_INT(0, heap.live_blocks);
}

static void check_place(action *run)
{
    static const struct {
        const char *path, *words;
    } places[] = { { "/nowhere-at-all/x.gguf", "/nowhere-at-all/x.gguf: no file can be made in /nowhere-at-all/: No such file" },
                   { "/dev/full", "/dev/full: not a regular file" },
                   { "/tmp", "/tmp: not a regular file" } };
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        hn_watch watch = { 0 };
        CHECK_FAILS(run(&heap, places[i].path, &watch), HN_ERR_IO, places[i].words);
    }
    CHECK_INT(0, heap.live_blocks);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    signal(SIGXFSZ, SIG_IGN);
    hn_heap_init(&pool_heap, NULL);
    hn_heap heap;
    hn_watch watch = { 0 };
    hn_heap_init(&heap, NULL);
    if (CHECK(mkdtemp(dir) != NULL) && CHECK_OK(hn_pool_new(&pool_heap, 2, &pool))) {
        snprintf(out, sizeof out, "%s/out.gguf", dir);
        snprintf(model, sizeof model, "%s/model.gguf", dir);
        snprintf(adapter, sizeof adapter, "%s/adapter.gguf", dir);
        snprintf(peft, sizeof peft, "%s/peft", dir);
        CHECK_OK(make_random(&heap, model, &watch));
        CHECK_OK(import_adapter(&heap, adapter, &watch));
        for (int i = 0; i < N_ACTIONS; i++) {
            check_group(actions[i].name);
            check_memory(actions[i].run);
            if (!actions[i].writes)
                continue;
            check_interrupted(actions[i].run);
            check_full_disk(actions[i].run);
            check_place(actions[i].run);
        }
    }
    hn_pool_free(pool);
    unlink(model);
    unlink(adapter);
    rmdir(peft);
    CHECK(rmdir(dir) == 0);
    return check_close();
}
