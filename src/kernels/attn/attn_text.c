/* Attention forward at one level. A unit is a block of up to 64 rows (token, head of the group)
 * of one kv head; rows of a block that belong to different sequences are done one run after
 * another. Where a kv head has so few rows that those of several fit, as when one token is generated, they share a block, one head's
 * rows after the other's, and each tile is taken by all heads before the next one: a token's keys lie side by side for all heads, and
 * memory is read as it lies. */
#include "kernels/attn/tile.h"
#include "kernels/simd/math_f32.h"

/* One block's running state and tile arrays, in a thread's scratch. */
typedef struct block {
    const hn_attn_args *x;
    int64_t group, groups;        /* kv heads: the first, how many, */
    int per;                      /* and rows of each */
    int64_t row0;                 /* of the flattened (token, head in group) */
    int n;                        /* rows */
    int64_t heads;                /* a group */
    bool asks;                    /* for a tile ahead */
    float *m, *l, *o;             /* the chunk's: [64], [64], [64][Dv] */
    float *m_all, *l_all, *o_all; /* of the chunks so far */
    float *q, *k, *plain, *s;     /* [D][64], [D][64], [64][max(D, Dv)], [64][64] */
    float alpha[ROWS], sum[ROWS];
    keys sees[ROWS];
    range over[ROWS];
} block;

static int64_t token_of(const block *b, int row) { return (b->row0 + row % b->per) / b->heads; }

static int64_t head_of(const block *b, int row)
{
    return (b->group + row / b->per) * b->heads + (b->row0 + row % b->per) % b->heads;
}

HN_INLINE f32x16 exp_below_zero(f32x16 x) { return f_exp_below(f_max(f_set1(-110.0f), x)); }

static void lay_out(block *b, const hn_attn_args *x, float *scratch)
{
    const int64_t wide = x->d > x->d_v ? x->d : x->d_v;
    b->x = x;
    b->heads = x->n_head / x->n_kv_head;
    b->q = scratch, scratch += x->d * 64 + 64;
    b->k = scratch, scratch += x->d * 64 + 64;
    b->plain = scratch, scratch += wide * 64;
    b->s = scratch, scratch += 64 * 64;
    b->o = scratch, scratch += 64 * x->d_v;
    b->o_all = scratch, scratch += 64 * x->d_v;
    b->m = scratch, scratch += 64;
    b->l = scratch, scratch += 64;
    b->m_all = scratch, scratch += 64;
    b->l_all = scratch;
}

static void reset(float *m, float *l, float *o, int64_t d_v)
{
    for (int i = 0; i < ROWS; i++)
        m[i] = -__builtin_inff(), l[i] = 0;
    memset(o, 0, (size_t)(64 * d_v) * sizeof *o);
}

/* Turned, by way of rows that lie together. */
static void load_queries(block *b)
{
    const hn_attn_args *x = b->x;
    const size_t bytes = (size_t)x->d * sizeof(float);
    for (int at = 0; at < b->n; at += 16) {
        const int rows = b->n - at < 16 ? b->n - at : 16;
        for (int i = 0; i < rows; i++)
            memcpy(b->plain + i * x->d, row_at(&x->q, token_of(b, at + i), head_of(b, at + i)), bytes);
        transpose_rows((const char *)b->plain, (int64_t)bytes, rows, x->d, b->q + at, 64);
    }
    for (int i = 0; i < b->n; i++)
        b->sees[i] = keys_of(x, token_of(b, i));
}

