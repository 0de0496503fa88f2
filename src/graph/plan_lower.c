/* From nodes to steps: what is needed, on which device, with the copies that this takes.
 *
 *     graph   h = linear(x, w)     w lies on far       plan   values   0 x (host)   1 w (far)
 *             y = print(h)         no kernel on far           step 0   copy 0 -> 2         host -> far
 *                                                             step 1   linear 2, 1 -> 3    far
 *                                                             step 2   copy 3 -> 4         far -> host
 *                                                             step 3   print 4 -> 5        host
 *
 * A value is one tensor on one device; a node has one where it was made, and at most one copy on each other device, which
 * all readers there share: of a weight that is never updated it stays there from run to run, and is no step. That is
 * sound because a value is never written twice: an update makes a new version of its leaf, and is lowered after every
 * reader of the old one, or the graph was refused. A kernel that wants contiguous inputs gets a copy, too, one for all that
 * ask. */
#include "graph/layout.h"
#include "graph/place.h"

#include <string.h>

typedef struct lowering {
    hn_plan *plan;
    bool *needed;      /* by apply id */
    bool *read;        /* by node id: some needed step, or the caller, reads it */
    int *value;        /* by node id */
    int *copies;       /* [value][device]: its copy there; room for values_room values */
    int *packed;       /* by value: its contiguous copy */
    int host;          /* the device that does what others cannot */
    int tables_room;
    int stretch;       /* of streamed weights: whose ops are lowered now, */
    int next_begins;   /* and the first application that reads another */
} lowering;

/* ---- growing lists ---- */

static hn_status grow(hn_plan *plan, void *list_in_out, int n, int *room, size_t size)
{
    void *list;
    memcpy(&list, list_in_out, sizeof list);
    if (n < *room)
        return HN_OK;
    const int more = *room ? *room * 2 : 128;
    list = hn_realloc_array(plan->heap, HN_TAG_PLAN, list, (size_t)more, size);
    if (!list)
        return HN_ERR_MEMORY;
    memcpy(list_in_out, &list, sizeof list);
    *room = more;
    return HN_OK;
}

static hn_status add_root(hn_plan *plan, const hn_leaf *leaf, int device, size_t bytes, int *out)
{
    HN_TRY(grow(plan, &plan->roots, plan->n_roots, &plan->roots_room, sizeof *plan->roots));
    *out = plan->n_roots++;
    plan->roots[*out] = (hn_root){ .leaf = leaf, .device = device, .bytes = bytes };
    return HN_OK;
}

static hn_status add_value(hn_plan *plan, const hn_type *type, int root, int64_t at, int step,
                           int *out)
{
    HN_TRY(grow(plan, &plan->values, plan->n_values, &plan->values_room, sizeof *plan->values));
    *out = plan->n_values++;
    plan->values[*out] = (hn_value){ .type = *type, .root = root, .at = at, .step = step };
    return HN_OK;
}

static hn_status add_step(hn_plan *plan, const hn_step *step, int *out)
{
    HN_TRY(grow(plan, &plan->steps, plan->n_steps, &plan->steps_room, sizeof *plan->steps));
    *out = plan->n_steps++;
    plan->steps[*out] = *step;
    return HN_OK;
}

/* ---- what is needed ---- */

static bool is_given(const hn_plan *plan, const hn_node *node)
{
    const bool is_view = node->by && node->by->op->view_of;
    return plan->options.sums_are_given && node->leaf && node->leaf->kind == HN_LEAF_ACC && !is_view;
}

static void mark(lowering *l, int n_wanted, hn_node *const *wanted)
{
    const hn_graph *g = l->plan->g;
    for (int i = 0; i < n_wanted; i++) {
        l->read[wanted[i]->id] = true;
        if (wanted[i]->by && !is_given(l->plan, wanted[i]))
            l->needed[wanted[i]->by->id] = true;
    }
    for (int i = g->n_applies - 1; i >= 0; i--) {
        const hn_apply *a = g->applies[i];
        for (int j = 0; l->needed[i] && j < a->n_in; j++) {
            hn_node *x = a->in[j];
            if (!x)
                continue;
            l->read[x->id] = true;
            if (x->by && !is_given(l->plan, x))
                l->needed[x->by->id] = true;
        }
    }
}

