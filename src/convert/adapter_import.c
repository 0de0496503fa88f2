#include "convert/adapter_import.h"

#include "convert/adapter_base.h"
#include "convert/adapter_config.h"
#include "convert/general_keys.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PEFT_PREFIX "base_model.model."

enum { NAME_ROOM = HN_TENSOR_NAME + 64 };

/* Both matrices of a tensor, one pair an expert. */
typedef struct pair {
    const hn_arch_tensor *tensor;
    const hn_weight_entry **a, **b; /* `experts` each */
    int64_t experts, rank;
    bool is_embedding;
    char names[2][HN_TENSOR_NAME + 8]; /* in GGUF */
} pair;

typedef struct import {
    hn_heap *heap;
    hn_pool *pool;
    const char *dir;
    const hn_adapter_import_options *options;
    hn_watch *watch;
    hn_adapter_base base;
    hn_adapter_config config;
    hn_safetensors file;
    hn_weights weights;
    bool *is_used;
    pair *pairs;
    size_t n_pairs;
    hn_weight_entry *entries; /* two a pair */
    hn_meta meta;
} import;

static const hn_weight_entry *find_half(import *in, const char *prefix,
                                        const hn_arch_tensor *tensor, int expert,
                                        const char *ending)
{
    char module[HN_TENSOR_NAME], name[NAME_ROOM];
    hn_adapter_module(&in->base, prefix, tensor, expert, module);
    snprintf(name, sizeof name, PEFT_PREFIX "%s%s", module, ending);
    return hn_weights_find(&in->weights, name);
}

static hn_status take_half(import *in, const char *prefix, const pair *p, int expert, bool is_b,
                           const hn_weight_entry **out)
{
    const char *ending = p->is_embedding ? (is_b ? ".lora_embedding_B" : ".lora_embedding_A")
                                         : (is_b ? ".lora_B.weight" : ".lora_A.weight");
    *out = find_half(in, prefix, p->tensor, expert, ending);
    if (!*out) {
        char module[HN_TENSOR_NAME];
        hn_adapter_module(&in->base, prefix, p->tensor, expert, module);
        return hn_fail(HN_ERR_FORMAT, "tensor " PEFT_PREFIX "%s%s is missing", module, ending);
    }
    HN_REQUIRE((*out)->type.dtype == HN_F32 || (*out)->type.dtype == HN_F16 ||
                   (*out)->type.dtype == HN_BF16,
               HN_ERR_UNSUPPORTED, "tensor %s: type %s is not supported", (*out)->name,
               (*out)->encoding);
    in->is_used[*out - in->weights.entries] = true;
    return HN_OK;
}

static hn_status take_pair(import *in, const char *prefix, const hn_arch_tensor *tensor,
                           bool is_embedding)
{
    char module[HN_TENSOR_NAME];
    pair *p = &in->pairs[in->n_pairs];
    hn_adapter_module(&in->base, prefix, tensor, 0, module);
    HN_TRY(hn_adapter_check_kind(&in->base, tensor, module));
    *p = (pair){ .tensor = tensor,
                 .experts = hn_adapter_experts(tensor),
                 .is_embedding = is_embedding };
    p->a = hn_alloc_array(in->heap, HN_TAG_FILE, 2 * (size_t)p->experts, sizeof *p->a);
    if (!p->a)
        return HN_ERR_MEMORY;
    in->n_pairs++;
    p->b = p->a + p->experts;
    for (int e = 0; e < p->experts; e++) {
        HN_TRY(take_half(in, prefix, p, e, false, &p->a[e]));
        HN_TRY(take_half(in, prefix, p, e, true, &p->b[e]));
        HN_TRY(hn_adapter_check_shapes(tensor, is_embedding, p->a[e], p->b[e]));
        HN_REQUIRE(p->a[e]->type.dim[0] == p->a[0]->type.dim[0], HN_ERR_UNSUPPORTED,
                   "tensor %s: rank %lld, another expert's is %lld: GGUF stacks them",
                   p->a[e]->name, (long long)p->a[e]->type.dim[0],
                   (long long)p->a[0]->type.dim[0]);
    }
    p->rank = p->a[0]->type.dim[0];
    HN_REQUIRE(
        !in->config.has_root || p->rank == in->pairs[0].rank, HN_ERR_UNSUPPORTED,
        "tensor %s: rank %lld beside %lld under use_rslora: a GGUF adapter has one alpha",
        p->a[0]->name, (long long)p->rank, (long long)in->pairs[0].rank);
    return HN_OK;
}

