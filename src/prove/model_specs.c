/* The models that are proved. Widths are small; what matters is depth, ratios, odd lengths, and who shares
 * what. */
#include "base/rng.h"
#include "models/models.h"
#include "prove/check_model.h"

#include <stdio.h>
#include <string.h>

/* Shapes that engines have been wrong on. */
typedef struct shape {
    const char *arch;
    hn_instance_spec spec;
} shape;

/* clang-format off */
static const shape shapes[] = {
    { "gemma2", { .name = "gemma2, tied, window", .n_sequences = 3, .length = { 33, 32, 1 }, .seed = 2,
      .vocab = 32, .width = 24, .n_layer = 3, .n_head = 3, .n_kv_head = 1, .head_dim = 8,
      .ffn = 33, .window = 5, .targets = "all:full" } },
    { "qwen3moe", { .name = "qwen3moe, experts without tokens", .n_sequences = 2, .length = { 2, 3 }, .seed = 4,
      .vocab = 40, .width = 16, .n_layer = 2, .n_head = 8, .n_kv_head = 1, .head_dim = 4,
      .ffn = 16, .n_expert = 16, .n_used = 2, .is_tied = true, .targets = "all:full" } },
    { "qwen3moe", { .name = "qwen3moe, losses of routers", .n_sequences = 3, .length = { 32, 7, 31 }, .seed = 3,
      .vocab = 61, .width = 16, .n_layer = 2, .n_head = 2, .n_kv_head = 2, .head_dim = 8,
      .ffn = 24, .n_expert = 6, .n_used = 2, .targets = "all:full", .balance = 0.01f, .z = 0.001f } },
    { "llama", { .name = "llama, adapters on q8_0", .n_sequences = 2, .length = { 33, 12 }, .seed = 5,
      .vocab = 64, .width = 32, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 8,
      .ffn = 64, .type = "q8_0", .targets = "all:r=4:dropout=0.1" } },
    { "qwen3moe", { .name = "qwen3moe, adapters on q4_k", .n_sequences = 2, .length = { 9, 14 }, .seed = 6,
      .vocab = 48, .width = 256, .n_layer = 1, .n_head = 2, .n_kv_head = 1, .head_dim = 128,
      .ffn = 256, .n_expert = 4, .n_used = 2, .type = "q4_k", .targets = "attn:r=2,experts:r=2" } },
    { "gemma3", { .name = "gemma3, 8 layers, window, dropout", .n_sequences = 3, .length = { 12, 31, 5 }, .seed = 7,
      .vocab = 50, .width = 16, .n_layer = 8, .n_head = 4, .n_kv_head = 2, .head_dim = 4,
      .ffn = 24, .window = 7, .targets = "all:r=2:dropout=0.1" } },
    { "qwen3moe", { .name = "qwen3moe, 8 layers, tied", .n_sequences = 3, .length = { 17, 3, 32 }, .seed = 8,
      .vocab = 50, .width = 16, .n_layer = 8, .n_head = 2, .n_kv_head = 1, .head_dim = 8,
      .ffn = 16, .n_expert = 5, .n_used = 2, .is_tied = true, .targets = "all:full", .balance = 0.01f } },
    { "qwen3", { .name = "qwen3, 30 layers, tied", .n_sequences = 3, .length = { 11, 8, 2 }, .seed = 9,
      .vocab = 40, .width = 12, .n_layer = 30, .n_head = 3, .n_kv_head = 1, .head_dim = 4,
      .ffn = 16, .is_tied = true, .targets = "all:full" } },
    { "qwen3moe", { .name = "qwen3moe, 30 layers", .n_sequences = 2, .length = { 9, 6 }, .seed = 10,
      .vocab = 40, .width = 12, .n_layer = 30, .n_head = 2, .n_kv_head = 2, .head_dim = 4,
      .ffn = 12, .n_expert = 4, .n_used = 1, .targets = "all:full" } },
    { "llama", { .name = "llama, 80 layers", .n_sequences = 2, .length = { 5, 4 }, .seed = 11,
      .vocab = 32, .width = 8, .n_layer = 80, .n_head = 2, .n_kv_head = 1, .head_dim = 4,
      .ffn = 8, .is_tied = true, .targets = "all:full" } },
    { "llama", { .name = "llama, vocabulary of 262144", .n_sequences = 2, .length = { 3, 2 }, .seed = 12,
      .vocab = 262144, .width = 8, .n_layer = 1, .n_head = 2, .n_kv_head = 1, .head_dim = 4,
      .ffn = 8, .is_tied = true, .targets = "all:full" } },
    { "deepseek2", { .name = "deepseek2, groups of sigmoids", .n_sequences = 2, .length = { 9, 14 }, .seed = 14,
      .vocab = 40, .width = 16, .n_layer = 3, .n_head = 3, .ffn = 24, .n_expert = 8, .n_used = 2, .balance = 0.01f,
      .settings = { "expert_gating_func=2", "expert_group_count=4", "expert_group_used_count=2", "attention.q_lora_rank=6" },
      .targets = "all:full" } },
    { "deepseek2", { .name = "deepseek2, adapters of expansions", .n_sequences = 2, .length = { 9, 14 }, .seed = 15,
      .vocab = 40, .width = 16, .n_layer = 2, .n_head = 3, .ffn = 24, .n_expert = 4, .n_used = 2,
      .settings = { "attention.q_lora_rank=6", "expert_weights_norm=true", "leading_dense_block_count=1" },
      .targets = "all:r=2,attn_k_b:r=2,attn_v_b:r=2" } },
    { "gemma4", { .name = "gemma4, keys of other layers", .n_sequences = 2, .length = { 9, 14 }, .seed = 13,
      .vocab = 40, .width = 16, .n_layer = 12, .n_head = 2, .n_kv_head = 1, .head_dim = 8,
      .ffn = 24, .window = 5, .settings = { "kv_shared=6" }, .targets = "all:full" } },
    { "gemma3n", { .name = "gemma3n, keys of other layers", .n_sequences = 2, .length = { 9, 14 }, .seed = 14,
      .vocab = 40, .width = 16, .n_layer = 11, .n_head = 2, .n_kv_head = 1, .head_dim = 8,
      .ffn = 96, .window = 5, .settings = { "kv_shared=4" }, .targets = "all:full" } },
};
/* clang-format on */

