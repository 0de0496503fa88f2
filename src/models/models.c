/* Numbers are read, then settled by the architecture, then held to each other and to the tensors; what a class
 * leaves out when it is the usual is filled in between. So a model that opens can be built. */
#include "models/models.h"

#include "base/nearest.h"
#include "nn/meta_keys.h"

#include <math.h>
#include <string.h>

#define HN_MODEL(name) &hn_arch_##name,
const hn_arch *const hn_archs[] = {
#include "models/models.def"
    NULL
};
#undef HN_MODEL

const char *const hn_decoder_prefixes[] = { "model.", "model.language_model.",
                                            "language_model.model.", "", NULL };

const char *const hn_decoder_ignored[] = { "*.rotary_emb.inv_freq",  "*.vision_tower.*",
                                           "vision_tower.*",         "model.visual.*",
                                           "*.audio_tower.*",        "audio_tower.*",
                                           "*multi_modal_projector.*", "*.embed_vision.*",
                                           "*.embed_audio.*",        NULL };

hn_status hn_arch_named(const char *name, const hn_arch **out)
{
    for (int i = 0; hn_archs[i]; i++)
        if (!strcmp(hn_archs[i]->name, name)) {
            *out = hn_archs[i];
            return HN_OK;
        }
    *out = NULL;
    char text[HN_NEAREST_TEXT];
    hn_nearest near = hn_nearest_to(name, strlen(name));
    for (int i = 0; hn_archs[i]; i++)
        hn_nearest_try(&near, hn_archs[i]->name);
    return hn_fail(HN_ERR_UNSUPPORTED, "architecture %s is not supported%s", name,
                   hn_nearest_text(&near, "", text));
}

/* What Transformers calls the same model without its head: "MistralModel" of "MistralForCausalLM". */
static bool is_base_of(const char *name, const char *class)
{
    static const char head[] = "ForCausalLM";
    const size_t n = strlen(class), stem = n > strlen(head) ? n - strlen(head) : 0;
    return stem && !strcmp(class + stem, head) && !strncmp(name, class, stem) &&
           (!strcmp(name + stem, "Model") || !strcmp(name + stem, "TextModel"));
}

static bool is_base(const hn_arch *arch, const char *name)
{
    bool is = false;
    for (int k = 0; arch->classes[k]; k++)
        is = is || is_base_of(name, arch->classes[k]);
    return is;
}

hn_status hn_arch_of_config(const hn_json *config, const hn_arch **out)
{
    const hn_json *classes = hn_json_get(config, "architectures");
    const char *name;
    *out = NULL;
    HN_REQUIRE(hn_json_at(classes, 0), HN_ERR_FORMAT,
               "config.json: architectures: expected an array of one name");
    HN_TRY(hn_json_want_string(hn_json_at(classes, 0), "config.json: architectures", &name));
    for (int i = 0; hn_archs[i]; i++)
        for (int k = 0; hn_archs[i]->classes[k]; k++)
            if (!strcmp(hn_archs[i]->classes[k], name) || is_base_of(name, hn_archs[i]->classes[k])) {
                *out = hn_archs[i];
                return HN_OK;
            }
    return hn_fail(HN_ERR_UNSUPPORTED, "config.json: architecture %s is not supported", name);
}

