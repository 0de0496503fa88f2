/* A table of mixes: for each role of a tensor the first rule that holds, else the recipe's own type. The rules are
 * llama.cpp's, layer by layer, so a name means the same mix. */
#include "convert/recipe.h"

#include "base/ascii.h"
#include "base/nearest.h"
#include "base/pattern.h"

#include <stdio.h>
#include <string.h>

/* What a tensor is to a mix. */
typedef enum role { VALUES, KEYS, ATTN_OUT, DOWN, EMBEDDING, OTHER } role;

/* When a rule holds. */
typedef enum moment {
    ALWAYS,
    MORE_BITS,     /* the first and last eighth of the layers, and every third between */
    FIRST_2,
    FIRST_4,
    FIRST_8TH,
    FIRST_16TH,
    SHARED_4,      /* four or more query heads a key head */
    BLIND_8TH,     /* the first eighth, without importance */
    WEIGHTED_8TH,  /* the first eighth, with importance */
    EIGHT_EXPERTS
} moment;

typedef struct rule {
    role role;
    moment when;
    hn_dtype dtype;
} rule;

enum { MAX_RULES = 6 };

struct hn_recipe {
    const char *name;
    int file_type;
    hn_dtype dtype;
    rule rules[MAX_RULES]; /* the first that holds decides; dtype 0 (f32) ends them */
};

#define T(name) HN_TYPE_##name
/* clang-format off */
static const hn_recipe recipes[] = {
    { "f32",    0,  HN_F32,    { { 0 } } },
    { "f16",    1,  HN_F16,    { { 0 } } },
    { "bf16",   32, HN_BF16,   { { 0 } } },
    { "q8_0",   7,  T(q8_0),   { { 0 } } },
    { "q4_0",   2,  T(q4_0),   { { DOWN, WEIGHTED_8TH, T(q4_1) } } },
    { "q4_1",   3,  T(q4_1),   { { 0 } } },
    { "q5_0",   8,  T(q5_0),   { { DOWN, WEIGHTED_8TH, T(q5_1) } } },
    { "q5_1",   9,  T(q5_1),   { { 0 } } },
    { "q2_k",   10, T(q2_k),   { { VALUES, SHARED_4, T(q4_k) }, { VALUES, ALWAYS, T(q3_k) }, { DOWN, ALWAYS, T(q3_k) },
                                 { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) }, { ATTN_OUT, ALWAYS, T(q3_k) } } },
    { "q2_k_s", 21, T(q2_k),   { { VALUES, SHARED_4, T(q4_k) }, { DOWN, FIRST_8TH, T(q4_k) } } },
    { "q3_k_s", 11, T(q3_k),   { { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) } } },
    { "q3_k_m", 12, T(q3_k),   { { VALUES, FIRST_2, T(q5_k) }, { VALUES, ALWAYS, T(q4_k) }, { DOWN, FIRST_16TH, T(q5_k) },
                                 { DOWN, ALWAYS, T(q4_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) }, { ATTN_OUT, ALWAYS, T(q4_k) } } },
    { "q3_k_l", 13, T(q3_k),   { { VALUES, ALWAYS, T(q5_k) }, { DOWN, ALWAYS, T(q5_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q3_k) },
                                 { ATTN_OUT, ALWAYS, T(q5_k) } } },
    { "q4_k_s", 14, T(q4_k),   { { VALUES, FIRST_4, T(q5_k) }, { DOWN, FIRST_8TH, T(q5_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) } } },
    { "q4_k_m", 15, T(q4_k),   { { VALUES, MORE_BITS, T(q6_k) }, { DOWN, MORE_BITS, T(q6_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) } } },
    { "q5_k_s", 16, T(q5_k),   { { 0 } } },
    { "q5_k_m", 17, T(q5_k),   { { VALUES, MORE_BITS, T(q6_k) }, { DOWN, MORE_BITS, T(q6_k) } } },
    { "q6_k",   18, T(q6_k),   { { 0 } } },
    { "iq4_nl", 25, T(iq4_nl), { { VALUES, SHARED_4, T(q5_k) }, { DOWN, BLIND_8TH, T(q5_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) } } },
    { "iq4_xs", 30, T(iq4_xs), { { VALUES, SHARED_4, T(q5_k) }, { DOWN, BLIND_8TH, T(q5_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) } } },
    { "tq1_0",  36, T(tq1_0),  { { EMBEDDING, ALWAYS, T(q4_k) } } },
    { "tq2_0",  37, T(tq2_0),  { { EMBEDDING, ALWAYS, T(q4_k) } } },
    { "mxfp4",  38, T(mxfp4),  { { 0 } } },
    { "nvfp4",  39, T(nvfp4),  { { 0 } } },
    /* names for the usual mix of a kind */
    { "q3_k",   12, T(q3_k),   { { VALUES, FIRST_2, T(q5_k) }, { VALUES, ALWAYS, T(q4_k) }, { DOWN, FIRST_16TH, T(q5_k) },
                                 { DOWN, ALWAYS, T(q4_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) }, { ATTN_OUT, ALWAYS, T(q4_k) } } },
    { "q4_k",   15, T(q4_k),   { { VALUES, MORE_BITS, T(q6_k) }, { DOWN, MORE_BITS, T(q6_k) }, { ATTN_OUT, EIGHT_EXPERTS, T(q5_k) } } },
    { "q5_k",   17, T(q5_k),   { { VALUES, MORE_BITS, T(q6_k) }, { DOWN, MORE_BITS, T(q6_k) } } },
};
/* clang-format on */
enum { N_RECIPES = sizeof recipes / sizeof *recipes };

