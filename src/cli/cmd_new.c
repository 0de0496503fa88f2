/* hone new: a random model of any architecture and size, to try and to test with. */
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "convert/byte_tokenizer.h"
#include "convert/random_model.h"
#include "convert/tokenizer_keys.h"
#include "io/gguf.h"
#include "models/models.h"

#include <stdlib.h>
#include <string.h>

typedef struct new_args {
    hn_sink result;
    const char *type, *tokenizer, *name, *first;
    hn_list keep;
    int64_t seed, threads;
    bool copies;
} new_args;

static const hn_option options[] = {
    HN_RESULT(new_args, result, 1),
    HN_TEXT(new_args, type, "type", "TYPE", "of the weights, as for quantize; default f32"),
    HN_LIST(new_args, keep, "keep", "PATTERN=TYPE", "for tensors so named; may be repeated"),
    HN_TEXT(new_args, name, "name", "TEXT", "general.name (random)"),
    HN_TEXT(new_args, tokenizer, "tokenizer", "FILE",
            "take the tokenizer and chat template of this GGUF file or Hugging Face directory"),
    HN_TEXT(new_args, first, "first", "VALUES",
            "class: as Transformers' class begins (the default); spread: gains and biases all different"),
    HN_FLAG(new_args, copies, "copies",
            "begin with attention that copies what it looks at: for training"),
    HN_INT(new_args, seed, "seed", "N", 0, INT64_MAX, "default 0"),
    HN_INT(new_args, threads, "threads", "N", 1, 256, "default: one a processor"),
    HN_OPTION_END,
};

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

static hn_status set(hn_hparams *hp, const char *setting)
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

/* A small llama-like shape, which the keys then change. */
static void begin(hn_hparams *hp)
{
    HN_HP_SET(hp, n_layer, 2);
    HN_HP_SET(hp, width, 256);
    HN_HP_SET(hp, n_ctx, 2048);
    hn_hparams_fill(hp, HN_HP_n_head, 4);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 2);
    hp->n_vocab = 512;
    hp->rope_partial = 1;
}

static hn_status complete(const hn_arch *arch, hn_hparams *hp)
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

/* What was set is what the model has: set again, it changes nothing. Keys that an architecture derives
 * from others, or has no place for, and keys that are given twice, are refused so. */
static hn_status check_kept(const hn_hparams *hp, const char *arch, int n, char **settings)
{
    for (int i = 0; i < n; i++) {
        hn_hparams again = *hp;
        if (!strncmp(settings[i], "k_eq_v=", 7)) /* asked of all layers, had by those that can */
            continue;
        HN_TRY(set(&again, settings[i]));
        HN_REQUIRE(!memcmp(&again, hp, sizeof again), HN_ERR_ARGUMENT,
                   "%s: %s takes this from other keys, has no place for it, or it is given twice",
                   settings[i], arch);
    }
    return HN_OK;
}

static hn_status make(const new_args *args, hn_random_options *o, hn_heap *heap)
{
    hn_pool *pool;
    hn_keep keep[HN_MAX_LIST];
    for (int i = 0; i < args->keep.n; i++)
        HN_TRY(hn_keep_parse(args->keep.at[i], &keep[i]));
    o->keep = keep;
    o->n_keep = args->keep.n;
    HN_TRY(hn_pool_new(heap, (int)args->threads, &pool));
    hn_watch watch = { .progress = hn_progress };
    hn_progress_begin();
    const hn_status status = hn_random_model(heap, pool, args->result, o, &watch);
    hn_progress_end();
    hn_pool_free(pool);
    return status;
}

/* tokenizer.*, of whatever holds them. */
static hn_status read_tokenizer(hn_heap *heap, const char *path, hn_meta *meta)
{
    if (hn_is_dir(path)) {
        hn_hf_dir *dir;
        HN_TRY(hn_hf_dir_open(heap, path, HN_HF_TEXT, &dir));
        const hn_status status = hn_tokenizer_keys(dir, meta);
        hn_hf_dir_close(dir);
        return status;
    }
    hn_gguf *gguf;
    HN_TRY(hn_gguf_open(heap, path, &gguf));
    const hn_meta *all = hn_gguf_meta(gguf);
    hn_status status = HN_OK;
    for (size_t i = 0; i < all->n && status == HN_OK; i++)
        if (!strncmp(all->values[i].key, "tokenizer.", strlen("tokenizer.")))
            status = hn_meta_set_copy(meta, &all->values[i]);
    hn_gguf_close(gguf);
    HN_REQUIRE(status != HN_OK || meta->n, HN_ERR_FORMAT, "%s: it has no keys tokenizer.*", path);
    return status;
}

/* The vocabulary is the tokenizer's unless it was set. */
static hn_status take_tokenizer(hn_hparams *hp, const hn_meta *meta)
{
    const hn_meta_value *tokens;
    HN_TRY(hn_meta_array(meta, "tokenizer.ggml.tokens", HN_META_STRING, &tokens));
    if (tokens)
        hp->n_vocab = (int64_t)tokens->n;
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const new_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    HN_REQUIRE(!args->first || !strcmp(args->first, "class") || !strcmp(args->first, "spread"),
               HN_ERR_ARGUMENT, "--first %s: expected class or spread", args->first);
    hn_random_options o = { .first = args->first && !strcmp(args->first, "spread") ? HN_FIRST_SPREAD
                                                                                   : HN_FIRST_CLASS,
                            .seed = (uint64_t)args->seed, .name = args->name ? args->name : "random",
                            .copies = args->copies };
    HN_TRY(hn_arch_named(operands[0], &o.arch));
    HN_TRY(hn_recipe_named(args->type ? args->type : "f32", &o.recipe));
    hn_hparams *hp = hn_alloc(&heap, HN_TAG_FILE, sizeof *hp);
    if (!hp)
        return HN_ERR_MEMORY;
    begin(hp);
    hn_meta tokenizer = hn_meta_on(&heap, args->tokenizer);
    hn_status status = HN_OK;
    if (args->tokenizer) {
        o.tokenizer = &tokenizer;
        status = read_tokenizer(&heap, args->tokenizer, &tokenizer);
        if (status == HN_OK)
            status = take_tokenizer(hp, &tokenizer);
    }
    for (int i = 2; i < n_operands && status == HN_OK; i++)
        status = set(hp, operands[i]);
    if (status == HN_OK)
        status = complete(o.arch, hp);
    if (status == HN_OK)
        status = check_kept(hp, o.arch->name, n_operands - 2, operands + 2);
    o.hp = hp;
    if (status == HN_OK)
        status = make(args, &o, &heap);
    hn_meta_free(&tokenizer);
    hn_free(&heap, hp);
    return hn_made(status, &heap, args->result.path, out);
}

const hn_command hn_cmd_new = {
    .name = "new",
    .operands = "ARCH OUT.gguf [key=value ...]",
    .summary = "write a random model of any architecture and size",
    .details = "Keys: layers width heads kv_heads head_dim ffn context vocab experts used "
               "expert_ffn window\n  kv_shared ple tied k_eq_v, or a GGUF key without the "
               "architecture's name.\n",
    .example = "new qwen3 m.gguf layers=4 width=256",
    .options = options,
    .args_size = sizeof(new_args),
    .min_operands = 2,
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
