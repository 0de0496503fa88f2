/* Planned whole before a byte is written: which source serves each tensor, its type, all keys; then the file that
 * will be is read back as a model (same_model.c). A tensor of the directory that nothing takes is refused, or the
 * model would lose it silently. */
#include "convert/convert.h"

#include "base/pattern.h"
#include "convert/general_keys.h"
#include "convert/pad_vocab.h"
#include "convert/same_model.h"
#include "nn/source.h"
#include "nn/surplus.h"
#include "models/tokenizer_keys.h"
#include "models/models.h"
#include "models/sentence.h"

#include <stdio.h>
#include <string.h>

typedef struct conversion {
    hn_heap *heap;
    hn_pool *pool;
    const hn_convert_options *options;
    hn_watch *watch;
    hn_hf_dir *dir;
    const hn_arch *arch;
    const char *prefix;
    hn_hparams *hp;
    hn_arch_tensor *wanted;
    size_t n;
    bool *is_there;
    hn_source *sources;       /* of those that are there */
    hn_weight_entry *entries; /* what the file will hold: n_there of them */
    size_t *source_of;
    size_t n_there;
    bool has_values[HN_MAX_LAYERS];
    hn_meta meta;
} conversion;

static bool is_taken(const conversion *c, size_t i)
{
    for (size_t k = i; k > 0 && c->wanted[k - 1].layer == c->wanted[i].layer; k--)
        if (c->is_there[k - 1] && !strcmp(c->wanted[k - 1].gguf, c->wanted[i].gguf))
            return true;
    return false;
}

/* Of rows with the same GGUF name the first whose source is there serves; none may be left
 * without, save what is optional. */
static hn_status find_sources(conversion *c)
{
    const hn_source_dir from = { c->arch, c->hp, &c->dir->weights, c->prefix, true };
    for (size_t i = 0; i < c->n; i++) {
        const hn_arch_tensor *want = &c->wanted[i];
        if (is_taken(c, i))
            continue;
        HN_TRY(hn_source_open(c->heap, &from, want, &c->sources[i], &c->is_there[i]));
        bool has_other = false;
        for (size_t k = i + 1; k < c->n && c->wanted[k].layer == want->layer; k++)
            has_other = has_other || !strcmp(c->wanted[k].gguf, want->gguf);
        if (c->is_there[i] || has_other || !hn_arch_needs(want, c->hp))
            continue;
        char name[HN_TENSOR_NAME] = "";
        hn_arch_hf_name(c->arch, c->prefix, want->spec, want->layer, 0, name);
        return hn_fail(HN_ERR_FORMAT, "%s: tensor %s is missing", c->dir->path, name);
    }
    return HN_OK;
}

static hn_status check_all_used(const conversion *c)
{
    hn_taken taken;
    hn_status status = hn_taken_begin(&taken, c->heap, &c->dir->weights);
    for (size_t i = 0; i < c->n && status == HN_OK; i++)
        for (int p = 0; c->is_there[i] && p < c->sources[i].n_parts; p++)
            hn_taken_mark(&taken, c->sources[i].parts[p]);
    if (status == HN_OK)
        status = hn_taken_check(&taken, c->arch, c->hp, c->prefix, c->dir->path);
    hn_taken_free(&taken, c->heap);
    return status;
}

/* The type of most weights: that of the embedding. */
static hn_status choose_recipe(const conversion *c, const hn_recipe **out)
{
    if (c->options->recipe) {
        *out = c->options->recipe;
        return HN_OK;
    }
    return hn_recipe_named(hn_dtype_name(hn_source_dtype(&c->sources[0])), out);
}

static hn_dtype choose_type(const conversion *c, const hn_recipe *recipe, size_t i,
                            const hn_type *shape)
{
    const hn_arch_tensor *want = &c->wanted[i];
    if (hn_source_dtype(&c->sources[i]) == HN_TYPE_mxfp4)
        return HN_TYPE_mxfp4; /* as it is: nothing is lost */
    if (want->spec->how & HN_W_F32)
        return HN_F32;
    const hn_recipe_model model = { .hp = c->hp, .has_output = !c->hp->is_tied && !c->hp->is_headless,
                                    .has_values = c->has_values };
    if (hn_is_block(hn_recipe_dtype(recipe)))
        return hn_recipe_choose(recipe, &model, want->gguf, shape, HN_F32);
    const bool is_matrix = shape->rank >= 2 && hn_pattern_matches("*.weight", want->gguf) &&
                           !hn_pattern_matches("*_norm.weight", want->gguf);
    return is_matrix ? hn_recipe_dtype(recipe) : HN_F32;
}

static hn_status plan_entries(conversion *c, const hn_recipe *recipe)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->is_there[i])
            hn_recipe_mark_values(c->wanted[i].gguf, c->has_values);
    for (size_t i = 0; i < c->n; i++) {
        if (!c->is_there[i])
            continue;
        hn_type shape;
        HN_TRY(hn_type_make(&shape, HN_F32, c->wanted[i].rank, c->wanted[i].dim));
        hn_weight_entry *e = &c->entries[c->n_there];
        e->name = c->wanted[i].gguf;
        HN_TRY(hn_type_make(&e->type, choose_type(c, recipe, i, &shape), shape.rank, shape.dim));
        c->source_of[c->n_there++] = i;
        c->watch->total_bytes += hn_type_bytes(&e->type);
    }
    return HN_OK;
}

