/* `hone grads` against PyTorch: the files that differential/gradients holds the library to, through
 * the command line: a batch of token ids, whole tensors and low-rank ones with an adapter's values. */
#include "base/file.h"
#include "base/json.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "io/weights_writer.h"
#include "kernels/gemm/rows.h"
#include "models/model.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_heap heap;
static char dir[64];
static double worst;

static const hn_weight_entry *entry(const hn_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

static double recorded(const char *of, const char *key)
{
    char path[640];
    void *text;
    size_t bytes;
    double value = NAN;
    hn_json_text *json;
    snprintf(path, sizeof path, "%s/record.json", of);
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 20, &text, &bytes)))
        return NAN;
    if (CHECK_OK(hn_json_read(&heap, path, text, bytes, &json))) {
        CHECK_OK(hn_json_want_double(hn_json_get(hn_json_root(json), key), key, &value));
        hn_json_free(json);
    }
    hn_free(&heap, text);
    return value;
}

static void write_batch(const hn_safetensors *r, const char *path)
{
    const int32_t *begin = (const int32_t *)(const void *)entry(r, "begin")->data;
    const int32_t *ids = (const int32_t *)(const void *)entry(r, "ids")->data;
    const float *weights = (const float *)(const void *)entry(r, "weights")->data;
    FILE *file = fopen(path, "w");
    if (!CHECK(file != NULL))
        return;
    for (int64_t i = 0; i + 1 < entry(r, "begin")->type.dim[0]; i++) {
        fprintf(file, "{\"ids\":[");
        for (int32_t t = begin[i]; t < begin[i + 1]; t++)
            fprintf(file, "%s%d", t > begin[i] ? "," : "", ids[t]);
        fprintf(file, "],\"weights\":[");
        for (int32_t t = begin[i]; t < begin[i + 1]; t++)
            fprintf(file, "%s%.9g", t > begin[i] ? "," : "", (double)weights[t]);
        fprintf(file, "]}\n");
    }
    CHECK(fclose(file) == 0);
}

static int64_t pairs_of(const hn_model *m, const char *name, char part)
{
    size_t n;
    const hn_arch_tensor *all = hn_model_tensors(m, &n);
    for (size_t i = 0; i < n && part == 'b'; i++)
        if (!strncmp(name, all[i].gguf, strlen(all[i].gguf)) && all[i].spec->how & HN_W_PERMUTE)
            return hn_layer_head_dim(hn_model_hparams(m), all[i].layer);
    return 0;
}

/* The reference's matrices as an adapter: rows of B as GGUF has them. */
static void write_adapter(const hn_safetensors *r, const hn_model *m, double alpha, const char *path)
{
    hn_weight_entry all[256];
    size_t n = 0;
    hn_meta meta = hn_meta_on(&heap, path);
    hn_weights_writer *writer;
    for (size_t i = 0; i < r->n_tensors && n < 256; i++)
        if (strstr(r->tensors[i].name, ".lora_") && strncmp(r->tensors[i].name, "grad.", 5))
            all[n++] = r->tensors[i];
    CHECK_OK(hn_meta_set_text(&meta, "general.architecture", hn_model_arch(m)->name));
    CHECK_OK(hn_meta_set_text(&meta, "general.type", "adapter"));
    CHECK_OK(hn_meta_set_text(&meta, "adapter.type", "lora"));
    CHECK_OK(hn_meta_set_double(&meta, "adapter.lora.alpha", HN_META_F32, alpha));
    if (CHECK_OK(hn_gguf_create(&heap, hn_sink_own(path), &meta, all, n, &writer))) {
        for (size_t i = 0; i < n; i++) {
            const size_t k = (size_t)hn_last_dim(&all[i].type), row = k * sizeof(float);
            const int64_t pairs = pairs_of(m, all[i].name, all[i].name[strlen(all[i].name) - 1]);
            for (int64_t at = 0; at < hn_rows(&all[i].type); at++)
                CHECK_OK(hn_weights_writer_put(writer, i, (size_t)hn_gemm_row(pairs, at) * row,
                                               all[i].data + (size_t)at * row, row));
        }
        CHECK_OK(hn_weights_writer_finish(writer));
    }
    hn_meta_free(&meta);
}

static bool hone(const char *arguments)
{
    char command[2048];
    snprintf(command, sizeof command, "%s %s >%s/out 2>%s/err", check_option("--hone"), arguments, dir,
             dir);
    const bool ok = system(command) == 0;
    if (!CHECK_THAT(ok, "hone %s", arguments)) {
        snprintf(command, sizeof command, "cat %s/err", dir);
        CHECK(system(command) == 0);
    }
    return ok;
}

/* |got - want| / |want|; what cancels is held against the whole gradient. */
static void compare(const char *name, const hn_weight_entry *got, const hn_tensor *want, double whole)
{
    double error = 0, size = 0;
    if (!CHECK_THAT(got && hn_same_shape(&got->type, &want->type), "%s is there, of its shape", name))
        return;
    for (int64_t i = 0; i < hn_count(&want->type); i++) {
        const double x = hn_get(want, i);
        const double d = (double)((const float *)(const void *)got->data)[i] - x;
        error += d * d;
        size += x * x;
    }
    const bool cancels = sqrt(size) < 1e-5 * whole;
    const double distance = sqrt(error) / (cancels ? whole : sqrt(size));
    CHECK_THAT(distance <= (cancels ? 1e-7 : 1e-5), "gradient of %s: %.3g of its size away", name,
               distance);
    worst = !cancels && distance > worst ? distance : worst;
}

