/* Rope from config.json: rope_parameters, or what files had before it: rope_scaling, with rope_theta
 * beside it. What the types take and how it is defaulted follows Transformers' modeling_rope_utils.
 * An architecture whose tables let rope_parameters have "full_attention" and "sliding_attention"
 * has a rope for each; that of sliding layers is never stretched. */
#include "base/mathfn.h"
#include "nn/config.h"

#include <math.h>
#include <string.h>

static bool has_row(const hn_config *c, const char *name)
{
    return hn_key_named(c->tables, c->class, name) != NULL;
}

static hn_status want(const hn_config *rope, const char *name, double *out)
{
    bool is_there;
    HN_TRY(hn_config_num(rope, name, out, &is_there));
    return is_there ? HN_OK : hn_config_refuse(rope, name, HN_ERR_FORMAT, "its rope_type needs it");
}

/* Of frequencies: they may turn the other way, but not stand still. */
static hn_status want_divisor(const hn_config *rope, double *out)
{
    HN_TRY(want(rope, "factor", out));
    return fabs(*out) >= 0x1p-126
               ? HN_OK
               : hn_config_refuse(rope, "factor", HN_ERR_FORMAT, "frequencies are divided by it");
}

static hn_status read_factors(const hn_config *rope, const char *key, hn_hparams *hp, double *out)
{
    const hn_json *list;
    HN_TRY(hn_config_json(rope, key, &list));
    if (!list)
        return hn_config_refuse(rope, key, HN_ERR_FORMAT, "its rope_type needs it");
    HN_REQUIRE(hn_json_count(list) > 0 && hn_json_count(list) <= HN_MAX_ROPE_FACTORS &&
                   (!hp->n_rope_factors || hp->n_rope_factors == (int)hn_json_count(list)),
               HN_ERR_FORMAT, "config.json: %s: expected one number a pair, at most %d", key,
               HN_MAX_ROPE_FACTORS);
    hp->n_rope_factors = (int)hn_json_count(list);
    int i = 0;
    for (const hn_json *v = hn_json_first(list); v; v = v->next)
        HN_TRY(hn_json_want_double(v, key, &out[i++]));
    return HN_OK;
}

static hn_status optional(const hn_config *rope, const char *name, hn_hparams *hp, hn_hp which)
{
    return hn_config_num(rope, name, hn_hp_num(hp, which), &hp->has[which]);
}

/* Beside rope_parameters it comes first, as in Phi 3's files. */
static hn_status read_original(const hn_config *c, const hn_config *rope, hn_hparams *hp)
{
    static const char name[] = "original_max_position_embeddings";
    bool is_there = false;
    double inner;
    const hn_key_row *theta = hn_key_named(rope->tables, rope->class, "rope_theta");
    if (has_row(c, name))
        HN_TRY(hn_config_int(c, name, &hp->rope_orig_ctx, &is_there));
    if (!is_there) { /* some files have a fraction of 0 there */
        HN_TRY(hn_config_num(rope, name, &inner, &is_there));
        hp->rope_orig_ctx = (int64_t)inner;
        if (inner != (double)hp->rope_orig_ctx)
            return hn_config_refuse(rope, name, HN_ERR_FORMAT, "expected a whole number");
    }
    if (!is_there && theta->otherwise) /* a class without defaults: that of the base must be there */
        return hn_config_refuse(rope, name, HN_ERR_FORMAT, "its rope_type needs it");
    return hn_hparams_check_int("config.json", name, hp->rope_orig_ctx);
}

/* 0 would mean the usual one: the least number does what it would, which is to leave no score. */
static hn_status read_magnitude(const hn_config *rope, hn_hparams *hp, hn_hp which)
{
    HN_TRY(optional(rope, "attention_factor", hp, which));
    if (hp->has[which] && *hn_hp_num(hp, which) < 0x1p-126)
        *hn_hp_num(hp, which) = 0x1p-126;
    return HN_OK;
}

