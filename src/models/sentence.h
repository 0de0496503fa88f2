/* sentence.h: what a model that embeds makes of a text: how far it reads, how the states of its
 * tokens become one vector, and whether that is scaled to length 1.
 *
 * A directory says it in modules.json and the files that it names, as sentence-transformers reads
 * them; GGUF has ARCH.pooling_type, and what that cannot say stands under hone.pooling, hone.normalize
 * and hone.longest_text. Where neither says it, it is the mean of a model that only embeds, and of one
 * that generates not known. Modules that are not computed are refused by name. */
#ifndef HN_MODELS_SENTENCE_H
#define HN_MODELS_SENTENCE_H

#include "base/word_list.h"
#include "models/model.h"

typedef enum hn_pool_kind {
    HN_POOL_NONE,
    HN_POOL_CLS, /* the first token's */
    HN_POOL_MAX,
    HN_POOL_MEAN,
    HN_POOL_MEAN_SQRT,     /* the sum over the root of the number of tokens */
    HN_POOL_WEIGHTED_MEAN, /* token i counts i + 1 times */
    HN_POOL_LAST,
    HN_N_POOL_KINDS
} hn_pool_kind;

typedef struct hn_sentence {
    int n; /* parts of the vector, one after the other; 0: nobody says, of a model that generates */
    hn_pool_kind parts[HN_N_POOL_KINDS];
    bool normalizes;
    int64_t longest; /* tokens, those around the text too */
} hn_sentence;

/* By sentence-transformers' name; HN_ERR_ARGUMENT lists them. */
hn_status hn_pool_kind_named(const char *name, hn_pool_kind *out);
const char *hn_pool_kind_name(hn_pool_kind kind);
const char *hn_pool_kinds_or(hn_word_text *text); /* all of them, for a sentence */

hn_status hn_sentence_of_dir(const hn_hf_dir *dir, const hn_arch *arch, const hn_hparams *hp, hn_sentence *out);
hn_status hn_sentence_of_meta(const hn_meta *meta, const hn_arch *arch, const hn_hparams *hp, hn_sentence *out);
hn_status hn_sentence_of_model(const hn_model *model, hn_sentence *out);
/* Nothing where reading the file without these keys gives the same. */
hn_status hn_sentence_write(const hn_sentence *s, const hn_arch *arch, const hn_hparams *hp, hn_meta *meta);

/* hidden [n, width] -> out [s->n * width]. Sums in double, in the order of the tokens. */
void hn_sentence_pool(const hn_sentence *s, const float *hidden, int64_t n, int64_t width, float *out);

#endif
