/* One point, three witnesses:
 *
 *     the point       p->tuning: stirred, as B of a new adapter is zero, and of a few ways the one furthest from where
 *                     a token would go to another expert. Whoever moves a tensor puts it back before the next question
 *     take_gradient   by a learner, as in a run: what is to be proved
 *     forward         a graph of the loss alone, its rows summed in double: differences are made of these
 *     compare         the gradient by other plans, cuts, threads, instructions: it must be the same bits
 *
 * The point is settled first and stays. Everybody who runs pushes the tensors before, since devices may have
 * copies. Derivatives come before check_distance, which puts the gradient of rounded numerics in the place of
 * f32's; that one the bits are then compared with. A difference counts only where every token stayed with its
 * experts. */
#include "prove/model_proof.h"

#include "base/rng.h"
#include "prove/answer_proof.h"
#include "prove/held_norms.h"
#include "prove/model_slice.h"
#include "train/feed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TOKENS = 64, MOST_ROWS = 8 }; /* of which so many count: the head is dear */

typedef struct proof {
    const hn_model_proof_options *o;
    hn_model *slice; /* NULL: the whole one */
    const hn_model *model;
    hn_tuning *tuning;
    hn_learner *learner;
    hn_report *report;
    hn_batch batch;   /* of at most MOST_TOKENS tokens */
    float **gradient; /* copies, by tensor */
    double loss;
    hn_numerics numerics; /* of what is looked at now */
    /* the forward alone */
    hn_graph *g;
    hn_objective objective;
    hn_executable *x;
    hn_program *program; /* its */
    hn_node **wanted; /* the rows' losses, then whom each router chose */
    int n_wanted;
    uint64_t routes; /* of the tensors as they are: a number for all choices */
    hn_micro micro;
    hn_step_numbers numbers;
    hn_held_norms held;
} proof;

/* ---- what it works on ---- */

static hn_status cut_batch(proof *p, const hn_batch *all)
{
    for (size_t i = 0; i < all->n_sequences && p->batch.n_tokens < MOST_TOKENS; i++) {
        hn_sample s = hn_batch_sequence(all, i);
        const size_t room = MOST_TOKENS - p->batch.n_tokens;
        if (s.n > room && p->batch.n_supervised)
            break;
        if (s.n > room) { /* what is supervised comes at the end, as a rule */
            s.ids += s.n - room;
            s.weights += s.n - room;
            s.n = room;
        }
        HN_TRY(hn_batch_add_sample(&p->batch, &s));
    }
    for (size_t t = p->batch.n_tokens, n = 0; t-- > 0;)
        if (p->batch.weights[t] > 0 && ++n > MOST_ROWS) { /* the last ones have seen most */
            p->batch.weight -= (double)p->batch.weights[t];
            p->batch.weights[t] = 0;
            p->batch.n_supervised--;
        }
    HN_REQUIRE(p->batch.n_supervised, HN_ERR_ARGUMENT,
               "no supervised token among the last %d of the first example", MOST_TOKENS);
    return HN_OK;
}

/* B is zero in a new adapter, and A without a gradient: here both are random, in many ways.
 * False where nothing is low-rank. */
static bool stir(proof *p, int way)
{
    bool stirs = false;
    for (int i = 0; i < p->tuning->n_tensors; i++) {
        const hn_tunable *t = &p->tuning->tensors[i];
        const bool is_embedding = p->tuning->tuned[t->of].is_embedding;
        if (t->part != (is_embedding ? HN_TUNE_A : HN_TUNE_B))
            continue;
        const hn_rng_key key =
            hn_rng_fold(hn_rng_seed(p->o->seed + 99 + (uint64_t)way), hn_hash_text(t->name));
        float *x = hn_tuning_data(p->tuning, i);
        for (int64_t e = 0; e < hn_count(&t->weight.type); e++)
            x[e] = (hn_rng_uniform(key, (uint64_t)e) - 0.5f) * 0.05f;
        stirs = true;
    }
    return stirs;
}

static hn_status make_tuning(proof *p)
{
    if (p->o->targets)
        HN_TRY(hn_tuning_new(p->o->heap, p->model, p->o->targets, p->o->seed, &p->tuning));
    else {
        hn_tune_targets all;
        const hn_tune_settings plain = { .how = HN_TUNE_LORA, .rank = 8 };
        HN_TRY(hn_tune_targets_parse(p->o->heap, "all", &plain, &all));
        const hn_status status =
            hn_tuning_new(p->o->heap, p->model, &all, p->o->seed, &p->tuning);
        hn_tune_targets_free(p->o->heap, &all);
        HN_TRY(status);
    }
    (void)stir(p, 0);
    return HN_OK;
}

