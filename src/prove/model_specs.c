/* The transformers that are proved: every shape that engines have been wrong on. Widths are small;
 * what matters is depth, ratios, odd lengths, and who shares what. */
#include "base/rng.h"
#include "prove/check_model.h"

#include <stdio.h>

/* clang-format off */
static const hn_model_spec specs[] = {
    { .name = "dense, 2 layers", .n_sequences = 4, .length = { 31, 1, 33, 32 }, .seed = 1,
      .o = { .vocab = 97, .width = 24, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 8,
             .ffn = 40 } },
    { .name = "dense, tied, window", .n_sequences = 3, .length = { 33, 32, 1 }, .seed = 2,
      .o = { .vocab = 32, .width = 24, .n_layer = 3, .n_head = 3, .n_kv_head = 1, .head_dim = 8,
             .ffn = 33, .window = 5, .is_tied = true } },
    { .name = "experts, 2 layers", .n_sequences = 3, .length = { 32, 7, 31 }, .seed = 3,
      .o = { .vocab = 61, .width = 16, .n_layer = 2, .n_head = 2, .n_kv_head = 2, .head_dim = 8,
             .ffn = 24, .n_expert = 6, .n_used = 2, .balance = 0.01f, .z_loss = 0.001f } },
    { .name = "experts without tokens", .n_sequences = 2, .length = { 1, 2 }, .seed = 4,
      .o = { .vocab = 40, .width = 16, .n_layer = 2, .n_head = 8, .n_kv_head = 1, .head_dim = 4,
             .ffn = 16, .n_expert = 16, .n_used = 2, .is_tied = true } },
    { .name = "adapters on q8_0", .n_sequences = 2, .length = { 33, 12 }, .seed = 5,
      .o = { .vocab = 64, .width = 32, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 8,
             .ffn = 64, .lora_rank = 4, .base = HN_TYPE_q8_0, .dropout = 0.1f } },
    { .name = "adapters on packed q8_0", .n_sequences = 2, .length = { 33, 12 }, .seed = 5,
      .o = { .vocab = 67, .width = 32, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 8,
             .ffn = 64, .n_expert = 3, .n_used = 2, .lora_rank = 4, .base = HN_TYPE_q8_0,
             .pack = HN_LAYOUT_PANEL16, .is_tied = true } },
    { .name = "adapters on q4_k experts", .n_sequences = 2, .length = { 9, 14 }, .seed = 6,
      .o = { .vocab = 48, .width = 256, .n_layer = 1, .n_head = 2, .n_kv_head = 1, .head_dim = 128,
             .ffn = 256, .n_expert = 4, .n_used = 2, .lora_rank = 2, .base = HN_TYPE_q4_k } },
    { .name = "8 layers, window, dropout", .n_sequences = 3, .length = { 12, 31, 5 }, .seed = 7,
      .o = { .vocab = 50, .width = 16, .n_layer = 8, .n_head = 4, .n_kv_head = 2, .head_dim = 4,
             .ffn = 24, .window = 7, .dropout = 0.1f } },
    { .name = "8 layers of experts, tied", .n_sequences = 3, .length = { 17, 3, 32 }, .seed = 8,
      .o = { .vocab = 50, .width = 16, .n_layer = 8, .n_head = 2, .n_kv_head = 1, .head_dim = 8,
             .ffn = 16, .n_expert = 5, .n_used = 2, .is_tied = true, .balance = 0.01f } },
    { .name = "30 layers, tied", .n_sequences = 3, .length = { 11, 8, 2 }, .seed = 9,
      .o = { .vocab = 40, .width = 12, .n_layer = 30, .n_head = 3, .n_kv_head = 1, .head_dim = 4,
             .ffn = 16, .is_tied = true, .window = 4 } },
    { .name = "30 layers of experts", .n_sequences = 2, .length = { 9, 6 }, .seed = 10,
      .o = { .vocab = 40, .width = 12, .n_layer = 30, .n_head = 2, .n_kv_head = 2, .head_dim = 4,
             .ffn = 12, .n_expert = 4, .n_used = 1 } },
    { .name = "80 layers", .n_sequences = 2, .length = { 5, 4 }, .seed = 11,
      .o = { .vocab = 32, .width = 8, .n_layer = 80, .n_head = 2, .n_kv_head = 1, .head_dim = 4,
             .ffn = 8, .is_tied = true } },
    { .name = "vocabulary of 262144", .n_sequences = 2, .length = { 3, 2 }, .seed = 12,
      .o = { .vocab = 262144, .width = 8, .n_layer = 1, .n_head = 2, .n_kv_head = 1, .head_dim = 4,
             .ffn = 8, .is_tied = true } },
};
/* clang-format on */

int hn_model_spec_count(void)
{
    return (int)(sizeof specs / sizeof *specs);
}

static int64_t pick(hn_rng_key key, int at, int n, const int64_t *of)
{
    return of[hn_rng_below(key, (uint64_t)at, (uint32_t)n)];
}

/* A random shape. */
static void random_spec(int index, uint64_t seed, hn_model_spec *s)
{
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(seed), (uint64_t)index);
    static const int64_t ratios[] = { 1, 2, 3, 8 }, lengths[] = { 1, 31, 32, 33 };
    static const int64_t vocabs[] = { 32, 97, 1000, 4096 }, layers[] = { 2, 2, 3, 8 };
    static const int64_t dims[] = { 4, 8, 16 }, windows[] = { 0, 3, 9, 31 };
    *s = (hn_model_spec){ .name = "random shapes", .seed = seed + (uint64_t)index };
    nn_decoder_options *o = &s->o;
    o->n_kv_head = 1 + hn_rng_below(key, 0, 2);
    o->n_head = o->n_kv_head * pick(key, 1, 4, ratios);
    o->head_dim = pick(key, 2, 3, dims);
    o->width = 8 + 4 * (int64_t)hn_rng_below(key, 3, 8);
    o->ffn = 8 + (int64_t)hn_rng_below(key, 4, 40);
    o->vocab = pick(key, 5, 4, vocabs);
    o->n_layer = pick(key, 6, 4, layers);
    o->window = pick(key, 7, 4, windows);
    o->is_tied = hn_rng_below(key, 8, 2);
    if (hn_rng_below(key, 9, 2)) {
        o->n_expert = 2 + hn_rng_below(key, 10, 8);
        o->n_used = 1 + hn_rng_below(key, 11, 2);
        o->balance = 0.01f;
    }
    if (hn_rng_below(key, 12, 3) == 0)
        o->lora_rank = 1 + hn_rng_below(key, 13, 4);
    if (o->lora_rank && hn_rng_below(key, 30, 2))
        o->pack = HN_LAYOUT_PANEL16;
    if (hn_rng_below(key, 14, 3) == 0)
        o->dropout = 0.1f;
    s->n_sequences = 1 + (int)hn_rng_below(key, 15, 3);
    for (int i = 0; i < s->n_sequences; i++)
        s->length[i] = pick(key, 16 + i, 4, lengths);
}

void hn_model_spec_at(int index, uint64_t seed, hn_model_spec *out)
{
    if (index < hn_model_spec_count())
        *out = specs[index];
    else
        random_spec(index, seed, out);
}
