/* The planner's own stages, with a fault put in between them: what is planted is what a mistake in
 * lowering, in lifetimes or in offsets would leave. */
#include "tests/failures/plan_faults.h"

#include "base/rng.h"
#include "graph/plan.h"

#include <stdio.h>

static hn_status faulty_lifetimes(hn_plan *plan);
static hn_status faulty_offsets(hn_plan *plan);
static hn_status finished(hn_plan *plan, hn_status status);

#define hn_plan_lifetimes(plan) faulty_lifetimes(plan)
#define hn_plan_offsets(plan) finished(plan, faulty_offsets(plan))
#include "src/graph/plan.c"
#undef hn_plan_lifetimes
#undef hn_plan_offsets

plan_faults planted;

#define PLAN_FAULT(name) #name,
const char *const plan_fault_names[N_PLAN_FAULTS] = { PLAN_FAULT_LIST(PLAN_FAULT) };
#undef PLAN_FAULT

static uint64_t draws;

static int pick(int n)
{
    return n > 0 ? (int)hn_rng_below(hn_rng_seed(planted.seed), draws++, (uint32_t)n) : 0;
}

static bool plants(plan_fault first, plan_fault last)
{
    return planted.is_armed && !planted.was_planted && planted.n_plans == planted.plan &&
           planted.kind >= first && planted.kind <= last;
}

static bool told(const hn_plan *plan, int s, const char *what)
{
    char name[HN_NODE_TEXT] = "a copy";
    if (s >= 0 && s < plan->n_steps && plan->steps[s].apply)
        hn_apply_text(plan->steps[s].apply, name);
    snprintf(planted.where, sizeof planted.where, "%s: step %d of %d, %.100s: %s",
             plan_fault_names[planted.kind], s, plan->n_steps, s < 0 ? "-" : name, what);
    planted.was_planted = true;
    return true;
}

static bool same_type(const hn_plan *plan, int a, int b)
{
    return hn_same_shape(&plan->values[a].type, &plan->values[b].type) &&
           plan->values[a].type.dtype == plan->values[b].type.dtype;
}

/* Another value of the same type that is there by step s. */
static int other_value(const hn_plan *plan, int value, int s)
{
    const int from = pick(plan->n_values);
    for (int k = 0; k < plan->n_values; k++) {
        const int v = (from + k) % plan->n_values;
        if (v != value && plan->values[v].step < s && same_type(plan, v, value))
            return v;
    }
    return HN_NO_VALUE;
}

static bool plant_in_step(hn_plan *plan, int s)
{
    hn_step *step = &plan->steps[s];
    const int i = pick(step->n_in), o = pick(step->n_out);
    const bool is_view = hn_step_is_view(step);
    int v;
    switch (planted.kind) {
    case FAULT_other_input:
    case FAULT_other_copy:
        if (step->in[i] < 0 || !hn_op_reads(step->op, i) ||
            (planted.kind == FAULT_other_copy) != !step->apply ||
            (v = other_value(plan, step->in[i], s)) < 0)
            return false;
        step->in[i] = v;
        return told(plan, s, "another input");
    case FAULT_swapped_steps:
        if (s + 1 >= plan->n_steps)
            return false;
        const hn_step first = *step;
        *step = plan->steps[s + 1];
        plan->steps[s + 1] = first;
        for (int k = s; k < s + 2; k++)
            for (int n = 0; n < plan->steps[k].n_out; n++)
                if (plan->steps[k].out[n] >= 0)
                    plan->values[plan->steps[k].out[n]].step = k;
        return told(plan, s, "swapped with the next");
    case FAULT_moved_view:
        if (!is_view || plan->roots[plan->values[step->out[0]].root].bytes < 8)
            return false;
        plan->values[step->out[0]].at += plan->values[step->out[0]].at ? -4 : 4;
        return told(plan, s, "a view one element off");
    case FAULT_small_root:
        if (is_view || step->out[o] < 0 || plan->roots[plan->values[step->out[o]].root].leaf)
            return false;
        plan->roots[plan->values[step->out[o]].root].bytes /= 2;
        return told(plan, s, "half the memory");
    case FAULT_small_scratch:
        if (step->scratch < 0)
            return false;
        plan->roots[step->scratch].bytes /= 2;
        return told(plan, s, "half the scratch");
    case FAULT_lost_update:
        if (is_view || !step->apply || step->out[o] < 0 || !step->apply->out[o]->leaf)
            return false;
        v = other_value(plan, step->out[o], s);
        if (v < 0)
            return false;
        plan->values[step->out[o]].root = plan->values[v].root;
        return told(plan, s, "an update stored elsewhere");
    case FAULT_wider_alias:
        if (is_view || !step->apply)
            return false;
        step->support.may_overwrite[o] = ~0u;
        return told(plan, s, "a kernel that may overwrite anything");
    case FAULT_other_attributes:
        for (int k = 0; k < plan->n_steps; k++)
            if (step->attrs && plan->steps[k].op == step->op && plan->steps[k].attrs &&
                plan->steps[k].attrs != step->attrs) {
                step->attrs = plan->steps[k].attrs;
                return told(plan, s, "the attributes of another step");
            }
        return false;
    case FAULT_took_over:
        for (int k = 0; k < step->n_in; k++) {
            const int x = step->in[k], y = step->out[o];
            if (is_view || x < 0 || y < 0 || step->took[o] >= 0 || !same_type(plan, x, y) ||
                plan->roots[plan->values[x].root].leaf || plan->roots[plan->values[y].root].leaf)
                continue;
            step->took[o] = k;
            plan->values[y].root = plan->values[x].root;
            plan->values[y].at = plan->values[x].at;
            return told(plan, s, "an input's memory taken over");
        }
        return false;
    default: return false;
    }
}

