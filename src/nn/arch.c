/* A line of the table becomes one tensor for each layer that has it; shapes are words over the model's letters,
 * and their products are looked at for overflow, since numbers come from files. */
#include "nn/arch.h"

#include <stdio.h>
#include <string.h>

int64_t hn_layer_head_dim(const hn_hparams *hp, int layer)
{
    const bool slides = layer >= 0 && hp->is_sliding[layer];
    return slides && hp->has[HN_HP_head_dim_swa] ? hp->head_dim_swa : hp->head_dim;
}

int64_t hn_layer_value_dim(const hn_hparams *hp, int layer)
{
    const bool slides = layer >= 0 && hp->is_sliding[layer];
    return slides && hp->has[HN_HP_value_dim_swa] ? hp->value_dim_swa : hp->value_dim;
}

bool hn_layer_is_moe(const hn_hparams *hp, int layer)
{
    return layer >= 0 && hp->n_expert > 0 && layer >= hp->n_dense_first;
}

/* The letters of shapes. */
static int64_t symbol(char letter, const hn_hparams *hp, int layer)
{
    const int at = layer < 0 ? 0 : layer;
    switch (letter) {
    case 'C': return hp->width;
    case 'V': return hp->n_vocab;
    case 'F': return hp->ffn[at];
    case 'H': return hp->n_head[at];
    case 'G': return hp->n_kv_head[at];
    case 'D': return hn_layer_head_dim(hp, layer);
    case 'U': return hn_layer_value_dim(hp, layer);
    case 'E': return hp->n_expert;
    case 'X': return hp->expert_ffn;
    case 'S': return hp->shared_ffn;
    case 'P': return hp->ple_width;
    case 'L': return hp->n_layer;
    case 'R': return hp->rope_dim / 2;
    case 'A': return hp->altup_inputs;
    case 'Q': return hp->q_rank;
    case 'K': return hp->kv_rank;
    case 'M': return hp->head_dim_mla;                /* a head's key: nope and rope parts */
    case 'O': return hp->rope_dim;                    /* its rope part */
    case 'N': return hp->head_dim_mla - hp->rope_dim; /* its other part */
    case 'Y': return hp->value_dim_mla;
    case 'T': return hp->n_ctx;
    case 'Z': return hp->laurel_rank;
    case 'W': return hp->n_token_type;
    default: return 0;
    }
}

/* "2*H*D,C": products of letters and numbers, one a dimension; '+' adds a further product. */
static hn_status read_shape(const hn_weight_spec *spec, const hn_hparams *hp, hn_arch_tensor *t)
{
    int64_t product = 1, sum = 0;
    bool fits = true;
    for (const char *at = spec->shape;; at++) {
        if (*at >= '0' && *at <= '9') {
            int64_t n = 0;
            for (; *at >= '0' && *at <= '9'; at++)
                n = 10 * n + (*at - '0');
            fits = fits && !__builtin_mul_overflow(product, n, &product);
            at--;
        } else if (*at == '+' || *at == ',' || !*at) {
            fits = fits && !__builtin_add_overflow(sum, product, &sum);
            product = 1;
            if (*at == '+')
                continue;
            t->dim[t->rank++] = sum;
            sum = 0;
            if (!*at)
                break;
        } else if (*at != '*') {
            fits = fits && !__builtin_mul_overflow(product, symbol(*at, hp, t->layer), &product);
        }
    }
    HN_REQUIRE(fits, HN_ERR_FORMAT, "tensor %s: its dimensions overflow", t->gguf);
    for (int i = 0; i < t->rank; i++)
        HN_REQUIRE(t->dim[i] > 0, HN_ERR_FORMAT,
                   "tensor %s: dimension %d (%s) is %lld: a number of the model is missing",
                   t->gguf, i, spec->shape, (long long)t->dim[i]);
    return HN_OK;
}

static bool applies(const hn_weight_spec *spec, const hn_hparams *hp, int layer)
{
    switch (spec->when) {
    case HN_ALWAYS: return true;
    case HN_IF_UNTIED:
    case HN_IF_OWN_HEAD: return !hp->is_tied && !hp->is_headless;
    case HN_IF_DENSE: return !hn_layer_is_moe(hp, layer);
    case HN_IF_MOE: return hn_layer_is_moe(hp, layer);
    case HN_IF_SHARED: return hn_layer_is_moe(hp, layer) && hp->shared_ffn > 0;
    case HN_IF_CHOICE_BIAS: return hn_layer_is_moe(hp, layer) && hp->has_choice_bias;
    case HN_IF_EXPERTS: return hp->n_expert > 0;
    case HN_IF_PLE: return hp->ple_width > 0;
    case HN_IF_OWN_K: return true;
    case HN_IF_OWN_V: return layer < 0 || !hp->is_key_value[layer];
    case HN_IF_Q_RANK: return hp->q_rank > 0;
    case HN_IF_NO_Q_RANK: return hp->q_rank == 0;
    case HN_IF_DIVISORS:
        return hp->has_divisors || hp->rope_scaling == HN_ROPE_LLAMA3 ||
               hp->rope_scaling == HN_ROPE_PROPORTIONAL;
    case HN_IF_LONGROPE: return hp->n_rope_factors > 0;
    case HN_IF_ATTN_BIAS: return hp->has_attn_bias;
    case HN_IF_MLP_BIAS: return hp->has_mlp_bias;
    }
    return false;
}

