/* Cases are ours, but random neighbours and users write them too: everything is checked. */
#include "prove/case.h"

#include "base/rng.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hn_status read_fill(const char *text, const char *end, hn_case_input *in)
{
    static const struct {
        const char *word;
        hn_fill fill;
    } words[] = { { "{iota}", HN_FILL_IOTA }, { "{seg}", HN_FILL_SEG },
                  { "{perm}", HN_FILL_PERM }, { "{mask}", HN_FILL_MASK } };
    const size_t n = (size_t)(end - text);
    if (!n)
        return HN_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n == strlen(words[i].word) && !memcmp(text, words[i].word, n)) {
            in->fill = words[i].fill;
            return HN_OK;
        }
    const char *colon = text, *brace = NULL;
    if (n > 6 && !memcmp(text, "{span:", 6)) {
        in->fill = HN_FILL_SPAN;
        brace = text + 6 + hn_number_read(text + 6, n - 6, &in->high);
        HN_REQUIRE(*brace == '}' && brace + 1 == end && in->high >= 1, HN_ERR_FORMAT,
                   "fill '%.*s': expected {span:keys}", (int)n, text);
        return HN_OK;
    }
    if (n > 8 && !memcmp(text, "{blocks:", 8)) {
        in->fill = HN_FILL_BLOCKS;
        colon = text + 8 + hn_number_read(text + 8, n - 8, &in->low);
        brace = *colon == '*' ? colon + 1 + hn_number_read(colon + 1, (size_t)(end - colon - 1), &in->high) : colon;
        HN_REQUIRE(*brace == '}' && brace + 1 == end && in->low >= 1 && in->high >= 1, HN_ERR_FORMAT,
                   "fill '%.*s': expected {blocks:sequences*keys}", (int)n, text);
        return HN_OK;
    }
    in->fill = HN_FILL_RANGE;
    if (*text == '{')
        colon = text + 1 + hn_number_read(text + 1, n - 1, &in->low);
    HN_REQUIRE(colon < end && *colon == ':', HN_ERR_FORMAT, "fill '%.*s': expected {low:high}", (int)n,
               text);
    brace = colon + 1 + hn_number_read(colon + 1, (size_t)(end - colon - 1), &in->high);
    HN_REQUIRE(brace != colon + 1 && *brace == '}' && brace + 1 == end && in->high > in->low,
               HN_ERR_FORMAT, "fill '%.*s': expected {low:high}", (int)n, text);
    return HN_OK;
}

static hn_status read_input(const char *word, const char *end, hn_case *c)
{
    HN_REQUIRE(c->n_in < HN_MAX_IN, HN_ERR_FORMAT, "%s: more than %d inputs", c->op->name,
               HN_MAX_IN);
    hn_case_input *in = &c->in[c->n_in];
    *in = (hn_case_input){ .same_as = -1 };
    if (*word == '-' && end == word + 1) {
        c->n_in++;
        return HN_OK;
    }
    in->is_given = true;
    if (*word == '=') {
        in->same_as = word[1] - '0';
        HN_REQUIRE(in->same_as >= 0 && in->same_as < c->n_in, HN_ERR_FORMAT,
                   "%s: '%s' names no earlier input", c->op->name, word);
        in->type = c->in[in->same_as].type;
        c->n_in++;
        return HN_OK;
    }
    const char *after;
    HN_TRY(hn_type_parse(word, &in->type, &after));
    HN_TRY(read_fill(after, end, in));
    c->n_in++;
    return HN_OK;
}

hn_status hn_case_parse(const hn_op *op, const char *text, hn_case *c)
{
    *c = (hn_case){ .op = op };
    HN_REQUIRE(strlen(text) < sizeof c->text, HN_ERR_FORMAT, "%s: case too long", op->name);
    memcpy(c->text, text, strlen(text) + 1);
    for (const char *at = c->text + strspn(c->text, " "); *at; at += strspn(at, " ")) {
        const char *end = at + strcspn(at, " ");
        const char *equals = memchr(at, '=', (size_t)(end - at));
        if (equals && equals != at) { /* attributes follow the inputs */
            memcpy(c->attrs, at, strlen(at) + 1);
            return HN_OK;
        }
        HN_TRY(read_input(at, end, c));
        at = end;
    }
    return HN_OK;
}

