/* granite.h: what granite and granitemoe share. */
#ifndef HN_MODELS_GRANITE_H
#define HN_MODELS_GRANITE_H

#include "models/models.h"

/* clang-format off */
#define HN_KEYS_GRANITE                                                                        \
    { .to = HN_HP_logit_scale, .absent = HN_MUST },                                            \
    HN_KEYS_SHAPE(NULL, "32000", "4096", "11008", "32", "32", HN_OR_NONE, NULL, "2048"),       \
    HN_KEY_HEAD_DIM(HN_IS_INT, NULL),                                                          \
    HN_KEYS_RMS_EPS(NULL, "1e-6"),                                                             \
    HN_KEYS_ROPE(NULL, "10000"),                                                               \
    HN_USED("attention_multiplier", HN_IS_NUM, attn_scale, "1.0", HN_ABOVE_0),                 \
    HN_USED("embedding_multiplier", HN_IS_NUM, embd_scale, "1.0", HN_ANY_SIGN),                \
    HN_USED("residual_multiplier", HN_IS_NUM, residual_scale, "1.0", HN_ANY_SIGN),             \
    HN_USED("logits_scaling", HN_IS_NUM, logit_scale, "1.0", HN_ABOVE_0),                     \
    { .gguf = "rope.scaling.finetuned", .is = HN_IS_FLAG } /* llama.cpp's word for whether there is rope */
/* clang-format on */

void hn_granite_widths(hn_hparams *hp);
/* GGUF: a scale of 0, as no key, multiplies by nothing; and whether there is rope. */
hn_status hn_granite_read_meta(const char *arch, const hn_meta *meta, hn_hparams *hp);
/* Which config.json may mean otherwise. */
hn_status hn_granite_write_meta(const hn_hparams *hp, hn_meta *meta);
hn_status hn_granite_defaults(hn_hparams *hp);

struct hn_node;
struct nn_build;

/* Its graph, around what a layer does after attention. */
typedef struct hn_node *hn_granite_mlp(struct nn_build *b, struct hn_node *x);
struct hn_node *hn_granite_build(struct nn_build *b, hn_granite_mlp *mlp);

#endif
