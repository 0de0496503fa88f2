/* deepseek2: DeepSeek V2, V3, R1. The keys and values of all heads are expansions of one short vector a token
 * (MLA), and neither is ever made:
 *
 *     score = q . [Wk c ; r]  = [Wk^T q_nope ; q_rope] . [c ; r]      c: the vector, r: what turns, of all heads one
 *     value = sum of p Wv c   = Wv (sum of p c)
 *
 * So attention is of one key [c ; r] and one value c for all heads, which are what a cache holds, and a head's
 * expansions are products by a matrix of its own, before and after: those of experts, of which head h has chosen
 * the h-th. GGUF holds Wk transposed for it. */
#include "base/mathfn.h"
#include "models/models.h"
#include "nn/blocks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const classes[] = { "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    HN_ROWS_EMBEDDING,
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    { ".attn_norm.weight",      ".input_layernorm.weight",               "C",       0, HN_ALWAYS },
    { ".attn_q.weight",         ".self_attn.q_proj.weight",              "H*M,C",   0, HN_IF_NO_Q_RANK },
    { ".attn_q_a.weight",       ".self_attn.q_a_proj.weight",            "Q,C",     0, HN_IF_Q_RANK },
    { ".attn_q_a_norm.weight",  ".self_attn.q_a_layernorm.weight",       "Q",       0, HN_IF_Q_RANK },
    { ".attn_q_b.weight",       ".self_attn.q_b_proj.weight",            "H*M,Q",   0, HN_IF_Q_RANK },
    { ".attn_kv_a_mqa.weight",  ".self_attn.kv_a_proj_with_mqa.weight",  "K+O,C",   0, HN_ALWAYS },
    { ".attn_kv_a_norm.weight", ".self_attn.kv_a_layernorm.weight",      "K",       0, HN_ALWAYS },
    { ".attn_k_b.weight",       ".self_attn.kv_b_proj.weight",           "H,K,N",   HN_W_NOPE_T, HN_ALWAYS },
    { ".attn_v_b.weight",       ".self_attn.kv_b_proj.weight",           "H,Y,K",   HN_W_VALUE, HN_ALWAYS },
    { ".attn_output.weight",    ".self_attn.o_proj.weight",              "C,H*Y",   0, HN_ALWAYS },
    { ".ffn_norm.weight",       ".post_attention_layernorm.weight",      "C",       0, HN_ALWAYS },
    HN_ROWS_MLP(HN_IF_DENSE),
    HN_ROWS_EXPERTS,
    { ".exp_probs_b.bias",      ".mlp.gate.e_score_correction_bias",     "E",       HN_W_CHOICE, HN_IF_CHOICE_BIAS },
    { ".ffn_gate_shexp.weight", ".mlp.shared_experts.gate_proj.weight",  "S,C",     0, HN_IF_SHARED },
    { ".ffn_up_shexp.weight",   ".mlp.shared_experts.up_proj.weight",    "S,C",     0, HN_IF_SHARED },
    { ".ffn_down_shexp.weight", ".mlp.shared_experts.down_proj.weight",  "C,S",     0, HN_IF_SHARED },
    { 0 },
};
/* clang-format on */

