/* random_text: words of alphabet.txt in an order that a number gives. */
#include "tests/differential/random_text.h"

#include "base/file.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { N_KINDS = 7, MOST_ROWS = 128, MOST_CODES = 16 };
static const char *const kind_names[N_KINDS] = { "white", "text",  "digit",  "script",
                                                 "mark",  "emoji", "cluster" };
enum { WHITE, TEXT, DIGIT, SCRIPT, MARK, EMOJI, CLUSTER };

struct text_alphabet {
    struct {
        int n_codes[MOST_ROWS];
        uint32_t codes[MOST_ROWS][MOST_CODES];
        int n;
    } kinds[N_KINDS];
};

text_alphabet *text_alphabet_read(hn_heap *heap, const char *path)
{
    void *file;
    size_t bytes;
    text_alphabet *a = hn_alloc(heap, HN_TAG_TEXT, sizeof *a);
    if (!a || hn_file_read(heap, path, 1 << 20, &file, &bytes) != HN_OK) {
        hn_free(heap, a);
        return NULL;
    }
    for (char *line = file, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        for (int k = 0; k < N_KINDS; k++) {
            const size_t n = strlen(kind_names[k]);
            if (strncmp(line, kind_names[k], n) != 0 || line[n] != ' ' ||
                a->kinds[k].n == MOST_ROWS)
                continue;
            const int row = a->kinds[k].n++;
            for (char *at = line + n, *end; *at && a->kinds[k].n_codes[row] < MOST_CODES;
                 at = end)
                a->kinds[k].codes[row][a->kinds[k].n_codes[row]++] =
                    (uint32_t)strtoul(at, &end, 16);
        }
    }
    hn_free(heap, file);
    return a;
}

void text_alphabet_free(hn_heap *heap, text_alphabet *alphabet) { hn_free(heap, alphabet); }

/* splitmix64 */
static uint32_t below(uint64_t *state, uint32_t n)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % n);
}

static void put(hn_str *out, uint32_t code)
{
    char text[4];
    hn_str_add_bytes(out, text, hn_utf8_put(code, text));
}

static uint32_t any_char(uint64_t *r)
{
    const uint32_t code = below(r, 0x110000);
    return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
}

static const uint32_t *any_row(const text_alphabet *a, uint64_t *r, int kind, int *n)
{
    const uint32_t row = below(r, (uint32_t)a->kinds[kind].n);
    *n = a->kinds[kind].n_codes[row];
    return a->kinds[kind].codes[row];
}

static void put_row(const text_alphabet *a, uint64_t *r, int kind, hn_str *out)
{
    int n;
    const uint32_t *codes = any_row(a, r, kind, &n);
    for (int i = 0; i < n; i++)
        put(out, codes[i]);
}

static void put_of_range(const uint32_t *range, uint64_t *r, hn_str *out)
{
    put(out, range[0] + below(r, range[1] - range[0] + 1));
}

static void add_fragment(const text_alphabet *a, uint64_t *r, hn_str *out)
{
    int n;
    uint32_t code;
    const uint32_t *row;
    const uint32_t kind = below(r, 10);
    switch (kind) {
    case 0:
        for (uint32_t i = 1 + below(r, 8); i; i--) {
            const uint32_t first = below(r, 4) == 0 ? 0x41 : 0x61;
            put(out, first + below(r, 26));
        }
        break;
    case 1:
    case 2:
    case 7:
        put_row(a, r, kind == 1 ? WHITE : kind == 2 ? TEXT : EMOJI, out);
        break;
    case 3:
        row = any_row(a, r, DIGIT, &n);
        for (uint32_t i = 1 + below(r, 6); i; i--)
            put(out, row[0] + below(r, 10));
        break;
    case 4:
        for (uint32_t i = 1 + below(r, 4); i; i--)
            put(out, 0x21 + below(r, 15));
        break;
    case 5:
        row = any_row(a, r, SCRIPT, &n);
        for (uint32_t i = 1 + below(r, 6); i; i--)
            put_of_range(row, r, out);
        break;
    case 6:
        put_of_range(any_row(a, r, SCRIPT, &n), r, out);
        for (uint32_t i = 1 + below(r, 4); i; i--)
            put_of_range(any_row(a, r, MARK, &n), r, out);
        break;
    case 8:
        put(out, any_char(r));
        break;
    default:
        code = below(r, 4) == 0 ? any_char(r) : 0x20 + below(r, 0x5f);
        for (uint32_t i = 5 + below(r, 56); i; i--)
            put(out, code);
    }
    if (below(r, 3) == 0)
        put(out, ' ');
}

void random_text(const text_alphabet *alphabet, uint64_t number, hn_str *out)
{
    uint64_t state = number * 0x2545f4914f6cdd1du + 1;
    hn_str_clear(out);
    for (uint32_t n = 1 + below(&state, 12); n; n--)
        add_fragment(alphabet, &state, out);
}

void cluster_text(const text_alphabet *alphabet, uint64_t number, hn_str *out)
{
    uint64_t state = number * 0x2545f4914f6cdd1du + 2;
    const uint32_t n_rows = (uint32_t)alphabet->kinds[CLUSTER].n, own = below(&state, n_rows);
    hn_str_clear(out);
    for (uint32_t n = 1 + below(&state, 16); n; n--) {
        const uint32_t row = below(&state, 8) == 0 ? below(&state, n_rows) : own;
        const uint32_t n_codes = (uint32_t)alphabet->kinds[CLUSTER].n_codes[row];
        put(out, alphabet->kinds[CLUSTER].codes[row][below(&state, n_codes)]);
    }
}

void sweep_text(uint32_t code, hn_str *out)
{
    hn_str_clear(out);
    put(out, 'a'), put(out, code), put(out, 'b'), put(out, ' ');
    put(out, code), put(out, '1'), put(out, code), put(out, '2');
    put(out, ' '), put(out, code), put(out, code), put(out, '\n');
}
