/* Whether the steps compute the graph.
 *
 * Every value of a plan shows a node of the graph: a leaf's first value shows the leaf as it was given,
 * the output of a step shows the output of its application, a copy shows what it copies. From this
 * alone it follows what each step must read:
 *
 *     graph      y = add(a, b)            plan   step 7: add   in 12, 9   out 14
 *                                                value 12 shows a? value 9 shows b? then 14 shows y
 *
 * Beside it stands what a kernel relies on: inputs on its device and as contiguous as it asked for,
 * views where their source lies, memory as large as what is put there. The device is asked again, not
 * believed to have been asked. */
#include "graph/verify.h"

#include "graph/place.h"

#include <stdio.h>
#include <string.h>

typedef struct reading {
    const hn_plan *plan;
    const hn_node **shows; /* by value: the output of an application; NULL: none yet */
    const hn_leaf **given; /* by value: the leaf as it was given to the run; NULL: none */
    bool *is_done;         /* by apply id */
} reading;

static const char *name_of(const hn_step *step, char *text)
{
    if (step->apply)
        return hn_apply_text(step->apply, text);
    snprintf(text, HN_NODE_TEXT, "copy");
    return text;
}

static bool is_view(const hn_step *step)
{
    return step->op->view_of != 0 && !step->crosses;
}

static bool is_value(const hn_plan *plan, int value)
{
    return value >= 0 && value < plan->n_values;
}

static bool is_root(const hn_plan *plan, int root)
{
    return root >= 0 && root < plan->n_roots;
}

/* A sum that is given is read from its accumulator, as a leaf. */
static bool is_given(const hn_plan *plan, const hn_node *node)
{
    return plan->options.sums_are_given && node->leaf && node->leaf->kind == HN_LEAF_ACC &&
           !(node->by && node->by->op->view_of);
}

static bool shows(const reading *r, int value, const hn_node *node)
{
    if (!is_value(r->plan, value))
        return false;
    if (node->leaf && (!node->by || is_given(r->plan, node)))
        return r->given[value] == node->leaf;
    return r->shows[value] == node;
}

/* ---- indices: nothing is looked up that is not there ---- */

static hn_status check_step_indices(const hn_plan *plan, int s)
{
    const hn_step *step = &plan->steps[s];
    bool fine = step->op && step->n_in >= 0 && step->n_in <= HN_MAX_IN && step->n_out >= 1 &&
                step->n_out <= HN_MAX_OUT && step->device >= 0 && step->device < plan->n_devices;
    for (int i = 0; fine && i < step->n_in; i++)
        fine = step->in[i] == HN_NO_VALUE || is_value(plan, step->in[i]);
    for (int o = 0; fine && o < step->n_out; o++)
        fine = step->out[o] == HN_NO_VALUE || is_value(plan, step->out[o]);
    HN_REQUIRE(fine && (step->scratch == -1 || is_root(plan, step->scratch)), HN_ERR_PROOF,
               "plan: step %d refers to what is not there", s);
    return HN_OK;
}

hn_status hn_plan_verify_indices(const hn_plan *plan)
{
    for (int v = 0; v < plan->n_values; v++)
        HN_REQUIRE(is_root(plan, plan->values[v].root) && plan->values[v].at >= 0 &&
                       plan->values[v].step < plan->n_steps,
                   HN_ERR_PROOF, "plan: value %d lies nowhere", v);
    for (int i = 0; i < plan->n_roots; i++)
        HN_REQUIRE(plan->roots[i].device >= 0 && plan->roots[i].device < plan->n_devices,
                   HN_ERR_PROOF, "plan: root %d lies on no device", i);
    for (int s = 0; s < plan->n_steps; s++)
        HN_TRY(check_step_indices(plan, s));
    for (int i = 0; i < plan->n_results; i++)
        HN_REQUIRE(is_value(plan, plan->result[i]), HN_ERR_PROOF, "plan: result %d is nowhere", i);
    return HN_OK;
}

static bool is_updated(const hn_graph *g, const hn_leaf *leaf)
{
    for (int i = 0; i < g->n_applies; i++)
        for (int o = 0; o < g->applies[i]->n_out; o++)
            if (g->applies[i]->out[o]->leaf == leaf && !g->applies[i]->op->view_of)
                return true;
    return false;
}