/* Roughly normal, within [low, high]: a sum of three uniforms. */
static double draw(hn_rng_key key, uint64_t i, double low, double high)
{
    const double sum = (double)hn_rng_uniform(key, 3 * i) + (double)hn_rng_uniform(key, 3 * i + 1) +
                       (double)hn_rng_uniform(key, 3 * i + 2);
    return low + (high - low) * sum / 3;
}

/* Moves a value at least `room` away from every kink. */
static double clear_of_kinks(double x, int n, const double *at, double room)
{
    for (int i = 0; i < n; i++)
        if (fabs(x - at[i]) < room)
            x = x < at[i] ? at[i] - room : at[i] + room;
    return x;
}

static hn_status fill_blocks(hn_rng_key key, double low, double high, hn_heap *heap,
                             const hn_tensor *out)
{
    const int64_t n = hn_count(&out->type), row = hn_last_dim(&out->type);
    const hn_format *format = hn_dtype_format(out->type.dtype);
    const int64_t bytes = hn_format_bytes(format, row);
    float *x = hn_alloc_array(heap, HN_TAG_PROVE, (size_t)row, sizeof *x);
    hn_status status = x ? HN_OK : HN_ERR_MEMORY;
    for (int64_t at = 0, r = 0; at < n && status == HN_OK; at += row, r++) {
        for (int64_t i = 0; i < row; i++)
            x[i] = (float)draw(key, (uint64_t)(at + i), low, high);
        status = hn_format_encode(format, x, row, (char *)out->data + r * bytes, NULL);
    }
    hn_free(heap, x);
    return status;
}

hn_status hn_random_data(uint64_t seed, double low, double high, hn_heap *heap,
                         const hn_tensor *out)
{
    const hn_rng_key key = hn_rng_seed(seed);
    if (hn_is_block(out->type.dtype))
        return fill_blocks(key, low, high, heap, out);
    for (int64_t i = 0; i < hn_count(&out->type); i++) {
        const double span = high - low;
        if (hn_is_float(out->type.dtype))
            hn_set(out, i, (double)(float)draw(key, (uint64_t)i, low, high));
        else
            hn_set_int(out, i,
                       (int64_t)low + hn_rng_below(key, (uint64_t)i, (uint32_t)(span > 1 ? span : 1)));
    }
    return HN_OK;
}

/* Distinct numbers 0 .. n-1, shuffled; n is small. */
static void fill_perm(hn_rng_key key, const hn_tensor *out)
{
    const int64_t n = hn_count(&out->type);
    for (int64_t i = 0; i < n; i++)
        hn_set_int(out, i, i);
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = hn_rng_below(key, (uint64_t)i, (uint32_t)i + 1);
        const int64_t x = hn_get_int(out, i), y = hn_get_int(out, j);
        hn_set_int(out, i, y);
        hn_set_int(out, j, x);
    }
}

/* Rows {first, self, end} among n_keys, the last one of them all. */
static void fill_spans(hn_rng_key key, uint32_t n_keys, const hn_tensor *out)
{
    const int64_t rows = hn_rows(&out->type);
    for (int64_t i = 0; i < rows && hn_last_dim(&out->type) == 3; i++) {
        const uint64_t at = 3 * (uint64_t)i;
        const uint32_t end = i + 1 < rows ? 1 + hn_rng_below(key, at, n_keys) : n_keys;
        const uint32_t self = i + 1 < rows ? hn_rng_below(key, at + 1, end) : end - 1;
        const uint32_t first = i + 1 < rows ? hn_rng_below(key, at + 2, self + 1) : 0;
        hn_set_int(out, 3 * i, first);
        hn_set_int(out, 3 * i + 1, self);
        hn_set_int(out, 3 * i + 2, end);
    }
}