enum { N_SHAPES = sizeof shapes / sizeof *shapes, ARCH_WAYS = 4 };

/* Way 0 and 1: dense, with adapters and in full; 2 and 3: of experts. */
static bool arch_has(const hn_arch *arch, int way)
{
    return way < 2 ? hn_arch_may_be_dense(arch) : hn_arch_may_be_moe(arch);
}

/* Where one gate in twenty is on (gemma3n), a narrow layer may have none or hardly one: a norm then makes a token of
 * what rounding left, and no f32 is near its gradient. */
static int64_t ffn_of(const hn_arch *arch, int64_t ffn) { return hn_arch_takes(arch, HN_HP_altup_inputs) ? 160 + ffn : ffn; }

static bool of_arch(const hn_arch *arch, int way, uint64_t seed, hn_instance_spec *s)
{
    if (!arch_has(arch, way) || arch->embeds_only)
        return false;
    *s = (hn_instance_spec){ .arch = arch,
                             .n_layer = 2,
                             .width = 16,
                             .n_head = 2,
                             .n_kv_head = 1,
                             .ffn = ffn_of(arch, 24),
                             .window = 5,
                             .n_sequences = 3,
                             .length = { 12, 1, 9 },
                             .seed = hn_hash_text(arch->name) % 1000 + seed,
                             .n_expert = way < 2 ? 0 : 4,
                             .n_used = way < 2 ? 0 : 2,
                             .targets = way % 2 ? "all:full" : "all" };
    snprintf(s->name, sizeof s->name, "%s, %s%s", arch->name, way < 2 ? "" : "experts, ",
             way % 2 ? "in full" : "adapters");
    return true;
}

