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

size_t hn_panel16_bytes(hn_elem type, int64_t rows, int64_t row_elems)
{
    return (size_t)((rows + 15) / 16 * 16 * hn_elem_span(type, row_elems));
}

/* Zeros in the lanes from `lane` on. */
static void clear_lanes(hn_elem type, int lane, int64_t row_bytes, char *to)
{
    for (int64_t at = 0; at < row_bytes;)
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

static void pack_panel(hn_elem type, const char *const from[16], int64_t row_bytes, char *to)
{
    for (int64_t at = 0; at < row_bytes;)
        EACH_FIELD(f, type)
            for (int i = 0; i < f->n; i++, at += f->bytes, to += 16 * f->bytes)
                put_units(to, from, at, f->bytes);
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
        pack_panel(type, from, row_bytes, to);
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
    enum { PART = 256 };
    uint16_t parts[16][PART];
    const char *lanes[16];
    for (int lane = 0; lane < 16; lane++)
        lanes[lane] = (const char *)parts[lane];
    for (int64_t panel = first; panel < end; panel++) {
        char *to = (char *)panels + 16 * panel * 2 * row_elems;
        const int64_t left = rows - 16 * panel;
        for (int64_t at = 0; at < row_elems; at += PART) {
            const int64_t n = row_elems - at < PART ? row_elems - at : PART;
            for (int64_t lane = 0; lane < 16 && lane < left; lane++)
                round_part(from,
                           (const char *)plain +
                               hn_gemm_row(pairs, 16 * panel + lane) * row_stride,
                           at, n, parts[lane]);
            for (int64_t lane = left; lane < 16; lane++)
                memset(parts[lane], 0, sizeof parts[lane]);
            pack_panel(HN_ELEM_bf16, lanes, 2 * n, to + 16 * 2 * at);
        }
    }
}

void hn_panel16_row(hn_elem type, int64_t row_elems, const void *panels, int64_t row,
                    int64_t from, int64_t n, void *plain)
{
    const int64_t row_bytes = hn_elem_span(type, row_elems), block = hn_elem_bytes(type);
    const int64_t n_bytes = hn_elem_span(type, n), lane = row & 15;
    const char *x =
        (const char *)panels + 16 * ((row >> 4) * row_bytes + hn_elem_span(type, from));
    char *to = plain;
    for (int64_t at = 0; at < n_bytes; at += block)
        EACH_FIELD(f, type)
            for (int i = 0; i < f->n; i++) {
                memcpy(to, x + lane * f->bytes, (size_t)f->bytes);
                to += f->bytes;
                x += 16 * f->bytes;
            }
}