static hn_run_spec by(const proof *p, hn_device *const *device)
{
    return (hn_run_spec){ 1, device, p->numerics };
}

static hn_learner_options learner_options(const proof *p)
{
    hn_learner_options o = { .objective = p->o->objective };
    o.objective.run = by(p, p->o->run.devices);
    o.objective.max_tokens = (int64_t)p->batch.n_tokens;
    return o;
}

static void free_gradient(const proof *p, float **gradient)
{
    for (int i = 0; gradient && i < p->tuning->n_tensors; i++)
        hn_free(p->o->heap, gradient[i]);
    hn_free(p->o->heap, gradient);
}

static hn_status take_gradient(proof *p)
{
    const hn_learner_options o = learner_options(p);
    hn_learned learned;
    HN_TRY(hn_tuning_push(p->tuning));
    HN_TRY(hn_learner_new(&p->learner, p->o->heap, p->model, p->tuning, by(p, p->o->run.devices), &o));
    HN_TRY(hn_learner_look(p->learner, &p->batch, 0, p->o->ends, &learned));
    p->loss = learned.loss;
    p->gradient = hn_alloc_array(p->o->heap, HN_TAG_PROVE, (size_t)p->tuning->n_tensors,
                                 sizeof *p->gradient);
    if (!p->gradient)
        return HN_ERR_MEMORY;
    for (int i = 0; i < p->tuning->n_tensors; i++) {
        hn_tensor g;
        HN_TRY(hn_learner_gradient(p->learner, i, &g));
        p->gradient[i] = hn_alloc(p->o->heap, HN_TAG_PROVE, hn_type_bytes(&g.type));
        if (!p->gradient[i])
            return HN_ERR_MEMORY;
        memcpy(p->gradient[i], g.data, hn_type_bytes(&g.type));
    }
    hn_learner_free(p->learner);
    p->learner = NULL;
    return HN_OK;
}

/* ---- the loss alone ---- */

static hn_status compile_forward(proof *p)
{
    hn_objective_options o = learner_options(p).objective;
    const int64_t n = (int64_t)p->batch.n_tokens;
    o.max_rows = n;
    HN_TRY(hn_graph_new(&p->g, p->o->heap));
    HN_TRY(hn_objective_build(&p->objective, p->g, p->model, p->tuning, &o));
    const hn_plan_options plain = { 0 };
    const nn_build *b = &p->objective.policy;
    p->wanted =
        hn_alloc_array(p->o->heap, HN_TAG_PROVE, (size_t)b->n_routes + 1, sizeof *p->wanted);
    if (!p->wanted)
        return HN_ERR_MEMORY;
    p->wanted[p->n_wanted++] = p->objective.nll;
    for (int i = 0; i < b->n_routes; i++)
        p->wanted[p->n_wanted++] = b->routes[i].ids;
    HN_TRY(hn_executable_new(&p->x, p->g, 1, p->o->run.devices));
    HN_TRY(hn_executable_plan(p->x, p->n_wanted, p->wanted, &plain));
    HN_TRY(hn_micro_new(&p->micro, p->o->heap, n, n, 1));
    HN_TRY(hn_micro_fill(&p->micro, hn_model_hparams(p->model), &p->batch, 0, p->batch.n_examples));
    p->numbers = (hn_step_numbers){ .count = (float)p->batch.weight,
                                    .n_sequences = (float)p->batch.n_sequences,
                                    .n_tokens = (float)n };
    HN_TRY(hn_feed_bind(hn_executable_storage(p->x), &p->objective, &p->micro, &p->numbers));
    HN_TRY(hn_executable_make(p->x));
    p->program = hn_executable_program(p->x, 0);
    HN_TRY(hn_program_set_extent(p->program, p->objective.policy.tokens_extent, n));
    return hn_program_set_extent(p->program, p->objective.policy.rows_extent, p->micro.n_rows);
}

/* The sum over rows in double: f32 would round away what differences are made of. *routes:
 * where a token goes to another expert, the loss has a step. */
