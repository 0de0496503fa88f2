/* Every field comes through a cursor that knows where the file ends. A file that ends too early
 * is told apart from one that is wrong: the first is fetched again, the second is not. */
#include "io/gguf_part.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/utf8.h"
#include "base/work.h"
#include "io/encoding.h"
#include "quant/gguf_type.h"

#include <string.h>

enum { MAX_KEYS = 1 << 14, MAX_TENSORS = 1 << 20 };
enum { MAX_KEY_BYTES = 65535, MAX_NAME_BYTES = 1023, MAX_GGUF_RANK = 4 };

typedef struct cursor {
    const char *file; /* begins messages */
    const uint8_t *data;
    size_t at, end;
} cursor;

static hn_status cut_off(const cursor *c, const char *what)
{
    return hn_fail(HN_ERR_FORMAT, "%s: cut off, or damaged: the file ends at byte %zu, within %s",
                   c->file, c->end, what);
}

static hn_status take_u32(cursor *c, const char *what, uint32_t *out)
{
    if (c->end - c->at < 4)
        return cut_off(c, what);
    *out = hn_load_32(c->data + c->at);
    c->at += 4;
    return HN_OK;
}

static hn_status take_u64(cursor *c, const char *what, uint64_t *out)
{
    if (c->end - c->at < 8)
        return cut_off(c, what);
    *out = hn_load_64(c->data + c->at);
    c->at += 8;
    return HN_OK;
}

/* A name, copied and ended by a NUL: UTF-8 without control characters, so that messages can
 * show it. */
static hn_status take_name(cursor *c, hn_heap *heap, const char *what, size_t limit, char **out)
{
    uint64_t length;
    *out = NULL;
    HN_TRY(take_u64(c, what, &length));
    HN_REQUIRE(length > 0 && length <= limit, HN_ERR_FORMAT,
               "%s: %s at byte %zu has %llu bytes: expected 1 to %zu", c->file, what, c->at - 8,
               (unsigned long long)length, limit);
    if (length > c->end - c->at)
        return cut_off(c, what);
    const char *text = (const char *)c->data + c->at;
    for (size_t i = 0, n; i < length; i += n) {
        n = hn_utf8_length(text + i, (size_t)length - i);
        HN_REQUIRE(n && (unsigned char)text[i] >= 0x20 && text[i] != 0x7f, HN_ERR_FORMAT,
                   "%s: %s at byte %zu is not printable UTF-8", c->file, what, c->at);
    }
    char *name = hn_alloc(heap, HN_TAG_FILE, (size_t)length + 1);
    if (!name)
        return HN_ERR_MEMORY;
    memcpy(name, text, (size_t)length);
    c->at += (size_t)length;
    *out = name;
    return HN_OK;
}