static double magnitude(double factor, double mscale)
{
    return factor <= 1 ? 1.0 : 0.1 * mscale * hn_math_log(factor) + 1.0;
}

static hn_status read_yarn(const hn_config *rope, hn_hparams *hp)
{
    bool has_factor, has_scale, has_all, truncates;
    double scale, all;
    HN_TRY(hn_config_num(rope, "factor", &hp->rope_factor, &has_factor));
    if (!hn_config_states(rope, "factor"))
        return hn_config_refuse(rope, "factor", HN_ERR_FORMAT, "yarn needs it");
    const double original = (double)(hp->rope_orig_ctx ? hp->rope_orig_ctx : hp->n_ctx);
    HN_REQUIRE(original > 0, HN_ERR_FORMAT, "config.json: yarn: no original context length");
    if (!has_factor)
        hp->rope_factor = (double)hp->n_ctx / original;
    if (!(hp->rope_factor >= 0x1p-126))
        return hn_config_refuse(rope, "factor", HN_ERR_FORMAT, "expected a number above 0");
    HN_REQUIRE(hp->rope_base > 1, HN_ERR_FORMAT, "config.json: yarn: rope_theta is %g: expected "
                                                 "more than 1", hp->rope_base);
    hp->has[HN_HP_rope_factor] = true;
    hp->has[HN_HP_rope_orig_ctx] = hp->rope_orig_ctx > 0;
    HN_TRY(optional(rope, "extrapolation_factor", hp, HN_HP_yarn_ext_factor));
    HN_TRY(read_magnitude(rope, hp, HN_HP_yarn_attn_factor));
    HN_TRY(optional(rope, "beta_fast", hp, HN_HP_yarn_beta_fast));
    HN_TRY(optional(rope, "beta_slow", hp, HN_HP_yarn_beta_slow));
    hp->has[HN_HP_yarn_beta_fast] &= hp->yarn_beta_fast != 0; /* 0: the usual one */
    hp->has[HN_HP_yarn_beta_slow] &= hp->yarn_beta_slow != 0;
    HN_TRY(hn_config_flag(rope, "truncate", &truncates));
    /* of a rope for a kind of layer Transformers looks for it beside the kinds */
    hp->has[HN_HP_rope_fractional] = hp->rope_fractional = !truncates && strcmp(rope->path, "rope_parameters.full_attention.") != 0;
    HN_TRY(hn_config_num(rope, "mscale", &scale, &has_scale));
    HN_TRY(hn_config_num(rope, "mscale_all_dim", &all, &has_all));
    hp->rope_mscale = all;
    if (!hp->has[HN_HP_yarn_attn_factor] && scale != 0 && all != 0)
        HN_HP_SET(hp, yarn_attn_factor,
                  magnitude(hp->rope_factor, scale) / magnitude(hp->rope_factor, all));
    return HN_OK;
}

/* The factors of sequences up to the original length; a longer one has others for all its
 * positions, and is refused (rope_limit). */
static hn_status read_longrope(const hn_config *rope, hn_hparams *hp)
{
    bool has_factor;
    double factor;
    HN_TRY(read_factors(rope, "long_factor", hp, hp->rope_long));
    HN_TRY(read_factors(rope, "short_factor", hp, hp->rope_short));
    HN_TRY(hn_config_num(rope, "factor", &factor, &has_factor));
    HN_TRY(read_magnitude(rope, hp, HN_HP_rope_attn_factor));
    if (!hp->rope_orig_ctx)
        hp->rope_orig_ctx = hp->n_ctx;
    HN_REQUIRE(hp->rope_orig_ctx > 1, HN_ERR_FORMAT,
               "config.json: longrope: an original context length of %lld",
               (long long)hp->rope_orig_ctx);
    hp->has[HN_HP_rope_orig_ctx] = true;
    if (!has_factor)
        factor = (double)hp->n_ctx / (double)hp->rope_orig_ctx;
    if (!hp->has[HN_HP_rope_attn_factor])
        HN_HP_SET(hp, rope_attn_factor,
                  factor <= 1 ? 1.0 : sqrt(1 + hn_math_log(factor) /
                                                   hn_math_log((double)hp->rope_orig_ctx)));
    HN_HP_SET(hp, rope_limit, hp->rope_orig_ctx);
    return HN_OK;
}

