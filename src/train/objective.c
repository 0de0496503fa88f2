/* The base comes first in the graph, where a goal needs it, so that recomputation, which clones what lies before a
 * reader, never reaches into it. Sums over tokens stay sums to the end, and are divided by the step's counts, not
 * by a micro-batch's. */
#include "train/objective.h"

#include "nn/rounding.h"
#include "ops/cross_entropy.h"

#include <stdio.h>
#include <string.h>

hn_node *hn_objective_logits(nn_build *b)
{
    const nn_head_parts *head = &b->head;
    hn_graph *g = b->g;
    if (!head->w)
        return hn_graph_fail(g, HN_ERR_UNSUPPORTED, "the model has no head: nothing to train");
    hn_node *z = nn_product(b, head->x, head->w, 0);
    const bool is_own = !strcmp(head->w->name, "output.weight");
    z = is_own ? nn_adapt(b, z, head->x, head->w, NULL) : nn_product_out(b, z, head->w);
    if (head->divisor > 0)
        z = hn_div(g, z, hn_graph_scalar(g, head->divisor));
    return head->softcap > 0 ? hn_softcap(g, z, head->softcap) : z;
}

static bool adapts_head(const nn_build *b)
{
    return b->head.w && !strcmp(b->head.w->name, "output.weight") && nn_is_adapted(b, b->head.w);
}

/* From the head's parts where nothing changes them, so that the logits never exist; else from the
 * logits. */
hn_node *hn_objective_nll(hn_objective *o, nn_build *b, hn_node **nll)
{
    hn_graph *g = o->g;
    const nn_head_parts *head = &b->head;
    const bool wants_logits = o->o.wants_logits || o->goal->needs_logits;
    if (!wants_logits && !adapts_head(b) && head->w) {
        const hn_cross_entropy_attrs how = { .ignore = -100, .softcap = head->softcap,
                                             .logit_scale =
                                                 head->divisor > 0 ? 1 / head->divisor : 1,
                                             .narrow = nn_is_narrow(b, head->w) };
        hn_node *loss = HN_APPLY(g, &hn_op_cross_entropy, &how, head->x, nn_leaf(b, head->w),
                                 o->labels, o->weights, o->count, NULL);
        *nll = hn_output(loss, 2);
        return loss;
    }
    hn_node *z = hn_objective_logits(b);
    o->logits = z;
    hn_node *column = hn_reshape(g, o->labels, (hn_ints){ 2, { -1, 1 } });
    hn_node *said = hn_reshape(g, hn_take(g, z, column), (hn_ints){ 1, { -1 } });
    *nll = hn_sub(g, hn_logsumexp(g, z, -1, false), said);
    hn_node *sum = hn_sum(g, hn_mul(g, *nll, o->weights), NULL, 0, false);
    return hn_div(g, sum, o->count);
}

hn_node *hn_objective_by_pair(hn_objective *o, hn_node *of_rows)
{
    hn_node *column = hn_reshape(o->g, of_rows, (hn_ints){ 2, { -1, 1 } });
    return hn_scatter_add(o->g, column, o->pair_of, o->no_pairs, NULL);
}

float hn_objective_beta(const hn_objective *o)
{
    return o->o.beta > 0 ? o->o.beta : 0.1f;
}

/* ---- routers ---- */

/* What an expert's share of a token is, for its balance: of all experts, also where the weights are of the chosen alone. */
static int shares_of(const nn_route *route)
{
    return route->score == HN_ROUTER_SIGMOID ? HN_ROUTER_SIGMOID : HN_ROUTER_SOFTMAX;
}

/* Of all layers' tokens at once. Transformers counts a token once for each expert that it goes to, so
 * that even use gives their number a token, not 1. The sum around it lets micro-batches continue it, of which a
 * trainer allows one. */
static hn_node *batch_balance(hn_objective *o)
{
    hn_graph *g = o->g;
    const nn_build *b = &o->policy;
    hn_node *logits = b->routes[0].logits, *ids = b->routes[0].ids;
    for (int i = 1; i < b->n_routes; i++) {
        logits = hn_concat(g, logits, b->routes[i].logits, 0);
        ids = hn_concat(g, ids, b->routes[i].ids, 0);
    }
    hn_node *balance = hn_router_balance_batch(g, logits, ids, shares_of(&b->routes[0]));
    return hn_sum(g, hn_reshape(g, balance, (hn_ints){ 1, { 1 } }), NULL, 0, false);
}

