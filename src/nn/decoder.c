/* Every product goes through `project`, so that adapters are one branch in one place. */
#include "nn/decoder.h"

#include "ops/dropout_key.h"

#include "base/rng.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
    nn_decoder *d;
    hn_graph *g;
    int device;
} builder;

static const float norm_eps = 1e-5f;

/* ---- weights ---- */

static hn_node *leaf_in(builder *b, const char *name, hn_dtype dtype, hn_layout layout,
                        bool is_trained, int rank, const int64_t *dim)
{
    nn_decoder *d = b->d;
    char full[128];
    snprintf(full, sizeof full, "%s%s%s", b->g->scope, *b->g->scope ? "." : "", name);
    hn_node *w = hn_graph_weight(b->g, full, dtype, layout, rank, dim);
    if (hn_is_poison(b->g, w))
        return w;
    w->leaf->device = b->device;
    if (is_trained && d->n_params < NN_MAX_PARAMS)
        d->params[d->n_params++] = w;
    return w;
}

static hn_node *leaf(builder *b, const char *name, hn_dtype dtype, bool is_trained, int rank,
                     const int64_t *dim)
{
    return leaf_in(b, name, dtype, HN_LAYOUT_PLAIN, is_trained, rank, dim);
}

/* A matrix of the base model, or one for each expert. */
static hn_node *matrix(builder *b, const char *name, int64_t experts, int64_t n, int64_t k)
{
    const bool frozen = b->d->o.lora_rank > 0;
    const int64_t dim[3] = { experts, n, k };
    const int skip = experts ? 0 : 1;
    return leaf_in(b, name, frozen ? b->d->o.base : HN_F32,
                   frozen ? b->d->o.pack : HN_LAYOUT_PLAIN, !frozen, 3 - skip, dim + skip);
}

static hn_node *adapter(builder *b, const char *name, const char *part, int64_t experts, int64_t n,
                        int64_t k)
{
    char full[64];
    const int64_t dim[3] = { experts, n, k };
    const int skip = experts ? 0 : 1;
    snprintf(full, sizeof full, "%s.%s", name, part);
    return leaf(b, full, HN_F32, true, 3 - skip, dim + skip);
}

static hn_node *apply(builder *b, const char *op, const char *attrs, int n, hn_node *const *in)
{
    return hn_apply_named(b->g, op, attrs, n, in);
}

static hn_node *apply2(builder *b, const char *op, hn_node *x, hn_node *y)
{
    return apply(b, op, NULL, 2, (hn_node *[]){ x, y });
}

static hn_node *product(builder *b, hn_node *x, hn_node *w, hn_node *ids)
{
    if (!ids)
        return hn_linear(b->g, x, w);
    return apply(b, "linear_id", NULL, 3, (hn_node *[]){ x, w, ids });
}

/* x through a matrix (of the experts in `ids`), and its adapter beside it. */
static hn_node *project(builder *b, hn_node *x, const char *name, int64_t n, int64_t k, hn_node *ids)
{
    const nn_decoder_options *o = &b->d->o;
    const int64_t experts = ids ? o->n_expert : 0;
    hn_node *y = product(b, x, matrix(b, name, experts, n, k), ids);
    if (!o->lora_rank)
        return y;
    hn_node *down = adapter(b, name, "lora_a", experts, o->lora_rank, k);
    hn_node *up = adapter(b, name, "lora_b", experts, n, o->lora_rank);
    hn_node *low = product(b, product(b, x, down, ids), up, ids);
    return hn_add(b->g, y, hn_scale(b->g, low, 2, 0)); /* alpha = 2 rank */
}

static hn_node *norm(builder *b, hn_node *x, const char *name)
{
    const int64_t n = b->d->o.width;
    return hn_rms_norm(b->g, x, leaf(b, name, HN_F32, b->d->o.lora_rank == 0, 1, &n), norm_eps);
}

/* ---- blocks ---- */

