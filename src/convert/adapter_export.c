/* All tensors are walked twice by the same function: without room it counts what there can be at most, with room
 * it says what is written; what needs to know of all of them is checked the second time. Nothing is written before
 * every tensor of the file was found a place.
 *
 * A name of Hugging Face may be one of several that the tensor has there, as experts apart and in one parameter:
 * the first that fits names the modules. What is in the folder under an adapter's names goes first, and after a
 * failure all goes: half an adapter is none. */
#include "convert/adapter_export.h"

#include "base/os/files.h"
#include "base/os/folders.h"
#include "convert/adapter_base.h"
#include "convert/adapter_config.h"
#include "convert/adapter_fused.h"
#include "infer/adapter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = HN_TENSOR_NAME + 64 };

typedef enum half_kind { A, B, FUSED_A, FUSED_B, MAGNITUDE, WHOLE } half_kind;

/* One tensor that is written. */
typedef struct half {
    const hn_adapter_base *base;
    const hn_arch_tensor *tensor;
    const hn_weight_entry *from;
    int64_t expert, rows, columns; /* as PEFT has them; of vectors one row */
    half_kind kind;
    bool is_embedding;
    const hn_weight_entry *part[2]; /* FUSED: gate and up, or one; NULL: not adapted */
    int64_t rank[2], above;         /* FUSED: of each, and rows of B that are the first one's */
    bool has_alpha;
    char name[NAME_ROOM];
} half;

typedef struct export
{
    hn_heap *heap;
    hn_pool *pool;
    hn_sink dir; /* of each file in it */
    hn_watch *watch;
    hn_adapter_base base;
    hn_gguf *file;
    double alpha;
    half *halves; /* A and B of each module, one after the other */
    size_t n;
    hn_weight_entry *entries;
    hn_adapter_target *targets;
    char (*names)[2 * HN_TENSOR_NAME]; /* theirs */
    size_t n_targets;
    bool is_dora, is_apart;
    bool is_rounded; /* a factor that is no power of two, a norm less one: bits will not come back */
}
export;

static hn_status check_word(const hn_meta *meta, const char *key, const char *want)
{
    hn_span found;
    HN_TRY(hn_meta_want_string(meta, key, &found));
    HN_REQUIRE(found.bytes == strlen(want) && !memcmp(found.data, want, found.bytes),
               HN_ERR_UNSUPPORTED, "%s: key %s: %.*s: expected %s", meta->name, key,
               (int)(found.bytes < 64 ? found.bytes : 64), (const char *)found.data, want);
    return HN_OK;
}

static hn_status check_keys(export *ex)
{
    const hn_meta *meta = hn_gguf_meta(ex->file);
    hn_span type;
    HN_TRY(check_word(meta, "general.type", "adapter"));
    HN_TRY(hn_meta_want_string(meta, "adapter.type", &type));
    if (type.bytes != 4 || memcmp(type.data, "hone", 4) != 0)
        HN_TRY(check_word(meta, "adapter.type", "lora"));
    HN_TRY(check_word(meta, "general.architecture", ex->base.arch->name));
    HN_TRY(hn_meta_want_double(meta, "adapter.lora.alpha", &ex->alpha));
    HN_REQUIRE(isfinite(ex->alpha), HN_ERR_FORMAT, "%s: key adapter.lora.alpha is not finite",
               meta->name);
    return HN_OK;
}

/* ---- what there is of a tensor ---- */

static const hn_weight_entry *find(const export *ex, const char *gguf, const char *suffix)
{
    char name[HN_TENSOR_NAME + 24];
    snprintf(name, sizeof name, "%s%s", gguf, suffix);
    return hn_weights_find(hn_gguf_weights(ex->file), name);
}

/* Some tensors have several sources, as experts apart and fused: the first names the modules.
 */
static bool is_first(const export *ex, size_t i)
{
    const hn_arch_tensor *all = ex->base.tensors;
    for (size_t k = i; k > 0 && all[k - 1].layer == all[i].layer; k--)
        if (!strcmp(all[k - 1].gguf, all[i].gguf))
            return false;
    return true;
}