/* What every decoder leaves out when it is the usual. */
static hn_status settle(const hn_arch *arch, hn_hparams *hp)
{
    HN_REQUIRE(hp->n_head[0] > 0 && hp->width > 0, HN_ERR_FORMAT,
               "%s: the width or the number of heads is missing", arch->name);
    for (int64_t i = 0; i < hp->n_layer; i++) {
        HN_REQUIRE(hp->n_head[i] > 0, HN_ERR_FORMAT, "%s: layer %lld has %lld heads",
                   arch->name, (long long)i, (long long)hp->n_head[i]);
        if (!hp->has[HN_HP_n_kv_head])
            hp->n_kv_head[i] = hp->n_head[i];
        HN_REQUIRE(hp->n_kv_head[i] > 0 && hp->n_head[i] % hp->n_kv_head[i] == 0,
                   HN_ERR_FORMAT, "%s: layer %lld: %lld heads over %lld key heads", arch->name,
                   (long long)i, (long long)hp->n_head[i], (long long)hp->n_kv_head[i]);
    }
    HN_REQUIRE(!hp->n_expert || hp->n_used <= hp->n_expert, HN_ERR_FORMAT,
               "%s: %lld experts a token of %lld", arch->name, (long long)hp->n_used,
               (long long)hp->n_expert);
    HN_REQUIRE(hp->has[HN_HP_head_dim] || hp->width % hp->n_head[0] == 0, HN_ERR_FORMAT,
               "%s: a width of %lld is no multiple of %lld heads", arch->name,
               (long long)hp->width, (long long)hp->n_head[0]);
    if (!hp->has[HN_HP_head_dim])
        hp->head_dim = hp->width / hp->n_head[0];
    if (!hp->has[HN_HP_value_dim])
        hp->value_dim = hp->has[HN_HP_head_dim] ? hp->head_dim : hp->width / hp->n_head[0];
    if (!hp->has[HN_HP_rope_dim])
        hp->rope_dim = hp->head_dim;
    return HN_OK;
}

static bool has_row(const hn_config *c, const char *name)
{
    const hn_key_row *row = hn_key_named(c->tables, c->class, name);
    return row && !row->note;
}

/* 0 where it is what the table says of an absent key. */
static hn_status read_activation(const hn_config *c, hn_hparams *hp)
{
    const char *key = has_row(c, "hidden_activation")     ? "hidden_activation"
                      : has_row(c, "activation_function") ? "activation_function"
                                                          : "hidden_act";
    const char *word;
    if (!has_row(c, key))
        return HN_OK;
    const hn_key_row *row = hn_key_named(c->tables, c->class, key);
    hn_activation usual;
    HN_TRY(hn_config_word(c, key, &word));
    HN_TRY(hn_activation_named(row->otherwise, &usual));
    if (hn_activation_named(word, &hp->activation) != HN_OK)
        return hn_config_refuse(c, key, HN_ERR_UNSUPPORTED,
                                "expected silu, gelu, gelu_pytorch_tanh, quick_gelu, relu, relu2, "
                                "tanh or mish");
    if (hp->activation == usual)
        hp->activation = HN_ACT_USUAL;
    return HN_OK;
}

/* A row of the embedding that may be told apart: the class would not open with another. */
static hn_status check_padding(const hn_config *c, const hn_hparams *hp)
{
    int64_t id;
    HN_TRY(hn_config_int(c, "pad_token_id", &id, NULL));
    return id < hp->n_vocab && id >= -hp->n_vocab
               ? HN_OK
               : hn_config_refuse(c, "pad_token_id", HN_ERR_FORMAT,
                                  "there is no such row of the embedding");
}

static hn_status read_keys(const hn_arch *arch, const hn_config *c, hn_hparams *out)
{
    HN_TRY(hn_hparams_read_config(c, out));
    HN_TRY(read_activation(c, out));
    if (has_row(c, "attention_bias"))
        HN_TRY(hn_config_flag(c, "attention_bias", &out->has_attn_bias));
    if (has_row(c, "mlp_bias"))
        HN_TRY(hn_config_flag(c, "mlp_bias", &out->has_mlp_bias));
    HN_TRY(check_padding(c, out));
    if (arch->read_config)
        HN_TRY(arch->read_config(c, out));
    return settle(arch, out);
}

