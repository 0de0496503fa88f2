/* An executable of one program, with memory for its inputs. */
#include "engine/engine.h"

#include "backend/executable.h"

#include <string.h>

struct hn_exec {
    hn_engine *engine;
    hn_builder *builder; /* held: its graph is what runs, and the caller's leaves are its */
    hn_executable *x;
    hn_engine_leaves leaves;
};

static hn_status make(hn_exec *x, hn_builder *b, int32_t n_wanted, hn_node *const *wanted,
                      const char *plan)
{
    hn_engine *e = b->engine;
    hn_plan_options options = { 0 };
    if (plan)
        HN_TRY(hn_plan_mode_parse(plan, &options.mode));
    HN_TRY(hn_graph_finish(b->g));
    HN_TRY(hn_builder_check_own(b, n_wanted, wanted));
    HN_TRY(hn_executable_new(&x->x, b->g, e->n_devices, e->devices));
    HN_TRY(hn_executable_plan(x->x, n_wanted, wanted, &options));
    for (int i = 0; i < b->g->n_leaves; i++)
        HN_TRY(hn_storage_make(hn_executable_storage(x->x), b->g->leaves[i]));
    HN_TRY(hn_engine_leaves_open(&x->leaves, e, b->g, hn_executable_storage(x->x)));
    return hn_executable_make(x->x);
}

hn_status hn_exec_new(hn_exec **out, hn_builder *b, int32_t n_wanted, hn_node *const *wanted,
                      const char *plan)
{
    HN_ENTER();
    HN_REQUIRE(out && b && n_wanted > 0 && wanted, HN_ERR_ARGUMENT,
               "hn_exec_new: NULL, or nothing wanted");
    *out = NULL;
    for (int i = 0; i < n_wanted; i++)
        HN_REQUIRE(wanted[i], HN_ERR_ARGUMENT, "wanted node %d is NULL", i);
    HN_TRY(hn_engine_check(b->engine));
    hn_exec *x = hn_alloc(&b->engine->heap, HN_TAG_PLAN, sizeof *x);
    if (!x)
        return HN_ERR_MEMORY;
    x->engine = b->engine;
    x->builder = hn_builder_hold(b);
    const hn_status status = make(x, b, n_wanted, wanted, plan);
    if (status != HN_OK) {
        hn_exec_free(x);
        return status;
    }
    *out = x;
    return HN_OK;
}

void hn_exec_free(hn_exec *x)
{
    HN_ENTER();
    if (!x)
        return;
    hn_executable_free(x->x);
    hn_engine_leaves_close(&x->leaves);
    hn_builder_let_go(x->builder);
    hn_free(&x->engine->heap, x);
}

hn_status hn_exec_write(hn_exec *x, const hn_node *leaf, const void *data, size_t bytes)
{
    HN_ENTER();
    HN_REQUIRE(x, HN_ERR_ARGUMENT, "no exec given");
    return hn_engine_write_leaf(&x->leaves, leaf, data, bytes);
}

hn_status hn_exec_extent(hn_exec *x, int32_t extent, int64_t size)
{
    HN_ENTER();
    HN_REQUIRE(x, HN_ERR_ARGUMENT, "no exec given");
    HN_TRY(hn_program_set_extent(hn_executable_program(x->x, 0), extent, size));
    hn_engine_leaves_extent(&x->leaves, extent, size);
    return HN_OK;
}

hn_status hn_exec_run(hn_exec *x)
{
    HN_ENTER();
    HN_REQUIRE(x, HN_ERR_ARGUMENT, "no exec given");
    HN_TRY(hn_engine_check(x->engine));
    HN_TRY(hn_engine_check_written(&x->leaves, hn_executable_look(x->x, 0)));
    const hn_run_options options = hn_engine_run_options(x->engine);
    return hn_program_run(hn_executable_program(x->x, 0), &options);
}

hn_status hn_exec_read(const hn_exec *x, int32_t index, void *to, size_t bytes)
{
    HN_ENTER();
    HN_REQUIRE(x, HN_ERR_ARGUMENT, "no exec given");
    hn_tensor t;
    HN_TRY(hn_program_result(hn_executable_program(x->x, 0), index, &t));
    return hn_engine_read_tensor(&t, to, bytes);
}

hn_status hn_exec_read_leaf(const hn_exec *x, const hn_node *leaf, void *to, size_t bytes)
{
    HN_ENTER();
    HN_REQUIRE(x, HN_ERR_ARGUMENT, "no exec given");
    return hn_engine_read_leaf(&x->leaves, leaf, to, bytes);
}

hn_status hn_exec_shape(const hn_exec *x, int32_t index, hn_shape *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_shape, out, to, size);
    HN_REQUIRE(x && to, HN_ERR_ARGUMENT, "no exec given");
    hn_tensor t;
    HN_TRY(hn_program_result(hn_executable_program(x->x, 0), index, &t));
    out->rank = t.type.rank;
    memcpy(out->dim, t.type.dim, sizeof out->dim);
    return HN_OK;
}

size_t hn_exec_workspace(const hn_exec *x)
{
    HN_ENTER();
    return x ? hn_executable_measure(x->x).workspace : 0;
}
