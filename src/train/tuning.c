/* A graph of the model is built once and thrown away, only to see which weights it reads and which of them
 * products read: a target of what nobody reads would be trained for nothing. First values are a function of the
 * seed and the tensor's name, not of their order, so another target beside it changes none. What is trained lies
 * in the host's memory; devices have copies, and who changes one side pushes or pulls. */
#include "train/tuning.h"

#include "backend/resident.h"

#include "base/mathfn.h"
#include "base/rng.h"
#include "kernels/gemm/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double hn_tune_alpha(const hn_tune_settings *s)
{
    return s->alpha > 0 ? s->alpha : 2 * (double)s->rank;
}

double hn_tune_scale(const hn_tune_settings *s)
{
    return hn_tune_alpha(s) / (s->is_rooted ? sqrt((double)s->rank) : (double)s->rank);
}

/* ---- which weights ---- */

const char *hn_default_targets(const hn_model *model)
{
    char name[48];
    const int64_t n_layer = hn_model_hparams(model)->n_layer;
    bool has_mlp = false, has_experts = false;
    for (int i = 0; i < n_layer; i++) {
        snprintf(name, sizeof name, "blk.%d.ffn_up.weight", i);
        has_mlp = has_mlp || hn_model_find(model, name);
        snprintf(name, sizeof name, "blk.%d.ffn_down_exps.weight", i);
        has_experts = has_experts || hn_model_find(model, name);
    }
    return has_mlp && has_experts ? "attn,mlp,experts" : has_experts ? "attn,experts" : "attn,mlp";
}

typedef struct matching {
    hn_tuning *t;
    const hn_tune_targets *targets;
    hn_graph *g;
    nn_build build; /* of the model as it is: what it reads, and what it multiplies with */
    size_t *n_hits; /* by target */
    char unreached[3 * HN_TENSOR_NAME]; /* the last weight of each target's that nothing reads */
} matching;

static bool is_read(const matching *m, const nn_weight *w)
{
    for (int i = 0; i < m->build.n_bound; i++)
        if (m->build.bound[i].weight == w)
            return true;
    return false;
}

static bool is_product(const matching *m, const nn_weight *w)
{
    for (int i = 0; i < m->build.n_uses; i++)
        if (m->build.uses[i].weight == w)
            return true;
    return false;
}

static hn_status check_how(const nn_weight *w, const hn_tune_target *target, bool is_matrix)
{
    const hn_tune_settings *s = &target->settings;
    if (s->how == HN_TUNE_FROZEN)
        return HN_OK;
    if (s->how == HN_TUNE_FULL) {
        HN_REQUIRE(!hn_is_block(w->type.dtype), HN_ERR_UNSUPPORTED,
                   "target '%s': %s is %s: a weight in blocks cannot be trained in full; use a "
                   "base in f32 or bf16, or lora", target->what, w->name,
                   hn_dtype_name(w->type.dtype));
        HN_REQUIRE(hn_is_float(w->type.dtype), HN_ERR_UNSUPPORTED, "target '%s': %s is %s",
                   target->what, w->name, hn_dtype_name(w->type.dtype));
        return HN_OK;
    }
    HN_REQUIRE(is_matrix, HN_ERR_UNSUPPORTED,
               "target '%s': %s is no matrix that a product reads: it can only be trained in full",
               target->what, w->name);
    HN_REQUIRE(s->how != HN_TUNE_DORA || (w->type.rank == 2 && strcmp(w->name, "token_embd.weight")),
               HN_ERR_UNSUPPORTED, "target '%s': %s has no magnitude of its own rows: use lora",
               target->what, w->name);
    HN_REQUIRE(s->rank >= 1, HN_ERR_ARGUMENT, "target '%s': rank %lld", target->what,
               (long long)s->rank);
    return HN_OK;
}

/* The last target that names the weight, or NULL; every one that does is hit. */
static hn_status choose(matching *m, const hn_arch_tensor *tensor, const nn_weight *w,
                        const hn_tune_target **out)
{
    char hf[HN_TENSOR_NAME] = { 0 };
    const hn_arch *arch = hn_model_arch(m->t->model);
    if (tensor->spec->hf)
        hn_arch_hf_name(arch, "", tensor->spec, tensor->layer, 0, hf);
    const bool multiplied = is_product(m, w) || !strcmp(w->name, "token_embd.weight");
    const hn_tune_name name = { w->name, hf[0] ? hf : NULL, w->type.rank,
                                  is_product(m, w) && strcmp(w->name, "token_embd.weight") };
    *out = NULL;
    for (size_t i = 0; i < m->targets->n; i++) {
        const hn_tune_target *target = &m->targets->at[i];
        if (!hn_tune_target_matches(target, &name))
            continue;
        if (tensor->spec->how & HN_W_CHOICE) { /* of a group: left out; named, a mistake */
            HN_REQUIRE(hn_tune_target_is_group(target), HN_ERR_UNSUPPORTED, "target '%s': %s takes part in a choice "
                       "alone: no gradient moves it", target->what, w->name);
            continue;
        }
        if (!is_read(m, w)) { /* of a group: left out; else a mistake */
            snprintf(m->unreached, sizeof m->unreached, "%s", w->name);
            continue;
        }
        m->n_hits[i]++;
        HN_TRY(check_how(w, target, multiplied && w->type.rank >= 2));
        *out = target;
    }
    return HN_OK;
}

