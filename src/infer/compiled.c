#include "infer/compiled.h"

#include "base/map_file.h"

#include <string.h>

static hn_layout prefers(const void *compiled, int device, hn_dtype dtype, int rank)
{
    const hn_device *d = ((const hn_compiled *)compiled)->devices[device];
    return d->backend->prefers(d, dtype, rank);
}

hn_status hn_compiled_build(hn_compiled *c, hn_heap *heap, const hn_model *model,
                            hn_run_spec run, const nn_build_options *options)
{
    nn_build_options o = *options;
    o.prefers = prefers;
    o.prefers_of = c;
    o.n_devices = c->n_devices = run.n_devices;
    memcpy(c->devices, run.devices, (size_t)run.n_devices * sizeof *run.devices);
    c->model = model;
    HN_TRY(hn_graph_new(&c->g, heap));
    c->result = hn_model_build(model, &c->build, c->g, &o);
    return hn_graph_finish(c->g);
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
    return HN_OK;
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

/* What was packed is not read where it was mapped again: its pages may leave. */
static hn_status pack_weights(hn_compiled *c)
{
    for (int i = 0; i < c->build.n_bound; i++) {
        const nn_bound *b = &c->build.bound[i];
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