static hn_status refuse(const export *ex, const char *name, const char *why)
{
    return hn_fail(HN_ERR_UNSUPPORTED, "%s: tensor %s: %s; hone merge writes it into the model",
                   hn_gguf_weights(ex->file)->name, name, why);
}

static hn_status check_type(const export *ex, const hn_weight_entry *e)
{
    HN_REQUIRE(e->type.dtype < HN_N_DTYPES &&
                   (hn_is_block(e->type.dtype) || e->type.dtype == HN_F32 ||
                    e->type.dtype == HN_F16 || e->type.dtype == HN_BF16),
               HN_ERR_UNSUPPORTED, "%s: tensor %s: type %s is not supported",
               hn_gguf_weights(ex->file)->name, e->name, e->encoding);
    return HN_OK;
}

static hn_status check_pair(const export *ex, const hn_arch_tensor *t, const hn_weight_entry *a,
                            const hn_weight_entry *b)
{
    const char *file = hn_gguf_weights(ex->file)->name;
    const bool is_stacked = t->rank == 3, is_embedding = hn_adapter_is_embedding(t);
    HN_REQUIRE(a && b, HN_ERR_FORMAT, "%s: tensor %s.lora_%c is missing", file, t->gguf,
               a ? 'b' : 'a');
    const hn_weight_entry *both[] = { a, b };
    for (int i = 0; i < 2; i++) {
        HN_TRY(check_type(ex, both[i]));
        HN_REQUIRE(both[i]->type.rank == (is_stacked ? 3 : 2) &&
                       (!is_stacked || both[i]->type.dim[0] == t->dim[0]),
                   HN_ERR_SHAPE, "%s: tensor %s: its shape does not fit %s", file,
                   both[i]->name, t->gguf);
    }
    hn_weight_entry x = *a, y = *b; /* of one expert, and PEFT's way round */
    memmove(x.type.dim, a->type.dim + is_stacked, 2 * sizeof *x.type.dim);
    memmove(y.type.dim, b->type.dim + is_stacked, 2 * sizeof *y.type.dim);
    x.type.rank = y.type.rank = 2;
    if (is_embedding) {
        x.type.dim[0] = a->type.dim[1];
        x.type.dim[1] = a->type.dim[0];
    }
    const hn_status status = hn_adapter_check_shapes(t, is_embedding, &x, &y);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: tensor ", file);
}

/* ---- what is written of it ---- */

static half *add_half(export *ex, const hn_arch_tensor *t, half_kind kind, int64_t rows,
                      int64_t columns)
{
    half *h = &ex->halves[ex->n++];
    *h = (half){ .base = &ex->base, .tensor = t, .kind = kind, .rows = rows, .columns = columns,
                 .has_alpha = ex->alpha != 0 };
    return h;
}

static void add_target(export *ex, hn_peft_kind kind, int64_t rank, const char *name)
{
    const size_t i = ex->n_targets++;
    snprintf(ex->names[i], sizeof ex->names[i], "%s", name);
    ex->targets[i] = (hn_adapter_target){ ex->names[i], kind, rank };
}