/* A name beside another of the same mix. */
static bool is_alias(int i)
{
    for (int k = 0; k < i; k++)
        if (recipes[k].file_type == recipes[i].file_type)
            return true;
    return false;
}

const char *hn_recipe_at(int i)
{
    for (int k = 0; k < N_RECIPES && i >= 0; k++)
        if (!is_alias(k) && i-- == 0)
            return recipes[k].name;
    return NULL;
}

hn_status hn_recipe_named(const char *name, const hn_recipe **out)
{
    for (int i = 0; i < N_RECIPES; i++)
        if (hn_ascii_same(recipes[i].name, name)) {
            *out = &recipes[i];
            return HN_OK;
        }
    *out = NULL;
    char text[HN_NEAREST_TEXT], all[512] = "";
    hn_nearest near = hn_nearest_to(name, strlen(name));
    for (int i = 0; i < N_RECIPES; i++) {
        const size_t at = strlen(all);
        hn_nearest_try(&near, recipes[i].name);
        if (!is_alias(i))
            snprintf(all + at, sizeof all - at, " %s", recipes[i].name);
    }
    return hn_fail(HN_ERR_ARGUMENT, "type %.64s is not known: expected one of%s%s", name, all, hn_nearest_text(&near, "", text));
}

hn_dtype hn_recipe_dtype(const hn_recipe *recipe)
{
    return recipe->dtype;
}

int hn_recipe_file_type(const hn_recipe *recipe)
{
    return recipe->file_type;
}

hn_status hn_weight_type_parse(const char *option, const char *name, hn_dtype *out)
{
    HN_TRY(hn_dtype_parse(name, strlen(name), out));
    const bool is_plain = *out == HN_F32 || *out == HN_F16 || *out == HN_BF16;
    HN_REQUIRE(is_plain || (hn_is_block(*out) && hn_dtype_format(*out)->encode), HN_ERR_ARGUMENT, "%s: weights are not written so", option);
    return HN_OK;
}