static hn_status forward(proof *p, double *loss, uint64_t *routes)
{
    hn_tensor nll;
    *loss = 0;
    *routes = 0;
    HN_TRY(hn_tuning_push(p->tuning));
    HN_TRY(hn_program_run(p->program, p->o->ends));
    HN_TRY(hn_program_result(p->program, 0, &nll));
    for (int64_t i = 0; i < p->micro.n_rows; i++)
        *loss += (double)p->micro.weights[i] * hn_get(&nll, i);
    *loss /= p->batch.weight;
    for (int k = 1; k < p->n_wanted; k++) {
        hn_tensor ids;
        HN_TRY(hn_program_result(p->program, k, &ids));
        for (int64_t i = 0; i < hn_count(&ids.type); i++)
            *routes = *routes * UINT64_C(0x100000001b3) + (uint64_t)hn_get_int(&ids, i) + 1;
    }
    return HN_OK;
}

/* ---- where differences are taken ---- */

/* Every tensor of the adapter moved at random by so large a part of itself. */
static void nudge(proof *p, double part, int side)
{
    for (int i = 0; i < p->tuning->n_tensors; i++) {
        const hn_tunable *t = &p->tuning->tensors[i];
        const hn_rng_key key = hn_rng_fold(hn_rng_seed(p->o->seed + 98), hn_hash_text(t->name));
        float *x = hn_tuning_data(p->tuning, i);
        for (int64_t e = 0; e < hn_count(&t->weight.type); e++)
            x[e] *=
                1 + (float)part *
                        ((hn_rng_u32(key, (uint64_t)e) & 1) == (uint32_t)side ? 1.0f : -1.0f);
    }
}

static hn_status keep_tensors(proof *p, float **kept, bool puts_back)
{
    for (int i = 0; i < p->tuning->n_tensors; i++) {
        const size_t bytes = hn_type_bytes(&p->tuning->tensors[i].weight.type);
        if (puts_back)
            memcpy(hn_tuning_data(p->tuning, i), kept[i], bytes);
        else if (!kept[i] && !(kept[i] = hn_alloc(p->o->heap, HN_TAG_PROVE, bytes)))
            return HN_ERR_MEMORY;
        else
            memcpy(kept[i], hn_tuning_data(p->tuning, i), bytes);
    }
    return HN_OK;
}

/* The largest part, of a few, by which all may move with every token staying with its experts.
 */
static hn_status find_room(proof *p, float **kept, double *room)
{
    static const double parts[] = { 1e-2, 3e-3, 1e-3, 3e-4, 1e-4 };
    double loss;
    *room = 0;
    HN_TRY(forward(p, &loss, &p->routes));
    HN_TRY(keep_tensors(p, kept, false));
    for (size_t k = 0; k < sizeof parts / sizeof *parts && *room == 0; k++) {
        bool stays = true;
        for (int side = 0; side < 2 && stays; side++) {
            uint64_t routes;
            nudge(p, parts[k], side);
            const hn_status status = forward(p, &loss, &routes);
            HN_TRY(keep_tensors(p, kept, true));
            HN_TRY(status);
            stays = routes == p->routes;
        }
        *room = stays ? parts[k] : 0;
    }
    return HN_OK;
}

/* Where a token is about to go to another expert, the loss has a step, and differences say
 * nothing. Of a few random adapters the one furthest from any. */
static hn_status settle(proof *p)
{
    enum { WAYS = 12 };
    const bool has_routers = p->n_wanted > 1;
    double loss, best = -1, room = 0, enough = 3e-3;
    int chosen = 0;
    if (has_routers && stir(p, 0)) {
        float **kept = hn_alloc_array(p->o->heap, HN_TAG_PROVE, (size_t)p->tuning->n_tensors,
                                      sizeof *kept);
        hn_status status = kept ? HN_OK : HN_ERR_MEMORY;
        for (int way = 0; way < WAYS && status == HN_OK && best < enough; way++) {
            (void)stir(p, way);
            status = find_room(p, kept, &room);
            if (room > best)
                best = room, chosen = way;
        }
        for (int i = 0; kept && i < p->tuning->n_tensors; i++)
            hn_free(p->o->heap, kept[i]);
        hn_free(p->o->heap, kept);
        HN_TRY(status);
        (void)stir(p, chosen);
    }
    return forward(p, &loss, &p->routes);
}

/* ---- differences ---- */

/* Direction k of tensor i: 0 the gradient's own, 1 random signs, which also see where the
 * gradient is zero, then the gradient with every element weighed at random. Its norm is 1. */
