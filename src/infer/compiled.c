/* Weights are bound where they are mapped, or wait to be packed. What another has packed already is taken
 * when it is planned, so that they are not counted, and once more when it is finished, for some may have been
 * packed since; only then is memory made, all of it before the first row is packed, so that weights lie in one
 * block. */
#include "infer/compiled.h"

#include "base/map_file.h"
#include "base/work.h"
#include "infer/fit.h"

#include <string.h>

static const hn_layout *prefers(const void *compiled, int device, hn_dtype dtype, int rank)
{
    const hn_device *d = ((const hn_compiled *)compiled)->devices[device];
    return d->backend->prefers(d, dtype, rank);
}

static hn_status build(hn_compiled *c, hn_heap *heap, const hn_model *model, const hn_run_spec *run,
                       const nn_build_options *options)
{
    nn_build_options o = *options;
    c->n_devices = run->n_devices;
    memcpy(c->devices, run->devices, (size_t)run->n_devices * sizeof *run->devices);
    c->run = *run;
    c->run.devices = c->devices;
    o.prefers = prefers;
    o.prefers_of = c;
    c->run.split = o.split = hn_run_split(run, hn_model_hparams(model)->n_layer);
    c->model = model;
    HN_TRY(hn_graph_new(&c->g, heap));
    c->result = hn_model_build(model, &c->build, c->g, &o);
    return hn_graph_finish(c->g);
}

static bool goes_into_product(const nn_build *b, const nn_weight *w)
{
    for (int i = 0; i < b->n_uses; i++)
        if (b->uses[i].weight == w)
            return true;
    return false;
}

/* A pair of an adapter changes products, and the rows of words: of tables that are looked up by anything else it would pass
 * for applied. The head's are not missed where there is none. */
static hn_status check_adapters(const hn_compiled *c)
{
    const nn_build *b = &c->build;
    size_t n = 0;
    const hn_arch_tensor *all = hn_model_tensors(c->model, &n);
    for (size_t i = 0; b->o.n_adapters && i < n; i++) {
        const nn_weight *w = hn_model_find(c->model, all[i].gguf);
        const bool is_head = b->o.gives_states && !strcmp(all[i].gguf, "output.weight");
        HN_REQUIRE(!w || is_head || !strcmp(w->name, "token_embd.weight") || !nn_is_adapted(b, w) || goes_into_product(b, w),
                   HN_ERR_UNSUPPORTED, "an adapter of %s: it goes into no product", w->name);
    }
    return HN_OK;
}

typedef struct trial {
    hn_heap *heap;
    const hn_model *model;
    const nn_build_options *options;
} trial;

static hn_status try_split(void *context, const hn_run_spec *run, hn_device_bytes *on)
{
    const trial *t = context;
    hn_compiled c = { 0 };
    hn_status status = build(&c, t->heap, t->model, run, t->options);
    if (status == HN_OK)
        status = hn_compiled_plan(&c, 1, &c.result, NULL);
    if (status == HN_OK)
        hn_fit_count(run, 1, (const hn_executable *const[]){ c.x }, on);
    hn_compiled_free(&c);
    return status;
}

hn_status hn_compiled_build(hn_compiled *c, hn_heap *heap, const hn_model *model,
                            hn_run_spec run, const nn_build_options *options)
{
    trial t = { heap, model, options };
    HN_TRY(hn_fit_layers(&run, hn_model_hparams(model)->n_layer, try_split, &t));
    HN_TRY(build(c, heap, model, &run, options));
    return check_adapters(c);
}

static hn_plain_rows rows_of(const nn_bound *b)
{
    return (hn_plain_rows){ b->weight->data, b->weight->type.dtype, b->pairs };
}

static void share_weights(hn_compiled *c)
{
    for (int i = 0; i < c->build.n_bound; i++) {
        const hn_plain_rows rows = rows_of(&c->build.bound[i]);
        if (c->build.bound[i].is_packed)
            hn_storage_share(c->storage, c->build.bound[i].leaf->leaf, &rows);
    }
}

hn_status hn_compiled_plan(hn_compiled *c, int n_wanted, hn_node *const *wanted,
                           const char *mode)
{
    hn_plan_options options = { 0 };
    if (mode)
        HN_TRY(hn_plan_mode_parse(mode, &options.mode));
    HN_TRY(hn_executable_new(&c->x, c->g, c->n_devices, c->devices));
    HN_TRY(hn_executable_plan(c->x, n_wanted, wanted, &options));
    c->storage = hn_executable_storage(c->x);
    for (int i = 0; i < c->build.n_bound; i++)
        if (!c->build.bound[i].is_packed) {
            const nn_weight *w = c->build.bound[i].weight;
            HN_TRY(hn_storage_bind(c->storage, c->build.bound[i].leaf->leaf, w->data, hn_type_bytes(&w->type)));
        }
    share_weights(c); /* what is there is not counted */
    return HN_OK;
}

/* What was packed is not read where it was mapped again: its pages may leave. */
static hn_status pack_weights(hn_compiled *c)
{
    for (int i = 0; i < c->build.n_bound; i++) {
        const nn_bound *b = &c->build.bound[i];
        HN_TRY(hn_work_tell((uint64_t)i, (uint64_t)c->build.n_bound, b->weight->name));
        if (!b->is_packed)
            continue;
        const hn_plain_rows rows = rows_of(b);
        HN_TRY(hn_storage_pack(c->storage, b->leaf->leaf, &rows));
        hn_map_release(b->weight->data, hn_type_bytes(&b->weight->type));
    }
    return HN_OK;
}

hn_status hn_compiled_finish(hn_compiled *c)
{
    share_weights(c);
    /* All memory first: weights then lie in one block. */
    HN_TRY(hn_storage_make_all(c->storage));
    HN_TRY(pack_weights(c));
    HN_TRY(hn_executable_make(c->x));
    c->program = hn_executable_program(c->x, 0);
    return HN_OK;
}

void hn_compiled_free(hn_compiled *c)
{
    hn_executable_free(c->x);
    hn_graph_free(c->g);
    *c = (hn_compiled){ 0 };
}
