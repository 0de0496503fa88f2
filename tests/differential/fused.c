/* Adapters of experts in one parameter, and of matrices in one module, made by PEFT: imported, they give PEFT's logits, to 1e-5 of
 * the largest. Reference: tools/reference/peft_fused.py. */
#include "base/file.h"
#include "base/json.h"
#include "convert/adapter_import.h"
#include "infer/forward.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HERE HN_SOURCE_DIR "/tests/differential/"

static hn_heap heap;
static hn_pool *pool;
static char dir[64] = "/tmp/hone-fused-XXXXXX";

static hn_json_text *read_expected(const char *name)
{
    char path[512];
    void *text;
    size_t bytes;
    hn_json_text *json = NULL;
    snprintf(path, sizeof path, HERE "fused/%s/expected.json", name);
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 20, &text, &bytes)))
        return NULL;
    CHECK_OK(hn_json_read(&heap, path, text, bytes, &json));
    hn_free(&heap, text);
    return json;
}

/* The largest distance of the last token's logits, over the largest logit. */
static double distance(const hn_model *model, const hn_adapters *adapters, hn_run_spec run,
                       const hn_json *expected)
{
    int32_t ids[64];
    int64_t n = 0;
    hn_forward *forward;
    hn_tensor z;
    double worst = 0, most = 0;
    for (const hn_json *v = hn_json_get(expected, "ids")->as.children.first; v && n < 64; v = v->next)
        ids[n++] = (int32_t)v->as.integer;
    const hn_forward_options o = { .max_tokens = n, .adapters = adapters };
    if (!CHECK_OK(hn_forward_new(&forward, &heap, model, run, &o)))
        return NAN;
    if (CHECK_OK(hn_forward_run(forward, ids, n, NULL)) && CHECK_OK(hn_forward_logits(forward, &z))) {
        const int64_t vocab = hn_last_dim(&z.type);
        const float *last = (const float *)z.data + (n - 1) * vocab;
        const hn_json *v = hn_json_get(expected, "logits")->as.children.first;
        for (int64_t i = 0; i < vocab && v; i++, v = v->next) {
            double want = NAN;
            CHECK_OK(hn_json_want_double(v, "logits", &want));
            worst = fmax(worst, fabs((double)last[i] - want));
            most = fmax(most, fabs(want));
        }
        CHECK(!v);
    }
    hn_forward_free(forward);
    return worst / most;
}

static void check_adapter(const char *of, const char *name, hn_run_spec run)
{
    char base[512], peft[512], out[128];
    hn_model *model;
    hn_adapters adapters = { 0 };
    hn_adapter *adapter;
    hn_watch watch = { 0 };
    hn_json_text *expected = read_expected(name);
    check_group(name);
    snprintf(base, sizeof base, HERE "models/%s", of);
    snprintf(peft, sizeof peft, HERE "fused/%s", name);
    snprintf(out, sizeof out, "%s/adapter.gguf", dir);
    const hn_adapter_import_options o = { .base = base, .dtype = HN_F32 };
    if (!expected || !CHECK_OK(hn_adapter_import(&heap, pool, peft, hn_sink_own(out), &o, &watch)) ||
        !CHECK_OK(hn_model_open(&heap, base, NULL, &model)))
        return;
    const hn_adapter_use use = { .model = model, .run = run };
    if (CHECK_OK(hn_adapter_open(&adapter, &heap, out, &use, NULL)) &&
        CHECK_OK(hn_adapters_add(&adapters, adapter))) {
        const double with = distance(model, &adapters, run, hn_json_root(expected));
        const double without = distance(model, NULL, run, hn_json_root(expected));
        printf("%s: %.2g of the largest logit from PEFT's; without the adapter %.2g\n", name, with, without);
        CHECK_THAT(with <= 1e-5, "%.3g away", with);
        CHECK_THAT(without > 0.05, "%.3g away without the adapter", without);
    }
    hn_adapters_close(&adapters);
    hn_model_close(model);
    hn_json_free(expected);
    unlink(out);
}

int main(int argc, char **argv)
{
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    const hn_device_options open = { .n_threads = 2 };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK(mkdtemp(dir) != NULL) && CHECK_OK(hn_pool_new(&heap, 2, &pool)) &&
        CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        check_adapter("qwen3moe", "qwen3moe", on_all_devices(n_devices, devices));
        check_adapter("gemma4-moe", "gemma4-moe", on_all_devices(n_devices, devices));
        check_adapter("olmoe", "olmoe", on_all_devices(n_devices, devices));
        check_adapter("granitemoe", "granitemoe", on_all_devices(n_devices, devices));
        check_adapter("phi3", "phi3", on_all_devices(n_devices, devices));
        check_adapter("qwen3moe", "qwen3moe-modules", on_all_devices(n_devices, devices));
        hn_devices_close(n_devices, devices);
    }
    hn_pool_free(pool);
    rmdir(dir);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
