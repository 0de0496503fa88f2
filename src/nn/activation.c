/* Words of both kinds of files for the same curves. */
#include "nn/activation.h"

#include <string.h>

/* The first of a kind is the one that is written. Names that share a kind differ in Transformers
 * by the order of their roundings. */
static const struct {
    const char *word;
    hn_activation is;
} names[] = {
    { "silu", HN_ACT_SILU },
    { "swish", HN_ACT_SILU },
    { "gelu_pytorch_tanh", HN_ACT_GELU_TANH },
    { "gelu_new", HN_ACT_GELU_TANH },
    { "gelu_fast", HN_ACT_GELU_TANH },
    { "gelu_accurate", HN_ACT_GELU_TANH },
    { "gelu_python_tanh", HN_ACT_GELU_TANH },
    { "gelu", HN_ACT_GELU },
    { "gelu_python", HN_ACT_GELU },
    { "quick_gelu", HN_ACT_QUICK_GELU },
    { "relu", HN_ACT_RELU },
    { "relu2", HN_ACT_RELU2 },
    { "tanh", HN_ACT_TANH },
    { "mish", HN_ACT_MISH },
};

hn_status hn_activation_named(const char *word, hn_activation *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].word, word)) {
            *out = names[i].is;
            return HN_OK;
        }
    return hn_fail(HN_ERR_UNSUPPORTED,
                   "activation %s: expected silu, gelu, gelu_pytorch_tanh, quick_gelu, relu, "
                   "relu2, tanh or mish", word);
}

const char *hn_activation_word(hn_activation activation)
{
    size_t i = 0;
    while (i + 1 < sizeof names / sizeof *names && names[i].is != activation)
        i++;
    return names[i].word;
}
