/* The gradient of attention at one level. A tile of 64 keys meets a block of up to 64 queries
 * of one head; scores and their gradient live in [64][64] arrays for that meeting alone.
 *
 * Keys outer, then heads of the group, then queries: dk and dv of the tile take queries in
 * their order, and each dq takes tiles in theirs, so one walk serves both sums. With more
 * threads than kv heads, dk dv and dq are walked apart: more work, the same chains. */
#include "kernels/attn/tile.h"
#include "kernels/simd/math_f32.h"
#include "kernels/simd/row.h"

typedef struct meeting {
    const hn_attn_args *x;
    const float *delta; /* [Tq, H] */
    int64_t group, head, base;
    int64_t token;               /* first query */
    int n;                       /* queries */
    int64_t has_base, has_group; /* whose keys are turned; -1: none */
    range has_hull;
    const float *k_rows, *v_rows;
    int64_t k_stride, v_stride;
    float *qt, *gt, *kt, *vt, *k_plain, *v_plain; /* turned: [width][64] */
    float *p, *ds;                                /* [64][64] */
    range row_sees[ROWS], key_seen[TILE];
} meeting;

static void lay_out(meeting *b, const hn_attn_args *x, const float *delta, float *scratch)
{
    *b = (meeting){ .x = x, .delta = delta, .has_base = -1 };
    b->qt = scratch, scratch += x->d * 64 + 64;
    b->kt = scratch, scratch += x->d * 64 + 64;
    b->gt = scratch, scratch += x->d_v * 64 + 64;
    b->vt = scratch, scratch += x->d_v * 64 + 64;
    b->p = scratch, scratch += 64 * 64;
    b->ds = scratch, scratch += 64 * 64;
    b->k_plain = scratch, scratch += x->d * 64;
    b->v_plain = scratch;
}

/* Queries [token, end): as many as fit a block while neither end of what they see goes back, so
 * that each key is seen by consecutive queries. */
static int64_t block_end(const hn_attn_args *x, int64_t token, int64_t end)
{
    keys before = keys_of(x, token);
    int64_t t = token + 1;
    for (; t < end && t - token < ROWS; t++) {
        const keys now = keys_of(x, t);
        if (now.from < before.from || now.to < before.to)
            break;
        before = now;
    }
    return t;
}

/* Ranges both ways; false when nothing meets. */
static bool see(meeting *b, range *hull)
{
    *hull = (range){ 64, 0 };
    for (int j = 0; j < TILE; j++)
        b->key_seen[j] = (range){ 64, 0 };
    for (int i = 0; i < b->n; i++) {
        const keys seen = keys_of(b->x, b->token + i);
        const int64_t from = seen.from - b->base, to = seen.to - b->base;
        range *over = b->row_sees + i;
        over->from = from < 0 ? 0 : from > 64 ? 64 : (int)from;
        over->to = to < 0 ? 0 : to > 64 ? 64 : (int)to;
        if (over->from >= over->to)
            continue;
        hull->from = least_int(hull->from, over->from);
        hull->to = most_int(hull->to, over->to);
        for (int j = over->from; j < over->to; j++) {
            b->key_seen[j].from = least_int(b->key_seen[j].from, i);
            b->key_seen[j].to = i + 1;
        }
    }
    return hull->from < hull->to;
}

static void turn_keys(meeting *b, range hull)
{
    const hn_attn_args *x = b->x;
    if (b->has_base == b->base && b->has_group == b->group && b->has_hull.from <= hull.from &&
        b->has_hull.to >= hull.to)
        return;
    b->k_rows = turn_tile(&x->k, x->kv_type, b->base, hull, b->group, x->d, b->kt, b->k_plain,
                          &b->k_stride, NULL);
    b->v_rows = turn_tile(&x->v, x->kv_type, b->base, hull, b->group, x->d_v, b->vt, b->v_plain,
                          &b->v_stride, NULL);
    b->has_base = b->base, b->has_group = b->group, b->has_hull = hull;
}