hn_status hn_arch_read_config(const hn_arch *arch, const hn_json *root, const hn_ignored *ignored,
                              hn_hparams *out)
{
    const char *class;
    hn_config c, text;
    HN_TRY(hn_json_want_string(hn_json_at(hn_json_get(root, "architectures"), 0),
                               "config.json: architectures", &class));
    HN_TRY(hn_config_check_ignored(root, ignored));
    if (!arch->outer || !hn_json_get(root, "text_config")) {
        HN_TRY(hn_config_open(root, arch->tables, class, ignored, &c));
        HN_TRY(read_keys(arch, &c, out));
        out->is_headless = !out->is_tied && is_base(arch, class);
        return HN_OK;
    }
    HN_TRY(hn_config_open(root, arch->outer, class, ignored, &c));
    HN_TRY(hn_config_within(&c, "text_config", &text));
    HN_TRY(read_keys(arch, &text, out));
    return hn_config_flag(&c, "tie_word_embeddings", &out->is_tied);
}

hn_status hn_gemma_read_caps(const hn_config *c, hn_hparams *hp)
{
    if (hp->has[HN_HP_final_softcap] && hp->final_softcap == 0)
        return hn_config_refuse(c, "final_logit_softcapping", HN_ERR_FORMAT,
                                "logits are divided by it");
    if (hp->has[HN_HP_attn_softcap] && hp->attn_softcap == 0)
        return hn_config_refuse(c, "attn_logit_softcapping", HN_ERR_FORMAT,
                                "scores are divided by it");
    hp->final_softcap = fabs(hp->final_softcap);
    hp->attn_softcap = fabs(hp->attn_softcap);
    return HN_OK;
}

/* Windows of layers that GGUF's architecture knows none of. */

hn_status hn_window_settle(bool slides, hn_hparams *hp)
{
    bool has_any = false;
    for (int64_t i = 0; i < hp->n_layer; i++)
        has_any = has_any || hp->is_sliding[i];
    HN_REQUIRE(!has_any || !slides || hp->window > 0, HN_ERR_UNSUPPORTED,
               "config.json: sliding_window is %lld: expected at least 1", (long long)hp->window);
    HN_REQUIRE(!has_any || slides, HN_ERR_UNSUPPORTED,
               "config.json: layer_types: layers slide, and there is no window");
    if (!has_any || !slides)
        hp->window = 0;
    hp->has_pattern = has_any;
    return HN_OK;
}

hn_status hn_window_read_config(const hn_config *c, hn_hparams *hp)
{
    bool slides, has_window;
    int64_t first;
    HN_TRY(hn_config_flag(c, "use_sliding_window", &slides));
    HN_TRY(hn_config_int(c, "sliding_window", &hp->window, &has_window));
    HN_TRY(hn_config_int(c, "max_window_layers", &first, NULL));
    for (int64_t i = 0; !hp->has_pattern && i < hp->n_layer; i++)
        hp->is_sliding[i] = slides && has_window && i >= first;
    return hn_window_settle(slides && has_window, hp);
}

hn_status hn_window_write_layers(const hn_hparams *hp, int64_t period, hn_meta *meta)
{
    int64_t list[HN_MAX_LAYERS];
    bool is_usual = period > 0;
    for (int64_t i = 0; i < hp->n_layer; i++) {
        list[i] = hp->is_sliding[i];
        is_usual = is_usual && hp->is_sliding[i] == ((i + 1) % period != 0);
    }
    return is_usual ? HN_OK
                    : hn_meta_set_ints(meta, "hone.sliding_layers", HN_META_U8, list,
                                       (size_t)hp->n_layer);
}

static hn_status write_window(const hn_hparams *hp, hn_meta *meta)
{
    HN_TRY(hn_meta_set_int(meta, "hone.sliding_window", HN_META_U32, hp->window));
    return hn_window_write_layers(hp, 0, meta);
}

