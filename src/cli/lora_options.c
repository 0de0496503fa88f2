#include "cli/lora_options.h"

#include "infer/adapter_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "FILE:SCALE": the last colon, if a number follows it. */
static hn_status split(const char *word, char *path, size_t room, double *scale)
{
    const char *colon = strrchr(word, ':');
    char *end = NULL;
    size_t n = strlen(word);
    *scale = 1;
    if (colon && colon[1]) {
        const double value = strtod(colon + 1, &end);
        if (!*end) {
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

/* The one place where an adapter is judged, by what it says of itself: alone, unscaled. */
static hn_status try_adapter(hn_heap *heap, const hn_model *model, hn_device *device,
                             hn_numerics numerics, const char *path)
{
    hn_adapter *adapter;
    hn_adapter_test test;
    HN_TRY(hn_adapter_open(&adapter, heap, model, path, NULL));
    const hn_status status = hn_adapter_test_run(heap, model, device, adapter, numerics, &test);
    hn_adapter_close(adapter);
    if (status == HN_OK && test.has_run && test.recorded != numerics)
        fprintf(stderr, "adapter %s: of %s numerics, run in %s: KL %.3g of its last logits, budget %.3g\n",
                path, hn_numerics_name(test.recorded), hn_numerics_name(numerics), test.kl,
                test.budget);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "adapter %s: ", path);
}

hn_status hn_lora_open(const hn_lora_args *args, hn_heap *heap, const hn_model *model,
                       hn_device *device, hn_numerics numerics, hn_adapters *out)
{
    char path[4096], overridden[HN_ADAPTER_TEXT];
    HN_REQUIRE(args->files.n <= HN_MAX_ADAPTERS, HN_ERR_ARGUMENT, "%d adapters: expected at most %d",
               args->files.n, HN_MAX_ADAPTERS);
    for (int i = 0; i < args->files.n; i++) {
        hn_adapter *adapter;
        hn_adapter_options o = { .is_forced = args->force, .overridden = overridden };
        overridden[0] = '\0';
        HN_TRY(split(args->files.at[i], path, sizeof path, &o.scale));
        HN_TRY(hn_adapter_open(&adapter, heap, model, path, &o));
        hn_status status = HN_OK;
        if (overridden[0]) /* over another base there is nothing to compare */
            fprintf(stderr, "adapter %s: forced: %s\n", path, overridden);
        else
            status = try_adapter(heap, model, device, numerics, path);
        if (status == HN_OK)
            status = hn_adapters_add(out, adapter);
        if (status != HN_OK) {
            hn_adapter_close(adapter);
            return status;
        }
    }
    return HN_OK;
}
