/* gemma_layers.h: what layers of gemma3n and gemma4 share: keys of other layers, and inputs of their own. */
#ifndef HN_MODELS_GEMMA_LAYERS_H
#define HN_MODELS_GEMMA_LAYERS_H

#include "nn/build.h"

/* The layer whose keys and values this one uses: its own, or the last of its kind that has any. */
int hn_gemma_source_layer(const hn_hparams *hp, int layer);

/* [T, L, P]: of every layer a look-up of the token and a projection of its embedding x, which is multiplied by
 * `projected`; their sum by `both`. */
hn_node *hn_gemma_layer_inputs(nn_build *b, hn_node *x, float projected, float both);
/* What the present layer's input adds to the stream, gated by x. */
hn_node *hn_gemma_layer_change(nn_build *b, hn_node *x, hn_node *inputs);

#endif
