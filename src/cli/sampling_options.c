#include "cli/sampling_options.h"

#include "base/number.h"

#include <math.h>
#include <stdlib.h>

static hn_status read_bias(const char *text, hn_lm_bias *out)
{
    char *end;
    double bias = 0;
    const long long id = strtoll(text, &end, 10);
    const bool has_id = end != text && *end == '=' && id >= 0 && id <= INT32_MAX;
    HN_REQUIRE(has_id && hn_number_parse(end + 1, &bias) && (isfinite(bias) || bias < 0), HN_ERR_ARGUMENT,
               "--logit-bias %s: expected a token's id, '=' and a number or -inf", text);
    *out = (hn_lm_bias){ (int32_t)id, (float)bias };
    return HN_OK;
}

hn_status hn_sampling_read(const hn_sampling_args *a, hn_lm_bias *bias, hn_lm_sampling *out)
{
    for (int i = 0; i < a->logit_bias.n; i++)
        HN_TRY(read_bias(a->logit_bias.at[i], &bias[i]));
    *out = (hn_lm_sampling){
        .size = sizeof *out,
        .temperature = (float)a->temperature,
        .top_k = (int32_t)a->top_k,
        .top_p = (float)a->top_p,
        .min_p = (float)a->min_p,
        .repetition = (float)a->repetition,
        .frequency = (float)a->frequency,
        .presence = (float)a->presence,
        .last = (int32_t)a->last_n,
        .seed = (uint64_t)a->seed,
        .n_bias = a->logit_bias.n,
        .bias = bias,
    };
    return HN_OK;
}