static hn_status read_widths(const hn_config *config, hn_hparams *hp)
{
    int64_t nope, rope, value, head = 0;
    bool has_head = false;
    const int64_t heads = hp->n_head[0], groups = hp->has[HN_HP_n_kv_head] ? hp->n_kv_head[0] : heads;
    HN_REQUIRE(groups > 0 && heads / groups == 1, HN_ERR_FORMAT,
               "config.json: num_key_value_heads is %lld: expected "
               "num_attention_heads, %lld",
               (long long)groups, (long long)heads);
    HN_TRY(hn_config_int(config, "qk_nope_head_dim", &nope, NULL));
    HN_TRY(hn_config_int(config, "qk_rope_head_dim", &rope, NULL));
    HN_TRY(hn_config_int(config, "v_head_dim", &value, NULL));
    if (!strncmp(config->class, "DeepseekV3", 10))
        HN_TRY(hn_config_int(config, "head_dim", &head, &has_head));
    HN_REQUIRE(!has_head || head == rope, HN_ERR_FORMAT,
               "config.json: head_dim is %lld: expected qk_rope_head_dim, %lld", (long long)head, (long long)rope);
    HN_TRY(hn_config_int(config, "kv_lora_rank", &hp->kv_rank, NULL));
    HN_TRY(hn_config_int(config, "q_lora_rank", &hp->q_rank, NULL));
    hp->has[HN_HP_q_rank] = hp->q_rank > 0;
    HN_HP_SET(hp, kv_rank, hp->kv_rank);
    HN_HP_SET(hp, head_dim, hp->kv_rank + rope);
    HN_HP_SET(hp, value_dim, hp->kv_rank);
    HN_HP_SET(hp, head_dim_mla, nope + rope);
    HN_HP_SET(hp, value_dim_mla, value);
    HN_HP_SET(hp, rope_dim, rope);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 1);
    return HN_OK;
}

enum { SOFTMAX = 1, SIGMOID = 2 };

/* The class says it. A file says it where config.json does, and of sigmoids always: it means a softmax without. */
static hn_status read_gating(const hn_config *config, hn_hparams *hp)
{
    const char *word, *method;
    HN_TRY(hn_config_word(config, "scoring_func", &word));
    hp->gating = !strcmp(word, "sigmoid") ? SIGMOID : SOFTMAX;
    hp->has[HN_HP_gating] = hp->gating == SIGMOID || hn_config_states(config, "scoring_func");
    hp->has_choice_bias = hp->gating == SIGMOID;
    HN_TRY(hn_config_word(config, "topk_method", &method));
    if (hp->gating == SIGMOID)
        return HN_OK;
    const bool is_greedy = !strcmp(method, "greedy");
    HN_REQUIRE(is_greedy || (hp->has[HN_HP_n_expert_group] && hp->has[HN_HP_n_group_used]), HN_ERR_FORMAT,
               "config.json: topk_method is %s: it needs n_group and topk_group", method);
    if (is_greedy && hp->n_expert_group > 1) /* of all experts */
        hp->has[HN_HP_n_expert_group] = hp->has[HN_HP_n_group_used] = false;
    return HN_OK;
}

/* A group is ranked by its best expert or by the sum of its two best, which it must have. */
static hn_status check_groups(const char *path, const char *names, const hn_hparams *hp)
{
    const int64_t n = hp->has[HN_HP_n_expert_group] ? hp->n_expert_group : 0;
    const int64_t used = hp->has[HN_HP_n_group_used] ? hp->n_group_used : 0;
    const int64_t size = n > 0 ? hp->n_expert / n : 0, least = hp->gating == SIGMOID ? 2 : 1;
    HN_REQUIRE(
        !hp->n_expert || n < 2 ||
            (size * n == hp->n_expert && size >= least && used >= 1 && used <= n && hp->n_used <= used * size),
        HN_ERR_FORMAT,
        "%s: %s are %lld, %lld, %lld, %lld: expected groups of equal size, those chosen of which hold as many experts "
        "as are chosen",
        path, names, (long long)n, (long long)used, (long long)hp->n_expert, (long long)hp->n_used);
    return HN_OK;
}

/* Of cosines and of scores: what is past it leaves no number. */
static hn_status check_magnitudes(const char *path, const char *name, const hn_hparams *hp)
{
    const double most = 0x1p40, scores = hp->has[HN_HP_yarn_log_mul] ? fabs(hp->yarn_log_mul) : 0;
    HN_REQUIRE(scores <= most && fabs(hp->yarn_attn_factor) <= most, HN_ERR_FORMAT,
               "%s: %s: scores are multiplied by the square of 1 + %g ln factor, cosines by %g: expected at most 2^40",
               path, name, scores, hp->yarn_attn_factor);
    return HN_OK;
}

