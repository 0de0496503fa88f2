/* Attention as an eager bf16 model computes it: every step of a row of scores is rounded, and
 * the softmax is one over all keys of the row (kernels/softmax/softmax.h), not tile by tile. A
 * unit is a block of up to 32 rows (token, head of the group) of one kv head, whose scores are
 * in a thread's scratch. Keys count from a sequence's first, so that what stands beside it
 * changes no bit. */
#include "kernels/attn/tile.h"
#include "kernels/simd/math_f32.h"
#include "kernels/simd/row.h"
#include "kernels/softmax/softmax.h"

enum { BLOCK = HN_ATTN_EAGER_ROWS };

typedef struct eager_block {
    const hn_attn_args *x;
    int64_t group, row0, heads, width; /* width: scores of a row */
    float *q, *k, *plain; /* [D][64], [D][64], [64][max(D, Dv)] */
    float *p, *o, *s;     /* [BLOCK][64], [BLOCK][Dv], [BLOCK][width] */
    keys sees[BLOCK];
} eager_block;

static void lay_out(eager_block *b, const hn_attn_args *x, float *scratch)
{
    const int64_t wide = x->d > x->d_v ? x->d : x->d_v;
    *b = (eager_block){ .x = x,
                        .heads = x->n_head / x->n_kv_head,
                        .width = hn_attn_eager_width(x->n_k, x->window) };
    b->q = scratch, scratch += x->d * 64 + 64;
    b->k = scratch, scratch += x->d * 64 + 64;
    b->plain = scratch, scratch += wide * 64;
    b->p = scratch, scratch += BLOCK * 64;
    b->o = scratch, scratch += BLOCK * x->d_v;
    b->s = scratch;
}

static int64_t token_of(const eager_block *b, int64_t row)
{
    return (b->row0 + row) / b->heads;
}

static int64_t head_of(const eager_block *b, int64_t row)
{
    return b->group * b->heads + (b->row0 + row) % b->heads;
}

static int64_t row_of_key(const hn_attn_args *x, int64_t key)
{
    return x->table ? (int64_t)x->table[key / TILE] * TILE : key; /* a tile is a block */
}

/* Of keys [low, high) those of the tile that begins at `base`. */
static range hull_of(int64_t low, int64_t high, int64_t base)
{
    return (range){ (int)(low > base ? low - base : 0),
                    (int)(high - base < TILE ? high - base : TILE) };
}

/* s = rounded scale * rounded (q . k), capped. Keys that a row does not see get -inf. */
static void finish_scores(const hn_attn_args *x, float *s, int64_t n, int64_t from)
{
    const f32x16 scale = f_set1(x->scale), cap = f_set1(x->softcap),
                 low = f_set1(-__builtin_inff());
    const bool is_capped = x->softcap > 0;
    int64_t i = 0;
    for (; i + 16 <= from; i += 16)
        f_store(s + i, low);
    for (; i < n; i += 16) { /* rows have room for whole vectors */
        f32x16 y = f_round_bf16(f_fma(scale, f_round_bf16(f_load(s + i)), f_zero()));
        if (is_capped)
            y = f_round_bf16(f_fma(cap, f_round_bf16(f_tanh(f_round_bf16(f_div(y, cap)))), f_zero()));
        if (from > i)
            y = f_select(m_first(from - i), low, y);
        f_store(s + i, y);
    }
}

/* The logit of a sink takes part in the largest, which is subtracted, and rounded, before the
 * softmax. */
static float subtract_largest(float *s, int64_t n, float sink)
{
    f32x16 best = f_set1(sink);
    for (int64_t i = 0; i < n; i += 16)
        best = f_max(n - i < 16 ? f_select(m_first(n - i), f_load(s + i), f_set1(sink))
                                : f_load(s + i),
                     best);
    const f32x16 most = f_set1(f_largest(best));
    for (int64_t i = 0; i < n; i += 16)
        f_store(s + i, f_round_bf16(f_sub(f_load(s + i), most)));
    return lane0(f_round_bf16(f_sub(f_set1(sink), most)));
}

/* Scores of a row, the first of them key `origin`'s, to probabilities. */
static void soften(const eager_block *b, int row, int64_t origin)
{
    const hn_attn_args *x = b->x;
    float *s = b->s + row * b->width;
    const int64_t from = b->sees[row].from - origin, n = b->sees[row].to - origin;
    if (n <= 0)
        return;
    finish_scores(x, s, n, from);
    if (x->sinks) {
        const float sink = subtract_largest(s, n, x->sinks[head_of(b, row)]);
        HN_KERNEL_NAME(softmax_f32)(n, s, 1, NULL, &sink, s);
    } else {
        HN_KERNEL_NAME(softmax_f32)(n, s, 1, NULL, NULL, s);
    }
    for (int64_t i = 0; i < n; i += 16)
        f_store(s + i, f_round_bf16(f_load(s + i)));
}

