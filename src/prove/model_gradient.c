/* In double: the gradient along a random direction of each parameter (or, of deep models, of all
 * at once) against differences of the loss. Then the f32 gradient against the double one. */
#include "base/rng.h"
#include "diff/diff.h"
#include "graph/layout.h"
#include "prove/check_model.h"
#include "prove/oracle.h"
#include "train/feed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REDRAWS = 12, MOST_SINGLE = 40, MOST_HALVINGS = 12, LAST_BITS = 4 };

static const double step = 1e-4;
static const double direction_bound = 1e-6;
static const double precision_bound = 2e-4;

typedef struct model_proof {
    hn_prove_env *env;
    hn_instance *instance;
    hn_tuning *tuning;
    hn_graph *g;
    hn_objective objective;
    hn_micro micro;
    hn_step_numbers numbers;
    hn_oracle *full, *forward;
    int n_params;
    hn_node **params; /* leaves */
    hn_node **wanted; /* loss, then gradients */
} model_proof;

static hn_status give(void *oracle, const hn_leaf *leaf, const void *data, size_t bytes)
{
    (void)bytes;
    const hn_tensor value = hn_tensor_at(&leaf->type, (void *)(uintptr_t)data);
    return hn_oracle_give(oracle, leaf, &value);
}

static hn_status give_all(model_proof *m, hn_oracle *o)
{
    return hn_feed_visit(&m->objective, &m->micro, &m->numbers, give, o);
}

/* ---- directions ---- */

/* A direction over parameters [first, end): standard normal, roughly. */
static double direction(const hn_rng_key key, int p, int64_t i)
{
    const hn_rng_key own = hn_rng_fold(key, (uint64_t)p);
    const double sum = (double)hn_rng_uniform(own, (uint64_t)(2 * i)) +
                       (double)hn_rng_uniform(own, (uint64_t)(2 * i + 1));
    return (sum - 1) * 2.449489742783178; /* variance 1 */
}

static void move(model_proof *m, hn_rng_key key, int first, int end, double by)
{
    for (int p = first; p < end; p++) {
        hn_tensor *w = hn_oracle_leaf(m->forward, m->params[p]->leaf);
        for (int64_t i = 0; i < hn_count(&w->type); i++)
            hn_set(w, i, hn_get(w, i) + by * direction(key, p, i));
    }
}

static hn_status loss_at(model_proof *m, hn_rng_key key, int first, int end, double by,
                         double *loss, bool *moved)
{
    bool choice;
    move(m, key, first, end, by);
    HN_TRY(hn_oracle_run(m->forward, true, &choice));
    *loss = hn_get(hn_oracle_value(m->forward, m->objective.loss), 0);
    move(m, key, first, end, -by);
    *moved = *moved || choice;
    return HN_OK;
}

static double along(const model_proof *m, hn_rng_key key, int first, int end, double *norm)
{
    double sum = 0, squares = 0;
    for (int p = first; p < end; p++) {
        const hn_tensor *g = hn_oracle_value(m->full, m->wanted[1 + p]);
        for (int64_t i = 0; i < hn_count(&g->type); i++) {
            sum += hn_get(g, i) * direction(key, p, i);
            squares += hn_get(g, i) * hn_get(g, i);
        }
    }
    *norm = sqrt(squares);
    return sum;
}

/* *moved: no step was small enough to stay on its side of every tie and kink. */
static hn_status check_direction(model_proof *m, int first, int end, bool *moved)
{
    static const double at[4] = { -2, -1, 1, 2 };
    int halvings_left = 6;
    bool stayed = false;
    const hn_rng_key key = hn_rng_seed(m->env->seed + 31 + (uint64_t)first);
    double f[4], norm, want = 0, error = INFINITY;
    const double got = along(m, key, first, end, &norm);
    int64_t n = 0;
    for (int p = first; p < end; p++)
        n += hn_count(&m->params[p]->type);
    /* A loss that bends much over a step wants a smaller one; a wrong gradient agrees with none. */
    double h = step / sqrt((double)n) * 4;
    for (int i = 0; i < MOST_HALVINGS && halvings_left && error > direction_bound; i++, h /= 2) {
        bool crossed = false;
        for (int k = 0; k < 4 && !crossed; k++)
            HN_TRY(loss_at(m, key, first, end, at[k] * h, &f[k], &crossed));
        if (crossed)
            continue;
        stayed = true;
        halvings_left--;
        const double quotient = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
        const double own = fabs(got - quotient) / (norm + 1e-4);
        if (own < error || isinf(error)) {
            error = own;
            want = quotient;
        }
    }
    *moved = !stayed;
    if (*moved)
        return HN_OK;
    hn_report_note(m->env->report, m->instance->spec.name, HN_CHECK_DIRECTIONS, error, direction_bound,
                   "%s%s: %.10g where differences give %.10g",
                   end - first == 1 ? m->params[first]->leaf->name : "all parameters", "", got,
                   want);
    return HN_OK;
}

