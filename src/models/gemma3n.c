/* gemma3n: gemma3 with plain gains, four streams that predict and correct each other (AltUp), a
 * low-rank side branch (Laurel), per-layer embeddings and shared keys. */
#include "models/gemma_layers.h"
#include "models/models.h"

#include "base/mathfn.h"
#include "nn/blocks.h"

#include <math.h>

static const char *const classes[] = { "Gemma3nForConditionalGeneration", "Gemma3nForCausalLM",
                                       NULL };

/* clang-format off */
static const hn_weight_spec weights[] = {
    { "token_embd.weight",           "@embed_tokens.weight",                "V,C",   HN_W_PAD,      HN_ALWAYS },
    { "output_norm.weight",          "@norm.weight",                        "C",     0,             HN_ALWAYS },
    { "output.weight",               "lm_head.weight",                      "V,C",   HN_W_PAD,      HN_IF_OWN_HEAD },
    HN_ROW_DIVISORS,
    HN_ROW_LONGROPE,
    { "per_layer_token_embd.weight", "@embed_tokens_per_layer.weight",      "V,L*P", HN_W_PAD | HN_W_PAD_FIRST, HN_IF_PLE },
    { "per_layer_model_proj.weight", "@per_layer_model_projection.weight",  "L*P,C", 0,             HN_IF_PLE },
    { "per_layer_proj_norm.weight",  "@per_layer_projection_norm.weight",   "P",     0,             HN_IF_PLE },
    { "altup_proj.weight",           "@altup_projections.#.weight",         "3,C,C", HN_W_STACK,    HN_ALWAYS },
    { "altup_unembd_proj.weight",    "@altup_unembed_projections.#.weight", "3,C,C", HN_W_STACK,    HN_ALWAYS },
    { ".attn_norm.weight",           ".input_layernorm.weight",             "C",     0, HN_ALWAYS },
    { ".attn_q.weight",              ".self_attn.q_proj.weight",            "H*D,C", 0, HN_ALWAYS },
    { ".attn_k.weight",              ".self_attn.k_proj.weight",            "G*D,C", 0, HN_IF_OWN_K },
    { ".attn_v.weight",              ".self_attn.v_proj.weight",            "G*U,C", 0, HN_IF_OWN_K },
    { ".attn_q_norm.weight",         ".self_attn.q_norm.weight",            "D",     0, HN_ALWAYS },
    { ".attn_k_norm.weight",         ".self_attn.k_norm.weight",            "D",     0, HN_IF_OWN_K },
    { ".attn_output.weight",         ".self_attn.o_proj.weight",            "C,H*U", 0, HN_ALWAYS },
    { ".post_attention_norm.weight", ".post_attention_layernorm.weight",    "C",     0, HN_ALWAYS },
    { ".ffn_norm.weight",            ".pre_feedforward_layernorm.weight",   "C",     0, HN_ALWAYS },
    HN_ROWS_MLP(HN_ALWAYS),
    { ".post_ffw_norm.weight",       ".post_feedforward_layernorm.weight",  "C",     0, HN_ALWAYS },
    { ".inp_gate.weight",            ".per_layer_input_gate.weight",        "P,C",   0, HN_IF_PLE },
    { ".proj.weight",                ".per_layer_projection.weight",        "C,P",   0, HN_IF_PLE },
    { ".post_norm.weight",           ".post_per_layer_input_norm.weight",   "C",     0, HN_IF_PLE },
    { ".altup_correct_coef.weight",  ".altup.correction_coefs.weight",      "A,A",   HN_W_F32, HN_ALWAYS },
    { ".altup_correct_scale.weight", ".altup.correct_output_scale",         "C",     0, HN_ALWAYS },
    { ".altup_predict_coef.weight",  ".altup.prediction_coefs.weight",      "A*A,A", HN_W_F32, HN_ALWAYS },
    { ".altup_router.weight",        ".altup.modality_router.weight",       "A,C",   0, HN_ALWAYS },
    { ".altup_router_norm.weight",   ".altup.router_norm.weight",           "C",     0, HN_ALWAYS },
    { ".laurel_l.weight",            ".laurel.linear_left.weight",          "Z,C",   0, HN_ALWAYS },
    { ".laurel_r.weight",            ".laurel.linear_right.weight",         "C,Z",   0, HN_ALWAYS },
    { ".laurel_post_norm.weight",    ".laurel.post_laurel_norm.weight",     "C",     0, HN_ALWAYS },
    { 0 },
};
/* clang-format on */

