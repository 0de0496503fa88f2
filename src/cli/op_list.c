/* Inputs, attributes with defaults, differentiable inputs, alias contract, types; and what each
 * backend answers when it is asked for a kernel of the op's cases. */
#include "cli/op_list.h"

#include "backend/backend.h"
#include "ops/ops.h"
#include "prove/case.h"

#include <string.h>

enum { TYPES_BYTES = 256 };

/* Adds a word to a list of words, once: f16 is not there because bf16 is. */
static void add_word(char words[TYPES_BYTES], const char *word)
{
    const size_t length = strlen(word), used = strlen(words);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return;
    if (used + length + 2 > TYPES_BYTES)
        return;
    if (used)
        strcat(words, " ");
    strcat(words, word);
}

/* The element types of a case's inputs. */
static void add_types(const hn_case *c, char words[TYPES_BYTES])
{
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k].is_given)
            add_word(words, hn_dtype_name(c->in[k].type.dtype));
}

static hn_status covered_types(const hn_op *op, char types[TYPES_BYTES])
{
    types[0] = 0;
    for (int i = 0; op->cases && op->cases[i]; i++) {
        hn_case c;
        HN_TRY(hn_case_parse(op, op->cases[i], &c));
        add_types(&c, types);
    }
    return HN_OK;
}

/* Whether a device has a kernel of its own for a case. */
static hn_status has_kernel(const hn_device *device, const hn_case *c, bool *has)
{
    hn_tensor in[HN_MAX_IN], result[HN_MAX_OUT];
    hn_type types[HN_MAX_OUT];
    hn_input_info outputs[HN_MAX_OUT];
    char attrs[512] = { 0 };
    int64_t view_at;
    HN_TRY(hn_attrs_parse(c->op->name, c->op->attrs, c->attrs, attrs));
    hn_call call = { .op = c->op, .attrs = attrs, .n_in = hn_op_n_in(c->op) };
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k].is_given) {
            in[k] = hn_tensor_at(&c->in[k].type, NULL);
            call.in[k] = &in[k];
        }
    HN_TRY(hn_call_infer(&call, types, &view_at));
    call.n_out = hn_op_outputs(c->op, outputs);
    for (int o = 0; o < call.n_out; o++) {
        result[o] = hn_tensor_at(&types[o], NULL);
        call.out[o] = &result[o];
    }
    hn_support support = { 0 };
    device->backend->supports(device, &call, &support);
    *has = support.has_kernel;
    return HN_OK;
}

/* The types of the cases that have a kernel on the device; empty: there is none. */
static hn_status kernel_types(const hn_device *device, const hn_op *op, char types[TYPES_BYTES])
{
    types[0] = 0;
    for (int i = 0; op->cases && op->cases[i]; i++) {
        hn_case c;
        bool has = false;
        HN_TRY(hn_case_parse(op, op->cases[i], &c));
        HN_TRY(has_kernel(device, &c, &has));
        if (has)
            add_types(&c, types);
    }
    return HN_OK;
}

/* A device of each backend that has one here. */
typedef struct devices {
    hn_device *at[HN_MAX_DEVICES];
    int n;
} devices;

static void devices_close(devices *d)
{
    for (int i = 0; i < d->n; i++)
        d->at[i]->backend->close(d->at[i]);
}

static void devices_open(devices *d, hn_heap *heap)
{
    const hn_device_options options = { .n_threads = 1 };
    for (int b = 0; hn_backend_at(b) && d->n < HN_MAX_DEVICES; b++)
        if (hn_backend_at(b)->open(&d->at[d->n], heap, &options) == HN_OK)
            d->n++;
}

static const char *kind_name(hn_attr_kind kind)
{
    static const char *const names[] = { [HN_ATTR_KIND_FLOAT] = "float",
                                         [HN_ATTR_KIND_INT] = "int",
                                         [HN_ATTR_KIND_BOOL] = "bool",
                                         [HN_ATTR_KIND_ENUM] = "word",
                                         [HN_ATTR_KIND_INTS] = "ints" };
    return names[kind];
}

static void print_attrs_json(const hn_op *op, FILE *out)
{
    fputs(", \"attributes\": [", out);
    for (int i = 0; op->attrs && op->attrs[i].kind != HN_ATTR_KIND_END; i++) {
        const hn_attr *a = &op->attrs[i];
        fprintf(out, "%s{\"name\": \"%s\", \"type\": \"%s\", \"default\": ", i ? ", " : "", a->name,
                kind_name(a->kind));
        if (a->fallback)
            fprintf(out, "\"%s\"", a->fallback);
        else
            fputs("null", out);
        if (a->choices)
            fprintf(out, ", \"choices\": \"%s\"", a->choices);
        fputs("}", out);
    }
    fputs("]", out);
}

static void print_aliases_json(const hn_op *op, const hn_input_info *in, int n_in,
                               const hn_input_info *outputs, int n_out, FILE *out)
{
    fputs(", \"may_overwrite\": {", out);
    for (int o = 0; o < n_out; o++) {
        fprintf(out, "%s\"%s\": [", o ? ", " : "", outputs[o].name);
        bool first = true;
        for (int i = 0; i < n_in; i++)
            if (op->may_overwrite[o] & HN_IN(i)) {
                fprintf(out, "%s\"%s\"", first ? "" : ", ", in[i].name);
                first = false;
            }
        fputs("]", out);
    }
    fputs("}", out);
    if (op->view_of)
        fprintf(out, ", \"view_of\": \"%s\"", in[op->view_of - 1].name);
    for (int o = 0; o < n_out; o++)
        if (op->updates[o])
            fprintf(out, ", \"updates_%s\": \"%s\"", outputs[o].name, in[op->updates[o] - 1].name);
}