static bool is_placed(const hn_root *root)
{
    return !root->leaf && root->bytes > 0;
}

static bool plant_in_root(hn_plan *plan, int r)
{
    hn_root *root = &plan->roots[r];
    if (!is_placed(root))
        return false;
    switch (planted.kind) {
    case FAULT_freed_early:
        if (root->last <= root->first)
            return false;
        root->last = root->first + pick(root->last - root->first);
        return told(plan, root->last, "a root freed early");
    case FAULT_born_late:
        if (root->last <= root->first)
            return false;
        root->first += 1 + pick(root->last - root->first);
        return told(plan, root->first, "a root born late");
    case FAULT_merged_roots:
        for (int k = r + 1; k < plan->n_roots; k++) {
            const hn_root *other = &plan->roots[k];
            if (!is_placed(other) || other->device != root->device || other->is_scratch ||
                root->is_scratch || other->bytes != root->bytes || other->first > root->last)
                continue;
            for (int v = 0; v < plan->n_values; v++)
                if (plan->values[v].root == k)
                    plan->values[v].root = r;
            root->last = other->last > root->last ? other->last : root->last;
            return told(plan, other->first, "two roots in one place");
        }
        return false;
    case FAULT_moved_root:
        root->offset = root->offset >= 64 && pick(2) ? root->offset - 64 : root->offset + 64;
        return told(plan, root->first, "a root 64 bytes off");
    default: return false;
    }
}

static void plant_in_steps(hn_plan *plan)
{
    const int from = pick(plan->n_steps);
    for (int k = 0; k < plan->n_steps; k++)
        if (plant_in_step(plan, (from + k) % plan->n_steps))
            return;
}

static void plant_in_roots(hn_plan *plan)
{
    const int from = pick(plan->n_roots);
    for (int k = 0; k < plan->n_roots; k++)
        if (plant_in_root(plan, (from + k) % plan->n_roots))
            return;
}

static hn_status faulty_lifetimes(hn_plan *plan)
{
    draws = 0;
    if (plants(FAULT_other_result, FAULT_other_result)) {
        const int i = pick(plan->n_results);
        const int v = other_value(plan, plan->result[i], plan->n_steps);
        if (v >= 0) {
            plan->result[i] = v;
            told(plan, -1, "another result");
        }
    } else if (plants(FAULT_other_input, FAULT_other_copy)) {
        plant_in_steps(plan);
    }
    HN_TRY(hn_plan_lifetimes(plan));
    if (plants(FAULT_took_over, FAULT_took_over))
        plant_in_steps(plan);
    return HN_OK;
}

static hn_status faulty_offsets(hn_plan *plan)
{
    if (plants(FAULT_freed_early, FAULT_merged_roots))
        plant_in_roots(plan);
    HN_TRY(hn_plan_offsets(plan));
    if (plants(FAULT_moved_root, FAULT_moved_root))
        plant_in_roots(plan);
    if (plants(FAULT_small_workspace, FAULT_small_workspace) && plan->workspace[0] >= 64) {
        plan->workspace[0] -= 64;
        told(plan, -1, "a workspace 64 bytes too small");
    }
    return HN_OK;
}

static hn_status finished(hn_plan *plan, hn_status status)
{
    (void)plan;
    planted.n_plans++;
    return status;
}