static void make_direction(const proof *p, int i, int k, float *d)
{
    const int64_t n = hn_count(&p->tuning->tensors[i].weight.type);
    const float *g = p->gradient[i];
    double norm = 0;
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(p->o->seed + (uint64_t)k),
                                       hn_hash_text(p->tuning->tensors[i].name));
    for (int64_t e = 0; e < n; e++) {
        d[e] = k == 1 ? (hn_rng_u32(key, (uint64_t)e) & 1 ? 1.0f : -1.0f)
                      : g[e] * (k ? hn_rng_uniform(key, (uint64_t)e) : 1.0f);
        norm += (double)d[e] * (double)d[e];
    }
    const double scale = norm > 0 ? 1 / sqrt(norm) : 0;
    for (int64_t e = 0; e < n; e++)
        d[e] = (float)((double)d[e] * scale);
}

/* (f(x + h d) - f(x - h d)) / 2h; x is as it was afterwards. */
static hn_status difference(proof *p, int i, const float *d, const float *x0, double h,
                            double *slope, bool *crosses)
{
    float *x = hn_tuning_data(p->tuning, i);
    const int64_t n = hn_count(&p->tuning->tensors[i].weight.type);
    double f[2];
    *crosses = false;
    for (int side = 0; side < 2; side++) {
        uint64_t routes;
        for (int64_t e = 0; e < n; e++)
            x[e] = (float)((double)x0[e] + (side ? -h : h) * (double)d[e]);
        hn_held_norms_follow(&p->held);
        HN_TRY(forward(p, &f[side], &routes));
        *crosses = *crosses || routes != p->routes;
    }
    memcpy(x, x0, (size_t)n * sizeof *x);
    *slope = (f[0] - f[1]) / (2 * h);
    return hn_tuning_push(p->tuning);
}

typedef struct answer {
    double slope;
    double spread; /* of the two best steps' answers, and what f32 adds over the step */
} answer;

/* Halves the step until answers agree, or noise begins; steps that send a token to another
 * expert do not count. The answer is extrapolated from the best pair. Where the error is that
 * of the cubic, answers come four times nearer with every halving: what agrees by chance does
 * not. */
static hn_status measure(proof *p, int i, const float *d, const float *x0, answer *out)
{
    enum { HALVINGS = 16 };
    double norm = 0, last = 0, before = (double)INFINITY;
    int n_answers = 0;
    const int64_t n = hn_count(&p->tuning->tensors[i].weight.type);
    for (int64_t e = 0; e < n; e++)
        norm += (double)x0[e] * (double)x0[e];
    double h = 0.1 * sqrt(norm) + 1e-3;
    *out = (answer){ 0, INFINITY };
    for (int k = 0; k < HALVINGS; k++) {
        double slope;
        bool crosses;
        h /= 2;
        HN_TRY(difference(p, i, d, x0, h, &slope, &crosses));
        if (crosses)
            continue;
        const double noise = 3e-7 * fabs(p->loss) / h, apart = fabs(slope - last);
        const double spread = (apart > before / 4 ? apart : before / 4) + noise;
        if (n_answers > 1 && spread < out->spread)
            *out = (answer){ slope + (slope - last) / 3, spread }; /* the cubic's share goes */
        if (n_answers > 1 && (spread <= 1e-3 * fabs(slope) || noise > before))
            break;
        before = n_answers ? apart : (double)INFINITY;
        last = slope;
        n_answers++;
    }
    return HN_OK;
}

enum { TOLERANCE_PER_MILLE = 1 };

static hn_status check_tensor(proof *p, int i, float *d, float *x0)
{
    const hn_tunable *t = &p->tuning->tensors[i];
    const int64_t n = hn_count(&t->weight.type);
    const int directions = p->o->directions > 0 ? p->o->directions : 2;
    double norm = 0;
    for (int64_t e = 0; e < n; e++)
        norm += (double)p->gradient[i][e] * (double)p->gradient[i][e];
    hn_report_note(p->report, t->name, HN_CHECK_GRADIENT, norm > 0 ? 0 : INFINITY, 1,
                   norm > 0 ? "none is zero" : "it is exactly zero");
    memcpy(x0, hn_tuning_data(p->tuning, i), (size_t)n * sizeof *x0);
    static const hn_check_kind kinds[] = { HN_CHECK_ALONG, HN_CHECK_SIGNS, HN_CHECK_WEIGHED };
    for (int k = 0; k < directions && norm > 0; k++) {
        answer found;
        double expected = 0;
        make_direction(p, i, k, d);
        for (int64_t e = 0; e < n; e++)
            expected += (double)d[e] * (double)p->gradient[i][e];
        HN_TRY(measure(p, i, d, x0, &found));
        if (!isfinite(found.spread)) {
            hn_report_skip(p->report, t->name, "every step sends a token to another expert");
            continue;
        }
        const double allowed =
            TOLERANCE_PER_MILLE * 5e-4 * (fabs(expected) + fabs(found.slope)) +
            2 * found.spread;
        hn_report_note(
            p->report, t->name, kinds[k < 2 ? k : 2], fabs(found.slope - expected) / allowed, 1,
            "%.6g, differences give %.6g +- %.1g", expected, found.slope, found.spread);
    }
    return HN_OK;
}