static hn_node *heads(builder *b, hn_node *x, int64_t n_head)
{
    return hn_reshape(b->g, x, (hn_ints){ 3, { -1, n_head, b->d->o.head_dim } });
}

static hn_node *attention(builder *b, hn_node *h, int64_t layer)
{
    const nn_decoder_options *o = &b->d->o;
    const int64_t q_width = o->n_head * o->head_dim, kv_width = o->n_kv_head * o->head_dim;
    hn_node *q = heads(b, project(b, h, "attn_q", q_width, o->width, NULL), o->n_head);
    hn_node *k = heads(b, project(b, h, "attn_k", kv_width, o->width, NULL), o->n_kv_head);
    hn_node *v = heads(b, project(b, h, "attn_v", kv_width, o->width, NULL), o->n_kv_head);
    q = apply2(b, "rope", q, b->d->positions);
    k = apply2(b, "rope", k, b->d->positions);
    char attrs[64];
    snprintf(attrs, sizeof attrs, "causal=1 window=%lld",
             (long long)(layer % 2 ? o->window : 0));
    hn_node *y = apply(b, "attention", attrs, 5,
                       (hn_node *[]){ q, k, v, NULL, b->d->segments });
    y = hn_reshape(b->g, y, (hn_ints){ 2, { -1, q_width } });
    return project(b, y, "attn_output", o->width, q_width, NULL);
}

static hn_node *feed_forward(builder *b, hn_node *h, hn_node *ids)
{
    const nn_decoder_options *o = &b->d->o;
    hn_node *gate = project(b, h, "ffn_gate", o->ffn, o->width, ids);
    hn_node *up = project(b, h, "ffn_up", o->ffn, o->width, ids);
    return project(b, apply2(b, "swiglu", gate, up), "ffn_down", o->width, o->ffn, ids);
}

static void add_loss(builder *b, hn_node *part, float weight)
{
    nn_decoder *d = b->d;
    hn_node *own = weight == 1 ? part : hn_scale(b->g, part, weight, 0);
    d->loss = d->loss ? hn_add(b->g, d->loss, own) : own;
}

static hn_node *experts(builder *b, hn_node *h)
{
    const nn_decoder_options *o = &b->d->o;
    char attrs[48];
    snprintf(attrs, sizeof attrs, "k=%lld renormalise=1", (long long)o->n_used);
    /* The router is small: it is trained in full, or frozen in f32. */
    const int64_t dim[2] = { o->n_expert, o->width };
    hn_node *logits = hn_linear(b->g, h, leaf(b, "ffn_router", HN_F32, true, 2, dim));
    hn_node *weights = apply(b, "router", attrs, 1, &logits);
    hn_node *ids = hn_output(weights, 1);
    if (o->balance > 0)
        add_loss(b, apply(b, "router_balance", NULL, 4,
                          (hn_node *[]){ logits, ids, b->d->segments, b->d->sequences }),
                 o->balance);
    if (o->z_loss > 0)
        add_loss(b, apply2(b, "router_z", logits, b->d->count), o->z_loss);
    return apply2(b, "combine", feed_forward(b, h, ids), weights);
}

static hn_node *drop(builder *b, hn_node *x)
{
    if (b->d->o.dropout <= 0)
        return x;
    const hn_dropout_attrs attrs = { b->d->o.dropout, 0,
                                     (int64_t)(hn_graph_key(b->g, "dropout") >> 1) };
    return HN_APPLY(b->g, &hn_op_dropout, &attrs, x, b->d->at, b->d->step);
}

static hn_node *layer(builder *b, hn_node *x, int64_t i)
{
    hn_graph_scope(b->g, "blk.%lld", (long long)i);
    if (b->d->o.n_devices > 1)
        b->device = (int)(i * b->d->o.n_devices / b->d->o.n_layer);
    x = hn_add(b->g, x, drop(b, attention(b, norm(b, x, "attn_norm"), i)));
    hn_node *h = norm(b, x, "ffn_norm");
    h = b->d->o.n_expert ? experts(b, h) : feed_forward(b, h, NULL);
    return hn_graph_boundary(b->g, hn_add(b->g, x, drop(b, h)));
}

