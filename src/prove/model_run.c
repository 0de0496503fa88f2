/* The step is the one that trains; only its surroundings vary. */
#include "prove/model_run.h"

#include "graph/layout.h"

#include <stdio.h>

typedef struct model_run {
    const hn_instance *instance;
    const hn_model_way *way;
    hn_tuning *tuning;
    hn_learner *learner;
    hn_model_outcome *out;
} model_run;

static hn_status keep(model_run *r, int index, const hn_tensor *t)
{
    hn_heap *heap = r->instance->heap;
    hn_type packed = t->type;
    hn_type_pack(&packed);
    void *data = hn_alloc(heap, HN_TAG_PROVE, hn_type_bytes(&packed));
    if (!data)
        return HN_ERR_MEMORY;
    r->out->values.at[index] = hn_tensor_at(&packed, data);
    hn_tensor_copy(&r->out->values.at[index], t);
    return HN_OK;
}

static hn_status keep_all(model_run *r, double loss)
{
    const int n = r->tuning->n_tensors;
    hn_heap *heap = r->instance->heap;
    r->out->n_params = n;
    r->out->values = (hn_results){ .heap = heap, .n = 1 + 2 * n };
    r->out->values.at = hn_alloc_array(heap, HN_TAG_PROVE, (size_t)(1 + 2 * n), sizeof(hn_tensor));
    if (!r->out->values.at)
        return HN_ERR_MEMORY;
    const hn_type scalar = { .dtype = HN_F64 };
    HN_TRY(hn_tuning_pull(r->tuning));
    HN_TRY(keep(r, 0, &(hn_tensor){ .type = scalar, .data = &loss, .is_packed = true }));
    for (int p = 0; p < n; p++) {
        hn_tensor gradient;
        HN_TRY(hn_learner_gradient(r->learner, p, &gradient));
        HN_TRY(keep(r, 1 + p, &gradient));
        const hn_tensor updated =
            hn_tensor_at(&r->tuning->tensors[p].weight.type, hn_tuning_data(r->tuning, p));
        HN_TRY(keep(r, 1 + n + p, &updated));
    }
    return HN_OK;
}

static hn_status step(model_run *r)
{
    const hn_model_way *way = r->way;
    hn_learner_options o = { .objective = hn_instance_objective(r->instance),
                             .descent = { .mode = way->mode, .clip_norm = 1,
                                          .recompute_every = way->recompute_every } };
    const hn_run_spec run = { way->n_devices, way->devices, HN_NUMERICS_F32 };
    hn_learned learned;
    if (way->micro)
        o.objective.max_tokens = way->micro;
    HN_TRY(hn_instance_tune(r->instance, &r->tuning));
    HN_TRY(hn_learner_new(&r->learner, r->instance->heap, r->instance->model, r->tuning,
                          run, &o));
    r->out->workspace = hn_learner_memory(r->learner).workspace;
    way->devices[0]->backend->shuffle(way->devices[0], way->shuffle);
    const hn_status status =
        hn_learner_step(r->learner, &r->instance->batch, 1, 0.01f, NULL, &learned);
    way->devices[0]->backend->shuffle(way->devices[0], 0);
    HN_TRY(status);
    r->out->n_micro = learned.n_micro;
    return keep_all(r, learned.loss);
}

hn_status hn_model_run(const hn_instance *instance, const hn_model_way *way, hn_model_outcome *out)
{
    *out = (hn_model_outcome){ 0 };
    model_run r = { .instance = instance, .way = way, .out = out };
    const hn_status status = step(&r);
    hn_learner_free(r.learner);
    hn_tuning_free(r.tuning);
    if (status != HN_OK)
        hn_results_free(&out->values);
    return status;
}

void hn_model_value_name(const hn_model_outcome *o, int index, char *text, size_t bytes)
{
    if (index == 0)
        snprintf(text, bytes, "loss");
    else
        snprintf(text, bytes, "%s of tensor %d", index <= o->n_params ? "gradient" : "update",
                 (index - 1) % o->n_params);
}