static hn_status check_derivatives(proof *p)
{
    int64_t most = 1;
    for (int i = 0; i < p->tuning->n_tensors; i++) {
        const int64_t n = hn_count(&p->tuning->tensors[i].weight.type);
        most = n > most ? n : most;
    }
    float *d = hn_alloc_array(p->o->heap, HN_TAG_PROVE, (size_t)most, sizeof *d);
    float *x0 = hn_alloc_array(p->o->heap, HN_TAG_PROVE, (size_t)most, sizeof *x0);
    hn_status status = d && x0 ? HN_OK : HN_ERR_MEMORY;
    for (int i = 0; i < p->tuning->n_tensors && status == HN_OK; i++) {
        status = hn_held_norms_begin(&p->held, p->tuning, i);
        if (status == HN_OK)
            status = check_tensor(p, i, d, x0);
        hn_held_norms_end(&p->held);
        if (status == HN_OK && p->o->progress &&
            !p->o->progress(p->o->progress_context, (double)(i + 1) / p->tuning->n_tensors,
                            "differences"))
            status = hn_fail(HN_ERR_CANCELLED, "stopped");
    }
    hn_free(p->o->heap, d);
    hn_free(p->o->heap, x0);
    return status;
}

/* ---- numerics that round ---- */

/* Refuses what the model cannot have, before the work is done. */
static hn_status check_numerics(proof *p)
{
    p->numerics = p->o->run.numerics;
    const hn_learner_options o = learner_options(p);
    const hn_status status =
        hn_learner_new(&p->learner, p->o->heap, p->model, p->tuning, by(p, p->o->run.devices), &o);
    hn_learner_free(p->learner);
    p->learner = NULL;
    p->numerics = HN_NUMERICS_F32;
    return status;
}

enum { NEAR_PER_CENT = 5 };

/* The norm of what sets the gradient apart from f32's, over f32's: a rounding to bf16 moves a number by
 * a 256th at most, and a product's by less. */
static hn_status check_distance(proof *p)
{
    float **exact = p->gradient;
    const double loss = p->loss;
    p->gradient = NULL;
    p->numerics = p->o->run.numerics;
    hn_status status = take_gradient(p);
    if (status == HN_OK)
        hn_report_note(p->report, "loss", HN_CHECK_DISTANCE, fabs(p->loss - loss) / fabs(loss),
                       NEAR_PER_CENT * 1e-2, "%.6g in %s, %.6g in f32", p->loss,
                       hn_numerics_name(p->numerics), loss);
    for (int i = 0; i < p->tuning->n_tensors && status == HN_OK; i++) {
        const hn_tunable *t = &p->tuning->tensors[i];
        double apart = 0, norm = 0;
        for (int64_t e = 0; e < hn_count(&t->weight.type); e++) {
            const double x = (double)exact[i][e], d = (double)p->gradient[i][e] - x;
            apart += d * d;
            norm += x * x;
        }
        hn_report_note(p->report, t->name, HN_CHECK_DISTANCE, apart > 0 ? sqrt(apart / norm) : 0,
                       NEAR_PER_CENT * 1e-2, "from the gradient in f32");
    }
    free_gradient(p, exact);
    return status;
}

/* ---- bits ---- */

typedef struct variant {
    hn_check_kind kind;
    const char *what;
    hn_plan_mode mode;
    int recompute;
    bool cuts;                 /* micro-batches of one example */
    hn_device *const *device;  /* NULL: the first */
} variant;

