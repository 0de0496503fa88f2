/* A file is made whole under another name, run, measured, and only then given its own: what fails a budget was
 * never there. When it does, the types with more bits are tried, in order of their size, to be able to name the
 * smallest that would do. */
#include "convert/merge.h"

#include "base/file.h"
#include "convert/recipe.h"
#include "models/identity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct merging {
    hn_heap *heap;
    hn_pool *pool;
    hn_run_spec run;
    const hn_model *model;
    const hn_adapters *adapters;
    hn_sink out;
    const hn_merge_options *options;
    hn_watch *watch;
    hn_merge_report *report;
    hn_merge_change *changes; /* by tensor of the result; base NULL: it is copied */
    hn_weight_entry *entries;
    const hn_weight_entry **from; /* where each comes from */
    size_t n;
    hn_meta meta;
} merging;

/* ---- what changes ---- */

static const hn_arch_tensor *tensor_of(const merging *m, const char *name)
{
    size_t n;
    const hn_arch_tensor *all = hn_model_tensors(m->model, &n);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].gguf, name))
            return &all[i];
    return NULL;
}

static hn_status find_change(const merging *m, const char *name, hn_merge_change *out)
{
    const hn_adapter *a = m->adapters->at[0];
    const hn_adapter_pair *p;
    const nn_weight *w;
    *out = (hn_merge_change){ 0 };
    for (int i = 0; (p = hn_adapter_pair_at(a, i)) != NULL; i++)
        if (!strcmp(p->base->name, name))
            out->pair = p;
    for (int i = 0; (w = hn_adapter_whole_at(a, i)) != NULL; i++)
        if (!strcmp(w->name, name))
            out->whole = w;
    if (!out->pair && !out->whole)
        return HN_OK;
    HN_REQUIRE(!out->pair || !out->whole, HN_ERR_FORMAT, "%s: both a new tensor and a change of it",
               name);
    out->base = hn_model_find(m->model, name);
    const hn_arch_tensor *tensor = tensor_of(m, name);
    if (tensor->spec->how & HN_W_PERMUTE)
        out->pairs = hn_layer_head_dim(hn_model_hparams(m->model), tensor->layer);
    return HN_OK;
}

/* Whether files of the architecture may have a head of their own. */
static bool has_head(const hn_arch *arch)
{
    for (const hn_weight_spec *s = arch->weights; s->gguf; s++)
        if (!strcmp(s->gguf, "output.weight"))
            return s->when != HN_IF_OWN_HEAD; /* llama.cpp would not load it */
    return false;
}

/* An adapter of an embedding is not one of the head: where both are one matrix, they part. */
static hn_status part_head(const merging *m, const hn_weights *all, bool *parts)
{
    hn_merge_change c;
    HN_TRY(find_change(m, "token_embd.weight", &c));
    *parts = c.pair && !hn_weights_find(all, "output.weight");
    HN_REQUIRE(!*parts || has_head(hn_model_arch(m->model)), HN_ERR_UNSUPPORTED,
               "token_embd.weight is %s's head too, which the adapter leaves alone, and a file of it "
               "has no place for a head apart: use the adapter as it is, or train the embedding in "
               "full", hn_model_arch(m->model)->name);
    return HN_OK;
}

static hn_dtype type_for(const hn_type *type, const hn_dtype *wanted)
{
    if (type->rank < 2 || !wanted)
        return type->dtype;
    return hn_recipe_fit(*wanted, hn_last_dim(type));
}

static hn_status plan(merging *m)
{
    const hn_weights *all = hn_gguf_weights(hn_model_gguf(m->model));
    bool parts;
    HN_TRY(part_head(m, all, &parts));
    m->n = all->n + parts;
    m->changes = hn_alloc_array(m->heap, HN_TAG_FILE, m->n, sizeof *m->changes);
    m->entries = hn_alloc_array(m->heap, HN_TAG_FILE, m->n, sizeof *m->entries);
    m->from = hn_alloc_array(m->heap, HN_TAG_FILE, m->n, sizeof *m->from);
    m->report->tensors = hn_alloc_array(m->heap, HN_TAG_FILE, m->n, sizeof *m->report->tensors);
    if (!m->changes || !m->entries || !m->from || !m->report->tensors)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < all->n; i++) {
        m->from[i] = &all->entries[i];
        m->entries[i] = all->entries[i];
        HN_TRY(find_change(m, all->entries[i].name, &m->changes[i]));
    }
    if (parts) {
        m->from[all->n] = hn_weights_find(all, "token_embd.weight");
        m->entries[all->n] = *m->from[all->n];
        m->entries[all->n].name = "output.weight";
    }
    return HN_OK;
}