/* Scores to probabilities for rows [at, at + height), and their new m, l and alpha. */
static void soften(block *b, int at, int height)
{
    const hn_attn_args *x = b->x;
    const f32x16 scale = f_set1(x->scale), cap = f_set1(x->softcap),
                 low = f_set1(-__builtin_inff());
    float top[16], l[16];
    for (int i = 0; i < 16; i++)
        top[i] = i < height ? b->m[at + i] : 0.0f;
    for (int r = 0; r < height; r++) {
        const range over = b->over[at + r];
        float *s = b->s + (at + r) * 64;
        f32x16 best = low;
        for (int v = 0; v < 64; v += 16) {
            if (over.from >= v + 16 || over.to <= v)
                continue;
            f32x16 y = f_mul(f_load(s + v), scale);
            if (x->softcap > 0)
                y = f_mul(cap, f_tanh(f_div(y, cap)));
            if (over.from > v)
                y = f_select(m_first(over.from - v), low, y);
            if (over.to < v + 16)
                y = f_select(m_first(over.to - v), y, low);
            f_store(s + v, y);
            best = f_max(y, best);
        }
        const float largest = f_largest(best);
        top[r] = largest > top[r] ? largest : top[r];
    }
    const f32x16 old = height == 16 ? f_load(b->m + at) : f_load_n(b->m + at, height);
    f_store_n(b->alpha + at, exp_below_zero(f_sub(old, f_load(top))), height);
    for (int r = 0; r < height; r++) {
        const range over = b->over[at + r];
        float *s = b->s + (at + r) * 64;
        const f32x16 new_top = f_set1(top[r]);
        f32x16 sum = f_zero();
        for (int v = 0; v < 64; v += 16) {
            if (over.from >= v + 16 || over.to <= v)
                continue;
            const f32x16 p = exp_below_zero(f_sub(f_load(s + v), new_top));
            f_store(s + v, p);
            sum = f_add(sum, p); /* exp of -inf is +0, which adds nothing */
        }
        l[r] = f_sum(sum);
        if (over.from < over.to)
            b->m[at + r] = top[r], b->l[at + r] = b->l[at + r] * b->alpha[at + r] + l[r];
    }
}

/* The same where all see the whole tile and no cap bends the scores: nothing is asked of a vector, and what a row's lanes come to is had
 * for all rows at once. */
static void soften_whole(block *b, int at, int height)
{
    const f32x16 scale = f_set1(b->x->scale);
    f32x16 of_row[16];
    float tops[16];
    for (int r = height; r < 16; r++)
        of_row[r] = f_set1(-__builtin_inff());
    for (int r = 0; r < height; r++) {
        const float *s = b->s + (at + r) * 64;
        f32x16 best = f_set1(-__builtin_inff());
        HN_UNROLL
        for (int v = 0; v < 64; v += 16)
            best = f_max(f_mul(f_load(s + v), scale), best);
        of_row[r] = best;
    }
    const f32x16 old = f_load_n(b->m + at, height), top = f_max(f_largests(of_row), old);
    const f32x16 alpha = exp_below_zero(f_sub(old, top));
    f_store(tops, top);
    for (int r = 0; r < height; r++) {
        float *s = b->s + (at + r) * 64;
        const f32x16 new_top = f_set1(tops[r]);
        f32x16 sum = f_zero();
        HN_UNROLL
        for (int v = 0; v < 64; v += 16) {
            const f32x16 p = exp_below_zero(f_sub(f_mul(f_load(s + v), scale), new_top));
            f_store(s + v, p);
            sum = f_add(sum, p);
        }
        of_row[r] = sum;
    }
    f_store_n(b->m + at, top, height);
    f_store_n(b->alpha + at, alpha, height);
    f_store_n(b->l + at, f_add(f_mul(f_load_n(b->l + at, height), alpha), f_sums(of_row)), height);
}

static bool is_whole(const block *b, int at, int height)
{
    for (int r = at; r < at + height; r++)
        if (b->over[r].from > 0 || b->over[r].to < 64)
            return false;
    return b->x->softcap <= 0;
}

static void scale_row(float *o, int64_t n, float by)
{
    const f32x16 a = f_set1(by);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        f_store(o + i, f_mul(f_load(o + i), a));
    if (i < n)
        f_store_n(o + i, f_mul(f_load_n(o + i, n - i), a), n - i);
}

/* The row of k and v where the tile of keys `base` on begins. */
static int64_t row_of_tile(const hn_attn_args *x, int64_t base)
{
    return x->table ? (int64_t)x->table[base / TILE] * TILE : base; /* a tile is a block: spans begin at multiples of 64 */
}