/* Which backends have a kernel of the op, and for which types. A view needs none. */
static hn_status print_backends_json(const hn_op *op, const devices *on, FILE *out)
{
    char types[HN_MAX_DEVICES][TYPES_BYTES];
    const char *comma = "";
    fputs(", \"backends\": [", out);
    for (int d = 0; d < on->n; d++) {
        HN_TRY(kernel_types(on->at[d], op, types[d]));
        if (!*types[d] && !op->view_of)
            continue;
        fprintf(out, "%s\"%s\"", comma, on->at[d]->backend->name);
        comma = ", ";
    }
    fputs("], \"kernels\": {", out);
    comma = "";
    for (int d = 0; d < on->n; d++)
        if (*types[d] && !op->view_of) {
            fprintf(out, "%s\"%s\": \"%s\"", comma, on->at[d]->backend->name, types[d]);
            comma = ", ";
        }
    fputs("}", out);
    return HN_OK;
}

static hn_status print_json(const hn_op *op, bool is_first, const devices *on, FILE *out)
{
    hn_input_info in[HN_MAX_IN], outputs[HN_MAX_OUT];
    char types[TYPES_BYTES];
    HN_TRY(covered_types(op, types));
    const int n_in = hn_op_inputs(op, in), n_out = hn_op_outputs(op, outputs);
    fprintf(out, "%s\n  {\"name\": \"%s\", \"summary\": \"%s\", \"inputs\": [", is_first ? "" : ",",
            op->name, op->summary ? op->summary : "");
    for (int i = 0; i < n_in; i++)
        fprintf(out, "%s{\"name\": \"%s\", \"optional\": %s, \"differentiable\": %s}",
                i ? ", " : "", in[i].name, in[i].is_optional ? "true" : "false",
                in[i].has_gradient && op->backward ? "true" : "false");
    fputs("], \"outputs\": [", out);
    for (int o = 0; o < n_out; o++)
        fprintf(out, "%s\"%s\"", o ? ", " : "", outputs[o].name);
    fputs("]", out);
    print_attrs_json(op, out);
    fprintf(out, ", \"gradient\": ");
    if (op->backward)
        fputs("true", out);
    else
        fprintf(out, "\"%s\"", op->no_gradient ? op->no_gradient : "");
    print_aliases_json(op, in, n_in, outputs, n_out, out);
    fprintf(out, ", \"types\": \"%s\"", types);
    HN_TRY(print_backends_json(op, on, out));
    fputs("}", out);
    return HN_OK;
}

static hn_status print_text(const hn_op *op, const devices *on, FILE *out)
{
    char types[TYPES_BYTES];
    hn_input_info in[HN_MAX_IN];
    HN_TRY(covered_types(op, types));
    const int n_in = hn_op_inputs(op, in);
    fprintf(out, "%-18s (%s) -> (%s)", op->name, op->inputs, op->outputs ? op->outputs : "y");
    for (int i = 0; op->attrs && op->attrs[i].kind != HN_ATTR_KIND_END; i++)
        fprintf(out, " %s=%s", op->attrs[i].name,
                op->attrs[i].fallback ? op->attrs[i].fallback : "?");
    fprintf(out, "\n%18s %s\n%18s gradient:", "", op->summary ? op->summary : "", "");
    for (int i = 0; op->backward && i < n_in; i++)
        if (in[i].has_gradient)
            fprintf(out, " %s", in[i].name);
    if (!op->backward)
        fprintf(out, " none (%s)", op->no_gradient ? op->no_gradient : "");
    fputs("; may overwrite:", out);
    for (int o = 0; o < HN_MAX_OUT; o++)
        for (int i = 0; i < n_in; i++)
            if (op->may_overwrite[o] & HN_IN(i))
                fprintf(out, " %s", in[i].name);
    if (op->view_of)
        fputs(" (a view)", out);
    fprintf(out, "; types: %s; kernels:", types);
    bool has_any = false;
    for (int d = 0; d < on->n && !op->view_of; d++) {
        HN_TRY(kernel_types(on->at[d], op, types));
        if (*types)
            fprintf(out, "%s %s for %s", has_any ? "," : "", on->at[d]->backend->name, types);
        has_any = has_any || *types;
    }
    fputs(op->view_of ? " none needed\n" : has_any ? "\n" : " none (the op's own forward)\n", out);
    return HN_OK;
}

hn_status hn_op_list_print(hn_heap *heap, bool json, FILE *out)
{
    devices on = { .n = 0 };
    hn_status status = HN_OK;
    devices_open(&on, heap);
    if (json)
        fputs("[", out);
    for (int i = 0; hn_ops[i] && status == HN_OK; i++)
        status = json ? print_json(hn_ops[i], i == 0, &on, out)
                      : print_text(hn_ops[i], &on, out);
    if (json && status == HN_OK)
        fputs("\n]\n", out);
    devices_close(&on);
    return status;
}