/* A weight's copy on another device shows the weight as it was given, in every run: nothing may update it. */
static hn_status check_kept(reading *r)
{
    const hn_plan *plan = r->plan;
    for (int v = 0; v < plan->n_values; v++) {
        const hn_root *root = &plan->roots[plan->values[v].root];
        const hn_leaf *leaf = root->leaf;
        if (plan->values[v].step != HN_NO_VALUE || !leaf || r->given[v])
            continue;
        const hn_type meant = hn_type_on(&plan->targets[root->device], &leaf->type), *type = &plan->values[v].type;
        HN_REQUIRE(leaf->kind == HN_LEAF_WEIGHT && root->device != plan->place[leaf->id] && !plan->values[v].at &&
                       root->bytes >= hn_type_bytes(&meant) && hn_same_shape(type, &meant) &&
                       type->dtype == meant.dtype && type->layout == meant.layout && !is_updated(plan->g, leaf),
                   HN_ERR_PROOF, "plan: a copy of %s is kept that may not be", leaf->name);
        r->given[v] = leaf;
    }
    return HN_OK;
}

static hn_status check_leaves(reading *r)
{
    const hn_plan *plan = r->plan;
    for (int l = 0; l < plan->g->n_leaves; l++) {
        const hn_leaf *leaf = plan->g->leaves[l];
        const int v = plan->leaf_value[l];
        if (v == HN_NO_VALUE)
            continue;
        HN_REQUIRE(is_value(plan, v) && plan->values[v].step == HN_NO_VALUE &&
                       plan->roots[plan->values[v].root].leaf == leaf && !plan->values[v].at &&
                       plan->roots[plan->values[v].root].device == plan->place[l] &&
                       (leaf->kind >= HN_LEAF_WEIGHT || plan->targets[plan->place[l]].is_host) &&
                       plan->roots[plan->values[v].root].bytes >= hn_type_bytes(&leaf->type),
                   HN_ERR_PROOF, "plan: leaf %s does not lie in its own storage", leaf->name);
        r->given[v] = leaf;
    }
    return check_kept(r);
}

/* ---- what a step computes ---- */

static hn_status check_apply(const reading *r, int s)
{
    const hn_step *step = &r->plan->steps[s];
    const hn_apply *a = step->apply;
    char name[HN_NODE_TEXT], node[HN_NODE_TEXT];
    HN_REQUIRE(step->op == a->op && step->attrs == a->attrs && step->n_in == a->n_in &&
                   step->n_out == a->n_out && a->id < r->plan->g->n_applies &&
                   r->plan->g->applies[a->id] == a && !r->is_done[a->id],
               HN_ERR_PROOF, "plan: step %d is not %s, or that was done before", s,
               name_of(step, name));
    for (int i = 0; i < a->n_in; i++)
        HN_REQUIRE(a->in[i] ? shows(r, step->in[i], a->in[i]) : step->in[i] == HN_NO_VALUE,
                   HN_ERR_PROOF, "plan: %s: input %d is not %s", name_of(step, name), i,
                   a->in[i] ? hn_node_text(a->in[i], node) : "left out");
    r->is_done[a->id] = true;
    return HN_OK;
}

static hn_status check_copy(const reading *r, int s)
{
    const hn_step *step = &r->plan->steps[s];
    HN_REQUIRE(step->op == r->plan->options.copy && step->n_in == 1 && step->n_out == 1 &&
                   step->in[0] >= 0 && step->out[0] >= 0 &&
                   (r->shows[step->in[0]] || r->given[step->in[0]]),
               HN_ERR_PROOF, "plan: step %d is no copy of anything", s);
    return HN_OK;
}

/* ---- where its values lie ---- */