/* clang-format off */
static const hn_key_row keys[] = {
    HN_KEY_MODEL_TYPE("DeepseekV2", "deepseek_v2"), HN_KEY_MODEL_TYPE("DeepseekV3", "deepseek_v3"),
    HN_KEYS_SHAPE("DeepseekV2", "102400", "4096", "11008", "32", "32", HN_OR_NONE, NULL, "2048"),
    HN_KEYS_SHAPE("DeepseekV3", "129280", "7168", "18432", "61", "128", HN_OR_NONE, "128", "4096"),
    HN_KEYS_RMS_EPS(NULL, "1e-6"),
    HN_KEYS_ROPE(NULL, "10000"),
    HN_KEY_ACTIVATION("hidden_act", "silu"),
    HN_ONLY("attention_bias|mlp_bias", HN_IS_FLAG, "false", "GGUF's deepseek2 has no biases", HN_ALL),
    HN_NEEDLESS("attention_dropout", HN_IS_REAL | HN_IS_NULL, "of training alone", .of = "DeepseekV2"),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", .of = "DeepseekV3"),
    HN_NEEDLESS("head_dim", HN_IS_INT | HN_IS_NULL, "qk_rope_head_dim says it", .of = "DeepseekV2"),
    HN_ASKED("head_dim", HN_IS_INT, NULL, .of = "DeepseekV3", HN_COUNT),
    HN_NEEDLESS("qk_head_dim", HN_IS_ANY, "the sum of its parts says it", HN_ALL),
    HN_ASKED("qk_nope_head_dim", HN_IS_INT, "128", HN_COUNT),
    HN_ASKED("qk_rope_head_dim", HN_IS_INT, "64", HN_COUNT),
    HN_ASKED("v_head_dim", HN_IS_INT | HN_IS_NULL, "128", HN_COUNT),
    HN_ASKED("kv_lora_rank", HN_IS_INT, "512", HN_COUNT),
    HN_ASKED("q_lora_rank", HN_IS_INT | HN_IS_NULL, "1536", HN_COUNT),
    HN_USED("n_routed_experts|num_experts|num_local_experts", HN_IS_INT, n_expert, "64", .of = "DeepseekV2", HN_COUNT),
    HN_USED("n_routed_experts|num_experts|num_local_experts", HN_IS_INT, n_expert, "256", .of = "DeepseekV3", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT, n_used, HN_MUST, .of = "DeepseekV2", HN_COUNT),
    HN_USED("num_experts_per_tok", HN_IS_INT, n_used, "8", .of = "DeepseekV3", HN_COUNT),
    HN_ASKED("n_shared_experts", HN_IS_INT | HN_IS_NULL, "2", .of = "DeepseekV2", HN_COUNT),
    HN_ASKED("n_shared_experts", HN_IS_INT | HN_IS_NULL, "1", .of = "DeepseekV3", HN_COUNT),
    HN_USED("n_group", HN_IS_INT | HN_IS_NULL, n_expert_group, NULL, .of = "DeepseekV2", HN_COUNT),
    HN_USED("n_group", HN_IS_INT, n_expert_group, "8", .of = "DeepseekV3", HN_COUNT),
    HN_USED("topk_group", HN_IS_INT | HN_IS_NULL, n_group_used, NULL, .of = "DeepseekV2", HN_COUNT),
    HN_USED("topk_group", HN_IS_INT, n_group_used, "4", .of = "DeepseekV3", HN_COUNT),
    HN_ASKED("first_k_dense_replace", HN_IS_INT, "0", .of = "DeepseekV2", .low = 0, .high = HN_MAX_LAYERS),
    HN_ASKED("first_k_dense_replace", HN_IS_INT, "3", .of = "DeepseekV3", .low = 0, .high = HN_MAX_LAYERS),
    HN_ASKED("moe_intermediate_size", HN_IS_INT, "1407", .of = "DeepseekV2", HN_COUNT),
    HN_ASKED("moe_intermediate_size", HN_IS_INT, "2048", .of = "DeepseekV3", HN_COUNT),
    HN_USED("routed_scaling_factor", HN_IS_REAL, expert_scale, "1.0", .of = "DeepseekV2", HN_ABOVE_0),
    HN_USED("routed_scaling_factor", HN_IS_REAL, expert_scale, "2.5", .of = "DeepseekV3", HN_ABOVE_0),
    HN_ONLY("norm_topk_prob", HN_IS_FLAG | HN_IS_NULL, "false|null", "the class never divides by their sum", .of = "DeepseekV2", .otherwise = "false"),
    HN_ASKED("norm_topk_prob", HN_IS_FLAG | HN_IS_NULL, "true", .of = "DeepseekV3"),
    HN_ONLY("scoring_func", HN_IS_WORD, "softmax", "the class has no other", .of = "DeepseekV2", .otherwise = "softmax"),
    HN_ONLY("scoring_func", HN_IS_WORD, "sigmoid", "the class has no other", .of = "DeepseekV3", .otherwise = "sigmoid"),
    HN_ONLY("topk_method", HN_IS_WORD, "greedy|group_limited_greedy", "the class has no other", .of = "DeepseekV2", .otherwise = "greedy"),
    HN_ASKED("topk_method", HN_IS_WORD | HN_IS_NULL, "noaux_tc", .of = "DeepseekV3"),
    HN_ASKED("moe_layer_freq", HN_IS_INT, "1", .low = 1, .high = 1),
    HN_ONLY("rope_interleave", HN_IS_FLAG | HN_IS_NULL, "true", "GGUF's deepseek2 knows no other", .otherwise = "true"),
    HN_NEEDLESS("num_nextn_predict_layers|num_mtp_layers|ep_size|seq_aux|aux_loss_alpha", HN_IS_ANY,
                "of training, or of predicting several tokens", HN_ALL),
    HN_KEYS_ROUTER_TRAINING,
    { .to = HN_HP_vocab_size }, { .to = HN_HP_gating }, { .to = HN_HP_expert_norm }, { .to = HN_HP_n_dense_first },
    { .to = HN_HP_expert_ffn }, { .to = HN_HP_n_shared }, { .to = HN_HP_head_dim }, { .to = HN_HP_value_dim },
    { .to = HN_HP_kv_rank }, { .to = HN_HP_q_rank }, { .to = HN_HP_head_dim_mla }, { .to = HN_HP_value_dim_mla },
    { .to = HN_HP_yarn_log_mul },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

/* A stretched context scales the scores, and cosines by what two numbers are to each other; GGUF has the scale's, and
 * takes the other for the same. */
static hn_status read_stretch(const hn_config *config, hn_hparams *hp)
{
    if (hp->rope_scaling == HN_ROPE_YARN && hp->rope_mscale != 0) {
        hn_config rope, older;
        HN_TRY(hn_config_within(config, "rope_parameters", &rope));
        HN_TRY(hn_config_within(config, "rope_scaling", &older));
        const hn_config *of = older.object ? &older : &rope;
        const hn_json *factor = NULL;
        HN_TRY(hn_config_json(of, "factor", &factor));
        if (!factor)
            return hn_config_refuse(of, "factor", HN_ERR_FORMAT, "mscale_all_dim needs it");
        HN_HP_SET(hp, yarn_log_mul, 0.1 * hp->rope_mscale);
    }
    hp->has[HN_HP_yarn_attn_factor] &= hp->rope_mscale == 0 || hp->yarn_attn_factor != 1; /* 1 beside a multiplier */
    return check_magnitudes("config.json", "mscale, mscale_all_dim", hp);
}

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    bool has_first;
    HN_TRY(read_widths(config, hp));
    HN_TRY(read_gating(config, hp));
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_TRY(hn_config_int(config, "first_k_dense_replace", &hp->n_dense_first, &has_first));
    HN_HP_SET(hp, n_dense_first, hp->n_dense_first);
    HN_TRY(hn_config_int(config, "moe_intermediate_size", &hp->expert_ffn, NULL));
    HN_HP_SET(hp, expert_ffn, hp->expert_ffn);
    HN_TRY(hn_config_int(config, "n_shared_experts", &hp->n_shared, NULL));
    HN_HP_SET(hp, n_shared, hp->n_shared);
    hp->shared_ffn = hp->n_shared * hp->expert_ffn;
    HN_TRY(hn_config_flag(config, "norm_topk_prob", &hp->expert_norm));
    hp->has[HN_HP_expert_norm] = hp->expert_norm;
    HN_TRY(read_stretch(config, hp));
    return check_groups("config.json", "n_group, topk_group, n_routed_experts, num_experts_per_tok", hp);
}

