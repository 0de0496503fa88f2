/* What guesses come from, of the options; without any, nothing is guessed. */
#include "cli/draft_options.h"

#include <stdio.h>

hn_status hn_draft_open(const hn_draft_args *args, const hn_opened *opened, const hn_machine_args *machine,
                        const hn_lm_sampling *sampling, hn_lm **lm, hn_lm_draft_options *out, bool *uses)
{
    hn_lm_options o = { .size = sizeof o };
    *lm = NULL;
    *uses = args->model || args->ngram;
    HN_REQUIRE(*uses || !args->most, HN_ERR_ARGUMENT,
               "--draft-max %lld: expected --draft or --draft-ngram, by which there are guesses", (long long)args->most);
    HN_REQUIRE(args->model || !args->numerics, HN_ERR_ARGUMENT,
               "--draft-numerics %.40s: expected --draft, and a model to compute so", args->numerics);
    if (!*uses)
        return HN_OK;
    HN_TRY(args->numerics ? hn_lm_numerics_named(args->numerics, &o.numerics) : hn_machine_numerics(machine, &o.numerics));
    if (args->model)
        HN_TRY(hn_lm_open(lm, opened->engine, args->model, &o));
    *out = (hn_lm_draft_options){ .size = sizeof *out, .model = *lm, .sampling = *lm ? sampling : NULL,
                                  .ngram = args->ngram, .most = args->most };
    return HN_OK;
}

void hn_draft_tell(const hn_draft_args *args, int64_t accepted, int64_t rejected, char *text, size_t room)
{
    *text = 0;
    if (args->model || args->ngram)
        snprintf(text, room, "; guessed %lld, %lld right", (long long)(accepted + rejected), (long long)accepted);
}