static void add_module(export *ex, const hn_arch_tensor *t, const hn_weight_entry *a,
                       const hn_weight_entry *b, int expert)
{
    char module[HN_TENSOR_NAME], parameter[HN_TENSOR_NAME + 8];
    const bool is_embedding = hn_adapter_is_embedding(t);
    const bool is_parameter = hn_adapter_is_parameter(&ex->base, t, ex->is_apart);
    const int64_t rank = hn_last_dim(&b->type);
    hn_adapter_module(&ex->base, ex->base.prefix, t, expert, module);
    for (int k = 0; k < 2; k++) {
        const hn_weight_entry *e = k ? b : a;
        const int64_t *dim = e->type.dim + e->type.rank - 2;
        const bool is_turned = is_embedding && !k;
        half *h = add_half(ex, t, k ? B : A, dim[is_turned], dim[!is_turned]);
        h->from = e;
        h->expert = expert;
        h->is_embedding = is_embedding;
        snprintf(h->name, sizeof h->name, HN_PEFT_PREFIX "%s%s%c%s", module,
                 is_embedding ? ".lora_embedding_" : ".lora_", k ? 'B' : 'A',
                 is_embedding ? "" : ".weight");
    }
    snprintf(parameter, sizeof parameter, "%s.weight", module);
    add_target(ex, is_parameter ? HN_PEFT_PARAMETER : HN_PEFT_MODULE, rank, is_parameter ? parameter : module);
    const hn_weight_entry *m = find(ex, t->gguf, ".lora_magnitude");
    if (!m)
        return;
    half *h = add_half(ex, t, MAGNITUDE, 1, hn_last_dim(&m->type));
    h->from = m;
    snprintf(h->name, sizeof h->name, HN_PEFT_PREFIX "%s.lora_magnitude_vector", module);
}

/* Both halves of a parameter of all experts. */
static hn_status add_fused(export *ex, const hn_adapter_fused *f)
{
    char name[2 * HN_TENSOR_NAME];
    const hn_weight_entry *a[2] = { NULL }, *b[2] = { NULL };
    int64_t rank[2] = { 0 }, rows = 0, above = 0, rank_all = 0;
    bool is_inner = false;
    for (int k = 0; k < 2 && f->parts[k]; k++) {
        const hn_arch_tensor *t = f->parts[k];
        a[k] = find(ex, t->gguf, ".lora_a");
        b[k] = find(ex, t->gguf, ".lora_b");
        if (a[k] || b[k])
            HN_TRY(check_pair(ex, t, a[k], b[k]));
        rank[k] = b[k] ? hn_last_dim(&b[k]->type) : 0;
        rank_all += rank[k];
        rows += t->dim[1];
        above = k ? above : t->dim[1];
    }
    if (!ex->halves)
        return HN_OK;
    /* PEFT wraps a module once a parameter: what comes first lies inside. */
    for (size_t i = 0; i < ex->base.n && strcmp(f->parameter, "down_proj"); i++) {
        hn_adapter_fused other;
        const hn_arch_tensor *t = &ex->base.tensors[i];
        is_inner = is_inner || (find(ex, t->gguf, ".lora_a") &&
                                hn_adapter_fused_of(&ex->base, ex->base.prefix, t, &other) &&
                                !strcmp(other.module, f->module) &&
                                strcmp(other.parameter, f->parameter));
    }
    const int64_t experts = f->parts[0]->dim[0];
    for (int k = 0; k < 2; k++) {
        half *h = add_half(ex, f->parts[0], k ? FUSED_B : FUSED_A, k ? rows : experts * rank_all,
                           k ? experts * rank_all : f->parts[0]->dim[2]);
        memcpy(h->part, k ? b : a, sizeof h->part);
        memcpy(h->rank, rank, sizeof h->rank);
        h->above = above;
        h->from = h->part[0] ? h->part[0] : h->part[1];
        snprintf(h->name, sizeof h->name, HN_PEFT_PREFIX "%s%s.lora_%c.weight", f->module,
                 is_inner ? ".base_layer" : "", k ? 'B' : 'A');
    }
    for (int k = 0; k < 2 && ex->alpha != 0; k++)
        ex->is_rounded = ex->is_rounded || (rank[k] && rank_all != rank[k] && rank_all != 2 * rank[k]);
    hn_adapter_fused_target(f, name);
    add_target(ex, HN_PEFT_PARAMETER, rank_all, name);
    return HN_OK;
}

static float element_of(const hn_weight_entry *e, int64_t i)
{
    if (!hn_is_block(e->type.dtype))
        return hn_adapter_element(e, i);
    /* Block by block is slow, and an adapter in blocks is rare and small. */
    const hn_format *format = hn_dtype_format(e->type.dtype);
    float values[256];
    format->decode(e->data + i / format->block_elements * format->block_bytes, format->block_elements,
                   values);
    return values[i % format->block_elements];
}

