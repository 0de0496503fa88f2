/* Every op against PyTorch in float64: outputs, and the gradients of a sum with fixed factors.
 * Each record of ops/ops.txt (ops/make.py says what they are) is run in f64, where the op's own
 * meaning is computed, and in f32, where its kernels are. */
#include "ops/rope_table.h"
#include "prove/runner.h"

#include "base/file.h"
#include "diff/diff.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct array {
    bool is_given;
    hn_dtype dtype;
    int rank;
    int64_t dim[HN_MAX_RANK], n;
    double *at;
} array;

typedef struct record {
    char op[32], attrs[200];
    double tolerance;
    int n_in;
    array in[HN_MAX_IN], out[HN_MAX_OUT], grad[HN_MAX_IN];
} record;

static hn_heap heap;
static hn_device *device;

/* ---- reading ---- */

/* The next word of the line, or NULL; `at` moves past it. */
static char *word(char **at)
{
    char *start = *at + strspn(*at, " "), *end = start + strcspn(start, " ");
    if (start == end)
        return NULL;
    *at = *end ? end + 1 : end;
    *end = 0;
    return start;
}

/* Hex digits are the bits of f32 (8) or f64 (16); anything else is an integer. */
static double number(const char *text)
{
    const size_t digits = strlen(text);
    if (digits == 16) {
        const uint64_t bits = strtoull(text, NULL, 16);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (digits == 8) {
        const uint32_t bits = (uint32_t)strtoul(text, NULL, 16);
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    return (double)strtoll(text, NULL, 10);
}

/* "3,4 values..."; "." is a scalar. */
static void read_array(array *a, hn_dtype dtype, char *line)
{
    *a = (array){ .is_given = true, .dtype = dtype, .n = 1 };
    char *dims = word(&line);
    for (char *at = dims; *at && *at != '.' && a->rank < HN_MAX_RANK;) {
        a->dim[a->rank] = strtoll(at, &at, 10);
        a->n *= a->dim[a->rank++];
        at += *at == ',';
    }
    a->at = calloc((size_t)a->n, sizeof *a->at);
    int64_t n = 0;
    for (char *text = word(&line); text && a->at && n < a->n; text = word(&line))
        a->at[n++] = number(text);
    CHECK_INT(a->n, n);
}

static void read_input(array *a, char *line)
{
    const char *type = word(&line);
    *a = (array){ .dtype = HN_F32 };
    if (!strcmp(type, "-"))
        return;
    hn_dtype dtype = HN_F32;
    CHECK_OK(hn_dtype_parse(type, strlen(type), &dtype));
    read_array(a, dtype, line);
}

static void free_record(record *r)
{
    for (int i = 0; i < HN_MAX_IN; i++) {
        free(r->in[i].at);
        free(r->grad[i].at);
    }
    for (int o = 0; o < HN_MAX_OUT; o++)
        free(r->out[o].at);
    *r = (record){ .tolerance = 1e-12 };
}

/* ---- one run ---- */

static int64_t weight_bits(int output, int64_t i) { return (i * 37 + 11 + 5 * output) % 64; }

static hn_node *weighted(hn_graph *g, hn_node *out, int output)
{
    hn_type type;
    if (hn_type_as(&type, &out->type, HN_F32) != HN_OK)
        return &g->poison;
    const int64_t n = hn_count(&type);
    float *factors = calloc((size_t)n, sizeof *factors);
    for (int64_t i = 0; factors && i < n; i++)
        factors[i] = ((float)weight_bits(output, i) - 31.5f) / 32;
    hn_node *w = hn_graph_constant(g, "factors", &type, factors);
    free(factors);
    /* the cast brings the gradient back to the output's own type */
    hn_node *terms = hn_cast(g, hn_mul(g, out, w), HN_F32);
    return hn_sum_to(g, terms, hn_graph_scalar(g, 0), NULL);
}

typedef struct trial {
    hn_graph *g;
    hn_node *leaf[HN_MAX_IN];
    int n_out, n_params, n_wanted;
    int param[HN_MAX_IN];
    hn_node *wanted[HN_MAX_OUT + HN_MAX_IN];
} trial;

static hn_status add_gradients(trial *t, const record *r, hn_node *y)
{
    hn_input_info outputs[HN_MAX_OUT];
    hn_node *params[HN_MAX_IN], *loss = NULL;
    hn_op_outputs(y->by->op, outputs);
    for (int i = 0; i < r->n_in; i++)
        if (r->grad[i].is_given) {
            t->param[t->n_params] = i;
            params[t->n_params++] = t->leaf[i];
        }
    for (int o = 0; t->n_params && o < t->n_out; o++)
        if (outputs[o].has_gradient) {
            hn_node *part = weighted(t->g, hn_output(y, o), o);
            loss = loss ? hn_add(t->g, loss, part) : part;
        }
    HN_TRY(hn_graph_finish(t->g));
    if (!loss)
        return HN_OK;
    HN_TRY(hn_diff(t->g, loss, t->n_params, params, NULL, &t->wanted[t->n_wanted]));
    t->n_wanted += t->n_params;
    return HN_OK;
}

static hn_status build(trial *t, const record *r, hn_dtype dtype)
{
    for (int i = 0; i < r->n_in; i++)
        if (r->in[i].is_given)
            t->leaf[i] = hn_graph_leaf(t->g, HN_LEAF_INPUT, "input",
                                       r->in[i].dtype == HN_F32 ? dtype : r->in[i].dtype,
                                       r->in[i].rank, r->in[i].dim);
    hn_node *y = hn_apply_named(t->g, r->op, r->attrs, r->n_in, t->leaf);
    HN_TRY(hn_graph_finish(t->g));
    for (int o = 0; o < y->by->n_out && r->out[o].is_given; o++) {
        t->wanted[t->n_wanted++] = hn_output(y, o);
        t->n_out++;
    }
    return add_gradients(t, r, y);
}

static hn_status fill(const trial *t, const record *r, hn_leaf_values *values)
{
    HN_TRY(hn_leaf_values_new(values, t->g));
    for (int i = 0; i < r->n_in; i++) {
        if (!t->leaf[i])
            continue;
        hn_tensor *own = hn_leaf_values_make(values, &heap, t->leaf[i]->leaf);
        if (!own)
            return HN_ERR_MEMORY;
        for (int64_t k = 0; k < r->in[i].n; k++)
            hn_set(own, k, r->in[i].at[k]);
    }
    return HN_OK;
}

static double distance(double want, double got)
{
    if (want == got || (isnan(want) && isnan(got)))
        return 0;
    return isfinite(want) && isfinite(got) ? fabs(want - got) : (double)INFINITY;
}

static void compare(const record *r, const char *what, int number_of, const array *want,
                    const hn_tensor *got)
{
    double largest = 1e-300, worst = 0;
    int64_t at = 0;
    CHECK_INT(want->n, hn_count(&got->type));
    for (int64_t i = 0; i < want->n && i < hn_count(&got->type); i++) {
        if (isfinite(want->at[i]))
            largest = fmax(largest, fabs(want->at[i]));
        if (distance(want->at[i], hn_get(got, i)) > worst) {
            worst = distance(want->at[i], hn_get(got, i));
            at = i;
        }
    }
    const bool is_wide = got->type.dtype == HN_F64;
    const double bound = is_wide ? r->tolerance : fmax(r->tolerance, 1e-5);
    CHECK_THAT(worst <= bound * largest, "%s %s: %s %d, element %lld: %.9g, not %.9g", r->attrs,
               hn_dtype_name(got->type.dtype), what, number_of, (long long)at, hn_get(got, at),
               want->at[at]);
}

static hn_status run_in(const record *r, trial *t, hn_dtype dtype)
{
    hn_leaf_values values = { 0 };
    hn_results got = { 0 };
    hn_run_setup setup = { .n_devices = 1, .devices = &device, .mode = HN_PLAN_POISON };
    hn_status status = build(t, r, dtype);
    if (status == HN_OK)
        status = fill(t, r, &values);
    if (status == HN_OK)
        status = hn_run_graph(t->g, t->n_wanted, t->wanted, &values, &setup, &got);
    for (int i = 0; i < t->n_wanted && status == HN_OK; i++) {
        const bool is_out = i < t->n_out;
        const int number_of = is_out ? i : t->param[i - t->n_out];
        compare(r, is_out ? "output" : "gradient", number_of,
                is_out ? &r->out[i] : &r->grad[number_of], &got.at[i]);
    }
    hn_results_free(&got);
    hn_leaf_values_free(&values, &heap);
    return status;
}

static void run_record(const record *r)
{
    static const hn_dtype dtypes[] = { HN_F64, HN_F32 };
    check_group(r->op);
    for (int i = 0; i < 2; i++) {
        trial t = { 0 };
        CHECK_OK(hn_graph_new(&t.g, &heap));
        CHECK_OK(run_in(r, &t, dtypes[i]));
        hn_graph_free(t.g);
    }
}

/* ---- inverse frequencies: the reference's bits, to one unit in the last place of its pow ----
 */

static void run_frequencies(const record *r, int64_t head_dim)
{
    hn_rope_spec spec = { 0 };
    float got[HN_ROPE_MAX_PAIRS];
    check_group("rope frequencies");
    CHECK_OK(hn_attrs_parse("rope", hn_op_rope.attrs, r->attrs, &spec));
    spec = hn_rope_filled(&spec);
    CHECK_INT(r->out[0].n, hn_rope_width(&spec, head_dim) / 2);
    hn_tensor factors = {
        .type = { .dtype = HN_F64, .rank = 1, .dim = { r->in[0].n }, .stride = { 8 } },
        .data = r->in[0].at,
        .is_packed = true
    };
    hn_rope_frequencies(&spec, head_dim, r->in[0].is_given ? &factors : NULL, got);
    for (int64_t i = 0; i < r->out[0].n; i++)
        CHECK_THAT(fabs((double)got[i] - r->out[0].at[i]) <= 0x1p-23 * r->out[0].at[i],
                   "%s: pair %lld: %.9g, not %.9g", r->attrs, (long long)i, (double)got[i],
                   r->out[0].at[i]);
}

/* ---- the file ---- */

typedef struct reader {
    record r;
    int64_t head_dim; /* of a `freq` record; 0: an `op` */
} reader;

static void begin(reader *in, char *line, bool is_op)
{
    free_record(&in->r);
    in->head_dim = 0;
    if (is_op) {
        snprintf(in->r.op, sizeof in->r.op, "%s", word(&line));
    } else {
        word(&line);
        in->head_dim = strtoll(word(&line), NULL, 10);
    }
    snprintf(in->r.attrs, sizeof in->r.attrs, "%s", line);
}

static void finish(const reader *in)
{
    if (in->head_dim)
        run_frequencies(&in->r, in->head_dim);
    else
        run_record(&in->r);
}

/* "via NAME NAME" and "skip NAME why". */
static void name_only(const char *kind, char *line)
{
    const char *op = word(&line);
    check_group(op);
    CHECK_THAT(hn_op_find(op) != NULL, "%s: no such op", op);
    if (!strcmp(kind, "skip"))
        check_skip(op, line);
    else
        CHECK_THAT(hn_op_find(line) != NULL, "%s: no such op", line);
}

static void read_line(reader *in, char *line)
{
    const char *kind = word(&line);
    if (!kind || *kind == '#')
        return;
    if (!strcmp(kind, "op") || !strcmp(kind, "freq")) {
        begin(in, line, *kind == 'o');
    } else if (!strcmp(kind, "tol")) {
        in->r.tolerance = strtod(line, NULL);
    } else if (!strcmp(kind, "in") && in->r.n_in < HN_MAX_IN) {
        read_input(&in->r.in[in->r.n_in++], line);
    } else if (!strcmp(kind, "out")) {
        const long o = strtol(word(&line), NULL, 10);
        if (CHECK(o >= 0 && o < HN_MAX_OUT))
            read_array(&in->r.out[o], HN_F64, line);
    } else if (!strcmp(kind, "grad")) {
        const long i = strtol(word(&line), NULL, 10);
        if (CHECK(i >= 0 && i < HN_MAX_IN))
            read_array(&in->r.grad[i], HN_F64, line);
    } else if (!strcmp(kind, "end")) {
        finish(in);
    } else {
        name_only(kind, line);
    }
}

static void read_file(const char *path)
{
    void *data = NULL;
    size_t bytes = 0;
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 24, &data, &bytes)))
        return;
    char *text = data;
    reader in = { 0 };
    for (char *at = text; at < text + bytes;) {
        char *end = memchr(at, '\n', bytes - (size_t)(at - text));
        if (!end)
            break;
        *end = 0;
        read_line(&in, at);
        at = end + 1;
    }
    free_record(&in.r);
    hn_free(&heap, data);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const char *path = check_option("--file");
    const hn_backend *cpu = hn_backend_find("cpu");
    const hn_device_options options = { .n_threads = 2 };
    if (CHECK_OK(cpu->open(&device, &heap, &options))) {
        read_file(path ? path : HN_SOURCE_DIR "/tests/differential/ops/ops.txt");
        device->backend->close(device);
    }
    CHECK_INT(0, heap.live_bytes);
    return check_close();
}
