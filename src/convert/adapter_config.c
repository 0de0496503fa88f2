/* Reading refuses the keys that change what an adapter computes and have no place in GGUF; what only says how it
 * was trained is let pass. Writing says no more than is needed to load it. */
#include "convert/adapter_config.h"

#include "base/ascii.h"
#include "base/file.h"
#include "convert/adapter_targets.h"
#include "infer/adapter.h"

#include <math.h>
#include <string.h>

enum { MAX_CONFIG = 16 << 20 };

static bool is_nothing(const hn_json *v)
{
    if (!v || v->kind == HN_JSON_NULL)
        return true;
    if (v->kind == HN_JSON_ARRAY || v->kind == HN_JSON_OBJECT)
        return hn_json_count(v) == 0;
    return v->kind == HN_JSON_BOOL && !hn_json_is_true(v);
}

/* PEFT's LoraConfig (0.21), and keys of versions before. A key of a later one that asks for nothing (null, false, an
 * empty list) is how its configurations say that they do without. */
static const char *const used[] = { "peft_type", "r", "lora_alpha", "rank_pattern", "alpha_pattern", "bias", "use_rslora",
                                    "use_dora", "init_lora_weights", "alora_invocation_tokens", "modules_to_save",
                                    "target_modules", "target_parameters", "exclude_modules", "layers_to_transform",
                                    "layers_pattern" };
/* How it was trained or stored, for whom, and what begins from: what it computes, loaded, hangs on none. Layers that are
 * transposed (fan_in_fan_out) are none of a model's here, and PEFT drops a runtime_config that it finds. */
static const char *const needless[] = { "task_type", "auto_mapping", "peft_version", "base_model_name_or_path", "revision",
                                        "inference_mode", "lora_dropout", "fan_in_fan_out", "megatron_config",
                                        "megatron_core", "loftq_config", "eva_config", "corda_config", "lora_ga_config",
                                        "velora_config", "qalora_group_size", "runtime_config", "merge_weights" };
/* What no adapter in a GGUF has a word for. */
static const char *const wordless[] = { "lora_bias", "layer_replication", "use_qalora", "trainable_token_indices",
                                        "use_bdlora", "arrow_config", "kasa_config", "monteclora_config",
                                        "ensure_weight_tying", "enable_lora" };

static bool is_listed(const char *const *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], key))
            return true;
    return false;
}
#define LISTS(list, key) is_listed(list, sizeof(list) / sizeof *(list), key)

static hn_status check_keys(const hn_json *root)
{
    for (const hn_json *v = hn_json_first(root); v; v = v->next) {
        if (LISTS(used, v->key) || LISTS(needless, v->key) || is_nothing(v))
            continue;
        HN_REQUIRE(!LISTS(wordless, v->key), HN_ERR_UNSUPPORTED, "%s: a GGUF adapter cannot say it", v->key);
        return hn_fail(HN_ERR_UNSUPPORTED, "%s: no key that is known of PEFT's LoRA", v->key);
    }
    const hn_json *bias = hn_json_get(root, "bias");
    HN_REQUIRE(is_nothing(bias) ||
                   !strcmp(hn_json_string(bias), "none"),
               HN_ERR_UNSUPPORTED, "bias: a GGUF adapter has none: expected \"none\"");
    return HN_OK;
}

/* These begin by changing the base itself: on the base as it was, the adapter is wrong. */
static hn_status check_start(const hn_json *root)
{
    static const char *const kinds[] = { "pissa", "olora", "corda", "loftq", "lora_ga" };
    const hn_json *init = hn_json_get(root, "init_lora_weights");
    for (size_t i = 0; init && init->kind == HN_JSON_STRING && i < sizeof kinds / sizeof *kinds;
         i++)
        HN_REQUIRE(
            !hn_ascii_same_n(hn_json_string(init), kinds[i], strlen(kinds[i])), HN_ERR_UNSUPPORTED,
            "init_lora_weights: %s trains over a changed base; save it converted to LoRA",
            hn_json_string(init));
    return HN_OK;
}

static hn_status read_switch(const hn_json *root, const char *key, bool *out)
{
    const hn_json *v = hn_json_get(root, key);
    *out = false;
    return v && v->kind != HN_JSON_NULL ? hn_json_want_bool(v, key, out) : HN_OK;
}

static hn_status read_tokens(hn_heap *heap, const hn_json *root, hn_meta *meta)
{
    const hn_json *list = hn_json_get(root, "alora_invocation_tokens");
    if (is_nothing(list))
        return HN_OK;
    HN_REQUIRE(list->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "alora_invocation_tokens: expected an array");
    int64_t *ids = hn_alloc_array(heap, HN_TAG_FILE, hn_json_count(list), sizeof *ids);
    hn_status status = ids ? HN_OK : HN_ERR_MEMORY;
    size_t n = 0;
    for (const hn_json *v = hn_json_first(list); v && status == HN_OK; v = v->next)
        status = hn_json_want_int(v, "alora_invocation_tokens", &ids[n++]);
    if (status == HN_OK)
        status = hn_meta_set_ints(meta, HN_ADAPTER_INVOCATION, HN_META_U32, ids, n);
    hn_free(heap, ids);
    return status;
}

