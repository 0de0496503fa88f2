/* The packers of one level: any operand becomes k-major panels of f32, decoded on the way. */
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/blocks.h"
#include "kernels/gemm/transpose.h"
#include "kernels/simd/f32x16.h"

enum { CHUNK = 256 };

static const hn_decode_kernels *decode(void) { return &HN_KERNEL_NAME(decode_kernels); }

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The panel of sixteen rows that holds `row`, from element `from` on. */
static const char *panel_at(const hn_gemm_operand *x, int64_t row, int64_t from)
{
    return (const char *)x->data + 16 * ((row >> 4) * hn_elem_span(x->type, x->row_elems) +
                                         hn_elem_span(x->type, from));
}

static float scalar_at(const hn_gemm_operand *x, int64_t outer, int64_t k)
{
    float y;
    decode()->row[x->type](1, (const char *)x->data + outer * x->outer_stride + k * x->k_stride,
                           &y);
    return y;
}

/* Elements [from, from + n) of a row, whole blocks of at most CHUNK, wherever the row lies. */
static void row_of(const hn_gemm_operand *x, int64_t stride, int64_t row, int64_t from, int64_t n,
                   float *y)
{
    uint8_t plain[CHUNK * sizeof(float)];
    const int64_t lies = hn_gemm_row(x->pairs, row);
    if (x->is_panel16) {
        hn_panel16_row(x->type, x->row_elems, x->data, lies, from, n, plain);
        decode()->row[x->type](n, plain, y);
        return;
    }
    decode()->row[x->type](n, (const char *)x->data + lies * stride + hn_elem_span(x->type, from), y);
}

/* Up to sixteen outer elements at dst[k * ld]; lanes beyond `rows` are zero. */
static void pack_strided(const hn_gemm_operand *x, int64_t outer, int rows, int64_t k,
                         int64_t n_k, float *dst, int64_t ld)
{
    for (int64_t p = 0; p < n_k; p++) {
        float v[16] = { 0 };
        for (int i = 0; i < rows; i++)
            v[i] = scalar_at(x, outer + i, k + p);
        f_store(dst + p * ld, f_load(v));
    }
}

static void pack_along_k(const hn_gemm_operand *x, int64_t outer, int rows, int64_t k,
                         int64_t n_k, float *dst, int64_t ld, float *room)
{
    if (x->type == HN_ELEM_f32 && !x->pairs) {
        transpose_rows((const char *)x->data + outer * x->outer_stride + 4 * k, x->outer_stride, rows, n_k, dst, ld);
        return;
    }
    for (int64_t at = 0; at < n_k; at += CHUNK) {
        const int64_t n = least(n_k - at, CHUNK);
        for (int i = 0; i < rows; i++)
            row_of(x, x->outer_stride, outer + i, k + at, n, room + i * CHUNK);
        for (int i = rows; i < 16; i++)
            memset(room + i * CHUNK, 0, (size_t)n * sizeof *room);
        transpose_rows16((const char *)room, CHUNK * sizeof *room, n, dst + at * ld, ld);
    }
}

static void pack_panel16(const hn_gemm_operand *x, int64_t outer, int rows, int64_t k,
                         int64_t n_k, float *dst, int64_t ld, float *room)
{
    if ((outer & 15) == 0 && rows == 16 && ld >= 16) {
        decode()->panel[x->type](n_k, panel_at(x, outer, k), dst, ld);
        return;
    }
    for (int64_t at = 0; at < n_k; at += CHUNK) { /* lanes of one or two panels */
        const int64_t n = least(n_k - at, CHUNK);
        for (int i = 0; i < rows;) {
            const int lane = (int)((outer + i) & 15), lanes = (int)least(16 - lane, rows - i);
            decode()->panel[x->type](n, panel_at(x, outer + i, k + at), room, 16);
            for (int64_t p = 0; p < n; p++)
                f_store_n(dst + (at + p) * ld + i, f_load_n(room + 16 * p + lane, lanes),
                          lanes);
            i += lanes;
        }
        for (int64_t p = 0; p < n; p++)
            for (int64_t i = rows; i < least(ld, 16); i++)
                dst[(at + p) * ld + i] = 0;
    }
}

/* Rows of k, contiguous along outer, to y[p * ld + i]. */

static void rows_of_panels(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                           int64_t n_k, float *y, int64_t ld, float *room)
{
    const int64_t block = hn_panel16_step(x->type), begin = outer / block * block;
    const int64_t end = least((outer + n_outer + block - 1) / block * block, x->row_elems);
    for (int64_t p = 0; p < n_k;) {
        const int lane = (int)((k + p) & 15), lanes = (int)least(16 - lane, n_k - p);
        for (int64_t at = begin; at < end; at += CHUNK) {
            const int64_t n = least(end - at, CHUNK);
            decode()->panel[x->type](n, panel_at(x, k + p, at), room, 16);
            float *turned = room + 16 * CHUNK; /* [row][CHUNK] */
            for (int64_t i = 0; i < n; i += 16)
                transpose_rows((const char *)(room + 16 * i), 16 * sizeof *room,
                               (int)least(16, n - i), 16, turned + i, CHUNK);
            const int64_t lo = at > outer ? at : outer, hi = least(at + n, outer + n_outer);
            for (int r = 0; r < lanes && lo < hi; r++)
                memcpy(y + (p + r) * ld + (lo - outer), turned + (lane + r) * CHUNK + (lo - at),
                       (size_t)(hi - lo) * sizeof *y);
        }
        p += lanes;
    }
}

