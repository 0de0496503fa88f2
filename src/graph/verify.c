/* Whether every reader finds the bytes that were written for it.
 *
 * A claim is a range of a device's workspace that holds a value somebody will still read. The audit walks the steps once:
 *
 *     before a step   each input that is read lies within a claim of its value: so nobody has written there since
 *     at its outputs  no claim overlaps, but of an input that op and kernel let it overwrite, lying exactly there, read by
 *                     nobody later
 *     after it        outputs become claims; those whose last reader this was are dropped
 *
 * By induction every claim holds its value's bytes, since only a step's outputs write and they touch no claim. Who reads a
 * value last, and what shows it (views), is worked out here again from the graph: nothing of the planner's lifetimes is
 * asked, so that one mistake cannot be made in both. Leaves lie in storage of their own; of those that are updated the
 * newest version is kept in mind, and a reader of an older one is refused. */
#include "graph/verify.h"

#include <stdio.h>
#include <string.h>

typedef struct claim {
    int device, value;
    size_t begin, end;
} claim;

typedef struct audit {
    const hn_plan *plan;
    int *last_read;  /* by value: the last step that reads it or a view of it; -1: none */
    int *base;       /* by value: the value it shows */
    int *newest;     /* by leaf id: the value that holds its present version; -1: as given */
    claim *claims;
    int n_claims;
} audit;

static bool is_view_step(const hn_step *step)
{
    return step->op->view_of != 0 && !step->crosses;
}

static const char *step_name(const hn_step *step, char *text)
{
    if (step->apply)
        return hn_apply_text(step->apply, text);
    snprintf(text, HN_NODE_TEXT, "copy");
    return text;
}

static bool input_is_read(const hn_op *op, int input)
{
    hn_input_info info[HN_MAX_IN];
    return input < hn_op_inputs(op, info) && !info[input].is_shape_only;
}

static void read_graph(audit *a)
{
    const hn_plan *plan = a->plan;
    for (int v = 0; v < plan->n_values; v++) {
        a->base[v] = v;
        a->last_read[v] = -1;
    }
    for (int s = 0; s < plan->n_steps; s++) {
        const hn_step *step = &plan->steps[s];
        if (is_view_step(step))
            a->base[step->out[0]] = a->base[step->in[step->op->view_of - 1]];
        for (int i = 0; i < step->n_in; i++)
            if (step->in[i] >= 0 && !is_view_step(step) && input_is_read(step->op, i))
                a->last_read[a->base[step->in[i]]] = s;
    }
    for (int i = 0; i < plan->n_results; i++)
        a->last_read[a->base[plan->result[i]]] = plan->n_steps;
}

/* Where a value's bytes lie: false for leaves, whose storage is their own. */
static bool range_of(const audit *a, int value, claim *out)
{
    const hn_value *v = &a->plan->values[value];
    const hn_root *root = &a->plan->roots[v->root];
    const size_t begin = root->offset + (size_t)v->at;
    *out = (claim){ root->device, value, begin, begin + hn_type_span(&v->type) };
    return !root->leaf;
}

static bool overlap(const claim *a, const claim *b)
{
    return a->device == b->device && a->begin < b->end && b->begin < a->end;
}

static hn_status check_range(const audit *a, const hn_step *step, const claim *r, const char *what)
{
    char name[HN_NODE_TEXT];
    HN_REQUIRE(r->begin <= r->end && r->end <= a->plan->workspace[r->device], HN_ERR_PROOF,
               "plan: %s: %s lies at %zu-%zu, outside the workspace of %zu bytes",
               step_name(step, name), what, r->begin, r->end, a->plan->workspace[r->device]);
    return HN_OK;
}

