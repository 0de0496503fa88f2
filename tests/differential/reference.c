/* The file is cut into lines in place; values are read when their tensor is filled. */
#include "tests/differential/reference.h"

#include "base/file.h"
#include "diff/diff.h"
#include "ops/ops.h"
#include "prove/runner.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One line: its tensor type, and where its values begin. */
typedef struct line {
    int index;
    hn_type type;
    const char *values; /* NULL: an input left out */
} line;

enum { MOST = HN_MAX_IN, MOST_BYTES = 1 << 24 };

typedef struct reference {
    const char *name, *op, *attrs;
    line in[MOST], out[MOST], factor[MOST], grad[MOST];
    int n_in, n_out, n_factor, n_grad;
} reference;

typedef struct place {
    hn_heap *heap;
    hn_device *device;
} place;

static hn_status read_line(const char *text, bool has_index, line *list, int *n)
{
    HN_REQUIRE(*n < MOST, HN_ERR_FORMAT, "more than %d lines of a kind", MOST);
    line *own = &list[(*n)++];
    *own = (line){ .index = *n - 1 };
    if (has_index) {
        char *end = NULL;
        own->index = (int)strtol(text, &end, 10);
        text = end + strspn(end, " ");
    }
    if (*text == '-' && !text[1])
        return HN_OK;
    return hn_type_parse(text, &own->type, &own->values);
}

static hn_status fill(const hn_tensor *t, const char *values)
{
    for (int64_t i = 0; i < hn_count(&t->type); i++) {
        char *end = NULL;
        const double value = strtod(values, &end);
        HN_REQUIRE(end != values, HN_ERR_FORMAT, "%lld values, and the next is missing",
                   (long long)i);
        values = end;
        hn_set(t, i, value);
    }
    HN_REQUIRE(!values[strspn(values, " ")], HN_ERR_FORMAT, "values left over");
    return HN_OK;
}

static hn_node *leaf_of(hn_graph *g, hn_leaf_kind kind, const line *own, const char *name)
{
    return hn_graph_leaf(g, kind, name, own->type.dtype, own->type.rank, own->type.dim);
}

static hn_leaf_kind kind_of(const hn_op *op, int input)
{
    for (int o = 0; o < HN_MAX_OUT; o++)
        if (op->updates[o] == HN_INPUT(input))
            return HN_LEAF_STATE;
    return HN_LEAF_INPUT;
}

/* The graph of a case: outputs, then gradients, are wanted. */
static hn_status build(const reference *r, hn_graph *g, hn_node **in, hn_node **factor,
                       hn_node **wanted)
{
    const hn_op *op = hn_op_find(r->op);
    HN_REQUIRE(op, HN_ERR_FORMAT, "unknown op '%s'", r->op);
    for (int i = 0; i < r->n_in; i++)
        if (r->in[i].values)
            in[i] = leaf_of(g, kind_of(op, i), &r->in[i], "in");
    hn_node *y = hn_apply_named(g, r->op, r->attrs, r->n_in, in), *loss = NULL;
    for (int o = 0; o < r->n_out; o++)
        wanted[o] = hn_output(y, r->out[o].index);
    for (int f = 0; f < r->n_factor; f++) {
        factor[f] = leaf_of(g, HN_LEAF_INPUT, &r->factor[f], "factor");
        hn_node *part = hn_mul(g, factor[f], hn_output(y, r->factor[f].index));
        part = hn_sum_to(g, part, hn_graph_scalar(g, 0), NULL);
        loss = loss ? hn_add(g, loss, part) : part;
    }
    HN_TRY(hn_graph_finish(g));
    hn_node *params[MOST];
    for (int i = 0; i < r->n_grad; i++)
        params[i] = in[r->grad[i].index];
    return loss ? hn_diff(g, loss, r->n_grad, params, NULL, wanted + r->n_out) : HN_OK;
}

static hn_status give(hn_leaf_values *values, hn_heap *heap, hn_node *node, const line *own)
{
    hn_tensor *t = hn_leaf_values_make(values, heap, node->leaf);
    return t ? fill(t, own->values) : HN_ERR_MEMORY;
}

/* 0 for the same f32: files have nine digits. A NaN is as good as any other; an infinity must
 * be that infinity. */
static double distance(double want, double got)
{
    if ((float)want == (float)got || (isnan(want) && isnan(got)))
        return 0;
    return isfinite(want) && isfinite(got) ? fabs(want - got) : (double)INFINITY;
}