/* Of stacked experts any one shows that there is a pair; then all must be there. */
static bool has_any(import *in, const char *prefix, const hn_arch_tensor *tensor,
                    const char *ending)
{
    for (int e = 0; e < hn_adapter_experts(tensor); e++)
        if (find_half(in, prefix, tensor, e, ending))
            return true;
    return false;
}

static hn_status find_pairs(import *in)
{
    for (size_t i = 0; i < in->base.n; i++) {
        const hn_arch_tensor *t = &in->base.tensors[i];
        const size_t n = t->spec->hf ? strlen(t->spec->hf) : 0;
        if (n <= 7 || strcmp(t->spec->hf + n - 7, ".weight") != 0)
            continue;
        for (int k = 0; in->base.arch->prefixes[k]; k++) {
            const char *prefix = in->base.arch->prefixes[k];
            if (has_any(in, prefix, t, ".lora_A.weight")) {
                HN_REQUIRE(!hn_adapter_is_embedding(t), HN_ERR_UNSUPPORTED,
                           "%s: lora_A of an embedding: expected lora_embedding_A", t->gguf);
                HN_TRY(take_pair(in, prefix, t, false));
                break;
            }
            if (hn_adapter_is_embedding(t) && has_any(in, prefix, t, ".lora_embedding_A")) {
                HN_TRY(take_pair(in, prefix, t, true));
                break;
            }
        }
    }
    for (size_t i = 0; i < in->weights.n; i++)
        HN_REQUIRE(in->is_used[i], HN_ERR_UNSUPPORTED,
                   "tensor %s: an adapter of %s has no place for it",
                   in->weights.entries[i].name, in->base.arch->name);
    HN_REQUIRE(in->n_pairs, HN_ERR_FORMAT, "no tensors");
    return HN_OK;
}

static hn_status plan_half(import *in, pair *p, bool is_b)
{
    hn_weight_entry *e = &in->entries[2 * (size_t)(p - in->pairs) + is_b];
    const int64_t rows = is_b              ? p->b[0]->type.dim[0]
                         : p->is_embedding ? p->a[0]->type.dim[1]
                                           : p->rank;
    const int64_t columns = is_b || p->is_embedding ? p->rank : p->a[0]->type.dim[1];
    const int64_t stacked[] = { p->experts, rows, columns };
    const bool is_stacked = p->tensor->spec->how & HN_W_STACK;
    snprintf(p->names[is_b], sizeof p->names[is_b], "%s.lora_%c", p->tensor->gguf,
             is_b ? 'b' : 'a');
    e->name = p->names[is_b];
    HN_TRY(hn_type_make(&e->type, in->options->dtype, is_stacked ? 3 : 2,
                        is_stacked ? stacked : stacked + 1));
    in->watch->total_bytes += hn_type_bytes(&e->type);
    return HN_OK;
}

static hn_status write_keys(import *in)
{
    const double rank = (double)in->pairs[0].rank;
    const double alpha = in->config.has_root ? in->config.alpha * sqrt(rank) : in->config.alpha;
    HN_TRY(hn_meta_set_text(&in->meta, "general.architecture", in->base.arch->name));
    HN_TRY(hn_meta_set_text(&in->meta, "general.type", "adapter"));
    HN_TRY(hn_meta_set_text(&in->meta, "adapter.type", "lora"));
    HN_TRY(hn_name_key(in->dir, in->options->name, &in->meta));
    HN_TRY(hn_meta_set_double(&in->meta, "adapter.lora.alpha", HN_META_F32, alpha));
    return hn_meta_set_int(&in->meta, "general.quantization_version", HN_META_U32, 2);
}

typedef struct half {
    const hn_adapter_base *base;
    const pair *pair;
    bool is_b;
    int64_t rows, columns; /* of one expert */
} half;