static hn_status check_state_read(const audit *a, const hn_step *step, int value)
{
    char name[HN_NODE_TEXT];
    const hn_leaf *leaf = a->plan->roots[a->plan->values[value].root].leaf;
    if (!leaf)
        return HN_OK;
    const int present = a->newest[leaf->id], base = a->base[value];
    const bool is_given = a->plan->values[base].step == HN_NO_VALUE;
    HN_REQUIRE(present == -1 ? is_given : base == present, HN_ERR_PROOF,
               "plan: %s reads an old version of %s, which was updated before its last reader",
               step_name(step, name), leaf->name);
    return HN_OK;
}

static hn_status check_reads(const audit *a, int s)
{
    const hn_step *step = &a->plan->steps[s];
    char name[HN_NODE_TEXT];
    for (int i = 0; i < step->n_in; i++) {
        claim r;
        if (step->in[i] < 0 || !input_is_read(step->op, i))
            continue;
        if (!range_of(a, step->in[i], &r)) {
            HN_TRY(check_state_read(a, step, step->in[i]));
            continue;
        }
        HN_TRY(check_range(a, step, &r, "an input"));
        bool held = false;
        for (int c = 0; c < a->n_claims && !held; c++)
            held = a->claims[c].value == a->base[step->in[i]] &&
                   a->claims[c].device == r.device && a->claims[c].begin <= r.begin &&
                   r.end <= a->claims[c].end;
        HN_REQUIRE(held, HN_ERR_PROOF,
                   "plan: %s reads input %d at bytes %zu-%zu, which no longer hold it",
                   step_name(step, name), i, r.begin, r.end);
    }
    return HN_OK;
}

/* Whether output `o` may lie where `held` lies: an input, named by op and kernel, exactly there,
 * read by nobody later. All inputs in that value must be named. */
static bool is_allowed_alias(const audit *a, int s, int o, const claim *out, const claim *held)
{
    const hn_step *step = &a->plan->steps[s];
    const unsigned named = step->op->may_overwrite[o] & step->support.may_overwrite[o];
    bool found = false;
    if (out->begin != held->begin || out->end != held->end || a->last_read[held->value] > s)
        return false;
    for (int i = 0; i < step->n_in; i++) {
        if (step->in[i] < 0 || !input_is_read(step->op, i) || a->base[step->in[i]] != held->value)
            continue;
        const hn_type *x = &a->plan->values[step->in[i]].type;
        const hn_type *y = &a->plan->values[step->out[o]].type;
        claim r;
        range_of(a, step->in[i], &r);
        if (!(named >> i & 1) || r.begin != out->begin || r.end != out->end ||
            !hn_is_contiguous(x) || !hn_same_shape(x, y))
            return false;
        found = true;
    }
    return found;
}

static hn_status check_write(const audit *a, int s, int o, const claim *out)
{
    const hn_step *step = &a->plan->steps[s];
    char name[HN_NODE_TEXT], other[HN_NODE_TEXT];
    for (int c = 0; c < a->n_claims; c++) {
        const claim *held = &a->claims[c];
        if (!overlap(out, held) || a->last_read[held->value] < s)
            continue; /* dead bytes */
        if (o >= 0 && is_allowed_alias(a, s, o, out, held))
            continue;
        const int maker = a->plan->values[held->value].step;
        snprintf(other, sizeof other, "a leaf");
        if (maker >= 0)
            step_name(&a->plan->steps[maker], other);
        return hn_fail(HN_ERR_PROOF,
                       "plan: %s writes %s at bytes %zu-%zu, which hold the result of %s until "
                       "step %d",
                       step_name(step, name), o >= 0 ? "its output" : "scratch", out->begin,
                       out->end, other, a->last_read[held->value]);
    }
    return HN_OK;
}

static void drop_overlapped(audit *a, const claim *out)
{
    int kept = 0;
    for (int c = 0; c < a->n_claims; c++)
        if (!overlap(out, &a->claims[c]))
            a->claims[kept++] = a->claims[c];
    a->n_claims = kept;
}

static void drop_dead(audit *a, int s)
{
    int kept = 0;
    for (int c = 0; c < a->n_claims; c++)
        if (a->last_read[a->claims[c].value] > s)
            a->claims[kept++] = a->claims[c];
    a->n_claims = kept;
}

