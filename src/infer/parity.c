/* The model runs several times over the same tokens: as it is, layer by layer from the reference's inputs, and the
 * same without rounding. What is kept of each run is copied out, because the next takes its memory. */
#include "infer/parity.h"

#include "base/half.h"
#include "base/mathfn.h"
#include "base/work.h"
#include "infer/compiled.h"
#include "infer/log_sum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One run of the model: everything that is compared, copied. */
typedef struct ran {
    float **hidden; /* [n_layer + 1] */
    int32_t **ids;  /* [n_layer], NULL without experts */
    float *logits;
} ran;

typedef struct judge {
    hn_heap *heap;
    const hn_model *model;
    hn_run_spec run;
    const hn_reference *ref;
    hn_parity *out;
    int32_t *positions, *segments;
    bool *is_close; /* [n_layer, T] */
} judge;

static void free_ran(judge *j, ran *r)
{
    for (int64_t i = 0; i <= j->ref->n_layer; i++) {
        hn_free(j->heap, r->hidden ? r->hidden[i] : NULL);
        hn_free(j->heap, r->ids ? r->ids[i] : NULL);
    }
    hn_free(j->heap, r->hidden);
    hn_free(j->heap, r->ids);
    hn_free(j->heap, r->logits);
    *r = (ran){ 0 };
}

/* ---- one run ---- */

static hn_status bind(hn_compiled *c, const hn_node *node, const void *data)
{
    return hn_storage_bind(c->storage, node->leaf, data, hn_type_bytes(&node->leaf->type));
}

static hn_status bind_inputs(judge *j, hn_compiled *c)
{
    const nn_build *b = &c->build;
    HN_TRY(bind(c, b->tokens, j->ref->tokens));
    HN_TRY(bind(c, b->positions, j->positions));
    HN_TRY(bind(c, b->segments, j->segments));
    for (int64_t i = 0; i <= j->ref->n_layer; i++) {
        if (b->layers[i].given)
            HN_TRY(bind(c, b->layers[i].given, j->ref->hidden[i]));
        if (!b->layers[i].own_given)
            continue;
        HN_REQUIRE(j->ref->own[i] && j->ref->own_width == b->layers[i].own_in->type.dim[1],
                   HN_ERR_FORMAT, "layer %lld: the reference has no per-layer input of width %lld",
                   (long long)i, (long long)b->layers[i].own_in->type.dim[1]);
        HN_TRY(bind(c, b->layers[i].own_given, j->ref->own[i]));
    }
    return HN_OK;
}

static hn_status take(judge *j, hn_compiled *c, int index, void **out)
{
    hn_tensor t;
    HN_TRY(hn_program_result(c->program, index, &t));
    const size_t bytes = hn_type_bytes(&t.type);
    *out = hn_alloc(j->heap, HN_TAG_STATE, bytes);
    if (!*out)
        return HN_ERR_MEMORY;
    memcpy(*out, t.data, bytes);
    return HN_OK;
}

static hn_status take_all(judge *j, hn_compiled *c, ran *out)
{
    const int64_t n_layer = j->ref->n_layer;
    out->hidden = hn_alloc_array(j->heap, HN_TAG_STATE, (size_t)n_layer + 1, sizeof *out->hidden);
    out->ids = hn_alloc_array(j->heap, HN_TAG_STATE, (size_t)n_layer + 1, sizeof *out->ids);
    if (!out->hidden || !out->ids)
        return HN_ERR_MEMORY;
    HN_TRY(take(j, c, 0, (void **)&out->logits));
    for (int64_t i = 0; i <= n_layer; i++)
        HN_TRY(take(j, c, (int)i + 1, (void **)&out->hidden[i]));
    for (int i = 0; i < c->build.n_routes; i++)
        HN_TRY(take(j, c, (int)n_layer + 2 + i, (void **)&out->ids[c->build.routes[i].layer]));
    return HN_OK;
}