static hn_status read_root(hn_heap *heap, const hn_json *root, hn_adapter_config *out,
                           hn_meta *meta)
{
    const char *type;
    HN_REQUIRE(root->kind == HN_JSON_OBJECT, HN_ERR_FORMAT, "expected an object");
    HN_TRY(hn_json_want_string(hn_json_get(root, "peft_type"), "peft_type", &type));
    HN_REQUIRE(!strcmp(type, "LORA"), HN_ERR_UNSUPPORTED, "peft_type: %s: expected LORA", type);
    HN_TRY(hn_json_want_double(hn_json_get(root, "lora_alpha"), "lora_alpha", &out->alpha));
    HN_REQUIRE(out->alpha != 0 && isfinite(out->alpha), HN_ERR_UNSUPPORTED,
               "lora_alpha is %g: the adapter does nothing", out->alpha);
    HN_TRY(check_keys(root));
    HN_TRY(hn_adapter_targets_check(root));
    HN_TRY(check_start(root));
    HN_TRY(read_switch(root, "use_rslora", &out->has_root));
    HN_TRY(read_switch(root, "use_dora", &out->is_dora));
    out->saves_modules = !is_nothing(hn_json_get(root, "modules_to_save"));
    return read_tokens(heap, root, meta);
}

hn_status hn_adapter_config_read(hn_heap *heap, const char *path, hn_adapter_config *out,
                                 hn_meta *meta)
{
    void *bytes;
    size_t n;
    HN_TRY(hn_file_read(heap, path, MAX_CONFIG, &bytes, &n));
    hn_status status = hn_json_read(heap, path, bytes, n, &out->text);
    hn_free(heap, bytes);
    HN_TRY(status);
    status = read_root(heap, hn_json_root(out->text), out, meta);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", path);
}

void hn_adapter_config_close(hn_adapter_config *config)
{
    hn_json_free(config->text);
    config->text = NULL;
}

static void add_number(hn_json_writer *json, double value)
{
    if (value == floor(value) && fabs(value) < 0x1p53)
        hn_json_add_int(json, (int64_t)value);
    else
        hn_json_add_double(json, value);
}

/* The rank of the first that has one. */
static int64_t first_rank(const hn_adapter_told *told)
{
    for (size_t i = 0; i < told->n; i++)
        if (told->targets[i].rank)
            return told->targets[i].rank;
    return 1;
}

/* Targets whose rank is not the first one's. */
static void add_pattern(hn_json_writer *json, const char *key, const hn_adapter_told *told, size_t n)
{
    hn_json_key(json, key);
    hn_json_begin_object(json);
    for (size_t i = 0; i < n; i++) {
        const hn_adapter_target *t = &told->targets[i];
        if (!t->rank || t->rank == first_rank(told))
            continue;
        hn_json_key(json, t->name);
        hn_json_add_int(json, t->rank);
    }
    hn_json_end_object(json);
}

static void add_targets(hn_json_writer *json, const hn_adapter_told *told)
{
    static const char *const keys[HN_N_PEFT_KINDS] = { "target_modules", "target_parameters",
                                                       "modules_to_save" };
    for (int kind = 0; kind < HN_N_PEFT_KINDS; kind++) {
        size_t n = 0;
        for (size_t i = 0; i < told->n; i++)
            n += (int)told->targets[i].kind == kind;
        if (!n && kind != HN_PEFT_MODULE)
            continue;
        hn_json_key(json, keys[kind]);
        hn_json_begin_array(json);
        for (size_t i = 0; i < told->n; i++)
            if ((int)told->targets[i].kind == kind)
                hn_json_add_string(json, told->targets[i].name);
        hn_json_end_array(json);
    }
    if (told->is_dora) {
        hn_json_key(json, "use_dora");
        hn_json_add_bool(json, true);
    }
}

static hn_status add_tokens(hn_json_writer *json, const hn_meta *meta)
{
    const hn_meta_value *tokens;
    HN_TRY(hn_meta_array(meta, HN_ADAPTER_INVOCATION, HN_META_U32, &tokens));
    if (!tokens || !tokens->n)
        return HN_OK;
    hn_json_key(json, "alora_invocation_tokens");
    hn_json_begin_array(json);
    for (uint64_t i = 0; i < tokens->n; i++)
        hn_json_add_int(json, hn_meta_item_int(tokens, i));
    hn_json_end_array(json);
    return HN_OK;
}

static void add_words(hn_json_writer *json)
{
    static const char *const words[][2] = { { "peft_type", "LORA" },
                                            { "task_type", "CAUSAL_LM" },
                                            { "bias", "none" } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        hn_json_key(json, words[i][0]);
        hn_json_add_string(json, words[i][1]);
    }
    hn_json_key(json, "base_model_name_or_path");
    hn_json_add_null(json);
    hn_json_key(json, "inference_mode");
    hn_json_add_bool(json, true);
    hn_json_key(json, "lora_dropout");
    hn_json_add_double(json, 0.0);
}

hn_status hn_adapter_config_write(hn_heap *heap, hn_sink to, const hn_meta *meta,
                                  const hn_adapter_told *told)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    add_words(&json);
    hn_json_key(&json, "r");
    hn_json_add_int(&json, first_rank(told));
    hn_json_key(&json, "lora_alpha");
    add_number(&json, told->alpha != 0 ? told->alpha : (double)first_rank(told));
    add_pattern(&json, "rank_pattern", told, told->n);
    add_pattern(&json, "alpha_pattern", told, told->alpha != 0 ? 0 : told->n);
    add_targets(&json, told);
    hn_status status = add_tokens(&json, meta);
    hn_json_end_object(&json);
    hn_str_add(&text, "\n");
    if (status == HN_OK)
        status = hn_str_status(&text);
    const hn_span span = { text.text, text.length };
    if (status == HN_OK)
        status = hn_file_write(to, &span, 1);
    hn_str_free(&text);
    return status;
}