static hn_node *route_losses(hn_objective *o, hn_node *loss)
{
    hn_graph *g = o->g;
    const nn_build *b = &o->policy;
    const float share = b->n_routes ? 1 / (float)b->n_routes : 0;
    const float used = b->n_routes ? (float)b->routes[0].ids->type.dim[1] : 0;
    if (o->o.balance > 0 && o->o.balances_batch)
        loss = hn_add(g, loss, hn_scale(g, batch_balance(o), o->o.balance * used, 0));
    for (int i = 0; i < b->n_routes; i++) {
        const nn_route *r = &b->routes[i];
        if (o->o.balance > 0 && !o->o.balances_batch) {
            hn_node *balance = hn_router_balance(g, r->logits, r->ids, b->segments, o->n_sequences,
                                                 NULL, shares_of(r));
            loss = hn_add(g, loss, hn_scale(g, balance, o->o.balance * share, 0));
        }
        if (o->o.z > 0)
            loss = hn_add(g, loss, hn_scale(g, hn_router_z(g, r->logits, o->n_tokens, NULL),
                                            o->o.z * share, 0));
    }
    return loss;
}

/* How many tokens each expert got: a sum over the step's micro-batches. */
static hn_status count_loads(hn_objective *o)
{
    hn_graph *g = o->g;
    const nn_build *b = &o->policy;
    o->loads = hn_graph_alloc(g, ((size_t)b->n_routes + 1) * sizeof *o->loads);
    for (int i = 0; i < b->n_routes && o->loads; i++) {
        const nn_route *r = &b->routes[i];
        const int64_t shape[2] = { hn_last_dim(&r->logits->type), 1 };
        char name[48];
        snprintf(name, sizeof name, "blk.%d.load", r->layer);
        hn_node *acc = hn_graph_leaf(g, HN_LEAF_ACC, hn_graph_text(g, name), HN_F32, 2, shape);
        hn_node *ones = hn_scale(g, hn_output(r->ids, 0), 0, 1); /* the weights', one each */
        hn_node *column = hn_reshape(g, ones, (hn_ints){ 2, { -1, 1 } });
        hn_node *who = hn_reshape(g, r->ids, (hn_ints){ 1, { -1 } });
        o->loads[i] = hn_scatter_add(g, column, who, acc, acc);
    }
    return hn_graph_finish(g);
}

/* ---- the whole ---- */

static void make_inputs(hn_objective *o)
{
    hn_graph *g = o->g;
    const int64_t rows = hn_extent_dim(o->policy.rows_extent);
    o->labels = hn_graph_leaf(g, HN_LEAF_INPUT, "labels", HN_I32, 1, &rows);
    o->weights = hn_graph_leaf(g, HN_LEAF_INPUT, "weights", HN_F32, 1, &rows);
    o->count = hn_graph_leaf(g, HN_LEAF_STEP, "count", HN_F32, 0, NULL);
    o->n_sequences = hn_graph_leaf(g, HN_LEAF_STEP, "n_sequences", HN_F32, 0, NULL);
    o->n_tokens = hn_graph_leaf(g, HN_LEAF_STEP, "n_tokens", HN_F32, 0, NULL);
    if (!hn_goal_groups(o->goal))
        return;
    o->pairs_extent = hn_graph_extent(g, "pairs", o->o.max_pairs);
    const int64_t pairs[2] = { hn_extent_dim(o->pairs_extent), 1 };
    o->pair_of = hn_graph_leaf(g, HN_LEAF_INPUT, "pair_of", HN_I32, 1, &rows);
    o->sign = hn_graph_leaf(g, HN_LEAF_INPUT, "sign", HN_F32, 1, &rows);
    o->no_pairs = hn_graph_leaf(g, HN_LEAF_INPUT, "no_pairs", HN_F32, 2, pairs);
    o->share[0] = hn_graph_leaf(g, HN_LEAF_INPUT, "share_chosen", HN_F32, 1, &rows);
    o->share[1] = hn_graph_leaf(g, HN_LEAF_INPUT, "share_rejected", HN_F32, 1, &rows);
    o->example_labels = hn_graph_leaf(g, HN_LEAF_INPUT, "example_labels", HN_F32, 2, pairs);
    o->anchor = hn_graph_leaf(g, HN_LEAF_STEP, "anchor", HN_F32, 0, NULL);
    o->pair_weights = hn_graph_leaf(g, HN_LEAF_INPUT, "pair_weights", HN_F32, 2, pairs);
}

