/* PEFT adapters against llama.cpp's converter: every tensor and key, of adapters over four of
 * the models; what is exported again is the same adapter; rsLoRA, stacked experts, and what
 * cannot be said. adapters.json and adapters/ were made by tools/reference/peft_adapters.py. */
#include "convert/adapter_export.h"
#include "convert/adapter_import.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/half.h"
#include "base/json.h"
#include "base/sha256.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "io/weights_writer.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HERE HN_SOURCE_DIR "/tests/differential"

static hn_heap heap;
static hn_pool *pool;
static char dir[] = "/tmp/hone-adapters-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[4][300];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", dir, name);
    return path[i];
}

static hn_status import_as(const char *peft, const char *base, hn_dtype dtype, const char *out)
{
    const hn_adapter_import_options options = { .base = base, .dtype = dtype };
    hn_watch watch = { 0 };
    return hn_adapter_import(&heap, pool, peft, hn_sink_own(out), &options, &watch);
}

static void check_tensor(const hn_json *want, const hn_weight_entry *got)
{
    uint8_t digest[32];
    char text[65];
    hn_sha256 sha;
    if (!CHECK_THAT(got != NULL, "tensor %s is missing", want->key))
        return;
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, got->data, (size_t)got->bytes);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    const hn_json *shape = hn_json_at(want, 1);
    CHECK_INT((int64_t)shape->as.children.n, got->type.rank);
    for (int i = 0; i < got->type.rank; i++)
        CHECK_INT(hn_json_at(shape, (size_t)i)->as.integer,
                  got->type.dim[got->type.rank - 1 - i]);
    CHECK_TEXT(hn_json_at(want, 0)->as.string.text, got->encoding);
    CHECK_THAT(!strcmp(hn_json_at(want, 2)->as.string.text, text), "tensor %s: other bytes",
               want->key);
}

static void check_key(const hn_json *want, const hn_meta *meta)
{
    const hn_meta_value *got = hn_meta_find(meta, want->key);
    const hn_json *value = hn_json_at(want, 1);
    const char *kind = hn_json_at(hn_json_at(want, 0), 0)->as.string.text;
    if (!CHECK_THAT(got != NULL, "key %s is missing", want->key))
        return;
    if (got->type == HN_META_STRING) {
        hn_span text;
        CHECK_TEXT("STRING", kind);
        CHECK_OK(hn_meta_string(meta, want->key, &text));
        CHECK_THAT(value->as.string.bytes == text.bytes &&
                       !memcmp(value->as.string.text, text.data, text.bytes),
                   "key %s: another text", want->key);
    } else if (got->type == HN_META_F32) {
        char bits[9];
        snprintf(bits, sizeof bits, "%08x", hn_load_32(got->data));
        CHECK_TEXT("FLOAT32", kind);
        CHECK_TEXT(value->as.string.text, bits);
    } else {
        CHECK_TEXT("UINT32", kind);
        CHECK_INT(value->as.integer, hn_meta_item_int(got, 0));
    }
}

static void check_import(const hn_json *want, const char *path)
{
    hn_gguf *file;
    if (!CHECK_OK(hn_gguf_open(&heap, path, &file)))
        return;
    const hn_json *tensors = hn_json_get(want, "tensors"), *keys = hn_json_get(want, "keys");
    for (const hn_json *t = tensors->as.children.first; t; t = t->next)
        check_tensor(t, hn_weights_find(hn_gguf_weights(file), t->key));
    for (const hn_json *k = keys->as.children.first; k; k = k->next)
        check_key(k, hn_gguf_meta(file));
    CHECK_INT((int64_t)tensors->as.children.n, (int64_t)hn_gguf_weights(file)->n);
    CHECK_INT((int64_t)keys->as.children.n, (int64_t)hn_gguf_meta(file)->n);
    hn_gguf_close(file);
}

static void check_same_weights(const char *a_path, const char *b_path)
{
    hn_safetensors a = { 0 }, b = { 0 };
    if (CHECK_OK(hn_safetensors_open(&heap, a_path, &a)) &&
        CHECK_OK(hn_safetensors_open(&heap, b_path, &b))) {
        hn_weights all = { .name = b_path, .entries = b.tensors, .n = b.n_tensors };
        CHECK_OK(hn_weights_index(&heap, &all));
        CHECK_INT((int64_t)a.n_tensors, (int64_t)b.n_tensors);
        for (size_t i = 0; i < a.n_tensors; i++) {
            const hn_weight_entry *x = &a.tensors[i], *y = hn_weights_find(&all, x->name);
            CHECK_THAT(y && hn_same_shape(&x->type, &y->type) && x->bytes == y->bytes &&
                           !memcmp(x->data, y->data, (size_t)x->bytes),
                       "tensor %s is another", x->name);
        }
        hn_free(&heap, all.index);
    }
    hn_safetensors_close(&a);
    hn_safetensors_close(&b);
}