static hn_status copy_keys(merging *m)
{
    static const char *const gone[] = { "split.no", "split.count", "split.tensors.count" };
    const hn_meta *meta = hn_gguf_meta(hn_model_gguf(m->model));
    for (size_t i = 0; i < meta->n; i++)
        HN_TRY(hn_meta_set_copy(&m->meta, &meta->values[i]));
    for (int i = 0; i < 3; i++)
        hn_meta_remove(&m->meta, gone[i]);
    hn_span template = m->options->template;
    if (!template.data)
        HN_TRY(hn_adapters_template(m->adapters, &template));
    HN_TRY(hn_ignored_write(hn_model_ignored(m->model), &m->meta));
    return template.data ? hn_meta_set_string(&m->meta, hn_chat_template_key(meta), template) : HN_OK;
}

/* ---- one file ---- */

static hn_status put_all(merging *m, hn_weights_writer *writer)
{
    hn_merge_report *r = m->report;
    hn_merge_sums all = { 0 };
    r->n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->changes[i].base) {
            const size_t bytes = (size_t)hn_weights_writer_bytes(writer, i);
            HN_TRY(hn_weights_writer_put(writer, i, 0, m->from[i]->data, bytes));
            HN_TRY(hn_watch_tell(m->watch, bytes, m->entries[i].name));
            continue;
        }
        hn_merged *t = &r->tensors[r->n++];
        *t = (hn_merged){ .name = m->entries[i].name, .from = m->from[i]->type.dtype,
                          .to = m->entries[i].type.dtype };
        HN_TRY(hn_merge_rows(m->heap, m->pool, &m->changes[i], t->to, writer, i, m->watch, &t->sums));
        all.change += t->sums.change;
        all.along += t->sums.along;
    }
    r->kept = all.change > 0 ? all.along / all.change : 1;
    return HN_OK;
}

/* The file is whole, and not yet in its place. */
static hn_status measure(merging *m, const hn_weights_writer *writer)
{
    hn_model *merged;
    hn_merge_report *r = m->report;
    HN_TRY(hn_model_open(m->heap, hn_weights_writer_partial(writer), NULL, &merged));
    const hn_run_side adapted = { m->model, m->adapters }, base = { m->model, NULL },
                      other = { merged, NULL };
    hn_status status = hn_divergence(m->heap, m->run, &adapted, &other, &m->options->text, &r->kl);
    hn_model_close(merged);
    if (status == HN_OK)
        status = hn_divergence(m->heap, m->run, &adapted, &base, &m->options->text, &r->kl_base);
    const double slack = 1 - m->options->least_kept;
    r->fits = status == HN_OK && r->kl <= m->options->most_kl && r->kl <= r->kl_base + 1e-9 &&
              fabs(1 - r->kept) <= slack;
    return status;
}

static hn_dtype most_of(const merging *m, bool of_result)
{
    double numbers[HN_N_DTYPES] = { 0 };
    hn_dtype most = HN_F32;
    for (size_t i = 0; i < m->n; i++) {
        const hn_type *type = of_result ? &m->entries[i].type : &m->from[i]->type;
        if (type->dtype < HN_N_DTYPES)
            numbers[type->dtype] += (double)hn_count(type);
    }
    for (hn_dtype t = 0; t < HN_N_DTYPES; t++)
        most = numbers[t] > numbers[most] ? t : most;
    return most;
}

/* general.file_type is of most numbers: another than the base's where changed matrices make it so. */
static hn_status name_type(merging *m)
{
    const hn_dtype most = most_of(m, true);
    const hn_recipe *recipe;
    if (most == most_of(m, false))
        return HN_OK;
    if (hn_recipe_named(hn_dtype_name(most), &recipe) != HN_OK || hn_recipe_file_type(recipe) < 0) {
        hn_meta_remove(&m->meta, "general.file_type");
        return HN_OK;
    }
    return hn_meta_set_int(&m->meta, "general.file_type", HN_META_U32, hn_recipe_file_type(recipe));
}