static hn_status add(const hn_weight_spec *spec, const hn_hparams *hp, int layer,
                     hn_arch_tensor *t)
{
    *t = (hn_arch_tensor){ .spec = spec, .layer = layer };
    if (spec->gguf[0] == '.')
        snprintf(t->gguf, sizeof t->gguf, "blk.%d%s", layer, spec->gguf);
    else
        snprintf(t->gguf, sizeof t->gguf, "%s", spec->gguf);
    return read_shape(spec, hp, t);
}

hn_status hn_arch_tensors(const hn_arch *arch, const hn_hparams *hp, hn_heap *heap,
                          hn_arch_tensor **out, size_t *n)
{
    size_t rows = 0;
    while (arch->weights[rows].gguf)
        rows++;
    *n = 0;
    *out = hn_alloc_array(heap, HN_TAG_FILE, rows * (size_t)(hp->n_layer + 1), sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    hn_status status = HN_OK;
    for (int layer = -1; layer < hp->n_layer && status == HN_OK; layer++)
        for (size_t i = 0; i < rows && status == HN_OK; i++) {
            const hn_weight_spec *spec = &arch->weights[i];
            if ((spec->gguf[0] == '.') != (layer >= 0) || !applies(spec, hp, layer))
                continue;
            status = add(spec, hp, layer, &(*out)[*n]);
            *n += status == HN_OK;
        }
    if (status == HN_OK)
        return HN_OK;
    hn_free(heap, *out);
    *out = NULL;
    *n = 0;
    return hn_fail_within(status, "%s: ", arch->name);
}

bool hn_arch_needs(const hn_arch_tensor *tensor, const hn_hparams *hp)
{
    const hn_when when = tensor->spec->when;
    if (when == HN_IF_OWN_K || when == HN_IF_OWN_V)
        return tensor->layer < hp->n_layer - hp->n_shared_kv;
    if (when == HN_IF_ATTN_BIAS || when == HN_IF_MLP_BIAS)
        return !hp->biases_may_miss;
    return true;
}

void hn_arch_hf_name(const hn_arch *arch, const char *prefix, const hn_weight_spec *spec,
                     int layer, int expert, char *out)
{
    char name[HN_TENSOR_NAME];
    if (spec->hf[0] == '.')
        snprintf(name, sizeof name, "%s%s%d%s", prefix, arch->layers, layer, spec->hf);
    else if (spec->hf[0] == '@')
        snprintf(name, sizeof name, "%s%s", prefix, spec->hf + 1);
    else
        snprintf(name, sizeof name, "%s", spec->hf);
    const char *hash = strchr(name, '#');
    if (hash)
        snprintf(out, HN_TENSOR_NAME, "%.*s%d%s", (int)(hash - name), name, expert, hash + 1);
    else
        snprintf(out, HN_TENSOR_NAME, "%s", name);
}

/* Behind a number, or NULL if there is none. */
static const char *past_number(const char *at)
{
    const char *end = at + strspn(at, "0123456789");
    return end > at ? end : NULL;
}

static const char *past(const char *at, const char *start)
{
    const size_t n = strlen(start);
    return at && !strncmp(at, start, n) ? at + n : NULL;
}

/* '#' stands for an expert's number. */
static bool is_called(const char *name, const char *row)
{
    for (; name && *row; row++) {
        if (*row != '#' && *row != *name)
            return false;
        name = *row == '#' ? past_number(name) : name + 1;
    }
    return name && !*name;
}

const hn_weight_spec *hn_arch_spec_of(const hn_arch *arch, const char *name)
{
    for (int i = 0; arch->prefixes[i]; i++) {
        const char *own = past(name, arch->prefixes[i]), *number = past(own, arch->layers);
        const char *layered = number ? past_number(number) : NULL;
        for (const hn_weight_spec *s = arch->weights; s->gguf; s++) {
            if (s->hf && is_called(s->hf[0] == '.' ? layered : s->hf[0] == '@' ? own : name, s->hf + (s->hf[0] == '@')))
                return s;
        }
    }
    return NULL;
}
