/* The panel16 layout. */
#include "kernels/decode/decode.h"

#include "base/bytes.h"
#include "base/half.h"
#include "kernels/gemm/rows.h"

#include <string.h>

const hn_panel16_field hn_panel16_fields[HN_N_ELEMS][4] = {
#define UNITS(n, bytes) { n, bytes },
#define HN_ELEM(name, elements, bytes, kernels, ...) { __VA_ARGS__ },
#include "quant/types.def"
#undef UNITS
};

#define EACH_FIELD(f, type)                                                                    \
    for (const hn_panel16_field *f = hn_panel16_fields[type]; f < hn_panel16_fields[type] + 4 && f->n; f++)

static int64_t bytes_of_panels(hn_elem type, int64_t rows, int64_t row_elems)
{
    return (rows + 15) / 16 * 16 * hn_elem_span(type, row_elems);
}

size_t hn_panel16_bytes(hn_elem type, int64_t rows, int64_t row_elems)
{
    const int64_t lowest = type == HN_ELEM_bf16 ? (rows + 15) / 16 * hn_panel16_stretches(row_elems) : 0;
    return (size_t)(bytes_of_panels(type, rows, row_elems) + lowest + 63) / 64 * 64;
}

const uint8_t *hn_panel16_lowest(hn_elem type, int64_t rows, int64_t row_elems, const void *panels)
{
    return type == HN_ELEM_bf16 ? (const uint8_t *)panels + bytes_of_panels(type, rows, row_elems) : NULL;
}

/* Bytes of a row that are words of two bf16 each. */
static int64_t in_fours(hn_elem type, int64_t row_bytes) { return type == HN_ELEM_bf16 ? row_bytes / 8 * 8 : 0; }

/* Zeros in the lanes from `lane` on. */
static void clear_lanes(hn_elem type, int lane, int64_t row_bytes, char *to)
{
    int64_t at = 0;
    for (; at < in_fours(type, row_bytes); at += 4, to += 16 * 4)
        memset(to + lane * 4, 0, (size_t)(16 - lane) * 4);
    while (at < row_bytes)
        EACH_FIELD(f, type)
            for (int i = 0; i < f->n; i++, at += f->bytes, to += 16 * f->bytes)
                memset(to + lane * f->bytes, 0, (size_t)((16 - lane) * f->bytes));
}

/* One unit of each of sixteen rows, side by side. */
static void put_units(char *to, const char *const from[16], int64_t at, int size)
{
    for (int lane = 0; lane < 16; lane++)
        switch (size) { /* constants, so that no call is made */
        case 1:
            to[lane] = from[lane][at];
            break;
        case 2:
            memcpy(to + 2 * lane, from[lane] + at, 2);
            break;
        default:
            memcpy(to + 4 * lane, from[lane] + at, 4);
        }
}

/* The least magnitude less one of what was seen: so zero, with which it begins, is the largest. */
typedef uint16_t least;
enum { NOTHING_SEEN = 0xffff };

static least see(least seen, uint16_t bf16)
{
    const least this = (least)((bf16 & 0x7fff) - 1);
    return this < seen ? this : seen;
}

static uint8_t exponent_of(least seen) { return seen == NOTHING_SEEN ? 255 : (uint8_t)((seen + 1) >> 7); }

/* Four bf16 of each. */
static void put_four(char *to, const char *const from[16], int64_t at, least seen[4])
{
    for (int lane = 0; lane < 16; lane++) {
        uint16_t k[4];
        memcpy(k, from[lane] + at, sizeof k);
        for (int i = 0; i < 4; i++)
            seen[i] = see(seen[i], k[i]);
        uint32_t even, odd;
        hn_panel16_four(k, &even, &odd);
        memcpy(to + 4 * lane, &even, sizeof even);
        memcpy(to + 4 * (16 + lane), &odd, sizeof odd);
    }
}

/* What was seen, of bf16. */
static least pack_panel(hn_elem type, const char *const from[16], int64_t begin, int64_t end, char *to)
{
    least seen[4] = { NOTHING_SEEN, NOTHING_SEEN, NOTHING_SEEN, NOTHING_SEEN };
    int64_t at = begin;
    for (; at < begin + in_fours(type, end - begin); at += 8, to += 16 * 8)
        put_four(to, from, at, seen);
    for (int64_t last = at; type == HN_ELEM_bf16 && last < end; last += 2)
        for (int lane = 0; lane < 16; lane++)
            seen[0] = see(seen[0], hn_load_16(from[lane] + last));
    while (at < end)
        EACH_FIELD(f, type)
            for (int i = 0; i < f->n; i++, at += f->bytes, to += 16 * f->bytes)
                put_units(to, from, at, f->bytes);
    for (int i = 1; i < 4; i++)
        seen[0] = seen[i] < seen[0] ? seen[i] : seen[0];
    return seen[0];
}

