/* op.h: what an op is: one constant descriptor, declared in the op's own file.
 *
 * The descriptor says what is possible. Everything else (plans, gradients, checks, the command
 * line, documentation) is derived from it and knows no op by name. */
#ifndef HN_GRAPH_OP_H
#define HN_GRAPH_OP_H

#include "graph/attr.h"
#include "graph/tensor.h"

enum { HN_MAX_IN = 10, HN_MAX_OUT = 4, HN_MAX_ACC = 2 };

#define HN_IN(i) (1u << (i))
#define HN_NONE 0u
/* Fields that hold "input i, or nothing" store i + 1, so that zero means nothing. */
#define HN_INPUT(i) ((i) + 1)

typedef struct hn_op hn_op;
typedef struct hn_node hn_node;
typedef struct hn_graph hn_graph;

/* One application of an op to tensors. While types are inferred, data pointers are NULL.
 * An absent optional input is NULL. Outputs have types when `forward` runs; an output other than
 * the first is NULL where nobody reads it. */
typedef struct hn_call {
    const hn_op *op;
    const void *attrs;
    int n_in, n_out;
    const hn_tensor *in[HN_MAX_IN];
    const hn_tensor *out[HN_MAX_OUT];
} hn_call;

/* What a backward sees. It fills din[i], for inputs with wants[i], with nodes of `g`; it never
 * touches data and never adds contributions of different uses: that is reverse mode's work.
 * dout[o] is NULL where output o has no gradient; at least one is given. */
typedef struct hn_grad {
    hn_graph *g;
    const void *attrs;
    int n_in, n_out;
    hn_node *in[HN_MAX_IN];
    hn_node *out[HN_MAX_OUT];
    hn_node *dout[HN_MAX_OUT];
    bool wants[HN_MAX_IN];
    hn_node *din[HN_MAX_IN];
} hn_grad;

struct hn_op {
    const char *name;
    const char *summary; /* the formula, one line */
    /* Names separated by blanks, each with marks after it: '?' optional; '!' never has a gradient
     * (integers, masks, states); '~' only its shape is read, so its data may be gone. */
    const char *inputs;
    const char *outputs; /* NULL: "y"; '!' marks one through which no gradient flows */
    const hn_attr *attrs;
    size_t attrs_size;

    /* Types in -> types out, all contiguous unless the op is a view; HN_ERR_SHAPE otherwise. It is
     * called again while running, when an extent changes: pure, and without allocation. */
    hn_status (*infer)(const hn_call *call, hn_type *out);

    /* What the op means: any element type through hn_get and hn_set, sums in double. Output
     * storage is never an input's, except where acc or updates say so. */
    void (*forward)(const hn_call *call);

    void (*backward)(hn_grad *d);
    const char *no_gradient; /* why there is no backward; one of the two must be given */
    bool stops_gradient;     /* on purpose: reverse mode ends here without refusing */

    /* The inputs whose storage output o may take, exactly and whole, when this op is their last
     * reader. If several inputs lie in that storage, all of them must be named. */
    unsigned may_overwrite[HN_MAX_OUT];

    /* A view: HN_INPUT(i), the input whose storage output 0 shows; view_at gives the byte offset
     * (NULL: 0). A view has no data of its own and no kernel. */
    int view_of;
    int64_t (*view_at)(const hn_call *call);
    bool needs_contiguous; /* a view that only a contiguous input can have: others are copied */

    /* Values of inputs (ids, spans, counts) that only the data can tell: held before the step, by the
     * host where it wrote all inputs named in `checks`, by the device where one made them. Of no other
     * input is more than the type read. */
    hn_status (*check)(const hn_call *call);
    unsigned checks;
    /* HN_INPUT(i): floats of which each must be a number. The step ends by the first row that has another (the device's
     * kernels tell it as they read the input, or hn_launch_passes does), and nothing of it is given to anybody. */
    int finite;

    /* The op meant when this name is given one input: max is also a reduction. */
    const char *with_one_input;

    /* Output o *is* the storage of state input i, one version later: HN_INPUT(i). */
    int updates[HN_MAX_OUT];

    /* Outputs that reduce over tokens start from an optional input and may be stored in it. */
    struct {
        int in; /* HN_INPUT(i) */
        int out;
    } acc[HN_MAX_ACC];

    /* Inputs in which the outputs are affine, one at a time or all of them jointly: such an op may
     * follow a sum over tokens and run once, after the last micro-batch. */
    unsigned affine_in;
    bool is_jointly_affine;

    /* Work, for scheduling and rooflines: flops of a whole call, or per element of output 0. */
    double flops_per_element;
    double (*flops)(const hn_call *call);

    /* Checks: "f32[2,5,100] f32[100] eps=1e-6" (see prove/cases.h); relative bound in f32; what
     * attributes ask f32 to round away, and double does not (NULL: nothing); range of float
     * inputs (both zero: about [-2, 2]); positions where the slope jumps. */
    const char *const *cases;
    double tolerance;
    double (*rounding)(const void *attrs);
    bool sums_products; /* outputs sum products of inputs: what is rounded of these is measured against what their terms
                           amount to, which inputs without signs make */
    double low, high;
    int (*kinks)(const void *attrs, double at[4]); /* of any float input's value; returns how many */
    bool kink_where_equal;                         /* min, max: also where the first two agree */
};

/* ---- for infer functions: each fails with the op's name and what was expected ---- */

hn_status hn_expect_rank(const hn_call *call, int input, int rank);
hn_status hn_expect_rank_between(const hn_call *call, int input, int low, int high);
hn_status hn_expect_float(const hn_call *call, int input);
hn_status hn_expect_dtype(const hn_call *call, int input, hn_dtype dtype);
hn_status hn_expect_integer(const hn_call *call, int input);             /* i32 */
hn_status hn_expect_vector(const hn_call *call, int input, int64_t n);   /* rank 1, n elements */
hn_status hn_expect_same(const hn_call *call, int input, int other);     /* same shape */
hn_status hn_expect_dim(const hn_call *call, int input, int dim, int64_t n);
hn_status hn_expect_scalar(const hn_call *call, int input);              /* one element */
/* A shape error in the op's own words. */
hn_status hn_refuse(const hn_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Right-aligned broadcasting of inputs [0, n): element type of the first float one. */
hn_status hn_broadcast(const hn_call *call, int n, hn_type *out);
/* The index into `t`, broadcast against `shape`, of row-major element `index` of `shape`. */
int64_t hn_broadcast_index(const hn_type *t, const hn_type *shape, int64_t index);

/* ---- names in the descriptor ---- */

typedef struct hn_input_info {
    char name[24];
    bool is_optional, has_gradient, is_shape_only;
} hn_input_info;

int hn_op_inputs(const hn_op *op, hn_input_info info[HN_MAX_IN]);
int hn_op_outputs(const hn_op *op, hn_input_info info[HN_MAX_OUT]);
int hn_op_n_in(const hn_op *op);
bool hn_op_reads(const hn_op *op, int input); /* its data, not only its shape */
/* The accumulator input of output `out`, or -1. */
int hn_op_acc_input(const hn_op *op, int out);
double hn_call_flops(const hn_call *call);
/* Bytes read and written, each input and output once. */
double hn_call_bytes(const hn_call *call);

#endif