/* Of norms that are stored with one more than PEFT has: whether less one and more one is the same. */
static bool comes_back(const hn_weight_entry *e)
{
    for (int64_t i = 0; i < hn_count(&e->type); i++) {
        const float less = element_of(e, i) - 1.0f;
        const float again = less + 1.0f;
        if (again < element_of(e, i) || again > element_of(e, i))
            return false;
    }
    return true;
}

static hn_status add_whole(export *ex, const hn_arch_tensor *t, const hn_weight_entry *e)
{
    const unsigned known = HN_W_PERMUTE | HN_W_F32 | HN_W_PLUS_ONE | HN_W_PAD;
    const size_t n = t->spec->hf ? strlen(t->spec->hf) : 0;
    char module[HN_TENSOR_NAME];
    HN_TRY(check_type(ex, e));
    if (t->spec->how & HN_W_TRANSPOSE)
        return refuse(ex, e->name, "its rows are columns there, and only a low-rank change of it can be said");
    if (n < 7 || strcmp(t->spec->hf + n - 7, ".weight") || t->spec->how & ~known || t->rank > 2)
        return refuse(ex, e->name, "PEFT saves modules whole, and this is part of one");
    if (hn_adapter_is_embedding(t) && ex->base.hp->is_tied)
        return refuse(ex, e->name, "it is the head too, and PEFT would part them");
    HN_REQUIRE(e->type.rank == t->rank && !memcmp(e->type.dim, t->dim, (size_t)t->rank * sizeof *t->dim),
               HN_ERR_SHAPE, "%s: tensor %s: its shape does not fit %s",
               hn_gguf_weights(ex->file)->name, e->name, t->gguf);
    if (!ex->halves)
        return HN_OK;
    hn_adapter_module(&ex->base, ex->base.prefix, t, 0, module);
    half *h = add_half(ex, t, WHOLE, t->rank > 1 ? t->dim[0] : 1, t->dim[t->rank - 1]);
    h->from = e;
    ex->is_rounded = ex->is_rounded || (t->spec->how & HN_W_PLUS_ONE && !comes_back(e));
    snprintf(h->name, sizeof h->name, HN_PEFT_PREFIX "%s.weight", module);
    add_target(ex, HN_PEFT_SAVED, 0, module);
    return HN_OK;
}

/* ---- all of it ---- */

/* PEFT has DoRA for all modules or for none. */
static hn_status check_dora(export *ex, const hn_arch_tensor *t, bool is_parameter)
{
    const bool has = find(ex, t->gguf, ".lora_magnitude") != NULL;
    if (has && is_parameter)
        return refuse(ex, t->gguf, "PEFT has no DoRA of a parameter");
    if (ex->is_dora != has && ex->halves)
        return refuse(ex, t->gguf, "PEFT has DoRA for all or for none, and here only some have "
                                   "lora_magnitude");
    ex->is_dora = ex->is_dora || has;
    return HN_OK;
}

