/* Every tensor of the directory is taken once, by what it is for, and marked; one that nobody took is refused by
 * name. Ranks of fused experts are sums: the components whose columns are zero in a tensor's rows are the other
 * tensor's, and left out, and B is scaled, as alpha over the rank would otherwise be another number. */
#include "convert/adapter_import.h"

#include "base/os/files.h"
#include "convert/adapter_base.h"
#include "convert/adapter_config.h"
#include "convert/adapter_export.h"
#include "convert/adapter_extra.h"
#include "convert/adapter_fused.h"
#include "convert/adapter_kept.h"
#include "convert/adapter_targets.h"
#include "convert/general_keys.h"
#include "infer/adapter.h"
#include "io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Both matrices of a tensor, one pair an expert. */
typedef struct pair {
    const hn_arch_tensor *tensor;
    const hn_weight_entry **a, **b; /* `experts` each */
    int64_t experts, rank;
    bool is_embedding;
    const hn_weight_entry *fused[2]; /* both matrices of a parameter of all experts, or NULL */
    int64_t *components;             /* of these, the ones of this tensor: `rank` of `all` */
    int64_t all, above;              /* above: rows of B that are another tensor's */
    float factor;                    /* of B */
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
    hn_adapter_extra *extras;
    size_t n_extras;
    hn_weight_entry *entries; /* two a pair, then the extras */
    hn_meta meta;
} import;

static const hn_weight_entry *find_half(import *in, const char *prefix,
                                        const hn_arch_tensor *tensor, int expert,
                                        const char *ending)
{
    char module[HN_TENSOR_NAME], name[HN_PEFT_NAME];
    hn_adapter_module(&in->base, prefix, tensor, expert, module);
    snprintf(name, sizeof name, HN_PEFT_PREFIX "%s%s", module, ending);
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
        return hn_fail(HN_ERR_FORMAT, "tensor " HN_PEFT_PREFIX "%s%s is missing", module, ending);
    }
    HN_REQUIRE((*out)->type.dtype == HN_F32 || (*out)->type.dtype == HN_F16 ||
                   (*out)->type.dtype == HN_BF16,
               HN_ERR_UNSUPPORTED, "tensor %s: type %s is not supported", (*out)->name,
               (*out)->encoding);
    in->is_used[*out - in->weights.entries] = true;
    return HN_OK;
}

static void take_extra(import *in, const hn_adapter_extra *x)
{
    if (!x->from)
        return;
    in->is_used[x->from - in->weights.entries] = true;
    in->extras[in->n_extras++] = *x;
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
    for (int e = 0; e < p->experts; e++) {
        hn_adapter_module(&in->base, prefix, tensor, e, module);
        HN_TRY(hn_adapter_targets_admit(&in->config, module, p->rank));
    }
    hn_adapter_extra magnitude;
    HN_TRY(hn_adapter_extra_magnitude(&in->base, &in->weights, &in->config, prefix, tensor, &magnitude));
    take_extra(in, &magnitude);
    return HN_OK;
}

/* ---- experts in one parameter ---- */

/* PEFT wraps a module once a parameter, so what is called .lora_A may be another parameter's: the
 * shapes tell. */
static bool find_fused(import *in, const hn_adapter_fused *f, const hn_weight_entry *out[2])
{
    static const char *const inner[] = { "", ".base_layer" };
    const int64_t experts = f->parts[0]->dim[0], width = f->parts[0]->dim[2];
    const int64_t rows = f->parts[0]->dim[1] + (f->parts[1] ? f->parts[1]->dim[1] : 0);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            char name[HN_PEFT_NAME];
            snprintf(name, sizeof name, HN_PEFT_PREFIX "%s%s.lora_%c.weight", f->module, inner[i],
                     k ? 'B' : 'A');
            out[k] = hn_weights_find(&in->weights, name);
        }
        const hn_type *a = out[0] ? &out[0]->type : NULL, *b = out[1] ? &out[1]->type : NULL;
        if (a && b && a->rank == 2 && b->rank == 2 && a->dim[1] == width && b->dim[0] == rows &&
            a->dim[0] == b->dim[1] && a->dim[0] % experts == 0)
            return true;
    }
    return false;
}