static hn_status read_llama3(const hn_config *rope, hn_hparams *hp)
{
    HN_TRY(want_divisor(rope, &hp->rope_factor));
    HN_TRY(want(rope, "low_freq_factor", &hp->rope_low_freq));
    HN_TRY(want(rope, "high_freq_factor", &hp->rope_high_freq));
    if (!hp->rope_orig_ctx)
        hp->rope_orig_ctx = hp->n_ctx;
    HN_REQUIRE(hp->rope_orig_ctx > 0, HN_ERR_FORMAT,
               "config.json: llama3: no original context length");
    return HN_OK;
}

/* Beyond the context length rope would change with every token. */
static hn_status read_dynamic(const hn_config *rope, hn_hparams *hp)
{
    double factor;
    HN_TRY(want(rope, "factor", &factor));
    HN_REQUIRE(hp->n_ctx > 0, HN_ERR_FORMAT, "config.json: dynamic rope without a context length");
    HN_HP_SET(hp, rope_limit, hp->n_ctx);
    return HN_OK;
}

/* Transformers asks for head_dim there, and fails where the class has it as None. */
static hn_status check_head_dim(const hn_config *c, const hn_config *rope, const char *word)
{
    const hn_key_row *row = hn_key_named(c->tables, c->class, "head_dim");
    const hn_json *found = NULL;
    if (!row || !(row->is & HN_IS_NULL) ||
        (strcmp(word, "yarn") && strcmp(word, "longrope") && strcmp(word, "dynamic")))
        return HN_OK;
    HN_TRY(hn_config_json(c, "head_dim", &found));
    const bool is_none = !found && row->otherwise && !strcmp(row->otherwise, "null");
    return is_none ? hn_config_refuse(rope, "rope_type", HN_ERR_UNSUPPORTED,
                                      "it needs head_dim, which is null")
                   : HN_OK;
}

static hn_status read_type(const hn_config *c, const hn_config *rope, hn_hparams *hp)
{
    const char *word;
    bool has_partial, has_factor;
    const hn_key_row *whole = hn_key_named(c->tables, c->class, "partial_rotary_factor");
    const bool is_phi = whole && whole->low < whole->high; /* part of a head may turn */
    HN_TRY(hn_config_num(rope, "partial_rotary_factor", &hp->rope_partial, &has_partial));
    if (!has_partial && whole)
        HN_TRY(hn_config_num(c, "partial_rotary_factor", &hp->rope_partial, &has_partial));
    if (!has_partial)
        hp->rope_partial = 1;
    HN_TRY(hn_config_word(rope, "rope_type", &word));
    if (!strcmp(word, "default"))
        return is_phi ? read_original(c, rope, hp) : HN_OK;
    if (!strcmp(word, "proportional") && !is_phi) {
        hp->rope_scaling = HN_ROPE_PROPORTIONAL;
        HN_TRY(hn_config_num(rope, "factor", &hp->rope_factor, &has_factor));
        hp->rope_factor = has_factor ? hp->rope_factor : 1;
        return hp->rope_factor >= 0x1p-126
                   ? HN_OK
                   : hn_config_refuse(rope, "factor", HN_ERR_FORMAT, "expected a number above 0");
    }
    HN_TRY(check_head_dim(c, rope, word));
    HN_REQUIRE(hp->rope_partial == 1 || is_phi, HN_ERR_UNSUPPORTED,
               "config.json: partial_rotary_factor is %g: %s turns whole heads", hp->rope_partial,
               c->class);
    if (!strcmp(word, "dynamic") && !is_phi)
        return read_dynamic(rope, hp);
    if (!strcmp(word, "linear") && !is_phi) {
        hp->rope_scaling = HN_ROPE_LINEAR;
        hp->rope_is_stated = hp->has[HN_HP_rope_factor] = true;
        return want_divisor(rope, &hp->rope_factor);
    }
    HN_TRY(read_original(c, rope, hp));
    const hn_key_row *theta = hn_key_named(rope->tables, rope->class, "rope_theta");
    if (!strcmp(word, "longrope") && theta->otherwise)
        return hn_config_refuse(rope, "rope_type", HN_ERR_UNSUPPORTED,
                                "Transformers' class cannot either");
    if (!strcmp(word, "longrope") || (is_phi && (!strcmp(word, "su") || !strcmp(word, "yarn")))) {
        hp->rope_scaling = HN_ROPE_LONGROPE;
        hp->rope_is_stated = true;
        return read_longrope(rope, hp);
    }
    if (!strcmp(word, "yarn")) {
        hp->rope_scaling = HN_ROPE_YARN;
        hp->rope_is_stated = true;
        return read_yarn(rope, hp);
    }
    if (!strcmp(word, "llama3") && !is_phi) {
        hp->rope_scaling = HN_ROPE_LLAMA3;
        return read_llama3(rope, hp);
    }
    return hn_config_refuse(rope, "rope_type", HN_ERR_UNSUPPORTED, "expected default, linear, "
                            "dynamic, yarn, llama3, longrope or proportional");
}