/* The standard normal's quantile as torch computes it: the inverse error function of 2p - 1 times
 * the root of two, each step rounded to f32. Inverted by bisection: it is read once a layer. */
static float normal_quantile(float p)
{
    const double target = (double)(2.0f * p - 1.0f);
    double low = -6, high = 6;
    for (int i = 0; i < 100; i++) {
        const double middle = 0.5 * (low + high);
        if (hn_math_erf(middle) < target)
            low = middle;
        else
            high = middle;
    }
    return (float)low * 1.41421356f;
}

/* 19 of 20 gates, in the first ten layers of more. */
static void usual_sparsity(hn_hparams *hp)
{
    const double usual = (double)normal_quantile(0.95f);
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->sparsity[i] = i < 10 && hp->n_layer > 10 ? usual : -HUGE_VAL;
    hp->n_sparsity = (int)hp->n_layer;
}

static hn_status read_sparsity(const hn_config *config, hn_hparams *hp)
{
    const hn_json *list;
    HN_TRY(hn_config_json(config, "activation_sparsity_pattern", &list));
    usual_sparsity(hp);
    if (!list)
        return HN_OK;
    HN_REQUIRE((int64_t)hn_json_count(list) == hp->n_layer,
               HN_ERR_FORMAT, "config.json: activation_sparsity_pattern: expected one a layer");
    int i = 0;
    for (const hn_json *v = hn_json_first(list); v; v = v->next, i++) {
        double share;
        HN_TRY(hn_json_want_double(v, "activation_sparsity_pattern", &share));
        HN_REQUIRE(share >= 0 && share < 1, HN_ERR_FORMAT,
                   "config.json: activation_sparsity_pattern: %g: expected [0, 1)", share);
        hp->sparsity[i] = share > 0 ? (double)normal_quantile((float)share) : -HUGE_VAL;
    }
    return HN_OK;
}

static void usual_pattern(hn_hparams *hp)
{
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->is_sliding[i] = (i + 1) % 5 != 0;
    hp->has_pattern = true;
}

/* Every kind of layer that uses the keys of others has one that makes them. */
static hn_status check_sources(const char *name, const hn_hparams *hp)
{
    HN_REQUIRE(hp->n_shared_kv < hp->n_layer, HN_ERR_FORMAT, "%s: %lld of %lld layers use the keys of others",
               name, (long long)hp->n_shared_kv, (long long)hp->n_layer);
    for (int64_t i = hp->n_layer - hp->n_shared_kv; i < hp->n_layer; i++)
        HN_REQUIRE(hn_gemma_source_layer(hp, (int)i) != i, HN_ERR_FORMAT,
                   "%s: layer %lld uses the keys of another, and no layer of its kind makes any", name, (long long)i);
    return HN_OK;
}

