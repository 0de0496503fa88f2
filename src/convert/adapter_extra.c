/* Rows are turned on their way as the weights' own are: in the order of GGUF, and with the one that a class adds
 * to its gains. */
#include "convert/adapter_extra.h"

#include <stdio.h>
#include <string.h>

static hn_status check_type(const hn_weight_entry *e)
{
    const hn_dtype dtype = e->type.dtype;
    HN_REQUIRE(dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16, HN_ERR_UNSUPPORTED,
               "tensor %s: type %s is not supported", e->name, e->encoding);
    return HN_OK;
}

static const hn_weight_entry *find(const hn_weights *weights, const char *module, const char *ending)
{
    char name[HN_PEFT_NAME];
    snprintf(name, sizeof name, HN_PEFT_PREFIX "%s%s", module, ending);
    return hn_weights_find(weights, name);
}

hn_status hn_adapter_extra_magnitude(const hn_adapter_base *base, const hn_weights *weights,
                                     const hn_adapter_config *config, const char *prefix,
                                     const hn_arch_tensor *tensor, hn_adapter_extra *out)
{
    char module[HN_TENSOR_NAME];
    *out = (hn_adapter_extra){ .base = base, .tensor = tensor, .is_magnitude = true };
    hn_adapter_module(base, prefix, tensor, 0, module);
    const hn_weight_entry *e = find(weights, module, ".lora_magnitude_vector");
    e = e ? e : find(weights, module, ".lora_magnitude_vector.weight"); /* of older PEFT */
    if (!config->is_dora) {
        HN_REQUIRE(!e, HN_ERR_FORMAT, "tensor %s: use_dora is not set", e ? e->name : "");
        return HN_OK;
    }
    HN_REQUIRE(tensor->rank == 2 && !hn_adapter_is_embedding(tensor), HN_ERR_UNSUPPORTED,
               "%s: DoRA of %s is not supported", module,
               tensor->rank == 2 ? "an embedding" : "stacked experts");
    HN_REQUIRE(e, HN_ERR_FORMAT, "tensor " HN_PEFT_PREFIX "%s.lora_magnitude_vector is missing", module);
    HN_TRY(check_type(e));
    HN_REQUIRE(hn_count(&e->type) == tensor->dim[0], HN_ERR_SHAPE,
               "tensor %s has %lld elements: expected %lld", e->name,
               (long long)hn_count(&e->type), (long long)tensor->dim[0]);
    out->from = e;
    snprintf(out->name, sizeof out->name, "%s.lora_magnitude", tensor->gguf);
    return HN_OK;
}

static hn_status check_whole(const hn_adapter_base *base, const hn_adapter_config *config,
                             const hn_arch_tensor *t, const hn_weight_entry *e)
{
    const unsigned known = HN_W_PERMUTE | HN_W_F32 | HN_W_PLUS_ONE | HN_W_PAD;
    char found[HN_TYPE_TEXT];
    HN_REQUIRE(config->saves_modules, HN_ERR_FORMAT, "tensor %s: modules_to_save is not set", e->name);
    HN_TRY(check_type(e));
    HN_REQUIRE(t->rank <= 2 && !(t->spec->how & ~known), HN_ERR_UNSUPPORTED,
               "tensor %s: it is part of %s, and cannot stand in for it", e->name, t->gguf);
    HN_REQUIRE(!hn_adapter_is_embedding(t) || !base->hp->is_tied, HN_ERR_UNSUPPORTED,
               "tensor %s: the model's head is its embedding, and PEFT parts them", e->name);
    HN_REQUIRE(e->type.rank == t->rank && !memcmp(e->type.dim, t->dim, (size_t)t->rank * sizeof *t->dim),
               HN_ERR_SHAPE, "tensor %s is %s: its shape does not fit %s", e->name,
               hn_type_text(&e->type, found), t->gguf);
    return HN_OK;
}

hn_status hn_adapter_extra_whole(const hn_adapter_base *base, const hn_weights *weights,
                                 const hn_adapter_config *config, const hn_arch_tensor *tensor,
                                 hn_adapter_extra *out)
{
    char module[HN_TENSOR_NAME];
    const size_t n = tensor->spec->hf ? strlen(tensor->spec->hf) : 0;
    *out = (hn_adapter_extra){ .base = base, .tensor = tensor };
    if (n <= 7 || strcmp(tensor->spec->hf + n - 7, ".weight") != 0)
        return HN_OK;
    for (int k = 0; base->arch->prefixes[k] && !out->from; k++) {
        hn_adapter_module(base, base->arch->prefixes[k], tensor, 0, module);
        out->from = find(weights, module, ".weight");
    }
    if (!out->from)
        return HN_OK;
    snprintf(out->name, sizeof out->name, "%s", tensor->gguf);
    return check_whole(base, config, tensor, out->from);
}

hn_status hn_adapter_extra_type(const hn_adapter_extra *extra, hn_dtype dtype, hn_type *out)
{
    return hn_type_make(out, dtype, extra->is_magnitude ? 1 : extra->tensor->rank, extra->tensor->dim);
}

const uint8_t *hn_adapter_extra_row(const void *context, int64_t row, float *out, uint8_t *bytes)
{
    const hn_adapter_extra *x = context;
    const bool is_vector = x->is_magnitude || x->tensor->rank == 1;
    const int64_t n = x->tensor->dim[x->is_magnitude ? 0 : x->tensor->rank - 1];
    const float more = !x->is_magnitude && x->tensor->spec->how & HN_W_PLUS_ONE ? 1 : 0;
    const int64_t from = is_vector ? 0 : hn_adapter_row_of_gguf(x->base, x->tensor, row);
    (void)bytes;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = is_vector ? hn_adapter_row_of_gguf(x->base, x->tensor, k) : from * n + k;
        out[k] = hn_adapter_element(x->from, i) + more;
    }
    return NULL;
}
