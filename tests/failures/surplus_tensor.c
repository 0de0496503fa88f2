/* SURPLUS-TENSOR: a tensor with no place was ignored when a directory was run (biases: 1.1 of the logits),
 * though convert refused it. Each kind of tensor that some class has is added to every model: it is
 * refused by name by whoever reads, directory, conversion or GGUF, or it is computed with. Each tensor
 * left out is missed by name, or the table says that models may go without. */
#include "base/map_file.h"
#include "convert/convert.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "io/weights_writer.h"
#include "models/model.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_heap heap;
static hn_pool *pool;
static char work[128];

static const char *in_work(const char *name)
{
    static char path[4][512];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, 512, "%s/%s", work, name);
    return to;
}

/* The entries, without number `without` and with one more, if there is one. */
static bool write_entries(const hn_weight_entry *all, size_t n, size_t without,
                          const hn_weight_entry *more, const hn_meta *gguf)
{
    hn_weights_writer *writer;
    hn_weight_entry *entries = hn_alloc_array(&heap, HN_TAG_FILE, n + 1, sizeof *entries);
    const char *path = gguf ? in_work("m.gguf") : in_work("model/model.safetensors");
    hn_meta meta = hn_meta_on(&heap, path);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (i != without)
            entries[k++] = all[i];
    if (more)
        entries[k++] = *more;
    remove(path);
    bool ok = CHECK_OK(gguf ? hn_gguf_create(&heap, hn_sink_new(path), gguf, entries, k, &writer)
                            : hn_safetensors_create(&heap, hn_sink_new(path), &meta, entries, k, &writer));
    for (size_t i = 0; ok && i < k; i++)
        ok = CHECK_OK(hn_weights_writer_put(writer, i, 0, entries[i].data, (size_t)entries[i].bytes));
    if (ok)
        ok = CHECK_OK(hn_weights_writer_finish(writer));
    hn_meta_free(&meta);
    hn_free(&heap, entries);
    return ok;
}

static hn_status open_at(const char *path)
{
    hn_model *model;
    const hn_status status = hn_model_open(&heap, path, NULL, &model);
    if (status == HN_OK)
        hn_model_close(model);
    return status;
}

static hn_status convert(void)
{
    hn_watch watch = { 0 };
    const hn_convert_options o = { 0 };
    const char *to = in_work("converted.gguf");
    remove(to);
    return hn_convert(&heap, pool, in_work("model"), hn_sink_new(to), &o, &watch);
}

/* What else may be in files of some class: of one more or less than this one has. */
static const char *const names[] = {
    "model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.k_proj.bias",
    "model.layers.0.self_attn.v_proj.bias", "model.layers.0.self_attn.o_proj.bias",
    "model.layers.0.self_attn.q_norm.weight", "model.layers.0.self_attn.k_norm.weight",
    "model.layers.0.self_attn.sinks", "model.layers.0.mlp.gate_proj.bias",
    "model.layers.0.mlp.up_proj.bias", "model.layers.0.mlp.down_proj.bias",
    "model.layers.0.mlp.gate.e_score_correction_bias", "model.layers.0.post_attention_layernorm.bias",
    "model.layers.0.self_attn.q_proj.weight_scale", "model.layers.7.input_layernorm.weight",
    "model.norm.bias", "lm_head.bias", "lm_head.weight_scale", "model.embed_tokens.bias",
    "encoder.layer.0.attention.self.query.weight_scale", "score.weight", "model.foo.weight",
};

static void check_added(const hn_weight_entry *all, size_t n, int *n_refused)
{
    static float numbers[64];
    const int64_t dim = 64;
    for (size_t i = 0; i < 64; i++)
        numbers[i] = 0.5f;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hn_weight_entry more = { .name = names[k], .encoding = "F32", .data = (const uint8_t *)numbers };
        bool is_there = false;
        for (size_t i = 0; i < n; i++)
            is_there = is_there || !strcmp(all[i].name, names[k]);
        hn_type_make(&more.type, HN_F32, 1, &dim);
        more.bytes = sizeof numbers;
        if (is_there || !write_entries(all, n, n, &more, NULL))
            continue;
        const hn_status status = open_at(in_work("model"));
        CHECK_THAT(status != HN_OK && strstr(hn_error_message(), names[k]), "%s: status %d: %s", names[k],
                   (int)status, status == HN_OK ? "taken" : hn_error_message());
        const hn_status other = convert();
        CHECK_THAT(other != HN_OK && strstr(hn_error_message(), names[k]), "convert: %s: status %d: %s",
                   names[k], (int)other, other == HN_OK ? "taken" : hn_error_message());
        ++*n_refused;
    }
}

