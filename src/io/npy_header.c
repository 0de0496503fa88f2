/* The header is a Python dictionary of exactly three keys:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * in any order, padded with spaces to a line's end. Anything else is refused. */
#include "io/npy_header.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC_BYTES = 6, MOST_HEADER = 65536 };

static const uint8_t magic[MAGIC_BYTES] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

static const struct {
    const char *descr;
    hn_dtype dtype;
    bool is_bool;
} types[] = {
    { "<f4", HN_F32, false }, { "<f8", HN_F64, false }, { "<f2", HN_F16, false },
    { "<i4", HN_I32, false }, { "<i8", HN_I64, false }, { "|u1", HN_U8, false },
    { "<u1", HN_U8, false },  { "|b1", HN_U8, true },   { "?", HN_U8, true },
};
enum { N_TYPES = sizeof types / sizeof *types };

typedef struct reader {
    const char *name, *text;
    size_t bytes, at;
    size_t base; /* byte of the file where the text begins */
    char descr[24];
    hn_npy_header *out;
    bool has_descr, has_order, has_shape;
} reader;

static hn_status malformed(const reader *r, const char *expected)
{
    if (r->at >= r->bytes)
        return hn_fail(HN_ERR_FORMAT, "%s: header: byte %zu: expected %s, found its end",
                       r->name, r->base + r->at, expected);
    return hn_fail(HN_ERR_FORMAT, "%s: header: byte %zu: expected %s, found byte 0x%02x",
                   r->name, r->base + r->at, expected, (unsigned char)r->text[r->at]);
}

static void skip_space(reader *r)
{
    while (r->at < r->bytes && (r->text[r->at] == ' ' || r->text[r->at] == '\n'))
        r->at++;
}