/* What was saved instead of a model, said in words where it is common. */
static hn_status refuse_magic(const cursor *c)
{
    static const struct {
        const char *begin, *what;
    } known[] = {
        { "<!DOCTYPE", "an HTML page" }, { "<!doctype", "an HTML page" },
        { "<html", "an HTML page" },     { "version https://git-lfs", "a Git LFS pointer" },
        { "PK\x03\x04", "a zip or PyTorch archive" }, { "ggml", "an old GGML file" },
        { "lmgg", "an old GGML file" },  { "tjgg", "an old GGJT file" },
        { "\x1f\x8b", "a gzip archive" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = strlen(known[i].begin);
        if (c->end >= n && !memcmp(c->data, known[i].begin, n))
            return hn_fail(HN_ERR_FORMAT, "%s: expected a GGUF file, found %s", c->file,
                           known[i].what);
    }
    HN_REQUIRE(c->end >= 4, HN_ERR_FORMAT, "%s: cut off: %zu bytes, expected a GGUF file",
               c->file, c->end);
    return hn_fail(HN_ERR_FORMAT,
                   "%s: expected a GGUF file, found one that begins %02x %02x %02x %02x", c->file,
                   c->data[0], c->data[1], c->data[2], c->data[3]);
}

static hn_status read_header(cursor *c, hn_gguf_part *part, uint64_t *n_tensors,
                             uint64_t *n_keys)
{
    uint32_t version;
    if (c->end < 4 || memcmp(c->data, "GGUF", 4) != 0)
        return refuse_magic(c);
    c->at = 4;
    HN_TRY(take_u32(c, "the header", &version));
    HN_REQUIRE(!version || (version & 0xffff) != 0, HN_ERR_UNSUPPORTED,
               "%s: a big-endian GGUF file; only little-endian ones are read", c->file);
    HN_REQUIRE(version == 2 || version == 3, HN_ERR_UNSUPPORTED,
               "%s: GGUF version %u: expected 2 or 3", c->file, version);
    part->version = (int)version;
    HN_TRY(take_u64(c, "the header", n_tensors));
    HN_TRY(take_u64(c, "the header", n_keys));
    HN_REQUIRE(*n_keys <= MAX_KEYS, HN_ERR_FORMAT, "%s: %llu keys: expected at most %d", c->file,
               (unsigned long long)*n_keys, MAX_KEYS);
    HN_REQUIRE(*n_tensors <= MAX_TENSORS, HN_ERR_FORMAT, "%s: %llu tensors: expected at most %d",
               c->file, (unsigned long long)*n_tensors, MAX_TENSORS);
    /* A tensor info takes at least 33 bytes: a name of one, one dimension. */
    HN_REQUIRE(*n_tensors <= (c->end - c->at) / 33, HN_ERR_FORMAT,
               "%s: cut off, or damaged: %llu tensors do not fit a file of %zu bytes", c->file,
               (unsigned long long)*n_tensors, c->end);
    return HN_OK;
}

static hn_status read_value(cursor *c, hn_gguf_part *part, const char *key)
{
    hn_meta_value value = { .key = key, .n = 1 };
    uint32_t type;
    HN_TRY(take_u32(c, key, &type));
    if (type == HN_META_ARRAY) {
        value.is_array = true;
        HN_TRY(take_u32(c, key, &type));
        HN_REQUIRE(type != HN_META_ARRAY, HN_ERR_UNSUPPORTED,
                   "%s: key %s: an array of arrays is not supported", c->file, key);
        HN_TRY(take_u64(c, key, &value.n));
    }
    HN_REQUIRE(type < HN_N_META_TYPES, HN_ERR_FORMAT, "%s: key %s: unknown value type %u",
               c->file, key, type);
    value.type = (hn_meta_type)type;
    value.data = c->data + c->at;
    size_t used;
    HN_TRY(hn_meta_add_borrowed(&part->meta, &value, c->end - c->at, &used));
    c->at += used;
    return HN_OK;
}

static hn_status read_keys(cursor *c, hn_gguf_part *part, uint64_t n_keys)
{
    for (uint64_t i = 0; i < n_keys; i++) {
        char *key;
        HN_TRY(hn_work_look(c->file));
        HN_TRY(take_name(c, part->heap, "a key", MAX_KEY_BYTES, &key));
        const hn_status status = read_value(c, part, key);
        hn_free(part->heap, key);
        HN_TRY(status);
    }
    return HN_OK;
}

/* Bytes come from the block sizes alone, so that what cannot be computed with can be listed. */
static hn_status measure_tensor(const cursor *c, hn_weight_entry *t, uint32_t id)
{
    const hn_gguf_type *type = hn_gguf_type_of(id);
    HN_REQUIRE(type && type->block_bytes, HN_ERR_UNSUPPORTED,
               "%s: tensor %s: type %u%s%s%s is not supported", c->file, t->name, id,
               type ? " (" : "", type ? type->name : "", type ? ")" : "");
    t->encoding = type->name;
    const int64_t last = t->type.dim[t->type.rank - 1];
    HN_REQUIRE(last % type->block_elements == 0, HN_ERR_FORMAT,
               "%s: tensor %s: rows of %lld are no multiple of %s's blocks of %d", c->file,
               t->name, (long long)last, type->name, type->block_elements);
    int64_t bytes = type->block_bytes;
    bool fits = true;
    for (int i = 0; i < t->type.rank; i++) {
        const int64_t n = i == t->type.rank - 1 ? last / type->block_elements : t->type.dim[i];
        fits = fits && !__builtin_mul_overflow(bytes, n, &bytes);
    }
    HN_REQUIRE(fits, HN_ERR_FORMAT, "%s: tensor %s: its dimensions overflow", c->file, t->name);
    t->bytes = (uint64_t)bytes;
    t->type.dtype = HN_N_DTYPES;
    const hn_dtype dtype = hn_dtype_of_gguf(id);
    if (dtype == HN_N_DTYPES)
        return HN_OK;
    const hn_type shape = t->type;
    if (hn_type_make(&t->type, dtype, shape.rank, shape.dim) != HN_OK)
        return hn_fail_within(HN_ERR_FORMAT, "%s: tensor %s: ", c->file, t->name);
    return HN_OK;
}

static hn_status read_tensor(cursor *c, hn_weight_entry *t, uint64_t *offset)
{
    uint32_t rank, id;
    uint64_t dim[MAX_GGUF_RANK];
    HN_TRY(take_u32(c, t->name, &rank));
    HN_REQUIRE(rank >= 1 && rank <= MAX_GGUF_RANK, HN_ERR_FORMAT,
               "%s: tensor %s: %u dimensions: expected 1 to %d", c->file, t->name, rank,
               MAX_GGUF_RANK);
    for (uint32_t i = 0; i < rank; i++) {
        HN_TRY(take_u64(c, t->name, &dim[i]));
        HN_REQUIRE(dim[i] >= 1 && dim[i] <= INT64_MAX, HN_ERR_FORMAT,
                   "%s: tensor %s: a dimension of %llu", c->file, t->name,
                   (unsigned long long)dim[i]);
    }
    t->type.rank = (int)rank;
    for (uint32_t i = 0; i < rank; i++) /* GGUF names the innermost first */
        t->type.dim[i] = (int64_t)dim[rank - 1 - i];
    HN_TRY(take_u32(c, t->name, &id));
    HN_TRY(take_u64(c, t->name, offset));
    return measure_tensor(c, t, id);
}

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* Tensors must lie in the order of their infos, with no holes but alignment: what an info says
 * of one is checked against all that follow. */
static hn_status read_tensors(cursor *c, hn_gguf_part *part, size_t n, uint64_t alignment)
{
    uint64_t expected = 0;
    part->tensors = hn_alloc_array(part->heap, HN_TAG_FILE, n, sizeof *part->tensors);
    if (!part->tensors)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        hn_weight_entry *t = &part->tensors[i];
        char *name;
        uint64_t offset = 0;
        HN_TRY(hn_work_look(c->file));
        HN_TRY(take_name(c, part->heap, "a tensor's name", MAX_NAME_BYTES, &name));
        t->name = name;
        part->n_tensors = i + 1;
        HN_TRY(read_tensor(c, t, &offset));
        HN_REQUIRE(offset == expected, HN_ERR_FORMAT,
                   "%s: tensor %s: at byte %llu of the data: expected %llu", c->file, name,
                   (unsigned long long)offset, (unsigned long long)expected);
        HN_REQUIRE(t->bytes <= INT64_MAX - 2 * HN_GGUF_MAX_ALIGNMENT - expected, HN_ERR_FORMAT,
                   "%s: tensor %s: sizes overflow", c->file, name);
        expected = round_up(expected + t->bytes, alignment);
    }
    return HN_OK;
}