static void rows(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                 int64_t n_k, float *dst, int64_t ld, float *room)
{
    if (x->is_panel16 && !x->pairs) {
        rows_of_panels(x, outer, n_outer, k, n_k, dst, ld, room);
        return;
    }
    const int64_t block = hn_elem_block(x->type), skip = outer % block;
    for (int64_t p = 0; p < n_k; p++) {
        float *to = dst + p * ld;
        int64_t done = 0;
        if (skip) { /* a block that begins before us */
            done = least(block - skip, n_outer);
            row_of(x, x->k_stride, k + p, outer - skip, block, room);
            memcpy(to, room + skip, (size_t)done * sizeof *to);
        }
        for (int64_t n; done + block <= n_outer; done += n) {
            n = least((n_outer - done) / block * block, CHUNK);
            row_of(x, x->k_stride, k + p, outer + done, n, to + done);
        }
        if (done < n_outer) {
            row_of(x, x->k_stride, k + p, outer + done, block, room);
            memcpy(to + done, room, (size_t)(n_outer - done) * sizeof *to);
        }
    }
}

/* Rows along k, to y[i * ld + p]. */
static void along_k(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k, int64_t n_k, float *dst, int64_t ld)
{
    for (int64_t i = 0; i < n_outer; i++)
        for (int64_t at = 0; at < n_k; at += CHUNK)
            row_of(x, x->outer_stride, outer + i, k + at, least(n_k - at, CHUNK), dst + i * ld + at);
}

/* One row of k of one panel, n of its width there. `spills`: what the last store writes past it is written
 * again, with what belongs there, so that it may be whole. */
HN_INLINE void copy_f32_row(const float *from, int64_t n, int64_t width, bool spills, float *to)
{
    for (int64_t i = 0; i < width; i += 16) {
        const int64_t left = n - i;
        const f32x16 v = left >= 16 ? f_load(from + i)
                         : left > 0 ? f_load_n(from + i, left)
                                    : f_zero();
        if (spills || width - i >= 16)
            f_store(to + i, v);
        else
            f_store_n(to + i, v, width - i);
    }
}

/* Eight rows of k over all panels, then the next eight: pages and sets are met in passing. */
static void copy_f32_rows(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                          int64_t n_k, int64_t width, float *dst)
{
    const char *base = (const char *)x->data + 4 * outer + k * x->k_stride;
    const int64_t last = n_k - (16 + width - 1) / width; /* its row may spill */
    for (int64_t p0 = 0; p0 < n_k; p0 += 8)
        for (int64_t o = 0; o < n_outer; o += width)
            for (int64_t p = p0; p < least(p0 + 8, n_k); p++)
                copy_f32_row((const float *)(const void *)(base + p * x->k_stride) + o,
                             least(width, n_outer - o), width, p <= last, dst + o * n_k + p * width);
}

static void pack_along_outer(const hn_gemm_operand *x, int64_t outer, int64_t n_outer,
                             int64_t k, int64_t n_k, int64_t width, float *dst, float *room)
{
    enum { STEP = 256, DEEP = 16 };
    float *wide = room + 2 * 16 * CHUNK; /* [DEEP][STEP] */
    for (int64_t o0 = 0; o0 < n_outer; o0 += STEP / width * width)
        for (int64_t p0 = 0; p0 < n_k; p0 += DEEP) {
            const int64_t n = least(n_outer - o0, STEP / width * width),
                          deep = least(n_k - p0, DEEP);
            rows(x, outer + o0, n, k + p0, deep, wide, STEP, room);
            for (int64_t o = 0; o < n; o += width)
                for (int64_t p = 0; p < deep; p++) {
                    float *to = dst + (o0 + o) * n_k + (p0 + p) * width;
                    const int64_t have = least(width, n - o);
                    memcpy(to, wide + p * STEP + o, (size_t)have * sizeof *to);
                    for (int64_t i = have; i < width; i++)
                        to[i] = 0;
                }
        }
}

static void pack(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                 int64_t n_k, int64_t width, float *dst, float *room)
{
    if (hn_gemm_along_outer(x)) {
        if (x->type == HN_ELEM_f32 && !x->is_panel16 && !x->pairs)
            copy_f32_rows(x, outer, n_outer, k, n_k, width, dst);
        else
            pack_along_outer(x, outer, n_outer, k, n_k, width, dst, room);
        return;
    }
    for (int64_t o = 0; o < n_outer; o += width, dst += width * n_k)
        for (int64_t sub = 0; sub < width; sub += 16) {
            const int64_t left = n_outer - o - sub;
            const int n = (int)least(left < 0 ? 0 : left, least(width - sub, 16));
            if (x->is_panel16 && !x->pairs)
                pack_panel16(x, outer + o + sub, n, k, n_k, dst + sub, width, room);
            else if (hn_gemm_along_k(x))
                pack_along_k(x, outer + o + sub, n, k, n_k, dst + sub, width, room);
            else
                pack_strided(x, outer + o + sub, n, k, n_k, dst + sub, width);
        }
}

/* What is bf16 already, as activations are as a rule, is only looked at. */
static void to_bf16(int64_t n, float *x)
{
    i32x16 low = i_set1(0);
    for (int64_t i = 0; i < n; i += 16)
        low = i_or(low, f_bits(f_load(x + i)));
    if (!m_any(m_not(i_eq(i_and(low, i_set1(0xffff)), i_set1(0)))))
        return;
    for (int64_t i = 0; i < n; i += 16)
        f_store(x + i, f_round_bf16(f_load(x + i)));
}

HN_KERNEL_TABLE(gemm) = {
    .lanes = &HN_KERNEL_NAME(gemv_kernels),
    .tile = tile,
    .block_tile = block_tile,
    .round = to_bf16,
    .pack = pack,
    .rows = rows,
    .along_k = along_k,
    .mr = MR,
    .nr = NR,
    .kc = KC,
    .mc = MC,
    .nc = NC,
};