/* V3 alone has a bias of the choice; older files of it do not say that its scores are sigmoids. */
static bool has_choice_bias(const hn_weights *all, const hn_hparams *hp)
{
    char name[HN_TENSOR_NAME];
    snprintf(name, sizeof name, "blk.%lld.exp_probs_b.bias", (long long)hp->n_dense_first);
    return hn_weights_find(all, name) != NULL;
}

/* Keys and values are one head, of widths that follow from others. */
static hn_status check_meta_widths(const hn_meta *meta, const hn_hparams *hp)
{
    HN_REQUIRE(hp->has[HN_HP_kv_rank] && hp->has[HN_HP_head_dim_mla], HN_ERR_UNSUPPORTED,
               "%s: a deepseek2 file of the old layout, without attention.key_length_mla", meta->name);
    HN_REQUIRE(hp->head_dim == hp->kv_rank + hp->rope_dim && hp->value_dim == hp->kv_rank, HN_ERR_FORMAT,
               "%s: deepseek2.attention.key_length is %lld, deepseek2.attention.value_length %lld: expected "
               "deepseek2.attention.kv_lora_rank, %lld, with and without deepseek2.rope.dimension_count, %lld",
               meta->name, (long long)hp->head_dim, (long long)hp->value_dim, (long long)hp->kv_rank,
               (long long)hp->rope_dim);
    for (int64_t i = 0; i < hp->n_layer; i++)
        HN_REQUIRE(hp->n_kv_head[i] == 1 && hp->n_head[i] == hp->n_head[0], HN_ERR_FORMAT,
                   "%s: deepseek2.attention.head_count_kv is %lld, head_count %lld in layer %lld: expected 1 and %lld",
                   meta->name, (long long)hp->n_kv_head[i], (long long)hp->n_head[i], (long long)i,
                   (long long)hp->n_head[0]);
    return HN_OK;
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    HN_TRY(check_meta_widths(meta, hp));
    hp->shared_ffn = hp->n_shared * hp->expert_ffn;
    hp->has_choice_bias = has_choice_bias(all, hp);
    if (!hp->gating)
        hp->gating = hp->has_choice_bias ? SIGMOID : SOFTMAX;
    if (hp->has[HN_HP_yarn_log_mul] && !hp->has[HN_HP_yarn_attn_factor])
        hp->yarn_attn_factor = 1;
    HN_TRY(check_magnitudes(meta->name, "deepseek2.rope.scaling.yarn_log_multiplier", hp));
    return check_groups(meta->name,
                        "deepseek2.expert_group_count, deepseek2.expert_group_used_count, deepseek2.expert_count, "
                        "deepseek2.expert_used_count",
                        hp);
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 10000);
    HN_HP_SET(hp, vocab_size, hp->n_vocab);
    HN_HP_DEFAULT(hp, kv_rank, 512);
    HN_HP_DEFAULT(hp, head_dim_mla, 192);
    HN_HP_DEFAULT(hp, value_dim_mla, 128);
    HN_HP_DEFAULT(hp, rope_dim, 64);
    HN_HP_SET(hp, head_dim, hp->kv_rank + hp->rope_dim);
    HN_HP_SET(hp, value_dim, hp->kv_rank);
    HN_HP_SET(hp, n_dense_first, hp->n_dense_first);
    HN_HP_SET(hp, n_shared, hp->n_shared);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 1);
    hp->shared_ffn = hp->n_shared * hp->expert_ffn;
    return HN_OK;
}