/* With changed matrices in `dtype`, or NULL: in their own. Kept if it fits or is forced. */
static hn_status attempt(merging *m, const hn_dtype *dtype, bool may_keep)
{
    hn_weights_writer *writer = NULL;
    m->watch->done_bytes = m->watch->total_bytes = 0;
    for (size_t i = 0; i < m->n; i++) {
        const hn_type *type = &m->from[i]->type;
        if (m->changes[i].base)
            HN_TRY(hn_type_make(&m->entries[i].type, type_for(type, dtype), type->rank, type->dim));
        if (m->entries[i].type.dtype < HN_N_DTYPES)
            m->watch->total_bytes += hn_type_bytes(&m->entries[i].type);
    }
    HN_TRY(name_type(m));
    HN_TRY(hn_gguf_create(m->heap, m->out, &m->meta, m->entries, m->n, &writer));
    hn_status status = put_all(m, writer);
    if (status == HN_OK)
        status = measure(m, writer);
    if (status == HN_OK && may_keep)
        status = hn_model_unchanged(m->model);
    if (status == HN_OK && may_keep && (m->report->fits || m->options->is_forced))
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

static double bits_of(hn_dtype dtype)
{
    return 8.0 * (double)hn_dtype_bytes(dtype) / (double)hn_dtype_block(dtype);
}

/* The smallest type beyond `least` bits that keeps both budgets. */
static hn_status find_better(merging *m, double least)
{
    static const char *const names[] = { "q4_k", "q5_k", "q6_k", "q8_0", "f16", "bf16", "f32" };
    hn_merge_report *r = m->report, first = *r;
    hn_merged *tensors = hn_alloc_array(m->heap, HN_TAG_FILE, r->n, sizeof *tensors);
    if (!tensors)
        return HN_ERR_MEMORY;
    memcpy(tensors, r->tensors, r->n * sizeof *tensors);
    hn_status status = HN_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == HN_OK; i++) {
        hn_dtype dtype;
        HN_TRY(hn_dtype_parse(names[i], strlen(names[i]), &dtype));
        if (bits_of(dtype) <= least)
            continue;
        status = attempt(m, &dtype, false);
        if (status == HN_ERR_NUMERIC)
            status = HN_OK; /* it cannot hold the values */
        else if (status == HN_OK && r->fits) {
            first.has_better = true;
            first.better = dtype;
            break;
        }
    }
    memcpy(r->tensors, tensors, first.n * sizeof *tensors);
    hn_free(m->heap, tensors);
    *r = first;
    return status;
}

static hn_status refuse(merging *m)
{
    hn_merge_report *r = m->report;
    const hn_merge_options *o = m->options;
    double least = 64;
    char better[64];
    for (size_t i = 0; i < r->n; i++)
        least = bits_of(r->tensors[i].to) < least ? bits_of(r->tensors[i].to) : least;
    HN_TRY(find_better(m, least));
    if (r->has_better)
        snprintf(better, sizeof better, "--type %s would do", hn_dtype_name(r->better));
    else
        snprintf(better, sizeof better, "no type would do");
    return hn_fail(HN_ERR_NUMERIC,
                   "%.2f %% of the update survives (expected %.4g to %.4g), KL(adapter || merged) %.3g "
                   "(expected at most %.3g, and no more than the %.3g of the base without it): nothing "
                   "was written; %s", 100 * r->kept, 100 * o->least_kept,
                   100 * (2 - o->least_kept), r->kl, o->most_kl, r->kl_base, better);
}

static hn_status merge(merging *m)
{
    HN_REQUIRE(hn_model_gguf(m->model), HN_ERR_UNSUPPORTED,
               "%s is a directory: expected a GGUF file; hone convert makes one",
               hn_model_path(m->model));
    HN_REQUIRE(m->adapters->n == 1, HN_ERR_ARGUMENT, "expected one adapter, found %d", m->adapters->n);
    HN_TRY(plan(m));
    HN_TRY(copy_keys(m));
    HN_TRY(attempt(m, m->options->has_dtype ? &m->options->dtype : NULL, true));
    return m->report->fits || m->options->is_forced ? HN_OK : refuse(m);
}

hn_status hn_merge(hn_heap *heap, hn_pool *pool, hn_run_spec run, const hn_model *model,
                   const hn_adapters *adapters, hn_sink out, const hn_merge_options *options,
                   hn_watch *watch, hn_merge_report *report)
{
    merging m = { .heap = heap, .pool = pool, .run = run, .model = model,
                  .adapters = adapters, .out = out, .options = options, .watch = watch,
                  .report = report, .meta = hn_meta_on(heap, out.path) };
    *report = (hn_merge_report){ .heap = heap };
    const hn_status status = merge(&m);
    hn_free(heap, m.changes);
    hn_free(heap, m.entries);
    hn_free(heap, m.from);
    hn_meta_free(&m.meta);
    return status;
}

void hn_merge_report_free(hn_merge_report *r)
{
    if (r->heap)
        hn_free(r->heap, r->tensors);
    *r = (hn_merge_report){ 0 };
}
