/* Evidence is laid down and read in the order of the op's inputs; nobody else knows how. */
#include "backend/fault.h"

#include <math.h>
#include <string.h>

static size_t in_evidence(const hn_type *type)
{
    return (hn_type_span(type) + 7) / 8 * 8;
}

static bool is_evidence(const hn_call *call, int input)
{
    return call->op->check && call->op->checks & HN_IN(input) && call->in[input];
}

size_t hn_evidence_bytes(const hn_call *call)
{
    size_t bytes = 0;
    for (int i = 0; i < call->n_in; i++)
        bytes += is_evidence(call, i) ? in_evidence(&call->in[i]->type) : 0;
    return bytes;
}

hn_status hn_launch_check(const hn_launch *l)
{
    char name[HN_NODE_TEXT];
    const hn_status status = l->call->op->check(l->call);
    return status == HN_OK || !l->apply
               ? status : hn_fail_within(status, "%s: ", hn_apply_text(l->apply, name));
}

/* ---- whose checks are whose ---- */

int hn_written_by_host(const hn_plan *plan, int value)
{
    while (plan->values[value].step != HN_NO_VALUE && !plan->steps[plan->values[value].step].apply)
        value = plan->steps[plan->values[value].step].in[0];
    const hn_root *root = &plan->roots[plan->values[value].root];
    const bool is_its = root->leaf && root->leaf->kind < HN_LEAF_WEIGHT &&
                        plan->targets[root->device].is_host;
    return is_its ? value : HN_NO_VALUE;
}

bool hn_host_checks(const hn_plan *plan, const hn_step *step)
{
    if (!step->op->check || hn_step_is_view(step) || step->crosses)
        return false;
    for (int i = 0; i < step->n_in; i++)
        if ((step->op->checks & HN_IN(i)) && step->in[i] >= 0 &&
            hn_written_by_host(plan, step->in[i]) == HN_NO_VALUE)
            return false;
    return true;
}

/* ---- the device's part ---- */

static void refuse_values(const hn_launch *l, hn_fault *fault)
{
    char *at = (char *)(fault + 1);
    for (int i = 0; i < l->call->n_in; i++) {
        if (!is_evidence(l->call, i))
            continue;
        memcpy(at, l->call->in[i]->data, hn_type_span(&l->call->in[i]->type));
        at += in_evidence(&l->call->in[i]->type);
    }
    *fault = (hn_fault){ .kind = HN_FAULT_VALUES, .launch = l->number };
}

bool hn_launch_refuse_row(const hn_launch *l, int64_t from, hn_fault *fault)
{
    if (!l->call->op->finite)
        return false;
    const hn_tensor *t = l->call->in[l->call->op->finite - 1];
    const int64_t n = hn_last_dim(&t->type), rows = hn_rows(&t->type);
    for (int64_t row = from; row < rows; row++)
        for (int64_t i = 0; i < n; i++) {
            const double value = hn_get(t, row * n + i);
            if (isfinite(value))
                continue;
            *fault = (hn_fault){ .kind = HN_FAULT_ROW, .launch = l->number, .row = row, .element = i, .value = value };
            return true;
        }
    return false;
}

bool hn_launch_passes(const hn_launch *l, bool with_rows, hn_fault *fault)
{
    if (l->checks && l->call->op->check(l->call) != HN_OK) {
        refuse_values(l, fault);
        return false;
    }
    return !with_rows || !hn_launch_refuse_row(l, 0, fault);
}

void hn_launch_stop(const hn_launch *l, hn_fault *fault)
{
    *fault = (hn_fault){ .kind = HN_FAULT_STOPPED, .launch = l->number };
}

/* ---- the host's ---- */

static hn_status say_values(const hn_launch *launch, const char *evidence)
{
    hn_tensor in[HN_MAX_IN];
    hn_call call = *launch->call;
    hn_launch seen = *launch;
    for (int i = 0; i < call.n_in; i++) {
        if (!call.in[i])
            continue;
        in[i] = hn_tensor_at(&call.in[i]->type, NULL);
        if (is_evidence(launch->call, i)) {
            in[i].data = (void *)(uintptr_t)evidence;
            evidence += in_evidence(&in[i].type);
        }
        call.in[i] = &in[i];
    }
    seen.call = &call;
    HN_TRY(hn_launch_check(&seen));
    return hn_fail(HN_ERR_PROOF, "%s: its device refused ids or counts that its check lets pass", call.op->name);
}

static const hn_leaf *weight_of(const hn_apply *apply)
{
    for (int i = 0; i < apply->n_in; i++)
        if (apply->in[i] && apply->in[i]->leaf && apply->in[i]->leaf->kind == HN_LEAF_WEIGHT)
            return apply->in[i]->leaf;
    return NULL;
}

static hn_status say_row(const hn_fault *fault, const hn_launch *l)
{
    char name[HN_NODE_TEXT], from[HN_NODE_TEXT];
    hn_input_info info[HN_MAX_IN];
    const int input = l->call->op->finite - 1;
    if (input < 0 || isfinite(fault->value))
        return hn_fail(HN_ERR_PROOF, "%s: its device refused row %lld, which is finite", l->call->op->name, (long long)fault->row);
    hn_op_inputs(l->call->op, info);
    const hn_leaf *weight = l->apply ? weight_of(l->apply) : NULL;
    return hn_fail(HN_ERR_NUMERIC, "%s%s%s: row %lld of %s (%s) is not finite: element %lld is %s",
                   l->apply ? hn_apply_text(l->apply, name) : l->call->op->name, weight ? " by " : "",
                   weight ? weight->name : "", (long long)fault->row, info[input].name,
                   l->apply ? hn_node_text(l->apply->in[input], from) : "", (long long)fault->element,
                   isnan(fault->value) ? "nan" : fault->value > 0 ? "inf" : "-inf");
}

hn_status hn_fault_say(const hn_fault *fault, const hn_launch *launch, const void *evidence)
{
    switch ((hn_fault_kind)fault->kind) {
    case HN_FAULT_VALUES: return say_values(launch, evidence);
    case HN_FAULT_ROW: return say_row(fault, launch);
    case HN_FAULT_STOPPED: return hn_fail(HN_ERR_CANCELLED, "cancelled");
    case HN_FAULT_NONE: break;
    }
    return hn_fail(HN_ERR_PROOF, "%s: its device's error word is %lld, which says nothing", launch->call->op->name,
                   (long long)fault->kind);
}
