/* Inputs, attributes with defaults, differentiable inputs, alias contract, backends and types. */
#include "cli/op_list.h"

#include "backend/backend.h"
#include "ops/ops.h"
#include "prove/case.h"

#include <string.h>

enum { TYPES_BYTES = 256 };

/* The element types that the cases cover, "f32 bf16 q8_0", each once. */
static hn_status covered_types(const hn_op *op, char types[TYPES_BYTES])
{
    types[0] = 0;
    for (int i = 0; op->cases && op->cases[i]; i++) {
        hn_case c;
        HN_TRY(hn_case_parse(op, op->cases[i], &c));
        for (int k = 0; k < c.n_in; k++) {
            const char *name = hn_dtype_name(c.in[k].type.dtype);
            if (!c.in[k].is_given || strstr(types, name) ||
                strlen(types) + strlen(name) + 2 > TYPES_BYTES)
                continue;
            if (*types)
                strcat(types, " ");
            strcat(types, name);
        }
    }
    return HN_OK;
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

static hn_status print_json(const hn_op *op, bool is_first, FILE *out)
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
    fprintf(out, ", \"types\": \"%s\", \"backends\": [", types);
    for (int b = 0; hn_backends[b]; b++)
        fprintf(out, "%s\"%s\"", b ? ", " : "", hn_backends[b]->name);
    fputs("]}", out);
    return HN_OK;
}

static hn_status print_text(const hn_op *op, FILE *out)
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
    fprintf(out, "; types: %s\n", types);
    return HN_OK;
}

hn_status hn_op_list_print(hn_heap *heap, bool json, FILE *out)
{
    (void)heap;
    if (json)
        fputs("[", out);
    for (int i = 0; hn_ops[i]; i++)
        HN_TRY(json ? print_json(hn_ops[i], i == 0, out) : print_text(hn_ops[i], out));
    if (json)
        fputs("\n]\n", out);
    return HN_OK;
}