static hn_status walk_tensor(export *ex, size_t i, size_t *n_halves, size_t *n_found)
{
    hn_adapter_fused fused;
    const hn_arch_tensor *t = &ex->base.tensors[i];
    const hn_weight_entry *a = find(ex, t->gguf, ".lora_a"), *b = find(ex, t->gguf, ".lora_b");
    const hn_weight_entry *whole = find(ex, t->gguf, "");
    if (!is_first(ex, i) || (!a && !b && !whole))
        return HN_OK;
    HN_REQUIRE(t->spec->hf, HN_ERR_UNSUPPORTED, "tensor %s is in no other file", t->gguf);
    if (whole) {
        HN_TRY(add_whole(ex, t, whole));
        *n_halves += 1;
        *n_found += 1;
    }
    if (!a && !b)
        return HN_OK;
    const bool is_fused = !ex->is_apart && t->rank == 3 &&
                          hn_adapter_fused_of(&ex->base, ex->base.prefix, t, &fused);
    const bool is_parameter = is_fused || hn_adapter_is_parameter(&ex->base, t, ex->is_apart);
    HN_TRY(check_dora(ex, t, is_parameter));
    *n_found += find(ex, t->gguf, ".lora_magnitude") ? 3 : 2;
    if (is_fused) {
        /* the second part comes with the first, if that has a pair */
        const bool is_second = fused.parts[1] && !strcmp(fused.parts[1]->gguf, t->gguf) &&
                               find(ex, fused.parts[0]->gguf, ".lora_a");
        *n_halves += is_second ? 0 : 2;
        return is_second ? HN_OK : add_fused(ex, &fused);
    }
    /* a router's last source is the name that it has beside fused experts */
    for (size_t k = i; k < ex->base.n && is_parameter && !ex->is_apart; k++)
        t = strcmp(ex->base.tensors[k].gguf, t->gguf) ? t : &ex->base.tensors[k];
    HN_TRY(hn_adapter_check_kind(&ex->base, t, t->gguf));
    HN_TRY(check_pair(ex, t, a, b));
    const int64_t experts = hn_adapter_experts(t);
    for (int e = 0; ex->halves && e < experts; e++)
        add_module(ex, t, a, b, e);
    *n_halves += 3 * (size_t)experts;
    return HN_OK;
}

/* With NULL halves only counts. */
static hn_status walk(export *ex, size_t *n_halves, size_t *n_found)
{
    *n_halves = *n_found = 0;
    for (size_t i = 0; i < ex->base.n; i++)
        HN_TRY(walk_tensor(ex, i, n_halves, n_found));
    return HN_OK;
}

static hn_status check_all_used(const export *ex, size_t n_found)
{
    static const char *const suffixes[] = { "", ".lora_a", ".lora_b", ".lora_magnitude" };
    const hn_weights *all = hn_gguf_weights(ex->file);
    if (n_found == all->n)
        return all->n ? HN_OK : hn_fail(HN_ERR_FORMAT, "%s: no tensors", all->name);
    for (size_t i = 0; i < all->n; i++) {
        bool is_known = false;
        for (size_t k = 0; k < 4 * ex->base.n && !is_known; k++)
            is_known = find(ex, ex->base.tensors[k / 4].gguf, suffixes[k % 4]) == &all->entries[i];
        HN_REQUIRE(is_known, HN_ERR_UNSUPPORTED, "%s: tensor %s: %s has no place for it",
                   all->name, all->entries[i].name, ex->base.arch->name);
    }
    return HN_OK;
}

static hn_status plan(export *ex)
{
    size_t n_halves, n_found;
    HN_TRY(walk(ex, &n_halves, &n_found));
    ex->halves = hn_alloc_array(ex->heap, HN_TAG_FILE, n_halves, sizeof *ex->halves);
    ex->entries = hn_alloc_array(ex->heap, HN_TAG_FILE, n_halves, sizeof *ex->entries);
    ex->targets = hn_alloc_array(ex->heap, HN_TAG_FILE, n_halves, sizeof *ex->targets);
    ex->names = hn_alloc_array(ex->heap, HN_TAG_FILE, n_halves, sizeof *ex->names);
    if (!ex->halves || !ex->entries || !ex->targets || !ex->names)
        return HN_ERR_MEMORY;
    HN_TRY(walk(ex, &n_halves, &n_found));
    HN_TRY(check_all_used(ex, n_found));
    HN_REQUIRE(ex->n, HN_ERR_FORMAT, "%s: no tensors", hn_gguf_weights(ex->file)->name);
    for (size_t i = 0; i < ex->n; i++) {
        const half *h = &ex->halves[i];
        const hn_dtype from = h->from->type.dtype;
        const bool is_vector = h->kind == MAGNITUDE || (h->kind == WHOLE && h->tensor->rank == 1);
        const int64_t dim[] = { h->rows, h->columns };
        ex->entries[i].name = h->name;
        HN_TRY(hn_type_make(&ex->entries[i].type, hn_is_block(from) ? HN_F32 : from,
                            is_vector ? 1 : 2, dim + is_vector));
        ex->watch->total_bytes += hn_type_bytes(&ex->entries[i].type);
    }
    return HN_OK;
}