static void check_model(const hn_json *want)
{
    char peft[300], base[300], weights[400];
    hn_watch watch = { 0 };
    check_group(want->key);
    snprintf(peft, sizeof peft, HERE "/adapters/%s", want->key);
    snprintf(base, sizeof base, HERE "/models/%s", want->key);
    if (!CHECK_OK(import_as(peft, base, HN_F32, path_of("a.gguf"))))
        return;
    check_import(want, path_of("a.gguf"));
    CHECK_OK(hn_adapter_export(&heap, pool, path_of("a.gguf"), NULL, base, NULL, hn_sink_own(path_of("peft")), false, &watch));
    snprintf(weights, sizeof weights, "%s/adapter_model.safetensors", peft);
    check_same_weights(weights, path_of("peft/adapter_model.safetensors"));
    CHECK_OK(import_as(path_of("peft"), base, HN_F32, path_of("b.gguf")));
    hn_gguf *a, *b;
    if (CHECK_OK(hn_gguf_open(&heap, path_of("a.gguf"), &a)) &&
        CHECK_OK(hn_gguf_open(&heap, path_of("b.gguf"), &b))) {
        for (size_t i = 0; i < hn_gguf_weights(a)->n; i++) {
            const hn_weight_entry *x = &hn_gguf_weights(a)->entries[i];
            const hn_weight_entry *y = hn_weights_find(hn_gguf_weights(b), x->name);
            CHECK_THAT(y && x->bytes == y->bytes && !memcmp(x->data, y->data, (size_t)x->bytes),
                       "tensor %s is another", x->name);
        }
        double alpha[2];
        CHECK_OK(hn_meta_double(hn_gguf_meta(a), "adapter.lora.alpha", 0, &alpha[0]));
        CHECK_OK(hn_meta_double(hn_gguf_meta(b), "adapter.lora.alpha", -1, &alpha[1]));
        CHECK(alpha[0] == alpha[1]);
        hn_gguf_close(a);
        hn_gguf_close(b);
    }
}

static void write_text(const char *path, const char *text)
{
    const hn_span span = { text, strlen(text) };
    CHECK_OK(hn_file_write(hn_sink_own(path), &span, 1));
}

/* An adapter in PEFT's names; every element tells its tensor and place. */
typedef struct made_tensor {
    const char *name;
    int64_t dim[2];
} made_tensor;

static void make_adapter(const char *config, const made_tensor *tensors, size_t n)
{
    hn_weight_entry entries[32] = { 0 };
    hn_weights_writer *writer;
    mkdir(path_of("made"), 0777);
    write_text(path_of("made/adapter_config.json"), config);
    for (size_t i = 0; i < n; i++) {
        entries[i].name = tensors[i].name;
        CHECK_OK(hn_type_make(&entries[i].type, HN_F32, 2, tensors[i].dim));
    }
    if (!CHECK_OK(hn_safetensors_create(&heap, hn_sink_own(path_of("made/adapter_model.safetensors")), NULL,
                                        entries, n, &writer)))
        return;
    for (size_t i = 0; i < n; i++)
        for (int64_t k = 0; k < tensors[i].dim[0] * tensors[i].dim[1]; k++) {
            uint8_t bytes[4];
            hn_store_32(bytes, hn_f32_bits((float)(1000 * (int64_t)i + k)));
            CHECK_OK(hn_weights_writer_put(writer, i, 4 * (uint64_t)k, bytes, 4));
        }
    CHECK_OK(hn_weights_writer_finish(writer));
}

#define Q "base_model.model.model.layers.0.self_attn.q_proj."
#define K "base_model.model.model.layers.0.self_attn.k_proj."
static const made_tensor pair[] = { { Q "lora_A.weight", { 4, 32 } },
                                    { Q "lora_B.weight", { 32, 4 } },
                                    { K "lora_A.weight", { 2, 32 } },
                                    { K "lora_B.weight", { 16, 2 } } };