static hn_status read_window(const hn_meta *meta, hn_hparams *hp)
{
    const hn_meta_value *list;
    HN_TRY(hn_meta_array(meta, "hone.sliding_layers", HN_META_U8, &list));
    HN_REQUIRE(list || !hn_meta_find(meta, "hone.sliding_window"), HN_ERR_FORMAT,
               "%s: key hone.sliding_window: expected hone.sliding_layers beside it", meta->name);
    if (!list)
        return HN_OK;
    HN_REQUIRE(list->n == (uint64_t)hp->n_layer, HN_ERR_FORMAT,
               "%s: key hone.sliding_layers: expected one for each of %lld layers", meta->name,
               (long long)hp->n_layer);
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = list->data[i] != 0;
    hp->has_pattern = true;
    if (hp->has[HN_HP_window])
        return HN_OK;
    HN_TRY(hn_meta_want_int(meta, "hone.sliding_window", &hp->window));
    return hn_hparams_check_int(meta->name, "hone.sliding_window", hp->window);
}

static hn_status read_written_activation(const hn_meta *meta, hn_hparams *hp)
{
    char *word;
    HN_TRY(hn_meta_text(meta, "hone.activation", &word));
    if (!word)
        return HN_OK;
    const hn_status status = hn_activation_named(word, &hp->activation);
    hn_free(meta->heap, word);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: key hone.activation: ", meta->name);
}

/* What tensors say: heads of their own, biases, rope's divisors. */
static void look_at_tensors(const hn_weights *weights, hn_hparams *hp)
{
    hp->is_tied = !hn_weights_find(weights, "output.weight");
    hp->has_divisors = hn_weights_find(weights, "rope_freqs.weight") != NULL;
    if (hp->has_divisors && hp->rope_scaling == HN_ROPE_NONE)
        hp->rope_scaling = HN_ROPE_LLAMA3;
    const hn_weight_entry *factors = hn_weights_find(weights, "rope_factors_short.weight");
    if (factors && factors->type.rank == 1 && factors->type.dim[0] <= HN_MAX_ROPE_FACTORS) {
        hp->n_rope_factors = (int)factors->type.dim[0];
        if (!hp->has[HN_HP_rope_limit])
            hp->rope_limit = hp->rope_orig_ctx ? hp->rope_orig_ctx : hp->n_ctx;
    }
    hp->has_attn_bias = hp->has_mlp_bias = hp->biases_may_miss = true;
}

/* Rope's divisors: of each pair one, above 0. */
static hn_status check_divisors(const hn_meta *meta, const hn_weights *weights)
{
    static const char *const names[] = { "rope_freqs.weight", "rope_factors_short.weight",
                                         "rope_factors_long.weight" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const hn_weight_entry *e = hn_weights_find(weights, names[i]);
        if (!e || !e->data || e->type.dtype != HN_F32 || e->type.rank != 1)
            continue;
        const hn_tensor t = hn_tensor_at(&e->type, (void *)(uintptr_t)e->data);
        for (int64_t k = 0; k < e->type.dim[0]; k++) {
            const double x = hn_get(&t, k);
            HN_REQUIRE(x >= 0x1p-126 && x <= 0x1p127, HN_ERR_FORMAT,
                       "%s: tensor %s: number %lld is %g: expected a number above 0", meta->name,
                       names[i], (long long)k, x);
        }
    }
    return HN_OK;
}

/* The embedding, its tokens and vocab_size are of one vocabulary. */
static hn_status check_vocab(const hn_arch *arch, const hn_meta *meta, const hn_hparams *hp)
{
    const hn_meta_value *tokens = hn_meta_find(meta, "tokenizer.ggml.tokens");
    HN_REQUIRE(!hp->has[HN_HP_vocab_size] || hp->vocab_size == hp->n_vocab, HN_ERR_FORMAT,
               "%s: key %s.vocab_size is %lld: expected the %lld rows of the embedding", meta->name,
               arch->name, (long long)hp->vocab_size, (long long)hp->n_vocab);
    HN_REQUIRE(!tokens || (int64_t)tokens->n == hp->n_vocab, HN_ERR_FORMAT,
               "%s: key tokenizer.ggml.tokens is an array of %llu: expected the %lld rows of the "
               "embedding", meta->name, (unsigned long long)tokens->n, (long long)hp->n_vocab);
    return HN_OK;
}