/* A running sum may be read only when it is finished. */
static hn_status check_sums(const lowering *l)
{
    char name[HN_NODE_TEXT];
    for (int i = 0; i < l->plan->g->n_applies; i++) {
        const hn_apply *a = l->plan->g->applies[i];
        if (!l->needed[i] || !l->plan->options.sums_are_given)
            continue;
        for (int j = 0; j < a->n_in; j++)
            HN_REQUIRE(!a->in[j] || !a->in[j]->is_per_batch || !hn_op_reads(a->op, j),
                       HN_ERR_UNSUPPORTED,
                       "%s depends on a single micro-batch and cannot run once a step",
                       hn_apply_text(a, name));
    }
    return HN_OK;
}

/* ---- where ---- */

static int device_of_leaf(const lowering *l, const hn_leaf *leaf)
{
    return l->plan->place[leaf->id];
}

static hn_status leaf_value(lowering *l, const hn_leaf *leaf, int *out)
{
    hn_plan *plan = l->plan;
    int *value = &plan->leaf_value[leaf->id];
    if (*value == HN_NO_VALUE) {
        int root;
        HN_TRY(add_root(plan, leaf, device_of_leaf(l, leaf), hn_type_bytes(&leaf->type), &root));
        HN_TRY(add_value(plan, &leaf->type, root, 0, HN_NO_VALUE, value));
    }
    *out = *value;
    return HN_OK;
}

static hn_status node_value(lowering *l, const hn_node *node, int *out)
{
    if (node->leaf && (!node->by || is_given(l->plan, node)))
        return leaf_value(l, node->leaf, out);
    *out = l->value[node->id];
    return HN_OK;
}

/* Where what it updates lies; else where the weight or state that it reads was asked to lie, though what
 * updates that had to go to the host; else where its largest input lies. */
static int choose_device(const lowering *l, const hn_apply *a, const int *in)
{
    const hn_plan *plan = l->plan;
    for (int o = 0; o < a->n_out; o++)
        if (a->out[o]->leaf && !a->op->view_of)
            return device_of_leaf(l, a->out[o]->leaf);
    int best = 0;
    size_t most = 0;
    for (int i = 0; i < a->n_in; i++) {
        if (in[i] == HN_NO_VALUE || !hn_op_reads(a->op, i))
            continue;
        const hn_root *root = &plan->roots[plan->values[in[i]].root];
        if (root->leaf && root->leaf->kind >= HN_LEAF_WEIGHT)
            return hn_leaf_asked(root->leaf, plan->n_devices, plan->targets);
        const bool placed = !root->leaf || root->leaf->device != HN_ANY_DEVICE;
        const size_t bytes = placed ? hn_type_bytes(&plan->values[in[i]].type) : 0;
        if (bytes > most) {
            most = bytes;
            best = root->leaf ? hn_leaf_asked(root->leaf, plan->n_devices, plan->targets) : root->device;
        }
    }
    return best;
}

/* ---- copies ---- */

static hn_status tables_room(lowering *l)
{
    hn_plan *plan = l->plan;
    const int old = l->tables_room;
    if (plan->n_values < old)
        return HN_OK;
    const int more = plan->values_room + 1;
    int *copies = hn_realloc_array(plan->heap, HN_TAG_PLAN, l->copies,
                                   (size_t)more * HN_MAX_DEVICES, sizeof(int));
    if (!copies)
        return HN_ERR_MEMORY;
    l->copies = copies;
    int *packed = hn_realloc_array(plan->heap, HN_TAG_PLAN, l->packed, (size_t)more, sizeof(int));
    if (!packed)
        return HN_ERR_MEMORY;
    l->packed = packed;
    for (int i = old; i < more; i++) {
        packed[i] = HN_NO_VALUE;
        for (int d = 0; d < HN_MAX_DEVICES; d++)
            copies[i * HN_MAX_DEVICES + d] = HN_NO_VALUE;
    }
    l->tables_room = more;
    return HN_OK;
}