/* ---- the whole ---- */

static void make_inputs(builder *b)
{
    nn_decoder *d = b->d;
    hn_graph *g = b->g;
    d->tokens_extent = hn_graph_extent(g, "tokens", d->o.max_tokens);
    const int64_t t[2] = { hn_extent_dim(d->tokens_extent), 2 };
    d->tokens = hn_graph_leaf(g, HN_LEAF_INPUT, "tokens", HN_I32, 1, t);
    d->labels = hn_graph_leaf(g, HN_LEAF_INPUT, "labels", HN_I32, 1, t);
    d->segments = hn_graph_leaf(g, HN_LEAF_INPUT, "segments", HN_I32, 1, t);
    d->positions = hn_graph_leaf(g, HN_LEAF_INPUT, "positions", HN_I32, 1, t);
    d->at = hn_graph_leaf(g, HN_LEAF_INPUT, "at", HN_I32, 2, t);
    d->step = hn_graph_leaf(g, HN_LEAF_STEP, "step", HN_I32, 0, NULL);
    d->count = hn_graph_leaf(g, HN_LEAF_STEP, "count", HN_F32, 0, NULL);
    d->sequences = hn_graph_leaf(g, HN_LEAF_STEP, "sequences", HN_F32, 0, NULL);
}

void nn_decoder_build(nn_decoder *d, hn_graph *g, const nn_decoder_options *options)
{
    *d = (nn_decoder){ .o = *options, .g = g };
    builder b = { .d = d, .g = g };
    make_inputs(&b);
    hn_graph_scope(g, "%s", "");
    hn_node *embed = matrix(&b, "token_embd", 0, d->o.vocab, d->o.width);
    hn_node *x = apply2(&b, "gather", embed, d->tokens);
    for (int64_t i = 0; i < d->o.n_layer; i++)
        x = layer(&b, x, i);
    hn_graph_scope(g, "%s", "");
    d->hidden = norm(&b, x, "output_norm");
    d->head = d->o.is_tied ? embed : matrix(&b, "output", 0, d->o.vocab, d->o.width);
    hn_node *ce = apply(&b, "cross_entropy", NULL, 5,
                        (hn_node *[]){ d->hidden, d->head, d->labels, NULL, d->count });
    d->nll = hn_output(ce, 2);
    add_loss(&b, ce, 1);
}

hn_status nn_decoder_init_weight(const hn_leaf *w, uint64_t seed, hn_heap *heap,
                                 const hn_tensor *out)
{
    const int64_t k = hn_last_dim(&w->type), n = hn_count(&w->type);
    const bool is_gain = w->type.rank == 1, is_b = strstr(w->name, "lora_b") != NULL;
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(seed), hn_hash_text(w->name));
    /* A uniform number of variance 1/k; adapters' second matrix small, so that it matters. */
    const double spread = (is_b ? 0.3 : 1.0) * sqrt(3.0 / (double)k);
    float *row = hn_alloc_array(heap, HN_TAG_WEIGHT, (size_t)k, sizeof *row);
    hn_status status = row ? HN_OK : HN_ERR_MEMORY;
    for (int64_t r = 0; r < n / k && status == HN_OK; r++) {
        for (int64_t i = 0; i < k; i++) {
            const double u = 2 * (double)hn_rng_uniform(key, (uint64_t)(r * k + i)) - 1;
            row[i] = (float)(is_gain ? 1 + 0.1 * u : spread * u);
        }
        const hn_format *format = hn_dtype_format(w->type.dtype);
        if (format)
            status = hn_format_encode(format, row, k,
                                      (char *)out->data + r * hn_format_bytes(format, k), NULL);
        for (int64_t i = 0; !format && i < k; i++)
            hn_set(out, r * k + i, (double)row[i]);
    }
    hn_free(heap, row);
    return status;
}
