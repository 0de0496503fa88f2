/* Every number is a function of the tensor's key and its place, so any thread may make any piece, a file may be
 * larger than memory, and the same seed gives the same bytes. Written straight to a file or to memory, by the same
 * functions. */
#include "convert/random_model.h"

#include "base/pattern.h"
#include "base/bytes.h"
#include "base/half.h"
#include "base/normal.h"
#include "base/rng.h"
#include "convert/byte_tokenizer.h"
#include "convert/pad_vocab.h"
#include "convert/same_model.h"
#include "models/models.h"
#include "nn/rope_constants.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PIECE_BYTES = 4 << 20 };

/* Sixteen random bits a weight would do; what is cheap is 64 at a time, a function of where they
 * lie: a counter stirred by Stafford's variant 13 of the MurmurHash finalizer. */
static uint64_t stir(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void fill_random(uint64_t key, uint64_t at, uint8_t *out, size_t bytes)
{
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8)
        hn_store_64(out + i, stir(key + (at + i) / 8 * UINT64_C(0x9e3779b97f4a7c15)));
    if (i < bytes) {
        uint8_t last[8];
        hn_store_64(last, stir(key + (at + i) / 8 * UINT64_C(0x9e3779b97f4a7c15)));
        memcpy(out + i, last, bytes - i);
    }
}

/* What a tensor's values are like: uniform about `center`, or normal about it. */
typedef struct spread {
    float center, half_width, deviation;
} spread;

static bool is_gain(const char *name)
{
    static const char *const gains[] = { "*norm*.weight", "*.layer_output_scale.weight", "*.scale",
                                         "*altup_correct_scale.weight" };
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++)
        if (hn_pattern_matches(gains[i], name))
            return true;
    return false;
}

/* Gains near one, biases near zero, matrices that keep the size of what they multiply. */
static spread spread_about(const hn_arch_tensor *t)
{
    if (is_gain(t->gguf))
        return (spread){ .center = 1.0f, .half_width = 0.1f };
    const double inputs = (double)t->dim[t->rank - 1];
    const double deviation = t->rank == 1 ? 0.02 : 1 / sqrt(inputs);
    return (spread){ .half_width = (float)(sqrt(3.0) * deviation) };
}

/* initializer_range of every class but bert's is 0.02, and bert's is too. What is not as the rest stands
 * here: gpt2's matrices that write to the stream, gpt-oss's router and sinks. */
static spread spread_of_class(const hn_random_options *o, const hn_arch_tensor *t)
{
    const float usual = 0.02f;
    const bool is_gpt2 = !strcmp(o->arch->name, "gpt2"), is_gpt_oss = !strcmp(o->arch->name, "gpt-oss");
    if (is_gain(t->gguf))
        return (spread){ .center = 1.0f };
    if (is_gpt2 && (hn_pattern_matches("*.attn_output.weight", t->gguf) ||
                    hn_pattern_matches("*.ffn_down.weight", t->gguf)))
        return (spread){ .deviation = (float)(0.02 / sqrt(2 * (double)o->hp->n_layer)) };
    if (hn_pattern_matches("*.bias", t->gguf) &&
        !(is_gpt_oss && hn_pattern_matches("*.ffn_gate_inp.bias", t->gguf)))
        return (spread){ 0 };
    return (spread){ .deviation = usual };
}

static spread spread_of(const hn_random_options *o, const hn_arch_tensor *t)
{
    return o->first == HN_FIRST_CLASS ? spread_of_class(o, t) : spread_about(t);
}

typedef struct work {
    const hn_arch_tensor *tensor;
    const hn_hparams *hp;
    hn_dtype dtype;
    spread spread;
    const hn_normal *normal;
    uint64_t key, bytes, piece_bytes;
    bool copies; /* it is the transpose of values, made of this key and spread: */
    uint64_t values_key;
    spread values;
    hn_weights_writer *writer;
    size_t index;
    uint8_t *memory;  /* where the tensor goes to; NULL: to the writer */
    uint8_t *buffers; /* one a thread */
    int64_t first;
    _Atomic bool has_failed; /* a piece could not be written; the first that failed says why: */
    hn_status status;
    char why[1024];
} work;

