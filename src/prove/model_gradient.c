/* In double: the gradient along a random direction of each parameter (or, of deep models, of all
 * at once) against differences of the loss. Then the f32 gradient against the double one. */
#include "base/rng.h"
#include "diff/diff.h"
#include "graph/layout.h"
#include "prove/check_model.h"
#include "prove/oracle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REDRAWS = 4, MOST_SINGLE = 40 };

static const double step = 1e-4;
static const double direction_bound = 1e-6;
static const double precision_bound = 2e-4;

typedef struct model_proof {
    hn_prove_env *env;
    const hn_model_spec *spec;
    hn_graph *g;
    nn_decoder *d;
    hn_model_batch batch;
    hn_oracle *full, *forward;
    hn_node *wanted[NN_MAX_PARAMS + 1]; /* loss, then gradients */
} model_proof;

static hn_status give_input(hn_oracle *o, hn_node *node, void *data)
{
    const hn_tensor t = hn_tensor_at(&node->leaf->type, data);
    return hn_oracle_give(o, node->leaf, &t);
}

static hn_status give_weight(const model_proof *m, hn_oracle *o, const hn_leaf *leaf)
{
    const hn_type type = hn_type_plain(&leaf->type);
    void *data = hn_alloc(m->env->heap, HN_TAG_PROVE, hn_type_bytes(&type));
    if (!data)
        return HN_ERR_MEMORY;
    const hn_tensor w = hn_tensor_at(&type, data);
    hn_status status = nn_decoder_init_weight(leaf, m->spec->seed, m->env->heap, &w);
    if (status == HN_OK)
        status = hn_oracle_give(o, leaf, &w);
    hn_free(m->env->heap, data);
    return status;
}