/* ---- attention ---- */

/* The head's number beside every token: [T, H]. */
static hn_node *each_head(nn_build *b)
{
    hn_graph *g = b->g;
    const int64_t n = b->hp->n_head[0];
    float *number = hn_graph_alloc(g, (size_t)n * sizeof *number);
    hn_type type;
    if (!number || hn_type_make(&type, HN_F32, 1, &n) != HN_OK)
        return &g->poison;
    for (int64_t i = 0; i < n; i++)
        number[i] = (float)i;
    hn_node *none = hn_scale(g, hn_cast(g, b->positions, HN_F32), 0, 0);
    none = hn_reshape(g, none, (hn_ints){ 2, { -1, 1 } });
    return hn_cast(g, hn_add(g, none, hn_graph_constant(g, "heads", &type, number)), HN_I32);
}

static hn_node *columns(nn_build *b, hn_node *x, int64_t begin, int64_t end)
{
    return hn_contiguous(b->g, hn_slice(b->g, x, -1, begin, end, 1));
}

/* Neighbours are pairs here, x[2i] and x[2i+1], and halves for the verb. */
static hn_node *turn(nn_build *b, hn_node *x)
{
    hn_graph *g = b->g;
    const int64_t heads = hn_is_poison(g, x) ? 1 : x->type.dim[1], width = b->hp->rope_dim;
    x = hn_transpose(g, hn_reshape(g, x, (hn_ints){ 4, { -1, heads, width / 2, 2 } }), 2, 3);
    x = hn_reshape(g, hn_contiguous(g, x), (hn_ints){ 3, { -1, heads, width } });
    const hn_rope_spec spec = nn_rope_spec(b);
    return nn_rope(b, x, nn_rope_divisors(b), &spec);
}

