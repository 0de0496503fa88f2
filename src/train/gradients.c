/* Rows go out in canonical order, wherever the file has a head's rows in pairs, and an adapter's values come in by
 * the same function: to and from differ by one argument. */
#include "train/gradients.h"

#include "infer/adapter.h"
#include "io/weights_writer.h"
#include "kernels/gemm/rows.h"
#include "models/identity.h"

#include <stdio.h>
#include <string.h>

/* ---- what is trained ---- */

static hn_status targets_of(const hn_adapter *a, hn_str *out)
{
    const hn_adapter_pair *p;
    const nn_weight *w;
    for (int i = 0; (p = hn_adapter_pair_at(a, i)) != NULL; i++) {
        const int64_t rank = hn_last_dim(&p->lora.b->type);
        hn_str_print(out, "%s%s:%s:r=%lld:alpha=%.17g", out->length ? "," : "", p->base->name,
                     p->lora.magnitude ? "dora" : "lora", (long long)rank,
                     (double)p->lora.scale * (double)rank);
    }
    for (int i = 0; (w = hn_adapter_whole_at(a, i)) != NULL; i++)
        hn_str_print(out, "%s%s:full", out->length ? "," : "", w->name);
    return hn_str_status(out);
}

/* Rows [n, k] of a matrix in order, to or from memory where they lie by head in pairs. */
static void copy_rows(float *to, const float *from, const hn_type *type, int64_t to_pairs,
                      int64_t from_pairs)
{
    const int64_t k = type->rank > 1 ? hn_last_dim(type) : 1;
    for (int64_t row = 0; row < hn_count(type) / k; row++)
        memcpy(to + hn_gemm_row(to_pairs, row) * k, from + hn_gemm_row(from_pairs, row) * k,
               (size_t)k * sizeof *to);
}

/* The head size of a trained copy whose rows lie as its file has them; 0: in order. */
static int64_t pairs_of(const hn_gradients *g, const hn_tunable *t)
{
    int layer = 0;
    if (!t->weight.is_permuted || sscanf(t->name, "blk.%d.", &layer) != 1)
        return 0;
    return hn_layer_head_dim(hn_model_hparams(g->in->model), layer);
}

static void take_values(hn_gradients *g)
{
    const hn_adapter_pair *p;
    const nn_weight *w;
    const hn_tuning *t = g->tuning;
    for (int i = 0; (p = hn_adapter_pair_at(g->from, i)) != NULL; i++) {
        const hn_tuned *tuned = hn_tuning_of(t, p->base->name);
        const nn_weight *parts[] = { p->lora.a, p->lora.b, p->lora.magnitude };
        for (int k = 0; k < tuned->n; k++)
            memcpy(hn_tuning_data(t, tuned->first + k), parts[k]->data,
                   hn_type_bytes(&parts[k]->type));
    }
    for (int i = 0; (w = hn_adapter_whole_at(g->from, i)) != NULL; i++) {
        const int at = hn_tuning_find(t, w->name);
        copy_rows(hn_tuning_data(t, at), w->data, &w->type, pairs_of(g, &t->tensors[at]), 0);
    }
}

static hn_status open_tuning(hn_gradients *g)
{
    const hn_train_config *c = g->o->config;
    const hn_tune_settings otherwise = hn_train_config_tuning(c);
    hn_heap *heap = g->in->heap;
    hn_str text = hn_str_on(heap);
    hn_tune_targets targets;
    hn_status status = HN_OK;
    if (g->o->from) {
        const hn_adapter_use use = { .model = g->in->model, .run = g->in->run,
                                     .as_trained = true, .tokenizer = g->in->tokenizer,
                                     .template = g->in->template,
                                     .renders_nothing = !g->in->template[0] };
        status = hn_adapter_open(&g->from, heap, g->o->from, &use, NULL);
        if (status == HN_OK)
            status = targets_of(g->from, &text);
    } else {
        hn_str_add(&text, c->targets ? c->targets : hn_default_targets(g->in->model));
        status = hn_str_status(&text);
    }
    if (status == HN_OK)
        status = hn_tune_targets_parse(heap, text.text, &otherwise, &targets);
    hn_str_free(&text);
    HN_TRY(status);
    status = hn_tuning_new(heap, g->in->model, &targets, (uint64_t)c->seed, &g->tuning);
    hn_tune_targets_free(heap, &targets);
    if (status == HN_OK && g->from)
        take_values(g);
    return status;
}

/* ---- the batch ---- */

static hn_status read_batch(hn_gradients *g, size_t *longest)
{
    const hn_dataset *d = g->in->data.dataset;
    hn_example example = hn_example_on(g->in->heap);
    hn_status status = HN_OK;
    *longest = 1;
    for (uint64_t i = 0; i < d->n && status == HN_OK; i++) {
        if (d->fates[i] != HN_FATE_TRAINED)
            continue;
        if (g->o->most && (int64_t)g->batch.n_examples >= g->o->most)
            break;
        status = hn_dataset_read(d, i, &example);
        if (status == HN_OK)
            status = hn_batch_add(&g->batch, &example);
        *longest = d->tokens[i] > *longest ? d->tokens[i] : *longest;
    }
    hn_example_free(&example);
    HN_TRY(status);
    HN_REQUIRE(g->o->most <= (int64_t)g->batch.n_examples, HN_ERR_ARGUMENT,
               "--examples %lld: there are %zu", (long long)g->o->most, g->batch.n_examples);
    return HN_OK;
}