/* The data begins at the next multiple of the alignment. The last tensor's padding may be
 * missing; nothing may follow it. */
static hn_status place_tensors(const cursor *c, hn_gguf_part *part, uint64_t alignment)
{
    uint64_t at = round_up(c->at, alignment);
    for (size_t i = 0; i < part->n_tensors; i++) {
        hn_weight_entry *t = &part->tensors[i];
        HN_REQUIRE(at <= c->end && t->bytes <= c->end - at, HN_ERR_FORMAT,
                   "%s: cut off: tensor %s: %llu bytes past the end of the file", c->file,
                   t->name, (unsigned long long)(at + t->bytes - c->end));
        t->data = c->data + at;
        at = round_up(at + t->bytes, alignment);
    }
    HN_REQUIRE(c->end <= at, HN_ERR_FORMAT, "%s: %llu bytes are left over after %s%s", c->file,
               (unsigned long long)(c->end - at), part->n_tensors ? "tensor " : "the keys",
               part->n_tensors ? part->tensors[part->n_tensors - 1].name : "");
    return HN_OK;
}

hn_status hn_gguf_part_parse(hn_heap *heap, const char *name, const void *file, size_t bytes,
                             hn_gguf_part *out)
{
    cursor c = { .file = name, .data = file, .end = bytes };
    uint64_t n_tensors, n_keys;
    int64_t alignment;
    out->heap = heap;
    out->meta = hn_meta_on(heap, name);
    HN_TRY(read_header(&c, out, &n_tensors, &n_keys));
    HN_TRY(read_keys(&c, out, n_keys));
    HN_TRY(hn_meta_int(&out->meta, "general.alignment", HN_GGUF_ALIGNMENT, &alignment));
    /* below 8 an f64 or a block's words would be read where they do not lie */
    HN_REQUIRE(alignment >= HN_GGUF_MIN_ALIGNMENT && alignment <= HN_GGUF_MAX_ALIGNMENT &&
                   (alignment & (alignment - 1)) == 0,
               HN_ERR_FORMAT, "%s: general.alignment is %lld: expected a power of two from 8 on", name,
               (long long)alignment);
    HN_TRY(read_tensors(&c, out, (size_t)n_tensors, (uint64_t)alignment));
    return place_tensors(&c, out, (uint64_t)alignment);
}

