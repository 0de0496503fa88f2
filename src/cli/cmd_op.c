/* hone op: runs one op on numpy files, and its gradient; or lists the ops. */
#include "backend/executable.h"
#include "cli/choices.h"
#include "cli/command.h"
#include "cli/machine.h"
#include "cli/op_arrays.h"
#include "cli/op_list.h"
#include "diff/diff.h"

#include <string.h>

typedef struct op_args {
    hn_list in, out, dout;
    const char *din, *plan;
    hn_machine_args machine;
    int64_t threads;
    bool list, json, overwrite;
} op_args;

static const hn_option options[] = {
    HN_LIST(op_args, in, "in", "FILE[:TYPE]", "an input, in the op's order; TYPE casts or encodes"),
    HN_LIST(op_args, out, "out", "FILE", "where output 0, 1 ... goes; without it, it is printed"),
    HN_LIST(op_args, dout, "dout", "FILE", "the gradient of output 0, 1 ..."),
    HN_TEXT(op_args, din, "din", "PREFIX", "where the gradient of input i goes: PREFIXi.npy"),
    HN_CHOICE(op_args, plan, "plan", "MODE", hn_plan_word, "{*}"),
    HN_DEVICE_OPTIONS(op_args),
    HN_FLAG(op_args, overwrite, "overwrite", "replace files that are there already"),
    HN_FLAG(op_args, list, "list", "print every op"),
    HN_FLAG(op_args, json, "json", "with --list: as JSON"),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    { "json", HN_ONLY_WITH, "list", NULL },
    { "list", HN_NOT_WITH, "in|out|din|dout|plan|device|threads|isa|memory|overwrite", "every op is listed, and none is run" },
    { "din", HN_ONLY_WITH, "dout", "it is of gradients" },
    { NULL, 0, NULL, NULL },
};

typedef struct op_run {
    hn_heap heap;
    const op_args *args;
    const hn_op *op;
    char attrs[1024];
    hn_plan_mode mode;
    hn_machine machine;
    hn_graph *g;
    int n_in;
    hn_npy in[HN_MAX_IN];
    hn_node *leaf[HN_MAX_IN];
    hn_node *y;
    int n_dout;
    hn_npy dout[HN_MAX_OUT];
    hn_node *dout_leaf[HN_MAX_OUT];
    int n_params, param[HN_MAX_IN];
    hn_node *wanted[HN_MAX_OUT + HN_MAX_IN];
    int n_wanted;
    hn_executable *x;
} op_run;

static bool is_updated(const hn_op *op, int input)
{
    for (int o = 0; o < HN_MAX_OUT; o++)
        if (op->updates[o] == HN_INPUT(input))
            return true;
    return false;
}

/* Reads the arguments into leaves. Two devices: inputs lie on them in turn. */
static hn_status make_inputs(op_run *r)
{
    hn_input_info info[HN_MAX_IN];
    const int most = hn_op_inputs(r->op, info);
    HN_REQUIRE(r->args->in.n <= most, HN_ERR_ARGUMENT, "%s: %d inputs given: expected at most %d (%s)",
               r->op->name, r->args->in.n, most, r->op->inputs);
    for (int i = 0; i < r->args->in.n; i++) {
        r->n_in = i + 1;
        if (!strcmp(r->args->in.at[i], "-"))
            continue;
        HN_TRY(hn_op_array_read(&r->heap, r->args->in.at[i], &r->in[i]));
        const hn_leaf_kind kind = is_updated(r->op, i) ? HN_LEAF_STATE : HN_LEAF_INPUT;
        r->leaf[i] = hn_graph_leaf(r->g, kind, info[i].name, r->in[i].dtype, r->in[i].rank,
                                   r->in[i].dim);
        HN_TRY(hn_graph_finish(r->g));
        if (r->machine.run.n_devices > 1)
            r->leaf[i]->leaf->device = i % r->machine.run.n_devices;
    }
    return HN_OK;
}