/* Queries {first, self, self + 1} of sequences with so many keys each, the last one of all the last's. */
static void fill_sequences(hn_rng_key key, uint32_t n_sequences, uint32_t n_keys, const hn_tensor *out)
{
    const int64_t rows = hn_rows(&out->type);
    for (int64_t i = 0; i < rows && hn_last_dim(&out->type) == 3; i++) {
        const uint64_t at = 2 * (uint64_t)i;
        const bool is_last = i + 1 == rows;
        const int64_t first = (int64_t)n_keys * (is_last ? n_sequences - 1 : hn_rng_below(key, at, n_sequences));
        const int64_t self = first + (is_last ? n_keys - 1 : hn_rng_below(key, at + 1, n_keys));
        hn_set_int(out, 3 * i, first);
        hn_set_int(out, 3 * i + 1, self);
        hn_set_int(out, 3 * i + 2, self + 1);
    }
}

static void fill_pattern(const hn_case_input *in, hn_rng_key key, const hn_tensor *out)
{
    const int64_t n = hn_count(&out->type);
    if (in->fill == HN_FILL_PERM) {
        fill_perm(key, out);
        return;
    }
    if (in->fill == HN_FILL_SPAN) {
        fill_spans(key, (uint32_t)in->high, out);
        return;
    }
    if (in->fill == HN_FILL_BLOCKS) {
        fill_sequences(key, (uint32_t)in->low, (uint32_t)in->high, out);
        return;
    }
    int64_t segment = 0;
    for (int64_t i = 0; i < n; i++) {
        if (in->fill == HN_FILL_SEG && i && hn_rng_below(key, (uint64_t)i, 3) == 0)
            segment++;
        const int64_t value = in->fill == HN_FILL_IOTA  ? i
                              : in->fill == HN_FILL_SEG ? segment
                                                        : hn_rng_below(key, (uint64_t)i, 2);
        if (hn_is_float(out->type.dtype))
            hn_set(out, i, (double)value);
        else
            hn_set_int(out, i, value);
    }
}

hn_status hn_case_data(const hn_case *c, int i, uint64_t seed, hn_heap *heap, const hn_tensor *out)
{
    const hn_case_input *in = &c->in[i];
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(seed), (uint64_t)i + 1);
    if (in->fill > HN_FILL_RANGE) {
        fill_pattern(in, key, out);
        return HN_OK;
    }
    const bool has_range = c->op->high > c->op->low;
    const bool is_float = hn_is_float(in->type.dtype) || hn_is_block(in->type.dtype);
    double low = has_range ? c->op->low : -2, high = has_range ? c->op->high : 2;
    if (!is_float)
        low = 0, high = 2;
    if (in->fill == HN_FILL_RANGE)
        low = in->low, high = in->high;
    const uint64_t own = ((uint64_t)key.word[1] << 32) | key.word[0];
    HN_TRY(hn_random_data(own, low, high, heap, out));
    if (!hn_is_float(in->type.dtype))
        return HN_OK;
    double at[4];
    char attrs[512];
    HN_REQUIRE(c->op->attrs_size <= sizeof attrs, HN_ERR_ARGUMENT, "%s: attributes", c->op->name);
    memset(attrs, 0, sizeof attrs);
    HN_TRY(hn_attrs_parse(c->op->name, c->op->attrs, c->attrs, attrs));
    const int n = c->op->kinks ? c->op->kinks(attrs, at) : 0;
    for (int64_t k = 0; k < hn_count(&out->type); k++) {
        double x = clear_of_kinks(hn_get(out, k), n, at, 0.05);
        if (c->op->kink_where_equal) /* even and odd sixteenths never meet */
            x = (floor(x * 8) + (i ? 0.5 : 0)) / 8;
        hn_set(out, k, x);
    }
    return HN_OK;
}