static hn_status check(const hn_objective *o, const hn_model *model)
{
    const hn_arch *arch = hn_model_arch(model);
    HN_REQUIRE(!hn_model_embeds_only(model), HN_ERR_UNSUPPORTED,
               "%s: %s only embeds: it predicts no tokens that it could be trained on",
               hn_model_path(model), arch->name);
    HN_REQUIRE(hn_objective_has_routers(o) || !(o->o.balance > 0 || o->o.z > 0), HN_ERR_ARGUMENT,
               "%s has no experts: neither balance nor z can be trained", hn_model_path(model));
    return HN_OK;
}

hn_status hn_objective_build(hn_objective *o, hn_graph *g, const hn_model *model,
                             const hn_tuning *tuning, const hn_objective_options *options)
{
    *o = (hn_objective){ .o = *options, .goal = hn_goal_spec_of(options->goal), .g = g };
    HN_REQUIRE(options->run.numerics == HN_NUMERICS_F32 || options->run.numerics == HN_NUMERICS_MIXED, HN_ERR_UNSUPPORTED,
               "numerics '%s': losses are of f32 or mixed numerics (perplexity has %s)",
               hn_numerics_name(options->run.numerics), hn_numerics_name(options->run.numerics));
    nn_build_options built = { .max_tokens = options->max_tokens, .max_rows = options->max_rows,
                               .keeps_head = true, .numerics = options->run.numerics,
                               .split = hn_run_split(&options->run, hn_model_hparams(model)->n_layer) };
    o->o.run.split = built.split;
    if (o->goal->needs_base) { /* first, so that recomputation never reaches into it */
        hn_model_build(model, &o->base, g, &built);
        built.inputs_of = &o->base;
    }
    if (tuning)
        hn_tuning_apply(tuning, &built);
    else
        hn_adapters_apply(options->adapters, &built);
    if (options->is_evaluation)
        built.has_dropout = false;
    hn_model_build(model, &o->policy, g, &built);
    HN_TRY(hn_graph_finish(g));
    HN_TRY(check(o, model));
    make_inputs(o);
    o->loss = route_losses(o, o->goal->loss(o));
    return options->is_evaluation ? hn_graph_finish(g) : count_loads(o);
}

bool hn_objective_has_routers(const hn_objective *o)
{
    return o->policy.n_routes > 0;
}

void hn_objective_sizes(const hn_objective *o, int64_t tokens, int64_t rows, int64_t sizes[HN_MAX_EXTENTS])
{
    for (int e = 0; e < o->g->n_extents; e++)
        sizes[e] = 1;
    const int64_t most_tokens = o->g->extents[o->policy.tokens_extent].max, most_rows = o->g->extents[o->policy.rows_extent].max;
    sizes[o->policy.tokens_extent] = tokens < 1 ? 1 : tokens < most_tokens ? tokens : most_tokens;
    sizes[o->policy.rows_extent] = rows < 1 ? 1 : rows < most_rows ? rows : most_rows;
}

hn_status hn_objective_params(const hn_objective *o, const hn_tuning *tuning, hn_node **out)
{
    const nn_build *b = &o->policy;
    for (int i = 0; i < tuning->n_tensors; i++) {
        const nn_weight *w = &tuning->tensors[i].weight;
        out[i] = NULL;
        for (int k = 0; k < b->n_bound; k++)
            if (b->bound[k].weight == w)
                out[i] = b->bound[k].leaf;
        HN_REQUIRE(out[i], HN_ERR_ARGUMENT, "the model's graph never reads %s", w->name);
    }
    return HN_OK;
}