static void turn_queries(const hn_attn_rows *rows, const meeting *b, int64_t n, float *turned)
{
    for (int at = 0; at < b->n; at += 16)
        transpose_rows((const char *)row_at(rows, b->token + at, b->head),
                       rows->token_stride * 4, least_int(16, b->n - at), n, turned + at, 64);
}

/* Scores and dp, already in p and ds, to p and ds. */
static void differentiate(const meeting *b)
{
    const hn_attn_args *x = b->x;
    const f32x16 scale = f_set1(x->scale), cap = f_set1(x->softcap), one = f_set1(1.0f);
    for (int i = 0; i < b->n; i++) {
        const range over = b->row_sees[i];
        if (over.from >= over.to)
            continue;
        const f32x16 lse = f_set1(*row_at(&x->lse, b->token + i, b->head));
        const f32x16 delta = f_set1(b->delta[(b->token + i) * x->n_head + b->head]);
        for (int v = over.from & ~15; v < over.to; v += 16) {
            float *p_at = b->p + i * 64 + v, *ds_at = b->ds + i * 64 + v;
            f32x16 s = f_mul(f_load(p_at), scale), t = f_zero();
            if (x->softcap > 0) {
                t = f_tanh(f_div(s, cap));
                s = f_mul(cap, t);
            }
            const f32x16 p = f_exp(f_sub(s, lse));
            f32x16 ds = f_mul(p, f_sub(f_load(ds_at), delta));
            if (x->softcap > 0)
                ds = f_mul(ds, f_sub(one, f_mul(t, t)));
            f_store(p_at, p);
            f_store(ds_at, f_mul(ds, scale));
        }
    }
}

static void meet(meeting *b, bool wants_keys, bool wants_queries)
{
    const hn_attn_args *x = b->x;
    range hull;
    if (!see(b, &hull))
        return;
    turn_keys(b, hull);
    turn_queries(&x->q, b, x->d, b->qt);
    turn_queries(&x->dout, b, x->d_v, b->gt);
    const int left = hull.from & ~15, cols = ((hull.to + 15) & ~15) - left;
    for (int at = 0, height; at < b->n; at += height) {
        const int panels = (b->n - at + ATTN_MR - 1) / ATTN_MR;
        height = (b->n - at + panels - 1) / panels;
        product_by_k(height, x->d, b->qt + at, b->kt + left, 64, b->p + at * 64 + left, 64,
                     cols, false);
        product_by_k(height, x->d_v, b->gt + at, b->vt + left, 64, b->ds + at * 64 + left, 64,
                     cols, false);
    }
    differentiate(b);
    if (wants_keys) {
        products_over(A_BY_K, b->key_seen, hull.from, hull.to, b->p,
                      row_at(&x->dout, b->token, b->head), x->dout.token_stride,
                      row_at(&x->dv, b->base, b->group), x->dv.token_stride, x->d_v);
        products_over(A_BY_K, b->key_seen, hull.from, hull.to, b->ds,
                      row_at(&x->q, b->token, b->head), x->q.token_stride,
                      row_at(&x->dk, b->base, b->group), x->dk.token_stride, x->d);
    }
    if (wants_queries)
        products_over(A_BY_ROW, b->row_sees, 0, b->n, b->ds, b->k_rows, b->k_stride,
                      row_at(&x->dq, b->token, b->head), x->dq.token_stride, x->d);
}

static void clear(const hn_attn_rows *x, int64_t from, int64_t to, int64_t head, int64_t n)
{
    for (int64_t t = from; t < to; t++)
        memset(row_at(x, t, head), 0, (size_t)n * sizeof(float));
}

