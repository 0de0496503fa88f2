/* Models against Transformers layer by layer, in f32 and in bf16: every tiny model that can be
 * run, against dumps that tools/reference/parity_dump.py made of it. In bf16 also: the same bits
 * from GGUF files made of the directory; weights that bf16 does not hold are rounded as they would
 * be by converting them; and a value that is off by a bf16 step is found, in its layer. */
#include "infer/parity.h"

#include "convert/convert.h"
#include "infer/forward.h"
#include "io/safetensors.h"
#include "io/weights_writer.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_heap heap;
static hn_pool *pool;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;

static void paths(const char *name, const char *mode, char dir[512], char dump[512])
{
    snprintf(dir, 512, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    snprintf(dump, 512, "%s/tests/differential/parity/%s-%s.safetensors", HN_SOURCE_DIR, name,
             mode);
}

static void check_run(const hn_model *model, hn_reference *ref, const char *mode)
{
    hn_parity p;
    if (!CHECK_OK(hn_parity_run(&p, &heap, model, on_all_devices(n_devices, devices), ref)))
        return;
    CHECK_OK(hn_parity_judge(&p));
    CHECK_INT(ref->numerics == HN_NUMERICS_BF16, !strcmp(mode, "bf16"));
    for (int64_t i = 1; ref->numerics == HN_NUMERICS_BF16 && i < p.n_layer + 2; i++)
        CHECK(p.parts[i].rounded > 1e-6); /* f32 in its place would not do */
    hn_parity_free(&p);
}

/* One element moved: the layer that gives it is named, and no other. */
static void check_planted(const hn_model *model, hn_reference *ref, int64_t layer)
{
    hn_parity p;
    float *value = &ref->hidden[layer + 1][3 * ref->width + 5];
    const float old = *value;
    const float by = ref->numerics == HN_NUMERICS_BF16 ? 0.5f : 1e-3f;
    *value = old + by;
    if (CHECK_OK(hn_parity_run(&p, &heap, model, on_all_devices(n_devices, devices), ref))) {
        CHECK_INT(p.first_beyond, layer + 1);
        CHECK_INT(hn_parity_judge(&p), HN_ERR_PROOF);
        hn_parity_free(&p);
    }
    *value = old;
}

/* The reference's experts of a token are others; then all are as good as tied. */
static void check_experts(const hn_model *model, hn_reference *ref)
{
    hn_parity p;
    const int64_t last = ref->n_layer - 1;
    float *router = ref->router[last];
    int64_t best = 0;
    if (!router)
        return;
    for (int64_t e = 1; e < ref->n_expert; e++)
        if (router[e] > router[best])
            best = e;
    const float old = router[best];
    router[best] = 0;
    if (ref->numerics == HN_NUMERICS_F32 &&
        CHECK_OK(hn_parity_run(&p, &heap, model, on_all_devices(n_devices, devices), ref))) {
        CHECK_INT(p.first_beyond, last + 1);
        CHECK_INT(p.parts[last + 1].n_other, 1);
        CHECK_FAILS(hn_parity_judge(&p), HN_ERR_PROOF, "1 tokens go to other experts");
        hn_parity_free(&p);
    }
    /* Less likely than an expert that was left out, by a hair: the distance decides, and it is 0. */
    const int64_t k = hn_model_hparams(model)->n_used;
    float above = old;
    for (int64_t rank = 0; rank < k; rank++) { /* the (k + 1)-th likeliest */
        float next = 0;
        for (int64_t e = 0; e < ref->n_expert; e++)
            if (e != best && router[e] > next && (router[e] < above || (rank == 0 && router[e] <= above)))
                next = router[e];
        above = next;
    }
    router[best] = above - 5e-5f;
    if (ref->numerics == HN_NUMERICS_F32 && k < ref->n_expert && above > 1e-4f &&
        CHECK_OK(hn_parity_run(&p, &heap, model, on_all_devices(n_devices, devices), ref))) {
        CHECK_OK(hn_parity_judge(&p));
        CHECK_INT(p.parts[last + 1].n_other, 0);
        hn_parity_free(&p);
    }
    router[best] = old;
    for (int64_t i = 0; i < ref->n_tokens * ref->n_expert; i++)
        router[i] = 0.25f;
    if (ref->numerics == HN_NUMERICS_BF16 &&
        CHECK_OK(hn_parity_run(&p, &heap, model, on_all_devices(n_devices, devices), ref))) {
        CHECK_INT(p.parts[last + 1].n_close, ref->n_tokens);
        CHECK_FAILS(hn_parity_judge(&p), HN_ERR_PROOF, "as good as tied");
        hn_parity_free(&p);
    }
}

static void check_model(const char *name, const char *mode)
{
    char dir[512], dump[512], group[64];
    hn_model *model;
    hn_reference ref;
    paths(name, mode, dir, dump);
    snprintf(group, sizeof group, "%s %s", name, mode);
    check_group(group);
    if (!CHECK_OK(hn_model_open(&heap, dir, NULL, &model)))
        return;
    if (CHECK_OK(hn_reference_read(&ref, &heap, dump, hn_model_hparams(model)))) {
        check_run(model, &ref, mode);
        check_planted(model, &ref, 0);
        check_planted(model, &ref, ref.n_layer - 1);
        check_experts(model, &ref);
    }
    hn_reference_free(&ref);
    hn_model_close(model);
}

/* ---- the same bits from files ---- */

enum { N_TOKENS = 40 };

static float *logits_of(const char *path, int64_t *n)
{
    hn_model *model;
    hn_forward *forward;
    hn_tensor t;
    int32_t tokens[N_TOKENS];
    float *copy = NULL;
    const hn_forward_options o = { .max_tokens = N_TOKENS };
    *n = 0;
    if (!CHECK_OK(hn_model_open(&heap, path, NULL, &model)))
        return NULL;
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    for (int64_t i = 0; i < N_TOKENS; i++)
        tokens[i] = (int32_t)(3 + (i * i * 7 + i * 13) % (vocab - 3));
    if (CHECK_OK(hn_forward_new(&forward, &heap, model, (hn_run_spec){ n_devices, devices, HN_NUMERICS_BF16 }, &o))) {
        if (CHECK_OK(hn_forward_run(forward, tokens, N_TOKENS, NULL)) &&
            CHECK_OK(hn_forward_logits(forward, &t))) {
            *n = hn_count(&t.type);
            copy = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)*n, sizeof *copy);
            memcpy(copy, t.data, (size_t)*n * sizeof *copy);
        }
        hn_forward_free(forward);
    }
    hn_model_close(model);
    return copy;
}