/* Logits, what goes into layer 0, what leaves each layer, the experts. */
static hn_status plan(judge *j, hn_compiled *c)
{
    const int64_t n_layer = j->ref->n_layer;
    const size_t n = (size_t)n_layer + 2 + (size_t)c->build.n_routes;
    hn_node **wanted = hn_graph_alloc(c->g, n * sizeof *wanted);
    if (!wanted)
        return HN_ERR_MEMORY;
    HN_REQUIRE(c->build.layers[0].in && c->build.layers[n_layer - 1].out, HN_ERR_UNSUPPORTED,
               "architecture %s does not say where its layers end",
               hn_model_arch(j->model)->name);
    wanted[0] = c->result;
    wanted[1] = c->build.layers[0].in;
    for (int64_t i = 0; i < n_layer; i++)
        wanted[i + 2] = c->build.layers[i].out;
    for (int i = 0; i < c->build.n_routes; i++)
        wanted[n_layer + 2 + i] = c->build.routes[i].ids;
    return hn_compiled_plan(c, (int)n, wanted, NULL);
}

static hn_status run_compiled(judge *j, hn_compiled *c, const nn_build_options *o, ran *out)
{
    HN_TRY(hn_compiled_build(c, j->heap, j->model, j->run, o));
    HN_TRY(plan(j, c));
    HN_TRY(bind_inputs(j, c));
    HN_TRY(hn_compiled_finish(c));
    HN_TRY(hn_program_set_extent(c->program, c->build.tokens_extent, j->ref->n_tokens));
    const hn_run_options heeding = { .cancel = hn_work_cancel() };
    HN_TRY(hn_program_run(c->program, &heeding));
    return take_all(j, c, out);
}

static hn_status run_once(judge *j, hn_numerics numerics, bool feeds_layers, ran *out)
{
    hn_compiled c = { 0 };
    const nn_build_options o = { .max_tokens = j->ref->n_tokens, .numerics = numerics,
                                 .feeds_layers = feeds_layers };
    *out = (ran){ 0 };
    const hn_status status = run_compiled(j, &c, &o, out);
    hn_compiled_free(&c);
    if (status != HN_OK)
        free_ran(j, out);
    return status;
}

/* ---- experts ---- */

/* The k-th and the next largest of n. */
static void two_of(const float *p, int64_t n, int64_t k, float *last, float *next)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t before = 0;
        for (int64_t o = 0; o < n; o++)
            before += p[o] > p[i] || (p[o] == p[i] && o < i);
        if (before == k - 1)
            *last = p[i];
        if (before == k)
            *next = p[i];
    }
}

static bool is_close(const float *p, int64_t n, int64_t k)
{
    float last = 0, next = 0;
    int exponent;
    if (k >= n)
        return false;
    two_of(p, n, k, &last, &next);
    (void)frexpf(last, &exponent); /* last = m * 2^exponent, m from 1/2 */
    return last - next <= ldexpf(1, exponent - 8);
}

static void mark_close(judge *j)
{
    const hn_reference *ref = j->ref;
    const int64_t n_used = hn_model_hparams(j->model)->n_used;
    int64_t n_close = 0, n_routed = 0;
    for (int64_t i = 0; i < ref->n_layer; i++) {
        for (int64_t t = 0; ref->router[i] && t < ref->n_tokens; t++) {
            const bool close = is_close(ref->router[i] + t * ref->n_expert, ref->n_expert, n_used);
            n_routed++;
            n_close += close;
            if (ref->numerics == HN_NUMERICS_BF16)
                j->is_close[i * ref->n_tokens + t] = close;
        }
    }
    if (ref->numerics == HN_NUMERICS_BF16 && n_routed)
        j->out->close_share = (double)n_close / (double)n_routed;
}

/* Whether the experts chosen are the k likeliest of the reference, or as good as tied with them in f32:
 * what they then give is judged by the distance alone. */