/* ---- their tensors ---- */

static hn_status add_tensor(hn_tuning *t, int of, const char *suffix, hn_tune_part part,
                            const hn_type *type)
{
    hn_tuned *tuned = &t->tuned[of];
    hn_tunable *tensor = &t->tensors[t->n_tensors];
    HN_REQUIRE(snprintf(tensor->name, sizeof tensor->name, "%s%s", tuned->base->name, suffix) <
                   (int)sizeof tensor->name, HN_ERR_ARGUMENT, "%s: too long a name",
               tuned->base->name);
    tensor->part = part;
    tensor->of = of;
    tensor->weight = (nn_weight){ .name = tensor->name, .type = *type,
                                  .is_permuted = part == HN_TUNE_WEIGHT && tuned->base->is_permuted };
    tensor->weight.data = hn_alloc(t->heap, HN_TAG_WEIGHT, hn_type_bytes(type));
    if (!tensor->weight.data)
        return HN_ERR_MEMORY;
    tuned->first = tuned->n++ ? tuned->first : t->n_tensors;
    t->n_params += hn_count(type);
    t->n_tensors++;
    return HN_OK;
}

static hn_status add_pair(hn_tuning *t, int of)
{
    hn_tuned *tuned = &t->tuned[of];
    const hn_type *w = &tuned->base->type;
    const int64_t r = tuned->settings.rank, n = w->dim[w->rank - 2], k = w->dim[w->rank - 1];
    const int64_t rows[2] = { w->dim[0], n };
    hn_type a, b, m;
    if (tuned->is_embedding) {
        HN_TRY(hn_type_make(&a, HN_F32, 2, (int64_t[]){ n, r }));
        HN_TRY(hn_type_make(&b, HN_F32, 2, (int64_t[]){ k, r }));
    } else if (w->rank == 3) {
        HN_TRY(hn_type_make(&a, HN_F32, 3, (int64_t[]){ rows[0], r, k }));
        HN_TRY(hn_type_make(&b, HN_F32, 3, (int64_t[]){ rows[0], n, r }));
    } else {
        HN_TRY(hn_type_make(&a, HN_F32, 2, (int64_t[]){ r, k }));
        HN_TRY(hn_type_make(&b, HN_F32, 2, (int64_t[]){ n, r }));
    }
    HN_TRY(add_tensor(t, of, ".lora_a", HN_TUNE_A, &a));
    HN_TRY(add_tensor(t, of, ".lora_b", HN_TUNE_B, &b));
    if (tuned->settings.how != HN_TUNE_DORA)
        return HN_OK;
    HN_TRY(hn_type_make(&m, HN_F32, 1, &n));
    return add_tensor(t, of, ".lora_magnitude", HN_TUNE_MAGNITUDE, &m);
}

static hn_status add_weight(hn_tuning *t, int of)
{
    hn_type type;
    HN_TRY(hn_type_as(&type, &t->tuned[of].base->type, HN_F32));
    return add_tensor(t, of, "", HN_TUNE_WEIGHT, &type);
}

static int64_t active(const hn_tuning *t, const nn_weight *w)
{
    const hn_hparams *hp = hn_model_hparams(t->model);
    const int64_t n = hn_count(&w->type);
    return strstr(w->name, "_exps.") && hp->n_expert > 0 ? n / hp->n_expert * hp->n_used : n;
}