static void check_left_out(const hn_weight_entry *all, size_t n, int *n_missed, int *n_optional)
{
    for (size_t i = 0; i < n; i++) {
        if (!write_entries(all, n, i, NULL, NULL))
            continue;
        const hn_status status = open_at(in_work("model")), other = convert();
        CHECK_INT(status == HN_OK, other == HN_OK);
        *n_missed += status != HN_OK;
        *n_optional += status == HN_OK;
        if (status == HN_OK) /* only what a table calls optional */
            CHECK_THAT(strstr(all[i].name, "rotary") ||
                           strstr(all[i].name, "pooler") || strstr(all[i].name, "position_ids") ||
                           strstr(all[i].name, "lm_head") || strstr(all[i].name, "k_") ||
                           strstr(all[i].name, "v_") || strstr(all[i].name, "masked"),
                       "%s is not missed", all[i].name);
    }
}

static void check_gguf(void)
{
    static const float numbers[32] = { 1 };
    const int64_t dim = 32;
    hn_gguf *file;
    hn_weight_entry more = { .name = "blk.0.surplus.weight", .encoding = "F32",
                             .data = (const uint8_t *)numbers, .bytes = sizeof numbers };
    hn_type_make(&more.type, HN_F32, 1, &dim);
    if (!CHECK_OK(hn_gguf_open(&heap, in_work("whole.gguf"), &file)))
        return;
    const hn_weights *all = hn_gguf_weights(file);
    if (write_entries(all->entries, all->n, all->n, &more, hn_gguf_meta(file)))
        CHECK_FAILS(open_at(in_work("m.gguf")), HN_ERR_UNSUPPORTED, "blk.0.surplus.weight");
    hn_gguf_close(file);
}

static void check_model(const char *name, int *n_refused, int *n_missed, int *n_optional)
{
    char dir[400];
    hn_safetensors file;
    hn_watch watch = { 0 };
    const hn_convert_options o = { 0 };
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    char command[2600];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s' && cp -r '%s' '%s/model' && cp '%s/model.safetensors' '%s/source'",
             work, work, dir, work, dir, work);
    if (!CHECK_THAT(system(command) == 0, "%s", command))
        return;
    if (!CHECK_OK(open_at(in_work("model"))) ||
        !CHECK_OK(hn_convert(&heap, pool, in_work("model"), hn_sink_new(in_work("whole.gguf")), &o, &watch)))
        return;
    if (CHECK_OK(hn_safetensors_open(&heap, in_work("source"), &file))) {
        check_added(file.tensors, file.n_tensors, n_refused);
        check_left_out(file.tensors, file.n_tensors, n_missed, n_optional);
        check_gguf();
    }
    hn_safetensors_close(&file);
}

int main(int argc, char **argv)
{
    static const char *const models[] = { "llama",   "mistral", "mixtral", "qwen2",   "qwen3",
                                          "qwen3moe", "gemma2",  "gemma3",  "gemma4-e", "gemma4-moe",
                                          "gpt-oss", "smollm3", "granite", "granitemoe", "bert",
                                          "olmoe", "granitemoe-shared", "phi3", "phi4-mini", "gpt2",
                                          "gemma3n", "deepseek-v2", "deepseek-v2-groups", "deepseek-v3" };
    int n_refused = 0, n_missed = 0, n_optional = 0;
    const char *dir = getenv("TMPDIR");
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    snprintf(work, sizeof work, "%.60s/hone-surplus-%d", dir ? dir : "/tmp", (int)getpid());
    if (CHECK_OK(hn_pool_new(&heap, 1, &pool)))
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            check_model(models[i], &n_refused, &n_missed, &n_optional);
    printf("%d tensors added, each refused twice; %d left out and missed, %d optional\n", n_refused,
           n_missed, n_optional);
    CHECK(n_refused > 200 && n_missed > 200);
    hn_pool_free(pool);
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    CHECK(system(command) == 0);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