static float value_of(const hn_normal *normal, const spread *s, uint32_t word)
{
    if (s->deviation > 0)
        return s->center + hn_normal_of(normal, word) * s->deviation;
    return s->center + (float)(int32_t)word * (s->half_width * 0x1p-31f);
}

static void shape_floats(const work *w, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += 4)
        hn_store_32(bytes + i, hn_f32_bits(value_of(w->normal, &w->spread, hn_load_32(bytes + i))));
}

/* Element `at` of what shape_floats makes of a tensor. */
static float float_at(const work *w, uint64_t at)
{
    const uint64_t word = stir(w->values_key + at / 2 * UINT64_C(0x9e3779b97f4a7c15));
    return value_of(w->normal, &w->values, (uint32_t)(word >> at % 2 * 32));
}

/* attn_output [C, H*D] as the transpose of attn_v [G*D, C], whose heads serve several each. */
static void shape_copies(const work *w, uint64_t first, uint8_t *out, size_t bytes)
{
    const uint64_t columns = (uint64_t)w->tensor->dim[1], C = (uint64_t)w->tensor->dim[0];
    const uint64_t D = columns / (uint64_t)w->hp->n_head[w->tensor->layer];
    const uint64_t shared =
        (uint64_t)(w->hp->n_head[w->tensor->layer] / w->hp->n_kv_head[w->tensor->layer]);
    for (size_t i = 0; i < bytes / 4; i++) {
        const uint64_t row = (first + i) / columns, column = (first + i) % columns;
        const uint64_t value_row = column / D / shared * D + column % D;
        hn_store_32(out + 4 * i, hn_f32_bits(float_at(w, value_row * C + row)));
    }
}

static void shape_halves(const work *w, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        const float x =
            value_of(w->normal, &w->spread, (uint32_t)hn_load_16(bytes + i) << 16);
        hn_store_16(bytes + i, w->dtype == HN_F16 ? hn_f32_to_f16(x) : hn_f32_to_bf16(x));
    }
}

static void make_piece(const work *w, int64_t piece, uint8_t *out, size_t *bytes)
{
    const uint64_t at = (uint64_t)piece * w->piece_bytes;
    *bytes = (size_t)(w->bytes - at < w->piece_bytes ? w->bytes - at : w->piece_bytes);
    fill_random(w->key, at, out, *bytes);
    if (w->copies) {
        shape_copies(w, at / 4, out, *bytes);
    } else if (w->dtype == HN_F32) {
        shape_floats(w, out, *bytes);
    } else if (!hn_is_block(w->dtype)) {
        shape_halves(w, out, *bytes);
    } else {
        const hn_format *format = hn_dtype_format(w->dtype);
        const int64_t n = (int64_t)*bytes / format->block_bytes * format->block_elements;
        format->temper(out, n, w->spread.deviation > 0 ? w->spread.deviation : w->spread.half_width / 1.7320508f);
    }
}

static hn_status put(const work *w, uint64_t at, const uint8_t *bytes, size_t n)
{
    if (!w->memory)
        return hn_weights_writer_put(w->writer, w->index, at, bytes, n);
    memcpy(w->memory + at, bytes, n);
    return HN_OK;
}

static void write_pieces(void *context, int64_t begin, int64_t end, int thread)
{
    work *w = context;
    uint8_t *buffer = w->buffers + (size_t)thread * PIECE_BYTES;
    for (int64_t i = begin; i < end && !w->has_failed; i++) {
        const int64_t piece = w->first + i;
        size_t bytes;
        make_piece(w, piece, buffer, &bytes);
        const hn_status status = put(w, (uint64_t)piece * w->piece_bytes, buffer, bytes);
        if (status == HN_OK || atomic_exchange(&w->has_failed, true))
            continue;
        w->status = status; /* an error's words belong to the thread that failed */
        snprintf(w->why, sizeof w->why, "%s", hn_error_message());
    }
}