/* ---- rows ---- */

static float element(const half *h, int64_t row, int64_t column)
{
    return element_of(h->from, row * hn_last_dim(&h->from->type) + column);
}

/* Row e * R + j of A: row j of the parts of expert e, one after the other. */
static void fused_a(const half *h, int64_t row, float *out)
{
    const int64_t all = h->rank[0] + h->rank[1], e = row / all, j = row % all;
    const int p = j >= h->rank[0];
    const int64_t at = e * h->rank[p] + (p ? j - h->rank[0] : j);
    for (int64_t k = 0; k < h->columns; k++)
        out[k] = element_of(h->part[p], at * h->columns + k);
}

/* Row of B; column j * E + e. B makes up for the larger rank, which alpha is divided by. */
static void fused_b(const half *h, int64_t row, float *out)
{
    const int64_t all = h->rank[0] + h->rank[1], experts = h->columns / all;
    const int p = row >= h->above;
    const int64_t n = p ? h->rows - h->above : h->above, at = p ? row - h->above : row;
    memset(out, 0, (size_t)h->columns * sizeof *out);
    if (!h->part[p])
        return;
    const float factor = h->has_alpha ? (float)((double)all / (double)h->rank[p]) : 1;
    for (int64_t e = 0; e < experts; e++)
        for (int64_t j = 0; j < h->rank[p]; j++)
            out[((p ? h->rank[0] : 0) + j) * experts + e] =
                factor * element_of(h->part[p], (e * n + at) * h->rank[p] + j);
}

static const uint8_t *take_row(const void *context, int64_t row, float *out, uint8_t *bytes)
{
    const half *h = context;
    const bool is_turned = h->is_embedding && h->kind == A; /* a row a word there */
    const bool is_vector = h->kind == MAGNITUDE || (h->kind == WHOLE && h->tensor->rank == 1);
    const float less = h->kind == WHOLE && h->tensor->spec->how & HN_W_PLUS_ONE ? 1 : 0;
    int64_t i = row;
    (void)bytes;
    if (h->kind == FUSED_A)
        fused_a(h, row, out);
    if (h->kind == FUSED_B)
        fused_b(h, row, out);
    if (h->kind == FUSED_A || h->kind == FUSED_B)
        return NULL;
    if (!is_vector && (h->kind == B || h->kind == WHOLE))
        i = hn_adapter_row_of_hf(h->base, h->tensor, row);
    for (int64_t k = 0; k < h->columns; k++)
        out[k] = is_vector   ? element(h, 0, hn_adapter_row_of_hf(h->base, h->tensor, k)) - less
                 : is_turned ? element(h, k, row)
                             : element(h, h->expert * h->rows + i, k) - less;
    return NULL;
}

static hn_status write_tensors(export *ex, hn_weights_writer *writer)
{
    for (size_t i = 0; i < ex->n; i++) {
        const hn_row_job job = { .name = ex->halves[i].name,
                                 .dtype = ex->entries[i].type.dtype,
                                 .rows = ex->halves[i].rows,
                                 .row_elements = ex->halves[i].columns,
                                 .row = take_row,
                                 .context = &ex->halves[i] };
        HN_TRY(hn_encode_rows(&job, ex->heap, ex->pool, writer, i, ex->watch));
    }
    return HN_OK;
}