static void check_root(void)
{
    hn_gguf *file;
    double alpha = 0;
    check_group("rsLoRA");
    make_adapter("{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":6,\"use_rslora\":true,"
                 "\"alora_invocation_tokens\":[5,6]}",
                 pair, 2);
    const char *base = HERE "/models/llama";
    if (CHECK_OK(import_as(path_of("made"), base, HN_BF16, path_of("r.gguf"))) &&
        CHECK_OK(hn_gguf_open(&heap, path_of("r.gguf"), &file))) {
        const hn_meta_value *tokens;
        CHECK_OK(hn_meta_double(hn_gguf_meta(file), "adapter.lora.alpha", 0, &alpha));
        CHECK(alpha == 12); /* 6 sqrt(4), over 4 as by GGUF: 6 / sqrt(4) */
        CHECK_TEXT("BF16", hn_gguf_weights(file)->entries[0].encoding);
        CHECK_OK(hn_meta_array(hn_gguf_meta(file), "adapter.alora.invocation_tokens",
                               HN_META_U32, &tokens));
        CHECK(tokens && tokens->n == 2 && hn_meta_item_int(tokens, 1) == 6);
        hn_gguf_close(file);
    }
    make_adapter("{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":6,\"use_rslora\":true}", pair,
                 4);
    CHECK_FAILS(import_as(path_of("made"), base, HN_F32, path_of("r.gguf")), HN_ERR_UNSUPPORTED,
                "k_proj.lora_A.weight: rank 2 beside 4 under use_rslora");
}

/* Mixtral's experts, one module each, are one tensor of three dimensions in GGUF. */
static void check_experts(void)
{
    made_tensor tensors[8];
    static char names[8][160];
    hn_gguf *file;
    hn_watch watch = { 0 };
    const char *base = HERE "/models/mixtral";
    check_group("experts");
    for (int i = 0; i < 8; i++) {
        snprintf(
            names[i], sizeof names[i],
            "base_model.model.model.layers.1.block_sparse_moe.experts.%d.w2.lora_%c.weight",
            i / 2, "AB"[i % 2]);
        tensors[i] = (made_tensor){ names[i], { i % 2 ? 32 : 3, i % 2 ? 3 : 48 } };
    }
    make_adapter("{\"peft_type\":\"LORA\",\"lora_alpha\":3}", tensors, 8);
    if (CHECK_OK(import_as(path_of("made"), base, HN_F32, path_of("e.gguf"))) &&
        CHECK_OK(hn_gguf_open(&heap, path_of("e.gguf"), &file))) {
        const hn_weight_entry *b =
            hn_weights_find(hn_gguf_weights(file), "blk.1.ffn_down_exps.weight.lora_b");
        CHECK_INT(2, (int64_t)hn_gguf_weights(file)->n);
        if (CHECK(b && b->type.rank == 3)) {
            CHECK_INT(4, b->type.dim[0]);
            CHECK_INT(32, b->type.dim[1]);
            CHECK(hn_f32_from_bits(hn_load_32(b->data + 4 * (2 * 96 + 5))) == 5005);
        }
        hn_gguf_close(file);
    }
    CHECK_OK(hn_adapter_export(&heap, pool, path_of("e.gguf"), NULL, base, NULL, hn_sink_own(path_of("peft")), true, &watch));
    check_same_weights(path_of("made/adapter_model.safetensors"),
                       path_of("peft/adapter_model.safetensors"));
    make_adapter("{\"peft_type\":\"LORA\",\"lora_alpha\":3}", tensors, 6);
    CHECK_FAILS(import_as(path_of("made"), base, HN_F32, path_of("e.gguf")), HN_ERR_FORMAT,
                "experts.3.w2.lora_A.weight is missing");
}

static void refused(const char *config, const made_tensor *tensors, size_t n, hn_status code,
                    const char *words)
{
    make_adapter(config, tensors, n);
    CHECK_FAILS(import_as(path_of("made"), HERE "/models/llama", HN_F32, path_of("no.gguf")),
                code, words);
    CHECK_THAT(strstr(hn_error_message(), "/made/") != NULL, "no file in: %s",
               hn_error_message());
    CHECK(access(path_of("no.gguf"), F_OK) != 0 &&
          !partial_is_left(path_of("no.gguf")));
}

#define CONFIG(more) "{\"peft_type\":\"LORA\",\"r\":4,\"rank_pattern\":{\"k_proj\":2},\"lora_alpha\":8" more "}"