static bool has_same_experts(const float *p, int64_t n, const int32_t *ids, int64_t k)
{
    float last = 0, next = 0;
    two_of(p, n, k, &last, &next);
    for (int64_t u = 0; u < k; u++)
        if (ids[u] < 0 || ids[u] >= n || p[ids[u]] < last - HN_PARITY_F32_TIE)
            return false;
    return true;
}

/* ---- distances ---- */

typedef struct span {
    const float *want, *got;
    int64_t width;
    const bool *left_out; /* [T], or NULL */
    bool rounds; /* `got` to bf16 first */
} span;

static double compare(const judge *j, const span *s, double *largest)
{
    double error = 0, size = 0;
    *largest = 0;
    for (int64_t i = 0; i < j->ref->n_tokens * s->width; i++) {
        if (s->left_out && s->left_out[i / s->width])
            continue;
        const float own = s->rounds ? hn_bf16_to_f32(hn_f32_to_bf16(s->got[i])) : s->got[i];
        const double d = (double)own - (double)s->want[i];
        error += d * d;
        size += (double)s->want[i] * (double)s->want[i];
        if (!(fabs(d) <= *largest))
            *largest = fabs(d);
    }
    return error == 0 ? 0 : error / size;
}

hn_logit_distance hn_logits_compare(const float *want, const float *got, int64_t n, int64_t vocab)
{
    hn_logit_distance out = { 0 };
    double error = 0, size = 0;
    for (int64_t t = 0; t < n; t++) {
        const float *w = want + t * vocab, *g = got + t * vocab;
        int64_t w_best, g_best;
        const double w_sum = hn_log_sum(w, vocab, &w_best), g_sum = hn_log_sum(g, vocab, &g_best);
        for (int64_t i = 0; i < vocab; i++) {
            const double d = (double)g[i] - (double)w[i], p = (double)w[i] - w_sum;
            error += d * d;
            size += (double)w[i] * (double)w[i];
            out.kl += hn_math_exp(p) * (p - ((double)g[i] - g_sum)) / (double)n;
            if (!(fabs(d) <= out.largest))
                out.largest = fabs(d);
        }
        out.agreement += (double)(w_best == g_best) / (double)n;
    }
    out.nmse = error == 0 ? 0 : error / size;
    return out;
}

static void judge_part(judge *j, int64_t part, const ran *own, const ran *plain)
{
    const hn_reference *ref = j->ref;
    const bool is_head = part == ref->n_layer + 1, is_layer = part > 0 && !is_head;
    hn_parity_part *p = &j->out->parts[part];
    const bool *close = is_layer ? j->is_close + (part - 1) * ref->n_tokens : NULL;
    span s = { is_head ? ref->logits : ref->hidden[part], is_head ? own->logits : own->hidden[part],
               is_head ? ref->n_vocab : ref->width, close, false };
    double ignored;
    p->nmse = compare(j, &s, &p->largest);
    p->bound = HN_PARITY_F32_BOUND;
    if (plain) {
        s.got = is_head ? plain->logits : plain->hidden[part];
        s.rounds = true;
        p->rounded = compare(j, &s, &ignored);
        p->bound = fmin(HN_PARITY_BF16_BOUND, HN_PARITY_BF16_GAIN * p->rounded);
    }
    const int64_t n_used = hn_model_hparams(j->model)->n_used;
    const float *router = is_layer ? ref->router[part - 1] : NULL;
    const int32_t *ids = is_layer ? own->ids[part - 1] : NULL;
    for (int64_t t = 0; router && ids && t < ref->n_tokens; t++) {
        p->n_close += close[t];
        p->n_other += !close[t] && !has_same_experts(router + t * ref->n_expert, ref->n_expert,
                                                     ids + t * n_used, n_used);
    }
    p->is_beyond = !(p->nmse <= p->bound) || (!plain && p->n_other);
    if (p->is_beyond && j->out->first_beyond < 0)
        j->out->first_beyond = part;
}