static void ask(const hn_plan *plan, hn_step *step, const hn_tensor *in, hn_tensor *out,
                hn_call *call)
{
    *call = (hn_call){ .op = step->op, .attrs = step->attrs, .n_in = step->n_in,
                       .n_out = step->n_out };
    for (int i = 0; i < step->n_in; i++)
        call->in[i] = step->in[i] == HN_NO_VALUE ? NULL : &in[i];
    for (int o = 0; o < step->n_out; o++)
        call->out[o] = step->out[o] == HN_NO_VALUE && o > 0 ? NULL : &out[o];
    const hn_target *target = &plan->targets[step->device];
    target->supports(target->device, call, &step->support);
}

static hn_status add_copy(lowering *l, int from, int device, int *out)
{
    hn_plan *plan = l->plan;
    hn_type type = plan->values[from].type;
    hn_step step = { .op = plan->options.copy, .n_in = 1, .n_out = 1, .device = device,
                     .scratch = -1 };
    memset(step.in, -1, sizeof step.in);
    memset(step.out, -1, sizeof step.out);
    memset(step.took, -1, sizeof step.took);
    step.in[0] = from;
    step.crosses = plan->roots[plan->values[from].root].device != device;
    if (!step.crosses)
        type = hn_type_plain(&type);
    else if (!type.layout)
        hn_type_pack(&type);
    const hn_tensor in = hn_tensor_at(&plan->values[from].type, NULL);
    hn_tensor result = hn_tensor_at(&type, NULL);
    hn_call call;
    ask(plan, &step, &in, &result, &call);
    step.support.contiguous = HN_NONE;
    HN_REQUIRE(step.crosses || step.support.runs, HN_ERR_UNSUPPORTED,
               "the device has no kernel that makes values contiguous: every device needs one");
    int root, at;
    HN_TRY(add_root(plan, NULL, device, hn_type_bytes(&type), &root));
    HN_TRY(add_value(plan, &type, root, 0, plan->n_steps, out));
    step.out[0] = *out;
    HN_TRY(add_step(plan, &step, &at));
    return tables_room(l);
}

static hn_status packed_copy(lowering *l, int *value)
{
    HN_TRY(tables_room(l));
    if (l->packed[*value] == HN_NO_VALUE) {
        int copy;
        const int device = l->plan->roots[l->plan->values[*value].root].device;
        HN_TRY(add_copy(l, *value, device, &copy));
        l->packed[*value] = copy;
    }
    *value = l->packed[*value];
    return HN_OK;
}

/* A weight that nothing in the graph updates is kept on each device that reads it, and crosses once, not in every run. */
static bool is_kept(const hn_plan *plan, int value)
{
    const hn_value *v = &plan->values[value];
    const hn_leaf *leaf = plan->roots[v->root].leaf;
    return v->step == HN_NO_VALUE && leaf && leaf->kind == HN_LEAF_WEIGHT && !leaf->version && !leaf->stretch;
}

static hn_status keep(lowering *l, int from, int device, int *out)
{
    hn_plan *plan = l->plan;
    int root;
    const hn_type type = hn_type_on(&plan->targets[device], &plan->values[from].type);
    HN_TRY(add_root(plan, plan->roots[plan->values[from].root].leaf, device, hn_type_bytes(&type), &root));
    HN_TRY(add_value(plan, &type, root, 0, HN_NO_VALUE, out));
    return tables_room(l);
}

/* Back to plain rows, for a device that does not read how they are packed: the host does that, to what it has. */
static hn_status unpack(lowering *l, int *value)
{
    const hn_plan *plan = l->plan;
    const hn_root *root = &plan->roots[plan->values[*value].root];
    char type[HN_TYPE_TEXT];
    HN_REQUIRE(plan->targets[root->device].is_host, HN_ERR_UNSUPPORTED,
               "%s is %s, in a layout that its device does not read", root->leaf->name,
               hn_type_text(&plan->values[*value].type, type));
    return packed_copy(l, value);
}

/* Brings a value to a device, as its kernels read it; what crosses is contiguous, and is copied once. */
static hn_status bring(lowering *l, int device, int *value)
{
    const hn_value *v = &l->plan->values[*value];
    const bool is_there = l->plan->roots[v->root].device == device;
    if (!hn_target_reads(&l->plan->targets[device], v->type.layout) && (is_there || !is_kept(l->plan, *value)))
        HN_TRY(unpack(l, value));
    else if (!is_there && !v->type.layout && !hn_is_contiguous(&v->type))
        HN_TRY(packed_copy(l, value));
    if (is_there)
        return HN_OK;
    HN_TRY(tables_room(l));
    const int slot = *value * HN_MAX_DEVICES + device;
    if (l->copies[slot] == HN_NO_VALUE) {
        int copy;
        HN_TRY(is_kept(l->plan, *value) ? keep(l, *value, device, &copy) : add_copy(l, *value, device, &copy));
        l->copies[slot] = copy;
    }
    *value = l->copies[slot];
    return HN_OK;
}