/* A step that crosses a tie between experts, or a kink, says nothing: *moved. */
static hn_status check_directions(model_proof *m, bool *moved)
{
    const int n = m->n_params;
    for (int p = 0; p < n && n <= MOST_SINGLE && !*moved; p++)
        HN_TRY(check_direction(m, p, p + 1, moved));
    if (!*moved)
        HN_TRY(check_direction(m, 0, n, moved));
    return HN_OK;
}

/* ---- f32 against double ---- */

static double largest(const hn_tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < hn_count(&t->type); i++)
        most = fmax(most, fabs(hn_get(t, i)));
    return most;
}

/* How far result r of f32 is from that of double, and where. Some gradients are exactly zero: of keys, where a
 * query sees only its own. What rounding leaves there is measured against the whole gradient. */
static double distance(const model_proof *m, double whole, int r, const hn_tensor *got, int64_t *at)
{
    const hn_tensor *want = hn_oracle_value(m->full, m->wanted[r]);
    const double scale = largest(want) + (r ? 1e-2 * whole : 0) + 1e-30;
    double worst = 0;
    *at = 0;
    for (int64_t i = 0; i < hn_count(&want->type); i++) {
        const double error = fabs(hn_get(got, i) - hn_get(want, i)) / scale;
        if (!(error <= worst)) {
            worst = error;
            *at = i;
        }
    }
    return worst;
}

static double largest_gradient(const model_proof *m)
{
    double whole = 0;
    for (int p = 0; p < m->n_params; p++)
        whole = fmax(whole, largest(hn_oracle_value(m->full, m->wanted[1 + p])));
    return whole;
}

static double farthest(const model_proof *m, const hn_tensor *got)
{
    const double whole = largest_gradient(m);
    double most = 0;
    int64_t at;
    for (int r = 0; r <= m->n_params; r++) {
        const double own = distance(m, whole, r, &got[r], &at);
        most = own <= most ? most : own;
    }
    return most;
}

static hn_status keep_results(model_proof *m, hn_results *kept)
{
    kept->at = hn_alloc_array(kept->heap, HN_TAG_PROVE, (size_t)kept->n, sizeof *kept->at);
    if (!kept->at)
        return HN_ERR_MEMORY;
    for (int r = 0; r < kept->n; r++) {
        const hn_tensor *value = hn_oracle_value(m->full, m->wanted[r]);
        hn_type type = value->type;
        hn_type_pack(&type);
        void *data = hn_alloc(kept->heap, HN_TAG_PROVE, hn_type_bytes(&type));
        if (!data)
            return HN_ERR_MEMORY;
        kept->at[r] = hn_tensor_at(&type, data);
        hn_tensor_copy(&kept->at[r], value);
    }
    return HN_OK;
}

/* Every number that the step reads, up or down by f32's last bit. Weights that are not trained too: where a product's
 * result is rounded, another weight would have given it. */
static void move_by_last_bit(model_proof *m, hn_rng_key key, bool back)
{
    const double bit = 0x1p-24;
    for (int n = 0; n < m->g->n_leaves; n++) {
        hn_tensor *w = hn_oracle_leaf(m->full, m->g->leaves[n]);
        const hn_rng_key own = hn_rng_fold(key, (uint64_t)n);
        for (int64_t i = 0; w && w->type.dtype == HN_F64 && i < hn_count(&w->type); i++) {
            const double by = 1 + (hn_rng_u32(own, (uint64_t)i) & 1 ? bit : -bit);
            hn_set(w, i, back ? hn_get(w, i) / by : hn_get(w, i) * by);
        }
    }
}

/* How far double's own results go from there: no f32 is nearer. Infinity: some choice is made otherwise, or a kink
 * is crossed. */
static hn_status last_bit(model_proof *m, double *out)
{
    hn_results kept = { .heap = m->env->heap, .n = 1 + m->n_params };
    hn_status status = keep_results(m, &kept);
    *out = 0;
    for (uint64_t draw = 0; draw < LAST_BITS && status == HN_OK; draw++) {
        const hn_rng_key key = hn_rng_fold(hn_rng_seed(m->env->seed + 77), draw);
        bool moved = false;
        move_by_last_bit(m, key, false);
        status = hn_oracle_run(m->full, true, &moved);
        *out = moved ? (double)INFINITY : fmax(*out, farthest(m, kept.at));
        move_by_last_bit(m, key, true);
        if (isinf(*out))
            break;
    }
    if (status == HN_OK) /* results where nothing is moved */
        status = hn_oracle_run(m->full, false, NULL);
    hn_results_free(&kept);
    return status;
}