/* Scores of rows [first, end) with the keys of one tile, whose first is score `at` of a row. */
static void score_tile(eager_block *b, int first, int end, int64_t base, range hull, int64_t at)
{
    const hn_attn_args *x = b->x;
    const int left = hull.from & ~15, cols = ((hull.to + 15) & ~15) - left;
    int64_t stride;
    (void)turn_tile(&x->k, x->kv_type, row_of_key(x, base), hull, b->group, x->d, b->k,
                    b->plain, &stride, NULL);
    for (int i = first; i < end; i += ATTN_MR)
        product_by_k(least_int(ATTN_MR, end - i), x->d, b->q + i, b->k + left, 64,
                     b->s + i * b->width + at + left, b->width, cols, false);
}

/* Adds the values of one tile, by what became of its scores. */
static void value_tile(eager_block *b, int first, int end, int64_t base, range hull, int64_t at)
{
    const hn_attn_args *x = b->x;
    range over[BLOCK];
    int64_t stride;
    const float *v = turn_tile(&x->v, x->kv_type, row_of_key(x, base), hull, b->group, x->d_v,
                               NULL, b->plain, &stride, NULL);
    for (int i = first; i < end; i++) {
        const int64_t from = b->sees[i].from - base, to = b->sees[i].to - base;
        over[i].from = (int)(from < 0 ? 0 : from > TILE ? TILE : from);
        over[i].to = (int)(to < 0 ? 0 : to > TILE ? TILE : to);
        if (over[i].from < over[i].to)
            memcpy(b->p + i * 64, b->s + i * b->width + at, 64 * sizeof *b->p);
    }
    products_over(A_BY_ROW, over, first, end, b->p, v, stride, b->o, x->d_v, x->d_v);
}

/* Keys that rows of one sequence see. */
typedef struct seen {
    int64_t low, high; /* none where low >= high */
    int64_t origin;    /* a row's sums are cut every ROW_BLOCK keys: a block unseen adds zero */
} seen;

static seen seen_with(const eager_block *b, seen s, int row)
{
    const keys sees = b->sees[row];
    if (sees.from >= sees.to)
        return s;
    const int64_t begin = b->x->spans[token_of(b, row)].first;
    s.low = sees.from < s.low ? sees.from : s.low;
    s.high = sees.to > s.high ? sees.to : s.high;
    s.origin = begin + (s.low - begin) / ROW_BLOCK * ROW_BLOCK;
    return s;
}

/* Rows [first, end) of one sequence, which begins at key `begin`. */
static void take_run(eager_block *b, int first, int end, int64_t begin, seen s)
{
    const int64_t tile = begin + (s.low - begin) / TILE * TILE;
    for (int64_t base = tile; base < s.high; base += TILE)
        score_tile(b, first, end, base, hull_of(s.low, s.high, base), base - s.origin);
    for (int i = first; i < end; i++)
        soften(b, i, s.origin);
    for (int64_t base = tile; base < s.high; base += TILE)
        value_tile(b, first, end, base, hull_of(s.low, s.high, base), base - s.origin);
}

/* Rows of one sequence together, as many as a row of scores has room for what they see: queries with a
 * window may lie further apart than it is wide. */
static void take_rows(eager_block *b, int n)
{
    for (int at = 0, to; at < n; at = to) {
        const int32_t begin = b->x->spans[token_of(b, at)].first;
        seen s = seen_with(b, (seen){ .low = INT64_MAX }, at);
        for (to = at + 1; to < n && b->x->spans[token_of(b, to)].first == begin; to++) {
            const seen more = seen_with(b, s, to);
            if (more.low < more.high && more.high - more.origin > b->width - TILE)
                break;
            s = more;
        }
        if (s.low < s.high)
            take_run(b, at, to, begin, s);
    }
}

static void write_rows(const eager_block *b, int n)
{
    const hn_attn_args *x = b->x;
    for (int row = 0; row < n; row++) {
        float *to = row_at(&x->o, token_of(b, row), head_of(b, row));
        const float *o = b->o + row * x->d_v;
        ROW_MAP(to, x->d_v, f_round_bf16(ROW_LOAD(o)));
    }
}

/* In the table of attn_text.c. */
void HN_KERNEL_NAME(attn_eager)(const hn_attn_args *x, int64_t first, int64_t end,
                                void *scratch);
void HN_KERNEL_NAME(attn_eager)(const hn_attn_args *x, int64_t first, int64_t end,
                                void *scratch)
{
    eager_block b;
    lay_out(&b, x, scratch);
    const int64_t rows = x->n_q * b.heads, blocks = (rows + BLOCK - 1) / BLOCK;
    for (int64_t unit = first; unit < end; unit++) {
        b.group = unit / blocks;
        b.row0 = unit % blocks * BLOCK;
        const int n = (int)(rows - b.row0 < BLOCK ? rows - b.row0 : BLOCK);
        memset(b.o, 0, (size_t)(BLOCK * x->d_v) * sizeof *b.o);
        for (int i = 0; i < n; i++) {
            const float *q = row_at(&x->q, token_of(&b, i), head_of(&b, i));
            for (int64_t p = 0; p < x->d; p++)
                b.q[p * 64 + i] = q[p];
            b.sees[i] = keys_of(x, token_of(&b, i));
        }
        take_rows(&b, n);
        write_rows(&b, n);
    }
}