/* What PEFT leaves out, or makes up. */
static void check_targets(void)
{
    static const char *const fit[] = {
        CONFIG(""), CONFIG(",\"use_what_comes\":null,\"then\":[]"), CONFIG(",\"target_modules\":null"),
        CONFIG(",\"target_modules\":[\"q_proj\",\"k_proj\",\"c_attn\"]"), CONFIG(",\"target_modules\":\".*_proj\""),
        CONFIG(",\"target_modules\":[\"self_attn.q_proj\",\"model.layers.0.self_attn.k_proj\"]"),
        CONFIG(",\"target_modules\":[\"q_proj\",\"k_proj\"],\"layers_to_transform\":[1,0]"),
        CONFIG(",\"target_modules\":[\"q_proj\",\"k_proj\"],\"layers_to_transform\":0,\"modules_to_save\":[\"score\"]"),
        CONFIG(",\"alpha_pattern\":{\".*\\\\.gate_up_proj\":16,\"q_proj\":8}"), /* of no module that is here */
    };
    static const struct {
        const char *config, *words;
    } others[] = {
        { CONFIG(",\"target_modules\":[\"q_proj\"]"), "does not name model.layers.0.self_attn.k_proj" },
        { CONFIG(",\"target_modules\":[\"proj\"]"), "does not name model.layers.0.self_attn.q_proj" },
        { CONFIG(",\"exclude_modules\":[\"q_proj\"]"), "does not name model.layers.0.self_attn.q_proj" },
        { CONFIG(",\"modules_to_save\":[\"self_attn\"]"), "does not name model.layers.0.self_attn.q_proj" },
        { CONFIG(",\"target_modules\":[\"q_proj\",\"k_proj\"],\"layers_to_transform\":[1]"), "does not name model.layers.0.self_attn.q_proj" },
        { CONFIG(",\"target_modules\":[\"q_proj\",\"k_proj\",\"v_proj\"]"), "no tensor of v_proj, which target_modules" },
        { CONFIG(",\"modules_to_save\":[\"lm_head\"]"), "no tensor of lm_head, which modules_to_save" },
        { CONFIG(",\"target_modules\":3"), "target_modules: expected an array, found an integer" },
        { CONFIG(",\"alpha_pattern\":3"), "alpha_pattern: expected an object, found an integer" },
        { "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":8}", "k_proj.lora_A.weight: rank 2: adapter_config.json says 4" },
        { "{\"peft_type\":\"LORA\",\"r\":0,\"lora_alpha\":8}", "r is 0" },
    };
    check_group("targets");
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        make_adapter(fit[i], pair, 4);
        CHECK_OK(import_as(path_of("made"), HERE "/models/llama", HN_F32, path_of("fit.gguf")));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        refused(others[i].config, pair, 4, HN_ERR_FORMAT, others[i].words);
}