static hn_status write_constant(const work *w, hn_heap *heap)
{
    const int64_t n = w->tensor->dim[0];
    double *values = hn_alloc_array(heap, HN_TAG_FILE, (size_t)n, sizeof *values);
    hn_status status =
        values ? hn_rope_constant(w->hp, w->tensor->gguf, n, values) : HN_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == HN_OK; i++) {
        uint8_t bytes[4];
        hn_store_32(bytes, hn_f32_bits((float)values[i]));
        status = put(w, (uint64_t)i * 4, bytes, 4);
    }
    hn_free(heap, values);
    return status;
}

static hn_status write_tensor(work *w, hn_heap *heap, hn_pool *pool, hn_watch *watch)
{
    if (w->tensor->spec->how & HN_W_CONSTANT) {
        HN_TRY(write_constant(w, heap));
        return hn_watch_tell(watch, w->bytes, w->tensor->gguf);
    }
    const uint64_t unit = hn_dtype_bytes(w->dtype) * 8; /* whole blocks, whole words */
    w->piece_bytes = PIECE_BYTES / unit * unit;
    const int64_t pieces = (int64_t)((w->bytes + w->piece_bytes - 1) / w->piece_bytes);
    const int64_t at_once = 8 * hn_pool_threads(pool);
    for (w->first = 0; w->first < pieces; w->first += at_once) {
        const int64_t n = pieces - w->first < at_once ? pieces - w->first : at_once;
        hn_pool_run(pool, n, 1, write_pieces, w);
        HN_REQUIRE(!w->has_failed, w->status, "%s", w->why);
        const uint64_t done = (uint64_t)(w->first + n) * w->piece_bytes;
        const uint64_t before = (uint64_t)w->first * w->piece_bytes;
        HN_TRY(hn_watch_tell(watch, (done < w->bytes ? done : w->bytes) - before,
                             w->tensor->gguf));
    }
    return HN_OK;
}

typedef struct plan {
    hn_arch_tensor *tensors;
    size_t n;
    hn_weight_entry *entries;
    size_t *tensor_of;
    size_t n_entries;
} plan;

/* Of alternatives the first stands for all. */
static bool is_made(const plan *p, size_t i)
{
    for (size_t k = p->n_entries;
         k > 0 && p->tensors[p->tensor_of[k - 1]].layer == p->tensors[i].layer; k--)
        if (!strcmp(p->entries[k - 1].name, p->tensors[i].gguf))
            return false;
    return true;
}

static hn_status plan_entries(plan *p, const hn_random_options *o, hn_watch *watch)
{
    bool has_values[HN_MAX_LAYERS] = { false };
    for (size_t i = 0; i < p->n; i++)
        hn_recipe_mark_values(p->tensors[i].gguf, has_values);
    const hn_recipe_model model = { .hp = o->hp, .has_output = !o->hp->is_tied,
                                    .has_values = has_values,
                                    .n_keep = o->n_keep, .keep = o->keep };
    for (size_t i = 0; i < p->n; i++) {
        if (!is_made(p, i))
            continue;
        hn_type shape;
        HN_TRY(hn_type_make(&shape, HN_F32, p->tensors[i].rank, p->tensors[i].dim));
        hn_weight_entry *e = &p->entries[p->n_entries];
        const bool stays = p->tensors[i].spec->how & HN_W_F32;
        e->name = p->tensors[i].gguf;
        HN_TRY(hn_type_make(&e->type,
                            stays ? HN_F32
                                  : hn_recipe_choose(o->recipe, &model, e->name, &shape, HN_F32),
                            shape.rank, shape.dim));
        p->tensor_of[p->n_entries++] = i;
        watch->total_bytes += hn_type_bytes(&e->type);
    }
    return hn_recipe_check_keep(&model, p->entries, p->n_entries);
}