/* The loss is the sum of outputs times the given gradients: its gradient is the one asked for. */
static hn_status make_gradients(op_run *r)
{
    hn_input_info info[HN_MAX_IN];
    hn_op_inputs(r->op, info);
    hn_node *loss = NULL, *params[HN_MAX_IN];
    for (int o = 0; o < r->args->dout.n; o++) {
        hn_node *y = hn_output(r->y, o);
        HN_REQUIRE(o < r->y->by->n_out, HN_ERR_ARGUMENT, "%s has %d outputs: %d gradients given",
                   r->op->name, r->y->by->n_out, r->args->dout.n);
        HN_TRY(hn_op_array_read(&r->heap, r->args->dout.at[o], &r->dout[o]));
        r->n_dout = o + 1;
        r->dout_leaf[o] = hn_graph_leaf(r->g, HN_LEAF_INPUT, "dout", r->dout[o].dtype,
                                        r->dout[o].rank, r->dout[o].dim);
        HN_TRY(hn_graph_finish(r->g));
        HN_REQUIRE(hn_same_shape(&r->dout_leaf[o]->type, &y->type), HN_ERR_SHAPE,
                   "%s: its shape is not that of output %d", r->args->dout.at[o], o);
        hn_node *part = hn_sum_to(r->g, hn_mul(r->g, r->dout_leaf[o], y),
                                  hn_graph_scalar(r->g, 0), NULL);
        loss = loss ? hn_add(r->g, loss, part) : part;
    }
    for (int i = 0; i < r->n_in; i++)
        if (r->leaf[i] && info[i].has_gradient && hn_is_float(r->leaf[i]->type.dtype)) {
            r->param[r->n_params] = i;
            params[r->n_params++] = r->leaf[i];
        }
    HN_TRY(hn_graph_finish(r->g));
    HN_REQUIRE(r->op->backward, HN_ERR_UNSUPPORTED, "%s has no gradient: %s", r->op->name,
               r->op->no_gradient ? r->op->no_gradient : "not provided");
    HN_REQUIRE(r->n_params, HN_ERR_UNSUPPORTED, "%s: none of its inputs here has a gradient",
               r->op->name);
    HN_TRY(hn_diff(r->g, loss, r->n_params, params, NULL, &r->wanted[r->n_wanted]));
    r->n_wanted += r->n_params;
    return HN_OK;
}

static hn_status build(op_run *r)
{
    HN_TRY(make_inputs(r));
    r->y = hn_apply_named(r->g, r->op->name, r->attrs, r->n_in, r->leaf);
    HN_TRY(hn_graph_finish(r->g));
    const int n_out = r->y->by->n_out;
    HN_REQUIRE(r->args->out.n <= n_out, HN_ERR_ARGUMENT, "%s has %d outputs: %d files given",
               r->op->name, n_out, r->args->out.n);
    for (int o = 0; o < n_out; o++)
        r->wanted[r->n_wanted++] = hn_output(r->y, o);
    if (r->args->dout.n)
        HN_TRY(make_gradients(r));
    return hn_graph_finish(r->g);
}

static hn_status compile(op_run *r)
{
    const hn_plan_options plan = { .mode = r->mode };
    HN_TRY(hn_executable_new(&r->x, r->g, r->machine.run.n_devices, r->machine.devices));
    HN_TRY(hn_executable_plan(r->x, r->n_wanted, r->wanted, &plan));
    hn_storage *storage = hn_executable_storage(r->x);
    for (int i = 0; i < r->n_in; i++)
        if (r->leaf[i])
            HN_TRY(hn_storage_bind(storage, r->leaf[i]->leaf, r->in[i].data, r->in[i].bytes));
    for (int o = 0; o < r->n_dout; o++)
        HN_TRY(hn_storage_bind(storage, r->dout_leaf[o]->leaf, r->dout[o].data, r->dout[o].bytes));
    return hn_executable_make(r->x);
}

/* Where a result goes; false: it is printed. */
static bool find_target(const op_run *r, int w, const hn_input_info *names, hn_op_target *out)
{
    const int n_out = r->y->by->n_out, n = r->args->out.n;
    const hn_over over = r->args->overwrite ? HN_OVER_OLD : HN_OVER_NOTHING;
    if (w >= n_out)
        *out = (hn_op_target){ { r->args->din, over }, r->param[w - n_out], NULL };
    else
        *out = (hn_op_target){ { n ? r->args->out.at[w < n ? w : 0] : NULL, over }, -1, w < n ? NULL : names[w].name };
    return out->to.path;
}