static void check_same(const char *a, const char *b)
{
    int64_t n, m;
    float *want = logits_of(a, &n), *got = logits_of(b, &m);
    CHECK_THAT(want && got && n == m && !memcmp(want, got, (size_t)n * sizeof *got),
               "%s gives other bits than %s", b, a);
    hn_free(&heap, want);
    hn_free(&heap, got);
}

static void convert(const char *from, const char *type, char out[64])
{
    hn_convert_options options = { 0 };
    hn_watch watch = { 0 };
    strcpy(out, "/tmp/hone-parity-XXXXXX");
    const int file = mkstemp(out);
    if (CHECK(file >= 0))
        close(file);
    if (CHECK_OK(hn_recipe_named(type, &options.recipe)))
        CHECK_OK(hn_convert(&heap, pool, from, hn_sink_own(out), &options, &watch));
}

static void check_files(const char *name)
{
    char dir[512], dump[512], file[64];
    paths(name, "bf16", dir, dump);
    check_group(name);
    convert(dir, "f32", file);
    check_same(dir, file);
    unlink(file);
    convert(dir, "bf16", file);
    check_same(dir, file);
    unlink(file);
}

/* ---- weights that bf16 does not hold ---- */

/* The model's directory again, every weight a little off: as f32, or that rounded to bf16. */
static hn_status write_weights(const char *name, hn_dtype dtype, const char *out)
{
    char path[600];
    hn_safetensors from = { 0 };
    hn_weights_writer *writer = NULL;
    snprintf(path, sizeof path, "%s/tests/differential/models/%s/model.safetensors", HN_SOURCE_DIR,
             name);
    HN_TRY(hn_safetensors_open(&heap, path, &from));
    const size_t n = from.n_tensors;
    hn_weight_entry *entries = hn_alloc_array(&heap, HN_TAG_FILE, n, sizeof *entries);
    hn_tensor *values = hn_alloc_array(&heap, HN_TAG_FILE, n, sizeof *values);
    hn_status status = entries && values ? HN_OK : HN_ERR_MEMORY;
    for (size_t i = 0; i < n && status == HN_OK; i++) {
        const hn_tensor x = hn_tensor_at(&from.tensors[i].type,
                                         (void *)(uintptr_t)from.tensors[i].data);
        entries[i].name = from.tensors[i].name;
        status = hn_type_make(&entries[i].type, dtype, x.type.rank, x.type.dim);
        void *data = hn_alloc(&heap, HN_TAG_FILE, hn_type_bytes(&entries[i].type));
        values[i] = hn_tensor_at(&entries[i].type, data);
        for (int64_t k = 0; data && k < hn_count(&x.type); k++)
            hn_set(&values[i], k, hn_get_slow(&x, k) * (1 + (double)(k * 37 % 101 - 50) * 0x1p-14));
    }
    snprintf(path, sizeof path, "%s/model.safetensors", out);
    if (status == HN_OK)
        status = hn_safetensors_create(&heap, hn_sink_own(path), NULL, entries, n, &writer);
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = hn_weights_writer_put(writer, i, 0, values[i].data,
                                       hn_type_bytes(&entries[i].type));
    if (status == HN_OK)
        status = hn_weights_writer_finish(writer);
    else
        hn_weights_writer_abandon(writer);
    for (size_t i = 0; i < n; i++)
        hn_free(&heap, values ? values[i].data : NULL);
    hn_free(&heap, values);
    hn_free(&heap, entries);
    hn_safetensors_close(&from);
    return status;
}