/* The same, stretch after stretch, of rows whose lanes are there or, to be cleared, another's. */
static void pack_bf16(const char *const from[16], int64_t row_elems, char *to, uint8_t *lowest)
{
    for (int64_t at = 0; at < row_elems; at += HN_PANEL16_STRETCH) {
        const int64_t end = at + HN_PANEL16_STRETCH < row_elems ? at + HN_PANEL16_STRETCH : row_elems;
        *lowest++ = exponent_of(pack_panel(HN_ELEM_bf16, from, 2 * at, 2 * end, to + 16 * 2 * at));
    }
}

static uint8_t *lowest_at(int64_t rows, int64_t row_elems, void *panels, int64_t panel)
{
    return (uint8_t *)panels + bytes_of_panels(HN_ELEM_bf16, rows, row_elems) + panel * hn_panel16_stretches(row_elems);
}

void hn_panel16_pack(hn_elem type, int64_t rows, int64_t row_elems, const void *plain,
                     int64_t row_stride, int64_t pairs, void *panels, int64_t first,
                     int64_t end)
{
    const int64_t row_bytes = hn_elem_span(type, row_elems);
    for (int64_t panel = first; panel < end; panel++) {
        const char *from[16];
        char *to = (char *)panels + 16 * panel * row_bytes;
        const int64_t left = rows - 16 * panel;
        for (int64_t lane = 0; lane < 16; lane++) /* of rows not there: the first, then zeros */
            from[lane] = (const char *)plain +
                         hn_gemm_row(pairs, 16 * panel + (lane < left ? lane : 0)) * row_stride;
        if (type == HN_ELEM_bf16)
            pack_bf16(from, row_elems, to, lowest_at(rows, row_elems, panels, panel));
        else
            pack_panel(type, from, 0, row_bytes, to);
        if (left < 16)
            clear_lanes(type, (int)left, row_bytes, to);
    }
}

/* Elements [at, at + n) of one row, rounded. */
static void round_part(hn_elem from, const char *row, int64_t at, int64_t n, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        float x;
        if (from == HN_ELEM_f32)
            memcpy(&x, row + 4 * (at + i), sizeof x);
        else
            x = hn_f16_to_f32(hn_load_16(row + 2 * (at + i)));
        to[i] = hn_f32_to_bf16(x);
    }
}

void hn_panel16_round(hn_elem from, int64_t rows, int64_t row_elems, const void *plain,
                      int64_t row_stride, int64_t pairs, void *panels, int64_t first,
                      int64_t end)
{
    enum { PART = HN_PANEL16_STRETCH };
    uint16_t parts[16][PART];
    const char *lanes[16];
    for (int lane = 0; lane < 16; lane++)
        lanes[lane] = (const char *)parts[lane];
    for (int64_t panel = first; panel < end; panel++) {
        char *to = (char *)panels + 16 * panel * 2 * row_elems;
        const int64_t left = rows - 16 * panel;
        uint8_t *lowest = lowest_at(rows, row_elems, panels, panel);
        for (int64_t at = 0; at < row_elems; at += PART) {
            const int64_t n = row_elems - at < PART ? row_elems - at : PART;
            for (int64_t lane = 0; lane < 16 && lane < left; lane++)
                round_part(from,
                           (const char *)plain +
                               hn_gemm_row(pairs, 16 * panel + lane) * row_stride,
                           at, n, parts[lane]);
            for (int64_t lane = left; lane < 16; lane++)
                memset(parts[lane], 0, sizeof parts[lane]);
            *lowest++ = exponent_of(pack_panel(HN_ELEM_bf16, lanes, 0, 2 * n, to + 16 * 2 * at));
        }
    }
}

/* Where element k of a row of bf16 is in its panel, in halves. */
static int64_t half_at(int64_t row_elems, int64_t lane, int64_t k)
{
    if (k >= row_elems / 4 * 4)
        return 16 * k + lane;
    return 16 * (k / 4 * 4) + 32 * (k % 2) + 2 * lane + (k % 4 < 2);
}

void hn_panel16_row(hn_elem type, int64_t row_elems, const void *panels, int64_t row,
                    int64_t from, int64_t n, void *plain)
{
    const int64_t row_bytes = hn_elem_span(type, row_elems), block = hn_elem_bytes(type);
    const int64_t n_bytes = hn_elem_span(type, n), lane = row & 15;
    const char *x =
        (const char *)panels + 16 * ((row >> 4) * row_bytes + hn_elem_span(type, from));
    char *to = plain;
    if (type == HN_ELEM_bf16) {
        const uint16_t *panel = (const uint16_t *)panels + 16 * (row >> 4) * row_elems;
        for (int64_t i = 0; i < n; i++)
            memcpy(to + 2 * i, panel + half_at(row_elems, lane, from + i), sizeof *panel);
        return;
    }
    for (int64_t at = 0; at < n_bytes; at += block)
        EACH_FIELD(f, type)
            for (int i = 0; i < f->n; i++) {
                memcpy(to, x + lane * f->bytes, (size_t)f->bytes);
                to += f->bytes;
                x += 16 * f->bytes;
            }
}
