/* Cutting attention into units, and what they need. */
#include "kernels/attn/attn.h"

enum { TILES_PER_THREAD = 2, CHUNKS_PER_THREAD = 8 };

static int64_t cuts(int64_t n, int64_t step) { return (n + step - 1) / step; }

/* Few blocks and a long context: chunks are shared out, and folded in a second phase. */
static bool splits(int64_t n_units, int64_t n_chunks, int threads)
{
    return threads > 1 && n_chunks > 1 && n_units < (int64_t)TILES_PER_THREAD * threads;
}

/* As many kv heads as have their rows in one block. Of few chunks each is shared out by heads: the last may be short. */
static int64_t wide(const hn_attn_args *x, int64_t rows, int64_t n_chunks, int threads)
{
    const int64_t most = n_chunks < CHUNKS_PER_THREAD * (int64_t)threads ? cuts(x->n_kv_head, threads) : x->n_kv_head;
    const int64_t fit = rows > 0 ? HN_ATTN_ROWS / rows : 0, n = fit < most ? fit : most;
    return n > 1 ? n : 1;
}

void hn_attn_plan_forward(hn_attn_plan *plan, const hn_attn_args *args, int threads)
{
    *plan = (hn_attn_plan){ .args = *args };
    const int64_t rows = args->n_q * (args->n_head / args->n_kv_head);
    plan->n_blocks = cuts(rows, HN_ATTN_ROWS);
    plan->n_chunks = cuts(args->n_k, HN_ATTN_CHUNK);
    plan->n_wide = wide(args, rows, plan->n_chunks, threads);
    const int64_t n_units = cuts(args->n_kv_head, plan->n_wide) * plan->n_blocks;
    plan->is_split = !(args->table && args->window > 0) && splits(n_units, plan->n_chunks, threads);
    plan->units[0] = n_units * (plan->is_split ? plan->n_chunks : 1);
    plan->units[1] = plan->is_split ? n_units : 0;
}

void hn_attn_plan_backward(hn_attn_plan *plan, const hn_attn_args *args, int threads)
{
    *plan = (hn_attn_plan){ .args = *args };
    plan->n_blocks = cuts(args->n_q, HN_ATTN_ROWS);
    plan->is_split = args->n_kv_head % threads && args->n_kv_head < 4 * (int64_t)threads;
    plan->units[0] = plan->n_blocks;
    plan->units[1] = args->n_kv_head * (plan->is_split ? cuts(args->n_k, HN_ATTN_TILE) : 1);
    plan->units[2] = plan->is_split ? args->n_head * plan->n_blocks : 0;
}

size_t hn_attn_scratch_bytes(int64_t d, int64_t d_v)
{
    const int64_t wide = d > d_v ? d : d_v;
    const int64_t forward = 2 * (64 * d + 64) + 64 * wide + 64 * 64 + 2 * 64 * d_v + 4 * 64;
    const int64_t backward = 3 * 64 * d + 3 * 64 * d_v + 4 * 64 + 2 * 64 * 64;
    return sizeof(float) * (size_t)(forward > backward ? forward : backward);
}

int64_t hn_attn_eager_units(const hn_attn_args *args)
{
    return args->n_kv_head * cuts(args->n_q * (args->n_head / args->n_kv_head), HN_ATTN_EAGER_ROWS);
}

int64_t hn_attn_eager_width(int64_t n_k, int64_t window)
{
    enum { CUT = 4096 }; /* a row's sums are cut every so many keys: softmax.h */
    const int64_t seen = CUT + cuts(window + HN_ATTN_EAGER_ROWS, HN_ATTN_TILE) * HN_ATTN_TILE;
    const int64_t all = cuts(n_k, HN_ATTN_TILE) * HN_ATTN_TILE;
    return (window > 0 && seen < all ? seen : all) + HN_ATTN_TILE;
}

size_t hn_attn_eager_scratch_bytes(int64_t d, int64_t d_v, int64_t n_k, int64_t window)
{
    const int64_t wide = d > d_v ? d : d_v;
    const int64_t row = 64 + d_v + hn_attn_eager_width(n_k, window);
    return sizeof(float) * (size_t)(2 * (64 * d + 64) + 64 * wide + HN_ATTN_EAGER_ROWS * row);
}

size_t hn_attn_shared_bytes(int64_t n_q, int64_t n_k, int64_t n_head, int64_t d_v, int threads)
{
    const int64_t n_chunks = cuts(n_k, HN_ATTN_CHUNK);
    const int64_t blocks = (int64_t)TILES_PER_THREAD * threads;
    const int64_t partials = n_chunks > 1 ? n_chunks * blocks * 64 * (d_v + 2) : 0;
    const int64_t delta = n_q * n_head;
    return sizeof(float) * (size_t)(partials > delta ? partials : delta);
}
