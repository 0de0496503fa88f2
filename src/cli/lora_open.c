#include "cli/lora_open.h"

#include "cli/cache_folder.h"
#include "models/identity.h"

#include <stdio.h>

static hn_lm_numerics outer(hn_numerics numerics)
{
    hn_lm_numerics found = HN_LM_F32;
    return hn_lm_numerics_named(hn_numerics_name(numerics), &found) == HN_OK ? found : HN_LM_F32;
}

static void tell(const char *path, const hn_adapter_trial *told, hn_numerics numerics)
{
    hn_lm_adapter_trial trial = { .was_tried = told->was_tried, .recorded = outer(told->recorded), .kl = told->kl,
                                  .budget = told->budget };
    snprintf(trial.note, sizeof trial.note, "%s", told->note);
    snprintf(trial.overridden, sizeof trial.overridden, "%s", told->overridden);
    hn_lora_tell(path, &trial, outer(numerics));
}

hn_status hn_lora_open(const hn_lora_args *args, hn_heap *heap, const hn_adapter_use *use, hn_adapters *out)
{
    char path[4096];
    HN_REQUIRE(args->files.n <= HN_MAX_ADAPTERS, HN_ERR_ARGUMENT, "%d adapters: expected at most %d",
               args->files.n, HN_MAX_ADAPTERS);
    for (int i = 0; i < args->files.n; i++) {
        hn_adapter *adapter;
        hn_adapter_trial told;
        hn_adapter_use one = *use;
        one.is_forced = args->force;
        hn_model_keep_identity(use->model, hn_cache_folder());
        HN_TRY(hn_lora_split(args->files.at[i], path, sizeof path, &one.scale));
        HN_TRY(hn_adapter_open(&adapter, heap, path, &one, &told));
        tell(path, &told, use->run.numerics);
        const hn_status status = hn_adapters_add(out, adapter);
        if (status != HN_OK) {
            hn_adapter_close(adapter);
            return status;
        }
    }
    return HN_OK;
}
