/* Which parameter of all experts a tensor is part of, told by the names that its architecture lists: one without
 * '#' and with all experts. */
#include "convert/adapter_fused.h"

#include <stdio.h>
#include <string.h>

/* Another source of the same tensor that holds all its experts. */
static const hn_arch_tensor *source_of(const hn_adapter_base *base, const char *gguf)
{
    static const char ending[] = "_proj";
    for (size_t i = 0; i < base->n; i++) {
        const hn_arch_tensor *t = &base->tensors[i];
        if (strcmp(t->gguf, gguf) || !t->spec->hf || t->rank != 3 || strchr(t->spec->hf, '#'))
            continue;
        const size_t n = strlen(t->spec->hf), end = sizeof ending - 1;
        const bool is_plain = !(t->spec->how & ~(unsigned)(HN_W_FIRST | HN_W_SECOND));
        if (is_plain && n > end && !strcmp(t->spec->hf + n - end, ending))
            return t;
    }
    return NULL;
}

bool hn_adapter_fused_of(const hn_adapter_base *base, const char *prefix,
                         const hn_arch_tensor *tensor, hn_adapter_fused *out)
{
    char name[HN_TENSOR_NAME];
    const hn_arch_tensor *one = source_of(base, tensor->gguf);
    if (!one)
        return false;
    *out = (hn_adapter_fused){ .parts = { one } };
    hn_arch_hf_name(base->arch, prefix, one->spec, one->layer, 0, name);
    const char *dot = strrchr(name, '.');
    if (!dot || strlen(dot + 1) >= sizeof out->parameter)
        return false;
    snprintf(out->parameter, sizeof out->parameter, "%s", dot + 1);
    memcpy(out->module, name, (size_t)(dot - name));
    if (!(one->spec->how & (HN_W_FIRST | HN_W_SECOND)))
        return true;
    for (size_t i = 0; i < base->n; i++) { /* both halves, in order */
        const hn_arch_tensor *t = &base->tensors[i];
        if (t->layer != one->layer || !t->spec->hf || strcmp(t->spec->hf, one->spec->hf))
            continue;
        out->parts[t->spec->how & HN_W_SECOND ? 1 : 0] = t;
    }
    return true;
}

void hn_adapter_fused_target(const hn_adapter_fused *fused, char out[2 * HN_TENSOR_NAME])
{
    snprintf(out, 2 * HN_TENSOR_NAME, "%s.%s", fused->module, fused->parameter);
}