static hn_status match(matching *m)
{
    hn_tuning *t = m->t;
    size_t n;
    const hn_arch_tensor *all = hn_model_tensors(t->model, &n);
    t->tuned = hn_alloc_array(t->heap, HN_TAG_WEIGHT, n, sizeof *t->tuned);
    t->tensors = hn_alloc_array(t->heap, HN_TAG_WEIGHT, 3 * n, sizeof *t->tensors);
    m->n_hits = hn_alloc_array(t->heap, HN_TAG_WEIGHT, m->targets->n, sizeof *m->n_hits);
    if (!t->tuned || !t->tensors || !m->n_hits)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = hn_model_find(t->model, all[i].gguf);
        const hn_tune_target *target = NULL;
        bool is_again = !w || all[i].spec->how & HN_W_CONSTANT;
        for (int k = 0; k < t->n_tuned && !is_again; k++)
            is_again = t->tuned[k].base == w;
        if (is_again)
            continue;
        t->n_base += active(t, w);
        HN_TRY(choose(m, &all[i], w, &target));
        if (!target || target->settings.how == HN_TUNE_FROZEN)
            continue;
        t->n_matched += active(t, w);
        t->tuned[t->n_tuned] = (hn_tuned){ .base = w, .settings = target->settings,
                                           .is_embedding = !strcmp(w->name, "token_embd.weight") };
        const int of = t->n_tuned++;
        HN_TRY(target->settings.how == HN_TUNE_FULL ? add_weight(t, of) : add_pair(t, of));
    }
    for (size_t i = 0; i < m->targets->n; i++)
        HN_REQUIRE(m->n_hits[i], HN_ERR_ARGUMENT,
                   "target '%s' matches no tensor of %s%s%s%s", m->targets->at[i].what,
                   hn_model_path(t->model), m->unreached[0] ? ": nothing reads " : "",
                   m->unreached, m->unreached[0] ? " in its graph" : "");
    return HN_OK;
}

/* ---- first values ---- */

static void fill_uniform(hn_rng_key key, float bound, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (2 * hn_rng_uniform(key, (uint64_t)i) - 1) * bound;
}

/* Box and Muller: two words an element. */
static void fill_normal(hn_rng_key key, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++) {
        const double u = 1 - (double)hn_rng_uniform(key, 2 * (uint64_t)i);
        const double v = (double)hn_rng_uniform(key, 2 * (uint64_t)i + 1);
        x[i] = (float)(sqrt(-2 * hn_math_log(u)) * hn_math_cos(6.283185307179586 * v));
    }
}

static int64_t head_size(const hn_tuning *t, const nn_weight *w)
{
    int layer = 0;
    if (!w->is_permuted || sscanf(w->name, "blk.%d.", &layer) != 1)
        return 0;
    return hn_layer_head_dim(hn_model_hparams(t->model), layer);
}

void hn_tuned_row(const hn_tuning *t, const hn_tuned *tuned, int64_t row, float *out)
{
    const nn_weight *w = tuned->base;
    const hn_tensor base = hn_tensor_at(&w->type, (void *)(uintptr_t)w->data);
    const int64_t k = hn_last_dim(&w->type), from = hn_gemm_row(head_size(t, w), row) * k;
    for (int64_t i = 0; i < k; i++)
        out[i] = (float)hn_get(&base, from + i);
}

static hn_status fill_magnitudes(const hn_tuning *t, const hn_tuned *tuned, float *m)
{
    const int64_t n = tuned->base->type.dim[0], k = tuned->base->type.dim[1];
    float *values = hn_alloc_array(t->heap, HN_TAG_STATE, (size_t)k, sizeof *values);
    if (!values)
        return HN_ERR_MEMORY;
    for (int64_t row = 0; row < n; row++) {
        double sum = 0;
        hn_tuned_row(t, tuned, row, values);
        for (int64_t i = 0; i < k; i++)
            sum += (double)values[i] * (double)values[i];
        m[row] = (float)sqrt(sum);
    }
    hn_free(t->heap, values);
    return HN_OK;
}

static hn_status fill(hn_tuning *t, int i, uint64_t seed)
{
    hn_tunable *tensor = &t->tensors[i];
    const hn_tuned *tuned = &t->tuned[tensor->of];
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(seed), hn_hash_text(tensor->name));
    const int64_t n = hn_count(&tensor->weight.type);
    float *x = hn_tuning_data(t, i);
    if (tensor->part == HN_TUNE_A && !tuned->is_embedding)
        fill_uniform(key, (float)(1 / sqrt((double)hn_last_dim(&tensor->weight.type))), n, x);
    else if (tensor->part == HN_TUNE_B && tuned->is_embedding)
        fill_normal(key, n, x);
    else if (tensor->part == HN_TUNE_MAGNITUDE)
        return fill_magnitudes(t, tuned, x);
    else if (tensor->part == HN_TUNE_WEIGHT) {
        const hn_tensor from = hn_tensor_at(&tuned->base->type, (void *)(uintptr_t)tuned->base->data);
        const hn_tensor to = hn_tensor_at(&tensor->weight.type, x);
        hn_tensor_copy(&to, &from);
    }
    return HN_OK;
}

