/* A row of the result is a line in one part: where it begins and how far apart its elements lie. Every difference
 * between the formats is found out in find_line and its like, so reading is one loop, and of a row that no part
 * has, zeros. */
#include "nn/source.h"

#include "base/bytes.h"
#include "base/half.h"
#include "nn/rope_constants.h"

#include <stdio.h>
#include <string.h>

/* Where a row lies. part < 0: a row of zeros. */
typedef struct line {
    int part;
    int64_t first, stride; /* in elements */
} line;

static bool is_vector(const hn_source *s)
{
    return s->want.rank == 1 || s->how & HN_W_VECTORS;
}

/* The dimensions that a part must have for the result's. */
static int part_dims(const hn_source *s, int64_t dim[HN_MAX_RANK])
{
    const unsigned how = s->how;
    const int64_t *d = s->want.dim;
    const int skip = how & HN_W_STACK ? 1 : 0;
    int rank = s->want.rank - skip;
    memcpy(dim, d + skip, (size_t)rank * sizeof *dim);
    if (how & (HN_W_NOPE_T | HN_W_VALUE)) {
        const int64_t head = s->hp->head_dim_mla - s->hp->rope_dim + s->hp->value_dim_mla;
        dim[0] = d[0] * head;
        dim[1] = s->hp->kv_rank;
        return 2;
    }
    if (how & (HN_W_FIRST | HN_W_SECOND | HN_W_EVEN | HN_W_ODD))
        dim[is_vector(s) ? rank - 1 : rank - 2] *= 2;
    if (how & HN_W_TRANSPOSE) {
        const int64_t swap = dim[rank - 1];
        dim[rank - 1] = dim[rank - 2];
        dim[rank - 2] = swap;
    }
    if (how & HN_W_MXFP4) {
        dim[rank - 1] /= 32;
        dim[rank++] = 16;
    }
    return rank;
}

static hn_status check_part(const hn_source *s, const hn_weight_entry *part)
{
    int64_t dim[HN_MAX_RANK];
    const int rank = part_dims(s, dim);
    bool fits = part->type.rank == rank;
    if (s->how & HN_W_PAD && s->hp->n_ple_vocab && strstr(s->want.gguf, "per_layer"))
        dim[0] = s->hp->n_ple_vocab; /* the rest of GGUF's rows are zero, or the first */
    for (int i = 0; i < rank && fits; i++)
        fits = part->type.dim[i] == dim[i];
    char expected[160] = "", found[160] = "";
    for (int i = 0, n = 0; i < rank; i++)
        n += snprintf(expected + n, sizeof expected - (size_t)n, "%s%lld", i ? "," : "",
                      (long long)dim[i]);
    for (int i = 0, n = 0; i < part->type.rank; i++)
        n += snprintf(found + n, sizeof found - (size_t)n, "%s%lld", i ? "," : "",
                      (long long)part->type.dim[i]);
    HN_REQUIRE(fits, HN_ERR_FORMAT, "tensor %s: expected [%s], found [%s]", part->name, expected,
               found);
    const bool is_float = part->type.dtype == HN_F32 || part->type.dtype == HN_F16 ||
                          part->type.dtype == HN_BF16;
    HN_REQUIRE(is_float || (s->how & HN_W_MXFP4 && part->type.dtype == HN_U8),
               HN_ERR_UNSUPPORTED, "tensor %s: type %s is not supported", part->name,
               part->encoding);
    return HN_OK;
}

/* *_blocks has a partner *_scales, one dimension less. */
static hn_status open_scales(hn_source *s, const hn_weights *weights, const char *blocks)
{
    char name[HN_TENSOR_NAME + 16];
    snprintf(name, sizeof name, "%.*s_scales", (int)(strlen(blocks) - strlen("_blocks")), blocks);
    const hn_weight_entry *scales = hn_weights_find(weights, name);
    HN_REQUIRE(scales, HN_ERR_FORMAT, "tensor %s: its partner %s is missing", blocks, name);
    bool fits = scales->type.dtype == HN_U8 && scales->type.rank == s->parts[0]->type.rank - 1;
    for (int i = 0; i < scales->type.rank && fits; i++)
        fits = scales->type.dim[i] == s->parts[0]->type.dim[i];
    HN_REQUIRE(fits, HN_ERR_FORMAT, "tensor %s: its shape does not fit %s", name, blocks);
    s->parts[s->n_parts++] = scales;
    return HN_OK;
}