static hn_status give_all(model_proof *m, hn_oracle *o)
{
    HN_TRY(give_input(o, m->d->tokens, m->batch.tokens));
    HN_TRY(give_input(o, m->d->labels, m->batch.labels));
    HN_TRY(give_input(o, m->d->segments, m->batch.segments));
    HN_TRY(give_input(o, m->d->positions, m->batch.positions));
    HN_TRY(give_input(o, m->d->at, m->batch.at));
    HN_TRY(give_input(o, m->d->step, &m->batch.step));
    HN_TRY(give_input(o, m->d->count, &m->batch.count));
    HN_TRY(give_input(o, m->d->sequences, &m->batch.sequences));
    for (int i = 0; i < m->g->n_leaves; i++)
        if (m->g->leaves[i]->kind == HN_LEAF_WEIGHT)
            HN_TRY(give_weight(m, o, m->g->leaves[i]));
    return HN_OK;
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
        hn_tensor *w = hn_oracle_leaf(m->forward, m->d->params[p]->leaf);
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
    *loss = hn_get(hn_oracle_value(m->forward, m->d->loss), 0);
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

static hn_status check_direction(model_proof *m, int first, int end, bool *moved)
{
    static const double at[4] = { -2, -1, 1, 2 };
    const hn_rng_key key = hn_rng_seed(m->env->seed + 31 + (uint64_t)first);
    double f[4], norm;
    const double got = along(m, key, first, end, &norm);
    int64_t n = 0;
    for (int p = first; p < end; p++)
        n += hn_count(&m->d->params[p]->type);
    const double h = step / sqrt((double)n) * 4;
    for (int k = 0; k < 4; k++)
        HN_TRY(loss_at(m, key, first, end, at[k] * h, &f[k], moved));
    if (*moved)
        return HN_OK;
    const double want = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
    hn_report_note(m->env->report, m->spec->name, "directions",
                   fabs(got - want) / (norm + 1e-4), direction_bound,
                   "%s%s: %.10g where differences give %.10g",
                   end - first == 1 ? m->d->params[first]->leaf->name : "all parameters", "", got,
                   want);
    return HN_OK;
}

/* Directions whose steps cross a tie between experts are drawn again with a smaller model of the
 * step: the spec's seed moves. */
static hn_status check_directions(model_proof *m, bool *moved)
{
    const int n = m->d->n_params;
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

static void check_precision(const model_proof *m, const hn_model_outcome *f32)
{
    /* Some gradients are exactly zero: of keys, where a query sees only its own. What rounding
     * leaves there is measured against the whole gradient. */
    double whole = 0;
    for (int p = 0; p < m->d->n_params; p++)
        whole = fmax(whole, largest(hn_oracle_value(m->full, m->wanted[1 + p])));
    for (int r = 0; r <= m->d->n_params; r++) {
        const hn_tensor *want = hn_oracle_value(m->full, m->wanted[r]);
        const hn_tensor *got = &f32->values.at[r];
        const double scale = largest(want) + (r ? 1e-2 * whole : 0) + 1e-30;
        double worst = 0;
        int64_t at = 0;
        for (int64_t i = 0; i < hn_count(&want->type); i++) {
            const double error = fabs(hn_get(got, i) - hn_get(want, i)) / scale;
            if (!(error <= worst)) {
                worst = error;
                at = i;
            }
        }
        hn_report_note(m->env->report, m->spec->name, "precision", worst, precision_bound,
                       "%s, element %lld: %.9g where double gives %.9g",
                       r ? m->d->params[r - 1]->leaf->name : "loss", (long long)at,
                       hn_get(got, at), hn_get(want, at));
    }
}

static hn_status prepare(model_proof *m)
{
    nn_decoder_options o = m->spec->o;
    HN_TRY(hn_model_batch_new(&m->batch, m->spec, m->env->heap));
    o.max_tokens = m->batch.n_tokens;
    HN_TRY(hn_graph_new(&m->g, m->env->heap));
    nn_decoder_build(m->d, m->g, &o);
    HN_TRY(hn_graph_finish(m->g));
    m->wanted[0] = m->d->loss;
    HN_TRY(hn_oracle_new(&m->forward, m->g, 1, m->wanted));
    HN_TRY(hn_diff(m->g, m->d->loss, m->d->n_params, m->d->params, NULL, m->wanted + 1));
    HN_TRY(hn_oracle_new(&m->full, m->g, 1 + m->d->n_params, m->wanted));
    HN_TRY(give_all(m, m->full));
    HN_TRY(give_all(m, m->forward));
    HN_TRY(hn_oracle_run(m->full, false, NULL));
    return hn_oracle_run(m->forward, false, NULL);
}

static hn_status prove_once(hn_prove_env *env, const hn_model_spec *spec,
                            const hn_model_outcome *f32, bool *moved)
{
    *moved = false;
    model_proof *m = hn_alloc(env->heap, HN_TAG_PROVE, sizeof *m);
    if (!m)
        return HN_ERR_MEMORY;
    m->env = env;
    m->spec = spec;
    m->d = hn_alloc(env->heap, HN_TAG_PROVE, sizeof *m->d);
    hn_status status = m->d ? prepare(m) : HN_ERR_MEMORY;
    if (status == HN_OK && f32)
        check_precision(m, f32);
    if (status == HN_OK)
        status = check_directions(m, moved);
    hn_oracle_free(m->full);
    hn_oracle_free(m->forward);
    hn_graph_free(m->g);
    hn_model_batch_free(&m->batch, env->heap);
    hn_free(env->heap, m->d);
    hn_free(env->heap, m);
    return status;
}

hn_status hn_check_model_gradient(hn_prove_env *env, const hn_model_spec *spec,
                                  const hn_model_outcome *f32)
{
    hn_model_spec own = *spec;
    for (int draw = 0; draw < REDRAWS; draw++) {
        bool moved;
        HN_TRY(prove_once(env, &own, draw ? NULL : f32, &moved));
        if (!moved)
            return HN_OK;
        own.seed += 101; /* other weights and tokens, clear of ties */
    }
    hn_report_note(env->report, spec->name, "directions", 1, 0,
                   "no weights found that are clear of ties between experts");
    return HN_OK;
}