/* Those whose columns of B are not all zero in this tensor's rows: fused ones lie in blocks. */
static hn_status choose_components(import *in, pair *p)
{
    const hn_weight_entry *b = p->fused[1];
    p->components = hn_alloc_array(in->heap, HN_TAG_FILE, (size_t)p->all, sizeof *p->components);
    if (!p->components)
        return HN_ERR_MEMORY;
    for (int64_t j = 0; j < p->all; j++) {
        bool is_used = false;
        for (int64_t row = 0; row < p->tensor->dim[1] && !is_used; row++)
            for (int64_t e = 0; e < p->experts && !is_used; e++) {
                const float x = hn_adapter_element(
                    b, (p->above + row) * p->all * p->experts + j * p->experts + e);
                is_used = x < 0 || x > 0 || x != x;
            }
        if (is_used)
            p->components[p->rank++] = j;
    }
    return HN_OK;
}

/* What B is multiplied by, so that alpha over the pair's own rank is what PEFT multiplies by: it has gate and up in one, of
 * twice the rank and with twice the alpha where their modules were named. */
static hn_status read_factor(const import *in, const hn_adapter_fused *f, pair *p)
{
    double alpha;
    char name[HN_PEFT_NAME];
    snprintf(name, sizeof name, "%s.%s", f->module, f->parameter);
    HN_TRY(hn_adapter_targets_alpha(&in->config, name, &alpha));
    const double share = (double)p->rank / (double)p->all;
    p->factor = (float)((in->config.has_root ? sqrt(share) : share) * (alpha / in->config.alpha));
    return HN_OK;
}

static hn_status take_fused(import *in, const char *prefix, const hn_arch_tensor *tensor, bool *took)
{
    hn_adapter_fused f;
    pair *p = &in->pairs[in->n_pairs];
    *p = (pair){ .tensor = tensor, .experts = tensor->dim[0] };
    *took = hn_adapter_fused_of(&in->base, prefix, tensor, &f) && find_fused(in, &f, p->fused);
    if (!*took)
        return HN_OK;
    for (int k = 0; k < 2; k++) {
        const hn_dtype dtype = p->fused[k]->type.dtype;
        HN_REQUIRE(dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16, HN_ERR_UNSUPPORTED,
                   "tensor %s: type %s is not supported", p->fused[k]->name, p->fused[k]->encoding);
        in->is_used[p->fused[k] - in->weights.entries] = true;
    }
    p->all = p->fused[0]->type.dim[0] / p->experts;
    const bool is_second = f.parts[1] && !strcmp(f.parts[1]->gguf, tensor->gguf);
    p->above = is_second ? f.parts[0]->dim[1] : 0;
    in->n_pairs++;
    HN_REQUIRE(!in->config.is_dora, HN_ERR_UNSUPPORTED, "%s: DoRA of a parameter is not supported",
               f.module);
    HN_TRY(choose_components(in, p));
    if (!p->rank) { /* the other tensor's alone */
        hn_free(in->heap, p->components);
        in->n_pairs--;
        return HN_OK;
    }
    return read_factor(in, &f, p);
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
        bool took = false; /* from another of its sources */
        for (size_t k = 0; k < in->n_pairs && !took; k++)
            took = !strcmp(in->pairs[k].tensor->gguf, t->gguf);
        for (int k = 0; t->rank == 3 && t->spec->hf && in->base.arch->prefixes[k] && !took; k++)
            HN_TRY(take_fused(in, in->base.arch->prefixes[k], t, &took));
        if (took || n <= 7 || strcmp(t->spec->hf + n - 7, ".weight") != 0)
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
    return HN_OK;
}

static hn_status find_wholes(import *in)
{
    for (size_t i = 0; i < in->base.n; i++) {
        hn_adapter_extra whole;
        bool took = false; /* from another of its sources */
        for (size_t k = 0; k < in->n_extras && !took; k++)
            took = !strcmp(in->extras[k].name, in->base.tensors[i].gguf);
        if (took)
            continue;
        HN_TRY(hn_adapter_extra_whole(&in->base, &in->weights, &in->config, &in->base.tensors[i], &whole));
        take_extra(in, &whole);
    }
    return HN_OK;
}

static hn_status find_all(import *in)
{
    HN_TRY(find_pairs(in));
    HN_TRY(find_wholes(in));
    HN_TRY(hn_adapter_check_kept(&in->base, &in->weights, in->is_used));
    for (size_t i = 0; i < in->weights.n; i++)
        HN_REQUIRE(in->is_used[i], HN_ERR_UNSUPPORTED,
                   "tensor %s: an adapter of %s has no place for it",
                   in->weights.entries[i].name, in->base.arch->name);
    HN_REQUIRE(in->n_pairs + in->n_extras, HN_ERR_FORMAT, "no tensors");
    return hn_adapter_targets_all_there(&in->config, &in->base, &in->weights);
}

