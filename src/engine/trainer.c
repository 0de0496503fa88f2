/* The optimiser step, with memory for every leaf. */
#include "engine/engine.h"
#include "train/descent.h"

#include <math.h>
#include <string.h>

struct hn_trainer {
    hn_engine *engine;
    hn_builder *builder; /* held: its graph is what is trained, and the caller's leaves are its */
    hn_descent *descent;
    hn_engine_leaves leaves;
};

static hn_status read_options(const hn_trainer_options *o, hn_descent_options *out)
{
    *out = (hn_descent_options){ .beta1 = o->beta1, .beta2 = o->beta2, .eps = o->eps,
                                 .momentum = o->momentum, .decay = o->decay,
                                 .clip_norm = o->clip_norm, .gclip = o->gclip,
                                 .stochastic = o->stochastic != 0, .master = o->master != 0,
                                 .seed = o->seed, .recompute_every = o->recompute_every };
    if (o->plan)
        HN_TRY(hn_plan_mode_parse(o->plan, &out->mode));
    const char *optimizer = o->optimizer ? o->optimizer : "adamw";
    HN_TRY(hn_optimizer_parse("optimizer", optimizer, &out->optimizer));
    HN_TRY(hn_moments_parse("moments", o->moments ? o->moments : "f32", &out->moments));
    HN_REQUIRE(o->recompute_every >= 0, HN_ERR_ARGUMENT, "recompute_every is negative");
    const float numbers[] = { o->beta1, o->beta2, o->eps, o->momentum, o->decay, o->clip_norm, o->gclip };
    static const char *const names[] = { "beta1", "beta2", "eps", "momentum", "decay", "clip_norm", "gclip" };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        HN_REQUIRE(isfinite(numbers[i]) && numbers[i] >= 0, HN_ERR_ARGUMENT,
                   "hn_trainer_options.%s is %g: expected a finite number, not negative", names[i], (double)numbers[i]);
    return HN_OK;
}

static hn_status make(hn_trainer *t, hn_builder *b, hn_node *loss, int32_t n,
                      hn_node *const *params, const hn_descent_options *options)
{
    HN_TRY(hn_descent_new(&t->descent, b->g, loss, n, params, b->engine->n_devices,
                          b->engine->devices, options));
    hn_storage *storage = hn_descent_storage(t->descent);
    for (int i = 0; i < b->g->n_leaves; i++)
        HN_TRY(hn_storage_make(storage, b->g->leaves[i]));
    HN_TRY(hn_engine_leaves_open(&t->leaves, b->engine, b->g, storage));
    return hn_descent_make(t->descent);
}

hn_status hn_trainer_new(hn_trainer **out, hn_builder *b, hn_node *loss, int32_t n,
                         hn_node *const *params, const hn_trainer_options *options)
{
    HN_ENTER();
    hn_trainer_options o;
    hn_descent_options inner;
    HN_REQUIRE(out && b && loss && n > 0 && params, HN_ERR_ARGUMENT,
               "hn_trainer_new: NULL, or nothing to train");
    *out = NULL;
    HN_TRY(hn_engine_check(b->engine));
    HN_TRY(hn_take_struct("hn_trainer_options", options, sizeof o, &o));
    HN_REQUIRE(!b->is_taken, HN_ERR_ARGUMENT, "a trainer has taken this builder's graph already");
    HN_TRY(hn_graph_finish(b->g));
    HN_TRY(hn_builder_check_own(b, 1, &loss));
    HN_TRY(hn_builder_check_given(b, n, params));
    HN_TRY(read_options(&o, &inner));
    hn_trainer *t = hn_alloc(&b->engine->heap, HN_TAG_PLAN, sizeof *t);
    if (!t)
        return HN_ERR_MEMORY;
    t->engine = b->engine;
    t->builder = hn_builder_hold(b);
    b->is_taken = true;
    const hn_status status = make(t, b, loss, n, params, &inner);
    if (status != HN_OK) {
        hn_trainer_free(t);
        return status;
    }
    *out = t;
    return HN_OK;
}

void hn_trainer_free(hn_trainer *t)
{
    HN_ENTER();
    if (!t)
        return;
    hn_descent_free(t->descent);
    hn_engine_leaves_close(&t->leaves);
    hn_builder_let_go(t->builder);
    hn_free(&t->engine->heap, t);
}

hn_status hn_trainer_write(hn_trainer *t, const hn_node *leaf, const void *data, size_t bytes)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    return hn_engine_write_leaf(&t->leaves, leaf, data, bytes);
}

hn_status hn_trainer_read(const hn_trainer *t, const hn_node *leaf, void *to, size_t bytes)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    return hn_engine_read_leaf(&t->leaves, leaf, to, bytes);
}

hn_status hn_trainer_extent(hn_trainer *t, int32_t extent, int64_t size)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    HN_TRY(hn_descent_set_extent(t->descent, extent, size));
    hn_engine_leaves_extent(&t->leaves, extent, size);
    return HN_OK;
}

hn_status hn_trainer_begin(hn_trainer *t)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    return hn_descent_begin(t->descent);
}

static hn_status check_ready(const hn_trainer *t)
{
    HN_TRY(hn_engine_check(t->engine));
    return hn_engine_check_written(&t->leaves, hn_descent_plan(t->descent));
}

hn_status hn_trainer_micro(hn_trainer *t)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    HN_TRY(check_ready(t));
    const hn_run_options options = hn_engine_run_options(t->engine);
    return hn_descent_micro(t->descent, &options);
}

hn_status hn_trainer_scan(hn_trainer *t)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    HN_TRY(check_ready(t));
    hn_run_options options = hn_engine_run_options(t->engine);
    options.scan = true;
    HN_TRY(hn_descent_begin(t->descent));
    return hn_descent_micro(t->descent, &options);
}

hn_status hn_trainer_finish(hn_trainer *t, float learning_rate, double *loss, double *grad_norm)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    HN_TRY(hn_engine_check(t->engine));
    hn_descent_result result = { 0 };
    const hn_status status = hn_descent_finish(t->descent, learning_rate, &result);
    if (loss)
        *loss = result.loss;
    if (grad_norm)
        *grad_norm = result.grad_norm;
    return status;
}

hn_status hn_trainer_gradient(const hn_trainer *t, int32_t index, float *to, size_t bytes)
{
    HN_ENTER();
    HN_REQUIRE(t, HN_ERR_ARGUMENT, "no trainer given");
    HN_TRY(hn_engine_check(t->engine));
    hn_descent_result result;
    HN_TRY(hn_descent_check(t->descent, &result));
    hn_tensor gradient;
    HN_TRY(hn_descent_gradient(t->descent, index, &gradient));
    return hn_engine_read_tensor(&gradient, to, bytes);
}