/* How a text becomes a vector, of models that embed and of those whose directory says it. */
static hn_status write_sentence(conversion *c)
{
    hn_sentence meant, usual;
    HN_TRY(hn_sentence_of_dir(c->dir, c->arch, c->hp, &meant));
    if (!meant.n)
        return HN_OK;
    HN_TRY(hn_sentence_of_meta(&c->meta, c->arch, c->hp, &usual));
    const bool is_usual = meant.n == usual.n && meant.parts[0] == usual.parts[0] &&
                          meant.normalizes == usual.normalizes && meant.longest == usual.longest;
    return is_usual ? HN_OK : hn_sentence_write(&meant, c->arch, c->hp, &c->meta);
}

static hn_status write_keys(conversion *c, const hn_recipe *recipe)
{
    const hn_model_size size =
        hn_model_size_of(c->wanted, c->is_there, c->n, c->hp->n_expert);
    HN_TRY(hn_arch_write_meta(c->arch, c->hp, &c->meta));
    HN_TRY(write_sentence(c));
    HN_TRY(hn_general_keys(c->dir, c->options->name, &size, hn_recipe_file_type(recipe),
                           &c->meta));
    HN_TRY(hn_ignored_write(c->options->ignored, &c->meta));
    HN_TRY(hn_tokenizer_keys(c->dir, &c->meta));
    HN_TRY(hn_pad_vocab(&c->meta, c->hp->n_vocab));
    const hn_same_model same = { .heap = c->heap, .arch = c->arch, .hp = c->hp, .tensors = c->wanted,
                                 .entries = c->entries, .n = c->n_there };
    return hn_same_model_check(&same, &c->meta);
}

typedef struct row_source {
    const hn_source *source;
    hn_dtype dtype; /* of the result */
} row_source;

static const uint8_t *take_row(const void *context, int64_t row, float *out, uint8_t *bytes)
{
    const row_source *from = context;
    if (hn_source_dtype(from->source) == HN_TYPE_mxfp4) {
        hn_source_mxfp4(from->source, row, bytes);
        return bytes;
    }
    if (hn_source_dtype(from->source) == from->dtype) {
        const uint8_t *ready = hn_source_bytes(from->source, row);
        if (ready)
            return ready;
    }
    hn_source_row(from->source, row, out);
    return NULL;
}

static hn_status write_tensors(conversion *c, hn_weights_writer *writer)
{
    for (size_t t = 0; t < c->n_there; t++) {
        const hn_source *source = &c->sources[c->source_of[t]];
        const row_source from = { source, c->entries[t].type.dtype };
        const hn_row_job job = {
            .name = c->entries[t].name, .dtype = from.dtype, .rows = source->rows,
            .row_elements = source->row_elements, .row = take_row, .context = &from,
        };
        HN_TRY(hn_encode_rows(&job, c->heap, c->pool, writer, t, c->watch));
    }
    return HN_OK;
}

static hn_status allocate(conversion *c)
{
    c->is_there = hn_alloc_array(c->heap, HN_TAG_FILE, c->n, sizeof *c->is_there);
    c->sources = hn_alloc_array(c->heap, HN_TAG_FILE, c->n, sizeof *c->sources);
    c->entries = hn_alloc_array(c->heap, HN_TAG_FILE, c->n, sizeof *c->entries);
    c->source_of = hn_alloc_array(c->heap, HN_TAG_FILE, c->n, sizeof *c->source_of);
    return c->is_there && c->sources && c->entries && c->source_of ? HN_OK : HN_ERR_MEMORY;
}

static hn_status convert(conversion *c, const char *dir, hn_sink out)
{
    const hn_recipe *recipe;
    hn_weights_writer *writer;
    HN_TRY(hn_hf_dir_open(c->heap, dir, HN_HF_TEXT | HN_HF_WEIGHTS, &c->dir));
    const hn_json *config = hn_json_root(c->dir->config);
    HN_TRY(hn_arch_of_config(config, &c->arch));
    HN_TRY(hn_arch_read_config(c->arch, config, c->options->ignored, c->hp));
    HN_TRY(hn_arch_find_prefix(c->arch, &c->dir->weights, &c->prefix));
    HN_TRY(hn_arch_check_head(c->arch, c->hp, &c->dir->weights, c->prefix));
    HN_TRY(hn_arch_tensors(c->arch, c->hp, c->heap, &c->wanted, &c->n));
    HN_TRY(allocate(c));
    HN_TRY(find_sources(c));
    HN_TRY(check_all_used(c));
    HN_TRY(choose_recipe(c, &recipe));
    HN_TRY(plan_entries(c, recipe));
    HN_TRY(write_keys(c, recipe));
    HN_TRY(hn_gguf_create(c->heap, out, &c->meta, c->entries, c->n_there, &writer));
    const hn_status status = write_tensors(c, writer);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status hn_convert(hn_heap *heap, hn_pool *pool, const char *dir, hn_sink out,
                     const hn_convert_options *options, hn_watch *watch)
{
    conversion c = { .heap = heap, .pool = pool, .options = options, .watch = watch,
                     .meta = hn_meta_on(heap, out.path) };
    c.hp = hn_alloc(heap, HN_TAG_FILE, sizeof *c.hp);
    const hn_status status = c.hp ? convert(&c, dir, out) : HN_ERR_MEMORY;
    for (size_t i = 0; c.sources && c.is_there && i < c.n; i++)
        if (c.is_there[i])
            hn_source_close(&c.sources[i]);
    hn_free(heap, c.sources);
    hn_free(heap, c.is_there);
    hn_free(heap, c.entries);
    hn_free(heap, c.source_of);
    hn_free(heap, c.wanted);
    hn_free(heap, c.hp);
    hn_meta_free(&c.meta);
    hn_hf_dir_close(c.dir);
    return status;
}
