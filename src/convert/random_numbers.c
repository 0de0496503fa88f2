/* Few numbers are told; what depends on them follows (heads divide the width, experts their layers), and is read
 * back as from a file: what was set and would not come back was no number of this architecture. */
#include "convert/random_numbers.h"

#include "base/nearest.h"
#include "convert/byte_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Short words for the keys that are set most. */
static const struct {
    const char *word, *key;
} words[] = {
    { "layers", "block_count" },
    { "width", "embedding_length" },
    { "ffn", "feed_forward_length" },
    { "heads", "attention.head_count" },
    { "kv_heads", "attention.head_count_kv" },
    { "head_dim", "attention.key_length" },
    { "context", "context_length" },
    { "experts", "expert_count" },
    { "used", "expert_used_count" },
    { "expert_ffn", "expert_feed_forward_length" },
    { "window", "attention.sliding_window" },
    { "kv_shared", "attention.shared_kv_layers" },
    { "ple", "embedding_length_per_layer_input" },
};

static hn_status set_flag(const char *key, const char *value, bool *out)
{
    HN_REQUIRE(!strcmp(value, "true") || !strcmp(value, "false"), HN_ERR_ARGUMENT,
               "%s=%s: expected true or false", key, value);
    *out = !strcmp(value, "true");
    return HN_OK;
}

hn_status hn_random_set(hn_hparams *hp, const char *setting)
{
    const char *equals = strchr(setting, '=');
    char key[96];
    HN_REQUIRE(equals && equals != setting && (size_t)(equals - setting) < sizeof key,
               HN_ERR_ARGUMENT, "%s: expected key=value", setting);
    memcpy(key, setting, (size_t)(equals - setting));
    key[equals - setting] = '\0';
    if (!strcmp(key, "vocab")) {
        char *end;
        hp->n_vocab = strtoll(equals + 1, &end, 10);
        HN_REQUIRE(!*end && hp->n_vocab >= HN_BYTE_TOKENS && hp->n_vocab <= 1 << 24,
                   HN_ERR_ARGUMENT, "%s: expected %d to %d", setting, HN_BYTE_TOKENS, 1 << 24);
        return HN_OK;
    }
    if (!strcmp(key, "tied"))
        return set_flag(key, equals + 1, &hp->is_tied);
    if (!strcmp(key, "k_eq_v")) {
        bool shares;
        HN_TRY(set_flag(key, equals + 1, &shares));
        for (int i = 0; i < HN_MAX_LAYERS; i++)
            hp->is_key_value[i] = shares;
        return HN_OK;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i].word, key))
            return hn_hparams_set(hp, words[i].key, equals + 1);
    const hn_status status = hn_hparams_set(hp, key, equals + 1);
    if (status != HN_ERR_ARGUMENT || strchr(key, '.'))
        return status;
    char text[HN_NEAREST_TEXT], said[256];
    hn_nearest near = hn_nearest_to(key, strlen(key));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hn_nearest_try(&near, words[i].word);
    hn_nearest_try(&near, "vocab");
    hn_nearest_try(&near, "tied");
    snprintf(said, sizeof said, "%s", hn_error_message());
    return hn_fail(status, "%s%s", said, hn_nearest_text(&near, "", text));
}

void hn_random_begin(hn_hparams *hp)
{
    HN_HP_SET(hp, n_layer, 2);
    HN_HP_SET(hp, width, 256);
    HN_HP_SET(hp, n_ctx, 2048);
    hn_hparams_fill(hp, HN_HP_n_head, 4);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 2);
    hp->n_vocab = 512;
    hp->rope_partial = 1;
}

hn_status hn_random_complete(const hn_arch *arch, hn_hparams *hp)
{
    HN_REQUIRE(hp->n_layer >= 1 && hp->n_layer <= HN_MAX_LAYERS, HN_ERR_ARGUMENT,
               "layers=%lld: expected 1 to %d", (long long)hp->n_layer, HN_MAX_LAYERS);
    HN_REQUIRE(hp->width >= 1 && hp->n_head[0] >= 1, HN_ERR_ARGUMENT,
               "the width and the number of heads must be positive");
    for (int64_t i = 0; i < hp->n_layer; i++)
        HN_REQUIRE(hp->n_kv_head[i] > 0 && hp->n_head[i] % hp->n_kv_head[i] == 0,
                   HN_ERR_ARGUMENT, "%lld heads over %lld key heads: expected a multiple",
                   (long long)hp->n_head[i], (long long)hp->n_kv_head[i]);
    if (!hp->has[HN_HP_ffn])
        hn_hparams_fill(hp, HN_HP_ffn, (strcmp(arch->name, "gpt2") ? 2 : 4) * hp->width);
    if (!hp->has[HN_HP_head_dim])
        HN_HP_SET(hp, head_dim, hp->width / hp->n_head[0]);
    if (!hp->has[HN_HP_value_dim])
        HN_HP_SET(hp, value_dim, hp->head_dim);
    const bool has_experts = strstr(arch->name, "moe") || !strcmp(arch->name, "gpt-oss");
    if (has_experts && !hp->has[HN_HP_n_expert])
        HN_HP_SET(hp, n_expert, 8);
    if (hp->n_expert && !hp->has[HN_HP_n_used])
        HN_HP_SET(hp, n_used, hp->n_expert < 2 ? 1 : 2);
    if (hp->n_expert && !hp->has[HN_HP_expert_ffn])
        HN_HP_SET(hp, expert_ffn, hp->ffn[0]);
    HN_TRY(arch->defaults(hp));
    if (!hp->has[HN_HP_rope_dim])
        hp->rope_dim = hp->head_dim;
    for (int64_t i = 0; i < hp->n_layer; i++) /* values are keys in full layers only */
        hp->is_key_value[i] = hp->is_key_value[i] && !hp->is_sliding[i];
    return HN_OK;
}

/* Whether keys are the values of any layer, as the architecture's table of weights has it. */
static bool shares_values(const hn_arch *arch, const hn_hparams *hp)
{
    bool may = false, does = false;
    for (const hn_weight_spec *spec = arch->weights; spec->gguf; spec++)
        may = may || spec->when == HN_IF_OWN_V;
    for (int64_t i = 0; i < hp->n_layer; i++)
        does = does || hp->is_key_value[i];
    return may && does;
}

hn_status hn_random_check(const hn_arch *arch, const hn_hparams *hp, int n, const char *const *settings)
{
    for (int i = 0; i < n; i++) {
        hn_hparams again = *hp;
        if (!strncmp(settings[i], "k_eq_v=", 7)) { /* asked of all layers, had by those that can */
            HN_REQUIRE(!strcmp(settings[i], "k_eq_v=false") || shares_values(arch, hp), HN_ERR_ARGUMENT,
                       "%s: %s has values of its own in every layer", settings[i], arch->name);
            continue;
        }
        HN_TRY(hn_random_set(&again, settings[i]));
        HN_REQUIRE(!memcmp(&again, hp, sizeof again), HN_ERR_ARGUMENT,
                   "%s: %s takes this from other keys, has no place for it, or it is given twice",
                   settings[i], arch->name);
    }
    return HN_OK;
}