static void link_pairs(hn_tuning *t, uint64_t seed)
{
    for (int i = 0; i < t->n_tuned; i++) {
        hn_tuned *tuned = &t->tuned[i];
        if (tuned->settings.how == HN_TUNE_FULL)
            continue;
        hn_tunable *first = &t->tensors[tuned->first];
        tuned->lora = (nn_lora){ .a = &first[0].weight, .b = &first[1].weight,
                                 .magnitude = tuned->n == 3 ? &first[2].weight : NULL,
                                 .scale = (float)hn_tune_scale(&tuned->settings),
                                 .dropout = (float)tuned->settings.dropout,
                                 .seed = (int64_t)(seed & 0x7fffffff) };
    }
}

/* ---- what a graph asks ---- */

static const nn_lora *find_lora(const void *self, const nn_weight *base)
{
    const hn_tuning *t = self;
    for (int i = 0; i < t->n_tuned; i++)
        if (t->tuned[i].base == base)
            return t->tuned[i].settings.how == HN_TUNE_FULL ? NULL : &t->tuned[i].lora;
    return NULL;
}

static const nn_weight *find_full(const void *self, const char *name)
{
    const hn_tuning *t = self;
    const hn_tuned *tuned = hn_tuning_of(t, name);
    return tuned && tuned->settings.how == HN_TUNE_FULL ? &t->tensors[tuned->first].weight : NULL;
}

void hn_tuning_apply(const hn_tuning *t, nn_build_options *options)
{
    options->instead = (nn_weights){ t, find_full };
    options->adapters = &t->adapter;
    options->n_adapters = 1;
    options->has_dropout = hn_tuning_has_dropout(t);
}

int hn_tuning_find(const hn_tuning *t, const char *name)
{
    for (int i = 0; i < t->n_tensors; i++)
        if (!strcmp(t->tensors[i].name, name))
            return i;
    return -1;
}

float *hn_tuning_data(const hn_tuning *t, int i)
{
    return (void *)(uintptr_t)t->tensors[i].weight.data; /* memory of our own */
}

hn_status hn_tuning_pull(const hn_tuning *t)
{
    for (int i = 0; i < t->n_tensors; i++)
        HN_TRY(hn_resident_pull(hn_tuning_data(t, i), hn_type_bytes(&t->tensors[i].weight.type)));
    return HN_OK;
}

hn_status hn_tuning_push(const hn_tuning *t)
{
    for (int i = 0; i < t->n_tensors; i++)
        HN_TRY(hn_resident_push(hn_tuning_data(t, i), hn_type_bytes(&t->tensors[i].weight.type)));
    return HN_OK;
}

const hn_tuned *hn_tuning_of(const hn_tuning *t, const char *weight)
{
    for (int i = 0; i < t->n_tuned; i++)
        if (!strcmp(t->tuned[i].base->name, weight))
            return &t->tuned[i];
    return NULL;
}

bool hn_tuning_has_dropout(const hn_tuning *t)
{
    for (int i = 0; i < t->n_tuned; i++)
        if (t->tuned[i].settings.dropout > 0)
            return true;
    return false;
}

/* ---- life ---- */

static hn_status make(hn_tuning *t, const hn_tune_targets *targets, uint64_t seed)
{
    matching m = { .t = t, .targets = targets };
    const nn_build_options plain = { .max_tokens = 2 };
    HN_TRY(hn_graph_new(&m.g, t->heap));
    hn_model_build(t->model, &m.build, m.g, &plain);
    hn_status status = hn_graph_finish(m.g);
    if (status == HN_OK)
        status = match(&m);
    hn_free(t->heap, m.n_hits);
    hn_graph_free(m.g);
    HN_TRY(status);
    link_pairs(t, seed);
    for (int i = 0; i < t->n_tensors; i++)
        HN_TRY(fill(t, i, seed));
    t->adapter = (nn_adapter){ t, find_lora };
    return HN_OK;
}

hn_status hn_tuning_new(hn_heap *heap, const hn_model *model, const hn_tune_targets *targets,
                        uint64_t seed, hn_tuning **out)
{
    *out = NULL;
    hn_tuning *t = hn_alloc(heap, HN_TAG_WEIGHT, sizeof *t);
    if (!t)
        return HN_ERR_MEMORY;
    t->heap = heap;
    t->model = model;
    const hn_status status = make(t, targets, seed);
    if (status != HN_OK) {
        hn_tuning_free(t);
        return status;
    }
    *out = t;
    return HN_OK;
}

void hn_tuning_free(hn_tuning *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->n_tensors; i++)
        hn_free(t->heap, hn_tuning_data(t, i));
    hn_free(t->heap, t->tuned);
    hn_free(t->heap, t->tensors);
    hn_free(t->heap, t);
}