static hn_status compare(proof *p, const variant *v)
{
    hn_learner_options o = learner_options(p);
    hn_learner *other;
    hn_learned learned;
    o.descent.mode = v->mode;
    o.descent.recompute_every = v->recompute;
    for (size_t i = 0; v->cuts && i < p->batch.n_examples; i++)
        if (!i || p->batch.tokens[i] > (uint32_t)o.objective.max_tokens)
            o.objective.max_tokens = p->batch.tokens[i];
    HN_TRY(hn_tuning_push(p->tuning));
    HN_TRY(
        hn_learner_new(&other, p->o->heap, p->model, p->tuning, by(p, v->device ? v->device : p->o->run.devices), &o));
    hn_status status = hn_learner_look(other, &p->batch, 0, p->o->ends, &learned);
    if (status == HN_OK)
        hn_report_note(p->report, "loss", v->kind,
                       memcmp(&learned.loss, &p->loss, 8) ? INFINITY : 0, 0, "%s", v->what);
    for (int i = 0; i < p->tuning->n_tensors && status == HN_OK; i++) {
        const hn_tunable *t = &p->tuning->tensors[i];
        hn_tensor g;
        status = hn_learner_gradient(other, i, &g);
        if (status == HN_OK)
            hn_report_note(p->report, t->name, v->kind,
                           memcmp(g.data, p->gradient[i], hn_type_bytes(&g.type)) ? INFINITY
                                                                                  : 0,
                           0, "%s", v->what);
    }
    hn_learner_free(other);
    return status;
}

static hn_status check_bits(proof *p)
{
    static const variant variants[] = {
        { HN_CHECK_PLANS, "every value apart", HN_PLAN_SEPARATE, 0, false, NULL },
        { HN_CHECK_PLANS, "reuse", HN_PLAN_REUSE, 0, false, NULL },
        { HN_CHECK_PLANS, "poisoned", HN_PLAN_POISON, 0, false, NULL },
        { HN_CHECK_RECOMPUTE, "every layer", HN_PLAN_INPLACE, 1, false, NULL },
        { HN_CHECK_RECOMPUTE, "every second", HN_PLAN_INPLACE, 2, false, NULL },
        { HN_CHECK_MICRO_BATCHES, "one example each", HN_PLAN_INPLACE, 0, true, NULL },
    };
    const int n_threads = p->o->run.n_devices, n_cpu = n_threads + p->o->n_levels;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        HN_TRY(compare(p, &variants[i]));
    for (int k = 1; k < n_cpu + p->o->n_others; k++) {
        char what[96];
        hn_device *const *device = k < n_threads ? p->o->run.devices + k
                                   : k < n_cpu ? p->o->levels + k - n_threads : p->o->others + k - n_cpu;
        (*device)->backend->describe(*device, what, sizeof what);
        const hn_check_kind kind = k < n_threads ? HN_CHECK_THREADS : k < n_cpu ? HN_CHECK_LEVELS : HN_CHECK_DEVICES;
        const variant v = { kind, what, HN_PLAN_INPLACE, 0, false, device };
        HN_TRY(compare(p, &v));
    }
    return HN_OK;
}

/* ---- all of it ---- */

static void release(proof *p)
{
    free_gradient(p, p->gradient);
    hn_free(p->o->heap, p->wanted);
    hn_executable_free(p->x);
    hn_graph_free(p->g);
    hn_micro_free(&p->micro);
    hn_learner_free(p->learner);
    hn_tuning_free(p->tuning);
    hn_model_close(p->slice);
    hn_batch_free(&p->batch);
}

hn_status hn_model_prove(const hn_model *model, const hn_batch *batch,
                         const hn_model_proof_options *options, hn_report *report,
                         hn_str *left_out)
{
    if (hn_answers_only(options->run.numerics))
        return hn_answer_prove(model, batch, options, report, left_out);
    proof p = {
        .o = options, .report = report, .batch = hn_batch_on(options->heap)
    };
    hn_status status = options->objective.goal == HN_GOAL_SFT
                           ? cut_batch(&p, batch)
                           : hn_fail(HN_ERR_UNSUPPORTED, "proofs are of sft's loss");
    if (status == HN_OK)
        status = hn_slice_take(options->heap, model, options->full, &p.slice, left_out);
    p.model = p.slice ? p.slice : model;
    if (status == HN_OK)
        status = make_tuning(&p);
    if (status == HN_OK && options->run.numerics != HN_NUMERICS_F32)
        status = check_numerics(&p);
    if (status == HN_OK)
        status = compile_forward(&p);
    if (status == HN_OK)
        status = settle(&p);
    if (status == HN_OK)
        status = take_gradient(&p);
    if (status == HN_OK)
        status = check_derivatives(&p);
    if (status == HN_OK && options->run.numerics != HN_NUMERICS_F32)
        status = check_distance(&p);
    if (status == HN_OK)
        status = check_bits(&p);
    release(&p);
    return status;
}
