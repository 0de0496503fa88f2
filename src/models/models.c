#include "models/models.h"

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
    return hn_fail(HN_ERR_UNSUPPORTED, "architecture %s is not supported", name);
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
            if (!strcmp(hn_archs[i]->classes[k], name)) {
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
    if (!hp->has[HN_HP_head_dim])
        hp->head_dim = hp->width / hp->n_head[0];
    if (!hp->has[HN_HP_value_dim])
        hp->value_dim = hp->has[HN_HP_head_dim] ? hp->head_dim : hp->width / hp->n_head[0];
    if (!hp->has[HN_HP_rope_dim])
        hp->rope_dim = hp->head_dim;
    return HN_OK;
}

hn_status hn_arch_read_config(const hn_arch *arch, const hn_json *config, hn_hparams *out)
{
    HN_TRY(hn_hparams_read_config(config, out));
    if (arch->read_config)
        HN_TRY(arch->read_config(config, out));
    return settle(arch, out);
}

hn_status hn_arch_read_meta(const hn_arch *arch, const hn_meta *meta, const hn_weights *weights,
                            hn_hparams *out)
{
    HN_TRY(hn_hparams_read_meta(meta, arch->name, out));
    const hn_weight_entry *embd = hn_weights_find(weights, "token_embd.weight");
    const hn_meta_value *tokens = hn_meta_find(meta, "tokenizer.ggml.tokens");
    out->n_vocab = embd && embd->type.rank == 2 ? embd->type.dim[0]
                   : tokens                     ? (int64_t)tokens->n
                                                : out->vocab_size;
    out->is_tied = !hn_weights_find(weights, "output.weight");
    const hn_weight_entry *divisors = hn_weights_find(weights, "rope_freqs.weight");
    if (divisors)
        out->rope_scaling = HN_ROPE_LLAMA3;
    if (arch->read_meta)
        HN_TRY(arch->read_meta(meta, weights, out));
    return settle(arch, out);
}

hn_status hn_arch_write_meta(const hn_arch *arch, const hn_hparams *hp, hn_meta *meta)
{
    HN_TRY(hn_meta_set_text(meta, "general.architecture", arch->name));
    HN_TRY(hn_hparams_write_meta(hp, arch->name, meta));
    return arch->write_meta ? arch->write_meta(hp, meta) : HN_OK;
}