static hn_status write_keys(const hn_random_options *o, hn_meta *meta)
{
    HN_TRY(hn_meta_set_text(meta, "general.type", "model"));
    HN_TRY(hn_meta_set_text(meta, "general.name", o->name));
    HN_TRY(hn_meta_set_int(meta, "general.quantization_version", HN_META_U32, 2));
    HN_TRY(hn_meta_set_int(meta, "general.file_type", HN_META_U32,
                           hn_recipe_file_type(o->recipe)));
    if (!o->tokenizer)
        return hn_byte_tokenizer(meta, o->hp->n_vocab);
    for (size_t i = 0; i < o->tokenizer->n; i++)
        HN_TRY(hn_meta_set_copy(meta, &o->tokenizer->values[i]));
    return hn_pad_vocab(meta, o->hp->n_vocab);
}

/* The layer's attn_v. */
static hn_status find_values(const plan *p, const hn_random_options *o, work *w)
{
    char name[HN_TENSOR_NAME];
    snprintf(name, sizeof name, "blk.%d.attn_v.weight", w->tensor->layer);
    for (size_t i = 0; i < p->n_entries; i++) {
        const hn_arch_tensor *t = &p->tensors[p->tensor_of[i]];
        if (strcmp(t->gguf, name) != 0)
            continue;
        HN_REQUIRE(w->dtype == HN_F32 && t->dim[1] == w->tensor->dim[0], HN_ERR_UNSUPPORTED,
                   "tensor %s: copies are made of f32 matrices", w->tensor->gguf);
        w->values = spread_of(o, t);
        w->values_key = stir(o->seed ^ hn_hash_text(t->gguf));
        return HN_OK;
    }
    return hn_fail(HN_ERR_UNSUPPORTED, "tensor %s: there is no %s to copy with", w->tensor->gguf,
                   name);
}

/* Without a writer, to the memory of each entry. */
static hn_status write_all(const plan *p, const hn_random_options *o, hn_heap *heap,
                           hn_pool *pool, hn_weights_writer *writer, hn_watch *watch)
{
    work w = { .hp = o->hp, .writer = writer };
    hn_normal *normal = hn_alloc(heap, HN_TAG_FILE, sizeof *normal);
    if (!normal)
        return HN_ERR_MEMORY;
    hn_normal_make(normal);
    w.normal = normal;
    w.buffers = hn_alloc_array(heap, HN_TAG_FILE, (size_t)hn_pool_threads(pool), PIECE_BYTES);
    hn_status status = w.buffers ? HN_OK : HN_ERR_MEMORY;
    for (size_t i = 0; i < p->n_entries && status == HN_OK; i++) {
        w.tensor = &p->tensors[p->tensor_of[i]];
        w.dtype = p->entries[i].type.dtype;
        w.spread = spread_of(o, w.tensor);
        w.key = stir(o->seed ^ hn_hash_text(w.tensor->gguf));
        w.copies = o->copies && hn_pattern_matches("blk.*.attn_output.weight", w.tensor->gguf);
        if (w.copies)
            status = find_values(p, o, &w);
        if (status != HN_OK)
            break;
        w.bytes = hn_type_bytes(&p->entries[i].type);
        w.memory = writer ? NULL : (uint8_t *)(uintptr_t)p->entries[i].data;
        w.index = i;
        status = write_tensor(&w, heap, pool, watch);
    }
    hn_free(heap, w.buffers);
    hn_free(heap, normal);
    return status;
}