static hn_status open_parts(hn_source *s, const hn_source_dir *dir, bool *is_found)
{
    const hn_weight_spec *spec = s->want.spec;
    const int n = s->how & HN_W_STACK ? (int)s->want.dim[0] : 1;
    char name[HN_TENSOR_NAME];
    hn_arch_hf_name(dir->arch, dir->prefix, spec, s->want.layer, 0, name);
    *is_found = hn_weights_find(dir->weights, name) != NULL;
    if (!*is_found)
        return HN_OK;
    s->parts = hn_alloc_array(s->heap, HN_TAG_FILE, (size_t)n + 1, sizeof *s->parts);
    if (!s->parts)
        return HN_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        hn_arch_hf_name(dir->arch, dir->prefix, spec, s->want.layer, i, name);
        HN_TRY(hn_weights_want(dir->weights, name, &s->parts[i]));
        HN_TRY(check_part(s, s->parts[i]));
        HN_REQUIRE(s->parts[i]->type.dtype == s->parts[0]->type.dtype, HN_ERR_UNSUPPORTED,
                   "tensor %s: is %s, %s is %s", name, s->parts[i]->encoding, s->parts[0]->name,
                   s->parts[0]->encoding);
        s->n_parts = i + 1;
    }
    return s->how & HN_W_MXFP4 ? open_scales(s, dir->weights, s->parts[0]->name) : HN_OK;
}

hn_status hn_arch_find_prefix(const hn_arch *arch, const hn_weights *weights,
                              const char **prefix)
{
    const hn_weight_spec *first = arch->weights; /* every table begins with the embedding */
    for (int i = 0; arch->prefixes[i]; i++) {
        char name[HN_TENSOR_NAME];
        hn_arch_hf_name(arch, arch->prefixes[i], first, 0, 0, name);
        if (hn_weights_find(weights, name)) {
            *prefix = arch->prefixes[i];
            return HN_OK;
        }
    }
    return hn_fail(HN_ERR_FORMAT, "%s: tensor %s%s is missing", weights->name, arch->prefixes[0],
                   first->hf + 1);
}

hn_status hn_arch_check_head(const hn_arch *arch, const hn_hparams *hp, const hn_weights *weights,
                             const char *prefix)
{
    char name[HN_TENSOR_NAME];
    hn_arch_hf_name(arch, prefix, arch->weights, 0, 0, name);
    const hn_weight_entry *rows = hn_weights_find(weights, name);
    const hn_weight_entry *head = hn_weights_find(weights, "lm_head.weight");
    if (!hp->is_tied || arch->embeds_only || !head || !rows)
        return HN_OK;
    HN_REQUIRE(head->bytes == rows->bytes && !strcmp(head->encoding, rows->encoding) &&
                   !memcmp(head->data, rows->data, head->bytes),
               HN_ERR_UNSUPPORTED,
               "%s: tie_word_embeddings is true, and lm_head.weight differs from %s: Transformers 5 "
               "computes with it, Transformers 4 without it; say false, or leave it out",
               weights->name, name);
    return HN_OK;
}

hn_status hn_source_open(hn_heap *heap, const hn_source_dir *dir, const hn_arch_tensor *want,
                         hn_source *out, bool *is_found)
{
    hn_source s = { .heap = heap, .hp = dir->hp, .want = *want, .rows = 1 };
    const unsigned how = s.how =
        want->spec->how & ~(unsigned)(dir->is_for_gguf ? 0 : HN_W_PERMUTE);
    *is_found = false;
    for (int i = 0; i + 1 < want->rank; i++)
        s.rows *= want->dim[i];
    s.row_elements = want->dim[want->rank - 1];
    if (how & HN_W_PERMUTE && want->rank == 1) { /* a bias is permuted element by element */
        s.rows = s.row_elements;
        s.row_elements = 1;
    }
    hn_status status = HN_OK;
    if (how & HN_W_CONSTANT) {
        s.constant = hn_alloc_array(heap, HN_TAG_FILE, (size_t)s.row_elements, sizeof(double));
        status = s.constant ? hn_rope_constant(dir->hp, want->gguf, s.row_elements, s.constant)
                            : HN_ERR_MEMORY;
        *is_found = true;
    } else if (want->spec->hf) {
        status = open_parts(&s, dir, is_found);
    }
    if (status != HN_OK || !*is_found)
        hn_source_close(&s);
    *out = s;
    return status;
}

void hn_source_close(hn_source *source)
{
    hn_free(source->heap, source->parts);
    hn_free(source->heap, source->constant);
    source->parts = NULL;
    source->constant = NULL;
}

hn_dtype hn_source_dtype(const hn_source *s)
{
    if (s->constant)
        return HN_F32;
    return s->how & HN_W_MXFP4 ? HN_TYPE_mxfp4 : s->parts[0]->type.dtype;
}

/* The row within its matrix, in the source's order and numbering. */
static int64_t source_row(const hn_source *s, int64_t i, int64_t n)
{
    const unsigned how = s->how;
    if (how & HN_W_PERMUTE) {
        const int64_t width = hn_layer_head_dim(s->hp, s->want.layer);
        const int64_t within = i % width;
        i += (within % 2) * (width / 2) + within / 2 - within;
    }
    return how & HN_W_SECOND ? i + n : how & HN_W_EVEN ? 2 * i : how & HN_W_ODD ? 2 * i + 1 : i;
}

