/* olmoe: queries and keys normed over the whole projection, 64 experts whose weights are not
 * renormalised. */
#include "models/models.h"

static const char *const classes[] = { "OlmoeForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROWS_ATTENTION(0),
    { ".attn_q_norm.weight", ".self_attn.q_norm.weight",         "H*D", 0, HN_ALWAYS },
    { ".attn_k_norm.weight", ".self_attn.k_norm.weight",         "G*D", 0, HN_ALWAYS },
    { ".ffn_norm.weight",    ".post_attention_layernorm.weight", "C",   0, HN_ALWAYS },
    HN_ROWS_EXPERTS,
    { 0 },
};
/* clang-format on */

/* Its experts' width is the model's feed-forward width. */
static hn_status read_config(const hn_json *config, hn_hparams *hp)
{
    HN_REQUIRE(!hn_config_find(config, "clip_qkv"), HN_ERR_UNSUPPORTED,
               "config.json: clip_qkv: not supported for olmoe");
    HN_TRY(hn_config_flag(config, "norm_topk_prob", false, &hp->expert_norm));
    HN_REQUIRE(!hp->expert_norm, HN_ERR_UNSUPPORTED,
               "config.json: norm_topk_prob: not supported for olmoe");
    HN_HP_SET(hp, rms_eps, 1e-5);
    hp->expert_ffn = hp->ffn[0];
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    (void)meta, (void)all;
    if (!hp->has[HN_HP_expert_ffn])
        hp->expert_ffn = hp->ffn[0];
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-5);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    hp->expert_ffn = hp->ffn[0];
    hp->has[HN_HP_expert_ffn] = false;
    return HN_OK;
}

const hn_arch hn_arch_olmoe = {
    .name = "olmoe", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .weights = weights, .read_config = read_config,
    .read_meta = read_meta, .defaults = defaults,
};