/* Of the short vectors: the class's own epsilon, whatever the model's is. */
static hn_node *norm(nn_build *b, hn_node *x, const char *name)
{
    return hn_rms_norm(b->g, x, nn_want(b, name), 1e-6f);
}

/* Of width N + O a head, N absorbed: [T, H, K + O]. */
static hn_node *queries(nn_build *b, hn_node *x, hn_node *heads)
{
    const hn_hparams *hp = b->hp;
    const int64_t width = hp->head_dim_mla, plain = width - hp->rope_dim;
    if (hp->q_rank)
        x = norm(b, nn_linear(b, x, ".attn_q_a"), ".attn_q_a_norm.weight");
    hn_node *q = nn_linear(b, x, hp->q_rank ? ".attn_q_b" : ".attn_q");
    q = hn_reshape(b->g, q, (hn_ints){ 3, { -1, hp->n_head[b->layer], width } });
    hn_node *turned = turn(b, columns(b, q, plain, width));
    return hn_concat(b->g, nn_linear_id(b, columns(b, q, 0, plain), ".attn_k_b", heads), turned, 2);
}

/* What long contexts stretch, each score is too. */
static float score_scale(const hn_hparams *hp)
{
    const double log_mul =
        hp->has[HN_HP_yarn_log_mul] && hp->rope_scaling == HN_ROPE_YARN ? (double)(float)hp->yarn_log_mul : 0;
    const double stretched = hp->rope_factor > 1 ? 1 + log_mul * hn_math_log(hp->rope_factor) : 1;
    return (float)(stretched * stretched / sqrt((double)hp->head_dim_mla));
}