/* clang-format off */
static const hn_key_row keys[] = {
    { .to = HN_HP_final_softcap, .absent = "30", HN_ABOVE_0 },
    HN_KEY_MODEL_TYPE(NULL, "gemma3n_text"),
    HN_USED("intermediate_size", HN_IS_INT | HN_IS_LIST, ffn, "16384", HN_COUNT),
    HN_KEYS_SHAPE(NULL, "262400", "2048", "16384", "35", "8", , "2", "32768"),
    HN_KEY_HEAD_DIM(HN_IS_INT, "256"),
    HN_USED("rms_norm_eps", HN_IS_REAL, rms_eps, "1e-6", HN_ABOVE_0),
    HN_KEYS_ROPE_LAYERED(NULL, "1000000", "10000"),
    HN_KEY_ACTIVATION("hidden_activation", "gelu_pytorch_tanh"),
    HN_NEEDLESS("hidden_act", HN_IS_ANY, "Gemma3nTextConfig reads hidden_activation", HN_ALL),
    HN_ONLY("attention_bias", HN_IS_FLAG, "false", "GGUF's gemma3n has no biases", HN_ALL),
    HN_USED("sliding_window", HN_IS_INT, window, "512", HN_COUNT),
    HN_ASKED("layer_types", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_USED("final_logit_softcapping", HN_IS_REAL, final_softcap, "30", HN_ABOVE_0),
    HN_ASKED("vocab_size_per_layer_input", HN_IS_INT, "262144", HN_COUNT),
    HN_USED("hidden_size_per_layer_input", HN_IS_INT, ple_width, "256", HN_COUNT),
    HN_USED("altup_active_idx", HN_IS_INT, altup_active, "0", .low = 0, .high = 3),
    HN_NEEDLESS("altup_coef_clip", HN_IS_REAL, "of training alone, where published coefficients do not come near", HN_ALL),
    HN_ONLY("altup_correct_scale", HN_IS_FLAG, "true", "GGUF's gemma3n always scales", HN_ALL),
    HN_USED("altup_num_inputs", HN_IS_INT, altup_inputs, "4", .low = 4, .high = 4),
    HN_USED("num_kv_shared_layers", HN_IS_INT, n_shared_kv, "15", .low = 0, .high = HN_MAX_LAYERS),
    HN_ASKED("laurel_rank", HN_IS_INT, "64", HN_COUNT),
    HN_ASKED("activation_sparsity_pattern", HN_IS_LIST | HN_IS_NULL, NULL, HN_ALL),
    HN_ASKED("tie_word_embeddings", HN_IS_FLAG, "true", HN_ALL),
    HN_NEEDLESS("attention_dropout", HN_IS_NUM | HN_IS_NULL, "of training alone", HN_ALL),
    HN_GGUF_PATTERN, { .gguf = "activation_sparsity_scale", .is = HN_ITEMS(HN_IS_REAL) },
    { 0 },
};
/* clang-format on */
static const hn_key_row *const tables[] = { keys, hn_keys_every, hn_keys_tokenizer, NULL };

/* clang-format off */
static const hn_key_row outer[] = {
    HN_KEY_MODEL_TYPE(NULL, "gemma3n"),
    HN_KEYS_OUTER(tables),
    { 0 },
};
/* clang-format on */
static const hn_key_row *const outer_tables[] = { outer, hn_keys_every, NULL };

static hn_status read_config(const hn_config *config, hn_hparams *hp)
{
    HN_HP_SET(hp, value_dim, hp->head_dim);
    HN_TRY(hn_config_int(config, "laurel_rank", &hp->laurel_rank, NULL));
    HN_TRY(hn_config_int(config, "vocab_size_per_layer_input", &hp->n_ple_vocab, NULL));
    if (!hp->has_pattern)
        usual_pattern(hp);
    HN_TRY(check_sources("config.json", hp));
    return read_sparsity(config, hp);
}

static hn_status write_meta(const hn_hparams *hp, hn_meta *meta)
{
    uint8_t pattern[HN_MAX_LAYERS];
    for (int64_t i = 0; i < hp->n_layer; i++)
        pattern[i] = hp->is_sliding[i];
    const hn_meta_value value = { .key = "gemma3n.attention.sliding_window_pattern",
                                  .type = HN_META_BOOL, .is_array = true,
                                  .n = (uint64_t)hp->n_layer, .data = pattern,
                                  .bytes = (size_t)hp->n_layer };
    HN_TRY(hn_meta_set_copy(meta, &value));
    return hn_meta_set_doubles(meta, "gemma3n.activation_sparsity_scale", HN_META_F32,
                               hp->sparsity, (size_t)hp->n_layer);
}

static hn_status read_meta(const hn_meta *meta, const hn_weights *all, hn_hparams *hp)
{
    const hn_weight_entry *laurel_l = hn_weights_find(all, "blk.0.laurel_l.weight");
    const hn_meta_value *scale;
    HN_TRY(check_sources(meta->name, hp));
    HN_TRY(hn_meta_array(meta, "gemma3n.activation_sparsity_scale", HN_META_F32, &scale));
    HN_REQUIRE(scale && scale->n == (uint64_t)hp->n_layer, HN_ERR_FORMAT,
               "%s: key gemma3n.activation_sparsity_scale: expected one a layer", meta->name);
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->sparsity[i] = hn_meta_item_double(scale, (uint64_t)i);
    hp->n_sparsity = (int)hp->n_layer;
    hp->laurel_rank = laurel_l && laurel_l->type.rank == 2 ? laurel_l->type.dim[0] : 64;
    return HN_OK;
}

static hn_status defaults(hn_hparams *hp)
{
    HN_HP_DEFAULT(hp, rms_eps, 1e-6);
    HN_HP_DEFAULT(hp, rope_base, 1e6);
    HN_HP_DEFAULT(hp, window, 512);
    HN_HP_DEFAULT(hp, altup_active, 0);
    HN_HP_DEFAULT(hp, altup_inputs, 4);
    HN_HP_DEFAULT(hp, ple_width, 256);
    HN_HP_SET(hp, n_shared_kv, hp->n_shared_kv);
    HN_HP_DEFAULT(hp, final_softcap, 30);
    hp->laurel_rank = 64;
    hp->is_tied = true;
    usual_pattern(hp);
    for (int64_t i = 0; i < hp->n_layer; i++)
        hp->sparsity[i] = i < 10 ? 1.6448535919189453 : -HUGE_VAL; /* as a share of 0.95, or 0 */
    hp->n_sparsity = (int)hp->n_layer;
    return check_sources("gemma3n", hp);
}

/* ---- streams: x [T, A, C], of which a layer computes with one ---- */

/* Streams from..to, [T, n, C]. */
static hn_node *streams(nn_build *b, hn_node *x, int64_t from, int64_t to)
{
    return hn_contiguous(b->g, hn_slice(b->g, x, 1, from, to, 1));
}

static hn_node *stream(nn_build *b, hn_node *x, int64_t i)
{
    return hn_reshape(b->g, streams(b, x, i, i + 1), (hn_ints){ 2, { -1, b->hp->width } });
}

/* [T, C] as one stream of some. */
static hn_node *as_stream(nn_build *b, hn_node *x)
{
    return hn_reshape(b->g, x, (hn_ints){ 3, { -1, 1, b->hp->width } });
}

/* Each stream after the first by a matrix of its own, [T, 3, C]. Of `first` [T, C] only the tokens count. */
static hn_node *project(nn_build *b, hn_node *x, hn_node *first, const char *name)
{
    static const int32_t each[] = { 0, 1, 2 };
    hn_graph *g = b->g;
    hn_node *ids = hn_expand_as(g, hn_graph_ints(g, 3, each), hn_slice(g, first, 1, 0, 3, 1));
    return nn_linear_id(b, x, name, hn_contiguous(g, ids));
}

static hn_node *magnitude(nn_build *b, hn_node *x, float least)
{
    hn_graph *g = b->g;
    hn_node *mean = nn_round(b, hn_mean(g, nn_round(b, hn_sqr(g, x)), -1, true));
    if (least > 0)
        mean = hn_clamp(g, mean, least, HUGE_VALF);
    return nn_round(b, hn_sqrt(g, mean));
}

/* The streams of x, each as large as the first one, [T, 1, C]. */
static hn_node *as_large(nn_build *b, hn_node *x, hn_node *first)
{
    hn_node *y = nn_mul(b, x, magnitude(b, first, 0));
    return nn_round(b, hn_div(b->g, y, magnitude(b, x, nn_constant(b, 1e-5))));
}

static hn_node *split(nn_build *b, hn_node *x)
{
    hn_node *first = as_stream(b, x);
    return hn_concat(b->g, first, as_large(b, project(b, x, x, "altup_proj"), first), 1);
}

static hn_node *unite(nn_build *b, hn_node *x)
{
    hn_node *first = streams(b, x, 0, 1);
    hn_node *rest = project(b, streams(b, x, 1, b->hp->altup_inputs), stream(b, x, 0), "altup_unembd_proj");
    hn_node *all = hn_concat(b->g, first, as_large(b, rest, first), 1);
    return nn_round(b, hn_mean(b->g, all, 1, false));
}

/* ---- what streams foretell of each other ---- */

/* [T, A] */
static hn_node *modalities(nn_build *b, hn_node *x)
{
    hn_node *normed = nn_rms_norm_once(b, x, ".altup_router_norm.weight");
    normed = nn_scale(b, normed, nn_constant(b, 1 / (double)b->hp->width));
    return nn_round(b, hn_tanh(b->g, nn_linear(b, normed, ".altup_router")));
}

static hn_node *predict(nn_build *b, hn_node *x)
{
    const int64_t n = b->hp->altup_inputs;
    hn_node *coefs = nn_linear(b, modalities(b, stream(b, x, b->hp->altup_active)), ".altup_predict_coef");
    coefs = hn_reshape(b->g, coefs, (hn_ints){ 3, { -1, n, n } }); /* a row a stream that is foretold */
    return nn_add(b, nn_round(b, hn_matmul(b->g, coefs, x, false, false)), x);
}

/* All streams learn what the active one was found to be, by as much as each is concerned. */
static hn_node *correct(nn_build *b, hn_node *predicted, hn_node *found)
{
    hn_graph *g = b->g;
    hn_node *coefs = nn_linear(b, modalities(b, found), ".altup_correct_coef");
    coefs = nn_round(b, hn_scale(g, coefs, 1, 1));
    coefs = hn_reshape(g, coefs, (hn_ints){ 3, { -1, b->hp->altup_inputs, 1 } });
    hn_node *news = nn_round(b, hn_sub(g, found, stream(b, predicted, b->hp->altup_active)));
    return nn_add(b, nn_mul(b, as_stream(b, news), coefs), predicted);
}

/* ---- layers ---- */

static nn_keys make_keys(nn_build *b, hn_node *x, const hn_rope_spec *spec)
{
    hn_graph *g = b->g;
    const int64_t groups = b->hp->n_kv_head[b->layer];
    const hn_ints keys_of = { 3, { -1, groups, b->hp->head_dim } }, values_of = { 3, { -1, groups, b->hp->value_dim } };
    hn_node *k = nn_rms_norm_once(b, hn_reshape(g, nn_linear(b, x, ".attn_k"), keys_of), ".attn_k_norm.weight");
    hn_node *v = nn_rms_norm_once(b, hn_reshape(g, nn_linear(b, x, ".attn_v"), values_of), NULL);
    return nn_remember(b, (nn_keys){ nn_rope(b, k, nn_rope_divisors(b), spec), v, NULL }, nn_window(b));
}

static hn_node *attention(nn_build *b, hn_node *x, nn_keys *made)
{
    hn_graph *g = b->g;
    const int64_t heads = b->hp->n_head[b->layer], width = b->hp->head_dim;
    const int source = hn_gemma_source_layer(b->hp, b->layer);
    const hn_rope_spec spec = nn_rope_spec(b);
    const nn_score_options scores = { .window = nn_window(b), .scale = 1 };
    if (source == b->layer)
        made[b->layer] = make_keys(b, x, &spec);
    hn_node *q = hn_reshape(g, nn_linear(b, x, ".attn_q"), (hn_ints){ 3, { -1, heads, width } });
    q = nn_rope(b, nn_rms_norm_once(b, q, ".attn_q_norm.weight"), nn_rope_divisors(b), &spec);
    hn_node *y = nn_attend(b, q, made[source], &scores);
    return nn_linear(b, hn_reshape(g, y, (hn_ints){ 2, { -1, heads * b->hp->value_dim } }), ".attn_output");
}

static hn_node *laurel(nn_build *b, hn_node *x)
{
    hn_node *y = nn_linear(b, nn_linear(b, x, ".laurel_l"), ".laurel_r");
    return nn_add(b, x, nn_rms_norm_once(b, y, ".laurel_post_norm.weight"));
}

/* Of a token's gates those that stand out, by as much as they do. */
static hn_node *thin_out(nn_build *b, hn_node *gate)
{
    hn_graph *g = b->g;
    hn_node *mean = hn_mean(g, gate, -1, true);
    hn_node *deviation = hn_sqrt(g, hn_mean(g, hn_sqr(g, hn_sub(g, gate, mean)), -1, true));
    hn_node *far = nn_scale(b, nn_round(b, deviation), nn_constant(b, b->hp->sparsity[b->layer]));
    hn_node *least = nn_add(b, nn_round(b, mean), far);
    return hn_relu(g, nn_round(b, hn_sub(g, gate, least)));
}

static hn_node *feed_forward(nn_build *b, hn_node *x)
{
    hn_node *gate = nn_linear(b, x, ".ffn_gate");
    if (b->hp->sparsity[b->layer] > -HUGE_VAL)
        gate = thin_out(b, gate);
    hn_node *up = nn_linear(b, x, ".ffn_up");
    return nn_linear(b, nn_gate(b, HN_ACT_GELU_TANH, gate, up), ".ffn_down");
}

/* What the active stream is found to be. */
static hn_node *compute(nn_build *b, hn_node *x, nn_keys *made)
{
    hn_node *normed = nn_rms_norm_once(b, x, ".attn_norm.weight");
    hn_node *side = laurel(b, normed);
    hn_node *y = nn_rms_norm_once(b, attention(b, normed, made), ".post_attention_norm.weight");
    y = nn_add(b, nn_add(b, x, y), side);
    y = nn_round(b, hn_div(b->g, y, hn_graph_scalar(b->g, (float)sqrt(2))));
    hn_node *h = feed_forward(b, nn_rms_norm_once(b, y, ".ffn_norm.weight"));
    return nn_add(b, y, nn_rms_norm_once(b, h, ".post_ffw_norm.weight"));
}

/* The layer's own input changes all streams but the first. */
static hn_node *add_own(nn_build *b, hn_node *x, hn_node *inputs)
{
    hn_node *active = nn_mul(b, stream(b, x, b->hp->altup_active), nn_want(b, ".altup_correct_scale.weight"));
    hn_node *change = as_stream(b, hn_gemma_layer_change(b, active, inputs));
    hn_node *rest = nn_add(b, streams(b, x, 1, b->hp->altup_inputs), change);
    return hn_concat(b->g, streams(b, x, 0, 1), rest, 1);
}

static hn_node *build(nn_build *b)
{
    const hn_hparams *hp = b->hp;
    nn_keys *made = hn_graph_alloc(b->g, (size_t)hp->n_layer * sizeof *made);
    hn_node *x = nn_scale(b, nn_embed(b), nn_constant(b, sqrt((double)hp->width)));
    hn_node *inputs = hn_gemma_layer_inputs(b, x, nn_constant(b, 1 / sqrt((double)hp->width)),
                                            nn_constant(b, sqrt(0.5)));
    x = split(b, x);
    for (b->layer = 0; made && b->layer < hp->n_layer; b->layer++) {
        x = nn_layer_begin(b, x);
        hn_node *predicted = predict(b, x);
        hn_node *found = compute(b, stream(b, predicted, hp->altup_active), made);
        x = add_own(b, correct(b, predicted, found), inputs);
        x = nn_layer_end(b, x);
    }
    return nn_head(b, nn_rms_norm_once(b, unite(b, x), "output_norm.weight"), (float)hp->final_softcap, 0);
}

const hn_arch hn_arch_gemma3n = {
    .name = "gemma3n", .classes = classes, .prefixes = hn_decoder_prefixes, .layers = "layers.",
    .ignored = hn_decoder_ignored, .outer = outer_tables, .weights = weights, .tables = tables, .read_config = read_config,
    .read_meta = read_meta, .write_meta = write_meta, .defaults = defaults, .build = build, .has_bf16 = true,
};