static void check_refused(void)
{
    static const struct {
        const char *config, *words;
    } configs[] = {
        { CONFIG(",\"bias\":\"all\""), "bias" },
        { CONFIG(",\"lora_bias\":true"), "lora_bias" },
        { CONFIG(",\"layer_replication\":[[0,2]]"), "layer_replication" },
        { CONFIG(",\"trainable_token_indices\":[1]"), "trainable_token_indices" },
        { CONFIG(",\"alpha_pattern\":{\"q_proj\":3}"), "q_proj is 3" },
        { CONFIG(",\"alpha_pattern\":{\".*\\\\.q_proj\":3}"), "q_proj is 3" },
        { CONFIG(",\"alpha_pattern\":{\"[kq]_proj\":3}"), "[kq]_proj is 3" },
        { CONFIG(",\"init_lora_weights\":\"pissa_niter_4\""), "pissa_niter_4" },
        { CONFIG(",\"init_lora_weights\":\"OLoRA\""), "OLoRA trains over a changed base" },
        { CONFIG(",\"kasa_config\":{\"beta\":1}"), "kasa_config: a GGUF adapter cannot say it" },
        { CONFIG(",\"arrow_config\":{\"top_k\":1}"), "arrow_config" },
        { CONFIG(",\"monteclora_config\":{\"num_samples\":2}"), "monteclora_config" },
        { CONFIG(",\"ensure_weight_tying\":true"), "ensure_weight_tying" },
        { CONFIG(",\"use_what_comes\":true"), "use_what_comes: no key that is known" },
        { "{\"peft_type\":\"IA3\",\"lora_alpha\":8}", "peft_type: IA3" },
        { "{\"peft_type\":\"LORA\",\"lora_alpha\":0}", "lora_alpha is 0" },
    };
    check_group("refused");
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        refused(configs[i].config, pair, 4, HN_ERR_UNSUPPORTED, configs[i].words);
    refused("{\"peft_type\":\"LORA\"}", pair, 4, HN_ERR_FORMAT, "lora_alpha");
    refused(CONFIG(",\"use_dora\":true"), pair, 4, HN_ERR_FORMAT, "lora_magnitude_vector is missing");
    refused(CONFIG(""), pair, 3, HN_ERR_FORMAT, "k_proj.lora_B.weight is missing");
    refused(CONFIG(""), pair, 0, HN_ERR_FORMAT, "no tensors");
    made_tensor wrong[2] = { pair[0], pair[1] };
    wrong[1].dim[0] = 16;
    refused(CONFIG(""), wrong, 2, HN_ERR_SHAPE, "[4,32] and [16,4]: expected [rank,32]");
    wrong[1] = (made_tensor){ Q "lora_B.weight", { 32, 3 } };
    refused(CONFIG(""), wrong, 2, HN_ERR_SHAPE, "[4,32] and [32,3]");
    static const char *const odd[] = {
        "base_model.model.model.layers.9.self_attn.q_proj.lora_A.weight",
        "base_model.model.model.layers.0.self_attn.z_proj.lora_A.weight",
        "model.layers.0.self_attn.q_proj.lora_A.weight"
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const made_tensor three[] = { pair[0], pair[1], { odd[i], { 4, 32 } } };
        refused(CONFIG(""), three, 3, HN_ERR_UNSUPPORTED, odd[i]);
    }
    const made_tensor magnitude[] = { pair[0], pair[1], { Q "lora_magnitude_vector", { 4, 32 } } };
    refused(CONFIG(""), magnitude, 3, HN_ERR_FORMAT, "use_dora is not set");
    refused(CONFIG(",\"use_dora\":true"), magnitude, 3, HN_ERR_SHAPE, "has 128 elements: expected 32");
    const made_tensor whole[] = { pair[0], pair[1], { "base_model.model.lm_head.weight", { 4, 32 } } };
    refused(CONFIG(""), whole, 3, HN_ERR_FORMAT, "modules_to_save is not set");
    refused(CONFIG(",\"modules_to_save\":[\"lm_head\"]"), whole, 3, HN_ERR_SHAPE, "its shape does not fit output");
    const made_tensor kept[] = { pair[0], pair[1], { "base_model.model.lm_head.base_layer.weight", { 331, 32 } } };
    refused(CONFIG(""), kept, 3, HN_ERR_UNSUPPORTED, "is not output.weight of");
    hn_watch watch = { 0 };
    make_adapter(CONFIG(""), pair, 4);
    CHECK_OK(import_as(path_of("made"), HERE "/models/llama", HN_F32, path_of("a.gguf")));
    CHECK_FAILS(hn_adapter_export(&heap, pool, path_of("a.gguf"), NULL, HERE "/models/qwen3",
                                  NULL, hn_sink_own(path_of("peft")), false, &watch),
                HN_ERR_UNSUPPORTED, "general.architecture: llama: expected qwen3");
    CHECK_FAILS(hn_adapter_export(&heap, pool, path_of("a.gguf"), NULL, HERE "/models/llama-tied",
                                  NULL, hn_sink_own(path_of("peft")), false, &watch),
                HN_ERR_SHAPE, "blk.0.attn_q.weight.lora_a");
    CHECK_FAILS(import_as(path_of("made"), path_of("none"), HN_F32, path_of("no.gguf")),
                HN_ERR_IO, "none: No such file");
}

int main(int argc, char **argv)
{
    void *text = NULL;
    size_t bytes;
    hn_json_text *json = NULL;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK(mkdtemp(dir) != NULL) && CHECK_OK(hn_pool_new(&heap, 2, &pool)) &&
        CHECK_OK(hn_file_read(&heap, HERE "/adapters.json", 1 << 24, &text, &bytes)) &&
        CHECK_OK(hn_json_read(&heap, "adapters.json", text, bytes, &json))) {
        for (const hn_json *m = hn_json_root(json)->as.children.first; m; m = m->next)
            check_model(m);
        check_root();
        check_experts();
        check_targets();
        check_refused();
    }
    hn_free(&heap, text);
    hn_json_free(json);
    hn_pool_free(pool);
    CHECK_INT(0, heap.live_blocks);
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK(system(command) == 0);
    return check_close();
}