hn_status hn_keep_parse(const char *text, hn_keep *out)
{
    const char *equals = strrchr(text, '=');
    HN_REQUIRE(equals && equals != text, HN_ERR_ARGUMENT,
               "%s: expected PATTERN=TYPE, as in \"*.attn_v.weight=q8_0\"", text);
    const size_t n = (size_t)(equals - text);
    HN_REQUIRE(n < sizeof out->pattern, HN_ERR_ARGUMENT, "%s: the pattern is too long", text);
    memcpy(out->pattern, text, n);
    out->pattern[n] = '\0';
    char lower[16];
    snprintf(lower, sizeof lower, "%s", equals + 1);
    for (char *c = lower; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    char option[sizeof out->pattern + 32];
    snprintf(option, sizeof option, "--keep %s=%s", out->pattern, lower);
    return hn_weight_type_parse(option, lower, &out->dtype);
}

/* Tensors that stay as they are: small, and much hangs on them. */
static bool may_change(const char *name, const hn_type *shape)
{
    static const char *const kept[] = { "*_norm.weight",        "*ffn_gate_inp.weight",
                                        "*altup*",              "*laurel*",
                                        "*per_layer_model_proj*", "position_embd.weight",
                                        "token_types.weight" };
    if (shape->rank < 2 || !hn_pattern_matches("*weight", name))
        return false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (hn_pattern_matches(kept[i], name))
            return false;
    return true;
}

static role role_of(const char *name)
{
    static const struct {
        const char *pattern;
        role role;
    } known[] = { { "*attn_qkv.weight", VALUES },        { "*attn_kv_b.weight", VALUES },
                  { "*attn_v.weight", VALUES },          { "*attn_k.weight", KEYS },
                  { "*attn_output.weight", ATTN_OUT },   { "*ffn_down*", DOWN },
                  { "token_embd.weight", EMBEDDING },    { "per_layer_token_embd.weight", EMBEDDING } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (hn_pattern_matches(known[i].pattern, name))
            return known[i].role;
    return OTHER;
}

/* Values are counted by the tensors that there are, not by layers. */
static void place_of(const hn_recipe_model *model, role part, int64_t *layer, int64_t *n)
{
    *n = model->hp->n_layer;
    if (part != VALUES || !model->has_values)
        return;
    int64_t before = 0, all = 0;
    for (int64_t i = 0; i < *n; i++) {
        before += i < *layer && model->has_values[i];
        all += model->has_values[i];
    }
    *layer = before;
    *n = all;
}

static bool holds(moment when, const hn_recipe_model *model, role part, int64_t layer)
{
    int64_t n;
    place_of(model, part, &layer, &n);
    const int64_t eighth = n / 8;
    switch (when) {
    case ALWAYS: return true;
    case MORE_BITS: return layer < eighth || layer >= 7 * n / 8 || (layer - eighth) % 3 == 2;
    case FIRST_2: return layer < 2;
    case FIRST_4: return layer < 4;
    case FIRST_8TH: return layer < eighth;
    case FIRST_16TH: return layer < n / 16;
    case SHARED_4: return model->hp->n_head[0] / model->hp->n_kv_head[0] >= 4;
    case BLIND_8TH: return layer < eighth && !model->has_importance;
    case WEIGHTED_8TH: return layer < eighth && model->has_importance;
    case EIGHT_EXPERTS: return model->hp->n_expert == 8;
    }
    return false;
}

/* Rows that blocks of 256 do not divide take the nearest type of blocks of 32; the rest, f16. */
hn_dtype hn_recipe_fit(hn_dtype dtype, int64_t row)
{
    static const struct {
        hn_dtype from, to;
    } smaller[] = { { T(iq4_xs), T(iq4_nl) }, { T(q2_k), T(q4_0) },  { T(q3_k), T(q4_0) },
                    { T(tq1_0), T(q4_0) },    { T(tq2_0), T(q4_0) }, { T(q4_k), T(q5_0) },
                    { T(q5_k), T(q5_1) },     { T(q6_k), T(q8_0) } };
    if (row % hn_dtype_block(dtype) == 0)
        return dtype;
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++)
        if (smaller[i].from == dtype && row % hn_dtype_block(smaller[i].to) == 0)
            return smaller[i].to;
    return HN_F16;
}

static hn_dtype mixed(const hn_recipe *recipe, const hn_recipe_model *model, const char *name,
                      const hn_type *shape)
{
    const role part = role_of(name);
    const bool is_head = !strcmp(name, "output.weight") ||
                         (!model->has_output && part == EMBEDDING);
    hn_dtype dtype = recipe->dtype;
    if (is_head)
        return dtype == T(q8_0) || dtype == T(mxfp4) ? T(q8_0) : T(q6_k);
    if (dtype == T(mxfp4)) /* for experts; the rest of such models is kept at 8 bits */
        return shape->rank == 3 ? T(mxfp4) : T(q8_0);
    int layer = 0;
    sscanf(name, "blk.%d.", &layer);
    for (int i = 0; i < MAX_RULES && recipe->rules[i].dtype; i++)
        if (recipe->rules[i].role == part && holds(recipe->rules[i].when, model, part, layer)) {
            dtype = recipe->rules[i].dtype;
            break;
        }
    const bool is_70b = model->hp->n_layer == 80 && model->hp->n_head[0] != model->hp->n_kv_head[0];
    if (part == VALUES && is_70b && (dtype == T(q3_k) || dtype == T(q4_k)))
        dtype = T(q5_k);
    if ((part == VALUES || part == KEYS) && model->hp->n_expert == 8)
        dtype = T(q8_0);
    return dtype;
}

void hn_recipe_mark_values(const char *name, bool has_values[HN_MAX_LAYERS])
{
    int layer;
    if (role_of(name) == VALUES && sscanf(name, "blk.%d.", &layer) == 1 && layer >= 0 &&
        layer < HN_MAX_LAYERS)
        has_values[layer] = true;
}

/* Which of --keep decides for a tensor: the first that names it; n_keep: none. */
static int kept_by(const hn_recipe_model *model, const char *name)
{
    int k = 0;
    while (k < model->n_keep && !hn_pattern_matches(model->keep[k].pattern, name))
        k++;
    return k;
}

hn_status hn_recipe_check_keep(const hn_recipe_model *model, const hn_weight_entry *entries, size_t n)
{
    for (int k = 0; k < model->n_keep; k++) {
        bool is_named = false, is_free = false, is_any = false;
        for (size_t i = 0; i < n && !is_any; i++) {
            const bool is = hn_pattern_matches(model->keep[k].pattern, entries[i].name);
            const bool may = is && may_change(entries[i].name, &entries[i].type);
            is_named = is_named || is;
            is_free = is_free || may;
            is_any = may && kept_by(model, entries[i].name) == k;
        }
        HN_REQUIRE(is_any, HN_ERR_ARGUMENT, "--keep %s=%s: %s", model->keep[k].pattern, hn_dtype_name(model->keep[k].dtype),
                   is_free    ? "all that it names is another's before it: the first that names a tensor counts"
                   : is_named ? "such tensors stay as they are"
                              : "no tensor has such a name");
    }
    return HN_OK;
}

hn_dtype hn_recipe_meant(const hn_recipe *recipe, const hn_recipe_model *model, const char *name,
                         const hn_type *shape, hn_dtype current)
{
    if (!may_change(name, shape))
        return current;
    const int kept = kept_by(model, name);
    if (kept < model->n_keep)
        return model->keep[kept].dtype;
    return hn_is_block(recipe->dtype) ? mixed(recipe, model, name, shape) : recipe->dtype;
}

hn_dtype hn_recipe_choose(const hn_recipe *recipe, const hn_recipe_model *model,
                          const char *name, const hn_type *shape, hn_dtype current)
{
    const hn_dtype meant = hn_recipe_meant(recipe, model, name, shape, current);
    return may_change(name, shape) && hn_is_block(meant) ? hn_recipe_fit(meant, hn_last_dim(shape)) : meant;
}

hn_tensor_kind hn_tensor_kind_of(const char *name, const hn_type *shape)
{
    static const struct {
        const char *pattern;
        hn_tensor_kind kind;
    } known[] = { { "token_embd.weight", HN_KIND_EMBEDDING }, { "per_layer_token_embd.weight", HN_KIND_EMBEDDING },
                  { "output.weight", HN_KIND_HEAD },          { "*_exps.*", HN_KIND_EXPERTS },
                  { "*_shexp.*", HN_KIND_EXPERTS },           { "*ffn_gate_inp*", HN_KIND_OTHER },
                  { "*.attn_*", HN_KIND_ATTENTION },          { "*.ffn_*", HN_KIND_FFN } };
    if (shape->rank < 2 || hn_pattern_matches("*_norm.*", name))
        return HN_KIND_NORMS;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (hn_pattern_matches(known[i].pattern, name))
            return known[i].kind;
    return HN_KIND_OTHER;
}