static line find_mla(const hn_source *s, int64_t row)
{
    const int64_t *d = s->want.dim;
    const int64_t nope = s->hp->head_dim_mla - s->hp->rope_dim;
    const int64_t head = nope + s->hp->value_dim_mla, head_at = row / d[1], within = row % d[1];
    if (s->how & HN_W_VALUE)
        return (line){ 0, (head_at * head + nope + within) * s->hp->kv_rank, 1 };
    return (line){ 0, head_at * head * s->hp->kv_rank + within, s->hp->kv_rank };
}

/* Rows of vectors, as experts' biases: halves are of the elements. */
static line find_vector(const hn_source *s, int64_t row)
{
    const unsigned how = s->how;
    const int64_t n = s->row_elements;
    const bool is_half = how & (HN_W_FIRST | HN_W_SECOND), is_spread = how & (HN_W_EVEN | HN_W_ODD);
    const int64_t length = is_half || is_spread ? 2 * n : n;
    const int64_t shift = how & HN_W_SECOND ? n : how & HN_W_ODD ? 1 : 0;
    return (line){ 0, row * length + shift, is_spread ? 2 : 1 };
}

static line find_line(const hn_source *s, int64_t row)
{
    const unsigned how = s->how;
    if (how & (HN_W_NOPE_T | HN_W_VALUE))
        return find_mla(s, row);
    if (s->want.rank == 1 && how & HN_W_PERMUTE)
        return (line){ 0, source_row(s, row, s->rows), 1 };
    if (is_vector(s))
        return find_vector(s, row);
    const int64_t n = s->want.dim[s->want.rank - 2], columns = s->row_elements;
    const int64_t matrix = row / n;
    int64_t i = source_row(s, row % n, n);
    const bool is_half = how & (HN_W_FIRST | HN_W_SECOND | HN_W_EVEN | HN_W_ODD);
    const int64_t source_rows = is_half ? 2 * n : n;
    line found = { how & HN_W_STACK ? (int)matrix : 0, 0, 1 };
    const int64_t base = how & HN_W_STACK ? 0 : matrix * source_rows * columns;
    if (how & HN_W_PAD && i >= s->parts[0]->type.dim[0]) {
        found.part = how & HN_W_PAD_FIRST ? 0 : -1;
        i = how & HN_W_PAD_FIRST ? 0 : i;
    }
    if (how & HN_W_TRANSPOSE) {
        found.first = base + i;
        found.stride = source_rows;
    } else {
        found.first = base + i * columns;
    }
    return found;
}

static void read_f32(const hn_weight_entry *part, const line *at, int64_t n, float *out)
{
    const uint8_t *data = part->data;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = at->first + i * at->stride;
        if (part->type.dtype == HN_F32)
            out[i] = hn_f32_from_bits(hn_load_32(data + 4 * k));
        else if (part->type.dtype == HN_F16)
            out[i] = hn_f16_to_f32(hn_load_16(data + 2 * k));
        else
            out[i] = hn_bf16_to_f32(hn_load_16(data + 2 * k));
    }
}

void hn_source_row(const hn_source *s, int64_t row, float *out)
{
    const int64_t n = s->row_elements;
    if (s->constant) {
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)s->constant[i];
        return;
    }
    const line at = find_line(s, row);
    if (at.part < 0)
        memset(out, 0, (size_t)n * sizeof *out);
    else
        read_f32(s->parts[at.part], &at, n, out);
    if (s->how & HN_W_PLUS_ONE)
        for (int64_t i = 0; i < n; i++)
            out[i] += 1;
}

const uint8_t *hn_source_bytes(const hn_source *s, int64_t row)
{
    if (s->constant || s->how & (HN_W_PLUS_ONE | HN_W_MXFP4))
        return NULL;
    const line at = find_line(s, row);
    if (at.part < 0 || at.stride != 1)
        return NULL;
    const hn_weight_entry *part = s->parts[at.part];
    return part->data + (size_t)at.first * hn_dtype_bytes(part->type.dtype);
}

/* Hugging Face pairs neighbours in a byte, the even one low; GGUF pairs element j with j + 16. */
static void reorder(const uint8_t *pairs, uint8_t *halves)
{
    for (int j = 0; j < 16; j++) {
        const int low = j, high = j + 16;
        const uint8_t a = pairs[low / 2] >> (low % 2 * 4) & 15;
        const uint8_t b = pairs[high / 2] >> (high % 2 * 4) & 15;
        halves[j] = (uint8_t)(a | b << 4);
    }
}

void hn_source_mxfp4(const hn_source *s, int64_t row, uint8_t *blocks)
{
    const int64_t n = s->want.dim[s->want.rank - 2], groups = s->row_elements / 32;
    const bool is_half = s->how & (HN_W_EVEN | HN_W_ODD);
    const int64_t source_rows = is_half ? 2 * n : n;
    const int64_t at = row / n * source_rows + source_row(s, row % n, n);
    const uint8_t *pairs = s->parts[0]->data + at * groups * 16;
    const uint8_t *scales = s->parts[1]->data + at * groups;
    for (int64_t g = 0; g < groups; g++) {
        blocks[17 * g] = scales[g];
        reorder(pairs + 16 * g, blocks + 17 * g + 1);
    }
}