static hn_status plan_half(import *in, pair *p, bool is_b)
{
    hn_weight_entry *e = &in->entries[2 * (size_t)(p - in->pairs) + is_b];
    const int64_t n = p->tensor->dim[p->tensor->rank - 2], k = p->tensor->dim[p->tensor->rank - 1];
    const int64_t rows = is_b ? (p->is_embedding ? k : n) : p->is_embedding ? n : p->rank;
    const int64_t columns = is_b || p->is_embedding ? p->rank : k;
    const int64_t stacked[] = { p->experts, rows, columns };
    const bool is_stacked = p->tensor->rank == 3;
    snprintf(p->names[is_b], sizeof p->names[is_b], "%s.lora_%c", p->tensor->gguf,
             is_b ? 'b' : 'a');
    e->name = p->names[is_b];
    HN_TRY(hn_type_make(&e->type, in->options->dtype, is_stacked ? 3 : 2,
                        is_stacked ? stacked : stacked + 1));
    in->watch->total_bytes += hn_type_bytes(&e->type);
    return HN_OK;
}

static hn_status plan_extra(import *in, size_t i)
{
    hn_weight_entry *e = &in->entries[2 * in->n_pairs + i];
    e->name = in->extras[i].name;
    HN_TRY(hn_adapter_extra_type(&in->extras[i], in->options->dtype, &e->type));
    in->watch->total_bytes += hn_type_bytes(&e->type);
    return HN_OK;
}