static void compare(const reference *r, const char *kind, const line *own, const hn_tensor *got,
                    hn_heap *heap)
{
    hn_tensor want;
    hn_type type = own->type;
    if (hn_is_float(type.dtype))
        hn_type_as(&type, &own->type, HN_F64);
    CHECK_THAT(hn_same_shape(&own->type, &got->type), "%s: %s %d has another shape", r->name,
               kind, own->index);
    void *data = hn_alloc(heap, HN_TAG_PROVE, hn_type_bytes(&type));
    want = hn_tensor_at(&type, data);
    if (!data || !hn_same_shape(&own->type, &got->type) ||
        !CHECK_OK(fill(&want, own->values))) {
        hn_free(heap, data);
        return;
    }
    double most = 0, worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < hn_count(&type); i++)
        if (isfinite(hn_get(&want, i)))
            most = fmax(most, fabs(hn_get(&want, i)));
    for (int64_t i = 0; i < hn_count(&type); i++) {
        const double off = distance(hn_get(&want, i), hn_get(got, i));
        if (!(off <= worst)) {
            worst = off;
            at = i;
        }
    }
    const double bound = hn_is_float(type.dtype) ? 16 * hn_op_find(r->op)->tolerance * most : 0;
    CHECK_THAT(worst <= bound,
               "%s: %s %d, element %lld is %.9g, the reference %.9g (bound %.2g)", r->name,
               kind, own->index, (long long)at, hn_get(got, at), hn_get(&want, at), bound);
    hn_free(heap, data);
}

static hn_status run(const reference *r, const place *b, hn_graph *g, hn_leaf_values *values,
                     hn_results *results)
{
    hn_node *in[MOST] = { NULL }, *factor[MOST] = { NULL }, *wanted[2 * MOST] = { NULL };
    HN_TRY(build(r, g, in, factor, wanted));
    HN_TRY(hn_leaf_values_new(values, g));
    for (int i = 0; i < r->n_in; i++)
        if (in[i])
            HN_TRY(give(values, b->heap, in[i], &r->in[i]));
    for (int f = 0; f < r->n_factor; f++)
        HN_TRY(give(values, b->heap, factor[f], &r->factor[f]));
    hn_run_setup setup = { .n_devices = 1, .devices = &b->device, .mode = HN_PLAN_INPLACE };
    return hn_run_graph(g, r->n_out + r->n_grad, wanted, values, &setup, results);
}

static void check_case(const reference *r, const place *b)
{
    hn_graph *g = NULL;
    hn_leaf_values values = { 0 };
    hn_results results = { 0 };
    if (!r->name || !CHECK_OK(hn_graph_new(&g, b->heap)))
        return;
    check_group(r->op);
    const hn_status status = run(r, b, g, &values, &results);
    if (CHECK_THAT(status == HN_OK, "%s: %s", r->name, hn_error_message())) {
        for (int o = 0; o < r->n_out; o++)
            compare(r, "output", &r->out[o], &results.at[o], b->heap);
        for (int i = 0; i < r->n_grad; i++)
            compare(r, "gradient", &r->grad[i], &results.at[r->n_out + i], b->heap);
        hn_results_free(&results);
    }
    if (values.at)
        hn_leaf_values_free(&values, b->heap);
    hn_graph_free(g);
}

/* One line of the file; `word` has been cut from `rest`. */
static hn_status take(reference *r, const char *word, char *rest)
{
    if (!strcmp(word, "op")) {
        char *space = strchr(rest, ' ');
        r->op = rest;
        r->attrs = space ? space + 1 : "";
        if (space)
            *space = 0;
        return HN_OK;
    }
    if (!strcmp(word, "in"))
        return read_line(rest, false, r->in, &r->n_in);
    if (!strcmp(word, "out"))
        return read_line(rest, true, r->out, &r->n_out);
    if (!strcmp(word, "factor"))
        return read_line(rest, true, r->factor, &r->n_factor);
    if (!strcmp(word, "grad"))
        return read_line(rest, true, r->grad, &r->n_grad);
    return hn_fail(HN_ERR_FORMAT, "unknown line '%s'", word);
}

static void check_text_file(char *text, const place *b)
{
    reference r = { 0 };
    for (char *at = text, *next; at && *at; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = 0;
        char *rest = strchr(at, ' ');
        if (!rest || *at == '#')
            continue;
        *rest++ = 0;
        if (!strcmp(at, "case")) {
            check_case(&r, b);
            r = (reference){ .name = rest };
        } else {
            CHECK_OK(take(&r, at, rest));
        }
    }
    check_case(&r, b);
}

void reference_check(const char *path)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    place b = { .heap = &heap };
    void *text = NULL;
    size_t bytes = 0;
    if (CHECK_OK(hn_file_read(&heap, path, MOST_BYTES, &text, &bytes)) &&
        CHECK_OK(hn_device_open(&b.device, &heap, 0, &(hn_device_options){ .n_threads = 2 }))) {
        check_text_file(text, &b);
        b.device->backend->close(b.device);
    }
    hn_free(&heap, text);
    CHECK_INT(0, (int64_t)heap.live_bytes);
}