/* *moved: the instance says nothing, for it is finer than f32. */
static hn_status check_precision(model_proof *m, const hn_model_outcome *f32, bool *moved)
{
    if (!(farthest(m, f32->values.at) <= precision_bound)) {
        double own = 0;
        HN_TRY(last_bit(m, &own));
        *moved = own > precision_bound / 4;
        if (*moved)
            return HN_OK;
    }
    const double whole = largest_gradient(m);
    for (int r = 0; r <= m->n_params; r++) {
        const hn_tensor *want = hn_oracle_value(m->full, m->wanted[r]);
        const hn_tensor *got = &f32->values.at[r];
        int64_t at;
        const double worst = distance(m, whole, r, got, &at);
        hn_report_note(m->env->report, m->instance->spec.name, HN_CHECK_PRECISION, worst, precision_bound,
                       "%s, element %lld: %.9g where double gives %.9g",
                       r ? m->params[r - 1]->leaf->name : "loss", (long long)at,
                       hn_get(got, at), hn_get(want, at));
    }
    return HN_OK;
}

/* The sizes of the graph are those of the batch. */
static hn_status build(model_proof *m)
{
    const hn_batch *batch = &m->instance->batch;
    hn_objective_options o = hn_instance_objective(m->instance);
    const int64_t n = (int64_t)batch->n_tokens;
    HN_TRY(hn_micro_new(&m->micro, m->env->heap, n, n, 0));
    HN_TRY(hn_micro_fill(&m->micro, hn_model_hparams(m->instance->model), batch, 0, batch->n_examples));
    m->numbers = (hn_step_numbers){ .count = (float)batch->weight,
                                    .n_sequences = (float)batch->n_sequences,
                                    .n_tokens = (float)n, .step = 1 };
    o.max_rows = m->micro.n_rows;
    HN_TRY(hn_instance_tune(m->instance, &m->tuning));
    HN_TRY(hn_graph_new(&m->g, m->env->heap));
    HN_TRY(hn_objective_build(&m->objective, m->g, m->instance->model, m->tuning, &o));
    m->n_params = m->tuning->n_tensors;
    m->params = hn_graph_alloc(m->g, (size_t)m->n_params * sizeof *m->params);
    m->wanted = hn_graph_alloc(m->g, (size_t)(1 + m->n_params) * sizeof *m->wanted);
    if (!m->params || !m->wanted)
        return HN_ERR_MEMORY;
    return hn_objective_params(&m->objective, m->tuning, m->params);
}

static hn_status prepare(model_proof *m)
{
    HN_TRY(build(m));
    m->wanted[0] = m->objective.loss;
    HN_TRY(hn_oracle_new(&m->forward, m->g, 1, m->wanted));
    HN_TRY(hn_diff(m->g, m->objective.loss, m->n_params, m->params, NULL, m->wanted + 1));
    HN_TRY(hn_oracle_new(&m->full, m->g, 1 + m->n_params, m->wanted));
    HN_TRY(give_all(m, m->full));
    HN_TRY(give_all(m, m->forward));
    HN_TRY(hn_oracle_run(m->full, false, NULL));
    return hn_oracle_run(m->forward, false, NULL);
}

static hn_status prove_once(hn_prove_env *env, hn_instance *instance, const hn_model_outcome *f32,
                            bool *moved)
{
    *moved = false;
    model_proof m = { .env = env, .instance = instance };
    hn_status status = prepare(&m);
    if (status == HN_OK)
        status = check_precision(&m, f32, moved);
    if (status == HN_OK && !*moved && !env->cpu) /* slopes in double are of no device */
        status = check_directions(&m, moved);
    hn_oracle_free(m.full);
    hn_oracle_free(m.forward);
    hn_graph_free(m.g);
    hn_tuning_free(m.tuning);
    hn_micro_free(&m.micro);
    return status;
}

static hn_status prove_anew(hn_prove_env *env, hn_instance *instance, bool *moved)
{
    const hn_model_way way = { .n_devices = 1, .devices = &env->one, .mode = HN_PLAN_SEPARATE };
    hn_model_outcome f32;
    HN_TRY(hn_model_run(instance, &way, &f32));
    const hn_status status = prove_once(env, instance, &f32, moved);
    hn_results_free(&f32.values);
    return status;
}

hn_status hn_check_model_gradient(hn_prove_env *env, hn_instance *instance, const hn_model_outcome *f32)
{
    bool moved;
    HN_TRY(prove_once(env, instance, f32, &moved));
    for (int draw = 1; draw < REDRAWS && moved; draw++) { /* other weights and tokens, clear of ties */
        hn_instance_spec spec = instance->spec;
        hn_instance other;
        spec.seed += (uint64_t)(101 * draw);
        HN_TRY(hn_instance_open(&other, env->heap, &spec));
        const hn_status status = prove_anew(env, &other, &moved);
        hn_instance_close(&other);
        HN_TRY(status);
    }
    if (moved)
        hn_report_note(env->report, instance->spec.name, HN_CHECK_DIRECTIONS, 1, 0,
                       "no weights found that are clear of ties between experts and of kinks");
    return HN_OK;
}