static hn_status look(hn_gradients *g)
{
    enum { AT_ONCE = 2048 };
    const hn_train_config *c = g->o->config;
    hn_learner_options o;
    hn_run_spec run = g->in->run;
    size_t longest;
    HN_TRY(hn_train_config_learner(c, &o));
    HN_TRY(hn_train_config_numerics(c, &run.numerics));
    HN_TRY(hn_goal_check_data(o.objective.goal, g->in->data.dataset));
    HN_TRY(read_batch(g, &longest));
    const size_t most = g->batch.n_tokens < AT_ONCE ? g->batch.n_tokens : AT_ONCE;
    HN_REQUIRE(!c->micro_tokens || (size_t)c->micro_tokens >= longest, HN_ERR_ARGUMENT,
               "--micro-tokens %lld: the longest example has %zu", (long long)c->micro_tokens, longest);
    o.objective.max_tokens = c->micro_tokens ? c->micro_tokens : (int64_t)(most > longest ? most : longest);
    o.descent.recompute_every = c->recompute > 0 ? (int)c->recompute : 0;
    HN_TRY(hn_learner_new(&g->learner, g->in->heap, g->in->model, g->tuning, run, &o));
    return hn_learner_look(g->learner, &g->batch, 0, g->o->run, &g->learned);
}

/* ---- the file ---- */

static hn_status set_number(hn_meta *keys, hn_str *text, const char *name, const char *form, double value)
{
    hn_str_clear(text);
    hn_str_print(text, form, value);
    HN_TRY(hn_str_status(text));
    return hn_meta_set_text(keys, name, text->text);
}

static hn_status set_numbers(const hn_gradients *g, hn_meta *keys, hn_str *text)
{
    HN_TRY(set_number(keys, text, "loss", "%.17g", g->learned.loss));
    HN_TRY(set_number(keys, text, "grad_norm", "%.17g", g->learned.grad_norm));
    HN_TRY(set_number(keys, text, "weight", "%.17g", g->batch.weight));
    HN_TRY(set_number(keys, text, "tokens", "%.0f", (double)g->batch.n_tokens));
    HN_TRY(set_number(keys, text, "supervised", "%.0f", (double)g->batch.n_supervised));
    return set_number(keys, text, "sequences", "%.0f", (double)g->batch.n_sequences);
}

static hn_status describe(const hn_gradients *g, hn_meta *keys)
{
    char identity[65];
    hn_str text = hn_str_on(g->in->heap);
    const hn_status status = set_numbers(g, keys, &text);
    hn_str_free(&text);
    HN_TRY(status);
    HN_TRY(hn_model_identity(g->in->model, identity));
    HN_TRY(hn_meta_set_text(keys, "base.sha256", identity));
    hn_numerics numerics;
    HN_TRY(hn_train_config_numerics(g->o->config, &numerics));
    return hn_meta_set_text(keys, "numerics", hn_numerics_definition(numerics));
}

hn_status hn_gradients_take(const hn_gradients *g, int i, float **values, size_t *bytes)
{
    hn_tensor gradient;
    HN_TRY(hn_learner_gradient(g->learner, i, &gradient));
    *bytes = hn_type_bytes(&gradient.type);
    *values = hn_alloc(g->in->heap, HN_TAG_FILE, *bytes);
    if (!*values)
        return HN_ERR_MEMORY;
    copy_rows(*values, gradient.data, &gradient.type, 0, pairs_of(g, &g->tuning->tensors[i]));
    return HN_OK;
}

static hn_status put(const hn_gradients *g, int i, hn_weights_writer *writer)
{
    float *rows;
    size_t bytes;
    HN_TRY(hn_gradients_take(g, i, &rows, &bytes));
    const hn_status status = hn_weights_writer_put(writer, (size_t)i, 0, rows, bytes);
    hn_free(g->in->heap, rows);
    return status;
}

hn_status hn_gradients_write(const hn_gradients *g, hn_sink to)
{
    hn_heap *heap = g->in->heap;
    const size_t n = (size_t)g->tuning->n_tensors;
    hn_meta keys = hn_meta_on(heap, to.path);
    hn_weights_writer *writer = NULL;
    hn_weight_entry *entries = hn_alloc_array(heap, HN_TAG_FILE, n, sizeof *entries);
    hn_status status = entries ? describe(g, &keys) : HN_ERR_MEMORY;
    for (size_t i = 0; i < n && status == HN_OK; i++)
        entries[i] = (hn_weight_entry){ .name = g->tuning->tensors[i].name,
                                        .type = g->tuning->tensors[i].weight.type };
    if (status == HN_OK)
        status = hn_safetensors_create(heap, to, &keys, entries, n, &writer);
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = put(g, (int)i, writer);
    if (status == HN_OK)
        status = hn_weights_writer_finish(writer);
    else
        hn_weights_writer_abandon(writer);
    hn_free(heap, entries);
    hn_meta_free(&keys);
    return status;
}

hn_status hn_gradients_compute(hn_gradients *g, const hn_train_input *in, const hn_gradients_options *options)
{
    *g = (hn_gradients){ .o = options, .in = in, .batch = hn_batch_on(in->heap) };
    HN_TRY(open_tuning(g));
    return look(g);
}

void hn_gradients_free(hn_gradients *g)
{
    hn_learner_free(g->learner);
    hn_tuning_free(g->tuning);
    hn_adapter_close(g->from);
    hn_batch_free(&g->batch);
    *g = (hn_gradients){ 0 };
}