hn_status hn_gguf_part_open(hn_heap *heap, const char *path, hn_gguf_part *out)
{
    *out = (hn_gguf_part){ .heap = heap };
    out->path = hn_strdup(heap, HN_TAG_FILE, path);
    if (!out->path)
        return HN_ERR_MEMORY;
    HN_TRY(hn_map_file_open(&out->map, heap, path));
    return hn_gguf_part_parse(heap, out->path, out->map.data, out->map.bytes, out);
}

hn_status hn_gguf_part_read(hn_heap *heap, const char *path, hn_gguf_part *out)
{
    size_t bytes;
    *out = (hn_gguf_part){ .heap = heap };
    out->path = hn_strdup(heap, HN_TAG_FILE, path);
    if (!out->path)
        return HN_ERR_MEMORY;
    HN_TRY(hn_file_read(heap, path, SIZE_MAX / 4, &out->copy, &bytes));
    out->map = (hn_map_file){ out->copy, bytes, 0 };
    return hn_gguf_part_parse(heap, out->path, out->copy, bytes, out);
}

void hn_gguf_part_close(hn_gguf_part *part)
{
    for (size_t i = 0; i < part->n_tensors; i++)
        hn_free(part->heap, (void *)(uintptr_t)part->tensors[i].name);
    if (part->heap) {
        hn_free(part->heap, part->tensors);
        hn_meta_free(&part->meta);
        hn_free(part->heap, part->path);
        hn_free(part->heap, part->copy);
    }
    hn_map_file_close(&part->map);
    *part = (hn_gguf_part){ 0 };
}