static bool accept(reader *r, const char *word)
{
    skip_space(r);
    const size_t n = strlen(word);
    if (r->bytes - r->at < n || memcmp(r->text + r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static hn_status expect(reader *r, const char *word)
{
    return accept(r, word) ? HN_OK : malformed(r, word);
}

/* A quoted word without escapes, printable. */
static hn_status read_word(reader *r, char *out, size_t room)
{
    const char quote = accept(r, "'") ? '\'' : accept(r, "\"") ? '"' : '\0';
    if (!quote)
        return malformed(r, "a quoted word");
    size_t n = 0;
    for (; r->at < r->bytes && r->text[r->at] != quote; r->at++) {
        const char c = r->text[r->at];
        if (c < ' ' || c > '~' || c == '\\' || n + 1 >= room)
            return malformed(r, "a short plain word");
        out[n++] = c;
    }
    out[n] = '\0';
    if (r->at == r->bytes)
        return malformed(r, "a closing quote");
    r->at++;
    return HN_OK;
}

static hn_status read_descr(reader *r)
{
    skip_space(r);
    HN_REQUIRE(r->at >= r->bytes || r->text[r->at] != '[', HN_ERR_UNSUPPORTED,
               "%s: a structured element type", r->name);
    HN_TRY(read_word(r, r->descr, sizeof r->descr));
    for (int i = 0; i < N_TYPES; i++)
        if (!strcmp(r->descr, types[i].descr)) {
            r->out->array.dtype = types[i].dtype;
            r->out->array.is_bool = types[i].is_bool;
            return HN_OK;
        }
    return hn_fail(HN_ERR_UNSUPPORTED,
                   "%s: element type '%s': expected <f4 <f8 <f2 <i4 <i8 |u1 or |b1", r->name,
                   r->descr);
}

static hn_status read_dim(reader *r, int64_t *out)
{
    skip_space(r);
    const size_t start = r->at;
    *out = 0;
    for (; r->at < r->bytes && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
        const int digit = r->text[r->at] - '0';
        HN_REQUIRE(*out <= (INT64_MAX - digit) / 10, HN_ERR_FORMAT,
                   "%s: header: byte %zu: a dimension beyond 2^63", r->name, r->base + start);
        *out = *out * 10 + digit;
    }
    return r->at > start ? HN_OK : malformed(r, "a dimension");
}

static hn_status read_shape(reader *r)
{
    hn_npy *array = &r->out->array;
    bool has_comma = true;
    HN_TRY(expect(r, "("));
    while (!accept(r, ")")) {
        if (!has_comma)
            return malformed(r, "',' or ')'");
        HN_REQUIRE(array->rank < HN_MAX_RANK, HN_ERR_UNSUPPORTED, "%s: more than %d dimensions",
                   r->name, HN_MAX_RANK);
        HN_TRY(read_dim(r, &array->dim[array->rank++]));
        has_comma = accept(r, ",");
    }
    if (array->rank == 1 && !has_comma)
        return malformed(r, "a comma in the shape of one dimension");
    return HN_OK;
}

static hn_status read_entry(reader *r)
{
    char key[24];
    HN_TRY(read_word(r, key, sizeof key));
    HN_TRY(expect(r, ":"));
    bool *seen = !strcmp(key, "descr")           ? &r->has_descr
                 : !strcmp(key, "fortran_order") ? &r->has_order
                 : !strcmp(key, "shape")         ? &r->has_shape
                                                 : NULL;
    HN_REQUIRE(seen, HN_ERR_FORMAT, "%s: header: unknown key '%s'", r->name, key);
    HN_REQUIRE(!*seen, HN_ERR_FORMAT, "%s: header: key '%s' twice", r->name, key);
    *seen = true;
    if (seen == &r->has_descr)
        return read_descr(r);
    if (seen == &r->has_shape)
        return read_shape(r);
    r->out->is_fortran = accept(r, "True");
    return r->out->is_fortran ? HN_OK : expect(r, "False");
}

static hn_status read_dictionary(reader *r)
{
    HN_TRY(expect(r, "{"));
    for (bool has_comma = true; !accept(r, "}"); has_comma = accept(r, ",")) {
        if (!has_comma)
            return malformed(r, "',' or '}'");
        HN_TRY(read_entry(r));
    }
    skip_space(r);
    if (r->at != r->bytes)
        return malformed(r, "spaces");
    const char *missing = !r->has_descr   ? "descr"
                          : !r->has_order ? "fortran_order"
                          : !r->has_shape ? "shape"
                                          : NULL;
    HN_REQUIRE(!missing, HN_ERR_FORMAT, "%s: header: no key '%s'", r->name, missing);
    return HN_OK;
}

/* Elements times bytes, each product checked; a zero dimension does not hide an overflow. */
static hn_status count_bytes(const char *name, hn_npy *array)
{
    const uint64_t most = SIZE_MAX / 2;
    uint64_t product = hn_dtype_bytes(array->dtype);
    bool is_empty = false;
    for (int i = 0; i < array->rank; i++) {
        const uint64_t dim = (uint64_t)array->dim[i];
        is_empty = is_empty || dim == 0;
        HN_REQUIRE(dim == 0 || product <= most / dim, HN_ERR_FORMAT,
                   "%s: dimension %d of %" PRIu64 ": the array is larger than memory can be",
                   name, i, dim);
        product *= dim ? dim : 1;
    }
    array->bytes = is_empty ? 0 : (size_t)product;
    return HN_OK;
}

hn_status hn_npy_read_header(const char *name, const uint8_t *file, size_t bytes,
                             hn_npy_header *out)
{
    *out = (hn_npy_header){ 0 };
    HN_REQUIRE(bytes >= MAGIC_BYTES + 4 && !memcmp(file, magic, MAGIC_BYTES), HN_ERR_FORMAT,
               "%s: not a .npy file: expected \\x93NUMPY and a header, found %zu other bytes",
               name, bytes);
    const int major = file[MAGIC_BYTES], minor = file[MAGIC_BYTES + 1];
    HN_REQUIRE(major >= 1 && major <= 3 && minor == 0, HN_ERR_UNSUPPORTED,
               "%s: .npy version %d.%d: expected 1.0, 2.0 or 3.0", name, major, minor);
    const size_t text_at = major == 1 ? 10 : 12;
    HN_REQUIRE(bytes >= text_at, HN_ERR_FORMAT, "%s: cut off in the header's length", name);
    const uint32_t length = major == 1 ? hn_load_16(file + 8) : hn_load_32(file + 8);
    HN_REQUIRE(length <= MOST_HEADER, HN_ERR_FORMAT,
               "%s: header of %" PRIu32 " bytes: expected at most %d", name, length,
               MOST_HEADER);
    HN_REQUIRE(length <= bytes - text_at, HN_ERR_FORMAT,
               "%s: header: expected %" PRIu32 " bytes, found %zu", name, length,
               bytes - text_at);
    reader r = { .name = name,
                 .text = (const char *)file + text_at,
                 .bytes = length,
                 .base = text_at,
                 .out = out };
    HN_TRY(read_dictionary(&r));
    out->data_at = text_at + length;
    return count_bytes(name, &out->array);
}

static const char *descr_of(const hn_npy *array)
{
    for (int i = 0; i < N_TYPES; i++)
        if (types[i].dtype == array->dtype && types[i].is_bool == array->is_bool)
            return types[i].descr;
    return NULL;
}

hn_status hn_npy_make_header(const hn_npy *array, uint8_t out[HN_NPY_HEADER_ROOM],
                             size_t *bytes)
{
    const char *descr = descr_of(array);
    HN_REQUIRE(descr, HN_ERR_UNSUPPORTED, ".npy has no element type for %s",
               hn_dtype_name(array->dtype));
    char shape[HN_MAX_RANK * 22 + 2] = "";
    size_t n = 0;
    for (int i = 0; i < array->rank; i++)
        n += (size_t)snprintf(shape + n, sizeof shape - n, i ? ", %" PRId64 : "%" PRId64,
                              array->dim[i]);
    char text[HN_NPY_HEADER_ROOM];
    const int length = snprintf(text, sizeof text,
                                "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
                                descr, shape, array->rank == 1 ? "," : "");
    /* Data begins at a multiple of 64; the last byte before it is a line's end. */
    const size_t total = (10 + (size_t)length + 1 + 63) / 64 * 64;
    memset(out, ' ', total);
    memcpy(out, magic, MAGIC_BYTES);
    out[6] = 1;
    out[7] = 0;
    hn_store_16(out + 8, (uint16_t)(total - 10));
    memcpy(out + 10, text, (size_t)length);
    out[total - 1] = '\n';
    *bytes = total;
    return HN_OK;
}
