/* Names and orders between GGUF and Hugging Face, for both directions, so that one is the other's inverse: rows of
 * heads whose pairs rope turns together, experts stacked, modules by the prefix that the directory has. */
#include "convert/adapter_base.h"

#include "base/bytes.h"
#include "base/half.h"
#include "models/format.h"

#include <stdio.h>
#include <string.h>

hn_status hn_adapter_base_open(hn_heap *heap, const char *path, const hn_ignored *ignored,
                               hn_adapter_base *out)
{
    *out = (hn_adapter_base){ .heap = heap, .path = path, .ignored = ignored };
    out->hp = hn_alloc(heap, HN_TAG_FILE, sizeof *out->hp);
    if (!out->hp)
        return HN_ERR_MEMORY;
    hn_model_head head = { .hp = out->hp };
    const hn_status status = hn_model_format_of(path)->read_head(heap, path, ignored, &head);
    out->arch = head.arch;
    out->prefix = head.prefix;
    out->has_weights = head.has_weights;
    if (status != HN_OK)
        return strstr(hn_error_message(), path) ? status : hn_fail_within(status, "%s: ", path);
    if (!out->prefix)
        out->prefix = out->arch->prefixes[0];
    return hn_arch_tensors(out->arch, out->hp, heap, &out->tensors, &out->n);
}

void hn_adapter_base_close(hn_adapter_base *base)
{
    if (!base->heap)
        return;
    hn_free(base->heap, base->tensors);
    hn_free(base->heap, base->hp);
    *base = (hn_adapter_base){ 0 };
}

hn_status hn_adapter_check_kind(const hn_adapter_base *base, const hn_arch_tensor *tensor,
                                const char *module)
{
    const unsigned known = HN_W_PERMUTE | HN_W_TRANSPOSE | HN_W_STACK | HN_W_PAD | HN_W_F32;
    const int rank = tensor->spec->how & HN_W_STACK ? 3 : 2;
    HN_REQUIRE(!(tensor->spec->how & ~known) && tensor->rank == rank, HN_ERR_UNSUPPORTED,
               "%s: %s cuts it apart into %s: an adapter cannot follow", module,
               base->arch->name, tensor->gguf);
    return HN_OK;
}

bool hn_adapter_is_embedding(const hn_arch_tensor *tensor)
{
    return !strcmp(tensor->gguf, "token_embd.weight") ||
           !strcmp(tensor->gguf, "per_layer_token_embd.weight");
}

/* The last part of the module's name; "" of none. */
static const char *leaf_of(const char *hf, char out[HN_TENSOR_NAME])
{
    snprintf(out, HN_TENSOR_NAME, "%s", hf ? hf : "");
    char *end = strstr(out, ".weight");
    if (end)
        *end = 0;
    const char *dot = strrchr(out, '.');
    return dot ? dot + 1 : out;
}

bool hn_adapter_is_parameter(const hn_adapter_base *base, const hn_arch_tensor *tensor, bool is_apart)
{
    char own[HN_TENSOR_NAME], other[HN_TENSOR_NAME];
    if (strstr(tensor->gguf, "ffn_gate_inp.weight"))
        return true;
    if (is_apart || !base->hp->n_expert || tensor->rank != 2 || tensor->spec->how & HN_W_STACK)
        return false;
    for (const hn_weight_spec *row = base->arch->weights; row->gguf; row++)
        if (row->how & HN_W_STACK && row->hf && !strcmp(leaf_of(row->hf, other), leaf_of(tensor->spec->hf, own)))
            return true;
    return false;
}

int64_t hn_adapter_experts(const hn_arch_tensor *tensor)
{
    return tensor->spec->how & HN_W_STACK ? tensor->dim[0] : 1;
}

hn_status hn_adapter_check_shapes(const hn_arch_tensor *tensor, bool is_embedding,
                                  const hn_weight_entry *a, const hn_weight_entry *b)
{
    const int64_t out = tensor->dim[tensor->rank - 2], in = tensor->dim[tensor->rank - 1];
    const int64_t a_size = is_embedding ? out : in, b_size = is_embedding ? in : out;
    const hn_type *x = &a->type, *y = &b->type;
    HN_REQUIRE(x->rank == 2 && y->rank == 2, HN_ERR_SHAPE, "%s and %s: expected matrices",
               a->name, b->name);
    HN_REQUIRE(
        x->dim[1] == a_size && y->dim[0] == b_size && x->dim[0] == y->dim[1], HN_ERR_SHAPE,
        "%s: [%lld,%lld] and [%lld,%lld]: expected [rank,%lld] and [%lld,rank], as %s is "
        "[%lld,%lld]",
        a->name, (long long)x->dim[0], (long long)x->dim[1], (long long)y->dim[0],
        (long long)y->dim[1], (long long)a_size, (long long)b_size, tensor->gguf,
        (long long)out, (long long)in);
    return HN_OK;
}

void hn_adapter_module(const hn_adapter_base *base, const char *prefix,
                       const hn_arch_tensor *tensor, int expert, char *out)
{
    static const char ending[] = ".weight";
    hn_arch_hf_name(base->arch, prefix, tensor->spec, tensor->layer, expert, out);
    const size_t n = strlen(out), end = sizeof ending - 1;
    if (n > end && !strcmp(out + n - end, ending))
        out[n - end] = '\0';
}

/* Rotated pairs lie side by side in GGUF, and half a head apart in Hugging Face's files. */
int64_t hn_adapter_row_of_gguf(const hn_adapter_base *base, const hn_arch_tensor *tensor,
                               int64_t i)
{
    if (!(tensor->spec->how & HN_W_PERMUTE))
        return i;
    const int64_t width = hn_layer_head_dim(base->hp, tensor->layer), within = i % width;
    return i - within + within % 2 * (width / 2) + within / 2;
}

int64_t hn_adapter_row_of_hf(const hn_adapter_base *base, const hn_arch_tensor *tensor,
                             int64_t i)
{
    if (!(tensor->spec->how & HN_W_PERMUTE))
        return i;
    const int64_t width = hn_layer_head_dim(base->hp, tensor->layer), within = i % width;
    return i - within + within % (width / 2) * 2 + within / (width / 2);
}

float hn_adapter_element(const hn_weight_entry *entry, int64_t i)
{
    if (entry->type.dtype == HN_F32)
        return hn_f32_from_bits(hn_load_32(entry->data + 4 * i));
    if (entry->type.dtype == HN_F16)
        return hn_f16_to_f32(hn_load_16(entry->data + 2 * i));
    return hn_bf16_to_f32(hn_load_16(entry->data + 2 * i));
}