static hn_status check_step(audit *a, int s)
{
    const hn_plan *plan = a->plan;
    const hn_step *step = &plan->steps[s];
    claim mine[HN_MAX_OUT + 1];
    int n = 0;
    char name[HN_NODE_TEXT];
    if (is_view_step(step))
        return HN_OK;
    HN_TRY(check_reads(a, s));
    for (int o = 0; o < step->n_out; o++) {
        claim r;
        if (step->out[o] < 0)
            continue;
        const hn_leaf *leaf = plan->roots[plan->values[step->out[o]].root].leaf;
        if (leaf)
            a->newest[leaf->id] = step->out[o];
        if (!range_of(a, step->out[o], &r))
            continue;
        HN_TRY(check_range(a, step, &r, "an output"));
        HN_TRY(check_write(a, s, o, &r));
        mine[n++] = r;
    }
    if (step->scratch >= 0) {
        const hn_root *root = &plan->roots[step->scratch];
        const claim r = { root->device, -1, root->offset, root->offset + root->bytes };
        HN_TRY(check_range(a, step, &r, "scratch"));
        HN_TRY(check_write(a, s, -1, &r));
        mine[n++] = r;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            HN_REQUIRE(!overlap(&mine[i], &mine[j]), HN_ERR_PROOF,
                       "plan: %s: two of its outputs, or one and its scratch, overlap at byte %zu",
                       step_name(step, name), mine[i].begin);
    for (int i = 0; i < n; i++) {
        drop_overlapped(a, &mine[i]);
        if (mine[i].value >= 0)
            a->claims[a->n_claims++] = mine[i];
    }
    drop_dead(a, s);
    return HN_OK;
}

static hn_status verify_memory(const hn_plan *plan)
{
    hn_heap *heap = plan->heap;
    const size_t values = (size_t)plan->n_values + 1, leaves = (size_t)plan->g->n_leaves + 1;
    audit a = { .plan = plan };
    a.last_read = hn_alloc_array(heap, HN_TAG_PLAN, values, sizeof *a.last_read);
    a.base = hn_alloc_array(heap, HN_TAG_PLAN, values, sizeof *a.base);
    a.newest = hn_alloc_array(heap, HN_TAG_PLAN, leaves, sizeof *a.newest);
    a.claims = hn_alloc_array(heap, HN_TAG_PLAN, values + HN_MAX_OUT, sizeof *a.claims);
    hn_status status = a.last_read && a.base && a.newest && a.claims ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK) {
        memset(a.newest, -1, leaves * sizeof *a.newest);
        read_graph(&a);
        for (int s = 0; s < plan->n_steps && status == HN_OK; s++)
            status = check_step(&a, s);
    }
    hn_free(heap, a.last_read);
    hn_free(heap, a.base);
    hn_free(heap, a.newest);
    hn_free(heap, a.claims);
    return status;
}

hn_status hn_plan_verify(const hn_plan *plan, int n_wanted, hn_node *const *wanted)
{
    HN_TRY(hn_plan_verify_indices(plan));
    HN_TRY(verify_memory(plan));
    return hn_plan_verify_steps(plan, n_wanted, wanted);
}

/* A plan by another name, so that one that was not read cannot be taken for it. */
struct hn_verified_plan {
    hn_plan plan;
};

hn_status hn_verified_plan_new(hn_verified_plan **out, hn_plan *plan, int n_wanted,
                               hn_node *const *wanted)
{
    *out = NULL;
    const hn_status status = hn_plan_verify(plan, n_wanted, wanted);
    if (status == HN_OK)
        *out = (hn_verified_plan *)plan; /* its first and only member */
    else
        hn_plan_free(plan);
    return status;
}

void hn_verified_plan_free(hn_verified_plan *plan)
{
    hn_plan_free((hn_plan *)plan);
}

const hn_plan *hn_verified_plan_look(const hn_verified_plan *plan)
{
    return &plan->plan;
}