static ahead ahead_of(const block *b, int64_t base)
{
    const hn_attn_args *x = b->x;
    const hn_attn_rows *const both[] = { &x->k, &x->v };
    ahead a = { .left = TILE };
    for (int i = 0; i < 2; i++) {
        const int64_t at = row_of_tile(x, base) * both[i]->token_stride + b->group * both[i]->head_stride, width = i ? x->d_v : x->d;
        a.row[i] = (const char *)both[i]->data + hn_elem_span(x->kv_type, at);
        a.stride[i] = hn_elem_span(x->kv_type, both[i]->token_stride);
        a.bytes[i] = hn_elem_span(x->kv_type, both[i]->head_stride == width ? b->groups * width : width);
    }
    return a;
}

/* Rows [first, end) of a kv head over the tile that begins at key `base`; `next` is asked for on the way. */
static void take_tile(block *b, int64_t group, int64_t base, int first, int end, ahead *next)
{
    const hn_attn_args *x = b->x;
    range hull = { 64, 0 };
    for (int i = first; i < end; i++) {
        const int64_t from = b->sees[i].from - base, to = b->sees[i].to - base;
        range *over = b->over + i;
        over->from = from < 0 ? 0 : from > 64 ? 64 : (int)from;
        over->to = to < 0 ? 0 : to > 64 ? 64 : (int)to;
        if (over->from < over->to) {
            hull.from = least_int(hull.from, over->from);
            hull.to = most_int(hull.to, over->to);
        }
    }
    if (hull.from >= hull.to)
        return;
    while (b->over[first].from >= b->over[first].to)
        first++;
    while (b->over[end - 1].from >= b->over[end - 1].to)
        end--;
    int64_t ldv;
    const int panels_of_all = (end - first + ATTN_MR - 1) / ATTN_MR; /* each asks three times, and turning keys four times */
    next->share = (int)(TILE / (b->groups * (4 + 3 * panels_of_all))) + 1;
    base = row_of_tile(x, base);
    (void)turn_tile(&x->k, x->kv_type, base, hull, group, x->d, b->k, b->plain, &ldv, next);
    const float *v =
        turn_tile(&x->v, x->kv_type, base, hull, group, x->d_v, NULL, b->plain, &ldv, NULL);
    const int left = hull.from & ~15, cols = ((hull.to + 15) & ~15) - left;
    for (int at = first, height; at < end; at += height) {
        const int panels = (end - at + ATTN_MR - 1) / ATTN_MR;
        height = (end - at + panels - 1) / panels;
        for (int j = left, n; j < left + cols; j += n) {
            n = least_int(left + cols - j, 16 * ATTN_NV);
            ask(next, next->share);
            product_by_k(height, x->d, b->q + at, b->k + j, 64, b->s + at * 64 + j, 64, n, false);
        }
        (is_whole(b, at, height) ? soften_whole : soften)(b, at, height);
        for (int i = at; i < at + height; i++)
            if (b->over[i].from < b->over[i].to && b->alpha[i] != 1) /* as often as the largest stays */
                scale_row(b->o + i * x->d_v, x->d_v, b->alpha[i]);
        ask(next, next->share);
        products_over(A_BY_ROW, b->over, at, at + height, b->s, v, ldv, b->o, x->d_v, x->d_v);
    }
}

/* Two states into the first, row by row; an empty one has l = 0. */
static void fold(int64_t d_v, float *m, float *l, float *o, float m2, float l2, const float *o2)
{
    if (l2 == 0)
        return;
    if (*l == 0) {
        *m = m2, *l = l2;
        memcpy(o, o2, (size_t)d_v * sizeof *o);
        return;
    }
    const float top = m2 > *m ? m2 : *m;
    const float a = lane0(exp_below_zero(f_set1(*m - top)));
    const float a2 = lane0(exp_below_zero(f_set1(m2 - top)));
    *m = top;
    *l = *l * a + l2 * a2;
    for (int64_t i = 0; i < d_v; i++)
        o[i] = o[i] * a + o2[i] * a2;
}

