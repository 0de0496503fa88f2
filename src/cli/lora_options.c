/* A scale may stand behind a file's name, and a name may have colons: the last one counts, if a number follows it. */
#include "cli/lora_options.h"

#include "base/number.h"
#include "cli/cache_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "FILE:SCALE": the last colon, if a number follows it. */
hn_status hn_lora_split(const char *word, char *path, size_t room, double *scale)
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

void hn_lora_tell(const char *path, const hn_lm_adapter_trial *told, hn_lm_numerics numerics)
{
    if (told->note[0])
        fprintf(stderr, "adapter %s: %s\n", path, told->note);
    if (told->overridden[0])
        fprintf(stderr, "adapter %s: forced: %s\n", path, told->overridden);
    if (told->was_tried && told->recorded != numerics)
        fprintf(stderr, "adapter %s: of %s numerics, run in %s: KL %.3g of its last logits, budget %.3g\n",
                path, hn_lm_numerics_name(told->recorded), hn_lm_numerics_name(numerics), told->kl,
                told->budget);
}

hn_status hn_lora_apply(const hn_lora_args *args, hn_lm *lm, hn_lm_numerics numerics)
{
    char path[4096];
    if (args->files.n)
        HN_TRY(hn_lm_keep_digests(lm, hn_cache_folder()));
    for (int i = 0; i < args->files.n; i++) {
        hn_lm_adapter_options o = { .size = sizeof o, .is_forced = args->force };
        hn_lm_adapter_trial told;
        HN_TRY(hn_lora_split(args->files.at[i], path, sizeof path, &o.scale));
        const hn_status status = hn_lm_apply_adapter(lm, path, &o, &told, sizeof told);
        hn_lora_tell(path, &told, numerics);
        HN_TRY(status);
    }
    return HN_OK;
}
