/* Compared number by number, and only where there is such a tensor: then the whole base is opened, which costs. */
#include "convert/adapter_kept.h"

#include "models/model.h"

#include <stdio.h>
#include <string.h>

#define ENDING ".base_layer.weight"

static const hn_arch_tensor *tensor_of(const hn_adapter_base *base, const hn_weight_entry *e)
{
    char module[HN_TENSOR_NAME], name[HN_PEFT_NAME];
    for (size_t i = 0; i < base->n; i++) {
        const hn_arch_tensor *t = &base->tensors[i];
        const size_t n = t->spec->hf ? strlen(t->spec->hf) : 0;
        if (n <= 7 || strcmp(t->spec->hf + n - 7, ".weight") != 0)
            continue;
        for (int k = 0; base->arch->prefixes[k]; k++) {
            hn_adapter_module(base, base->arch->prefixes[k], t, 0, module);
            snprintf(name, sizeof name, HN_PEFT_PREFIX "%s" ENDING, module);
            if (!strcmp(name, e->name))
                return t;
        }
    }
    return NULL;
}

static hn_status compare(const hn_adapter_base *base, const hn_model *model, const hn_arch_tensor *t,
                         const hn_weight_entry *e)
{
    const nn_weight *w = hn_model_find(model, t->gguf);
    if (!w && !strcmp(t->gguf, "output.weight")) /* the head is the embedding */
        w = hn_model_find(model, "token_embd.weight");
    bool same = w && w->type.rank == 2 && hn_same_shape(&w->type, &e->type);
    const hn_tensor values = same ? hn_tensor_at(&w->type, (void *)(uintptr_t)w->data) : (hn_tensor){ 0 };
    const int64_t columns = same ? w->type.dim[1] : 1;
    for (int64_t i = 0; same && i < hn_count(&w->type); i++) {
        const int64_t row = w->is_permuted ? hn_adapter_row_of_hf(base, t, i / columns) : i / columns;
        const float want = (float)hn_get(&values, row * columns + i % columns);
        const float found = hn_adapter_element(e, i);
        same = !(found < want || found > want) && found == found;
    }
    HN_REQUIRE(same, HN_ERR_UNSUPPORTED,
               "tensor %s is not %s of %s: the base was changed, or is stored in another type", e->name,
               t->gguf, base->path);
    return HN_OK;
}

hn_status hn_adapter_check_kept(const hn_adapter_base *base, const hn_weights *weights, bool *is_used)
{
    hn_model *model = NULL;
    hn_status status = HN_OK;
    for (size_t i = 0; i < weights->n && status == HN_OK; i++) {
        const hn_weight_entry *e = &weights->entries[i];
        const size_t n = strlen(e->name);
        const bool is_kept = !is_used[i] && n > strlen(ENDING) &&
                             !strcmp(e->name + n - strlen(ENDING), ENDING);
        const hn_arch_tensor *t = is_kept ? tensor_of(base, e) : NULL;
        if (!t)
            continue;
        if (!model)
            status = hn_model_open(base->heap, base->path, base->ignored, &model);
        if (status != HN_OK && status != HN_ERR_MEMORY)
            status = hn_fail_within(status, "tensor %s must be compared with the base's: ", e->name);
        if (status == HN_OK)
            status = compare(base, model, t, e);
        is_used[i] = true;
    }
    hn_model_close(model);
    return status;
}