/* The keys of its numbers, and which tensors it has of which types. */
static hn_status begin(plan *p, hn_meta *meta, const hn_random_options *o, hn_watch *watch)
{
    hn_heap *heap = meta->heap;
    HN_TRY(hn_arch_tensors(o->arch, o->hp, heap, &p->tensors, &p->n));
    p->entries = hn_alloc_array(heap, HN_TAG_FILE, p->n, sizeof *p->entries);
    p->tensor_of = hn_alloc_array(heap, HN_TAG_FILE, p->n, sizeof *p->tensor_of);
    if (!p->entries || !p->tensor_of)
        return HN_ERR_MEMORY;
    HN_TRY(plan_entries(p, o, watch));
    return hn_arch_write_meta(o->arch, o->hp, meta);
}

static void end(plan *p, hn_meta *meta)
{
    hn_free(meta->heap, p->tensors);
    hn_free(meta->heap, p->entries);
    hn_free(meta->heap, p->tensor_of);
    hn_meta_free(meta);
}

/* As a reader has it: a file that hone would then refuse, as of experts used where there are none, is not begun. */
static hn_status check_readable(const plan *p, const hn_meta *meta, const hn_random_options *o)
{
    const hn_same_model made = { .heap = meta->heap, .arch = o->arch, .hp = o->hp, .tensors = p->tensors,
                                 .entries = p->entries, .n = p->n_entries };
    const hn_status status = hn_same_model_opens(&made, meta);
    return status == HN_ERR_FORMAT ? hn_fail(HN_ERR_ARGUMENT, "%s", hn_error_message()) : status;
}

static hn_status write_file(plan *p, hn_meta *meta, hn_pool *pool, hn_sink out,
                            const hn_random_options *o, hn_watch *watch)
{
    hn_weights_writer *writer;
    HN_TRY(begin(p, meta, o, watch));
    HN_TRY(write_keys(o, meta));
    HN_TRY(check_readable(p, meta, o));
    HN_TRY(hn_gguf_create(meta->heap, out, meta, p->entries, p->n_entries, &writer));
    const hn_status status = write_all(p, o, meta->heap, pool, writer, watch);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status hn_random_model(hn_heap *heap, hn_pool *pool, hn_sink out,
                          const hn_random_options *options, hn_watch *watch)
{
    plan p = { 0 };
    hn_meta meta = hn_meta_on(heap, out.path);
    const hn_status status = write_file(&p, &meta, pool, out, options, watch);
    end(&p, &meta);
    return status;
}

/* ---- in memory ---- */

static hn_status make_memory(hn_heap *heap, plan *p, hn_meta *meta, const hn_random_options *o)
{
    hn_pool *pool;
    hn_watch watch = { 0 };
    HN_TRY(begin(p, meta, o, &watch));
    for (size_t i = 0; i < p->n_entries; i++) {
        hn_weight_entry *e = &p->entries[i];
        e->encoding = hn_dtype_name(e->type.dtype);
        e->bytes = hn_type_bytes(&e->type);
        e->data = hn_alloc(heap, HN_TAG_WEIGHT, e->bytes);
        if (!e->data)
            return HN_ERR_MEMORY;
    }
    HN_TRY(hn_pool_new(heap, 1, &pool));
    const hn_status status = write_all(p, o, heap, pool, NULL, &watch);
    hn_pool_free(pool);
    return status;
}

hn_status hn_random_model_in_memory(hn_heap *heap, const hn_random_options *options, hn_model **out)
{
    plan p = { 0 };
    hn_meta meta = hn_meta_on(heap, options->name);
    *out = NULL;
    hn_status status = make_memory(heap, &p, &meta, options);
    hn_weights weights = { .name = options->name, .entries = p.entries, .n = p.n_entries };
    if (status == HN_OK)
        status = hn_weights_index(heap, &weights);
    if (status == HN_OK)
        status = hn_model_of(heap, options->name, &meta, &weights, out);
    for (size_t i = 0; i < p.n_entries && status != HN_OK; i++)
        hn_free(heap, (void *)(uintptr_t)p.entries[i].data);
    hn_free(heap, weights.index);
    end(&p, &meta);
    return status;
}