static void call_of(const reading *r, const hn_step *step, hn_tensor *in, hn_tensor *out,
                    hn_call *call)
{
    const hn_plan *plan = r->plan;
    *call = (hn_call){ .op = step->op, .attrs = step->attrs, .n_in = step->n_in,
                       .n_out = step->n_out };
    for (int i = 0; i < step->n_in; i++)
        if (step->in[i] >= 0) {
            in[i] = hn_tensor_at(&plan->values[step->in[i]].type, NULL);
            call->in[i] = &in[i];
        }
    for (int o = 0; o < step->n_out; o++)
        if (step->out[o] >= 0) {
            out[o] = hn_tensor_at(&plan->values[step->out[o]].type, NULL);
            call->out[o] = &out[o];
        }
}

static hn_status check_view(const reading *r, const hn_step *step, const hn_call *call)
{
    const hn_plan *plan = r->plan;
    char name[HN_NODE_TEXT];
    hn_type type[HN_MAX_OUT];
    int64_t at;
    const int source = step->in[step->op->view_of - 1], view = step->out[0];
    HN_TRY(hn_call_infer(call, type, &at));
    HN_REQUIRE(source >= 0 && view >= 0 && plan->values[view].root == plan->values[source].root &&
                   plan->values[view].at == plan->values[source].at + at &&
                   hn_same_shape(&plan->values[view].type, &type[0]),
               HN_ERR_PROOF, "plan: %s does not lie where its source lies", name_of(step, name));
    return HN_OK;
}

/* A packed weight is read by a kernel that reads its layout; back to plain rows it comes on the host alone. */
static hn_status check_layout(const hn_plan *plan, const hn_step *step, const hn_support *now, int i)
{
    const hn_target *target = &plan->targets[step->device];
    char name[HN_NODE_TEXT];
    if (step->in[i] < 0 || !hn_op_reads(step->op, i) || !plan->values[step->in[i]].type.layout)
        return HN_OK;
    const bool reads = hn_target_reads(target, plan->values[step->in[i]].type.layout);
    HN_REQUIRE(step->apply ? reads && now->packed & HN_IN(i) : target->is_host, HN_ERR_PROOF,
               "plan: %s: input %d is packed as its device does not read it", name_of(step, name), i);
    return HN_OK;
}

static hn_status check_support(const reading *r, const hn_step *step, const hn_call *call)
{
    const hn_plan *plan = r->plan;
    const hn_target *target = &plan->targets[step->device];
    char name[HN_NODE_TEXT];
    hn_support now = { 0 };
    if (step->crosses)
        return HN_OK;
    target->supports(target->device, call, &now);
    HN_REQUIRE(now.runs, HN_ERR_PROOF, "plan: %s: its device does not run it", name_of(step, name));
    for (int o = 0; o < step->n_out; o++)
        HN_REQUIRE(!(step->support.may_overwrite[o] & ~now.may_overwrite[o]), HN_ERR_PROOF,
                   "plan: %s: output %d may not lie where the plan says", name_of(step, name), o);
    for (int i = 0; step->apply && i < step->n_in; i++)
        HN_REQUIRE(!(now.contiguous & HN_IN(i)) || step->in[i] < 0 || !hn_op_reads(step->op, i) ||
                       hn_is_contiguous(&plan->values[step->in[i]].type),
                   HN_ERR_PROOF, "plan: %s: input %d is not contiguous", name_of(step, name), i);
    for (int i = 0; i < step->n_in; i++)
        HN_TRY(check_layout(plan, step, &now, i));
    const size_t scratch = now.shared_scratch + (size_t)target->n_threads * now.thread_scratch;
    HN_REQUIRE(now.shared_scratch == step->support.shared_scratch &&
                   now.thread_scratch == step->support.thread_scratch &&
                   (!scratch || !step->apply ||
                    (step->scratch >= 0 && plan->roots[step->scratch].device == step->device &&
                     plan->roots[step->scratch].bytes >= scratch)),
               HN_ERR_PROOF, "plan: %s has not the %zu bytes of scratch that its kernel asks for",
               name_of(step, name), scratch);
    return HN_OK;
}

static hn_status check_device(const reading *r, const hn_step *step)
{
    const hn_plan *plan = r->plan;
    char name[HN_NODE_TEXT];
    for (int i = 0; i < step->n_in && !step->crosses; i++)
        HN_REQUIRE(step->in[i] < 0 || !hn_op_reads(step->op, i) ||
                       plan->roots[plan->values[step->in[i]].root].device == step->device,
                   HN_ERR_PROOF, "plan: %s: input %d lies on another device", name_of(step, name), i);
    return HN_OK;
}