/* Keys that any of rows [first, end) sees. */
static keys seen_by(const block *b, int first, int end)
{
    keys all = { INT64_MAX, 0 };
    for (int i = first; i < end; i++)
        if (b->sees[i].from < b->sees[i].to) {
            all.from = b->sees[i].from < all.from ? b->sees[i].from : all.from;
            all.to = b->sees[i].to > all.to ? b->sees[i].to : all.to;
        }
    return all;
}

static void fold_chunk(block *b, int first, int end)
{
    const int64_t d_v = b->x->d_v;
    for (int i = first; i < end; i++) {
        fold(d_v, b->m_all + i, b->l_all + i, b->o_all + i * d_v, b->m[i], b->l[i], b->o + i * d_v);
        b->m[i] = -__builtin_inff(), b->l[i] = 0;
        memset(b->o + i * d_v, 0, (size_t)d_v * sizeof *b->o);
    }
}

/* Rows of one sequence, [first, end) of every kv head, through chunks [chunk, last]: the fold of all is in m_all, l_all, o_all.
 */
static void take_run(block *b, int first, int end, int64_t only_chunk)
{
    const int64_t begin = b->x->spans[token_of(b, first)].first;
    enum { TILES = HN_ATTN_CHUNK / TILE };
    const keys all = seen_by(b, first, end);
    if (all.from >= all.to)
        return;
    int64_t tile = (all.from - begin) / TILE, last = (all.to - 1 - begin) / TILE;
    if (only_chunk >= 0) {
        tile = tile > only_chunk * TILES ? tile : only_chunk * TILES;
        last = last < only_chunk * TILES + TILES - 1 ? last : only_chunk * TILES + TILES - 1;
    }
    while (tile <= last) {
        const int64_t chunk = tile / TILES;
        for (; tile <= last && tile / TILES == chunk; tile++) {
            ahead next = b->asks && tile < last ? ahead_of(b, begin + (tile + 1) * TILE) : (ahead){ .left = 0 };
            for (int g = 0; g < b->groups; g++)
                take_tile(b, b->group + g, begin + tile * TILE, g * b->per + first, g * b->per + end, &next);
        }
        for (int g = 0; g < b->groups && only_chunk < 0; g++)
            fold_chunk(b, g * b->per + first, g * b->per + end);
    }
}

static void take_rows(block *b, int64_t only_chunk)
{
    const int n = b->groups > 1 ? b->per : b->n;
    reset(b->m, b->l, b->o, b->x->d_v);
    reset(b->m_all, b->l_all, b->o_all, b->x->d_v);
    load_queries(b);
    for (int first = 0, end; first < n; first = end) {
        const int32_t begin = b->x->spans[token_of(b, first)].first;
        for (end = first + 1; end < n && b->x->spans[token_of(b, end)].first == begin; end++)
            ;
        take_run(b, first, end, only_chunk);
    }
}

static void finish(const block *b)
{
    const hn_attn_args *x = b->x;
    for (int i = 0; i < b->n; i++) {
        const int64_t token = token_of(b, i), head = head_of(b, i);
        float m = b->m_all[i], l = b->l_all[i], *from = b->o_all + i * x->d_v;
        float *o = row_at(&x->o, token, head), *lse = row_at(&x->lse, token, head);
        if (x->sinks) {
            const float sink = x->sinks[head], top = sink > m ? sink : m;
            const float a = l == 0 ? 0.0f : lane0(exp_below_zero(f_set1(m - top)));
            l = l * a + lane0(exp_below_zero(f_set1(sink - top)));
            m = top;
            if (a != 1)
                scale_row(from, x->d_v, a);
        }
        *lse = l == 0 ? -__builtin_inff() : m + lane0(f_log(f_set1(l)));
        for (int64_t p = 0; p < x->d_v; p++)
            o[p] = l == 0 ? 0.0f : from[p] / l;
    }
}