/* The present version of a state, copied once a version: an update makes the copies stale. */
static void forget_copies(lowering *l, int root)
{
    for (int v = 0; v < l->plan->n_values && v < l->tables_room; v++)
        if (l->plan->values[v].root == root) {
            l->packed[v] = HN_NO_VALUE;
            for (int d = 0; d < HN_MAX_DEVICES; d++)
                l->copies[v * HN_MAX_DEVICES + d] = HN_NO_VALUE;
        }
}

/* Before anything is copied: what no kernel runs does not bring its inputs. */
static bool runs_there(const hn_plan *plan, const hn_apply *a, hn_step *step)
{
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
    hn_call call;
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i])
            in[i] = hn_tensor_at(&a->in[i]->type, NULL);
    for (int o = 0; o < a->n_out; o++)
        out[o] = hn_tensor_at(&a->out[o]->type, NULL);
    ask(plan, step, in, out, &call);
    return step->support.runs;
}

/* ---- weights that are sent ahead ---- */

/* Where an application runs that reads a streamed weight; HN_ANY_DEVICE: where the weight is. */
static int device_of_reader(const lowering *l, const hn_apply *a, const hn_leaf *leaf)
{
    const hn_plan *plan = l->plan;
    hn_step step = { .op = a->op, .attrs = a->attrs, .n_in = a->n_in, .n_out = a->n_out };
    step.device = hn_leaf_asked(leaf, plan->n_devices, plan->targets);
    if (plan->targets[step.device].is_host || a->op->view_of || !runs_there(plan, a, &step))
        return HN_ANY_DEVICE;
    return step.device;
}

static const hn_leaf *streamed(const hn_apply *a, int i)
{
    const hn_node *x = a->in[i];
    const bool is = x && x->leaf && !x->by && x->leaf->stretch && hn_op_reads(a->op, i);
    return is ? x->leaf : NULL;
}

static int stretch_of(const hn_apply *a)
{
    for (int i = 0; i < a->n_in; i++)
        if (streamed(a, i))
            return streamed(a, i)->stretch;
    return 0;
}

/* The weights of the applications from `at` on that are of one stretch, to where they are read; the first application
 * after them that reads another's. */
static hn_status send_stretch(lowering *l, int at, int stretch, int *end)
{
    const hn_graph *g = l->plan->g;
    for (; at < g->n_applies; at++) {
        const hn_apply *a = g->applies[at];
        const int own = l->needed[at] ? stretch_of(a) : 0;
        if (own && own != stretch)
            break;
        for (int i = 0; own && i < a->n_in; i++) {
            const hn_leaf *leaf = streamed(a, i);
            int value, device = leaf ? device_of_reader(l, a, leaf) : HN_ANY_DEVICE;
            if (device == HN_ANY_DEVICE)
                continue;
            HN_TRY(leaf_value(l, leaf, &value));
            HN_TRY(bring(l, device, &value));
        }
    }
    *end = at;
    return HN_OK;
}

/* Copies of other stretches than these are not read again before they are sent again. */
static void forget_sent(lowering *l, int stretch, int next)
{
    const hn_plan *plan = l->plan;
    for (int i = 0; i < plan->g->n_leaves; i++) {
        const hn_leaf *leaf = plan->g->leaves[i];
        const int v = plan->leaf_value[i];
        if (leaf->stretch && leaf->stretch != stretch && leaf->stretch != next && v != HN_NO_VALUE && v < l->tables_room)
            for (int d = 0; d < HN_MAX_DEVICES; d++)
                l->copies[v * HN_MAX_DEVICES + d] = HN_NO_VALUE;
    }
}