static hn_status check_output(reading *r, int s, int o)
{
    const hn_plan *plan = r->plan;
    const hn_step *step = &plan->steps[s];
    const int v = step->out[o];
    char name[HN_NODE_TEXT];
    if (v < 0)
        return HN_OK;
    const hn_node *node = step->apply ? step->apply->out[o] : r->shows[step->in[0]];
    const hn_type *type = step->apply ? &node->type : &plan->values[step->in[0]].type;
    const hn_value *value = &plan->values[v];
    const hn_root *root = &plan->roots[value->root];
    const bool is_updated = step->apply && node->leaf && !is_view(step);
    HN_REQUIRE(value->step == s && !r->shows[v] && !r->given[v] &&
                   hn_same_shape(&value->type, type) && value->type.dtype == type->dtype,
               HN_ERR_PROOF, "plan: %s: output %d is made elsewhere, or of another type",
               name_of(step, name), o);
    HN_REQUIRE(is_view(step) || (root->device == step->device && !root->is_scratch &&
                                 root->leaf == (is_updated ? node->leaf : NULL)),
               HN_ERR_PROOF, "plan: %s: output %d does not lie in its own storage",
               name_of(step, name), o);
    HN_REQUIRE((size_t)value->at + hn_type_span(&value->type) <= root->bytes, HN_ERR_PROOF,
               "plan: %s: output %d is larger than its memory of %zu bytes", name_of(step, name), o,
               root->bytes);
    r->shows[v] = node;
    r->given[v] = step->apply ? NULL : r->given[step->in[0]];
    return HN_OK;
}

static hn_status check_step(reading *r, int s)
{
    const hn_step *step = &r->plan->steps[s];
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
    hn_call call;
    HN_TRY(step->apply ? check_apply(r, s) : check_copy(r, s));
    for (int o = 0; o < step->n_out; o++)
        HN_TRY(check_output(r, s, o));
    HN_REQUIRE(step->out[0] >= 0, HN_ERR_PROOF, "plan: step %d makes nothing", s);
    call_of(r, step, in, out, &call);
    if (is_view(step))
        return check_view(r, step, &call);
    HN_TRY(check_device(r, step));
    return check_support(r, step, &call);
}

static hn_status check_all(reading *r, int n_wanted, hn_node *const *wanted)
{
    const hn_plan *plan = r->plan;
    char name[HN_NODE_TEXT];
    HN_TRY(check_leaves(r));
    for (int s = 0; s < plan->n_steps; s++)
        HN_TRY(check_step(r, s));
    HN_REQUIRE(plan->n_results == n_wanted, HN_ERR_PROOF, "plan: %d results: %d are wanted",
               plan->n_results, n_wanted);
    for (int i = 0; i < n_wanted; i++)
        HN_REQUIRE(shows(r, plan->result[i], wanted[i]), HN_ERR_PROOF, "plan: result %d is not %s", i,
                   hn_node_text(wanted[i], name));
    return HN_OK;
}

hn_status hn_plan_verify_steps(const hn_plan *plan, int n_wanted, hn_node *const *wanted)
{
    reading r = { .plan = plan };
    r.shows = hn_alloc_array(plan->heap, HN_TAG_PLAN, (size_t)plan->n_values + 1, sizeof *r.shows);
    r.is_done =
        hn_alloc_array(plan->heap, HN_TAG_PLAN, (size_t)plan->g->n_applies + 1, sizeof *r.is_done);
    r.given = hn_alloc_array(plan->heap, HN_TAG_PLAN, (size_t)plan->n_values + 1, sizeof *r.given);
    const hn_status status =
        r.shows && r.given && r.is_done ? check_all(&r, n_wanted, wanted) : HN_ERR_MEMORY;
    hn_free(plan->heap, r.shows);
    hn_free(plan->heap, r.given);
    hn_free(plan->heap, r.is_done);
    return status;
}