static hn_status try_results(const op_run *r)
{
    hn_input_info names[HN_MAX_OUT];
    hn_op_target one, other;
    hn_op_outputs(r->op, names);
    for (int w = 0; w < r->n_wanted; w++) {
        if (!find_target(r, w, names, &one))
            continue;
        HN_TRY(hn_op_array_try(&one));
        for (int v = 0; v < w; v++)
            HN_REQUIRE(!find_target(r, v, names, &other) || !hn_op_array_same(&one, &other), HN_ERR_ARGUMENT,
                       "%s: two results would go there", one.to.path);
    }
    return HN_OK;
}

static hn_status write_results(op_run *r, FILE *out)
{
    const int n_out = r->y->by->n_out;
    hn_input_info names[HN_MAX_OUT];
    hn_op_target target;
    hn_op_outputs(r->op, names);
    for (int w = 0; w < r->n_wanted; w++) {
        hn_tensor t;
        HN_TRY(hn_program_result(hn_executable_program(r->x, 0), w, &t));
        if (find_target(r, w, names, &target))
            HN_TRY(hn_op_array_write(&r->heap, &t, &target));
        else
            hn_op_array_print(&t, w < n_out ? names[w].name : "din", w < n_out ? -1 : r->param[w - n_out],
                              out);
    }
    return HN_OK;
}

static void release(op_run *r)
{
    hn_executable_free(r->x);
    hn_graph_free(r->g);
    for (int i = 0; i < HN_MAX_IN; i++)
        hn_npy_free(&r->in[i]);
    for (int o = 0; o < HN_MAX_OUT; o++)
        hn_npy_free(&r->dout[o]);
    hn_machine_close(&r->machine);
}

static hn_status read_operands(op_run *r, int n, char **operands)
{
    HN_REQUIRE(n >= 1, HN_ERR_ARGUMENT, "expected the name of an op; --list prints them");
    r->op = hn_op_find(operands[0]);
    HN_REQUIRE(r->op, HN_ERR_ARGUMENT, "unknown op '%.60s'; --list prints them", operands[0]);
    if (r->op->with_one_input && r->args->in.n == 1)
        r->op = hn_op_find(r->op->with_one_input);
    size_t used = 0;
    for (int i = 1; i < n; i++) {
        const size_t length = strlen(operands[i]);
        HN_REQUIRE(used + length + 2 < sizeof r->attrs && !strchr(operands[i], ' '),
                   HN_ERR_ARGUMENT, "'%.60s': expected key=value", operands[i]);
        memcpy(r->attrs + used, operands[i], length);
        used += length;
        r->attrs[used++] = ' ';
    }
    r->attrs[used] = 0;
    if (r->args->plan)
        HN_TRY(hn_plan_mode_parse(r->args->plan, &r->mode));
    return HN_OK;
}

static hn_status run_op(op_run *r, FILE *out)
{
    HN_TRY(hn_machine_open(&r->machine, &r->heap, &r->args->machine));
    HN_TRY(hn_graph_new(&r->g, &r->heap));
    HN_TRY(build(r));
    HN_TRY(try_results(r));
    HN_TRY(compile(r));
    HN_TRY(hn_program_run(hn_executable_program(r->x, 0), NULL));
    return write_results(r, out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    op_run r = { .args = parsed };
    hn_heap_init(&r.heap, NULL);
    HN_REQUIRE(!r.args->list || !n_operands, HN_ERR_ARGUMENT, "--list: expected no op beside it, found %.60s", n_operands ? operands[0] : "");
    if (r.args->list)
        return hn_op_list_print(&r.heap, r.args->json, out);
    HN_TRY(read_operands(&r, n_operands, operands));
    const hn_status status = run_op(&r, out);
    release(&r);
    return status;
}

const hn_command hn_cmd_op = {
    .name = "op",
    .operands = "NAME [key=value ...]",
    .summary = "run one op, and its gradient, on numpy files",
    .details = "  hone op rms_norm eps=1e-4 --in a.npy --dout b.npy --din d   writes d0.npy\n"
               "  hone op linear --in x.npy --in w.npy:q4_k --out y.npy\n"
               "An optional input that is left out before one that is given is written as --in -\n"
               "With one --out, further outputs go beside it: y.npy, y.ids.npy.\n",
    .example = "op --list",
    .options = options,
    .rules = rules,
    .args_size = sizeof(op_args),
    .max_operands = HN_MAX_OPERANDS - 1,
    .run = run,
};