static bool make_dir(const char *name, hn_dtype dtype, char out[64])
{
    char from[600], to[600];
    strcpy(out, "/tmp/hone-parity-XXXXXX");
    if (!CHECK(mkdtemp(out) != NULL))
        return false;
    snprintf(from, sizeof from, "%s/tests/differential/models/%s/config.json", HN_SOURCE_DIR, name);
    snprintf(to, sizeof to, "%s/config.json", out);
    return CHECK_INT(symlink(from, to), 0) && CHECK_OK(write_weights(name, dtype, out));
}

static void remove_dir(const char *dir)
{
    char path[600];
    snprintf(path, sizeof path, "%s/config.json", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    unlink(path);
    rmdir(dir);
}

/* Transformers rounds f32 weights to bf16 as it loads them, gains before one is added. */
static void check_rounded_weights(const char *name)
{
    char wide[64], narrow[64];
    check_group(name);
    if (make_dir(name, HN_F32, wide) && make_dir(name, HN_BF16, narrow)) {
        check_same(wide, narrow);
        remove_dir(narrow);
    }
    remove_dir(wide);
}

static void check_refusals(void)
{
    char dir[512], dump[512];
    hn_model *model;
    hn_reference ref;
    check_group("what is no reference");
    paths("llama", "f32", dir, dump);
    if (!CHECK_OK(hn_model_open(&heap, dir, NULL, &model)))
        return;
    CHECK_INT(hn_reference_read(&ref, &heap, "/nowhere/x.safetensors", hn_model_hparams(model)),
              HN_ERR_IO);
    hn_reference_free(&ref);
    CHECK_INT(hn_reference_read(&ref, &heap,
                                HN_SOURCE_DIR "/tests/differential/models/llama/model.safetensors",
                                hn_model_hparams(model)), HN_ERR_FORMAT);
    hn_reference_free(&ref);
    paths("gemma2", "f32", dir, dump); /* a layer more */
    CHECK_INT(hn_reference_read(&ref, &heap, dump, hn_model_hparams(model)), HN_ERR_FORMAT);
    CHECK(strstr(hn_error_message(), "hidden.3") != NULL);
    hn_reference_free(&ref);
    hn_model_close(model);
    paths("bert", "bf16", dir, dump);
    if (!CHECK_OK(hn_model_open(&heap, dir, NULL, &model)))
        return;
    hn_forward *forward;
    const hn_forward_options o = { .max_tokens = 4 };
    CHECK_INT(hn_forward_new(&forward, &heap, model, (hn_run_spec){ n_devices, devices, HN_NUMERICS_BF16 }, &o), HN_ERR_UNSUPPORTED);
    const char *told = strstr(hn_error_message(), dir);
    CHECK_THAT(told && !strstr(told + 1, dir), "the path once: %s", hn_error_message());
    hn_model_close(model);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "llama", "llama-tied", "mistral", "mixtral", "mixtral-top4", "qwen2",
        "qwen3", "qwen3moe", "gemma2", "gemma3", "gemma4-e", "gemma4-moe",
        "gemma4-dense", "gpt-oss", "smollm3", "granite", "gpt2", "gemma3n",
        "olmoe", "granitemoe", "granitemoe-shared", "phi3", "phi4-mini",
    };
    static const char *const in_f32[] = { "deepseek-v2", "deepseek-v2-groups", "deepseek-v3" }; /* no bf16 mode */
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const hn_device_options open = { .n_threads = 2 };
    if (CHECK_OK(hn_pool_new(&heap, 2, &pool)) &&
        CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            check_model(names[i], "f32");
            check_model(names[i], "bf16");
            check_files(names[i]);
            check_rounded_weights(names[i]);
        }
        for (size_t i = 0; i < sizeof in_f32 / sizeof *in_f32; i++)
            check_model(in_f32[i], "f32");
        check_refusals();
        hn_devices_close(n_devices, devices);
    }
    hn_pool_free(pool);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