/* When a stretch begins, its weights were sent by the one before, and those of the next are sent: two of them lie on
 * the device at most, in a ring that the workspace has room for.
 *
 *     sent       1 2 |       3 |       4 |            of the first, both
 *     computed       | 1 1 1   | 2 2 2   | 3 3 3 ...
 */
static hn_status send_ahead(lowering *l, const hn_apply *a)
{
    const int stretch = stretch_of(a);
    int end;
    if (!stretch || (stretch == l->stretch && a->id < l->next_begins))
        return HN_OK;
    l->stretch = stretch;
    HN_TRY(send_stretch(l, a->id, stretch, &l->next_begins));
    const bool is_last = l->next_begins >= l->plan->g->n_applies;
    const int next = is_last ? stretch : stretch_of(l->plan->g->applies[l->next_begins]);
    forget_sent(l, stretch, next);
    return is_last ? HN_OK : send_stretch(l, l->next_begins, next, &end);
}

/* ---- one application ---- */

static hn_status output_value(lowering *l, const hn_apply *a, hn_step *step, int o, int64_t view_at)
{
    hn_plan *plan = l->plan;
    const hn_node *node = a->out[o];
    int root;
    int64_t at = 0;
    if (a->op->view_of) {
        const hn_value *source = &plan->values[step->in[a->op->view_of - 1]];
        root = source->root;
        at = source->at + view_at;
    } else if (node->leaf) {
        int state;
        HN_TRY(leaf_value(l, node->leaf, &state));
        root = plan->values[state].root;
        forget_copies(l, root);
    } else {
        HN_TRY(add_root(plan, NULL, step->device, hn_type_bytes(&node->type), &root));
    }
    HN_TRY(add_value(plan, &node->type, root, at, plan->n_steps, &step->out[o]));
    l->value[node->id] = step->out[o];
    return tables_room(l);
}

/* A step writes memory of its own device alone. */
static hn_status check_updates(const lowering *l, const hn_apply *a, const hn_step *step)
{
    char name[HN_NODE_TEXT];
    for (int o = 0; o < a->n_out && !a->op->view_of; o++)
        HN_REQUIRE(!a->out[o]->leaf || device_of_leaf(l, a->out[o]->leaf) == step->device,
                   HN_ERR_UNSUPPORTED, "%s updates %s and %s, which lie on two devices",
                   hn_apply_text(a, name), a->out[0]->leaf ? a->out[0]->leaf->name : "its output",
                   a->out[o]->leaf->name);
    return HN_OK;
}

/* A packed weight is read as it lies, or not at all. */
static hn_status check_packed(const hn_apply *a, const hn_step *step)
{
    char name[HN_NODE_TEXT], type[HN_TYPE_TEXT];
    for (int i = 0; i < a->n_in; i++) {
        const hn_node *x = a->in[i];
        if (!x || !x->type.layout || !hn_op_reads(a->op, i))
            continue;
        HN_REQUIRE(step->support.packed & HN_IN(i), HN_ERR_UNSUPPORTED,
                   "%s reads %s, %s: the device has no kernel for that layout",
                   hn_apply_text(a, name), x->leaf->name, hn_type_text(&x->type, type));
    }
    return HN_OK;
}

static hn_status prepare_inputs(lowering *l, const hn_apply *a, hn_step *step)
{
    hn_plan *plan = l->plan;
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i] && hn_op_reads(a->op, i) && !a->op->view_of)
            HN_TRY(bring(l, step->device, &step->in[i]));
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
    hn_call call;
    for (int i = 0; i < a->n_in; i++)
        if (step->in[i] != HN_NO_VALUE)
            in[i] = hn_tensor_at(&plan->values[step->in[i]].type, NULL);
    for (int o = 0; o < a->n_out; o++) {
        out[o] = hn_tensor_at(&a->out[o]->type, NULL);
        if (o == 0 || l->read[a->out[o]->id] || a->out[o]->leaf)
            step->out[o] = 0; /* wanted; numbered later */
    }
    if (a->op->view_of)
        return HN_OK;
    ask(plan, step, in, out, &call);
    for (int i = 0; i < a->n_in; i++) {
        if (!(step->support.contiguous & HN_IN(i)) || step->in[i] == HN_NO_VALUE ||
            !hn_op_reads(a->op, i) || hn_is_contiguous(&plan->values[step->in[i]].type))
            continue;
        HN_TRY(packed_copy(l, &step->in[i]));
        in[i] = hn_tensor_at(&plan->values[step->in[i]].type, NULL);
    }
    ask(plan, step, in, out, &call); /* scratch may depend on the layout */
    return check_packed(a, step);
}