/* Whether any row sees a key of this chunk. */
static bool sees_chunk(const block *b, int64_t chunk)
{
    for (int i = 0; i < b->n; i++) {
        const int64_t token = token_of(b, i);
        const keys sees = keys_of(b->x, token);
        const int64_t begin = b->x->spans[token].first + chunk * HN_ATTN_CHUNK;
        if (sees.from < sees.to && sees.from < begin + HN_ATTN_CHUNK && sees.to > begin)
            return true;
    }
    return false;
}

/* What a chunk leaves for the fold: [64] m, [64] l, [64][Dv] o. */
static float *partial(const hn_attn_plan *plan, float *shared, int64_t group, int64_t block_at,
                      int64_t chunk)
{
    const int64_t size = 64 * (plan->args.d_v + 2);
    return shared + ((group / plan->n_wide * plan->n_blocks + block_at) * plan->n_chunks + chunk) * size;
}

static void gather(const hn_attn_plan *plan, block *b, float *shared, int64_t block_at)
{
    const int64_t d_v = plan->args.d_v;
    reset(b->m_all, b->l_all, b->o_all, d_v);
    for (int64_t chunk = 0; chunk < plan->n_chunks; chunk++) {
        const float *from = partial(plan, shared, b->group, block_at, chunk);
        for (int i = 0; i < b->n; i++)
            fold(d_v, b->m_all + i, b->l_all + i, b->o_all + i * d_v, from[i], from[64 + i],
                 from + 128 + i * d_v);
    }
}

/* Keys of less than this stay in a cache that all blocks of rows share: they are not asked for. What one block alone reads comes from
 * memory, past all that the step reads beside. */
enum { KEPT_BYTES = 8 << 20 };

/* Block `at` of the rows of one set of kv heads. */
static void take_place(block *b, const hn_attn_plan *plan, int64_t set, int64_t at)
{
    const hn_attn_args *x = b->x;
    const int64_t rows = x->n_q * b->heads, left = rows - at * ROWS, key = x->k.token_stride + x->v.token_stride;
    b->group = set * plan->n_wide;
    b->groups = x->n_kv_head - b->group < plan->n_wide ? x->n_kv_head - b->group : plan->n_wide;
    b->row0 = at * ROWS;
    b->per = plan->n_wide > 1 ? (int)rows : ROWS;
    b->n = plan->n_wide > 1 ? (int)(b->groups * rows) : (int)(left < ROWS ? left : ROWS);
    b->asks = plan->n_blocks == 1 || hn_elem_span(x->kv_type, x->n_k * key) > KEPT_BYTES;
}

static void forward(HN_PARAMS_attn)
{
    const hn_attn_args *x = &plan->args;
    block b;
    lay_out(&b, x, scratch);
    for (int64_t unit = first; unit < end; unit++) {
        const int64_t chunks = plan->is_split && phase == 0 ? plan->n_chunks : 1;
        const int64_t chunk = unit % chunks, at = unit / chunks % plan->n_blocks;
        take_place(&b, plan, unit / chunks / plan->n_blocks, at);
        if (plan->is_split && phase == 1) {
            gather(plan, &b, shared, at);
            finish(&b);
        } else if (plan->is_split) {
            float *to = partial(plan, shared, b.group, at, chunk);
            if (!sees_chunk(&b, chunk)) { /* an upper bound's: the fold skips what has l = 0 */
                memset(to, 0, 128 * sizeof *to);
                continue;
            }
            take_rows(&b, chunk);
            memcpy(to, b.m, 64 * sizeof *to);
            memcpy(to + 64, b.l, 64 * sizeof *to);
            memcpy(to + 128, b.o, (size_t)(64 * x->d_v) * sizeof *to);
        } else {
            take_rows(&b, -1);
            finish(&b);
        }
    }
}

/* In attn_grad_text.c and eager_text.c, of the same level. */
void HN_KERNEL_NAME(attn_backward)(HN_PARAMS_attn);
void HN_KERNEL_NAME(attn_eager)(const hn_attn_args *x, int64_t first, int64_t end, void *scratch);

HN_KERNEL_TABLE(attn) = {
    .forward = forward, .backward = HN_KERNEL_NAME(attn_backward),
    .eager = HN_KERNEL_NAME(attn_eager)
};