static hn_status judge_all(judge *j)
{
    ran own, plain = { 0 }, whole = { 0 };
    const bool is_bf16 = j->ref->numerics == HN_NUMERICS_BF16;
    mark_close(j);
    HN_TRY(run_once(j, j->ref->numerics, is_bf16, &own));
    hn_status status = is_bf16 ? run_once(j, HN_NUMERICS_F32, true, &plain) : HN_OK;
    if (status == HN_OK && is_bf16)
        status = run_once(j, HN_NUMERICS_BF16, false, &whole);
    for (int64_t i = 0; i < j->ref->n_layer + 2 && status == HN_OK; i++)
        judge_part(j, i, &own, is_bf16 ? &plain : NULL);
    if (status == HN_OK)
        j->out->logits = hn_logits_compare(j->ref->logits, is_bf16 ? whole.logits : own.logits,
                                           j->ref->n_tokens, j->ref->n_vocab);
    free_ran(j, &own);
    free_ran(j, &plain);
    free_ran(j, &whole);
    return status;
}

static hn_status make(judge *j)
{
    const size_t n = (size_t)j->ref->n_tokens, n_layer = (size_t)j->ref->n_layer;
    HN_REQUIRE(!hn_model_embeds_only(j->model), HN_ERR_UNSUPPORTED,
               "%s only embeds texts: it has no logits to compare",
               hn_model_arch(j->model)->name);
    HN_TRY(hn_hparams_check_length(hn_model_hparams(j->model), j->ref->position + (int64_t)n));
    j->positions = hn_alloc_array(j->heap, HN_TAG_STATE, n, sizeof *j->positions);
    j->segments = hn_alloc_array(j->heap, HN_TAG_STATE, n, sizeof *j->segments);
    j->is_close = hn_alloc_array(j->heap, HN_TAG_STATE, n_layer * n, sizeof *j->is_close);
    j->out->parts = hn_alloc_array(j->heap, HN_TAG_STATE, n_layer + 2, sizeof *j->out->parts);
    if (!j->positions || !j->segments || !j->is_close || !j->out->parts)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        j->positions[i] = (int32_t)(j->ref->position + (int64_t)i);
    return judge_all(j);
}

hn_status hn_parity_run(hn_parity *out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                        const hn_reference *reference)
{
    *out = (hn_parity){ .heap = heap, .numerics = reference->numerics,
                        .n_layer = reference->n_layer, .first_beyond = -1 };
    judge j = { .heap = heap, .model = model, .run = run, .ref = reference, .out = out };
    const hn_status status = make(&j);
    hn_free(heap, j.positions);
    hn_free(heap, j.segments);
    hn_free(heap, j.is_close);
    if (status != HN_OK) {
        hn_parity_free(out);
        return hn_fail_within(status, "%s: ", hn_model_path(model));
    }
    return HN_OK;
}

void hn_parity_free(hn_parity *p)
{
    hn_free(p->heap, p->parts);
    p->parts = NULL;
}

const char *hn_parity_part_name(const hn_parity *p, int64_t part, char room[32])
{
    if (part == 0 || part == p->n_layer + 1)
        return part ? "head" : "embedding";
    snprintf(room, 32, "layer %lld", (long long)part - 1);
    return room;
}

hn_status hn_parity_judge(const hn_parity *p)
{
    char room[32];
    HN_REQUIRE(p->close_share <= HN_PARITY_CLOSE_SHARE, HN_ERR_PROOF,
               "the experts of %.1f %% of the tokens are as good as tied: expected at most %.0f %%",
               100 * p->close_share, 100 * HN_PARITY_CLOSE_SHARE);
    if (p->first_beyond < 0)
        return HN_OK;
    const hn_parity_part *part = &p->parts[p->first_beyond];
    const char *name = hn_parity_part_name(p, p->first_beyond, room);
    HN_REQUIRE(part->nmse <= part->bound, HN_ERR_PROOF, "%s: NMSE %.3g: expected at most %.3g", name,
               part->nmse, part->bound);
    return hn_fail(HN_ERR_PROOF, "%s: %lld tokens go to other experts", name,
                   (long long)part->n_other);
}
