/* The classes differ in which constants they hold as tensors, and so round in bf16: their files say them. */
#include "models/gemma_layers.h"

#include "nn/blocks.h"

#include <math.h>

int hn_gemma_source_layer(const hn_hparams *hp, int layer)
{
    const int own = (int)(hp->n_layer - hp->n_shared_kv);
    int source = layer;
    for (int i = layer >= own ? own - 1 : -1; i >= 0; i--)
        if (hp->is_sliding[i] == hp->is_sliding[layer]) {
            source = i;
            break;
        }
    return source;
}

hn_node *hn_gemma_layer_inputs(nn_build *b, hn_node *x, float projected, float both)
{
    hn_graph *g = b->g;
    const hn_hparams *hp = b->hp;
    const hn_ints shape = { 3, { -1, hp->n_layer, hp->ple_width } };
    hn_node *looked = hn_gather(g, nn_want(b, "per_layer_token_embd.weight"), b->tokens);
    if (looked->type.dtype != HN_F32)
        looked = hn_cast(g, looked, HN_F32);
    looked = nn_scale(b, looked, nn_constant(b, sqrt((double)hp->ple_width)));
    hn_node *own = nn_scale(b, nn_linear(b, x, "per_layer_model_proj"), projected);
    own = nn_rms_norm_once(b, hn_reshape(g, own, shape), "per_layer_proj_norm.weight");
    return nn_scale(b, nn_add(b, own, hn_reshape(g, looked, shape)), both);
}

hn_node *hn_gemma_layer_change(nn_build *b, hn_node *x, hn_node *inputs)
{
    hn_graph *g = b->g;
    hn_node *own = hn_contiguous(g, hn_slice(g, inputs, 1, b->layer, b->layer + 1, 1));
    own = hn_reshape(g, own, (hn_ints){ 2, { -1, b->hp->ple_width } });
    own = nn_layer_own(b, own);
    hn_node *y = nn_mul(b, nn_activate(b, HN_ACT_GELU_TANH, nn_linear(b, x, ".inp_gate")), own);
    return nn_rms_norm_once(b, nn_linear(b, y, ".proj"), ".post_norm.weight");
}