/* Keys [base, base + 64) against all queries of the group. */
static void walk_keys(meeting *b, int64_t base, bool wants_queries)
{
    const hn_attn_args *x = b->x;
    const int64_t heads = x->n_head / x->n_kv_head,
                  end = base + TILE < x->n_k ? base + TILE : x->n_k;
    b->base = base;
    clear(&x->dk, base, end, b->group, x->d);
    clear(&x->dv, base, end, b->group, x->d_v);
    for (int64_t h = 0; h < heads; h++) {
        b->head = b->group * heads + h;
        for (int64_t t = 0, next; t < x->n_q; t = next) {
            next = block_end(x, t, x->n_q);
            b->token = t, b->n = (int)(next - t);
            meet(b, true, wants_queries);
        }
    }
}

static void walk_queries(meeting *b, int64_t from, int64_t to)
{
    const hn_attn_args *x = b->x;
    clear(&x->dq, from, to, b->head, x->d);
    for (int64_t t = from, next; t < to; t = next) {
        next = block_end(x, t, to);
        b->token = t, b->n = (int)(next - t);
        int64_t low = INT64_MAX, high = 0;
        for (int64_t i = t; i < next; i++) {
            const keys seen = keys_of(x, i);
            low = seen.from < seen.to && seen.from < low ? seen.from : low;
            high = seen.from < seen.to && seen.to > high ? seen.to : high;
        }
        for (b->base = low < high ? low / TILE * TILE : high; b->base < high; b->base += TILE)
            meet(b, false, true);
    }
}

static void find_delta(const hn_attn_args *x, int64_t from, int64_t to, float *delta)
{
    for (int64_t t = from; t < to; t++)
        for (int64_t h = 0; h < x->n_head; h++) {
            const float *o = row_at(&x->o, t, h), *g = row_at(&x->dout, t, h);
            double sum;
            ROW_SUM(sum, x->d_v, f_fma(ROW_LOAD(g), ROW_LOAD(o), acc));
            delta[t * x->n_head + h] = (float)sum;
        }
}

static void find_sinks(const hn_attn_args *x, int64_t group, const float *delta)
{
    const int64_t heads = x->n_head / x->n_kv_head;
    for (int64_t h = group * heads; h < (group + 1) * heads && x->sinks && x->dsinks; h++)
        for (int64_t t = 0; t < x->n_q; t++) {
            const float p = lane0(f_exp(f_set1(x->sinks[h] - *row_at(&x->lse, t, h))));
            x->dsinks[h] = lane0(
                f_fma(f_set1(-p), f_set1(delta[t * x->n_head + h]), f_set1(x->dsinks[h])));
        }
}

void HN_KERNEL_NAME(attn_backward)(HN_PARAMS_attn);
void HN_KERNEL_NAME(attn_backward)(HN_PARAMS_attn)
{
    const hn_attn_args *x = &plan->args;
    float *delta = shared;
    meeting b;
    lay_out(&b, x, delta, scratch);
    const int64_t heads = x->n_head / x->n_kv_head, tiles = (x->n_k + TILE - 1) / TILE;
    for (int64_t unit = first; unit < end; unit++) {
        const int64_t at = unit % plan->n_blocks * ROWS;
        const int64_t to = at + ROWS < x->n_q ? at + ROWS : x->n_q;
        if (phase == 0) {
            find_delta(x, at, to, delta);
        } else if (phase == 1 && plan->is_split) {
            b.group = unit / tiles;
            walk_keys(&b, unit % tiles * TILE, false);
            if (unit % tiles == 0)
                find_sinks(x, b.group, delta);
        } else if (phase == 1) {
            b.group = unit;
            for (int64_t h = 0; h < heads; h++)
                clear(&x->dq, 0, x->n_q, unit * heads + h, x->d);
            for (int64_t base = 0; base < x->n_k; base += TILE)
                walk_keys(&b, base, true);
            find_sinks(x, unit, delta);
        } else {
            b.head = unit / plan->n_blocks;
            b.group = b.head / heads;
            walk_queries(&b, at, to);
        }
    }
}