static hn_status write_keys(import *in)
{
    const double rank = in->n_pairs ? (double)in->pairs[0].rank : 1;
    const double alpha = in->config.has_root ? in->config.alpha * sqrt(rank) : in->config.alpha;
    HN_TRY(hn_meta_set_text(&in->meta, "general.architecture", in->base.arch->name));
    HN_TRY(hn_meta_set_text(&in->meta, "general.type", "adapter"));
    HN_TRY(hn_meta_set_text(&in->meta, "adapter.type", in->n_extras ? "hone" : "lora"));
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
    const int64_t expert = row / h->rows;
    (void)bytes;
    if (p->fused[0] && !h->is_b) {
        const int64_t at = expert * p->all + p->components[row % h->rows];
        for (int64_t k = 0; k < h->columns; k++)
            out[k] = hn_adapter_element(p->fused[0], at * h->columns + k);
        return NULL;
    }
    if (p->fused[0]) {
        const int64_t at = (p->above + row % h->rows) * p->all * p->experts;
        for (int64_t k = 0; k < h->columns; k++)
            out[k] = p->factor * hn_adapter_element(p->fused[1],
                                                    at + p->components[k] * p->experts + expert);
        return NULL;
    }
    const hn_weight_entry *from = (h->is_b ? p->b : p->a)[row / h->rows];
    int64_t i = row % h->rows;
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
    for (size_t i = 0; i < in->n_extras; i++) {
        const size_t at = 2 * in->n_pairs + i;
        const hn_type *type = &in->entries[at].type;
        const hn_row_job job = { .name = in->entries[at].name,
                                 .dtype = type->dtype,
                                 .rows = hn_rows(type),
                                 .row_elements = hn_last_dim(type),
                                 .row = hn_adapter_extra_row,
                                 .context = &in->extras[i] };
        HN_TRY(hn_encode_rows(&job, in->heap, in->pool, writer, at, in->watch));
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
    in->extras = hn_alloc_array(in->heap, HN_TAG_FILE, 2 * in->base.n, sizeof *in->extras);
    if (!in->is_used || !in->pairs || !in->extras)
        return HN_ERR_MEMORY;
    const hn_status status = find_all(in);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", in->weights.name);
}

/* ---- what hone said of it when it was exported ---- */

static hn_status read_probe(import *in)
{
    char path[4096];
    hn_gguf *file;
    snprintf(path, sizeof path, "%s/" HN_ADAPTER_PROBE, in->dir);
    if (!hn_os_is_there(path))
        return HN_OK; /* another's adapter */
    HN_TRY(hn_gguf_open(in->heap, path, &file));
    const hn_meta *meta = hn_gguf_meta(file);
    hn_status status = HN_OK;
    for (size_t i = 0; i < meta->n && status == HN_OK; i++)
        if (!strncmp(meta->values[i].key, "hone.", 5))
            status = hn_meta_set_copy(&in->meta, &meta->values[i]);
    if (status == HN_OK && hn_meta_find(&in->meta, HN_ADAPTER_SEAL)) /* of the file that is made here */
        status = hn_meta_set_text(&in->meta, HN_ADAPTER_SEAL, HN_SEAL_BLANK);
    hn_gguf_close(file);
    return status;
}

static hn_status try_model(import *in, const hn_model *model, const char *path)
{
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    hn_adapter *adapter = NULL;
    const hn_device_options open = { .n_threads = hn_pool_threads(in->pool) };
    HN_TRY(hn_devices_open(in->heap, "cpu", &open, &n_devices, devices));
    /* On another base than it was trained on it says nothing; whoever loads it is told. */
    const hn_adapter_use use = { .model = model, .run = hn_run_on(devices), .as_trained = true,
                                 .is_forced = true };
    hn_adapter_trial told = { .note = "" };
    const hn_status status = hn_adapter_open(&adapter, in->heap, path, &use, &told);
    hn_adapter_close(adapter);
    hn_devices_close(n_devices, devices);
    /* Recorded with the numbers as they were, the test cannot hold of others. */
    HN_REQUIRE(status != HN_ERR_FORMAT || in->options->dtype == HN_F32 || !told.was_tried, HN_ERR_ARGUMENT,
               "%s: its numbers are rounded to %s, and the self-test that it carries was recorded before: --type f32 keeps both",
               in->dir, hn_dtype_name(in->options->dtype));
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", in->dir);
}

/* Shapes do not tell a matrix from its transpose, or A from B: the file's self-test does. */
static hn_status probe(import *in, const hn_weights_writer *writer)
{
    hn_model *model;
    if (!hn_meta_find(&in->meta, HN_ADAPTER_TEST_IDS) || !in->base.has_weights)
        return HN_OK; /* without weights, whoever loads the file tries it */
    HN_TRY(hn_model_open(in->heap, in->options->base, in->options->ignored, &model));
    const hn_status status = try_model(in, model, hn_weights_writer_partial(writer));
    hn_model_close(model);
    return status;
}

static hn_status write_file(import *in, hn_sink out)
{
    hn_weights_writer *writer;
    const size_t n = 2 * in->n_pairs + in->n_extras;
    in->entries = hn_alloc_array(in->heap, HN_TAG_FILE, n, sizeof *in->entries);
    if (!in->entries)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < in->n_pairs; i++) {
        HN_TRY(plan_half(in, &in->pairs[i], false));
        HN_TRY(plan_half(in, &in->pairs[i], true));
    }
    for (size_t i = 0; i < in->n_extras; i++)
        HN_TRY(plan_extra(in, i));
    HN_TRY(write_keys(in));
    HN_TRY(read_probe(in));
    HN_TRY(hn_gguf_create(in->heap, out, &in->meta, in->entries, n, &writer));
    hn_status status = write_tensors(in, writer);
    if (status == HN_OK)
        status = hn_weights_writer_seal(writer);
    if (status == HN_OK)
        status = probe(in, writer);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status hn_adapter_import(hn_heap *heap, hn_pool *pool, const char *dir, hn_sink out,
                            const hn_adapter_import_options *options, hn_watch *watch)
{
    import in = { .heap = heap, .pool = pool, .dir = dir, .options = options, .watch = watch, .meta = hn_meta_on(heap, out.path) };
    hn_status status = hn_adapter_base_open(heap, options->base, options->ignored, &in.base);
    if (status == HN_OK)
        status = open_adapter(&in);
    if (status == HN_OK)
        status = write_file(&in, out);
    for (size_t i = 0; i < in.n_pairs; i++) {
        hn_free(heap, in.pairs[i].a);
        hn_free(heap, in.pairs[i].components);
    }
    hn_free(heap, in.pairs);
    hn_free(heap, in.extras);
    hn_free(heap, in.entries);
    hn_free(heap, in.is_used);
    hn_free(heap, in.weights.index);
    hn_meta_free(&in.meta);
    hn_adapter_config_close(&in.config);
    hn_safetensors_close(&in.file);
    hn_adapter_base_close(&in.base);
    return status;
}