static hn_status view_offset(const hn_plan *plan, const hn_apply *a, const hn_step *step,
                             int64_t *at)
{
    *at = 0;
    if (!a->op->view_of)
        return HN_OK;
    hn_tensor in[HN_MAX_IN];
    hn_call call = { .op = a->op, .attrs = a->attrs, .n_in = a->n_in, .n_out = 1 };
    for (int i = 0; i < a->n_in; i++)
        if (step->in[i] != HN_NO_VALUE) {
            in[i] = hn_tensor_at(&plan->values[step->in[i]].type, NULL);
            call.in[i] = &in[i];
        }
    hn_type type;
    return hn_call_infer(&call, &type, at);
}

static hn_status lower_apply(lowering *l, const hn_apply *a)
{
    hn_plan *plan = l->plan;
    hn_step step = { .op = a->op, .attrs = a->attrs, .apply = a, .n_in = a->n_in,
                     .n_out = a->n_out, .scratch = -1 };
    memset(step.in, -1, sizeof step.in);
    memset(step.out, -1, sizeof step.out);
    memset(step.took, -1, sizeof step.took);
    HN_TRY(send_ahead(l, a));
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i])
            HN_TRY(node_value(l, a->in[i], &step.in[i]));
    step.device = choose_device(l, a, step.in);
    if (!a->op->view_of && !plan->targets[step.device].is_host && !runs_there(plan, a, &step))
        step.device = l->host;
    HN_TRY(check_updates(l, a, &step));
    HN_TRY(prepare_inputs(l, a, &step));
    int64_t view_at;
    HN_TRY(view_offset(plan, a, &step, &view_at));
    if (a->op->view_of)
        step.device = plan->roots[plan->values[step.in[a->op->view_of - 1]].root].device;
    for (int o = 0; o < a->n_out; o++)
        if (step.out[o] != HN_NO_VALUE)
            HN_TRY(output_value(l, a, &step, o, view_at));
    const size_t threads = (size_t)plan->targets[step.device].n_threads;
    const size_t scratch = step.support.shared_scratch + threads * step.support.thread_scratch;
    if (scratch && !a->op->view_of) {
        HN_TRY(add_root(plan, NULL, step.device, scratch, &step.scratch));
        plan->roots[step.scratch].is_scratch = true;
    }
    int at;
    return add_step(plan, &step, &at);
}

static hn_status lower(lowering *l, int n_wanted, hn_node *const *wanted)
{
    const hn_graph *g = l->plan->g;
    for (int i = 0; i < g->n_nodes; i++)
        l->value[i] = HN_NO_VALUE;
    for (int i = 0; i < g->n_leaves; i++)
        l->plan->leaf_value[i] = HN_NO_VALUE;
    mark(l, n_wanted, wanted);
    HN_TRY(check_sums(l));
    for (int i = 0; i < g->n_applies; i++)
        if (l->needed[i])
            HN_TRY(lower_apply(l, g->applies[i]));
    for (int i = 0; i < n_wanted; i++)
        HN_TRY(node_value(l, wanted[i], &l->plan->result[i]));
    return HN_OK;
}

hn_status hn_plan_lower(hn_plan *plan, int n_wanted, hn_node *const *wanted)
{
    const hn_graph *g = plan->g;
    hn_heap *heap = plan->heap;
    lowering l = { .plan = plan, .host = hn_host_target(plan->n_devices, plan->targets) };
    l.needed = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)g->n_applies + 1, sizeof *l.needed);
    l.read = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)g->n_nodes + 1, sizeof *l.read);
    l.value = hn_alloc_array(heap, HN_TAG_PLAN, (size_t)g->n_nodes + 1, sizeof *l.value);
    hn_status status = l.needed && l.read && l.value ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = lower(&l, n_wanted, wanted);
    hn_free(heap, l.needed);
    hn_free(heap, l.read);
    hn_free(heap, l.value);
    hn_free(heap, l.copies);
    hn_free(heap, l.packed);
    return status;
}
