/* The options as the library takes them. A bias may be minus infinity, which forbids a token. */
#include "cli/sampling_options.h"

#include "base/file.h"
#include "base/number.h"
#include "base/option_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hn_status read_bias(const char *text, hn_lm_bias *out)
{
    char *end;
    double bias = 0;
    const long long id = strtoll(text, &end, 10);
    const bool has_id = end != text && *end == '=' && id >= 0 && id <= INT32_MAX;
    HN_REQUIRE(has_id && hn_number_parse(end + 1, &bias) && (hn_is_of_f32(bias) || bias == -(double)INFINITY), HN_ERR_ARGUMENT,
               "--logit-bias %s: expected a token's id, '=' and a number or -inf", text);
    *out = (hn_lm_bias){ sizeof *out, (int32_t)id, (float)bias };
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

hn_status hn_sampling_grammar(const hn_sampling_args *a, hn_engine *engine, hn_lm_grammar **out)
{
    enum { MOST_BYTES = 1 << 20 };
    const char *path = a->grammar ? a->grammar : a->json_schema;
    void *text = NULL;
    size_t bytes = 0;
    *out = NULL;
    if (a->regex) {
        const hn_status status = hn_lm_grammar_new(out, engine, HN_LM_REGEX, a->regex, strlen(a->regex), NULL);
        return status == HN_ERR_FORMAT ? hn_fail_within(HN_ERR_ARGUMENT, "--regex: ") : status; /* it was typed */
    }
    if (!path)
        return HN_OK;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_file_read(&heap, path, MOST_BYTES, &text, &bytes));
    const hn_status status = hn_lm_grammar_new(out, engine, a->grammar ? HN_LM_GBNF : HN_LM_JSON_SCHEMA, text, bytes, NULL);
    hn_free(&heap, text);
    return status == HN_OK ? status : hn_fail_within(status, "%s", path);
}