/* Numbers that deny each other. */
static hn_status check_experts(const hn_arch *arch, const hn_meta *meta, const hn_hparams *hp)
{
    HN_REQUIRE(hp->n_used <= hp->n_expert && !hp->n_expert == !hp->n_used, HN_ERR_FORMAT,
               "%s: key %s.expert_used_count is %lld: expected %s of %s.expert_count, %lld",
               meta->name, arch->name, (long long)hp->n_used, hp->n_expert ? "1 or more" : "0",
               arch->name, (long long)hp->n_expert);
    return HN_OK;
}

static hn_status check_turning(const hn_arch *arch, const hn_meta *meta, const hn_hparams *hp)
{
    const bool has = hp->has[HN_HP_rope_dim];
    const int64_t local = hp->has[HN_HP_head_dim_swa] ? hp->head_dim_swa : hp->head_dim;
    if (!hn_key_of_field(arch->tables, HN_HP_rope_dim))
        return HN_OK;
    HN_REQUIRE(hp->rope_dim <= hp->head_dim && hp->rope_dim % 2 == 0, HN_ERR_FORMAT,
               "%s: key %s.%s is %lld: expected an even number to turn, at most the %lld of a head",
               meta->name, arch->name, has ? "rope.dimension_count" : "attention.key_length",
               (long long)hp->rope_dim, (long long)hp->head_dim);
    HN_REQUIRE(hp->rope_dim_swa <= local && hp->rope_dim_swa % 2 == 0, HN_ERR_FORMAT,
               "%s: key %s.rope.dimension_count_swa is %lld: expected an even number, at most the "
               "%lld of a head", meta->name, arch->name, (long long)hp->rope_dim_swa,
               (long long)local);
    return HN_OK;
}

hn_status hn_arch_read_meta(const hn_arch *arch, const hn_meta *meta, const hn_weights *weights,
                            const hn_ignored *ignored, hn_hparams *out)
{
    HN_TRY(hn_meta_check_keys(meta, arch->name, arch->tables, ignored));
    HN_TRY(hn_hparams_read_meta(meta, arch->name, arch->tables, out));
    const hn_weight_entry *embd = hn_weights_find(weights, "token_embd.weight");
    const hn_meta_value *tokens = hn_meta_find(meta, "tokenizer.ggml.tokens");
    out->n_vocab = embd && embd->type.rank == 2 ? embd->type.dim[0]
                   : tokens                     ? (int64_t)tokens->n
                                                : out->vocab_size;
    HN_TRY(check_vocab(arch, meta, out));
    HN_TRY(check_divisors(meta, weights));
    look_at_tensors(weights, out);
    HN_TRY(hn_meta_bool(meta, "hone.headless", false, &out->is_headless));
    HN_REQUIRE(!out->is_headless || out->is_tied, HN_ERR_FORMAT, "%s: key hone.headless is true beside output.weight", meta->name);
    out->is_tied = out->is_tied && !out->is_headless;
    HN_TRY(read_window(meta, out));
    HN_TRY(read_written_activation(meta, out));
    if (arch->read_meta)
        HN_TRY(arch->read_meta(meta, weights, out));
    HN_TRY(check_experts(arch, meta, out));
    HN_TRY(settle(arch, out));
    return check_turning(arch, meta, out);
}

hn_status hn_arch_write_meta(const hn_arch *arch, const hn_hparams *hp, hn_meta *meta)
{
    HN_TRY(hn_meta_set_text(meta, "general.architecture", arch->name));
    HN_TRY(hn_hparams_write_meta(hp, arch->name, arch->tables, meta));
    if (hp->window && hp->has_pattern && !hp->has[HN_HP_window])
        HN_TRY(write_window(hp, meta));
    if (hp->activation != HN_ACT_USUAL)
        HN_TRY(hn_meta_set_text(meta, "hone.activation", hn_activation_word(hp->activation)));
    if (hp->is_headless)
        HN_TRY(hn_meta_set_bool(meta, "hone.headless", true));
    return arch->write_meta ? arch->write_meta(hp, meta) : HN_OK;
}