static hn_status read_theta(const hn_config *c, const hn_config *rope, const char *outer,
                            double *out, bool *has)
{
    HN_TRY(hn_config_num(rope, "rope_theta", out, has));
    if (!*has && has_row(c, outer))
        HN_TRY(hn_config_num(c, outer, out, has));
    return HN_OK;
}

/* Of sliding layers: the base, and nothing else. */
static hn_status read_sliding(const hn_config *c, const hn_config *all, hn_hparams *hp)
{
    hn_config rope;
    const char *word;
    HN_TRY(hn_config_within(all, "sliding_attention", &rope));
    HN_TRY(hn_config_word(&rope, "rope_type", &word));
    if (strcmp(word, "default") != 0)
        return hn_config_refuse(&rope, "rope_type", HN_ERR_UNSUPPORTED,
                                "layers with a window have default alone");
    return read_theta(c, &rope, "rope_local_base_freq", &hp->rope_base_swa,
                      &hp->has[HN_HP_rope_base_swa]);
}

static hn_status read_layered(const hn_config *c, const hn_config *all, hn_hparams *hp)
{
    const hn_json *older = NULL;
    hn_config rope;
    HN_TRY(hn_config_within(all, "full_attention", &rope));
    if (has_row(c, "rope_scaling"))
        HN_TRY(hn_config_json(c, "rope_scaling", &older));
    if (older && all->object)
        return hn_config_refuse(c, "rope_scaling", HN_ERR_UNSUPPORTED,
                                "rope_parameters stands beside it");
    if (older)
        HN_TRY(hn_config_within(c, "rope_scaling", &rope));
    HN_TRY(read_sliding(c, all, hp));
    HN_TRY(read_theta(c, &rope, "rope_theta", &hp->rope_base, &hp->has[HN_HP_rope_base]));
    return read_type(c, &rope, hp);
}

hn_status hn_rope_read_config(const hn_config *c, hn_hparams *hp)
{
    hn_config rope;
    const hn_json *older = NULL;
    HN_TRY(hn_config_within(c, "rope_parameters", &rope));
    if (has_row(&rope, "full_attention"))
        return read_layered(c, &rope, hp);
    if (has_row(c, "rope_scaling"))
        HN_TRY(hn_config_json(c, "rope_scaling", &older));
    if (older && hn_json_count(older)) /* comes first, where it says anything */
        HN_TRY(hn_config_within(c, "rope_scaling", &rope));
    HN_TRY(read_theta(c, &rope, "rope_theta", &hp->rope_base, &hp->has[HN_HP_rope_base]));
    return read_type(c, &rope, hp);
}