static const uint8_t *take_row(const void *context, int64_t row, float *out, uint8_t *bytes)
{
    const half *h = context;
    const pair *p = h->pair;
    const hn_weight_entry *from = (h->is_b ? p->b : p->a)[row / h->rows];
    int64_t i = row % h->rows;
    (void)bytes;
    if (h->is_b)
        i = hn_adapter_row_of_gguf(h->base, p->tensor, i);
    const bool is_turned = !h->is_b && p->is_embedding; /* a row a word */
    for (int64_t k = 0; k < h->columns; k++)
        out[k] = hn_adapter_element(from, is_turned ? k * h->rows + i : i * h->columns + k);
    return NULL;
}

static hn_status write_tensors(import *in, hn_weights_writer *writer)
{
    for (size_t i = 0; i < 2 * in->n_pairs; i++) {
        const hn_type *type = &in->entries[i].type;
        const half h = { .base = &in->base,
                         .pair = &in->pairs[i / 2],
                         .is_b = i % 2,
                         .rows = type->dim[type->rank - 2],
                         .columns = hn_last_dim(type) };
        const hn_row_job job = { .name = in->entries[i].name,
                                 .dtype = type->dtype,
                                 .rows = hn_rows(type),
                                 .row_elements = h.columns,
                                 .row = take_row,
                                 .context = &h };
        HN_TRY(hn_encode_rows(&job, in->heap, in->pool, writer, i, in->watch));
    }
    return HN_OK;
}

static hn_status open_adapter(import *in)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/adapter_config.json", in->dir);
    HN_REQUIRE(n > 0 && (size_t)n + 32 < sizeof path, HN_ERR_ARGUMENT, "%s: too long a name",
               in->dir);
    HN_TRY(hn_adapter_config_read(in->heap, path, &in->config, &in->meta));
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", in->dir);
    HN_TRY(hn_safetensors_open(in->heap, path, &in->file));
    in->weights = (hn_weights){ .name = in->file.path,
                                .entries = in->file.tensors,
                                .n = in->file.n_tensors };
    HN_TRY(hn_weights_index(in->heap, &in->weights));
    in->is_used = hn_alloc_array(in->heap, HN_TAG_FILE, in->weights.n, sizeof *in->is_used);
    in->pairs = hn_alloc_array(in->heap, HN_TAG_FILE, in->base.n, sizeof *in->pairs);
    if (!in->is_used || !in->pairs)
        return HN_ERR_MEMORY;
    const hn_status status = find_pairs(in);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", in->weights.name);
}

static hn_status write_file(import *in, const char *out)
{
    hn_weights_writer *writer;
    in->entries = hn_alloc_array(in->heap, HN_TAG_FILE, 2 * in->n_pairs, sizeof *in->entries);
    if (!in->entries)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < in->n_pairs; i++) {
        HN_TRY(plan_half(in, &in->pairs[i], false));
        HN_TRY(plan_half(in, &in->pairs[i], true));
    }
    HN_TRY(write_keys(in));
    HN_TRY(hn_gguf_create(in->heap, out, &in->meta, in->entries, 2 * in->n_pairs, &writer));
    const hn_status status = write_tensors(in, writer);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status hn_adapter_import(hn_heap *heap, hn_pool *pool, const char *dir, const char *out,
                            const hn_adapter_import_options *options, hn_watch *watch)
{
import in = {.heap = heap, .pool = pool, .dir = dir, .options = options, .watch = watch, .meta = hn_meta_on(heap, out) };
    hn_status status = hn_adapter_base_open(heap, options->base, &in.base);
    if (status == HN_OK)
        status = open_adapter(&in);
    if (status == HN_OK)
        status = write_file(&in, out);
    for (size_t i = 0; i < in.n_pairs; i++)
        hn_free(heap, in.pairs[i].a);
    hn_free(heap, in.pairs);
    hn_free(heap, in.entries);
    hn_free(heap, in.is_used);
    hn_free(heap, in.weights.index);
    hn_meta_free(&in.meta);
    hn_safetensors_close(&in.file);
    hn_adapter_base_close(&in.base);
    return status;
}