/* The nth instance of an architecture; with `n` past the last, how many there are. */
static int nth_of_archs(int n, uint64_t seed, hn_instance_spec *out)
{
    int at = 0;
    for (int i = 0; hn_archs[i]; i++)
        for (int way = 0; way < ARCH_WAYS; way++) {
            hn_instance_spec s;
            if (!of_arch(hn_archs[i], way, seed, &s))
                continue;
            if (at == n)
                *out = s;
            at++;
        }
    return at;
}

int hn_instance_count(void)
{
    hn_instance_spec unused;
    return nth_of_archs(-1, 0, &unused) + N_SHAPES;
}

static int64_t pick(hn_rng_key key, int at, int n, const int64_t *of)
{
    return of[hn_rng_below(key, (uint64_t)at, (uint32_t)n)];
}

/* A random shape of a random architecture. */
static void random_spec(int index, uint64_t seed, hn_instance_spec *s)
{
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(seed), (uint64_t)index);
    static const int64_t ratios[] = { 1, 2, 3, 8 }, lengths[] = { 1, 31, 32, 33 };
    static const int64_t vocabs[] = { 32, 97, 1000, 4096 }, layers[] = { 2, 2, 3, 8 };
    static const int64_t dims[] = { 4, 8, 16 }, windows[] = { 0, 3, 9, 31 };
    static const char *const targets[] = { "all:full", "all:full", "all:r=3", "all:r=2:dropout=0.1" };
    const int n = nth_of_archs(-1, 0, s);
    nth_of_archs((int)hn_rng_below(key, 0, (uint32_t)n), seed + (uint64_t)index, s);
    s->n_kv_head = 1 + hn_rng_below(key, 1, 2);
    s->n_head = s->n_kv_head * pick(key, 2, 4, ratios);
    s->width = s->n_head * 4 * (1 + (int64_t)hn_rng_below(key, 3, 2)); /* what heads of no stated width divide */
    if (hn_arch_takes(s->arch, HN_HP_head_dim)) {
        s->width = 8 + 4 * (int64_t)hn_rng_below(key, 3, 8);
        s->head_dim = pick(key, 9, 3, dims);
    }
    s->ffn = ffn_of(s->arch, 8 + (int64_t)hn_rng_below(key, 4, 40));
    s->vocab = pick(key, 5, 4, vocabs);
    s->n_layer = pick(key, 6, 4, layers);
    s->window = pick(key, 7, 4, windows);
    s->is_tied = hn_rng_below(key, 8, 2);
    if (s->n_expert) {
        s->n_expert = 2 + hn_rng_below(key, 10, 8);
        s->n_used = 1 + hn_rng_below(key, 11, 2);
        s->balance = 0.01f;
    }
    s->targets = targets[hn_rng_below(key, 12, 4)];
    s->n_sequences = 1 + (int)hn_rng_below(key, 15, 3);
    for (int i = 0; i < s->n_sequences; i++)
        s->length[i] = pick(key, 16 + i, 4, lengths);
    s->length[0] = s->length[0] > 1 ? s->length[0] : 2; /* something is predicted */
}

void hn_instance_at(int index, uint64_t seed, hn_instance_spec *out)
{
    const int n = nth_of_archs(index, seed, out);
    if (index < n)
        return;
    if (index >= n + N_SHAPES) {
        random_spec(index, seed, out);
        return;
    }
    *out = shapes[index - n].spec;
    for (int i = 0; hn_archs[i]; i++)
        if (!strcmp(hn_archs[i]->name, shapes[index - n].arch))
            out->arch = hn_archs[i];
}
