#include "cli/lora_options.h"

#include "base/number.h"
#include "cli/cache_folder.h"
#include "models/identity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "FILE:SCALE": the last colon, if a number follows it. */
static hn_status split(const char *word, char *path, size_t room, double *scale)
{
    const char *colon = strrchr(word, ':');
    size_t n = strlen(word);
    *scale = 1;
    if (colon && colon[1]) {
        double value;
        if (hn_number_parse(colon + 1, &value)) {
            HN_REQUIRE(isfinite(value) && value != 0, HN_ERR_ARGUMENT,
                       "--lora %s: expected a scale other than 0", word);
            *scale = value;
            n = (size_t)(colon - word);
        }
    }
    HN_REQUIRE(n > 0 && n < room, HN_ERR_ARGUMENT, "--lora %.60s: expected a file's name", word);
    memcpy(path, word, n);
    path[n] = '\0';
    return HN_OK;
}

static void tell(const char *path, const hn_adapter_trial *told, hn_numerics numerics)
{
    if (told->note[0])
        fprintf(stderr, "adapter %s: %s\n", path, told->note);
    if (told->overridden[0])
        fprintf(stderr, "adapter %s: forced: %s\n", path, told->overridden);
    if (told->was_tried && told->recorded != numerics)
        fprintf(stderr, "adapter %s: of %s numerics, run in %s: KL %.3g of its last logits, budget %.3g\n",
                path, hn_numerics_name(told->recorded), hn_numerics_name(numerics), told->kl,
                told->budget);
}

hn_status hn_lora_open(const hn_lora_args *args, hn_heap *heap, const hn_adapter_use *use,
                       hn_adapters *out)
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
        HN_TRY(split(args->files.at[i], path, sizeof path, &one.scale));
        HN_TRY(hn_adapter_open(&adapter, heap, path, &one, &told));
        tell(path, &told, use->as_trained ? told.recorded : use->run.numerics);
        const hn_status status = hn_adapters_add(out, adapter);
        if (status != HN_OK) {
            hn_adapter_close(adapter);
            return status;
        }
    }
    return HN_OK;
}
