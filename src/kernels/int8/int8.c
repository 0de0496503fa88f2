/* A unit is a few groups of columns and all rows: their weights are unpacked once, some blocks at a time, and stay in a
 * cache while row after row goes by. Few rows take so few blocks at a time that they stay in the first one. Where there is a matrix
 * unit it takes rows by sixteens, of the kinds that it is faster for, and the tile what is left. */
#include "kernels/int8/int8.h"

#include "kernels/gemm/rows.h"

#include <string.h>

const hn_int8_format hn_int8_formats[HN_N_ELEMS] = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = { HN_INT8_##sums, offset, most },
#include "quant/types.def"
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

typedef struct areas {
    int32_t *words;
    float *sums;     /* [rows of a tile][HN_INT8_COLUMNS]: columns that are not all there */
    uint8_t *panel;  /* a group's rows, turned */
    uint8_t *rows;   /* rows of panels that lie in pairs */
} areas;

enum {
    WORDS_BYTES = HN_INT8_GROUPS * HN_INT8_DEEPER * HN_INT8_MOST_WORDS * 4,
    SUMS_BYTES = HN_INT8_SQUARE * HN_INT8_COLUMNS * 4,
    PANEL_BYTES = 16 * HN_INT8_DEEPER * HN_INT8_BLOCK / 32 * 40 /* no format has more than 1.25 bytes an element */
};

_Static_assert(sizeof(hn_int8_room) <= WORDS_BYTES, "room for rows as they lie");

size_t hn_int8_scratch_bytes(void) { return WORDS_BYTES + SUMS_BYTES + 2 * PANEL_BYTES; }

static areas areas_of(char *scratch)
{
    areas a;
    a.words = (int32_t *)(void *)scratch;
    a.sums = (float *)(void *)(scratch + WORDS_BYTES);
    a.panel = (uint8_t *)scratch + WORDS_BYTES + SUMS_BYTES;
    a.rows = a.panel + PANEL_BYTES;
    return a;
}

int64_t hn_int8_units(const hn_int8_args *a) { return (a->n + HN_INT8_COLUMNS - 1) / HN_INT8_COLUMNS; }

static void turn(const hn_int8_kernels *k, hn_elem type, int64_t rows, int64_t n, const char *w, int64_t stride,
                 uint8_t *panel)
{
    if (rows == 16)
        k->decode->turn(type, n, w, stride, panel);
    else
        hn_panel16_pack(type, rows, n, w, stride, 0, panel, 0, 1);
}

/* Whether sixteen plain rows from `row` on are there, and what is read behind `bytes` of the last one is. */
static bool has_sixteen(const hn_int8_args *a, int64_t row, int64_t bytes)
{
    return row + 16 < a->n || (row + 16 == a->n && bytes % 16 == 0);
}

/* Sixteen rows are sixteen streams of pieces too short to be followed, but the next unit's rows lie in one piece behind them: that is
 * asked for in its order, as many bytes as are read here, `from` bytes into rows of which `w` is the first. */
static const char *next_rows(const hn_int8_args *a, int64_t row, const char *w, int64_t from)
{
    const bool is_last = row + HN_INT8_COLUMNS + 16 > a->n;
    return is_last ? w + from : w + HN_INT8_COLUMNS * a->stride + 16 * from;
}

static void unpack_plain(const hn_int8_kernels *k, const hn_int8_args *a, const areas *s, int64_t row, int64_t first,
                         int64_t blocks, int32_t *to)
{
    const int64_t words = hn_int8_words(hn_int8_formats[a->type].kind), left = least(16, a->n - row);
    const int64_t from = hn_elem_span(a->type, first * HN_INT8_BLOCK), bytes = hn_elem_span(a->type, blocks * HN_INT8_BLOCK);
    const char *w = (const char *)a->w + row * a->stride;
    if (has_sixteen(a, row, bytes)) {
        k->unpack_rows[a->type](blocks, w + from, a->stride, next_rows(a, row, w, from), to);
        return;
    }
    w += from;
    for (int64_t b = 0, some; b < blocks; b += some, to += some * words) {
        some = least(HN_INT8_DEEP, blocks - b);
        turn(k, a->type, left, some * HN_INT8_BLOCK, w, a->stride, s->panel);
        k->unpack[a->type](0, some, s->panel, NULL, to);
        w += hn_elem_span(a->type, some * HN_INT8_BLOCK);
    }
}

/* Of so few rows tiles and unpacking take about as long as memory has for the weights, and the next blocks are asked for in both; of more
 * unpacking is a small part, and asks by itself. */
static bool asks_evenly(const hn_int8_args *a) { return a->is_panel16 && !a->pairs && a->rows <= HN_INT8_ASKING; }

/* What is unpacked after `blocks` from `first` on: those behind them, or the first of the next columns. */
static hn_ahead next_blocks(const hn_int8_kernels *k, const hn_int8_args *a, int64_t column, int64_t first, int64_t blocks)
{
    const int64_t in_row = a->k / HN_INT8_BLOCK, row_bytes = hn_elem_span(a->type, a->k);
    first = first + blocks < in_row ? first + blocks : 0;
    column = first ? column : column + HN_INT8_COLUMNS;
    const int64_t columns = least(HN_INT8_COLUMNS, a->n - column);
    if (columns <= 0)
        return (hn_ahead){ .pieces = 0 };
    const char *from = (const char *)a->w + column * row_bytes + 16 * hn_elem_span(a->type, first * HN_INT8_BLOCK);
    return hn_ahead_of(from, 16 * hn_elem_span(a->type, least(blocks, in_row - first) * HN_INT8_BLOCK), 16 * row_bytes, (columns + 15) / 16,
                       blocks * ((columns + 15) / 16 + (a->rows + k->rows - 1) / k->rows), k->near);
}

/* Blocks [first, first + blocks) of rows [row, row + 16) of w; rows that are not there are zeros. */
static void unpack(const hn_int8_kernels *k, const hn_int8_args *a, const areas *s, int64_t row, int64_t first,
                   int64_t blocks, hn_ahead *ahead, int32_t *to)
{
    const int64_t from = first * HN_INT8_BLOCK, n = blocks * HN_INT8_BLOCK;
    const int64_t bytes = hn_elem_span(a->type, n), left = least(16, a->n - row);
    if (a->is_panel16 && !a->pairs) {
        k->unpack[a->type](first, blocks, (const uint8_t *)a->w + row * hn_elem_span(a->type, a->k), ahead, to);
        return;
    }
    if (a->is_panel16) {
        for (int64_t i = 0; i < left; i++)
            hn_panel16_row(a->type, a->k, a->w, hn_gemm_row(a->pairs, row + i), from, n, s->rows + i * bytes);
        turn(k, a->type, left, n, (const char *)s->rows, bytes, s->panel);
    } else if (a->pairs) {
        const char *w = (const char *)a->w + hn_elem_span(a->type, from);
        for (int64_t i = 0; i < left; i++)
            memcpy(s->rows + i * bytes, w + hn_gemm_row(a->pairs, row + i) * a->stride, (size_t)bytes);
        turn(k, a->type, left, n, (const char *)s->rows, bytes, s->panel);
    } else {
        unpack_plain(k, a, s, row, first, blocks, to);
        return;
    }
    k->unpack[a->type](0, blocks, s->panel, NULL, to);
}

static void multiply(const hn_int8_kernels *k, const hn_int8_args *a, const hn_int8_tile *t)
{
    if (t->rows > k->rows)
        k->squares->tile[hn_int8_formats[a->type].kind](t);
    else
        k->tile[hn_int8_formats[a->type].kind](t);
}

/* One tile, whose last columns may not be there. */
static void put_tile(const hn_int8_kernels *k, const hn_int8_args *a, const areas *s, hn_int8_tile *t, int64_t row,
                     int64_t column)
{
    const int64_t columns = least(a->n - column, HN_INT8_COLUMNS);
    float *y = a->y + row * a->n + column;
    const bool is_whole = columns == 16 * t->groups;
    t->y = is_whole ? y : s->sums;
    t->ldy = is_whole ? a->n : HN_INT8_COLUMNS;
    for (int r = 0; !is_whole && t->accumulate && r < t->rows; r++)
        memcpy(s->sums + r * HN_INT8_COLUMNS, y + r * a->n, (size_t)columns * sizeof *y);
    multiply(k, a, t);
    for (int r = 0; !is_whole && r < t->rows; r++)
        memcpy(y + r * a->n, s->sums + r * HN_INT8_COLUMNS, (size_t)columns * sizeof *y);
}

/* Rows [from, end) by tiles of `most`. `t` is a tile without rows. */
static void run_rows(const hn_int8_kernels *k, const hn_int8_args *a, const areas *s, hn_int8_tile t, int64_t from, int64_t end,
                     int64_t most, int64_t block, int64_t column)
{
    for (int64_t row = from; row < end; row += most) {
        t.rows = (int)least(most, end - row);
        t.x = hn_int8_rows_from(&a->x, row, block);
        put_tile(k, a, s, &t, row, column);
    }
}

/* Of weights in their order. A matrix unit is better still. */
static bool is_walked(const hn_int8_kernels *k, const hn_int8_args *a)
{
    const bool has_squares = k->squares && k->squares->tile[hn_int8_formats[a->type].kind];
    const int64_t most = a->is_panel16 ? k->walks : least(k->walks, HN_INT8_WALKING_ROWS);
    return a->rows <= most && !a->pairs && !(has_squares && a->rows >= HN_INT8_SQUARE);
}

/* All rows by panels, of which the last may be less than one; a panel again while it is near. */
static void run_walk(const hn_int8_kernels *k, const hn_int8_args *a, int64_t column, int64_t end)
{
    const int64_t panel_bytes = 16 * hn_elem_span(a->type, a->k);
    const bool is_again = hn_elem_block(a->type) == HN_INT8_BLOCK && a->rows <= k->few * k->again;
    const int64_t times = is_again ? (a->rows + k->few - 1) / k->few : 1, each = (a->rows + times - 1) / times;
    const uint8_t *w = (const uint8_t *)a->w + column / 16 * panel_bytes;
    _Alignas(64) float y[HN_INT8_WALKING * 16];
    hn_int8_tile t = { .blocks = a->k / HN_INT8_BLOCK, .near = k->near, .offset = hn_int8_formats[a->type].offset,
                       .most = hn_int8_formats[a->type].most };
    for (int64_t groups; column < end; column += 16 * groups, w += groups * panel_bytes) {
        const bool is_whole = column + 16 <= end;
        groups = is_whole && times == 1 ? (end - column) / 16 : 1;
        t.groups = (int)groups;
        for (int64_t row = 0; row < a->rows; row += each) {
            float *to = a->y + row * a->n + column;
            t.rows = (int)least(each, a->rows - row);
            t.x = hn_int8_rows_from(&a->x, row, 0);
            t.y = is_whole ? to : y;
            t.ldy = is_whole ? a->n : 16;
            k->walk[a->type](&t, w, panel_bytes);
            for (int r = 0; !is_whole && r < t.rows; r++)
                memcpy(to + r * a->n, y + 16 * r, (size_t)(end - column) * sizeof *y);
        }
    }
}

/* One row by plain rows, sixteen at a time; those that are not there are the last one again. */
static void run_along(const hn_int8_kernels *k, const hn_int8_args *a, const areas *s, int64_t column, int64_t end)
{
    _Alignas(64) float y[16];
    hn_int8_along t = { .blocks = a->k / HN_INT8_BLOCK, .x = a->x, .room = (hn_int8_room *)(void *)s->words, .near = k->near, .y = y };
    for (; column < end; column += 16) {
        for (int r = 0; r < 16; r++) {
            const int64_t row = least(column + r, a->n - 1);
            t.row[r] = (const uint8_t *)a->w + (a->pairs ? hn_gemm_row(a->pairs, row) : row) * a->stride;
        }
        k->along[a->type](&t);
        memcpy(a->y + column, y, (size_t)least(16, end - column) * sizeof *y);
    }
}

static void run_unit(const hn_int8_kernels *k, const hn_int8_args *a, const areas *s, int64_t column)
{
    const hn_int8_format *format = &hn_int8_formats[a->type];
    const int64_t in_row = a->k / HN_INT8_BLOCK, words = hn_int8_words(format->kind);
    const bool has_squares = k->squares && k->squares->tile[format->kind];
    const int64_t in_squares = has_squares ? a->rows / HN_INT8_SQUARE * HN_INT8_SQUARE : 0;
    const int64_t deep = in_squares ? HN_INT8_SQUARE_DEEP : a->rows > 2 * k->rows ? HN_INT8_DEEPER : HN_INT8_DEEP;
    hn_int8_tile t = { .groups = (int)((least(a->n - column, HN_INT8_COLUMNS) + 15) / 16), .offset = format->offset, .most = format->most,
                       .near = k->near };
    t.w = s->words;
    for (int64_t first = 0; first < in_row; first += deep) {
        t.blocks = least(deep, in_row - first);
        t.group_words = t.blocks * words;
        t.accumulate = first > 0;
        hn_ahead ahead = next_blocks(k, a, column, first, t.blocks);
        t.ahead = asks_evenly(a) ? &ahead : NULL;
        for (int g = 0; g < t.groups; g++)
            unpack(k, a, s, column + 16 * g, first, t.blocks, t.ahead, s->words + g * t.group_words);
        run_rows(k, a, s, t, in_squares, a->rows, k->rows, first, column);
        if (!in_squares)
            continue;
        k->squares->take_offset(format->kind, t.groups * t.blocks, format->offset, s->words);
        k->squares->open();
        run_rows(k, a, s, t, 0, in_squares, HN_INT8_SQUARE, first, column);
        k->squares->close();
    }
}

/* Plain rows, sixteen at a time; what is left, by tiles. */
static void run_walk_rows(const hn_int8_kernels *k, const hn_int8_args *a, const areas *s, int64_t column, int64_t end)
{
    hn_int8_tile t = { .rows = (int)a->rows, .groups = 1, .blocks = a->k / HN_INT8_BLOCK, .x = a->x, .near = k->near, .ldy = a->n,
                       .offset = hn_int8_formats[a->type].offset, .most = hn_int8_formats[a->type].most };
    for (; column < end && has_sixteen(a, column, hn_elem_span(a->type, a->k)); column += 16) {
        const char *w = (const char *)a->w + column * a->stride;
        t.y = a->y + column;
        k->walk_rows[a->type](&t, w, a->stride, next_rows(a, column, w, 0));
    }
    if (column < end)
        run_unit(k, a, s, column);
}

void hn_int8_run(const hn_int8_kernels *k, const hn_int8_args *a, int64_t first, int64_t end, void *scratch)
{
    const areas s = areas_of(scratch);
    const int64_t column = first * HN_INT8_COLUMNS, last = least(end * HN_INT8_COLUMNS, a->n);
    if (a->rows == 1 && !a->is_panel16)
        run_along(k, a, &s, column, last);
    else if (is_walked(k, a) && a->is_panel16)
        run_walk(k, a, column, last);
    else if (is_walked(k, a))
        run_walk_rows(k, a, &s, column, last);
    else
        for (int64_t unit = first; unit < end; unit++)
            run_unit(k, a, &s, unit * HN_INT8_COLUMNS);
}