static hn_status write_weights(export *ex, const char *path)
{
    hn_weights_writer *writer = NULL;
    hn_meta meta = hn_meta_on(ex->heap, path);
    hn_status status = hn_meta_set_text(&meta, "format", "pt");
    if (status == HN_OK)
        status = hn_safetensors_create(ex->heap, (hn_sink){ path, ex->dir.over }, &meta, ex->entries, ex->n, &writer);
    hn_meta_free(&meta);
    HN_TRY(status);
    status = write_tensors(ex, writer);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

/* What hone says of its adapters and PEFT has no words for, its self-test above all. Of numbers that
 * had to be rounded it holds no longer, nor does the rest of the contract. */
static hn_status write_probe(export *ex, const char *path)
{
    const hn_meta *all = hn_gguf_meta(ex->file);
    hn_weights_writer *writer = NULL;
    hn_meta meta = hn_meta_on(ex->heap, path);
    hn_status status = HN_OK;
    for (size_t i = 0; i < all->n && status == HN_OK; i++)
        if (!ex->is_rounded && !strncmp(all->values[i].key, "hone.", 5))
            status = hn_meta_set_copy(&meta, &all->values[i]);
    if (status == HN_OK && meta.n)
        status = hn_gguf_create(ex->heap, (hn_sink){ path, ex->dir.over }, &meta, NULL, 0, &writer);
    hn_meta_free(&meta);
    return status == HN_OK && writer ? hn_weights_writer_finish(writer) : status;
}

static hn_status write_files(export *ex)
{
    char weights[4096], config[4096], probe[4096];
    snprintf(weights, sizeof weights, "%s/adapter_model.safetensors", ex->dir.path);
    snprintf(config, sizeof config, "%s/adapter_config.json", ex->dir.path);
    snprintf(probe, sizeof probe, "%s/" HN_ADAPTER_PROBE, ex->dir.path);
    const char *const all[] = { probe, weights, config };
    for (int i = 0; i < 3; i++)
        HN_TRY(hn_sink_check((hn_sink){ all[i], ex->dir.over }));
    for (int i = 0; i < 3; i++)
        hn_os_remove(all[i]); /* one adapter is there, never parts of two */
    HN_TRY(write_probe(ex, probe));
    hn_status status = write_weights(ex, weights);
    const hn_adapter_told told = { .alpha = ex->alpha, .is_dora = ex->is_dora,
                                   .targets = ex->targets, .n = ex->n_targets };
    if (status == HN_OK)
        status = hn_adapter_config_write(ex->heap, (hn_sink){ config, ex->dir.over }, hn_gguf_meta(ex->file), &told);
    if (status != HN_OK) { /* half an adapter is none */
        hn_os_remove(weights);
        hn_os_remove(probe);
    }
    return status;
}

static hn_status write_dir(export *ex)
{
    HN_REQUIRE(strlen(ex->dir.path) + 40 < 4096, HN_ERR_ARGUMENT, "%s: too long a name", ex->dir.path);
    const bool is_new = hn_os_folder_make(ex->dir.path, false);
    HN_REQUIRE(is_new || errno == EEXIST, HN_ERR_IO, "%s: %s", ex->dir.path, strerror(errno));
    const hn_status status = write_files(ex);
    if (status != HN_OK && is_new)
        hn_os_folder_remove(ex->dir.path);
    return status;
}

hn_status hn_adapter_export(hn_heap *heap, hn_pool *pool, const char *adapter, const hn_ignored *ignored, const char *base,
                            const hn_template_choice *template, hn_sink dir, bool is_apart, hn_watch *watch)
{
    export ex = { .heap = heap, .pool = pool, .dir = dir, .watch = watch, .is_apart = is_apart };
    hn_status status = hn_adapter_base_open(heap, base, ignored, &ex.base);
    if (status == HN_OK)
        status = hn_adapter_file_open(&ex.file, heap, adapter, ignored, base, false, template, hn_pool_threads(pool));
    if (status == HN_OK)
        status = check_keys(&ex);
    if (status == HN_OK)
        status = plan(&ex);
    if (status == HN_OK)
        status = write_dir(&ex);
    hn_free(heap, ex.halves);
    hn_free(heap, ex.entries);
    hn_free(heap, ex.targets);
    hn_free(heap, ex.names);
    hn_gguf_close(ex.file);
    hn_adapter_base_close(&ex.base);
    return status;
}