static hn_node *attention(nn_build *b, hn_node *x, hn_node *heads)
{
    hn_graph *g = b->g;
    const hn_hparams *hp = b->hp;
    const int64_t rank = hp->kv_rank, n = hp->n_head[b->layer];
    hn_node *q = queries(b, x, heads);
    hn_node *made = nn_linear(b, x, ".attn_kv_a_mqa");
    hn_node *value = norm(b, columns(b, made, 0, rank), ".attn_kv_a_norm.weight");
    value = hn_reshape(g, value, (hn_ints){ 3, { -1, 1, rank } });
    hn_node *turned = columns(b, made, rank, rank + hp->rope_dim);
    turned = turn(b, hn_reshape(g, turned, (hn_ints){ 3, { -1, 1, hp->rope_dim } }));
    const nn_keys made_keys = nn_remember_keys(b, hn_concat(g, value, turned, 2), value);
    const nn_score_options scores = { .scale = score_scale(hp) };
    hn_node *y = nn_linear_id(b, nn_attend(b, q, made_keys, &scores), ".attn_v_b", heads);
    return nn_linear(b, hn_reshape(g, y, (hn_ints){ 2, { -1, n * hp->value_dim_mla } }), ".attn_output");
}

/* ---- feed-forward ---- */

/* V2 ranks a group by its best expert, V3 by its two best. */
static hn_node *experts(nn_build *b, hn_node *x)
{
    const hn_hparams *hp = b->hp;
    const bool is_third = hp->gating == SIGMOID;
    const nn_choose_options route = {
        .bias = nn_weight_of(b, ".exp_probs_b.bias"),
        .score = is_third ? HN_ROUTER_SIGMOID : HN_ROUTER_SOFTMAX,
        .renormalises = hp->expert_norm,
        .eps = hp->expert_norm ? 1e-20f : 0,
        .group_best = is_third ? 2 : 1,
        .n_group = hp->has[HN_HP_n_expert_group] ? hp->n_expert_group : 0,
        .k_group = hp->n_group_used,
        .factor = hp->has[HN_HP_expert_scale] ? (float)hp->expert_scale : 1,
    };
    const nn_chosen chosen = nn_choose(b, nn_linear(b, x, ".ffn_gate_inp"), &route);
    hn_node *gate = nn_linear_id(b, x, ".ffn_gate_exps", chosen.ids);
    hn_node *up = nn_linear_id(b, x, ".ffn_up_exps", chosen.ids);
    hn_node *y = nn_linear_id(b, nn_gate(b, HN_ACT_SILU, gate, up), ".ffn_down_exps", chosen.ids);
    return nn_combine(b, y, chosen);
}

static hn_node *shared_expert(nn_build *b, hn_node *x)
{
    hn_node *gate = nn_linear(b, x, ".ffn_gate_shexp"), *up = nn_linear(b, x, ".ffn_up_shexp");
    return nn_linear(b, nn_gate(b, HN_ACT_SILU, gate, up), ".ffn_down_shexp");
}

static hn_node *feed_forward(nn_build *b, hn_node *x)
{
    if (!hn_layer_is_moe(b->hp, b->layer))
        return nn_swiglu(b, x);
    hn_node *y = experts(b, x);
    return b->hp->shared_ffn ? nn_add(b, y, shared_expert(b, x)) : y;
}

static hn_node *build(nn_build *b)
{
    hn_node *x = nn_embed(b), *heads = each_head(b);
    for (b->layer = 0; b->layer < b->hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        x = nn_add(b, x, attention(b, nn_rms_norm(b, x, ".attn_norm.weight"), heads));
        x = nn_add(b, x, feed_forward(b, nn_rms_norm(b, x, ".ffn_norm.weight")));
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm(b, x, "output_norm.weight"), 0, 0);
}

const hn_arch hn_arch_deepseek2 = {
    .name = "deepseek2",
    .classes = classes,
    .prefixes = hn_decoder_prefixes,
    .layers = "layers.",
    .has_next_layers = true,
    .ignored = hn_decoder_ignored,
    .weights = weights,
    .tables = tables,
    .read_config = read_config,
    .read_meta = read_meta,
    .defaults = defaults,
    .build = build,
};