static void check_loss(const hn_safetensors *g, const char *reference, const char *key, double *whole)
{
    const double want = recorded(reference, key);
    hn_span text, norm;
    CHECK_OK(hn_meta_want_string(&g->meta, "loss", &text));
    CHECK_OK(hn_meta_want_string(&g->meta, "grad_norm", &norm));
    char copy[2][40] = { "" };
    memcpy(copy[0], text.data, text.bytes < 39 ? text.bytes : 39);
    memcpy(copy[1], norm.data, norm.bytes < 39 ? norm.bytes : 39);
    const double loss = strtod(copy[0], NULL);
    *whole = strtod(copy[1], NULL);
    CHECK_THAT(fabs(loss - want) <= 1e-6 * want, "%s: %.9g, expected %.9g", key, loss, want);
}

static void check_full(const char *base, const char *reference)
{
    char arguments[1500];
    hn_safetensors g;
    hn_model *want;
    double whole;
    snprintf(arguments, sizeof arguments, "grads --overwrite %s --data %s/batch.jsonl --drop-empty --targets "
             "all:full -o %s/full.safetensors", base, dir, dir);
    if (!hone(arguments))
        return;
    snprintf(arguments, sizeof arguments, "%s/full.safetensors", dir);
    if (!CHECK_OK(hn_safetensors_open(&heap, arguments, &g)))
        return;
    check_loss(&g, reference, "loss", &whole);
    if (CHECK_OK(hn_model_open(&heap, reference, NULL, &want))) {
        for (size_t i = 0; i < g.n_tensors; i++) {
            const nn_weight *w = hn_model_find(want, g.tensors[i].name);
            if (!CHECK_THAT(w != NULL, "%s is in the reference", g.tensors[i].name))
                continue;
            const hn_tensor x = hn_tensor_at(&w->type, (void *)(uintptr_t)w->data);
            compare(g.tensors[i].name, &g.tensors[i], &x, whole);
        }
        CHECK(g.n_tensors > 10);
        hn_model_close(want);
    }
    hn_safetensors_close(&g);
}

static void check_lora(const char *base, const char *reference, const hn_safetensors *r,
                       const char *more)
{
    char text[1500];
    hn_safetensors g;
    double whole;
    int n = 0;
    snprintf(text, sizeof text, "grads --overwrite %s --data %s/batch.jsonl --drop-empty --from %s/lora.gguf -o "
             "%s/lora.safetensors %s", base, dir, dir, dir, more);
    if (!hone(text))
        return;
    snprintf(text, sizeof text, "%s/lora.safetensors", dir);
    if (!CHECK_OK(hn_safetensors_open(&heap, text, &g)))
        return;
    check_loss(&g, reference, "lora_loss", &whole);
    for (size_t i = 0; i < r->n_tensors; i++) {
        const hn_weight_entry *e = &r->tensors[i];
        if (strncmp(e->name, "grad.", 5))
            continue;
        const hn_tensor x = hn_tensor_at(&e->type, (void *)(uintptr_t)e->data);
        compare(e->name, entry(&g, e->name + 5), &x, whole);
        n++;
    }
    CHECK_INT(n, (int64_t)g.n_tensors);
    hn_safetensors_close(&g);
}

static void check_model(const char *name)
{
    char base[512], reference[512], path[640];
    hn_safetensors r;
    hn_model *m;
    check_group(name);
    snprintf(base, sizeof base, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    snprintf(reference, sizeof reference, "%s/tests/differential/gradients/%s", HN_SOURCE_DIR, name);
    snprintf(path, sizeof path, "%s/lora.safetensors", reference);
    if (!CHECK_OK(hn_safetensors_open(&heap, path, &r)))
        return;
    snprintf(path, sizeof path, "%s/batch.jsonl", dir);
    write_batch(&r, path);
    if (CHECK_OK(hn_model_open(&heap, base, NULL, &m))) {
        snprintf(path, sizeof path, "%s/lora.gguf", dir);
        write_adapter(&r, m, recorded(reference, "rank") * recorded(reference, "scale"), path);
        hn_model_close(m);
    }
    worst = 0;
    check_full(base, reference);
    check_lora(base, reference, &r, "");
    check_lora(base, reference, &r, "--micro-tokens 14 --recompute 1 --plan separate --threads 1");
    char gguf[128];
    snprintf(path, sizeof path, "convert --overwrite %s %s/base.gguf", base, dir);
    snprintf(gguf, sizeof gguf, "%s/base.gguf", dir);
    if (hone(path)) { /* rows lie in pairs there */
        check_full(gguf, reference);
        check_lora(gguf, reference, &r, "");
    }
    printf("%s: worst gradient %.2g\n", name, worst);
    hn_safetensors_close(&r);
}

int main(int argc, char **argv)
{
    static const char *const models[] = { "llama", "llama-tied", "qwen3moe", "gemma4-e", "gemma4-moe" };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    snprintf(dir, sizeof dir, "/tmp/hone-grads-XXXXXX");
    CHECK(mkdtemp(dir) != NULL && check_option("--hone"));
    for (int i = 0; i < 5; i++)
        check_model(models[i]);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK(system(command) == 0);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
